"""Statistics: averages, order statistics, reductions that skip NaN, covariance."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from funcgrad.core.tracer import Tracer, concrete, operand, type_of, value
from funcgrad.core.types import Array
from funcgrad.errors import UnsupportedCallError, located
from funcgrad.numpy import reductions as red
from funcgrad.numpy.calls import as_array, numpy_function, refuse
from funcgrad.numpy.reductions import given, take_slice
from funcgrad.ops import arithmetic as ops
from funcgrad.ops import index, product, reduce
from funcgrad.ops import shape as shapes
from funcgrad.ops import sort as sorting

__all__ = [
    "average",
    "bincount",
    "corrcoef",
    "cov",
    "median",
    "nanmax",
    "nanmean",
    "nanmedian",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
    "percentile",
    "quantile",
]


@numpy_function(np.average)
def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = False
) -> Any:
    """The weighted mean over some axes."""
    x = as_array(a)
    keep = bool(given(keepdims))
    shape = type_of(x).shape
    if weights is None:
        out = reduce.mean(x, axis, keep)
        total: Any = type_of(out).dtype.type(type_of(x).size / max(type_of(out).size, 1))
    else:
        w = _weights(as_array(weights), shape, axis)
        dtype = np.result_type(type_of(x).dtype, type_of(w).dtype)
        if type_of(x).dtype.kind in "biu":
            dtype = np.result_type(dtype, "f8")
        total = reduce.sum(w, axis, keep, dtype)
        if concrete(total) and np.any(value(total) == 0):
            raise ZeroDivisionError("Weights sum to zero, can't be normalized")
        weighted = ops.multiply(ops.cast(x, dtype), ops.cast(w, dtype))
        out = ops.divide(reduce.sum(weighted, axis, keep), total)
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


# ------------------------------------------------------------------------- order statistics


def _one_axis(x: Array, axis: Any) -> tuple[Array, tuple[int, ...]]:
    """`x` with the reduced axes as its last one, and the shape of the result with them kept."""
    shape = type_of(x).shape
    axes = tuple(range(len(shape))) if axis is None else normalize_axis_tuple(axis, len(shape))
    rest = [k for k in range(len(shape)) if k not in axes]
    kept = tuple(1 if k in axes else n for k, n in enumerate(shape))
    moved = shapes.transpose(x, (*rest, *sorted(axes)))
    extent = int(np.prod([shape[k] for k in axes], dtype=int))
    return shapes.reshape(moved, (*(shape[k] for k in rest), extent)), kept


@numpy_function(np.median)
def median(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False
) -> Array:
    """The median over some axes: its derivative goes to the element(s) in the middle."""
    x, kept = _one_axis(as_array(a), axis)
    last = type_of(x).ndim - 1
    extent = type_of(x).shape[-1]
    half = extent // 2
    if extent == 0:
        return reduce.mean(x, last, False)
    inexact = type_of(x).dtype.kind in "fc"
    places = [half] if extent % 2 else [half - 1, half]
    ordered = sorting.partition(x, places + [extent - 1] * inexact, last)
    middle = take_slice(ordered, last, slice(places[0], half + 1))
    found = reduce.mean(middle, last, False)
    if inexact:
        found = _nan_wins(take_slice(ordered, last, -1), found)
    return shapes.reshape(found, kept) if keepdims else found


def _nan_wins(largest: Array, found: Array) -> Array:
    """`found`, or NaN where the largest element, the last one in order, is NaN."""
    return ops.where(ops.isnan(largest), ops.cast(largest, type_of(found).dtype), found)


def _virtual(alpha: float, beta: float) -> Any:
    return lambda n, q: ops.subtract(
        ops.add(
            ops.multiply(n, q),
            ops.add(alpha, ops.multiply(q, 1 - alpha - beta)),
        ),
        1,
    )


_POSITIONS: dict[str, Any] = {
    "linear": lambda n, q: ops.multiply(n - 1, q),
    "lower": lambda n, q: ops.floor(ops.multiply(n - 1, q)),
    "higher": lambda n, q: ops.ceil(ops.multiply(n - 1, q)),
    "nearest": lambda n, q: ops.rint(ops.multiply(n - 1, q)),
    "midpoint": lambda n, q: ops.multiply(
        0.5, ops.add(ops.floor(ops.multiply(n - 1, q)), ops.ceil(ops.multiply(n - 1, q)))
    ),
    "interpolated_inverted_cdf": _virtual(0, 1),
    "hazen": _virtual(0.5, 0.5),
    "weibull": _virtual(0, 0),
    "median_unbiased": _virtual(1 / 3.0, 1 / 3.0),
    "normal_unbiased": _virtual(3 / 8.0, 3 / 8.0),
}
_WHOLE = ("lower", "higher", "nearest")


@numpy_function(np.quantile)
def quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
    interpolation: Any = None,
) -> Array:
    """The q-th quantile over some axes, differentiable by `a` and `q`."""
    refuse("quantile", weights=weights, interpolation=interpolation)
    return _quantile("quantile", as_array(a), operand(q), axis, method, keepdims)


@numpy_function(np.percentile)
def percentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
    interpolation: Any = None,
) -> Array:
    """The q-th percentile over some axes, differentiable by `a` and `q`."""
    refuse("percentile", weights=weights, interpolation=interpolation)
    return _quantile("percentile", as_array(a), operand(q), axis, method, keepdims)


def _quantile(name: str, x: Array, q: Any, axis: Any, method: str, keepdims: bool) -> Array:
    if type_of(x).dtype.kind == "c":
        raise TypeError("a must be an array of real numbers")
    if method not in _POSITIONS:
        raise UnsupportedCallError(
            located(f"numpy.{name}: method={method!r} is not supported on traced values")
        )
    weak = type_of(q).weak  # a Python number leaves the dtype of the array as it is
    q = as_array(q)
    if name == "percentile":
        q = ops.divide(q, 100)
    if concrete(q) and not np.all((value(q) >= 0) & (value(q) <= 1)):
        bounds = "[0, 1]" if name == "quantile" else "[0, 100]"
        raise ValueError(f"{name.capitalize()}s must be in the range {bounds}")
    x, kept = _one_axis(x, axis)
    x = shapes.moveaxis(x, -1, 0)
    extent = type_of(x).shape[0]
    ordered = sorting.sort(x, 0)
    position = _POSITIONS[method](extent, q)
    found = _between(ordered, position, method, weak)
    if type_of(x).dtype.kind == "f":
        found = _nan_wins(index.getitem(ordered, (-1,)), found)
    if keepdims:
        found = shapes.reshape(found, type_of(q).shape + kept)
    return found


def _between(x: Array, position: Array, method: str, weak: bool) -> Array:
    """The sorted `x` at a position that need not be whole, by NumPy's interpolation."""
    extent = type_of(x).shape[0]
    below = ops.floor(position)
    low = ops.cast(ops.minimum(ops.maximum(below, 0), extent - 1), int)
    if method in _WHOLE or (method == "linear" and type_of(position).dtype.kind in "iu"):
        return index.gather(x, low)
    high = ops.cast(ops.minimum(ops.maximum(ops.add(below, 1), 0), extent - 1), int)
    before = ops.less(position, 0)
    high = ops.where(before, 0, high)
    # past the end NumPy takes the last element twice and counts the weight from -1
    beyond = ops.greater_equal(position, extent - 1)
    weight = ops.subtract(position, ops.where(beyond, -1.0, ops.where(before, 0.0, below)))
    if method == "midpoint":
        weight = ops.where(ops.equal(ops.remainder(position, 1), 0), 0.0, 0.5)
    late, rest = ops.greater_equal(weight, 0.5), ops.subtract(1, weight)
    if weak:
        dtype = type_of(x).dtype if _inexact(x) else np.dtype(float)
        weight, rest = ops.cast(weight, dtype), ops.cast(rest, dtype)
    else:
        shape = type_of(weight).shape + (1,) * (type_of(x).ndim - 1)
        late, weight, rest = (shapes.reshape(v, shape) for v in (late, weight, rest))
    first, second = index.gather(x, low), index.gather(x, high)
    gap = ops.subtract(second, first)
    upper = ops.subtract(second, ops.multiply(gap, rest))
    lower = ops.add(first, ops.multiply(gap, weight))
    return ops.where(late, upper, lower)


# --------------------------------------------------------------------------- skipping NaN


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
    """The sum over some axes with NaN as zero."""
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
    """The product over some axes with NaN as one."""
    return red.prod(_without_nan(a, 1)[0], axis, dtype, None, given(keepdims), initial, where)


def _counted(mask: Array, axis: Any, keepdims: bool, where: Any) -> Array:
    return reduce.sum(ops.logical_not(mask), axis, keepdims, np.intp, where)


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
    """The mean over some axes of what is not NaN."""
    x, mask = _without_nan(a, 0)
    keep = bool(given(keepdims))
    total = reduce.sum(x, axis, keep, dtype, where)
    return _ratio(total, _counted(mask, axis, keep, where))


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
    """The variance over some axes of what is not NaN."""
    refuse("nanvar", mean=given(mean), correction=given(correction))
    x, mask = _without_nan(a, 0)
    count = _counted(mask, axis, True, where)
    center = _ratio(reduce.sum(x, axis, True, dtype, where), count)
    apart = ops.where(mask, type_of(x).dtype.type(0), ops.subtract(x, center))
    squares = ops.multiply(apart, ops.conjugate(apart))
    if type_of(squares).dtype.kind == "c":
        squares = ops.real(squares)
    keep = bool(given(keepdims))
    total = reduce.sum(squares, axis, keep, dtype, where)
    freedom = ops.subtract(_counted(mask, axis, keep, where), ddof)
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
    """The standard deviation over some axes of what is not NaN."""
    return ops.sqrt(
        nanvar(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction)
    )


def _nan_extremum(function: Any, a: Any, axis: Any, keepdims: Any, worst: float) -> Array:
    x, mask = _without_nan(a, worst)
    keep = bool(given(keepdims))
    found = function(x, axis, keep)
    empty = reduce.all(mask, axis, keep)
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
    """The largest element over some axes that is not NaN."""
    refuse("nanmax", initial=given(initial), where=given(where))
    return _nan_extremum(reduce.max, a, axis, keepdims, -np.inf)


@numpy_function(np.nanmin)
def nanmin(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = None,
) -> Array:
    """The smallest element over some axes that is not NaN."""
    refuse("nanmin", initial=given(initial), where=given(where))
    return _nan_extremum(reduce.min, a, axis, keepdims, np.inf)


@numpy_function(np.nanmedian)
def nanmedian(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False
) -> Array:
    """The median over some axes of what is not NaN."""
    x, kept = _one_axis(as_array(a), axis)
    last = type_of(x).ndim - 1
    ordered = sorting.sort(x, last)
    count = reduce.sum(ops.logical_not(ops.isnan(ordered)), last, True)
    at = [ops.maximum(ops.floor_divide(ops.subtract(count, k), 2), 0) for k in (1, 0)]
    pair = shapes.concatenate([index.take_along_axis(ordered, i, last) for i in at], last)
    low, high = (take_slice(pair, last, k) for k in (0, 1))
    odd = ops.equal(ops.remainder(shapes.reshape(count, type_of(low).shape), 2), 1)
    found = ops.where(odd, low, ops.divide(ops.add(low, high), 2.0))
    return shapes.reshape(found, kept) if given(keepdims) else found


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
    """The covariance matrix of variables in rows."""
    refuse("cov", fweights=fweights, aweights=aweights)
    x = _variables(m, rowvar, dtype)
    if y is not None:
        x = shapes.concatenate([x, _variables(y, rowvar, dtype)], 0)
    if ddof is None:
        ddof = 0 if bias else 1
    count = type_of(x).shape[1]
    center = reduce.mean(x, 1, True)
    x = ops.subtract(x, center)
    c = product.dot(x, ops.conjugate(shapes.swap_last(x)))
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
    """The matrix of correlation coefficients of variables in rows."""
    from funcgrad.numpy.moving import diag
    from funcgrad.numpy.pointwise import clip

    c = cov(x, y, rowvar, dtype=dtype)
    if type_of(operand(c)).ndim == 0:
        return ops.divide(c, c)
    spread = ops.sqrt(ops.real(diag(c)))
    c = ops.divide(c, shapes.reshape(spread, (type_of(spread).size, 1)))
    c = ops.divide(c, spread)
    return clip(c, -1, 1) if type_of(c).dtype.kind == "f" else c


@numpy_function(np.bincount)
def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Array:
    """The sum of the `weights` for each integer in `x`."""
    from funcgrad.numpy.calls import known
    from funcgrad.numpy.scatter import add_at

    at = np.asarray(known(x, "the length of bincount()"))
    if weights is None or not isinstance(operand(weights), Tracer):
        return np.bincount(at, weights, minlength)
    length = max(int(at.max()) + 1 if at.size else 0, minlength)
    return add_at(np.zeros(length), at, operand(weights))
