"""Writes `elementwise_generated.py`: the backward pass of elementwise operations, for Numba.

    python -m funcgrad.kernels.write

The rule of a primitive is staged on scalars of the array's type, so each kernel is printed from the
partial derivatives that stand on the record, and from nothing else. A test holds that the file is
what this script writes.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from funcgrad.compile.numba.intrinsics import DIGEST
from funcgrad.compile.numba.printer import print_graph
from funcgrad.core.primitive import Primitive
from funcgrad.core.types import ArrayType
from funcgrad.graph.build import stage
from funcgrad.kernels.elementwise import primitives
from funcgrad.ops import arithmetic
from funcgrad.passes.pipeline import optimize

__all__ = ["PATH", "records", "text"]

PATH = Path(__file__).with_name("elementwise_generated.py")
OPERANDS = ("x", "y", "w")
EXPONENTS = (2, 3)
SIZE = 8  # of the arrays on which rules are staged; it stands nowhere in the text

HEADER = '''"""The backward pass of elementwise operations as Numba functions: written, not edited.

`python -m funcgrad.kernels.write` prints it from the partial derivatives of the primitives. Each
function takes the loop's extents, the cotangent `g`, the saved output `z` and operands (None where
the rule needs none), and an array for each cotangent wanted, else None; see `access` for True.
"""

from __future__ import annotations

from typing import Any

from numba import njit

from funcgrad.compile.numba.intrinsics import INTRINSICS
from funcgrad.kernels.access import at, put

# Of the source of the vector mathematics: Numba's cache does not see that an intrinsic has changed,
# but it sees that this file has.
DIGEST = "{digest}"
'''

FUNCTION = '''

@njit(nogil=True, error_model="numpy")
{head}
    """Backward of `{primitive}`{note}."""
{real}    for i in range(rows):
        for j in range(columns):
            d = at(g, i, j)
'''


def records() -> dict[str, tuple[Primitive, Any]]:
    """The kernels: name -> (primitive, an exponent that is written into the code, or None)."""
    found: dict[str, tuple[Primitive, Any]] = {prim.name: (prim, None) for prim in primitives()}
    power: Any = arithmetic.power
    for exponent in EXPONENTS:
        found[f"power_{exponent}"] = (power.primitive, exponent)
    found["where"] = (arithmetic.WHERE, None)
    return found


def _types(prim: Primitive, dtype: np.dtype[Any]) -> list[ArrayType]:
    kind = ArrayType((SIZE,), dtype)
    if prim is arithmetic.WHERE:
        return [ArrayType((SIZE,), np.dtype(bool)), kind, kind]
    return [kind] * prim.ufunc.nin  # type: ignore[attr-defined]


def _rule(prim: Primitive, types: list[ArrayType], which: int, exponent: Any) -> Callable[..., Any]:
    """The cotangent of operand `which` as a function of `g`, the output and the operands."""
    parents = [k == which for k in range(len(types))]

    def rule(g: Any, z: Any, *xs: Any) -> Any:
        operands = xs if exponent is None else (xs[0], exponent)
        node = SimpleNamespace(
            saved=(z, *operands),
            params={},
            parents=[True if p else None for p in parents],
            avals=tuple(types),
        )
        return [prim.vjp(node, g)[which]]

    return rule


def _function(name: str, prim: Primitive, exponent: Any) -> tuple[str, set[str]]:
    """The text of a kernel and the functions of mathematics that it calls."""
    types = _types(prim, np.dtype(np.float64))
    operands = OPERANDS[: len(types)]
    wanted = [k for k, t in enumerate(types) if t.dtype.kind == "f"][: 1 if exponent else None]
    values = ["z_", *(f"{x}_" for x in operands)]
    blocks: list[str] = []
    functions: set[str] = set()
    for k in wanted:
        c = f"c{operands[k]}"
        graph, _ = stage(_rule(prim, types, k, exponent), [types[k], types[k], *types])
        lines, (result,), called = print_graph(optimize(graph), ["d", *values])
        functions |= called
        optional = len(wanted) > 1
        blocks += [f"            if {c} is not None:"] if optional else []
        indent = " " * (16 if optional else 12)
        blocks += [indent + line for line in (*lines, f"put({c}, g, i, j, {result})")]
    code = "\n".join(blocks)
    loads = [f"            {v} = at({v[:-1]}, i, j)\n" for v in values if v in code]
    head = FUNCTION.format(
        head=_head(name, [*operands, *(f"c{operands[k]}" for k in wanted)]),
        primitive=prim.name,
        note="" if exponent is None else f" for the exponent {exponent}",
        real="    real = g.dtype.type\n" if "real(" in code else "",
    )
    return head + "".join(loads) + code + "\n", functions


def _head(name: str, arrays: list[str]) -> str:
    """The line with the parameters, or three of them, as the formatter has it."""
    parameters = ", ".join(
        ["rows: int", "columns: int", *(f"{p}: Any" for p in ("g", "z", *arrays))]
    )
    line = f"def {name}_backward({parameters}) -> None:"
    return line if len(line) <= 100 else f"def {name}_backward(\n    {parameters}\n) -> None:"


def text() -> str:
    """The content of the file."""
    bodies, functions = [], set()
    for name, (prim, exponent) in records().items():
        body, called = _function(name, prim, exponent)
        bodies.append(body)
        functions |= called
    header = HEADER.format(digest=DIGEST)
    names = "".join(f'{f} = INTRINSICS["{f}"]\n' for f in sorted(functions))
    return header + names + "".join(bodies)


if __name__ == "__main__":
    PATH.write_text(text())
