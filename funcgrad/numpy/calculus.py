"""Differences, integrals, interpolation and polynomials."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from funcgrad.core.tracer import concrete, operand, type_of, value
from funcgrad.core.types import Array
from funcgrad.errors import located
from funcgrad.numpy.function_calls import ABSENT, as_array, memory_of, numpy_function
from funcgrad.numpy.reductions import take_slice
from funcgrad.ops import arithmetic as ops
from funcgrad.ops import cumulative, index, sums
from funcgrad.ops import shape as shapes
from funcgrad.ops import sort as sorting

__all__ = ["diff", "ediff1d", "gradient", "interp", "polyval", "trapezoid", "unwrap"]


@numpy_function(np.diff, views=True)
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = ABSENT, append: Any = ABSENT) -> Array:
    """The n-th differences along an axis; `a` itself for n = 0.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.diff(x) ** 2))(np.array([1.0, 2.0, 4.0]))
    array([-2., -2.,  4.])
    """
    x = as_array(a)
    if n == 0:
        return a
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n!r}")
    if not type_of(x).ndim:
        raise ValueError("diff requires input that is at least one dimensional")
    axis = normalize_axis_index(axis, type_of(x).ndim)
    parts = [_edge(p, x, axis) for p in (prepend, x, append) if p is not ABSENT]
    if len(parts) > 1:
        x = shapes.concatenate(parts, axis)
    step = ops.not_equal if type_of(x).dtype.kind == "b" else ops.subtract
    for _ in range(n):
        x = step(take_slice(x, axis, slice(1, None)), take_slice(x, axis, slice(None, -1)))
    return x


def _edge(part: Any, x: Array, axis: int) -> Array:
    part = as_array(part)
    if type_of(part).ndim:
        return part
    shape = type_of(x).shape
    return shapes.broadcast_to(part, (*shape[:axis], 1, *shape[axis + 1 :]))


@numpy_function(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Array:
    """The differences of the flattened array.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.ediff1d(x) ** 2))(np.array([1.0, 2.0, 4.0]))
    array([-2., -2.,  4.])
    """
    x = as_array(ary)
    dtype = type_of(x).dtype
    parts = [diff(shapes.reshape(x, (type_of(x).size,)))]
    if to_begin is not None:
        parts.insert(0, _end(to_begin, "to_begin", dtype))
    if to_end is not None:
        parts.append(_end(to_end, "to_end", dtype))
    return shapes.concatenate(parts, 0) if len(parts) > 1 else parts[0]


def _end(x: Any, name: str, dtype: Any) -> Array:
    """What goes in front of the differences or behind them, in their dtype."""
    x = as_array(x)
    kind = type_of(x)
    if not np.can_cast(kind.dtype, dtype, "same_kind"):
        text = f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule."
        raise TypeError(located(text))
    return ops.cast(shapes.reshape(x, (kind.size,)), dtype)


@numpy_function(np.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Array:
    """The integral along an axis by the trapezoidal rule.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(fnp.trapezoid)(np.ones(4))
    array([0.5, 1. , 1. , 0.5])
    """
    f = as_array(y)
    axis = normalize_axis_index(axis, type_of(f).ndim)
    if x is None:
        d = operand(dx)
    else:
        at = as_array(x)
        if type_of(at).ndim == 1:
            d = diff(at)
            shape = [1] * type_of(f).ndim
            shape[axis] = type_of(d).shape[0]
            d = shapes.reshape(d, shape)
        else:
            d = diff(at, 1, axis)
    pair = ops.add(take_slice(f, axis, slice(1, None)), take_slice(f, axis, slice(None, -1)))
    return sums.sum(ops.divide(ops.multiply(d, pair), 2.0), axis)


@numpy_function(np.gradient)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Central differences inside and one-sided differences at the ends.

    Differentiable in the spacings, numbers or coordinates, too.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda f: fnp.gradient(f)[1])(np.ones(3))
    array([-0.5,  0. ,  0.5])
    """
    x = as_array(f)
    rank = type_of(x).ndim
    axes = tuple(range(rank)) if axis is None else normalize_axis_tuple(axis, rank)
    if edge_order > 2:
        raise ValueError("'edge_order' greater than 2 not supported")
    if len(varargs) not in (0, 1, len(axes)):
        raise TypeError("invalid number of arguments")
    steps = list(varargs) if len(varargs) == len(axes) else [*(varargs or (1.0,))] * len(axes)
    if type_of(x).dtype.kind in "biu":
        x = ops.cast(x, float)
    found = [
        _gradient(x, k, _spacing(h, type_of(x).shape[k]), edge_order)
        for k, h in zip(axes, steps, strict=True)
    ]
    return found[0] if len(axes) == 1 else tuple(found)


def _spacing(h: Any, extent: int) -> Array:
    """A number, or the differences of coordinates: one number where they are known to be equal."""
    h = operand(h)
    if not type_of(h).ndim:
        return h
    if type_of(h).ndim != 1:
        raise ValueError("distances must be either scalars or 1d")
    if type_of(h).shape[0] != extent:
        raise ValueError("when 1d, distances must match the length of the corresponding dimension")
    if type_of(h).dtype.kind in "biu":
        h = ops.cast(h, float)
    d = diff(h)
    even = concrete(d) and bool(np.all(value(d) == value(d)[0]))
    return index.getitem(d, (0,)) if even else d


def _uneven(d: Array, edge_order: int, axis: int, rank: int) -> Any:
    """The weights of three neighbours: inside, and at either end, for uneven spacings."""
    shape = (1,) * axis + (-1,) + (1,) * (rank - axis - 1)

    def weights(lo: Any, hi: Any) -> tuple[Any, ...]:
        one, two = (
            shapes.reshape(v, tuple(type_of(v).size if n < 0 else n for n in shape))
            for v in (index.getitem(d, (lo,)), index.getitem(d, (hi,)))
        )
        both = ops.add(one, two)
        return one, two, ops.multiply(one, both), ops.multiply(two, both), ops.multiply(one, two)

    one, two, first, last, inner = weights(slice(None, -1), slice(1, None))
    inside = (
        ops.divide(ops.negative(two), first),
        ops.divide(ops.subtract(two, one), inner),
        ops.divide(one, last),
    )
    if edge_order == 1:
        return inside, None, None
    one, two, first, last, inner = weights(slice(0, 1), slice(1, 2))
    start = (
        ops.divide(ops.negative(ops.add(ops.multiply(2.0, one), two)), first),
        ops.divide(ops.add(one, two), inner),
        ops.divide(ops.negative(one), last),
    )
    one, two, first, last, inner = weights(slice(-2, -1), slice(-1, None))
    end = (
        ops.divide(two, first),
        ops.divide(ops.negative(ops.add(two, one)), inner),
        ops.divide(ops.add(ops.multiply(2.0, two), one), last),
    )
    return inside, start, end


def _gradient(x: Array, axis: int, h: Any, edge_order: int) -> Array:
    if type_of(x).shape[axis] < edge_order + 1:
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, "
            "at least (edge_order + 1) elements are required."
        )

    def at(lo: int | None, hi: int | None) -> Array:
        return take_slice(x, axis, slice(lo, hi))

    h0 = hn = h
    if type_of(h).ndim:
        inner, start, end = _uneven(h, edge_order, axis, type_of(x).ndim)
        inside = _three([at(None, -2), at(1, -1), at(2, None)], inner)
        h0, hn = index.getitem(h, (0,)), index.getitem(h, (-1,))
    else:
        inside = ops.divide(ops.subtract(at(2, None), at(None, -2)), ops.multiply(2.0, h))
        start, end = (
            [ops.divide(w, h) for w in ws] for ws in ((-1.5, 2.0, -0.5), (0.5, -2.0, 1.5))
        )
    if edge_order == 1:
        first = ops.divide(ops.subtract(at(1, 2), at(0, 1)), h0)
        last = ops.divide(ops.subtract(at(-1, None), at(-2, -1)), hn)
    else:
        first = _three([at(0, 1), at(1, 2), at(2, 3)], start)
        last = _three([at(-3, -2), at(-2, -1), at(-1, None)], end)
    dtype = type_of(x).dtype
    return shapes.concatenate([ops.cast(p, dtype) for p in (first, inside, last)], axis)


def _three(parts: Any, weights: Any) -> Array:
    a, b, c = (ops.multiply(w, p) for w, p in zip(weights, parts, strict=True))
    return ops.add(ops.add(a, b), c)


@numpy_function(np.interp)
def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Array:
    """Linear interpolation; differentiable by the points, the nodes and the values.

    At a node the derivative is that of the interval to its right.

    Examples
    --------
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.interp(x, [0.0, 1.0, 2.0], [0.0, 3.0, 4.0]))(0.5)
    np.float64(3.0)
    """
    at, nodes, values = (as_array(v) for v in (x, xp, fp))
    at, nodes = ops.cast(at, float), ops.cast(nodes, float)
    if period is not None:
        at, nodes, values = _wound(at, nodes, values, period)
        left = right = None
    values = ops.cast(values, complex if type_of(values).dtype.kind == "c" else float)
    count = type_of(nodes).shape[0]
    if count != type_of(values).shape[0]:
        raise ValueError("fp and xp are not of the same length.")
    if not count:
        raise ValueError("array of sample points is empty")
    first, last = index.getitem(values, (0,)), index.getitem(values, (-1,))
    low = first if left is None else operand(left)
    high = last if right is None else operand(right)
    if count == 1:
        out = shapes.broadcast_to(first, type_of(at).shape)
    else:
        k = ops.subtract(sorting.searchsorted(nodes, at, "right"), 1)
        k = ops.minimum(ops.maximum(k, 0), count - 2)
        x0, x1, y0, y1 = (index.gather(v, j) for v in (nodes, values) for j in (k, ops.add(k, 1)))
        slope = ops.divide(ops.subtract(y1, y0), ops.subtract(x1, x0))
        out = ops.add(ops.multiply(slope, ops.subtract(at, x0)), y0)
    bottom, top = index.getitem(nodes, (0,)), index.getitem(nodes, (-1,))
    out = ops.where(ops.equal(at, top), last, out)
    out = ops.where(ops.greater(at, top), high, out)
    out = ops.where(ops.less(at, bottom), low, out)
    return ops.where(ops.isnan(at), at, out)


def _wound(at: Array, nodes: Array, values: Array, period: Any) -> tuple[Array, Array, Array]:
    """Points and nodes within a period from 0, with a node on either side, as NumPy has them."""
    if type_of(nodes).ndim != 1 or type_of(values).ndim != 1:
        raise ValueError("Data points must be 1-D sequences")
    if concrete(operand(period)) and value(operand(period)) == 0:
        raise ValueError("period must be a non-zero value")
    period = ops.absolute(operand(period))
    at, nodes = ops.remainder(at, period), ops.remainder(nodes, period)
    order = sorting.argsort(nodes, -1, None)
    nodes, values = index.gather(nodes, order), index.gather(values, order)
    first, last = (slice(None, 1),), (slice(-1, None),)
    before = ops.subtract(index.getitem(nodes, last), period)
    after = ops.add(index.getitem(nodes, first), period)
    ends = index.getitem(values, last), index.getitem(values, first)
    nodes = shapes.concatenate([before, nodes, after], 0)
    return at, nodes, shapes.concatenate([ends[0], values, ends[1]], 0)


@numpy_function(np.polyval)
def polyval(p: Any, x: Any) -> Array:
    """A polynomial, given by its coefficients from the highest power down, at `x`.

    Examples
    --------
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.polyval([1.0, 0.0, 2.0], x))(3.0)
    np.float64(6.0)
    """
    coefficients, at = as_array(p), as_array(x)
    y: Any = np.zeros_like(memory_of(x), type_of(at).dtype)
    for k in range(type_of(coefficients).shape[0]):
        y = ops.add(ops.multiply(y, at), index.getitem(coefficients, (k,)))
    return y


@numpy_function(np.unwrap)
def unwrap(
    p: Any, discont: float | None = None, axis: int = -1, *, period: float = 6.283185307179586
) -> Array:
    """`p` with jumps of more than half a period removed by adding whole periods.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda p: fnp.sum(fnp.unwrap(p)))(np.array([0.0, 6.0]))
    array([1., 1.])
    """
    x = as_array(p)
    axis = normalize_axis_index(axis, type_of(x).ndim)
    d = diff(x, 1, axis)
    limit = period / 2 if discont is None else discont
    half = period / 2
    turned = ops.add(ops.remainder(ops.subtract(d, -half), period), -half)
    edge = ops.logical_and(ops.equal(turned, -half), ops.greater(d, 0))
    turned = ops.where(edge, half, turned)
    correction = ops.where(ops.less(ops.absolute(d), limit), 0.0, ops.subtract(turned, d))
    dtype = np.result_type(type_of(d).dtype, period)
    start = ops.cast(take_slice(x, axis, slice(None, 1)), dtype)
    rest = ops.add(take_slice(x, axis, slice(1, None)), cumulative.cumsum(correction, axis))
    return shapes.concatenate([start, rest], axis)
