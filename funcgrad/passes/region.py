"""A region: equations that become one kernel, and whether their loops can be one loop nest.

The values of a region live on common axes. Its reductions either run inside, over the same axes,
so that their results can be used in the next loop over the row (softmax, layer norm); or they are
totals, over everything or over the rows, whose results are known when the kernel has ended.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from funcgrad.graph.ir import Equation, Var

__all__ = ["Axis", "Labels", "Reduction", "Region", "inner_axes"]

ROW_LIMIT = 8192  # elements of a row that one thread walks over several times
FEW_ROWS = 8
MANY_ROWS = 256  # that are summed up for each of several results
COLUMN_LIMIT = 16384  # elements of a partial result that each chunk keeps


class Axis:
    """An axis of a region; after a merge it stands for the one in `same`."""

    __slots__ = ("extent", "number", "same")
    count = itertools.count()

    def __init__(self, extent: int) -> None:
        self.extent, self.number = extent, next(self.count)
        self.same: Axis | None = None

    def find(self) -> Axis:
        a = self
        while a.same is not None:
            a = a.same
        return a


Labels = tuple[Axis | None, ...]  # for each axis of a value that of its region; None: extent 1


class Reduction(NamedTuple):
    """An equation that reduces `over` some axes of a domain.

    One that scatters adds each element of the domain to one of the result, wherever that is.
    """

    output: Var
    domain: frozenset[Axis]
    over: frozenset[Axis]
    scatters: bool = False


@dataclass(eq=False)
class Region:
    """The equations in order; `inner` is fixed once a result of an inner reduction is used."""

    number: int
    equations: list[Equation] = field(default_factory=list)
    axes: frozenset[Axis] = frozenset()
    inner: frozenset[Axis] | None = None
    reductions: list[Reduction] = field(default_factory=list)
    reads: dict[Var, Labels] = field(default_factory=dict)  # how what lies in memory is walked
    external: set[Var] = field(default_factory=set)  # all that is read from memory
    late: set[Var] = field(default_factory=set)  # scalars computed of totals, at the very end

    def resolve(self) -> None:
        """Name the axes by what they stand for after merges."""
        self.axes = found(self.axes)
        self.inner = None if self.inner is None else found(self.inner)
        self.reductions = [
            r._replace(domain=found(r.domain), over=found(r.over)) for r in self.reductions
        ]


def found(axes: Iterable[Axis]) -> frozenset[Axis]:
    return frozenset(a.find() for a in axes)


def size(axes: Iterable[Axis]) -> int:
    return math.prod(a.extent for a in axes)


def inner_axes(
    axes: frozenset[Axis],
    inner: frozenset[Axis] | None,
    reductions: Iterable[Reduction],
    prefer: Axis | None = None,
) -> frozenset[Axis] | None:
    """Axes of the inner loops for which every reduction has a place; None if there are none.

    With `inner` given only that choice is looked at; otherwise one that has `prefer` in it goes
    first.
    """
    reductions = list(reductions)
    if inner is not None:
        return inner if _fits(axes, inner, reductions) and _worthwhile(axes, inner) else None
    candidates = [r.over for r in reductions] + [axes - r.over for r in reductions] + [axes]
    for candidate in sorted(candidates, key=lambda c: prefer not in c):
        if (candidate or not axes) and _fits(axes, candidate, reductions):
            return candidate
    return None


def _fits(axes: frozenset[Axis], inner: frozenset[Axis], reductions: list[Reduction]) -> bool:
    outer = axes - inner
    for r in reductions:
        whole = r.domain == axes
        if whole and r.over in (inner, axes):
            continue
        if outer and r.domain == r.over == outer:
            continue
        if not (whole and _are_columns(axes, outer, r)):
            return False
    return True


def _are_columns(axes: frozenset[Axis], outer: frozenset[Axis], r: Reduction) -> bool:
    """Whether rows are summed up, so that each chunk can have a result of its own."""
    if not r.over or not r.over <= outer or size(axes - r.over) > COLUMN_LIMIT:
        return False
    return r.over == outer or size(r.over) >= MANY_ROWS


def _worthwhile(axes: frozenset[Axis], inner: frozenset[Axis]) -> bool:
    """Whether walking over a row several times, row by row, is better than separate kernels.

    A single row is never walked twice, of whatever length: several threads can share each walk.
    """
    if axes == inner:
        return not axes
    return size(axes - inner) >= FEW_ROWS or size(inner) <= ROW_LIMIT
