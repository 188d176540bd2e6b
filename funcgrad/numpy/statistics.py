"""Averages, covariance and counts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from funcgrad.core.tracer import Tracer, concrete, operand, type_of, value
from funcgrad.core.types import Array
from funcgrad.numpy.calls import as_array, numpy_function, refuse
from funcgrad.numpy.reductions import given
from funcgrad.ops import arithmetic as ops
from funcgrad.ops import contraction, sums
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
        w = _weights(as_array(weights), shape, axis)
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


def _weights(w: Array, shape: tuple[int, ...], axis: Any) -> Array:
    """The weights in the rank of the array, as NumPy reads them."""
    if type_of(w).shape == shape:
        return w
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    axes = normalize_axis_tuple(axis, len(shape))
    if type_of(w).shape != tuple(shape[k] for k in axes):
        raise ValueError(
            "Shape of weights must be consistent with shape of a along specified axis."
        )
    order = np.argsort(axes).tolist()
    w = shapes.transpose(w, order)
    return shapes.reshape(w, tuple(n if k in axes else 1 for k, n in enumerate(shape)))


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
    """The covariance matrix of variables in rows.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.cov(x, np.array([0.0, 1.0]))[0, 1])(np.array([1.0, 3.0]))
    array([-0.5,  0.5])
    """
    refuse("cov", fweights=fweights, aweights=aweights)
    x = _variables(m, rowvar, dtype)
    if y is not None:
        x = shapes.concatenate([x, _variables(y, rowvar, dtype)], 0)
    if ddof is None:
        ddof = 0 if bias else 1
    count = type_of(x).shape[1]
    center = sums.mean(x, 1, True)
    x = ops.subtract(x, center)
    c = contraction.dot(x, ops.conjugate(shapes.swap_last(x)))
    c = ops.multiply(c, np.true_divide(1, max(count - ddof, 0)))
    shape = type_of(c).shape
    return shapes.reshape(c, tuple(n for n in shape if n != 1))


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
    from funcgrad.numpy.calls import known
    from funcgrad.numpy.scatter import add_at

    at = np.asarray(known(x, "the length of bincount()"))
    if weights is None or not isinstance(operand(weights), Tracer):
        return np.bincount(at, weights, minlength)
    length = max(int(at.max()) + 1 if at.size else 0, minlength)
    return add_at(np.zeros(length), at, operand(weights))
