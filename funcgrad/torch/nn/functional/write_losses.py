"""Writes `kernels/losses_generated.py`: losses of arrays of one shape, for Numba.

    python -m funcgrad.torch.nn.functional.write_losses

What a loss is for one element, and its gradient, are staged from the function of `nn.functional`
itself, so nothing is stated twice. A test holds that the file is what this script writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from textwrap import indent
from typing import Any

import numpy as np

from funcgrad import kernels
from funcgrad.compile.numba.intrinsics import DIGEST
from funcgrad.compile.numba.printer import print_graph
from funcgrad.core.primitive import Primitive
from funcgrad.core.types import ArrayType
from funcgrad.graph.build import stage
from funcgrad.kernels.losses import LOSSES
from funcgrad.ops.losses import SQUARED_ERROR, squared_error
from funcgrad.passes.pipeline import optimize
from funcgrad.torch.nn.functional import binary, regression
from funcgrad.transforms.api import vjp

__all__ = ["PATH", "text"]

PATH = Path(kernels.__file__).with_name("losses_generated.py")
FUNCTIONS: dict[Primitive, Callable[..., Any]] = {
    SQUARED_ERROR: squared_error,
    **{
        prim: prim.plain
        for prim in (
            *(regression.SMOOTH_L1, regression.HUBER),
            *(binary.BCE, binary.BCE_LOGITS, binary.SOFT_MARGIN),
        )
    },
}
ELEMENT, NUMBER = ArrayType((8,), np.dtype(np.float64)), ArrayType((), np.dtype(np.float64))

HEADER = '''"""Losses and their gradients as Numba functions: written, not edited.

`python -m funcgrad.torch.nn.functional.write_losses` prints it. Arrays are flat and of one size.
`_elements` gives the loss of each element, `_total` the sums of those between `starts`; `_backward`
takes a cotangent for each element, or a number for all, and gives those of the operands to `cx` and
`cy`, unless these are None.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from funcgrad.compile.numba.intrinsics import INTRINSICS
from funcgrad.kernels.access import at
from funcgrad.kernels.pairwise import longest, pairwise_sum

# Of the source of the vector mathematics: Numba's cache does not see that an intrinsic has changed,
# but it sees that this file has.
DIGEST = "{digest}"
'''

FORWARD = '''

@njit(nogil=True, error_model="numpy")
{elements}
    """The `{name}` of each element."""
{start}    for j in range(x.size):
{loads}
{body}
        out[j] = {result}


@njit(nogil=True, error_model="numpy")
{total}
    """Sums of `{name}` over pieces."""
    part = np.empty(longest(starts, first, last), x.dtype)
    for k in range(first, last):
        a, b = starts[k], starts[k + 1]
        out = part[: b - a]
{call}
        totals[k] = pairwise_sum(out, 0, out.size)
'''

BACKWARD = '''

@njit(nogil=True, error_model="numpy")
{head}
    """Backward of `{name}`."""
{start}
    for j in range(x.size):
        g_ = real(at(g, 0, j))
{loads}
{body}
'''


def _variants() -> Iterator[tuple[Primitive, tuple[str, ...]]]:
    """Primitives, each with every choice of its further operands."""
    for prim in FUNCTIONS:
        more = LOSSES[prim].more
        for count in range(len(more) + 1):
            for chosen in combinations(more, count):
                yield prim, chosen


def _head(name: str, parameters: Sequence[str]) -> str:
    """The line with the parameters, or three, as the formatter has it."""
    typed = ", ".join(f"{p}: {'int' if p in ('first', 'last') else 'Any'}" for p in parameters)
    line = f"def {name}({typed}) -> None:"
    return line if len(line) <= 100 else f"def {name}(\n    {typed}\n) -> None:"


def _call(name: str, arguments: Sequence[str]) -> str:
    """A call within a loop, as the formatter has it."""
    given, space = ", ".join(arguments), " " * 8
    line = f"{space}{name}({given})"
    return line if len(line) <= 100 else f"{space}{name}(\n{space}    {given}\n{space})"


def _functions(prim: Primitive, more: tuple[str, ...]) -> tuple[str, set[str]]:
    """The text of the kernels of a loss, and the functions of mathematics in them."""
    loss = LOSSES[prim]
    numbers, operands = loss.numbers, ("x", "y", *more)
    name = "_".join((loss.name, *more))
    params: dict[str, Any] = {"reduction": "none"}
    if len(loss.more) > 1:
        params["weighted"] = "weight" in more

    def element(*xs: Any) -> Any:
        """The loss of each element, of the operands and the numbers."""
        given = dict(zip(numbers, xs[len(operands) :], strict=True))
        return FUNCTIONS[prim](*xs[: len(operands)], **params, **given)

    types = [*[ELEMENT] * len(operands), *[NUMBER] * len(numbers)]
    names = [f"{p}_" for p in (*operands, *numbers)]
    start = ["real = x.dtype.type", *(f"{n}_ = real({n})" for n in numbers)]

    def loads(code: str) -> str:
        return _block([f"{p}_ = {p}[j]" for p in operands if f"{p}_" in code], 8)

    graph, _ = stage(lambda *xs: (element(*xs),), types)
    lines, (result,), functions = print_graph(optimize(graph), names)
    text = FORWARD.format(
        name=name,
        elements=_head(f"{name}_elements", (*operands, *numbers, "out")),
        total=_head(f"{name}_total", ("first", "last", "starts", *operands, *numbers, "totals")),
        start=_block(start, 4) + "\n" if any("real(" in line for line in lines) else "",
        loads=loads("\n".join(lines)),
        body=_block(lines, 8),
        result=result,
        call=_call(f"{name}_elements", (*(f"{p}[a:b]" for p in operands), *numbers, "out")),
    )
    blocks: list[str] = []
    for k, target in enumerate(("cx", "cy")):

        def rule(g: Any, *xs: Any, k: int = k) -> Any:
            return vjp(lambda v: element(*xs[:k], v, *xs[k + 1 :]), xs[k])[1](g)

        graph, _ = stage(rule, [ELEMENT, *types])
        lines, (result,), called = print_graph(optimize(graph), ["g_", *names])
        functions |= called
        blocks += [f"if {target} is not None:"]
        blocks += ["    " + line for line in (*lines, f"{target}[j] = {result}")]
    text += BACKWARD.format(
        name=name,
        head=_head(f"{name}_backward", ("g", *operands, *numbers, "cx", "cy")),
        start=_block(start, 4),
        loads=loads("\n".join(blocks)),
        body=_block(blocks, 8),
    )
    return text, functions


def _block(lines: Sequence[str], depth: int) -> str:
    return indent("\n".join(lines), " " * depth)


def text() -> str:
    """The content of the file."""
    made = [_functions(*variant) for variant in _variants()]
    names = sorted(set().union(*(functions for _, functions in made)))
    header = HEADER.format(digest=DIGEST)
    return (
        header + "".join(f'{f} = INTRINSICS["{f}"]\n' for f in names) + "".join(t for t, _ in made)
    )


if __name__ == "__main__":
    PATH.write_text(text())
