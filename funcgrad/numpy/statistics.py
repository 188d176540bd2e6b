"""Averages, covariance and counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.tracer import Tracer, concrete, operand, type_of, value
from funcgrad.core.types import Array
from funcgrad.errors import located
from funcgrad.numpy.function_calls import as_array, numpy_function, safely_whole
from funcgrad.numpy.reductions import given, weights_like
from funcgrad.ops import arithmetic as ops
from funcgrad.ops import contraction, index, sums
from funcgrad.ops import nonlinear_reductions as extremes
from funcgrad.ops import shape as shapes

__all__ = ["average", "bincount", "corrcoef", "cov"]


@numpy_function(np.average)
def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = False
) -> Any:
    """The weighted mean over some axes.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda w: fnp.average(np.array([1.0, 3.0]), weights=w))(np.ones(2))
    array([-0.5,  0.5])
    """
    x = as_array(a)
    keep = bool(given(keepdims))
    shape = type_of(x).shape
    if weights is None:
        out = sums.mean(x, axis, keep)
        total: Any = type_of(out).dtype.type(type_of(x).size / max(type_of(out).size, 1))
    else:
        w = weights_like(as_array(weights), shape, axis)
        dtype = np.result_type(type_of(x).dtype, type_of(w).dtype)
        if type_of(x).dtype.kind in "biu":
            dtype = np.result_type(dtype, "f8")
        total = sums.sum(w, axis, keep, dtype)
        if concrete(total) and np.any(value(total) == 0):
            raise ZeroDivisionError("Weights sum to zero, can't be normalized")
        weighted = ops.multiply(ops.cast(x, dtype), ops.cast(w, dtype))
        out = ops.divide(sums.sum(weighted, axis, keep), total)
    if not returned:
        return out
    return out, shapes.broadcast_to(total, type_of(out).shape)


# ------------------------------------------------------------------------------ covariance


@numpy_function(np.cov)
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Array:
    """The covariance matrix of variables in rows, differentiable in the `aweights` too.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.cov(x, np.array([0.0, 1.0]))[0, 1])(np.array([1.0, 3.0]))
    array([-0.5,  0.5])
    """
    x = _variables(m, rowvar, dtype)
    if y is not None:
        x = shapes.concatenate([x, _variables(y, rowvar, dtype)], 0)
    if ddof is None:
        ddof = 0 if bias else 1
    w = _weights(fweights, aweights, type_of(x).shape[1])
    center, total = average(x, 1, w, True) if w is not None else (sums.mean(x, 1), None)
    x = ops.subtract(x, shapes.reshape(center, (type_of(x).shape[0], 1)))
    right = shapes.swap_last(x if w is None else ops.multiply(x, w))
    c = contraction.dot(x, ops.conjugate(right))
    if w is None:
        factor: Any = max(type_of(x).shape[1] - ddof, 0)
    else:
        factor = _freedom(index.getitem(total, (0,)), w, ddof, aweights)
    c = ops.multiply(c, ops.divide(1, factor) if w is not None else np.true_divide(1, factor))
    shape = type_of(c).shape
    return shapes.reshape(c, tuple(n for n in shape if n != 1))


def _weights(fweights: Any, aweights: Any, count: int) -> Array | None:
    """The product of the weights that are given, checked as NumPy checks them."""
    w: Any = None
    if fweights is not None:
        w = ops.cast(as_array(fweights), float)
        if concrete(w) and not np.all(value(w) == np.around(value(w))):
            raise TypeError("fweights must be integer")
    if aweights is not None:
        a = ops.cast(as_array(aweights), float)
        w = a if w is None else ops.multiply(w, a)
    for name, given_ in (("fweights", fweights), ("aweights", aweights)):
        if given_ is None:
            continue
        kind = type_of(as_array(given_))
        if kind.ndim > 1:
            raise RuntimeError(f"cannot handle multidimensional {name}")
        if kind.shape[0] != count:
            raise RuntimeError(f"incompatible numbers of samples and {name}")
        if concrete(operand(given_)) and np.any(value(operand(given_)) < 0):
            raise ValueError(f"{name} cannot be negative")
    return w


def _freedom(total: Array, w: Array, ddof: Any, aweights: Any) -> Array:
    """What a weighted sum of squares is divided by."""
    if ddof == 0:
        return total
    if aweights is None:
        return ops.subtract(total, ddof)
    squares = sums.sum(ops.multiply(w, operand(aweights)))
    left = ops.subtract(total, ops.divide(ops.multiply(ddof, squares), total))
    return ops.maximum(left, 0.0)


def _variables(m: Any, rowvar: bool, dtype: Any) -> Array:
    x = as_array(m)
    shape = type_of(x).shape
    if len(shape) > 2:
        raise ValueError("m has more than 2 dimensions")
    x = ops.cast(x, np.result_type(type_of(x).dtype, np.float64) if dtype is None else dtype)
    if len(shape) < 2:
        return shapes.reshape(x, (1, type_of(x).size))
    return x if rowvar else shapes.swap_last(x)


@numpy_function(np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Array:
    """The matrix of correlation coefficients of variables in rows.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.vmap(lambda x: fnp.corrcoef(x, np.array([0.0, 1.0]))[0, 1])(np.array([[1.0, 3.0]]))
    array([1.])
    """
    from funcgrad.numpy.pointwise import clip
    from funcgrad.numpy.rearranging import diag

    c = cov(x, y, rowvar, dtype=dtype)
    if type_of(operand(c)).ndim == 0:
        return ops.divide(c, c)
    spread = ops.sqrt(ops.real(diag(c)))
    c = ops.divide(c, shapes.reshape(spread, (type_of(spread).size, 1)))
    c = ops.divide(c, spread)
    return clip(c, -1, 1) if type_of(c).dtype.kind == "f" else c


@numpy_function(np.bincount)
def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Array:
    """The sum of the `weights` for each integer in `x`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda w: fnp.bincount([0, 1, 1], w)[1])(np.ones(3))
    array([0., 1., 1.])
    """
    from funcgrad.numpy.scatter import add_at

    if not (isinstance(operand(x), Tracer) or isinstance(operand(weights), Tracer)):
        return np.bincount(value(x), weights, minlength)
    at = safely_whole(as_array(x))
    if type_of(at).ndim != 1:
        raise ValueError(located("bincount() takes an array with one axis"))
    if weights is not None and type_of(operand(weights)).shape != type_of(at).shape:
        raise ValueError(located("The weights and list don't have the same length."))
    if minlength < 0:
        raise ValueError(located("'minlength' must not be negative"))
    length = _bins(at, minlength)
    ones = np.ones((), np.intp if weights is None else np.float64)
    weights = shapes.broadcast_to(ones, type_of(at).shape) if weights is None else operand(weights)
    return add_at(np.zeros(length, ones.dtype), at, weights)


def _bins(at: Array, minlength: int) -> int:
    """How many numbers `bincount` gives: asked on every call where the integers are not known."""
    if type_of(at).size == 0:
        return minlength
    most = ops.add(extremes.max(at), 1)
    none = ops.less(extremes.min(at), 0)  # a negative number of them is refused
    count = ops.where(none, -1, ops.maximum(most, minlength))
    what = "the number of elements that bincount() gives"
    return int(type_of(index.repeated(shapes.reshape(count, (1,)), what)).shape[0])
