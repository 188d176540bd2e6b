"""Integer arrays over the leading axes: gathers, scatters that add, and their batching."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core.forms import Linear, align, linear
from funcgrad.core.primitive import Params, Sample
from funcgrad.core.tracer import bind, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import broadcast_to, every_lane, unbroadcast

__all__ = ["GATHER", "SCATTER_ADD", "gather", "scatter_add", "take_along_axis"]


def _gather_type(x: ArrayType, *indices: ArrayType) -> ArrayType:
    where_ = np.broadcast_shapes(*(i.shape for i in indices))
    return ArrayType(where_ + x.shape[len(indices) :], x.dtype)


def _lanes(size: int, rank: int) -> Any:
    return np.arange(size).reshape((size,) + (1,) * rank)


def _ranks(xs: Sequence[Array], batched: Sequence[bool]) -> int:
    return max(type_of(i).ndim - b for i, b in zip(xs, batched, strict=True))


def _gather_batch(size: int, xs: Any, batched: Any, params: Params) -> Any:
    rank = _ranks(xs[1:], batched[1:])
    indices = align(xs[1:], batched[1:])
    if batched[0]:
        indices.insert(0, _lanes(size, rank))
    return bind(GATHER, (xs[0], *indices))


def _gather_samples() -> list[Sample]:
    x = draw((3, 4))
    return [
        Sample((x, np.array([0, 2, 2]))),
        Sample((x, np.array([[0], [1]]), np.array([1, -1, 1]))),
        Sample((draw((3,)), np.array([], int))),
    ]


def _gathered(x: Any, *indices: Any) -> Any:
    x = np.asarray(x)
    # an element that is alone comes as a scalar, which would be none of bfloat16
    return x[indices] if x.dtype.isnative else x[(*indices, ...)]


GATHER: Linear = linear(
    "gather",
    _gathered,
    (lambda g, x, *indices: scatter_add(g, x, indices),),
    _gather_type,
    _gather_batch,
    sample=_gather_samples,
    moves="adds",
)


def gather(x: Array, *indices: Array) -> Array:
    """``x[i0, i1, …]`` with integer arrays over the leading axes."""
    return bind(GATHER, (x, *indices))


def _scatter_add(g: Any, *indices: Any, shape: tuple[int, ...]) -> Any:
    g = np.asarray(g)
    full = np.zeros(shape, g.dtype)
    np.add.at(full, indices, g)
    return full


def _scatter_batch(size: int, xs: Any, batched: Any, params: Params) -> Any:
    count = len(xs) - 1
    (g,), rank = every_lane(size, xs[:1], batched[:1]), _ranks(xs[1:], batched[1:])
    indices = align(xs[1:], batched[1:])
    shape = (size, *params["shape"])
    tail = params["shape"][count:]
    where_ = np.broadcast_shapes(*(type_of(i).shape for i in indices), (size, *(1,) * rank))
    g = broadcast_to(g, where_ + tail)
    return bind(SCATTER_ADD, (g, _lanes(size, rank), *indices), {"shape": shape})


SCATTER_ADD: Linear = linear(
    "scatter_add",
    _scatter_add,
    (lambda g, x, *indices, shape: unbroadcast(bind(GATHER, (g, *indices)), x),),
    lambda g, *indices, shape: ArrayType(shape, g.dtype),
    _scatter_batch,
    sample=lambda: [
        Sample((draw((3, 4)), np.array([0, 2, 2])), {"shape": (3, 4)}),
        Sample((draw((3,)), np.array([0, 1, 0]), np.array([1, 1, 1])), {"shape": (2, 2)}),
    ],
    moves="scatters",
)


def scatter_add(g: Array, aval: ArrayType, indices: Sequence[Array]) -> Array:
    """Zeros of shape `kind.shape` into which `g` is added at integer arrays of leading axes."""
    return bind(SCATTER_ADD, (g, *indices), {"shape": aval.shape})


def take_along_axis(x: Array, indices: Array, axis: int) -> Array:
    """NumPy's `take_along_axis` for a non-negative axis."""
    shape, where_ = type_of(x).shape, type_of(indices).shape
    rank = len(where_)
    index = [
        indices if a == axis else np.arange(shape[a]).reshape((-1,) + (1,) * (rank - a - 1))
        for a in range(rank)
    ]
    return gather(x, *index)
