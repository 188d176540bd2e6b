"""Making arrays. While a transform runs, a fresh array can be written into with traced values.

Outside of every transform these are NumPy's functions and return NumPy's arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.tracer import Operand, Tracer, concrete, is_scalar, operand, type_of, value
from funcgrad.core.types import Array, dtype_meant
from funcgrad.numpy.function_calls import (
    as_array,
    as_zero_dim,
    boxed,
    memory_of,
    numpy_function,
    order_of,
)
from funcgrad.ops import arithmetic as ops
from funcgrad.ops.index import warn_of_real_parts
from funcgrad.ops.shape import broadcast_to, copied, lying_as, reshape, zero_dim
from funcgrad.ops.storage import Cell, new_array, view

__all__ = [
    "array",
    "asanyarray",
    "asarray",
    "asarray_chkfinite",
    "ascontiguousarray",
    "asfortranarray",
    "copy",
    "empty",
    "empty_like",
    "eye",
    "full",
    "full_like",
    "identity",
    "ones",
    "ones_like",
    "require",
    "tri",
    "zeros",
    "zeros_like",
]


@numpy_function(np.zeros, creates=True)
def zeros(shape: Any, dtype: Any = float, order: Any = "C", *, device: Any = None) -> Array:
    """An array of zeros; inside a transform, traced values can be written into it.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> def f(x):
    ...     b = fnp.zeros(2)
    ...     b[0] = x[1]
    ...     return b.sum()
    >>> fg.grad(f)(np.array([1.0, 2.0]))
    array([0., 1.])
    """
    return new_array(np.zeros(extents_of(shape), dtype, order))


@numpy_function(np.ones, creates=True)
def ones(shape: Any, dtype: Any = None, order: Any = "C", *, device: Any = None) -> Array:
    """An array of ones; inside a transform, traced values can be written into it.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> def f(x):
    ...     b = fnp.ones(2)
    ...     b[0] = x[1]
    ...     return b.sum()
    >>> fg.grad(f)(np.array([1.0, 2.0]))
    array([0., 1.])
    """
    return new_array(np.ones(extents_of(shape), dtype, order))


@numpy_function(np.empty, creates=True)
def empty(shape: Any, dtype: Any = float, order: Any = "C", *, device: Any = None) -> Array:
    """An array whose elements are not set; inside a transform, traced values can be written.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> def f(x):
    ...     b = fnp.empty(2)
    ...     b[:] = 2.0 * x
    ...     return b.sum()
    >>> fg.grad(f)(np.array([1.0, 2.0]))
    array([2., 2.])
    """
    return new_array(np.empty(extents_of(shape), dtype, order))


@numpy_function(np.full, creates=True)
def full(
    shape: Any, fill_value: Any, dtype: Any = None, order: Any = "C", *, device: Any = None
) -> Array:
    """An array filled with a value, which may be traced.

    Examples
    --------
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.full(3, x)))(2.0)
    np.float64(3.0)
    """
    value = as_array(fill_value)
    if dtype is not None:
        value = _converted(value, dtype)
    extents = extents_of(shape)
    return copied(broadcast_to(value, extents), order) if extents else zero_dim(value)


def _converted(x: Array, dtype: Any) -> Array:
    """`x` in a dtype, with NumPy's warning where the imaginary parts are lost."""
    kind = dtype_meant(dtype)
    warn_of_real_parts(type_of(x).dtype, kind)
    return ops.cast(x, kind)


def extents_of(shape: Any) -> tuple[int, ...]:
    if isinstance(shape, Operand):
        shape = np.asarray(known_integers(shape)).tolist()
    return tuple(int(n) for n in shape) if isinstance(shape, (tuple, list)) else (int(shape),)


def _given(shape: Any) -> Any:
    return None if shape is None else extents_of(shape)


def known_integers(x: Any) -> Any:
    """An integer, or a tuple of them, of a concrete traced value."""
    shape = type_of(operand(x)).shape
    return tuple(int(v) for v in x) if shape else int(x)


@numpy_function(np.zeros_like, views=True, converts=True, constant=True)
def zeros_like(
    a: Any,
    dtype: Any = None,
    order: Any = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Array:
    """Zeros of the shape and dtype of `a`, which may be traced; they do not depend on it.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.zeros_like(x) + x))(np.ones(2))
    array([1., 1.])
    """
    return new_array(np.zeros_like(memory_of(a), dtype, order, shape=_given(shape)))


@numpy_function(np.ones_like, views=True, converts=True, constant=True)
def ones_like(
    a: Any,
    dtype: Any = None,
    order: Any = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Array:
    """Ones of the shape and dtype of `a`, which may be traced; they do not depend on it.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.ones_like(x) * x))(np.ones(2))
    array([1., 1.])
    """
    return new_array(np.ones_like(memory_of(a), dtype, order, shape=_given(shape)))


@numpy_function(np.empty_like, views=True, converts=True, constant=True)
def empty_like(
    prototype: Any,
    dtype: Any = None,
    order: Any = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Array:
    """An array of the shape and dtype of `prototype` whose elements are not set.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad.numpy as fnp
    >>> fnp.empty_like(np.ones((2, 3))).shape
    (2, 3)
    """
    return new_array(np.empty_like(memory_of(prototype), dtype, order, shape=_given(shape)))


@numpy_function(np.full_like, creates=True)
def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: Any = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Array:
    """An array of the shape and dtype of `a` filled with a value, which may be traced.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.full_like(np.ones(3), x)))(2.0)
    np.float64(3.0)
    """
    made = np.empty_like(memory_of(a), dtype, order, shape=_given(shape))
    v = _converted(as_array(fill_value), made.dtype)
    if not isinstance(v, Tracer):
        made[...] = v
        return new_array(made)
    filled = broadcast_to(v, made.shape)
    return lying_as(filled, made) if made.ndim else zero_dim(filled)


@numpy_function(np.eye, creates=True)
def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: Any = float,
    order: Any = "C",
    *,
    device: Any = None,
) -> Array:
    """Ones on the k-th diagonal and zeros elsewhere.

    Examples
    --------
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(x * fnp.eye(2)))(1.0)
    np.float64(2.0)
    """
    return new_array(np.eye(int(N), None if M is None else int(M), int(k), dtype, order))


@numpy_function(np.identity, creates=True)
def identity(n: int, dtype: Any = None) -> Array:
    """The identity matrix.

    Examples
    --------
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(x * fnp.identity(2)))(1.0)
    np.float64(2.0)
    """
    return new_array(np.identity(int(n), dtype))


@numpy_function(np.tri, creates=True)
def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = float) -> Array:
    """Ones at and below the k-th diagonal.

    Examples
    --------
    >>> import funcgrad.numpy as fnp
    >>> fnp.tri(2)
    array([[1., 0.],
           [1., 1.]])
    """
    return new_array(np.tri(int(N), None if M is None else int(M), int(k), dtype))


# -------------------------------------------------------------------- copies and conversions


@numpy_function(np.array, views=True, converts=True)
def array(
    object: Any,
    dtype: Any = None,
    *,
    copy: Any = True,
    order: Any = "K",
    subok: bool = False,
    ndmin: int = 0,
) -> Array:
    """A new array; of a list that holds traced values, one traced array.

    Examples
    --------
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.prod(fnp.array([x, x, 3.0])))(2.0)
    np.float64(12.0)
    """
    source = as_array(object)
    shape = type_of(source).shape
    whole = (1,) * (ndmin - len(shape)) + shape
    if getattr(copy, "value", copy) is not True:  # also of NumPy's private `_CopyMode`
        x = asarray(object, dtype, order)
        return x if whole == shape else view(x, lambda base: reshape(base, whole))
    x = source if dtype is None else _converted(source, dtype)
    if not isinstance(x, Tracer):
        return boxed(np.array(x, order=order or "K", ndmin=ndmin))
    new = x is not source or isinstance(object, (list, tuple))
    order = order or "K"
    if order == "A":
        order = order_of(object)
    made = as_zero_dim(x) if is_scalar(x) or (new and order == "K") else copied(x, order)
    made = reshape(made, whole)
    return Cell(made) if isinstance(object, Operand) and whole else made


@numpy_function(np.asarray, views=True, converts=True)
def asarray(
    a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: Any = None
) -> Array:
    """The array itself; of a list that holds traced values, one traced array.

    Examples
    --------
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.prod(fnp.asarray([x, x, 3.0])))(2.0)
    np.float64(12.0)
    """
    x = as_array(a)
    if copy or (order not in (None, "K", "A") and not _lies_in(a, order)):
        if copy is False:
            raise ValueError("Unable to avoid copy while creating an array as requested.")
        return array(a, dtype, order=order or "K")
    x = as_zero_dim(x if dtype is None else _converted(x, dtype))
    return a if isinstance(a, Operand) and x is a.content() else x


def _lies_in(x: Any, order: str) -> bool:
    """Whether an array lies in memory in the order 'C' or 'F'."""
    flags = memory_of(x).flags
    return bool(flags.f_contiguous if order == "F" else flags.c_contiguous)


@numpy_function(np.asanyarray, views=True, converts=True)
def asanyarray(
    a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: Any = None
) -> Array:
    """As `asarray`.

    Examples
    --------
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.asanyarray([x, 2.0 * x])))(2.0)
    np.float64(3.0)
    """
    return asarray(a, dtype, order, copy=copy)


@numpy_function(np.ascontiguousarray, views=True, converts=True)
def ascontiguousarray(a: Any, dtype: Any = None) -> Array:
    """As `asarray`, in C order and with at least one axis.

    Examples
    --------
    >>> import funcgrad.numpy as fnp
    >>> fnp.ascontiguousarray(2.0)
    array([2.])
    """
    x = asarray(a, dtype, "C")
    return x if type_of(operand(x)).ndim else view(x, lambda base: reshape(base, (1,)))


_ORDERS = {"C_CONTIGUOUS": "C", "CONTIGUOUS": "C", "F_CONTIGUOUS": "F", "FORTRAN": "F"}
_ORDERS |= {"ALIGNED": "A", "WRITEABLE": "W", "OWNDATA": "O", "ENSUREARRAY": "E"}


@numpy_function(np.require, views=True, converts=True)
def require(a: Any, dtype: Any = None, requirements: Any = None, *, like: Any = None) -> Array:
    """As `asarray`, in the order in memory that is asked for, and a copy for "OWNDATA".

    Examples
    --------
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.require([x, x], float, "C").sum())(2.0)
    np.float64(2.0)
    """
    asked: Any = {_ORDERS.get(str(r).upper(), str(r).upper()) for r in requirements or ()}
    np.require(0.0, None, asked)  # refuses what it does not know
    order = "F" if "F" in asked else "C" if "C" in asked else None
    return array(a, dtype, order=order or "K") if "O" in asked else asarray(a, dtype, order)


@numpy_function(np.asfortranarray, views=True, converts=True)
def asfortranarray(a: Any, dtype: Any = None) -> Array:
    """As `asarray`, in Fortran's order and with at least one axis.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad.numpy as fnp
    >>> fnp.asfortranarray(np.ones((2, 2))).flags.f_contiguous
    True
    """
    x = asarray(a, dtype, "F")
    return x if type_of(operand(x)).ndim else view(x, lambda base: reshape(base, (1,)))


@numpy_function(np.asarray_chkfinite, views=True, converts=True)
def asarray_chkfinite(a: Any, dtype: Any = None, order: Any = None) -> Array:
    """As `asarray`; raises for NaN and infinities where the values are known.

    Examples
    --------
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.asarray_chkfinite([x, 2.0 * x])))(2.0)
    np.float64(3.0)
    """
    x = asarray(a, dtype, order)
    if concrete(x):
        np.asarray_chkfinite(value(x))
    return x


@numpy_function(np.copy, views=True, converts=True)
def copy(a: Any, order: Any = "K", subok: bool = False) -> Array:
    """A copy: writing into it leaves the original as it is.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> def f(x):
    ...     b = fnp.copy(x)
    ...     b[0] = 0.0
    ...     return b.sum()
    >>> fg.grad(f)(np.array([1.0, 2.0]))
    array([0., 1.])
    """
    return array(a, order=order)
