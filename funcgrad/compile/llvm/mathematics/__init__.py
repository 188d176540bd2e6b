"""The vector mathematics: each function as a writer of IR, for any number of lanes.

`FUNCTIONS[name](emitter, *values)` writes the function inline and gives its value;
`function_text` writes it as a function of a module, for callers that would rather call it. One
source serves the compiler's LLVM printer and the Numba intrinsics. Special values are NumPy's and
SciPy's; errors and speed stand in the manual's page on mathematics.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from funcgrad.compile.llvm.body import GENERIC, Body, External, VectorTarget
from funcgrad.compile.llvm.emit import Emitter, Value
from funcgrad.compile.llvm.mathematics import (
    error,
    exponential,
    gamma,
    hyperbolic,
    inverse_trigonometric,
    logarithm,
    power,
    trigonometric,
)

__all__ = ["ARITY", "FUNCTIONS", "define", "external", "function_name"]

FUNCTIONS: dict[str, Callable[..., Value]] = {
    "exp": exponential.exp,
    "exp2": exponential.exp2,
    "expm1": exponential.expm1,
    "sigmoid": exponential.sigmoid,
    "log": logarithm.log,
    "log2": logarithm.log2,
    "log10": logarithm.log10,
    "log1p": logarithm.log1p,
    "logaddexp": logarithm.logaddexp,
    "sin": trigonometric.sin,
    "cos": trigonometric.cos,
    "tan": trigonometric.tan,
    "arcsin": inverse_trigonometric.arcsin,
    "arccos": inverse_trigonometric.arccos,
    "arctan": inverse_trigonometric.arctan,
    "arctan2": inverse_trigonometric.arctan2,
    "sinh": hyperbolic.sinh,
    "cosh": hyperbolic.cosh,
    "tanh": hyperbolic.tanh,
    "arcsinh": hyperbolic.arcsinh,
    "arccosh": hyperbolic.arccosh,
    "arctanh": hyperbolic.arctanh,
    "erf": error.erf,
    "erfc": error.erfc,
    "erfinv": error.erfinv,
    "lgamma": gamma.lgamma,
    "digamma": gamma.digamma,
    "sqrt": power.sqrt,
    "cbrt": power.cbrt,
    "hypot": power.hypot,
    "power": power.power,
}
TWO_OPERANDS = ("arctan2", "hypot", "logaddexp", "power")
ARITY = {name: 2 if name in TWO_OPERANDS else 1 for name in FUNCTIONS}


def function_name(name: str, element: str, lanes: int) -> str:
    """The symbol under which `define` puts the function."""
    return f"funcgrad.{name}.{Emitter(element, lanes).suffix()}"


def define(
    name: str,
    element: str,
    lanes: int = 1,
    target: VectorTarget = GENERIC,
    *,
    linkage: str = "linkonce_odr",
    attributes: str = "nounwind",
    enclose: bool = True,
) -> Body:
    """The function as a definition of its own, under its `function_name`.

    The body returned has the text in `definitions` and what is to be declared in `declarations`;
    its `lines` are empty. The functions it calls are defined too, or else left in `externals`.
    """
    e = Emitter(element, lanes, target)
    parameters = [e.value(f"%{letter}") for letter in "xy"[: ARITY[name]]]
    result = FUNCTIONS[name](e, *parameters)
    symbol = function_name(name, element, lanes)
    header = f"{result.type} @{symbol}({', '.join(x.typed for x in parameters)})"
    code = "\n".join(["entry:", *e.lines, f"  ret {result.typed}"])
    if enclose:
        e.body.enclose()
    e.body.lines = []
    e.body.definitions[symbol] = f"define {linkage} {header} {attributes} {{\n{code}\n}}"
    return e.body


@functools.cache
def external(
    name: str, element: str, lanes: int, target: VectorTarget, attributes: str
) -> tuple[str, External]:
    """The function for callers that share one copy of it: its symbol, and what it is."""
    made = define(
        name, element, lanes, target, linkage="internal", attributes=attributes, enclose=False
    )
    symbol = function_name(name, element, lanes)
    kind = Emitter(element, lanes).type_of(element)
    operands = ", ".join([kind] * ARITY[name])
    return symbol, External(
        f"declare {kind} @{symbol}({operands})",
        made.definitions[symbol],
        tuple(made.declarations),
        tuple(made.externals.items()),
    )
