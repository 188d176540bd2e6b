"""Joining, splitting and repeating arrays. The parts of a split are views, as in NumPy."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from funcgrad.core.storage import view
from funcgrad.core.tracer import Operand, type_of
from funcgrad.core.types import Array
from funcgrad.numpy.calls import as_array, as_zero_dim, known, numpy_function
from funcgrad.numpy.reshaping import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    complete_shape,
    shape_of,
)
from funcgrad.ops import index
from funcgrad.ops import shape as ops
from funcgrad.ops.arithmetic import cast

__all__ = [
    "append",
    "array_split",
    "block",
    "column_stack",
    "concat",
    "concatenate",
    "delete",
    "dsplit",
    "dstack",
    "hsplit",
    "hstack",
    "insert",
    "repeat",
    "resize",
    "split",
    "stack",
    "tile",
    "unstack",
    "vsplit",
    "vstack",
]


def _items(arrays: Any) -> list[Any]:
    """The arrays to be joined: an array stands for the sequence of its rows."""
    if isinstance(arrays, (Operand, np.ndarray)):
        rows: Any = arrays
        return [rows[i] for i in range(shape_of(arrays)[0])]
    return list(arrays)


def join(xs: Sequence[Array], axis: int) -> Array:
    """Operands joined along `axis`; the shapes are checked with NumPy's messages."""
    if not xs:
        raise ValueError("need at least one array to concatenate")
    shapes = [type_of(x).shape for x in xs]
    if not shapes[0]:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    axis = normalize_axis_index(axis, len(shapes[0]))
    for i, shape in enumerate(shapes):
        if len(shape) != len(shapes[0]):
            raise ValueError(
                "all the input array dimensions except for the concatenation axis must match "
                f"exactly, but along dimension 0, the array at index 0 has {len(shapes[0])} "
                f"dimension(s) and the array at index {i} has {len(shape)} dimension(s)"
            )
        for k, (n, m) in enumerate(zip(shapes[0], shape, strict=True)):
            if k != axis and n != m:
                raise ValueError(
                    "all the input array dimensions except for the concatenation axis must match "
                    f"exactly, but along dimension {k}, the array at index 0 has size {n} and "
                    f"the array at index {i} has size {m}"
                )
    return ops.concatenate(xs, axis)


@numpy_function(np.concatenate, np.concat)
def concatenate(
    arrays: Any, /, axis: int | None = 0, out: Any = None, *, dtype: Any = None, casting: Any = None
) -> Array:
    """The arrays joined along an existing axis; flattened first if `axis` is None.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.concatenate([x, 2.0 * x])))(np.ones(2))
    array([3., 3.])
    """
    xs = [as_array(x) for x in _items(arrays)]
    if axis is None:
        xs, axis = [ops.reshape(x, (type_of(x).size,)) for x in xs], 0
    if dtype is not None:
        xs = [cast(x, dtype) for x in xs]
    return join(xs, axis)


concat = concatenate


@numpy_function(np.stack)
def stack(
    arrays: Any, axis: int = 0, out: Any = None, *, dtype: Any = None, casting: Any = None
) -> Array:
    """Arrays of one shape joined along a new axis.

    Examples
    --------
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.prod(fnp.stack([x, x, 3.0])))(2.0)
    np.float64(12.0)
    """
    xs = [as_array(x) for x in _items(arrays)]
    if not xs:
        raise ValueError("need at least one array to stack")
    shapes = {type_of(x).shape for x in xs}
    if len(shapes) != 1:
        raise ValueError("all input arrays must have the same shape")
    shape = shapes.pop()
    axis = normalize_axis_index(axis, len(shape) + 1)
    xs = [ops.reshape(x, (*shape[:axis], 1, *shape[axis:])) for x in xs]
    return concatenate(xs, axis, dtype=dtype)


@numpy_function(np.vstack, *([np.row_stack] if "row_stack" in np.__all__ else []))
def vstack(tup: Any, *, dtype: Any = None, casting: Any = None) -> Array:
    """Arrays joined along the first axis; vectors are rows.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.vstack([x, 2.0 * x])))(np.ones(2))
    array([3., 3.])
    """
    return concatenate([atleast_2d(x) for x in _items(tup)], 0, dtype=dtype)


@numpy_function(np.hstack)
def hstack(tup: Any, *, dtype: Any = None, casting: Any = None) -> Array:
    """Arrays joined along the second axis, vectors along the first.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.hstack([x, 2.0 * x])))(np.ones(2))
    array([3., 3.])
    """
    xs = [atleast_1d(x) for x in _items(tup)]
    axis = 0 if xs and len(shape_of(xs[0])) == 1 else 1
    return concatenate(xs, axis, dtype=dtype)


@numpy_function(np.dstack)
def dstack(tup: Any) -> Array:
    """Arrays joined along the third axis.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.dstack([x, 2.0 * x])))(np.ones(2))
    array([3., 3.])
    """
    return concatenate([atleast_3d(x) for x in _items(tup)], 2)


@numpy_function(np.column_stack)
def column_stack(tup: Any) -> Array:
    """Vectors as the columns of a matrix; matrices are joined as they are.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.column_stack([x, 2.0 * x])))(np.ones(2))
    array([3., 3.])
    """
    columns = []
    for x in map(as_array, _items(tup)):
        shape = type_of(x).shape
        if len(shape) < 2:
            x = ops.reshape(x, (type_of(x).size, 1))
        columns.append(x)
    return concatenate(columns, 1)


@numpy_function(np.block)
def block(arrays: Any) -> Array:
    """A matrix put together from nested lists of blocks.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.block([[x, x], [np.eye(2), x]])))(np.ones((2, 2)))
    array([[3., 3.],
           [3., 3.]])
    """
    depth = _depth(arrays)
    rank = max(depth, *(len(shape_of(x)) for x in _leaves(arrays)))
    return _block(arrays, depth, rank)


def _depth(arrays: Any) -> int:
    if not isinstance(arrays, list):
        return 0
    if not arrays:
        raise ValueError("List at arrays cannot be empty")
    depths = {_depth(x) for x in arrays}
    if len(depths) != 1:
        raise ValueError("List depths are mismatched")
    return 1 + depths.pop()


def _leaves(arrays: Any) -> list[Any]:
    return [y for x in arrays for y in _leaves(x)] if isinstance(arrays, list) else [arrays]


def _block(arrays: Any, depth: int, rank: int) -> Array:
    if not depth:
        x = as_array(arrays)
        shape = type_of(x).shape
        return ops.reshape(x, (1,) * (rank - len(shape)) + shape)
    return join([_block(x, depth - 1, rank) for x in arrays], rank - depth)


@numpy_function(np.append)
def append(arr: Any, values: Any, axis: int | None = None) -> Array:
    """`values` after `arr`; both are flattened if `axis` is None.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.prod(fnp.append(x, 3.0)))(np.array([1.0, 2.0]))
    array([6., 3.])
    """
    return concatenate((arr, values), axis)


# -------------------------------------------------------------------------------- splitting


@numpy_function(np.array_split, views=True)
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """The parts of `ary` along an axis, as views; they may differ in size.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.array_split(x, 2)[1]))(np.ones(3))
    array([0., 0., 1.])
    """
    shape = shape_of(ary)
    axis = normalize_axis_index(axis, len(shape))
    total = shape[axis]
    if np.ndim(indices_or_sections):
        points = [0, *map(operator.index, indices_or_sections), total]
    else:
        count = operator.index(indices_or_sections)
        if count <= 0:
            raise ValueError("number sections must be larger than 0.")
        each, extra = divmod(total, count)
        sizes = [each + 1] * extra + [each] * (count - extra)
        points = [0, *np.cumsum(sizes).tolist()]
    return [_slab(ary, axis, lo, hi) for lo, hi in itertools.pairwise(points)]


def _slab(x: Any, axis: int, lo: int, hi: int) -> Array:
    at = (slice(None),) * axis + (slice(lo, hi),)
    if isinstance(x, Operand):
        return view(x, lambda base: index.getitem(base, at), at)
    return as_array(x)[at]


@numpy_function(np.split, views=True)
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """The parts of `ary` along an axis, as views; an integer has to divide the extent.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.split(x, [1])[1]))(np.ones(3))
    array([0., 1., 1.])
    """
    if not np.ndim(indices_or_sections):
        total = shape_of(ary)[axis]
        if total % operator.index(indices_or_sections):
            raise ValueError("array split does not result in an equal division")
    return array_split(ary, indices_or_sections, axis)


@numpy_function(np.hsplit, views=True)
def hsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """The parts of `ary` along its second axis, of a vector along its first.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.hsplit(x, 2)[1]))(np.ones((1, 2)))
    array([[0., 1.]])
    """
    if not shape_of(ary):
        raise ValueError("hsplit only works on arrays of 1 or more dimensions")
    return split(ary, indices_or_sections, 1 if len(shape_of(ary)) > 1 else 0)


@numpy_function(np.vsplit, views=True)
def vsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """The parts of `ary` along its first axis.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.vsplit(x, 2)[1]))(np.ones((2, 1)))
    array([[0.],
           [1.]])
    """
    if len(shape_of(ary)) < 2:
        raise ValueError("vsplit only works on arrays of 2 or more dimensions")
    return split(ary, indices_or_sections, 0)


@numpy_function(np.dsplit, views=True)
def dsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """The parts of `ary` along its third axis.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.dsplit(x, 2)[1]))(np.ones((1, 1, 2)))
    array([[[0., 1.]]])
    """
    if len(shape_of(ary)) < 3:
        raise ValueError("dsplit only works on arrays of 3 or more dimensions")
    return split(ary, indices_or_sections, 2)


@numpy_function(*([np.unstack] if hasattr(np, "unstack") else [None]), views=True)
def unstack(x: Any, /, *, axis: int = 0) -> tuple[Array, ...]:
    """The parts of `x` along an axis, which is dropped; views.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.unstack(x)[0] * fnp.unstack(x)[1])(np.array([2.0, 3.0]))
    array([3., 2.])
    """
    shape = shape_of(x)
    if not shape:
        raise ValueError("Input array must be at least 1-d.")
    axis = normalize_axis_index(axis, len(shape))
    lead = (slice(None),) * axis
    target: Any = x if isinstance(x, Operand) else as_array(x)
    return tuple(target[(*lead, i)] for i in range(shape[axis]))


# -------------------------------------------------------------------------------- repeating


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
    counts = (1,) * (rank - len(counts)) + counts
    paired = tuple(n for n in shape for n in (1, n))
    wide = tuple(n for pair in zip(counts, shape, strict=True) for n in pair)
    out = ops.broadcast_to(ops.reshape(x, paired), wide)
    made = ops.reshape(out, tuple(n * m for n, m in zip(counts, shape, strict=True)))
    return made if shape else as_zero_dim(made)


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
    counts = np.asarray(known(repeats, "the shape of repeat()"))
    if counts.size != 1:
        return _pick(x, np.repeat(np.arange(shape[axis]), counts), axis)
    count = int(counts.reshape(()))
    if count < 0:
        raise ValueError("repeats may not contain negative values.")
    inner = (*shape[: axis + 1], 1, *shape[axis + 1 :])
    wide = (*shape[: axis + 1], count, *shape[axis + 1 :])
    whole = (*shape[:axis], shape[axis] * count, *shape[axis + 1 :])
    return ops.reshape(ops.broadcast_to(ops.reshape(x, inner), wide), whole)


def _pick(x: Array, at: Any, axis: int) -> Array:
    """`x` at the integer array `at` (one axis) along `axis`."""
    return index.read(x, (slice(None),) * axis + (at,))


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
    return _pick(join([x, v], axis), source, axis)


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
