"""Functions that give an array another shape. What NumPy returns as a view is a view here too."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from funcgrad.core.storage import View, read_only_view, view
from funcgrad.core.tracer import Operand, Tracer, concrete, operand, type_of, value
from funcgrad.core.types import Array
from funcgrad.numpy.calls import as_array, as_zero_dim, boxed, fresh, numpy_function
from funcgrad.ops import index
from funcgrad.ops import shape as ops

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "diagonal",
    "expand_dims",
    "flip",
    "fliplr",
    "flipud",
    "matrix_transpose",
    "moveaxis",
    "permute_dims",
    "ravel",
    "reshape",
    "rollaxis",
    "rot90",
    "squeeze",
    "swapaxes",
    "transpose",
]

broadcast_shapes = np.broadcast_shapes


def shown(x: Any, function: Callable[[Array], Array], writable: bool = True) -> Any:
    """`function(x)`, as a view of `x` if `x` can be written into."""
    if isinstance(x, Operand) and type_of(x.content()).ndim:
        return view(x, function) if writable else read_only_view(x, function)
    return function(as_array(x))


def as_given(x: Any) -> Any:
    """What NumPy's asarray gives: a traced or boxed array itself."""
    return x if isinstance(x, Operand) and shape_of(x) else as_zero_dim(operand(x))


def shape_of(x: Any) -> tuple[int, ...]:
    """The shape of anything that is an operand."""
    return type_of(operand(x)).shape


def _layout(x: Operand) -> Any:
    """An array with the memory layout that `x` has in NumPy, as far as it is known."""
    content = operand(x)
    if concrete(content):
        return np.asarray(value(content))
    if isinstance(x, View):
        return x.function(_layout(x.base))
    return np.empty(type_of(content).shape, np.int8)


# --------------------------------------------------------------------------------- reshape


@numpy_function(np.reshape, views=True)
def reshape(a: Any, /, shape: Any, order: str = "C", *, copy: bool | None = None) -> Array:
    """`a` in another shape: a view where NumPy gives one.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.reshape(x, (2, 2))[1, 0])(np.ones(4))
    array([0., 0., 1., 0.])
    """
    old = shape_of(a)
    new = complete_shape(old, shape)
    if order in ("F", "A"):
        return _reshape_f(a, old, new) if order == "F" else reshape(a, new)
    if order != "C":
        raise ValueError("order must be one of 'C', 'F', or 'A'")
    return reshaped(a, new, copy)


def reshaped(a: Any, new: tuple[int, ...], copy: bool | None = None) -> Any:
    """`a` in the shape `new`, as a view where NumPy gives one."""
    x = as_array(a)
    if not copy and isinstance(a, Operand) and type_of(x).ndim:
        whole = _layout(a)
        if np.may_share_memory(whole.reshape(new), whole):
            return view(a, lambda base: ops.reshape(base, new))
    out = fresh(ops.reshape(x, new), x)
    if copy and isinstance(out, Tracer) and not ops.lies_in_c_order(out):
        out = ops.renewed(out)
    return boxed(out.copy()) if isinstance(a, Operand) and isinstance(out, np.ndarray) else out


def _reshape_f(a: Any, old: tuple[int, ...], new: tuple[int, ...]) -> Array:
    x = ops.transpose(as_array(a), tuple(range(len(old)))[::-1])
    return fresh(ops.transpose(ops.reshape(x, new[::-1]), tuple(range(len(new)))[::-1]), x)


def complete_shape(old: Sequence[int], shape: Any) -> tuple[int, ...]:
    """`shape` as a tuple of integers with its -1 filled in; it has to fit the shape `old`."""
    if isinstance(shape, (tuple, list)) or np.ndim(operand(shape)):
        new = tuple(operator.index(n) for n in shape)
    else:
        new = (operator.index(shape),)
    size = math.prod(old)
    known = math.prod(n for n in new if n != -1)
    open_ = new.count(-1)
    if open_ > 1:
        raise ValueError("can only specify one unknown dimension")
    if open_ and known and size % known == 0:
        new = tuple(size // known if n == -1 else n for n in new)
    if math.prod(new) != size or any(n < 0 for n in new):
        raise ValueError(f"cannot reshape array of size {size} into shape {_show(new)}")
    return new


def _show(shape: tuple[int, ...]) -> str:
    return "(" + ",".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"


@numpy_function(np.ravel, views=True)
def ravel(a: Any, order: str = "C") -> Array:
    """`a` with one axis: a view where NumPy gives one.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.ravel(x)[2])(np.ones((2, 2)))
    array([[0., 0.],
           [1., 0.]])
    """
    new = (math.prod(shape_of(a)),)
    if order == "F":
        return reshape(a, new, order)
    # unlike reshape, ravel always gives contiguous memory: a copy of x[::2]
    contiguous = isinstance(a, Operand) and _layout(a).flags.c_contiguous
    return reshaped(a, new, copy=not contiguous)


@numpy_function(np.expand_dims, views=True)
def expand_dims(a: Any, axis: Any) -> Array:
    """`a` with new axes of extent 1, as a view.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.eval_shape(lambda x: fnp.expand_dims(x, 0), np.ones(2)).shape
    (1, 2)
    """
    old = shape_of(a)
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    places = normalize_axis_tuple(axes, len(old) + len(axes))
    rest = iter(old)
    new = tuple(1 if i in places else next(rest) for i in range(len(old) + len(axes)))
    return shown(a, lambda x: ops.reshape(x, new)) if new else as_zero_dim(operand(a))


@numpy_function(np.squeeze, views=True)
def squeeze(a: Any, axis: Any = None) -> Array:
    """`a` without axes of extent 1, as a view.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.eval_shape(fnp.squeeze, np.ones((1, 2, 1))).shape
    (2,)
    """
    old = shape_of(a)
    if axis is None:
        gone = tuple(i for i, n in enumerate(old) if n == 1)
    else:
        gone = normalize_axis_tuple(axis, len(old))
        if any(old[i] != 1 for i in gone):
            raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    new = tuple(n for i, n in enumerate(old) if i not in gone)
    return shown(a, lambda x: ops.reshape(x, new))


def _at_least(plain: Any, rank: int) -> Any:
    def one(x: Any) -> Any:
        shape = shape_of(x)
        if len(shape) >= rank:
            return x if isinstance(x, Operand) else as_array(x)
        if rank == 3:
            new = {0: (1, 1, 1), 1: (1, *shape, 1), 2: (*shape, 1)}[len(shape)]
        else:
            new = (1,) * (rank - len(shape)) + shape
        return shown(x, lambda y: ops.reshape(y, new))

    def atleast(*arys: Any) -> Any:
        made = tuple(map(one, arys))
        return made[0] if len(made) == 1 else made

    atleast.__name__ = atleast.__qualname__ = f"atleast_{rank}d"
    atleast.__doc__ = f"The arguments with at least {rank} axes, as views."
    return numpy_function(plain, views=True)(atleast)


atleast_1d = _at_least(np.atleast_1d, 1)
atleast_2d = _at_least(np.atleast_2d, 2)
atleast_3d = _at_least(np.atleast_3d, 3)


# ------------------------------------------------------------------------------- transpose


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


# ------------------------------------------------------------------------------- broadcast


def broadcasts(old: tuple[int, ...], new: tuple[int, ...]) -> bool:
    """Whether an array of shape `old` can be broadcast to exactly `new`."""
    tail = new[len(new) - len(old) :]
    return len(old) <= len(new) and all(n in (1, k) for n, k in zip(old, tail, strict=True))


@numpy_function(np.broadcast_to, views=True)
def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Array:
    """`array` repeated along new axes and axes of extent 1, as a view.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.broadcast_to(x, (3, 2))))(np.ones(2))
    array([3., 3.])
    """
    new = tuple(map(operator.index, shape)) if np.iterable(shape) else (operator.index(shape),)
    old = shape_of(array)
    if not broadcasts(old, new):
        raise ValueError(
            "operands could not be broadcast together with remapped shapes "
            f"[original->remapped]: {_show(old)} and requested shape {_show(new)}"
        )
    if not new:
        return as_zero_dim(operand(array))
    return shown(array, lambda x: ops.broadcast_to(x, new), writable=False)


@numpy_function(np.broadcast_arrays, views=True)
def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Array, ...]:
    """The arguments broadcast against each other, as views; as they are if all have one shape.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.broadcast_arrays(x, np.ones((3, 2)))[0]))(np.ones(2))
    array([3., 3.])
    """
    new = np.broadcast_shapes(*map(shape_of, args))
    if all(shape_of(x) == new for x in args):
        return tuple(map(as_given, args))
    return tuple(shown(x, lambda x: ops.broadcast_to(x, new)) for x in args)


# ---------------------------------------------------------------------------------- flipping


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


# -------------------------------------------------------------------------- parts of an array


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
