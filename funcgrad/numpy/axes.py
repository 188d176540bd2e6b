"""Permuting, reversing and turning axes, and diagonals: views, as in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from funcgrad.core.types import Array
from funcgrad.numpy.function_calls import numpy_function
from funcgrad.numpy.reshaping import shape_of, shown
from funcgrad.ops import index
from funcgrad.ops import shape as ops

__all__ = [
    "diagonal",
    "flip",
    "fliplr",
    "flipud",
    "matrix_transpose",
    "moveaxis",
    "permute_dims",
    "rollaxis",
    "rot90",
    "swapaxes",
    "transpose",
]


@numpy_function(np.transpose, np.permute_dims, views=True)
def transpose(a: Any, axes: Any = None) -> Array:
    """`a` with its axes in another order, reversed by default, as a view.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.transpose(x)[0, 1])(np.ones((2, 2)))
    array([[0., 0.],
           [1., 0.]])
    """
    rank = len(shape_of(a))
    if axes is None:
        order = tuple(range(rank))[::-1]
    else:
        axes = (axes,) if np.ndim(axes) == 0 else axes  # of one axis, as NumPy takes it
        if len(axes) != rank:
            raise ValueError("axes don't match array")
        order = normalize_axis_tuple(axes, rank)
    return shown(a, lambda x: ops.transpose(x, order))


permute_dims = transpose


@numpy_function(np.matrix_transpose, views=True)
def matrix_transpose(x: Any, /) -> Array:
    """`x` with its last two axes swapped, as a view.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.eval_shape(fnp.matrix_transpose, np.ones((3, 1, 2))).shape
    (3, 2, 1)
    """
    rank = len(shape_of(x))
    if rank < 2:
        raise ValueError(f"Input array must be at least 2-dimensional, but it is {rank}")
    return shown(x, ops.swap_last)


@numpy_function(np.swapaxes, views=True)
def swapaxes(a: Any, axis1: int, axis2: int) -> Array:
    """`a` with two axes swapped, as a view.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.eval_shape(lambda x: fnp.swapaxes(x, 0, 2), np.ones((3, 1, 2))).shape
    (2, 1, 3)
    """
    rank = len(shape_of(a))
    first, second = normalize_axis_index(axis1, rank), normalize_axis_index(axis2, rank)
    order = list(range(rank))
    order[first], order[second] = order[second], order[first]
    return shown(a, lambda x: ops.transpose(x, order))


@numpy_function(np.moveaxis, views=True)
def moveaxis(a: Any, source: Any, destination: Any) -> Array:
    """`a` with some axes moved to other places, as a view.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.eval_shape(lambda x: fnp.moveaxis(x, 0, -1), np.ones((3, 1, 2))).shape
    (1, 2, 3)
    """
    rank = len(shape_of(a))
    origin = normalize_axis_tuple(source, rank, "source")
    target = normalize_axis_tuple(destination, rank, "destination")
    if len(origin) != len(target):
        raise ValueError(
            "`source` and `destination` arguments must have the same number of elements"
        )
    order = [n for n in range(rank) if n not in origin]
    for place, axis in sorted(zip(target, origin, strict=True)):
        order.insert(place, axis)
    return shown(a, lambda x: ops.transpose(x, order))


@numpy_function(np.rollaxis, views=True)
def rollaxis(a: Any, axis: int, start: int = 0) -> Array:
    """`a` with one axis moved before another, as a view.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.eval_shape(lambda x: fnp.rollaxis(x, 2), np.ones((3, 1, 2))).shape
    (2, 3, 1)
    """
    rank = len(shape_of(a))
    axis = normalize_axis_index(axis, rank)
    if not -rank <= start <= rank:
        raise np.exceptions.AxisError(
            f"'start' arg requires {-rank} <= start < {rank + 1}, but {start} was passed in"
        )
    start += rank if start < 0 else 0
    return moveaxis(a, axis, start - 1 if axis < start else start)


def _flipped(a: Any, axes: tuple[int, ...]) -> Any:
    if axes or not shape_of(a):  # of an array without axes NumPy gives the scalar in it
        return shown(a, lambda x: ops.flip(x, axes))
    return shown(a, lambda x: x)


@numpy_function(np.flip, views=True)
def flip(m: Any, axis: Any = None) -> Array:
    """`m` in reverse order along some axes, all by default, as a view.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.flip(x)[0])(np.ones(3))
    array([0., 0., 1.])
    """
    rank = len(shape_of(m))
    axes = tuple(range(rank)) if axis is None else normalize_axis_tuple(axis, rank)
    return _flipped(m, axes)


@numpy_function(np.fliplr, views=True)
def fliplr(m: Any) -> Array:
    """`m` with its columns in reverse order, as a view.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.fliplr(x)[0, 0])(np.ones((2, 2)))
    array([[0., 1.],
           [0., 0.]])
    """
    if len(shape_of(m)) < 2:
        raise ValueError("Input must be >= 2-d.")
    return _flipped(m, (1,))


@numpy_function(np.flipud, views=True)
def flipud(m: Any) -> Array:
    """`m` with its rows in reverse order, as a view.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.flipud(x)[0, 0])(np.ones((2, 2)))
    array([[0., 0.],
           [1., 0.]])
    """
    if len(shape_of(m)) < 1:
        raise ValueError("Input must be >= 1-d.")
    return _flipped(m, (0,))


@numpy_function(np.rot90, views=True)
def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Array:
    """`m` rotated `k` times by 90 degrees in the plane of two axes, as a view.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.rot90(x)[0, 0])(np.ones((2, 2)))
    array([[0., 1.],
           [0., 0.]])
    """
    if len(axes) != 2:
        raise ValueError("len(axes) must be 2.")
    rank = len(shape_of(m))
    if axes[0] == axes[1] or abs(axes[0] - axes[1]) == rank:
        raise ValueError("Axes must be different.")
    if any(not -rank <= axis < rank for axis in axes):
        raise ValueError(f"Axes={tuple(axes)} out of range for array of ndim={rank}.")
    first, second = (axis % rank for axis in axes)
    k %= 4
    if k == 0:
        return _flipped(m, ())
    if k == 2:
        return _flipped(m, (first, second))
    if k == 1:
        return swapaxes(_flipped(m, (second,)), first, second)
    return _flipped(swapaxes(m, first, second), (second,))


@numpy_function(np.diagonal, views=True)
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """The elements on a diagonal of two axes, which becomes the last axis; a view.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.prod(fnp.diagonal(x)))(np.diag([2.0, 3.0]))
    array([[3., 0.],
           [0., 2.]])
    """
    shape = shape_of(a)
    if len(shape) < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    first = normalize_axis_index(axis1, len(shape), "axis1")
    second = normalize_axis_index(axis2, len(shape), "axis2")
    if first == second:
        raise ValueError("axis1 and axis2 cannot be the same")
    start = max(0, -offset)
    rows = start + np.arange(max(0, min(shape[first] - start, shape[second] - max(0, offset))))
    rest = [i for i in range(len(shape)) if i not in (first, second)]

    def part(x: Array) -> Array:
        if isinstance(x, np.ndarray):
            return np.diagonal(x, offset, first, second)
        x = ops.transpose(x, (first, second, *rest))
        return ops.moveaxis(index.gather(x, rows, rows + offset), 0, -1)

    return shown(a, part, writable=False)
