"""Making arrays. While a transform runs, a fresh array can be written into with traced values.

Outside of every transform these are NumPy's functions and return NumPy's arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.storage import new_array
from funcgrad.core.tracer import Operand, Tracer, operand, type_of
from funcgrad.core.types import Array
from funcgrad.numpy.calls import as_array, as_zero_dim, boxed, fresh, numpy_function
from funcgrad.ops import arithmetic as ops
from funcgrad.ops.shape import broadcast_to, reshape, zero_dim

__all__ = [
    "array",
    "asanyarray",
    "asarray",
    "ascontiguousarray",
    "copy",
    "empty",
    "empty_like",
    "eye",
    "full",
    "full_like",
    "identity",
    "ones",
    "ones_like",
    "tri",
    "zeros",
    "zeros_like",
]


@numpy_function(np.zeros, creates=True)
def zeros(shape: Any, dtype: Any = float, order: str = "C", *, device: Any = None) -> Array:
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
    return new_array(np.zeros(extents_of(shape), dtype))


@numpy_function(np.ones, creates=True)
def ones(shape: Any, dtype: Any = None, order: str = "C", *, device: Any = None) -> Array:
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
    return new_array(np.ones(extents_of(shape), dtype))


@numpy_function(np.empty, creates=True)
def empty(shape: Any, dtype: Any = float, order: str = "C", *, device: Any = None) -> Array:
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
    return new_array(np.empty(extents_of(shape), dtype))


@numpy_function(np.full, creates=True)
def full(
    shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", *, device: Any = None
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
        value = ops.cast(value, dtype)
    extents = extents_of(shape)
    return fresh(broadcast_to(value, extents), value) if extents else zero_dim(value)


def extents_of(shape: Any) -> tuple[int, ...]:
    if isinstance(shape, Operand):
        shape = np.asarray(known_integers(shape)).tolist()
    return tuple(int(n) for n in shape) if isinstance(shape, (tuple, list)) else (int(shape),)


def known_integers(x: Any) -> Any:
    """An integer, or a tuple of them, of a concrete traced value."""
    shape = type_of(operand(x)).shape
    return tuple(int(v) for v in x) if shape else int(x)


def _like(function: Any) -> Any:
    def make(x: Any, dtype: Any, shape: Any, *rest: Any) -> Any:
        kind = type_of(operand(x))
        extents = kind.shape if shape is None else extents_of(shape)
        return new_array(function(extents, *rest, dtype=kind.dtype if dtype is None else dtype))

    return make


@numpy_function(np.zeros_like, views=True, creates=True)
def zeros_like(
    a: Any,
    dtype: Any = None,
    order: str = "K",
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
    return _like(np.zeros)(a, dtype, shape)


@numpy_function(np.ones_like, views=True, creates=True)
def ones_like(
    a: Any,
    dtype: Any = None,
    order: str = "K",
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
    return _like(np.ones)(a, dtype, shape)


@numpy_function(np.empty_like, views=True, creates=True)
def empty_like(
    prototype: Any,
    dtype: Any = None,
    order: str = "K",
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
    return _like(np.empty)(prototype, dtype, shape)


@numpy_function(np.full_like, creates=True)
def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str = "K",
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
    kind = type_of(operand(a))
    extents = kind.shape if shape is None else extents_of(shape)
    return full(extents, fill_value, kind.dtype if dtype is None else dtype)


@numpy_function(np.eye, creates=True)
def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: Any = float,
    order: str = "C",
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
    return new_array(np.eye(int(N), None if M is None else int(M), int(k), dtype))


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


@numpy_function(np.array, views=True, creates=True)
def array(
    object: Any,
    dtype: Any = None,
    *,
    copy: Any = True,
    order: str = "K",
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
    x = _converted(object, dtype)
    shape = type_of(x).shape
    if len(shape) < ndmin:
        x = reshape(x, (1,) * (ndmin - len(shape)) + shape)
    source = operand(object)
    if not copy and type_of(x).ndim:
        return object if x is source and isinstance(object, Operand) else x
    return _copied(x, source)


def _converted(x: Any, dtype: Any) -> Array:
    x = as_array(x)
    return x if dtype is None else ops.cast(x, dtype)


def _copied(x: Array, source: Array) -> Array:
    if isinstance(x, Tracer):
        return fresh(x, source) if x.type.ndim else zero_dim(x)
    return boxed(np.array(x))


@numpy_function(np.asarray, views=True)
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
    if copy:
        return array(a, dtype)
    x = as_zero_dim(_converted(a, dtype))
    return a if isinstance(a, Operand) and x is a.content() else x


@numpy_function(np.asanyarray, views=True)
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
    return asarray(a, dtype, copy=copy)


@numpy_function(np.ascontiguousarray, views=True)
def ascontiguousarray(a: Any, dtype: Any = None) -> Array:
    """As `asarray`, with at least one axis; the memory layout of traced values is not kept.

    Examples
    --------
    >>> import funcgrad.numpy as fnp
    >>> fnp.ascontiguousarray(2.0)
    array([2.])
    """
    x = asarray(a, dtype)
    return x if type_of(operand(x)).ndim else reshape(as_array(x), (1,))


@numpy_function(np.copy, views=True, creates=True)
def copy(a: Any, order: str = "K", subok: bool = False) -> Array:
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
    return array(a)
