"""Writes `kernels/losses_generated.py`: losses of two arrays of one shape, for Numba.

    python -m funcgrad.torch.nn.functional.write_losses

What a loss is for one element, and its gradient, are staged from the function of `nn.functional`
itself, so nothing is stated twice. A test holds that the file is what this script writes.
"""

from __future__ import annotations

from pathlib import Path
from textwrap import indent
from typing import Any

import numpy as np

from funcgrad import kernels
from funcgrad.compile.numba.intrinsics import DIGEST
from funcgrad.compile.numba.printer import print_graph
from funcgrad.core.types import ArrayType
from funcgrad.graph.build import stage
from funcgrad.kernels.losses import EXACT, NUMBERS, kernel_name
from funcgrad.passes.pipeline import optimize
from funcgrad.torch.nn.functional import binary, regression
from funcgrad.transforms.api import vjp

__all__ = ["PATH", "text"]

PATH = Path(kernels.__file__).with_name("losses_generated.py")
PRIMITIVES = (
    *(regression.SMOOTH_L1, regression.HUBER),
    *(binary.BCE, binary.BCE_LOGITS, binary.SOFT_MARGIN),
)
PARAMETERS = {binary.BCE_LOGITS.name: {"weighted": False}}
ELEMENT, NUMBER = ArrayType((8,), np.dtype(np.float64)), ArrayType((), np.dtype(np.float64))

HEADER = '''"""Losses and their gradients as Numba functions: written, not edited.

`python -m funcgrad.torch.nn.functional.write_losses` prints it. Arrays are flat and of one size.
The values go to `out`; the cotangent `g` of each element is one number, and those of the operands
go to `cx` and `cy`, unless these are None.
"""

from __future__ import annotations

from typing import Any

from numba import njit

from funcgrad.compile.numba.intrinsics import INTRINSICS

# Of the source of the vector mathematics: Numba's cache does not see that an intrinsic has changed,
# but it sees that this file has.
DIGEST = "{digest}"
'''

VALUE = '''

@njit(nogil=True, cache=True, error_model="numpy")
def {name}_value({parameters}) -> None:
    """Values of `{name}`."""
{start}
    for j in range(x.size):
        x_ = x[j]
        y_ = y[j]
{body}
        out[j] = {result}
'''

BACKWARD = '''

@njit(nogil=True, cache=True, error_model="numpy")
def {name}_backward({parameters}) -> None:
    """Backward of `{name}`."""
{start}
    g_ = real(g)
    for j in range(x.size):
        x_ = x[j]
        y_ = y[j]
{body}
'''


def _element(prim: Any, x: Any, y: Any, numbers: tuple[Any, ...]) -> Any:
    """The loss of each element."""
    given = dict(zip(NUMBERS[prim.name], numbers, strict=True))
    return prim.plain(x, y, reduction="none", **given, **PARAMETERS.get(prim.name, {}))


def _start(names: tuple[str, ...]) -> str:
    lines = ["real = x.dtype.type", *(f"{n}_ = real({n})" for n in names)]
    return indent("\n".join(lines), " " * 4)


def _functions(prim: Any) -> tuple[str, set[str]]:
    """The text of the kernels of a loss, and the functions of mathematics in them."""
    names = NUMBERS[prim.name]
    name = kernel_name(prim.name)
    given = ["x_", "y_", *(f"{n}_" for n in names)]
    types = [ELEMENT, ELEMENT, *[NUMBER] * len(names)]

    def head(before: tuple[str, ...], *after: str) -> str:
        return ", ".join(f"{p}: Any" for p in (*before, "x", "y", *names, *after))

    text = ""
    functions: set[str] = set()
    if prim.name in EXACT:
        value, _ = stage(lambda x, y, *numbers: (_element(prim, x, y, numbers),), types)
        lines, (result,), functions = print_graph(optimize(value), given)
        text = VALUE.format(
            name=name,
            parameters=head((), "out"),
            start=_start(names),
            body=indent("\n".join(lines), " " * 8),
            result=result,
        )
    blocks: list[str] = []
    for k, target in enumerate(("cx", "cy")):

        def rule(g: Any, x: Any, y: Any, *numbers: Any, k: int = k) -> Any:
            def moved(v: Any) -> Any:
                return _element(prim, *((v, y) if k == 0 else (x, v)), numbers)

            return vjp(moved, (x, y)[k])[1](g)

        graph, _ = stage(rule, [ELEMENT, *types])
        lines, (result,), called = print_graph(optimize(graph), ["g_", *given])
        functions |= called
        blocks += [f"if {target} is not None:"]
        blocks += ["    " + line for line in (*lines, f"{target}[j] = {result}")]
    text += BACKWARD.format(
        name=name,
        parameters=head(("g",), "cx", "cy"),
        start=_start(names),
        body=indent("\n".join(blocks), " " * 8),
    )
    return text, functions


def text() -> str:
    """The content of the file."""
    made = [_functions(prim) for prim in PRIMITIVES]
    names = sorted(set().union(*(functions for _, functions in made)))
    header = HEADER.format(digest=DIGEST)
    return (
        header + "".join(f'{f} = INTRINSICS["{f}"]\n' for f in names) + "".join(t for t, _ in made)
    )


if __name__ == "__main__":
    PATH.write_text(text())
