"""Writes `reductions_generated.py`: the backward pass of reductions over any axes, for Numba.

    python -m funcgrad.kernels.write_reductions

What a kernel computes for an element stands once in `REDUCTIONS`; two loops are printed around it,
since no loop is fast for both places in which the elements of a group may lie:

- "along": arrays have four axes, kept, reduced, kept, reduced. A group is read along the last.
- "beside": arrays have three, kept, reduced, kept. Neighbouring groups are read side by side.

What has one element for each group has two axes, the kept ones. A test holds that the file is what
this script writes, others that its functions give what the rules of the primitives give.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from textwrap import indent

__all__ = ["PATH", "REDUCTIONS", "text"]

PATH = Path(__file__).with_name("reductions_generated.py")


@dataclass(frozen=True)
class Reduction:
    """What a kernel computes, of the cotangent `g`, the output `y`, the operand `x` and `real`.

    `term` is added up over a group if `needs` holds for it; `settle` makes of the sum `s` and the
    number of elements `count` what `result` knows as `s`. `whole` says that `g` and `y` have the
    shape of the operand.
    """

    note: str
    result: str
    term: str | None = None
    settle: str = "s"
    needs: str | None = None
    whole: bool = False


CHOSEN = "(x == y) | (x != x)"
INFINITE = "abs(y) == real(INFINITY)"
REDUCTIONS = {
    "softmax": Reduction("", "g * y - y * s", "g * y", whole=True),
    "log_softmax": Reduction("", "g - exp(y) * s", "g", whole=True),
    "logsumexp": Reduction(
        ": infinities that are all there is share equally if they are +inf",
        f"g * (s if (x == y) & ({INFINITE}) else exp(x - y))",
        "real(x == y)",
        "real(y > 0) / max(s, real(1))",
        needs=INFINITE,
    ),
    "extremum": Reduction(
        ": the chosen elements share equally, and a NaN is chosen",
        f"s if {CHOSEN} else real(0)",
        f"real({CHOSEN})",
        "g * (real(1) / max(s, real(1)))",
    ),
    "var": Reduction("", "g * (real(2) * (x - s) / real(divisor))", "x", "s / count"),
    "std": Reduction(
        ": 0 where there is no spread",
        "g * (real(0) if y == 0 else (x - s) / y / real(divisor))",
        "x",
        "s / count",
    ),
    "norm": Reduction(
        ", the Euclidean one: 0 at 0",
        "(real(0) if y == 0 else g) * (x / (real(1) if y == 0 else y))",
    ),
}

HEADER = '''"""The backward pass of reductions as Numba functions: written, not edited.

`python -m funcgrad.kernels.write_reductions` prints it, and says how the arguments lie in memory.
Each function fills the groups `first` … `last` of the cotangent `cx`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from funcgrad.compile.numba.intrinsics import INTRINSICS
from funcgrad.kernels.sums import BLOCK, TILE, add_exactly

exp = INTRINSICS["exp"]
INFINITY = float("inf")
'''

PART = """
# Only sums may be taken in another order, so that several run side by side.
@njit(nogil=True, error_model="numpy", fastmath={{"reassoc"}})
def {name}_part({rows}{group}) -> Any:
    real = {some}.dtype.type
    s = real(0)
    for j in range({some}.size):
{loads}
        s += {term}
    return s
"""

ALONG = '''
@njit(nogil=True, error_model="numpy")
def {name}_backward_along({parameters}) -> None:
    """Backward of `{name}`{note}."""
    real = cx.dtype.type
    size = cx.shape[3]
{count}
    for group in range(first, last):
        i, k = divmod(group, cx.shape[2])
{group}
{sum}
        for p in range(cx.shape[1]):
{rows}
            out = cx[i, p, k]
            for j in range(size):
{loads}
                out[j] = {result}
'''

SUM_ALONG = """
total = lost = 0.0
for p in range(cx.shape[1]):
{rows}
    for start in range(0, size, BLOCK):
        part = {name}_part({arguments})
        total, rest = add_exactly(total, part)
        lost += rest
s = real(total + lost if lost == lost else total)
"""

BESIDE = '''
@njit(nogil=True, error_model="numpy")
def {name}_backward_beside({parameters}) -> None:
    """Backward of `{name}` over other than the last axes."""
    real = cx.dtype.type
    width = cx.shape[2]
{count}
{memory}
    at = first
    while at < last:
        i, k = divmod(at, width)
        size = min(TILE, width - k, last - at)
{group}
{sum}
        for p in range(cx.shape[1]):
{rows}
            out = cx[i, p, k : k + size]
            for j in range(size):
{loads}
                out[j] = {result}
        at += size
'''

MEMORY = """
    sums, part = np.empty(TILE, cx.dtype), np.empty(TILE, cx.dtype)
    total, lost = np.empty(TILE), np.empty(TILE)
"""

SUM_BESIDE = """
total[:] = 0.0
lost[:] = 0.0
for start in range(0, cx.shape[1], BLOCK):
    part[:] = 0
    for p in range(start, min(start + BLOCK, cx.shape[1])):
{rows}
        for j in range(size):
{loads}
            part[j] += {term}
    for j in range(size):
        total[j], rest = add_exactly(total[j], part[j])
        lost[j] += rest
for j in range(size):
    sums[j] = total[j] + lost[j] if lost[j] == lost[j] else total[j]
"""

SOME_NEED = """
sums[:] = 0
some = False
for j in range(size):
{loads}
    some |= {needs}
if some:
{sum}
"""

SETTLE_BESIDE = """
for j in range(size):
    s = sums[j]
{loads}
    sums[j] = {settle}
"""


def _names(text: str) -> set[str]:
    """Which of the three arrays an expression reads."""
    code = compile(text, "", "eval").co_names
    return {"g", "y", "x"} & set(code)


def _parameters(name: str) -> str:
    """Those of a kernel, in a line of their own if the formatter has it so."""
    found = "first: int, last: int, g_: Any, y_: Any, x_: Any, divisor: Any, cx: Any"
    return found if len(f"def {name}({found}) -> None:") <= 100 else f"\n    {found}\n"


def _whole(r: Reduction, text: str) -> list[str]:
    """Those of the arrays in `text` that have an element for each of the operand's."""
    return sorted(_names(text) & ({"g", "y", "x"} if r.whole else {"x"}))


def _group(r: Reduction, *texts: str | None) -> list[str]:
    """Those of the arrays in `texts` that have an element for each group."""
    found = {n for t in texts if t is not None for n in _names(t)}
    return [] if r.whole else sorted(found & {"g", "y"})


def _lines(lines: list[str], depth: int) -> str:
    return indent("\n".join(lines), "    " * depth)


def _part(name: str, r: Reduction, term: str) -> str:
    rows = _whole(r, term)
    return PART.format(
        name=name,
        rows=", ".join(f"{n}r: Any" for n in rows),
        group="".join(f", {n}: Any" for n in _group(r, term)),
        some=f"{rows[0]}r",
        loads=_lines([f"{n} = {n}r[j]" for n in rows], 2),
        term=term,
    )


def _along(name: str, r: Reduction) -> str:
    row, group = "{0}r = {0}_[i, p, k]".format, "{0} = {0}_[i, k]".format
    total = ""
    if r.term is not None:
        rows = _whole(r, r.term)
        parts = [f"{n}r[start : start + BLOCK]" for n in rows]
        total = SUM_ALONG.format(
            name=name,
            rows=_lines([row(n) for n in rows], 1),
            arguments=", ".join([*parts, *_group(r, r.term)]),
        )
        if r.needs is not None:
            total = f"s = real(0)\nif {r.needs}:\n" + indent(total, "    ")
        if r.settle != "s":
            total += f"s = {r.settle}\n"
    return ALONG.format(
        name=name,
        parameters=_parameters(f"{name}_backward_along"),
        note=r.note,
        count=_lines(["count = real(cx.shape[1] * size)"] if "count" in r.settle else [], 1),
        group=_lines([group(n) for n in _group(r, r.settle, r.needs, r.term, r.result)], 2),
        sum=indent(total, "        "),
        rows=_lines([row(n) for n in _whole(r, r.result)], 3),
        loads=_lines([f"{n} = {n}r[j]" for n in _whole(r, r.result)], 4),
        result=r.result,
    )


def _beside(name: str, r: Reduction) -> str:
    row, group = "{0}r = {0}_[i, p, k : k + size]".format, "{0}s = {0}_[i, k : k + size]".format

    def loads(depth: int, text: str) -> str:
        whole = [f"{n} = {n}r[j]" for n in _whole(r, text)]
        return _lines(whole + [f"{n} = {n}s[j]" for n in _group(r, text)], depth)

    total, body = "", loads(4, r.result)
    if r.term is not None:
        body += _lines(["\ns = sums[j]"], 4)
        total = SUM_BESIDE.format(
            rows=_lines([row(n) for n in _whole(r, r.term)], 2), loads=loads(3, r.term), term=r.term
        )
        if r.needs is not None:
            total = SOME_NEED.format(
                loads=loads(1, r.needs), needs=r.needs, sum=indent(total, "    ")
            )
        if r.settle != "s":
            total += SETTLE_BESIDE.format(loads=loads(1, r.settle), settle=r.settle)
    return BESIDE.format(
        name=name,
        parameters=_parameters(f"{name}_backward_beside"),
        count=_lines(["count = real(cx.shape[1])"] if "count" in r.settle else [], 1),
        memory=MEMORY if r.term is not None else "",
        group=_lines([group(n) for n in _group(r, r.settle, r.needs, r.term, r.result)], 2),
        sum=indent(total, "        "),
        rows=_lines([row(n) for n in _whole(r, r.result)], 3),
        loads=body,
        result=r.result,
    )


def _without_gaps(function: str) -> str:
    """The lines of a function, of which none is empty or unused."""
    lines = [line for line in function.splitlines() if line.strip()]
    if "real(" not in function:
        lines.remove("    real = cx.dtype.type")
    return "\n".join(lines) + "\n"


def text() -> str:
    """The content of the file."""
    functions: list[str] = []
    for name, r in REDUCTIONS.items():
        if r.term is not None:
            functions.append(_part(name, r, r.term))
        functions += [_along(name, r), _beside(name, r)]
    return HEADER + "".join("\n\n" + _without_gaps(f) for f in functions)


if __name__ == "__main__":
    PATH.write_text(text())
