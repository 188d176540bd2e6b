"""The vector mathematics: each function as a writer of IR, for any number of lanes.

`FUNCTIONS[name](emitter, *values)` writes the function inline and gives its value;
`function_text` writes it as a function of a module, for callers that would rather call it. One
source serves the compiler's LLVM printer and the Numba intrinsics. Special values are NumPy's and
SciPy's; errors and speed stand in the manual's page on mathematics.
"""

from __future__ import annotations

from collections.abc import Callable

from funcgrad.compile.llvm.emit import GENERIC, Body, Emitter, Value, VectorTarget
from funcgrad.compile.llvm.mathematics import error, exponential, logarithm, power, trigonometric

__all__ = ["ARITY", "FUNCTIONS", "define", "function_name"]

FUNCTIONS: dict[str, Callable[..., Value]] = {
    "exp": exponential.exp,
    "expm1": exponential.expm1,
    "tanh": exponential.tanh,
    "sigmoid": exponential.sigmoid,
    "log": logarithm.log,
    "log1p": logarithm.log1p,
    "sin": trigonometric.sin,
    "cos": trigonometric.cos,
    "erf": error.erf,
    "sqrt": power.sqrt,
}
ARITY = {name: 2 if name in ("pow", "atan2", "hypot", "logaddexp") else 1 for name in FUNCTIONS}


def function_name(name: str, element: str, lanes: int) -> str:
    """The symbol under which `define` puts the function."""
    return f"funcgrad.{name}.{Emitter(element, lanes).suffix()}"


def define(
    name: str,
    element: str,
    lanes: int = 1,
    target: VectorTarget = GENERIC,
    attributes: str = "nounwind",
) -> Body:
    """The function as a definition of its own, under its `function_name`.

    The body returned has the text in `definitions` (with those it calls) and what is to be
    declared in `declarations`; its `lines` are empty.
    """
    e = Emitter(element, lanes, target)
    parameters = [e.value(f"%{letter}") for letter in "xy"[: ARITY[name]]]
    result = FUNCTIONS[name](e, *parameters)
    symbol = function_name(name, element, lanes)
    header = f"{result.type} @{symbol}({', '.join(x.typed for x in parameters)})"
    code = "\n".join(["entry:", *e.lines, f"  ret {result.typed}"])
    text = f"define linkonce_odr {header} {attributes} {{\n{code}\n}}"
    body = e.body
    body.lines = []
    body.definitions[symbol] = text
    return body
