"""Sums and means over axes, linear in the array; `sum` may start from a second operand.

They stand on `reduction`; the other reductions stand on them.
"""

from __future__ import annotations

from builtins import max as larger
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core.algebra import algebra
from funcgrad.core.forms import Linear, linear
from funcgrad.core.layout import ordered
from funcgrad.core.primitive import Params, Sample
from funcgrad.core.tracer import bind, operand, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.ops.arithmetic import add, cast, divide, maximum, where
from funcgrad.ops.reduction import (
    ROWS,
    Axes,
    Axis,
    align,
    broadcast_along,
    complex_rows,
    extent,
    given_dtype,
    kept,
    keywords,
    normalize_axes,
    operands,
    reduced,
    shift,
    standard_samples,
    with_samples,
)
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import broadcast_to, reshape, unbroadcast

__all__ = ["counted", "mean", "sum", "wide"]

# ------------------------------------------------------------------------------------ sum


_add_reduce: Any = np.add.reduce


def _sum(x: Any, *mask: Any, axes: Axes, keepdims: bool, dtype: Any) -> Any:
    # np.sum is this call: it adds nothing but time
    if not mask:
        return _add_reduce(x, axes, dtype, None, keepdims)
    return np.add.reduce(x, axis=axes, dtype=dtype, keepdims=keepdims, **keywords(mask))


def _sum_transpose(g: Any, x: ArrayType, *mask: Any, axes: Axes, **_: Any) -> Any:
    c = broadcast_along(g, x.shape, axes)
    return cast(where(mask[0], c, 0.0) if mask else c, x.dtype)


SUM = linear(
    "sum",
    _sum,
    (_sum_transpose,),
    reduced(np.sum),
    shift("sum"),
    sample=with_samples(
        standard_samples(dtype=None),
        lambda: [
            Sample((complex_rows(),), {**ROWS, "dtype": None}),
            Sample((draw((2, 3)).astype(np.float32),), {**ROWS, "dtype": np.dtype(float)}),
            Sample((draw((2, 0)),), {**ROWS, "dtype": None}),
            Sample((np.float64(1.5),), {"axes": (), "keepdims": False, "dtype": None}),
            Sample((np.arange(3) > 1,), {"axes": (0,), "keepdims": False, "dtype": None}),
        ],
    ),
    moves="sums",
)


def _sum_from(x: Any, start: Any, *mask: Any, axes: Axes, keepdims: bool, dtype: Any) -> Any:
    return np.add.reduce(x, axis=axes, dtype=dtype, keepdims=keepdims, **keywords(mask, start))


def _sum_from_batch(size: int, xs: Any, batched: Any, params: Params) -> Any:
    x, start, *mask = xs
    alone = [x, *mask]
    if not batched[1]:
        lanes = align(size, alone, (batched[0], *batched[2:]))
        axes = tuple(a + 1 for a in params["axes"])
        return bind(SUM_FROM, (lanes[0], start, *lanes[1:]), {**params, "axes": axes})
    if batched[0] or (mask and batched[2]):
        total = SUM.batch(size, alone, (batched[0], *batched[2:]), params)
    else:
        total = bind(SUM, alone, params)
        total = broadcast_to(total, (size, *type_of(total).shape))
    aval = type_of(total)
    return add(total, cast(reshape(start, (size,) + (1,) * (aval.ndim - 1)), aval.dtype))


SUM_FROM = linear(
    "sum_from",
    _sum_from,
    (
        lambda g, x, start, *mask, **params: _sum_transpose(g, x, *mask, **params),
        lambda g, x, start, *mask, **params: unbroadcast(g, start),
    ),
    lambda x, start, *mask, **params: reduced(np.sum)(x, **params),
    _sum_from_batch,
    sample=lambda: [
        Sample((draw((2, 3)), np.float64(0.5)), {**ROWS, "dtype": None}),
        Sample((draw((2, 3)), 2.0, np.array([True, False, True])), {**ROWS, "dtype": None}),
        Sample((draw((0, 2)), 2.0), {"axes": (0,), "keepdims": True, "dtype": None}),
    ],
    moves="adds",
)


def sum(
    x: Array,
    axis: Axis = None,
    keepdims: bool = False,
    dtype: Any = None,
    where: Any = None,
    initial: Any = None,
) -> Array:
    """The sum over `axis`, of the elements where `where` holds; it starts from `initial`."""
    x, *mask = operands(x, where)
    params = {
        "axes": normalize_axes(axis, type_of(x).ndim),
        "keepdims": keepdims,
        "dtype": given_dtype(dtype),
    }
    if initial is None:
        return bind(SUM, (x, *mask), params)
    return bind(SUM_FROM, (x, operand(initial), *mask), params)


# ----------------------------------------------------------------------------------- mean


PRECISE = frozenset((np.dtype(np.float32), np.dtype(np.float64)))


def _mean(x: Any, *mask: Any, axes: Axes, keepdims: bool, dtype: Any) -> Any:
    if not mask and dtype is None and type(x) is np.ndarray and x.dtype in PRECISE:
        count = extent(x.shape, axes)
        if 0 < count < 1 << 24:  # what np.mean computes, without its questions
            return _add_reduce(x, axes, None, None, keepdims) / x.dtype.type(count)
    return np.mean(x, axis=axes, dtype=dtype, keepdims=keepdims, **keywords(mask))


def counted(aval: ArrayType, mask: tuple[Array, ...], axes: Axes) -> Array:
    """How many elements are reduced: a number, or an array that keeps the reduced axes."""
    if not mask:
        return float(extent(aval.shape, axes))
    return sum(cast(broadcast_to(mask[0], aval.shape), float), axes, keepdims=True)


def wide(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """NumPy computes the moments of half precision in single precision."""
    return np.dtype(np.float32) if dtype == np.float16 else dtype


def _mean_transpose(g: Any, x: ArrayType, *mask: Any, axes: Axes, **_: Any) -> Any:
    own = type_of(g).dtype
    g = cast(g, wide(own))
    if len(axes) < x.ndim or mask:
        g = reshape(g, kept(x.shape, axes))
    count = counted(x, mask, axes)
    c = divide(g, maximum(count, 1.0)) if mask else divide(g, larger(count, 1.0))
    c = broadcast_to(cast(c, x.dtype), x.shape)
    return where(mask[0], c, 0.0) if mask else c


class _Mean(Linear):
    """The mean of nothing is NaN, whatever `x` is: its tangent is 0, as its cotangent is."""

    def jvp(self, y: Any, xs: Sequence[Array], ts: Sequence[Array | None], params: Params) -> Any:
        x, *mask = xs
        kind, axes = type_of(x), params["axes"]
        if ts[0] is None or (not mask and extent(kind.shape, axes)):
            return super().jvp(y, xs, ts, params)
        t = cast(ts[0], wide(type_of(ts[0]).dtype))
        count = maximum(counted(kind, tuple(mask), axes), 1.0)
        total = divide(bind(SUM, (t, *mask), {**params, "keepdims": True}), count)
        return cast(reshape(total, type_of(y).shape), type_of(y).dtype)


MEAN = _Mean("mean", _mean, (_mean_transpose,), reduced(np.mean), shift("mean"), "adds")
MEAN.sample = with_samples(
    standard_samples(dtype=None),
    lambda: [
        Sample((complex_rows(),), {**ROWS, "dtype": None}),
        Sample((draw((2, 3)).astype(np.float32),), {**ROWS, "dtype": np.dtype(float)}),
        Sample((np.arange(6).reshape(2, 3),), {**ROWS, "dtype": None}),
        Sample((draw((2, 3)).astype(np.float16),), {**ROWS, "dtype": None}, smooth=False),
    ],
)


def mean(
    x: Array, axis: Axis = None, keepdims: bool = False, dtype: Any = None, where: Any = None
) -> Array:
    """The mean over `axis`, of the elements where `where` holds."""
    x, *mask = operands(x, where)
    axes = normalize_axes(axis, type_of(x).ndim)
    return bind(MEAN, (x, *mask), {"axes": axes, "keepdims": keepdims, "dtype": given_dtype(dtype)})


algebra.sum = sum

SUM.lies = SUM_FROM.lies = MEAN.lies = ordered
