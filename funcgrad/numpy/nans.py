"""Reductions that skip NaN."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.tracer import concrete, operand, type_of, value
from funcgrad.core.types import Array
from funcgrad.numpy import reductions as red
from funcgrad.numpy.function_calls import as_array, numpy_function, refuse
from funcgrad.numpy.quantiles import one_axis, quantile_of
from funcgrad.numpy.reductions import freedom_of, given, root, squared, take_slice
from funcgrad.ops import arithmetic as ops
from funcgrad.ops import constant, cumulative, index, nonlinear_reductions, sums
from funcgrad.ops import shape as shapes
from funcgrad.ops import sort as sorting

__all__ = [
    "nanargmax",
    "nanargmin",
    "nancumprod",
    "nancumsum",
    "nanmax",
    "nanmean",
    "nanmedian",
    "nanmin",
    "nanpercentile",
    "nanprod",
    "nanquantile",
    "nanstd",
    "nansum",
    "nanvar",
]


def _without_nan(a: Any, other: float) -> tuple[Array, Array]:
    """`a` with NaN replaced, and where it was; nothing is replaced in integers."""
    x = as_array(a)
    if type_of(x).dtype.kind not in "fc":
        return x, np.zeros(type_of(x).shape, bool)
    mask = ops.isnan(x)
    return ops.where(mask, type_of(x).dtype.type(other), x), mask


@numpy_function(np.nansum)
def nansum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = True,
) -> Array:
    """The sum over some axes with NaN as zero.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(fnp.nansum)(np.array([1.0, np.nan]))
    array([1., 0.])
    """
    return red.sum(_without_nan(a, 0)[0], axis, dtype, None, given(keepdims), initial, where)


@numpy_function(np.nanprod)
def nanprod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = True,
) -> Array:
    """The product over some axes with NaN as one.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(fnp.nanprod)(np.array([2.0, np.nan, 3.0]))
    array([3., 0., 2.])
    """
    return red.prod(_without_nan(a, 1)[0], axis, dtype, None, given(keepdims), initial, where)


def _counted(mask: Array, axis: Any, keepdims: bool, where: Any) -> Array:
    return sums.sum(ops.logical_not(mask), axis, keepdims, np.intp, where)


@numpy_function(np.nanmean)
def nanmean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    *,
    where: Any = True,
) -> Array:
    """The mean over some axes of what is not NaN.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(fnp.nanmean)(np.array([1.0, np.nan, 3.0]))
    array([0.5, 0. , 0.5])
    """
    x, mask = _without_nan(a, 0)
    if not _inexact(x):
        return red.mean(x, axis, dtype, None, given(keepdims), where=where)
    keep = bool(given(keepdims))
    total = sums.sum(x, axis, keep, dtype, where)
    return _ratio(total, _counted(mask, axis, keep, where))


def _nan_of_none(found: Array, count: Array) -> Array:
    """NaN, which does not move with any element, where none counts."""
    return ops.where(ops.equal(count, 0), type_of(found).dtype.type(np.nan), found)


def _ratio(total: Array, count: Array) -> Array:
    with np.errstate(invalid="ignore", divide="ignore"):
        return ops.cast(ops.divide(total, count), type_of(total).dtype)


@numpy_function(np.nanvar)
def nanvar(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: Any = False,
    *,
    where: Any = True,
    mean: Any = None,
    correction: Any = None,
) -> Array:
    """The variance over some axes of what is not NaN.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(fnp.nanvar)(np.array([1.0, np.nan, 3.0]))
    array([-1.,  0.,  1.])
    """
    x, mask = _without_nan(a, 0)
    keep = bool(given(keepdims))
    if not _inexact(x):
        return red.var(
            x, axis, dtype, None, ddof, keep, where=where, mean=mean, correction=correction
        )
    if given(mean) is None:
        count = _counted(mask, axis, True, where)
        mean = _ratio(sums.sum(x, axis, True, dtype, where), count)
    away = ops.cast(ops.subtract(x, operand(mean)), type_of(x).dtype)
    squares = squared(ops.where(mask, type_of(away).dtype.type(0), away))
    total = sums.sum(squares, axis, keep, dtype, where)
    correction = freedom_of(ddof, correction)
    freedom = ops.subtract(_counted(mask, axis, keep, where), correction)
    found = _ratio(total, freedom)
    return ops.where(ops.less_equal(freedom, 0), type_of(found).dtype.type(np.nan), found)


@numpy_function(np.nanstd)
def nanstd(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: Any = False,
    *,
    where: Any = True,
    mean: Any = None,
    correction: Any = None,
) -> Array:
    """The standard deviation over some axes of what is not NaN; its gradient is 0 without spread.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(fnp.nanstd)(np.array([1.0, np.nan, 3.0]))
    array([-0.5,  0. ,  0.5])
    """
    return root(
        operand(
            nanvar(
                a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction
            )
        )
    )


def _nan_extremum(
    function: Any, a: Any, axis: Any, keepdims: Any, worst: float, initial: Any, where: Any
) -> Array:
    x, mask = _without_nan(a, worst)
    keep = bool(given(keepdims))
    where = None if given(where) is True else given(where)
    found = function(x, axis, keep, where, given(initial))
    if given(initial) is not None:
        return found  # which is among the elements
    empty = constant.all(mask, axis, keep)
    return ops.where(empty, type_of(found).dtype.type(np.nan), found) if _inexact(x) else found


def _inexact(x: Array) -> bool:
    return type_of(x).dtype.kind in "fc"


@numpy_function(np.nanmax)
def nanmax(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = None,
) -> Array:
    """The largest element over some axes that is not NaN.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(fnp.nanmax)(np.array([1.0, np.nan, 3.0]))
    array([0., 0., 1.])
    """
    return _nan_extremum(nonlinear_reductions.max, a, axis, keepdims, -np.inf, initial, where)


@numpy_function(np.nanmin)
def nanmin(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = None,
) -> Array:
    """The smallest element over some axes that is not NaN.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(fnp.nanmin)(np.array([1.0, np.nan, 3.0]))
    array([1., 0., 0.])
    """
    return _nan_extremum(nonlinear_reductions.min, a, axis, keepdims, np.inf, initial, where)


@numpy_function(np.nanmedian)
def nanmedian(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False
) -> Array:
    """The median over some axes of what is not NaN.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(fnp.nanmedian)(np.array([1.0, np.nan, 3.0]))
    array([0.5, 0. , 0.5])
    """
    x = as_array(a)
    if not type_of(x).size:
        return nanmean(x, axis, keepdims=keepdims)
    x, kept = one_axis(x, axis)
    last = type_of(x).ndim - 1
    ordered = sorting.sort(x, last)
    count = sums.sum(ops.logical_not(ops.isnan(ordered)), last, True)
    at = [ops.maximum(ops.floor_divide(ops.subtract(count, k), 2), 0) for k in (1, 0)]
    pair = shapes.concatenate([index.take_along_axis(ordered, i, last) for i in at], last)
    low, high = (take_slice(pair, last, k) for k in (0, 1))
    count = shapes.reshape(count, type_of(low).shape)
    odd = ops.equal(ops.remainder(count, 2), 1)
    found = ops.where(odd, low, ops.divide(ops.add(low, high), 2.0))
    if _inexact(x):
        found = _nan_of_none(found, count)
    return shapes.reshape(found, kept) if given(keepdims) else found


def _nan_quantile(
    name: str, a: Any, q: Any, axis: Any, method: str, keepdims: Any, weights: Any
) -> Array:
    keep, x = bool(given(keepdims)), as_array(a)
    if not type_of(x).size:  # NumPy's, which drops the axes of q
        return nanmean(x, axis, keepdims=keep)
    skip = type_of(x).dtype.kind == "f"
    return quantile_of(name, x, operand(q), axis, method, keep, weights, skip)


@numpy_function(np.nanquantile)
def nanquantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: Any = False,
    *,
    weights: Any = None,
    interpolation: Any = None,
) -> Array:
    """The q-th quantile over some axes of what is not NaN, differentiable by `a` and `q`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.nanquantile(x, 0.75))(np.array([0.0, np.nan, 1.0, 3.0]))
    array([0. , 0. , 0.5, 0.5])
    """
    refuse("nanquantile", interpolation=interpolation)
    return _nan_quantile("nanquantile", a, q, axis, method, keepdims, weights)


@numpy_function(np.nanpercentile)
def nanpercentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: Any = False,
    *,
    weights: Any = None,
    interpolation: Any = None,
) -> Array:
    """The q-th percentile over some axes of what is not NaN, differentiable by `a` and `q`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.nanpercentile(x, 75.0))(np.array([0.0, np.nan, 1.0, 3.0]))
    array([0. , 0. , 0.5, 0.5])
    """
    refuse("nanpercentile", interpolation=interpolation)
    return _nan_quantile("nanpercentile", a, q, axis, method, keepdims, weights)


def _nan_position(function: Any, a: Any, axis: Any, keepdims: Any, worst: float) -> Array:
    x, mask = _without_nan(a, worst)
    empty = constant.all(mask, axis)
    if concrete(empty) and np.any(value(empty)):
        raise ValueError("All-NaN slice encountered")
    return function(x, axis, bool(given(keepdims)))


@numpy_function(np.nanargmax, constant=True)
def nanargmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Array:
    """The position of the largest element that is not NaN.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: x[fnp.nanargmax(x)])(np.array([1.0, np.nan]))
    array([1., 0.])
    """
    return _nan_position(constant.argmax, a, axis, keepdims, -np.inf)


@numpy_function(np.nanargmin, constant=True)
def nanargmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Array:
    """The position of the smallest element that is not NaN.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: x[fnp.nanargmin(x)])(np.array([1.0, np.nan]))
    array([1., 0.])
    """
    return _nan_position(constant.argmin, a, axis, keepdims, np.inf)


@numpy_function(np.nancumsum)
def nancumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Array:
    """The running sum with NaN as zero.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.nancumsum(x)[2])(np.array([1.0, np.nan, 3.0]))
    array([1., 0., 1.])
    """
    return cumulative.cumsum(_without_nan(a, 0)[0], axis, dtype)


@numpy_function(np.nancumprod)
def nancumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Array:
    """The running product with NaN as one.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.nancumprod(x)[2])(np.array([2.0, np.nan, 3.0]))
    array([3., 0., 2.])
    """
    return cumulative.cumprod(_without_nan(a, 1)[0], axis, dtype)
