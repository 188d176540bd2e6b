"""Integrals of samples: sums with weights that depend on the points, in SciPy's order.

All operations are SciPy's, one by one, so traced values have its bits, and under `jit` they are
native code. Weights of Simpson's rule for unequal points: Cartwright 2017, and SciPy's source.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.integrate as sp

import funcgrad.numpy as fnp
from funcgrad.core.tracer import concrete, type_of
from funcgrad.core.types import Array
from funcgrad.numpy.function_calls import as_array, known, numpy_function
from funcgrad.ops.arithmetic import cast, divide, equal, where
from funcgrad.ops.matrices import as_float

__all__ = ["cumulative_simpson", "cumulative_trapezoid", "romb", "simpson", "trapezoid"]


def _at(x: Array, axis: int, where: Any) -> Array:
    index: list[Any] = [slice(None)] * type_of(x).ndim
    index[axis] = where
    return x[tuple(index)]


def _pairs(y: Array, axis: int) -> Array:
    return _at(y, axis, slice(1, None)) + _at(y, axis, slice(None, -1))


@numpy_function(sp.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Array:
    """The integral along an axis by the trapezoidal rule.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.integrate import trapezoid
    >>> fg.grad(trapezoid)(np.ones(4))
    array([0.5, 1. , 1. , 0.5])
    """
    y = as_array(y)
    dtype = type_of(y).dtype if type_of(y).dtype.kind in "fc" else np.dtype(float)
    if x is None:
        d = dx
    else:
        x = as_array(x)
        if type_of(x).ndim == 1:
            shape = [1] * type_of(y).ndim
            shape[axis] = -1
            d = fnp.reshape(x[1:] - x[:-1], shape)
        else:
            x = fnp.broadcast_to(x, type_of(y).shape)
            d = _at(x, axis, slice(1, None)) - _at(x, axis, slice(None, -1))
    out: Array = fnp.sum(d * _pairs(y, axis) / 2.0, axis=axis, dtype=dtype)
    return out


def _spacing(x: Any, y: Array, axis: int) -> Array:
    """The distances of the points along `axis`, which broadcast with `y`."""
    x = as_array(x)
    kind, have = type_of(x), type_of(y)
    if kind.ndim == 1:
        shape = [1] * have.ndim
        shape[axis] = -1
        d = fnp.reshape(fnp.diff(x), shape)
    elif kind.ndim != have.ndim:
        raise ValueError("If given, shape of x must be 1-D or the same as y.")
    else:
        d = fnp.diff(x, axis=axis)
    if type_of(d).shape[axis] != have.shape[axis] - 1:
        raise ValueError("If given, length of x along axis must be the same as y.")
    return d


@numpy_function(sp.cumulative_trapezoid)
def cumulative_trapezoid(
    y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None
) -> Array:
    """The integral up to each point by the trapezoidal rule.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.integrate import cumulative_trapezoid
    >>> fg.grad(lambda y: cumulative_trapezoid(y)[-1])(np.ones(4))
    array([0.5, 1. , 1. , 0.5])
    """
    y = as_array(y)
    if type_of(y).shape[axis] == 0:
        raise ValueError("At least one point is required along `axis`.")
    d = dx if x is None else _spacing(x, y, axis)
    out: Array = fnp.cumsum(d * _pairs(y, axis) / 2.0, axis=axis)
    if initial is None:
        return out
    if not np.isscalar(initial):
        raise ValueError("`initial` parameter should be a scalar.")
    if initial != 0:
        raise ValueError("`initial` must be `None` or `0`.")
    none = np.zeros_like(_at(np.broadcast_to(np.zeros(1), type_of(out).shape), axis, slice(1)))
    return fnp.concatenate([cast(none, type_of(out).dtype), out], axis)


# ------------------------------------------------------------------------------ Simpson's rule


def _or_zero(x: Array, y: Array) -> Array:
    """x / y, and 0 where y is 0."""
    none = equal(y, 0)
    return where(none, 0.0, divide(x, where(none, 1.0, y)))


def _basic_simpson(y: Array, stop: int, x: Array | None, dx: Any, axis: int) -> Array:
    y0, y1, y2 = (_at(y, axis, slice(k, stop + k, 2)) for k in range(3))
    if x is None:
        return fnp.sum(y0 + 4.0 * y1 + y2, axis=axis) * (dx / 3.0)
    h = fnp.diff(x, axis=axis)
    h0, h1 = (cast(_at(h, axis, slice(k, stop + k, 2)), float) for k in (0, 1))
    total, product, ratio = h0 + h1, h0 * h1, _or_zero(h0, h1)
    parts = (
        y0 * (2.0 - _or_zero(1.0, ratio))
        + y1 * (total * _or_zero(total, product))
        + y2 * (2.0 - ratio)
    )
    return fnp.sum(total / 6.0 * parts, axis=axis)


def _last_interval(y: Array, h: Any, axis: int) -> Array:
    """What the last of an odd number of intervals adds, by the parabola through three points."""
    before, last = h
    alpha = _or_zero(2 * last**2 + 3 * before * last, 6 * (last + before))
    beta = _or_zero(last**2 + 3.0 * before * last, 6 * before)
    eta = _or_zero(1 * last**3, 6 * before * (before + last))
    return alpha * _at(y, axis, -1) + beta * _at(y, axis, -2) - eta * _at(y, axis, -3)


@numpy_function(sp.simpson)
def simpson(y: Any, x: Any = None, *, dx: Any = 1.0, axis: int = -1) -> Array:
    """The integral along an axis by Simpson's rule, also of points at unequal distances.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.integrate import simpson
    >>> fg.grad(simpson)(np.ones(3)).round(12)
    array([0.33333333, 1.33333333, 0.33333333])
    """
    y = as_array(y)
    n = type_of(y).shape[axis]
    if x is not None:
        x = as_array(x)
        if type_of(x).ndim == 1:
            shape = [1] * type_of(y).ndim
            shape[axis] = -1
            x = fnp.reshape(x, shape)
        elif type_of(x).ndim != type_of(y).ndim:
            raise ValueError("If given, shape of x must be 1-D or the same as y.")
        if type_of(x).shape[axis] != n:
            raise ValueError("If given, length of x along axis must be the same as y.")
    if n % 2:
        return _basic_simpson(y, n - 2, x, dx, axis)
    if n == 2:
        last = dx if x is None else _at(x, axis, -1) - _at(x, axis, -2)
        return 0.0 + 0.5 * last * (_at(y, axis, -1) + _at(y, axis, -2))
    out = _basic_simpson(y, n - 3, x, dx, axis)
    if x is None:
        step = cast(as_array(dx), float)
        return out + _last_interval(y, (step, step), axis)
    d = cast(fnp.diff(x, axis=axis), float)
    return out + _last_interval(y, (_at(d, axis, -2), _at(d, axis, -1)), axis)


def _equal_intervals(y: Array, dx: Array) -> Array:
    d, f1, f2, f3 = dx[..., :-1], y[..., :-2], y[..., 1:-1], y[..., 2:]
    return d / 3 * (5 * f1 / 4 + 2 * f2 - f3 / 4)


def _unequal_intervals(y: Array, dx: Array) -> Array:
    x21, x32 = dx[..., :-1], dx[..., 1:]
    f1, f2, f3 = y[..., :-2], y[..., 1:-1], y[..., 2:]
    first = x21 / (x21 + x32)
    both = first * (x21 / x32)
    return x21 / 6 * ((3 - first) * f1 + (3 + both + first) * f2 + -both * f3)


def _running(y: Array, dx: Array, rule: Any) -> Array:
    """The sums of the integrals over intervals: of each pair the first by one parabola, the second
    by the same one from the other side."""
    forward = rule(y, dx)
    backward = fnp.flip(rule(fnp.flip(y, -1), fnp.flip(dx, -1)), -1)
    count = type_of(y).shape[-1] - 1
    even = np.arange(count) % 2 == 0
    ahead = fnp.concatenate([forward, backward[..., -1:]], -1)
    behind = fnp.concatenate([forward[..., :1], backward], -1)
    even[-1] = False
    return fnp.cumsum(fnp.where(even, ahead, behind), -1)


@numpy_function(sp.cumulative_simpson)
def cumulative_simpson(
    y: Any, *, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None
) -> Array:
    """The integral up to each point by Simpson's rule.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.integrate import cumulative_simpson
    >>> fg.grad(lambda y: cumulative_simpson(y)[-1])(np.ones(3)).round(12)
    array([0.33333333, 1.33333333, 0.33333333])
    """
    given = as_float(as_array(y))
    shape = type_of(given).shape
    if not -len(shape) <= axis < len(shape):
        raise ValueError(f"`axis={axis}` is not valid for `y` with `y.ndim={len(shape)}`.")
    one = (*shape[: axis % len(shape)], 1, *shape[axis % len(shape) + 1 :])
    y = fnp.swapaxes(given, axis, -1)
    if shape[axis] < 3:
        out = fnp.swapaxes(cumulative_trapezoid(given, x, dx=dx, axis=axis), axis, -1)
    elif x is not None:
        x = as_float(as_array(x))
        if type_of(x).shape not in (shape, (shape[axis],)):
            raise ValueError(
                "If given, shape of `x` must be the same as `y` or 1-D with the same length as `y` "
                "along `axis`."
            )
        turned = type_of(y).shape
        x = fnp.broadcast_to(x, turned) if type_of(x).ndim == 1 else fnp.swapaxes(x, axis, -1)
        d = fnp.diff(x, axis=-1)
        if concrete(d) and np.any(known(d <= 0, "the order of the points")):
            raise ValueError("Input x must be strictly increasing.")
        out = _running(y, d, _unequal_intervals)
    else:
        step = as_float(as_array(dx))
        if type_of(step).shape not in ((), one):
            raise ValueError(
                "If provided, `dx` must either be a scalar or have the same shape as `y` but with "
                "only 1 point along `axis`."
            )
        less = (*shape[: axis % len(shape)], shape[axis] - 1, *shape[axis % len(shape) + 1 :])
        out = _running(y, fnp.swapaxes(fnp.broadcast_to(step, less), axis, -1), _equal_intervals)
    if initial is not None:
        start = as_float(as_array(initial))
        if type_of(start).shape not in ((), one):
            raise ValueError(
                "If provided, `initial` must either be a scalar or have the same shape as `y` but "
                "with only 1 point along `axis`."
            )
        start = fnp.swapaxes(fnp.broadcast_to(start, one), axis, -1)
        out = fnp.concatenate([start, out + start], -1)
    return fnp.swapaxes(out, -1, axis)


@numpy_function(sp.romb)
def romb(y: Any, dx: Any = 1.0, axis: int = -1, show: bool = False) -> Array:
    """The integral along an axis by Romberg's method, of 2**k + 1 samples.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.integrate import romb
    >>> fg.grad(romb)(np.ones(3)).round(12)
    array([0.33333333, 1.33333333, 0.33333333])
    """
    y = as_array(y)
    intervals = type_of(y).shape[axis] - 1
    levels = max(intervals - 1, 0).bit_length()
    if intervals != 1 << levels:
        raise ValueError("Number of samples must be one plus a non-negative power of 2.")
    h = intervals * cast(as_array(dx), float)
    row = [(_at(y, axis, 0) + _at(y, axis, -1)) / 2.0 * h]
    step = intervals
    for _ in range(levels):
        middle = _at(y, axis, slice(step >> 1, intervals, step))
        step >>= 1
        previous, row = row, [0.5 * (row[0] + h * fnp.sum(middle, axis=axis))]
        for j, before in enumerate(previous, 1):
            row.append(row[-1] + (row[-1] - before) / ((1 << (2 * j)) - 1))
        h = h / 2.0
    return row[-1]
