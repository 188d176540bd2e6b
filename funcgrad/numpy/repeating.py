"""Repeating elements, leaving some out, putting some in."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from funcgrad.core.tracer import concrete, type_of, value
from funcgrad.core.types import Array
from funcgrad.errors import located
from funcgrad.numpy.function_calls import (
    as_array,
    as_zero_dim,
    known,
    numpy_function,
    order_of,
    safely_whole,
)
from funcgrad.numpy.joining import join
from funcgrad.numpy.reshaping import complete_shape
from funcgrad.ops import index
from funcgrad.ops import shape as ops
from funcgrad.ops.arithmetic import cast

__all__ = [
    "delete",
    "insert",
    "repeat",
    "resize",
    "tile",
]


def _pick(x: Array, at: Any, axis: int) -> Array:
    """`x` at the integer array `at` (one axis) along `axis`."""
    return index.read(x, (slice(None),) * axis + (at,))


@numpy_function(np.tile)
def tile(A: Any, reps: Any) -> Array:
    """`A` repeated as a whole along each axis.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.tile(x, 3)))(np.ones(2))
    array([3., 3.])
    """
    counts = tuple(reps) if np.iterable(reps) else (reps,)
    counts = tuple(map(operator.index, counts))
    x = as_array(A)
    shape = type_of(x).shape
    rank = max(len(shape), len(counts))
    shape = (1,) * (rank - len(shape)) + shape
    if shape and all(n == 1 for n in counts):  # as NumPy, which then copies the layout, too
        return ops.reshape(ops.copied(x), shape)
    counts = (1,) * (rank - len(counts)) + counts
    paired = tuple(n for n in shape for n in (1, n))
    wide = tuple(n for pair in zip(counts, shape, strict=True) for n in pair)
    out = ops.broadcast_to(ops.reshape(x, paired), wide)
    made = ops.reshape(out, tuple(n * m for n, m in zip(counts, shape, strict=True)))
    return ops.in_c_order(made) if shape else as_zero_dim(made)


@numpy_function(np.repeat)
def repeat(a: Any, repeats: Any, axis: int | None = None) -> Array:
    """Each element of `a` repeated along an axis; of the flattened array if `axis` is None.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.repeat(x, [1, 3])))(np.ones(2))
    array([1., 3.])
    """
    x = as_array(a)
    if axis is None:
        x, axis = ops.reshape(x, (type_of(x).size,)), 0
    shape = type_of(x).shape
    axis = normalize_axis_index(axis, len(shape))
    if not concrete(repeats):
        return _pick(x, _repeated(as_array(repeats), shape[axis]), axis)
    counts = np.asarray(value(repeats))
    if counts.size != 1:
        return _pick(x, np.repeat(np.arange(shape[axis]), counts), axis)
    count = int(counts.reshape(()))
    if count < 0:
        raise ValueError("repeats may not contain negative values.")
    inner = (*shape[: axis + 1], 1, *shape[axis + 1 :])
    wide = (*shape[: axis + 1], count, *shape[axis + 1 :])
    whole = (*shape[:axis], shape[axis] * count, *shape[axis + 1 :])
    return ops.in_c_order(ops.reshape(ops.broadcast_to(ops.reshape(x, inner), wide), whole))


def _repeated(counts: Array, size: int) -> Array:
    """Each position of an axis as often as traced `counts` say; refused as NumPy refuses them."""
    aval = type_of(counts)
    counts = safely_whole(counts)
    if aval.ndim > 1 or aval.size not in (1, size):
        raise ValueError(
            located(
                "operands could not be broadcast together with shape "
                f"({size},) {aval.shape}: repeat() takes a number, or one for each position"
            )
        )
    whole = ops.broadcast_to(ops.reshape(counts, (aval.size,)), (size,))
    return index.repeated(whole, "the number of elements that repeat() gives")


@numpy_function(np.resize)
def resize(a: Any, new_shape: Any) -> Array:
    """`a` repeated or cut to another shape.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.resize(x, 3)))(np.ones(2))
    array([2., 1.])
    """
    shape = (new_shape,) if not np.iterable(new_shape) else tuple(new_shape)
    x = as_array(a)
    size = type_of(x).size
    wanted = int(np.prod(shape, dtype=int))
    if size == 0 or wanted == 0:
        return np.zeros(shape, type_of(x).dtype)
    at = np.arange(wanted) % size
    return ops.reshape(index.gather(ops.reshape(x, (size,)), at), complete_shape((wanted,), shape))


@numpy_function(np.delete)
def delete(arr: Any, obj: Any, axis: int | None = None) -> Array:
    """`arr` without some of its slices along an axis.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.delete(x, 1)))(np.ones(3))
    array([1., 0., 1.])
    """
    x = as_array(arr)
    if axis is None:
        x, axis = ops.reshape(x, (type_of(x).size,)), 0
    axis = normalize_axis_index(axis, type_of(x).ndim)
    kept = np.delete(np.arange(type_of(x).shape[axis]), obj)
    return _pick(x, kept, axis)


@numpy_function(np.insert)
def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Array:
    """`arr` with values put in before the positions `obj` along an axis.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.prod(fnp.insert(x, 1, 3.0)))(np.array([1.0, 2.0]))
    array([6., 3.])
    """
    x, v = as_array(arr), as_array(values)
    if axis is None:
        x, axis = ops.reshape(x, (type_of(x).size,)), 0
    shape = type_of(x).shape
    axis = normalize_axis_index(axis, len(shape))
    at, scalar = _places(obj, shape[axis])
    v = cast(v, type_of(x).dtype)
    lead = (1,) * max(0, len(shape) - type_of(v).ndim)
    v = ops.reshape(v, lead + type_of(v).shape)
    if scalar:  # x[:, 0, :] = v reads v without the axis
        v = ops.moveaxis(v, 0, axis)
    count = type_of(v).shape[axis] if at.size == 1 else at.size
    v = ops.broadcast_to(v, (*shape[:axis], count, *shape[axis + 1 :]))
    source = np.full(shape[axis] + count, -1)
    if at.size == 1:
        at = at + np.arange(count)
    else:
        order = at.argsort(kind="stable")
        at[order] += np.arange(count)
    source[at] = shape[axis] + np.arange(count)
    source[source < 0] = np.arange(shape[axis])
    made = _pick(join([x, v], axis), source, axis)
    return ops.lying_as(made, np.empty(type_of(made).shape, order=order_of(arr)))


def _places(obj: Any, extent: int) -> tuple[Any, bool]:
    """The positions that `obj` names, none of them negative, and whether it is one number."""
    if isinstance(obj, slice):
        return np.arange(*obj.indices(extent)), False
    at = np.asarray(known(obj, "insert()"))
    if at.dtype.kind == "b":
        at = np.flatnonzero(at)
    scalar = at.ndim == 0
    at = np.atleast_1d(at.astype(int))
    if np.any((at < -extent) | (at > extent)):
        raise IndexError(f"index {obj} is out of bounds for an axis of size {extent}")
    return np.where(at < 0, at + extent, at), scalar
