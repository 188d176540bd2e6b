"""Operations that move elements without computing: reshape, transpose, broadcast, join.

All are linear. The functions here return plain traced values; that slices and reshapes of a
mutable array are views of it is the business of `ops.storage` and of the NumPy layer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from funcgrad.core.algebra import algebra
from funcgrad.core.forms import Linear, linear
from funcgrad.core.layout import moved, ordered, outwards, reshaped
from funcgrad.core.primitive import Params, Sample
from funcgrad.core.tracer import Tracer, bind, concrete, layout, operand, staged, type_of, value
from funcgrad.core.types import Array, ArrayType, broadcast_shapes
from funcgrad.errors import located
from funcgrad.ops.arithmetic import cast
from funcgrad.ops.samples import draw

ndarray = np.ndarray

# -------------------------------------------------------------------------------- reshape


def _reshape_type(x: ArrayType, *, shape: tuple[int, ...]) -> ArrayType:
    if ArrayType(shape, x.dtype).size != x.size:
        raise ValueError(located(f"cannot reshape array of size {x.size} into shape {shape}"))
    return ArrayType(shape, x.dtype)


def _reshape_impl(x: Any, shape: tuple[int, ...]) -> Any:
    if type(x) is not ndarray:
        return np.reshape(x, shape)
    if x.shape == shape and (not x.flags.forc or min(x.strides, default=0) < 0):
        return np.copy(x)  # see `renewed`; one element counts as contiguous wherever it lies
    return x.reshape(shape)


RESHAPE: Linear = linear(
    "reshape",
    _reshape_impl,
    lambda g, x, *, shape: reshape(g, x.shape),
    _reshape_type,
    lambda size, xs, batched, params: reshape(xs[0], (size, *params["shape"])),
    sample=lambda: [
        Sample((draw((2, 3)),), {"shape": (3, 2)}),
        Sample((draw((2, 3))[:, ::-1],), {"shape": (6,)}),
        Sample((np.float64(1.5),), {"shape": (1, 1)}),
        Sample((draw((0, 2)),), {"shape": (2, 0)}),
    ],
    moves="adds",
)


def reshape(x: Array, shape: Sequence[int]) -> Array:
    """`x` in another shape; no extent may be -1 here."""
    shape = tuple(shape)
    if type_of(x).shape == shape and not type_of(x).weak:
        return x
    return bind(RESHAPE, (x,), {"shape": shape})


def renewed(x: Array) -> Any:
    """Another traced value with the elements of `x`, which writes into `x` do not change.

    It lies in memory as a copy does: NumPy rounds complex products and dot products of what is
    reversed or has gaps otherwise.
    """
    return bind(RESHAPE, (x,), {"shape": type_of(x).shape})


def lies_in_c_order(x: Array) -> bool:
    """Whether the memory behind `x` is contiguous in C order, or there is none yet."""
    return not concrete(x) or bool(np.asarray(value(x)).flags.c_contiguous)


def flat(x: Array) -> Array:
    """`x` with one axis, laid out as by NumPy's `ravel`."""
    y = reshape(x, (type_of(x).size,))
    return y if lies_in_c_order(y) else renewed(y)


def copied(x: Array, order: str = "K") -> Array:
    """Another traced value with the elements of `x`, in memory as NumPy's `copy` gives it."""
    shape = type_of(x).shape
    if order == "K" or (order == "C" and not staged(x) and layout(x).flags.c_contiguous):
        return renewed(x)
    if order == "F" or (order == "A" and layout(x).flags.fnc):
        axes = tuple(range(len(shape)))[::-1]
        return transpose(copied(transpose(x, axes), "C"), axes)
    y = reshape(x, (type_of(x).size,))
    if not (concrete(x) and lies_in_c_order(y)):
        y = renewed(y)
    return bind(RESHAPE, (y,), {"shape": shape})


# ------------------------------------------------------------------------------ transpose


def _inverse(axes: tuple[int, ...]) -> tuple[int, ...]:
    return axes if len(axes) == 2 else tuple(np.argsort(axes).tolist())


TRANSPOSE: Linear = linear(
    "transpose",
    lambda x, axes: x.transpose(axes) if type(x) is ndarray else np.transpose(x, axes),
    lambda g, x, *, axes: transpose(g, _inverse(axes)),
    lambda x, *, axes: ArrayType(tuple(x.shape[a] for a in axes), x.dtype),
    lambda size, xs, batched, params: transpose(xs[0], (0, *(a + 1 for a in params["axes"]))),
    sample=lambda: [
        Sample((draw((2, 3)),), {"axes": (1, 0)}),
        Sample((draw((2, 3, 4)),), {"axes": (2, 0, 1)}),
    ],
    moves="adds",
)


def line_of(x: Any, axis: int | None) -> tuple[Array, int]:
    """`x` and the axis to run along; without one it is made flat, as NumPy does."""
    x = operand(x)
    aval = type_of(x)
    if axis is None:
        return reshape(x, (aval.size,)), 0
    return x, normalize_axis_index(axis, aval.ndim)


def transpose(x: Array, axes: Sequence[int]) -> Array:
    """`x` with its axes in the order `axes` (each once, non-negative)."""
    axes = tuple(axes)
    if axes == tuple(range(len(axes))):
        return x
    return bind(TRANSPOSE, (x,), {"axes": axes})


def moveaxis(x: Array, source: int, destination: int) -> Array:
    """`x` with one axis moved."""
    if source == destination:
        return x
    ndim = type_of(x).ndim
    order = [a for a in range(ndim) if a != source % ndim]
    order.insert(destination % ndim, source % ndim)
    return transpose(x, order)


def swap_last(x: Array) -> Array:
    """The matrix transpose over the last two axes."""
    ndim = type_of(x).ndim
    return transpose(x, (*range(ndim - 2), ndim - 1, ndim - 2))


def in_c_order(x: Array) -> Array:
    """The elements of `x`, contiguous in C order: what NumPy's functions write into new arrays.

    One element may lie at a step backwards and yet count as contiguous; NumPy's loops over it round
    as those over reversed arrays.
    """
    if concrete(x) and lies_in_c_order(x) and all(s >= 0 for s in np.asarray(value(x)).strides):
        return x
    return copied(x, "C")


def lying_as(x: Array, like: Any) -> Array:
    """The elements of `x`, its axes in memory in the order of those of `like`, a dense array."""
    if type_of(x).ndim < 2 or layout(x).strides == like.strides:
        return x
    axes = outwards(like)
    return transpose(copied(transpose(x, axes), "C"), _inverse(axes))


# ------------------------------------------------------------------------------ broadcast


def _broadcast_type(x: ArrayType, *, shape: tuple[int, ...]) -> ArrayType:
    lead = len(shape) - x.ndim
    if lead < 0 or any(n not in (1, m) for n, m in zip(x.shape, shape[lead:], strict=True)):
        raise ValueError(located(f"shape {x.shape} cannot be broadcast to {shape}"))
    return ArrayType(shape, x.dtype)


def _broadcast_batch(size: int, xs: Any, batched: Any, params: Params) -> Any:
    x, shape = xs[0], params["shape"]
    own = type_of(x).shape
    x = reshape(x, own[:1] + (1,) * (len(shape) + 1 - len(own)) + own[1:])
    return broadcast_to(x, (size, *shape))


FEW = 256  # elements; so many are written sooner than NumPy makes a view that repeats


def _broadcast(x: Any, shape: tuple[int, ...]) -> Any:
    if type(x) in SCALARS and 0 < math.prod(shape) <= FEW and shape:
        out = np.empty(shape, x.dtype)
        out.fill(x)
        return out
    return np.broadcast_to(x, shape)


SCALARS = frozenset((np.float32, np.float64))
BROADCAST: Linear = linear(
    "broadcast",
    _broadcast,
    lambda g, x, *, shape: unbroadcast(g, x),
    _broadcast_type,
    _broadcast_batch,
    sample=lambda: [
        Sample((draw((3,)),), {"shape": (2, 3)}),
        Sample((draw((2, 1)),), {"shape": (2, 3)}),
        Sample((np.float64(1.5),), {"shape": (0, 2)}),
    ],
    moves="adds",
)


def broadcast_to(x: Array, shape: Sequence[int]) -> Array:
    """`x` repeated along new and size-1 axes, as a read-only view."""
    shape = tuple(shape)
    return x if type_of(x).shape == shape else bind(BROADCAST, (x,), {"shape": shape})


def every_lane(size: int, xs: Sequence[Array], batched: Sequence[bool]) -> list[Array]:
    """The operands, all of them with a batch axis of extent `size` in front."""
    return [
        x if b else broadcast_to(x, (size, *type_of(x).shape))
        for x, b in zip(xs, batched, strict=True)
    ]


def zero_dim(x: Array) -> Array:
    """A scalar as an array without axes; what is one stays one."""
    return bind(BROADCAST, (x,), {"shape": ()})


def broadcast_as(x: Array, shape: tuple[int, ...], dtype: Any) -> Array:
    """`x` with exactly this shape and dtype, and not weak."""
    return broadcast_to(cast(x, dtype), shape)


def unbroadcast(c: Array, aval: ArrayType) -> Array:
    """A cotangent summed over the axes along which its operand of type `aval` was broadcast."""
    shape, dtype, weak = type_of(c)
    if shape == aval.shape and dtype is aval.dtype and not weak:
        return c
    if shape != aval.shape:
        lead = len(shape) - len(aval.shape)
        if lead > 0 and type(c) is ndarray and shape[lead:] == aval.shape:  # a bias, most often
            return cast(np.add.reduce(c, tuple(range(lead))), aval.dtype)
        if lead < 0:
            c = broadcast_to(c, aval.shape)
        else:
            axes = tuple(range(lead)) + tuple(
                lead + i
                for i, extent in enumerate(aval.shape)
                if extent == 1 and shape[lead + i] != 1
            )
            if axes:
                c = algebra.sum(c, axes)
            c = broadcast_to(reshape(c, _kept(shape, axes, lead)), aval.shape)
    return cast(c, aval.dtype)


def _kept(shape: tuple[int, ...], axes: Sequence[int], lead: int) -> tuple[int, ...]:
    return tuple(1 if i in axes else n for i, n in enumerate(shape))[lead:]


# ------------------------------------------------------------------------------- flipping

FLIP: Linear = linear(
    "flip",
    lambda x, axes: np.flip(x, axes),
    lambda g, x, *, axes: flip(g, axes),
    lambda x, *, axes: ArrayType(x.shape, x.dtype),
    lambda size, xs, batched, params: flip(xs[0], tuple(a + 1 for a in params["axes"])),
    sample=lambda: [Sample((draw((2, 3)),), {"axes": (1,)})],
    moves="adds",
)


def flip(x: Array, axes: Sequence[int]) -> Array:
    """`x` in reverse order along `axes`."""
    return bind(FLIP, (x,), {"axes": tuple(axes)})


# -------------------------------------------------------------------------------- joining


def _join_transpose(g: Any, *xs: Any, axis: int, needs: Sequence[bool] | None = None) -> Any:
    if needs is None:
        return cast(g, xs[0].dtype)
    stops = accumulate(x.shape[axis] for x in xs)
    before = (slice(None),) * axis
    return [
        cast(algebra.getitem(g, (*before, slice(stop - x.shape[axis], stop))), x.dtype)
        if needed
        else None
        for x, stop, needed in zip(xs, stops, needs)
    ]


def _join_type(*xs: ArrayType, axis: int) -> ArrayType:
    extent = sum(x.shape[axis] for x in xs)
    shape = xs[0].shape[:axis] + (extent,) + xs[0].shape[axis + 1 :]
    return ArrayType(shape, np.result_type(*(x.dtype for x in xs)))


def _join_batch(size: int, xs: Any, batched: Any, params: Params) -> Any:
    return concatenate(every_lane(size, xs, batched), params["axis"] + 1)


CONCATENATE: Linear = linear(
    "concatenate",
    lambda *xs, axis: np.concatenate(xs, axis),
    _join_transpose,
    _join_type,
    _join_batch,
    sample=lambda: [
        Sample((draw((2, 3)), draw((1, 3), seed=1)), {"axis": 0}),
        Sample((draw((2, 3)), draw((2, 0)), draw((2, 2)).astype(np.float32)), {"axis": 1}),
        Sample((draw((3,)),), {"axis": 0}),
    ],
    moves="adds",
)


def concatenate(xs: Sequence[Array], axis: int) -> Array:
    """Operands joined along an existing axis (non-negative)."""
    return bind(CONCATENATE, tuple(xs), {"axis": axis})


def stack(xs: Sequence[Array], axis: int = 0) -> Array:
    """Operands of one shape joined along a new axis (non-negative)."""
    if not any(isinstance(x, Tracer) for x in xs):
        return np.stack([np.asarray(x) for x in xs], axis)
    xs = [operand(x) for x in xs]
    shape = broadcast_shapes(*(type_of(x).shape for x in xs))
    if any(type_of(x).shape != shape for x in xs):
        raise ValueError("all input arrays must have the same shape")
    longer = (*shape[:axis], 1, *shape[axis:])
    dtype = np.result_type(*(type_of(x).dtype for x in xs))
    return concatenate([reshape(cast(x, dtype), longer) for x in xs], axis)


algebra.unbroadcast, algebra.broadcast = unbroadcast, broadcast_as
algebra.reshape, algebra.stack = reshape, stack
algebra.zero_dim = zero_dim

for _prim in (TRANSPOSE, BROADCAST, FLIP):
    _prim.lies = moved
RESHAPE.lies = reshaped
CONCATENATE.lies = ordered
RESHAPE.hands_on = TRANSPOSE.hands_on = CONCATENATE.hands_on = True
