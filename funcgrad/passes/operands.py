"""How the axes of an operand lie along those of the result, and which operands memory has to hold.

An elementwise operation lines its operands up at the last axis. A gather reads its array at
positions that are values. `place` and `concatenate` are put together from pieces: each is an
operand that stands, perhaps with gaps or backwards, between two bounds along some axes of the
result. Where a piece is not moved (a row of a stack, a number in a vector) its value can come from
the same loops. A small square matrix times columns mixes the elements of each column: they have to
be known before, but may come from the same row of loops.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from funcgrad.graph.ir import Equation
from funcgrad.ops import records

__all__ = ["Bounds", "Piece", "Spread", "domain", "held", "mixes", "pieces", "spread"]

Spread = tuple[int | None, ...]  # for each axis of an operand that of the result; None: extent 1
PIECED = (records.PLACE, records.CONCATENATE)
MIXED = range(2, 49)  # elements of a column
FLOATS = ("float64", "float32")
SIDE_BY_SIDE = 256  # columns that are worth a kernel of our own


class Bounds(NamedTuple):
    """Along this axis of the result a piece has `extent` elements, at start, start + step, …"""

    axis: int
    start: int
    step: int
    extent: int


class Piece(NamedTuple):
    """An operand by number, where it stands, and where its elements are."""

    operand: int
    axes: Spread
    bounds: tuple[Bounds, ...]

    @property
    def moved(self) -> bool:
        """Whether an element of the operand is not at its own place in the result."""
        return any(g.axis in self.axes for g in self.bounds)


def pieces(e: Equation) -> tuple[Piece, ...] | None:
    """What a result is put together from, each element by the first piece that has it, else 0.

    None for operations that are no such thing.
    """
    if e.prim is records.PLACE:
        return (_placed(e),) if e.inputs[0].type.size else ()  # an axis of one has no bounds
    if e.prim is records.CONCATENATE:
        return tuple(_joined(e))
    return None


def mixes(e: Equation) -> bool:
    """Whether an equation multiplies many columns by a small square matrix."""
    if e.prim is not records.MATMUL:
        return False
    (matrix, columns), aval = (a.type for a in e.inputs), e.outputs[0].type
    same = matrix.dtype == columns.dtype == aval.dtype and aval.dtype.name in FLOATS
    if not same or matrix.ndim < 2 or columns.shape != aval.shape or aval.ndim < 2:
        return False
    rows, inner = matrix.shape[-2:]
    return rows == inner and rows in MIXED and aval.shape[-1] >= SIDE_BY_SIDE


def _joined(e: Equation) -> list[Piece]:
    axis, shape = e.params["axis"], e.outputs[0].type.shape
    found, start = [], 0
    for k, a in enumerate(e.inputs):
        own = a.type.shape
        bounds = (Bounds(axis, start, 1, own[axis]),) if own[axis] != shape[axis] else ()
        start += own[axis]
        if own[axis]:
            found.append(Piece(k, tuple(_known(own, range(len(own)))), bounds))
    return found


def _placed(e: Equation) -> Piece:
    shape, own = e.params["shape"], e.inputs[0].type.shape
    axes: list[int | None] = []
    bounds: list[Bounds] = []
    axis = 0
    index = e.params["index"]
    used = sum(i is not None and i is not Ellipsis for i in index)
    index = index if Ellipsis in index else (*index, Ellipsis)
    for i in index:
        if i is None:
            axes.append(None)
        elif i is Ellipsis:
            more = len(shape) - used
            axes += range(axis, axis + more)
            axis += more
        elif isinstance(i, tuple):
            start, _, step = slice(*i).indices(shape[axis])
            count = len(range(*slice(*i).indices(shape[axis])))
            if (start, step, count) != (0, 1, shape[axis]) and shape[axis] != 1:
                bounds.append(Bounds(axis, start, step, count))
            axes.append(axis)
            axis += 1
        else:
            if shape[axis] != 1:
                bounds.append(Bounds(axis, i % shape[axis], 1, 1))
            axis += 1
    lead = len(axes) - len(own)  # the operand may have fewer axes, as in an assignment
    return Piece(0, tuple(_known(own, axes[lead:])), tuple(bounds))


def _known(shape: tuple[int, ...], axes: Any) -> list[int | None]:
    return [None if n == 1 else a for n, a in zip(shape, axes, strict=True)]


def domain(e: Equation) -> tuple[int, ...]:
    """The extents over which an equation works: of its result, or of what is added up."""
    if e.prim is records.SCATTER_ADD:
        _, *at = e.inputs
        tail = e.params["shape"][len(at) :]
        return (*np.broadcast_shapes(*(a.type.shape for a in at)), *tail)
    return e.outputs[0].type.shape


def spread(e: Equation, k: int) -> Spread:
    """Along which axes of the domain operand `k` lies."""
    own, rank = e.inputs[k].type.shape, len(domain(e))
    if e.prim is records.SCATTER_ADD and k > 0:
        rank -= len(e.params["shape"]) - (len(e.inputs) - 1)
    elif e.prim is records.GATHER:
        whole, taken = e.inputs[0].type.shape, len(e.inputs) - 1
        lead = rank - (len(whole) - taken)
        if k == 0:
            return tuple(_known(own, [*[None] * taken, *range(lead, rank)]))
        rank = lead
    elif e.prim is records.MATMUL and k == 0:
        return (*_known(own[:-1], range(rank - len(own), rank - 1)), None)
    elif e.prim in PIECED:
        found = pieces(e)
        assert found is not None
        return next((p.axes for p in found if p.operand == k), (None,) * len(own))
    return tuple(_known(own, range(rank - len(own), rank)))


def held(e: Equation) -> frozenset[int]:
    """The operands that are read from memory, because other elements than the loops' are needed."""
    if e.prim in (records.GATHER, records.MATMUL):
        return frozenset([0])
    return frozenset(p.operand for p in pieces(e) or () if p.moved)
