"""Order statistics: median, quantile and percentile, to the last bit as NumPy interpolates."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from funcgrad.core.tracer import concrete, operand, type_of, value
from funcgrad.core.types import Array
from funcgrad.numpy.function_calls import as_array, as_zero_dim, numpy_function, refuse
from funcgrad.numpy.reductions import take_slice, weights_like
from funcgrad.ops import arithmetic as ops
from funcgrad.ops import cumulative, index, sums
from funcgrad.ops import shape as shapes
from funcgrad.ops import sort as sorting

__all__ = ["median", "percentile", "quantile"]

_BRINGS_Q = tuple(map(int, np.__version__.split(".")[:2])) < (2, 4)  # to the dtype of the array


def one_axis(x: Array, axis: Any) -> tuple[Array, tuple[int, ...]]:
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
    """The median over some axes: its derivative goes to the element(s) in the middle.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(fnp.median)(np.array([4.0, 1.0, 3.0, 2.0]))
    array([0. , 0. , 0.5, 0.5])
    """
    x, kept = one_axis(as_array(a), axis)
    last = type_of(x).ndim - 1
    extent = type_of(x).shape[-1]
    half = extent // 2
    if extent == 0:
        found = sums.mean(x, last, False)
        return _keep(found, kept) if keepdims else found
    inexact = type_of(x).dtype.kind in "fc"
    places = [half] if extent % 2 else [half - 1, half]
    ordered = sorting.partition(x, places + [extent - 1] * inexact, last)
    middle = take_slice(ordered, last, slice(places[0], half + 1))
    found = sums.mean(middle, last, False)
    if inexact:
        found = _nan_wins(take_slice(ordered, last, -1), found)
    return _keep(found, kept) if keepdims else found


def _keep(found: Array, shape: tuple[int, ...]) -> Array:
    """The result with the reduced axes kept; an array also where there are none."""
    return shapes.reshape(found, shape) if shape else as_zero_dim(found)


def _nan_wins(largest: Array, found: Array) -> Array:
    """`found`, or NaN where the largest element, the last one in order, is NaN."""
    return ops.where(ops.isnan(largest), ops.cast(largest, type_of(found).dtype), found)


def _times(n: Any, q: Array) -> Array:
    """The whole number `n`, which is as weak as Python's also where it is an array, times `q`."""
    return ops.multiply(ops.cast(n, type_of(q).dtype), q)


def _virtual(alpha: float, beta: float) -> Any:
    return lambda n, q: ops.subtract(
        ops.add(
            _times(n, q),
            ops.add(alpha, ops.multiply(q, 1 - alpha - beta)),
        ),
        1,
    )


def _discrete(shift: float, stays: Any) -> Any:
    """The element below n q - shift where `stays`, told by the fraction, holds, else the next."""

    def position(n: Any, q: Any) -> Array:
        at = ops.subtract(ops.subtract(_times(n, q), 1), shift)
        below = ops.floor(at)
        chosen = ops.where(stays(ops.subtract(at, below), below), below, ops.add(below, 1))
        return ops.maximum(chosen, 0)

    return position


def _even(fraction: Array, below: Array) -> Array:
    return ops.logical_and(ops.equal(fraction, 0), ops.equal(ops.remainder(below, 2), 1))


_POSITIONS: dict[str, Any] = {
    "inverted_cdf": _discrete(0, lambda fraction, _: ops.equal(fraction, 0)),
    "averaged_inverted_cdf": lambda n, q: ops.subtract(_times(n, q), 1),
    "closest_observation": _discrete(0.5, _even),
    "linear": lambda n, q: _times(ops.subtract(n, 1), q),
    "lower": lambda n, q: ops.floor(_times(ops.subtract(n, 1), q)),
    "higher": lambda n, q: ops.ceil(_times(ops.subtract(n, 1), q)),
    "nearest": lambda n, q: ops.rint(_times(ops.subtract(n, 1), q)),
    "midpoint": lambda n, q: ops.multiply(
        0.5,
        ops.add(
            ops.floor(_times(ops.subtract(n, 1), q)),
            ops.ceil(_times(ops.subtract(n, 1), q)),
        ),
    ),
    "interpolated_inverted_cdf": _virtual(0, 1),
    "hazen": _virtual(0.5, 0.5),
    "weibull": _virtual(0, 0),
    "median_unbiased": _virtual(1 / 3.0, 1 / 3.0),
    "normal_unbiased": _virtual(3 / 8.0, 3 / 8.0),
}
_WHOLE = ("lower", "higher", "nearest", "inverted_cdf", "closest_observation")


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
    """The q-th quantile over some axes, differentiable by `a` and `q`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(fnp.quantile, (0, 1))(np.array([0.0, 1.0, 3.0]), 0.75)
    (array([0. , 0.5, 0.5]), np.float64(4.0))
    """
    refuse("quantile", interpolation=interpolation)
    return quantile_of("quantile", as_array(a), operand(q), axis, method, keepdims, weights)


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
    """The q-th percentile over some axes, differentiable by `a` and `q`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.percentile(x, 75.0))(np.array([0.0, 1.0, 3.0]))
    array([0. , 0.5, 0.5])
    """
    refuse("percentile", interpolation=interpolation)
    return quantile_of("percentile", as_array(a), operand(q), axis, method, keepdims, weights)


def quantile_of(
    name: str,
    x: Array,
    q: Any,
    axis: Any,
    method: str,
    keepdims: bool,
    weights: Any = None,
    skip_nan: bool = False,
) -> Array:
    """The quantile or percentile, as `name` says, of all elements or of those that are not NaN."""
    if type_of(x).dtype.kind == "c":
        raise TypeError("a must be an array of real numbers")
    if method not in _POSITIONS:
        raise ValueError(f"{method!r} is not a valid method. Use one of: {[*_POSITIONS]}")
    weak = type_of(q).weak  # a Python number leaves the dtype of the array as it is
    q = _share(q, name.endswith("percentile"), type_of(x).dtype)
    if concrete(q) and not np.all((value(q) >= 0) & (value(q) <= 1)):
        bounds, what = ("[0, 100]", "Percentiles") if "percent" in name else ("[0, 1]", "Quantiles")
        raise ValueError(f"{what} must be in the range {bounds}")
    if weights is not None:
        weights = one_axis(_weights(weights, x, axis, method), axis)[0]
    x, kept = one_axis(x, axis)
    last = type_of(x).ndim - 1
    mask = ops.isnan(x) if skip_nan else None
    if weights is not None:
        order = sorting.argsort(x, last)
        x = index.take_along_axis(x, order, last)
        if mask is not None:
            weights = ops.where(mask, 0, weights)
        weights = shapes.moveaxis(index.take_along_axis(weights, order, last), -1, 0)
    else:
        x = sorting.sort(x, last)
    ordered = shapes.moveaxis(x, -1, 0)
    count: Any = type_of(ordered).shape[0]
    if mask is not None:
        held = ops.subtract(count, sums.sum(mask, last, False, np.intp))
        count = ops.maximum(held, 1)
    if weights is None:
        found = _between(ordered, q, count, method, weak)
    else:
        found = _pick(ordered, _by_weight(weights, q, count), True)
    if not skip_nan and type_of(x).dtype.kind == "f":
        found = _nan_wins(index.getitem(ordered, (-1,)), found)
    elif skip_nan:  # NaN does not move with any element where none counts
        found = ops.where(ops.equal(held, 0), type_of(found).dtype.type(np.nan), found)
    rank = type_of(q).ndim
    if skip_nan and rank and type_of(found).ndim > rank:  # NumPy moves the axes of q to the front
        whole = type_of(found).ndim
        found = shapes.transpose(found, (*range(rank, whole), *range(rank)))
        found = shapes.in_c_order(found)
        found = shapes.transpose(found, (*range(whole - rank, whole), *range(whole - rank)))
    if keepdims:
        found = _keep(found, type_of(q).shape + kept)
    return found


def _share(q: Any, percent: bool, dtype: np.dtype[Any]) -> Array:
    """`q` as an array of what lies in [0, 1], of the dtype that this release of NumPy makes it."""
    brings = _BRINGS_Q and dtype.kind == "f"
    if brings and (type_of(q).weak or (isinstance(q, float) and not percent)):
        q = ops.cast(as_array(q), dtype)
    q = as_array(q)
    return ops.divide(q, dtype.type(100) if brings else 100) if percent else q


def _weights(weights: Any, x: Array, axis: Any, method: str) -> Array:
    """The weights in the shape of the array, as NumPy reads them; they are locally constant."""
    if method != "inverted_cdf":
        raise ValueError("Only method 'inverted_cdf' supports weights.")
    w, shape = as_array(weights), type_of(x).shape
    if concrete(w) and np.any(value(w) < 0):
        raise ValueError("Weights must be non-negative.")
    return shapes.broadcast_to(weights_like(w, shape, axis), shape)


def _by_weight(weights: Array, q: Array, count: Any) -> Array:
    """Where the running sum of the weights of the ordered elements reaches `q` of the whole."""
    running = cumulative.cumsum(weights, 0, float)
    share = ops.divide(running, index.getitem(running, (-1,)))
    share = ops.where(ops.equal(share, 0), -1.0, share)  # what has no weight is never reached
    rank = type_of(share).ndim
    wanted = shapes.reshape(q, type_of(q).shape + (1,) * rank)
    below = sums.sum(ops.less(share, wanted), type_of(q).ndim, False, np.intp)
    return ops.minimum(below, ops.subtract(count, 1))


def _pick(x: Array, places: Array, each: bool) -> Array:
    """Elements of the first axis: whole slices of it, or `each` line by its own place."""
    rank = type_of(x).ndim - 1
    if not each or not rank:
        return index.gather(x, places)
    rest = type_of(x).shape[1:]
    grid = np.indices(rest, sparse=True)
    return index.gather(x, places, *grid)


def _between(x: Array, q: Array, count: Any, method: str, weak: bool) -> Array:
    """The sorted `x` at a position that need not be whole, by NumPy's interpolation.

    `count` is the number of elements, or an array of it, one for each line.
    """
    each, rank = not isinstance(count, int), type_of(x).ndim - 1
    shape = type_of(q).shape
    position = _POSITIONS[method](count, shapes.reshape(q, shape + (1,) * rank) if each else q)
    end = ops.subtract(count, 1)
    below = ops.floor(position)
    low = ops.cast(ops.minimum(ops.maximum(below, 0), end), int)
    if method in _WHOLE or (method == "linear" and type_of(position).dtype.kind in "iu"):
        return _pick(x, low, each)
    high = ops.cast(ops.minimum(ops.maximum(ops.add(below, 1), 0), end), int)
    before = ops.less(position, 0)
    high = ops.where(before, 0, high)
    # past the end NumPy takes the last element twice and counts the weight from -1
    beyond = ops.greater_equal(position, end)
    weight = ops.subtract(position, ops.where(beyond, -1.0, ops.where(before, 0.0, below)))
    if method in ("midpoint", "averaged_inverted_cdf"):
        whole = ops.equal(ops.remainder(position, 1), 0)
        at_whole, else_ = (0.0, 0.5) if method == "midpoint" else (0.5, 1.0)
        weight = ops.where(whole, at_whole, else_)
    weight = ops.cast(weight, type_of(position).dtype)
    late, rest = ops.greater_equal(weight, 0.5), ops.subtract(1, weight)
    if weak:
        dtype = type_of(x).dtype if _inexact(x) else np.dtype(float)
        weight, rest = ops.cast(weight, dtype), ops.cast(rest, dtype)
    elif not each:
        lifted = type_of(weight).shape + (1,) * rank
        late, weight, rest = (shapes.reshape(v, lifted) for v in (late, weight, rest))
    first, second = _pick(x, low, each), _pick(x, high, each)
    gap = ops.subtract(second, first)
    upper = ops.subtract(second, ops.multiply(gap, rest))
    lower = ops.add(first, ops.multiply(gap, weight))
    return ops.where(late, upper, lower)


def _inexact(x: Array) -> bool:
    return type_of(x).dtype.kind in "fc"
