"""Sums of runs of elements along one axis: what `np.add.reduceat` computes, in its order."""

from __future__ import annotations

import numpy as np

from funcgrad.core.forms import Linear, linear
from funcgrad.core.layout import ordered
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import bind, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.ops.arithmetic import cast
from funcgrad.ops.index import gather, scatter_add
from funcgrad.ops.reduction import dtype_of_result
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import moveaxis

__all__ = ["SUM_RUNS", "runs", "sum_runs"]


def runs(starts: tuple[int, ...], extent: int) -> list[tuple[int, int]]:
    """Where each run begins and ends; NumPy takes one element where the next begins before it."""
    ends = (*starts[1:], extent)
    return [(i, max(j, i + 1)) for i, j in zip(starts, ends, strict=True)]


def _transpose(g: Array, x: ArrayType, *, starts: tuple[int, ...], axis: int) -> Array:
    pieces = [np.arange(i, j) for i, j in runs(starts, x.shape[axis])]
    places = np.concatenate([*pieces, np.zeros(0, np.intp)])
    numbers = np.repeat(np.arange(len(pieces)), [len(p) for p in pieces])
    each = gather(moveaxis(g, axis, 0), numbers)
    shape = (x.shape[axis], *x.shape[:axis], *x.shape[axis + 1 :])
    added = scatter_add(each, ArrayType(shape, type_of(g).dtype), (places,))
    return cast(moveaxis(added, 0, axis), x.dtype)


def _type(x: ArrayType, *, starts: tuple[int, ...], axis: int) -> ArrayType:
    shape = (*x.shape[:axis], len(starts), *x.shape[axis + 1 :])
    return ArrayType(shape, dtype_of_result(np.sum, x.dtype, None))


SUM_RUNS: Linear = linear(
    "sum_runs",
    lambda x, starts, axis: np.add.reduceat(x, np.array(starts, np.intp), axis),
    _transpose,
    _type,
    lambda size, xs, batched, params: bind(SUM_RUNS, xs, {**params, "axis": params["axis"] + 1}),
    sample=lambda: [
        Sample((draw((6,)),), {"starts": (0, 2, 5), "axis": 0}),
        Sample((draw((2, 5)),), {"starts": (3, 1, 1, 4), "axis": 1}),
        Sample((draw((4, 2)).astype(np.float32),), {"starts": (1,), "axis": 0}),
        Sample((draw((3,)) + 1j * draw((3,), seed=1),), {"starts": (0, 1), "axis": 0}),
    ],
    moves="adds",
)


class _First:
    """What shows how NumPy lays the result, for arrays of two elements along each axis."""

    impl = staticmethod(lambda x, starts, axis: np.add.reduceat(x, [0] * len(starts[:2]), axis))


SUM_RUNS.lies = lambda prim, *known: ordered(_First, *known)


def sum_runs(x: Array, starts: tuple[int, ...], axis: int) -> Array:
    """The sum of each run of elements along `axis`."""
    return bind(SUM_RUNS, (x,), {"starts": starts, "axis": axis})
