"""Functions that give an array another shape. What NumPy returns as a view is a view here too."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from funcgrad.core.storage import View, read_only_view, view
from funcgrad.core.tracer import Operand, Tracer, concrete, operand, type_of, value
from funcgrad.core.types import Array
from funcgrad.numpy.calls import as_array, as_zero_dim, boxed, fresh, numpy_function
from funcgrad.ops import shape as ops

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
