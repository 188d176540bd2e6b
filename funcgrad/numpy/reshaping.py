"""Functions that give an array another shape. What NumPy returns as a view is a view here too."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from funcgrad.core.layout import outwards
from funcgrad.core.tracer import Operand, is_scalar, operand, type_of
from funcgrad.core.types import Array
from funcgrad.numpy.function_calls import as_array, as_zero_dim, memory_of, numpy_function, order_of
from funcgrad.ops import shape as ops
from funcgrad.ops.storage import Reshaped, read_only_view, reshaped, view

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "expand_dims",
    "ravel",
    "reshape",
    "squeeze",
]

broadcast_shapes = np.broadcast_shapes


def shown(x: Any, function: Callable[[Array], Array], writable: bool = True) -> Any:
    """`function(x)`, as a view of `x` if `x` can be written into."""
    if isinstance(x, Operand) and not is_scalar(x):
        return view(x, function) if writable else read_only_view(x, function)
    return function(as_array(x))


def as_given(x: Any) -> Any:
    """What NumPy's asarray gives: a traced or boxed array itself."""
    return x if isinstance(x, Operand) and not is_scalar(x) else as_zero_dim(operand(x))


def shape_of(x: Any) -> tuple[int, ...]:
    """The shape of anything that is an operand."""
    return type_of(operand(x)).shape


def in_order(x: Array, shape: tuple[int, ...], axes: Sequence[int]) -> Array:
    """`x` in another shape, its elements read with the last of `axes` running fastest."""
    return ops.reshape(ops.transpose(x, axes), shape)


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
    if order == "A":
        order = order_of(a)
    if order not in ("C", "F"):
        raise ValueError("order must be one of 'C', 'F', or 'A'")

    def shares(x: Any) -> bool:
        if copy or not _gives_view(x, new, order):
            if copy is False:
                raise ValueError("Unable to avoid creating a copy while creating a reshaped array.")
            return False
        return True

    def function(x: Array) -> Array:
        if order == "C":
            return ops.reshape(x, new)
        return _backwards(in_order(x, new[::-1], range(len(old))[::-1]))

    return _reshaped(a, function, shares, order, copy is not None)


def _reshaped(
    a: Any,
    function: Callable[[Array], Array],
    shares: Callable[[Any], bool],
    order: str = "C",
    at_once: bool = False,
) -> Any:
    """`function(a)`, a view where ``shares`` says so of the memory of `a`, else a new array."""
    if not isinstance(a, Operand) or is_scalar(a):
        return function(as_array(a))
    made = reshaped(a, function, shares, order)
    if at_once and isinstance(made, Reshaped):
        made.decide()
    return made


def _backwards(x: Array) -> Array:
    return ops.transpose(x, range(type_of(x).ndim)[::-1])


def _gives_view(x: np.ndarray[Any, Any], shape: tuple[int, ...], order: Any) -> bool:
    """Whether NumPy's `reshape` of `x` is a view."""
    if x.flags.c_contiguous and order == "C":
        return True
    try:
        return bool(np.may_share_memory(x, x.reshape(shape, order=order, copy=False)))
    except ValueError:
        return False
    except TypeError:  # NumPy 2.0 has no such keyword
        return bool(np.may_share_memory(x, x.reshape(shape, order=order)))


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
    old = shape_of(a)
    new = (math.prod(old),)
    axes = axes_in_order(a, order)

    def shares(x: Any) -> bool:
        # unlike reshape, ravel always gives contiguous memory: a copy of x[::2]
        return bool(x.transpose(axes).flags.c_contiguous)

    return _reshaped(a, lambda x: in_order(x, new, axes), shares)


def axes_in_order(a: Any, order: str) -> tuple[int, ...]:
    """The axes of `a` as NumPy runs over its elements, the last one fastest."""
    rank = len(shape_of(a))
    if order == "A":
        order = order_of(a)
    if order in ("C", "F") or rank < 2:
        return tuple(range(rank))[:: -1 if order == "F" else 1]
    if order != "K":
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    return outwards(memory_of(a))


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
