"""The loops of a region: which axes are walked outside, which inside, and which runs in lanes.

Axes that every array walks in the same way are joined into one loop. Rows are what chunks are made
of; a long flat array is cut into blocks that take the place of rows. Lanes run along the axis that
most arrays store without gaps; where that is an axis of the rows, several rows are computed at a
time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from funcgrad.passes.region import Axis, Labels, Region, inner_axes

__all__ = ["BLOCK", "Access", "Dim", "Layout", "access", "arrange"]

BLOCK = 1024
STRIP = 256  # rows that are computed side by side before the next ones
SHORT_STRIP = 512  # bytes of them, if elements of each are kept, so that these stay near
FEW_ROWS = 64
SHORT = 8  # an axis with fewer elements does not fill the lanes
GRAIN = 1 << 15  # elements of a chunk, about
MOST_COLUMNS = 64  # chunks, where each keeps a partial result for every column


class Access(NamedTuple):
    """How an array is walked: its stride along each axis of the region."""

    strides: dict[Axis, int]


def access(labels: Labels, strides: Sequence[int]) -> Access:
    """The access of an array whose axes are labelled."""
    return Access(
        {a.find(): s for a, s in zip(labels, strides, strict=True) if a is not None and s != 0}
    )


class Dim:
    """A loop over one axis, or over several that are joined; `last` has the smallest stride."""

    __slots__ = ("axes", "extent", "last")

    def __init__(self, axes: tuple[Axis, ...]) -> None:
        self.axes, self.last = axes, axes[-1]
        self.extent = math.prod(a.extent for a in axes)


@dataclass
class Layout:
    """The loops: over rows (`outer`, and blocks of `blocked`), inside (`inner`), and in lanes."""

    outer: list[Dim]
    inner: list[Dim]
    lanes: Dim | None
    blocked: Dim | None  # a loop of which each row takes a block: the lanes' or the only inner one
    rows: int
    rows_in_chunk: int
    strip: int = STRIP

    @property
    def across(self) -> bool:
        """Whether lanes run over rows instead of along them."""
        return self.lanes is not None and self.lanes not in self.inner

    @property
    def block(self) -> int:
        """How much of `blocked` a row takes."""
        return self.strip if self.across else BLOCK

    @property
    def chunks(self) -> int:
        return max(1, -(-self.rows // self.rows_in_chunk))


def arrange(
    region: Region,
    accesses: Sequence[Access],
    stiff: frozenset[Axis] = frozenset(),
    alone: frozenset[Axis] = frozenset(),
    strip: int = STRIP,
) -> Layout:
    """The loops of a region whose arrays are accessed like this.

    Bounds along the `stiff` axes are compared with the index; such a one can only be the first of
    joined axes. Those that stand `alone` are not joined. `strip` rows are computed side by side.
    """
    region.resolve()
    axes = region.axes
    ordered = _ordered(axes, accesses)
    best = _best([Dim((a,)) for a in ordered], accesses)
    prefer = None if best is None else best.last
    inner = inner_axes(axes, region.inner, region.reductions, prefer)
    assert inner is not None
    totals = bool(region.reductions) and all(r.over == axes for r in region.reductions)
    columns = any(
        r.over != axes and r.over <= axes - inner and r.domain == axes for r in region.reductions
    )
    results = [r.output.type.size for r in region.reductions if r.scatters]
    free = not region.reductions and region.inner is None

    def joined(axes: Sequence[Axis]) -> list[Dim]:
        return _joined(axes, accesses, stiff, alone)

    if free or (totals and region.inner is None):
        dims = joined(ordered)
        lanes = _best(dims, accesses)
        inside = [lanes] if lanes is not None else []
        outside = [d for d in dims if d is not lanes]
    else:
        outside = joined([a for a in ordered if a not in inner])
        inside = joined([a for a in ordered if a in inner])
        lanes = _best(outside + inside, accesses, prefer=inside)
    found = _rows(region, outside, inside, lanes, free or totals, columns or bool(results), strip)
    if results:  # a chunk has as much to add as it has to begin with
        per_row = -(-math.prod(a.extent for a in axes) // max(found.rows, 1))
        found.rows_in_chunk = max(found.rows_in_chunk, -(-max(results) // per_row))
    return found


def _rows(
    region: Region,
    outside: list[Dim],
    inside: list[Dim],
    lanes: Dim | None,
    splits: bool,
    columns: bool,
    strip: int,
) -> Layout:
    blocked = None
    if lanes is not None and lanes in outside:
        outside = [d for d in outside if d is not lanes]
        blocked = lanes
    elif splits and region.inner is None and len(inside) == 1:
        few_and_long = _product(outside) < FEW_ROWS and inside[0].extent > 4 * BLOCK
        blocked = inside[0] if few_and_long or not outside else None
    rows = _product(outside)
    work = _product(inside)
    if blocked is not None:
        block = BLOCK if blocked in inside else strip
        rows *= -(-blocked.extent // block)
        work = min(block, blocked.extent) * (work if blocked not in inside else 1)
    grain = max(1, GRAIN // max(work, 1))
    if columns:
        grain = max(grain, -(-rows // MOST_COLUMNS))
    return Layout(outside, inside, lanes, blocked, rows, grain, strip)


def _product(dims: Iterable[Dim]) -> int:
    return math.prod(d.extent for d in dims)


def _ordered(axes: frozenset[Axis], accesses: Sequence[Access]) -> list[Axis]:
    """From the axis with the largest strides to the one with the smallest."""
    order: dict[Axis, None] = {}
    for a in accesses:  # in the order of the code, so that the same code gives the same order
        for axis in a.strides:
            order.setdefault(axis)
    for axis in sorted(axes - set(order), key=lambda a: a.extent):
        order.setdefault(axis)
    known = [a for a in order if a in axes]
    weight = {a: max((abs(x.strides.get(a, 0)) for x in accesses), default=0) for a in known}
    return sorted(known, key=lambda a: -weight[a])


def _joined(
    axes: Sequence[Axis],
    accesses: Sequence[Access],
    stiff: frozenset[Axis],
    alone: frozenset[Axis],
) -> list[Dim]:
    """Neighbours become one loop where every array goes through both as through one."""
    groups: list[list[Axis]] = []
    for a in axes:
        if groups and a not in stiff and a not in alone and groups[-1][0] not in alone:
            before = groups[-1][-1]
            if all(x.strides.get(before, 0) == x.strides.get(a, 0) * a.extent for x in accesses):
                groups[-1].append(a)
                continue
        groups.append([a])
    return [Dim(tuple(g)) for g in groups]


def _best(
    dims: Sequence[Dim], accesses: Sequence[Access], prefer: Sequence[Dim] = ()
) -> Dim | None:
    """The loop for the lanes."""

    def score(d: Dim) -> tuple[float, bool, int]:
        strides = [x.strides.get(d.last, 0) for x in accesses]
        value = sum(s == 1 for s in strides) - 2 * sum(s not in (0, 1) for s in strides)
        return (value - (1000 if d.extent < SHORT else 0), d in prefer, d.extent)

    return max(dims, key=score) if dims else None
