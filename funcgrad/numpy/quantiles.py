"""Order statistics: median, quantile and percentile, to the last bit as NumPy interpolates."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from funcgrad.core.tracer import concrete, operand, type_of, value
from funcgrad.core.types import Array
from funcgrad.errors import UnsupportedCallError, located
from funcgrad.numpy.calls import as_array, as_zero_dim, numpy_function, refuse
from funcgrad.numpy.reductions import take_slice
from funcgrad.ops import arithmetic as ops
from funcgrad.ops import index, sums
from funcgrad.ops import shape as shapes
from funcgrad.ops import sort as sorting

__all__ = ["median", "percentile", "quantile"]


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
        return sums.mean(x, last, False)
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
    """The q-th quantile over some axes, differentiable by `a` and `q`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(fnp.quantile, (0, 1))(np.array([0.0, 1.0, 3.0]), 0.75)
    (array([0. , 0.5, 0.5]), np.float64(4.0))
    """
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
    """The q-th percentile over some axes, differentiable by `a` and `q`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.percentile(x, 75.0))(np.array([0.0, 1.0, 3.0]))
    array([0. , 0.5, 0.5])
    """
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
    x, kept = one_axis(x, axis)
    x = shapes.moveaxis(x, -1, 0)
    extent = type_of(x).shape[0]
    ordered = sorting.sort(x, 0)
    position = _POSITIONS[method](extent, q)
    found = _between(ordered, position, method, weak)
    if type_of(x).dtype.kind == "f":
        found = _nan_wins(index.getitem(ordered, (-1,)), found)
    if keepdims:
        found = _keep(found, type_of(q).shape + kept)
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


def _inexact(x: Array) -> bool:
    return type_of(x).dtype.kind in "fc"
