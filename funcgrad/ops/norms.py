"""Vector and matrix norms under one primitive, `norm`.

They stand on sums and on the singular values. The gradient at the zero vector is 0; where elements,
columns or singular values tie for the norm, they share the cotangent equally.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.core.forms import explicit
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import bind, operand, type_of
from funcgrad.core.types import Array, ArrayType, is_inexact
from funcgrad.ops.arithmetic import (
    absolute,
    cast,
    conjugate,
    divide,
    equal,
    isinf,
    logical_or,
    multiply,
    power,
    scale,
    sign,
    subtract,
    where,
)
from funcgrad.ops.equal_values import coincide
from funcgrad.ops.matrices import as_float, column, drop, real_dtype
from funcgrad.ops.nonlinear_reductions import max as max_
from funcgrad.ops.nonlinear_reductions import min as min_
from funcgrad.ops.reduction import broadcast_along, normalize_axes
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import reshape, transpose
from funcgrad.ops.singular import SVD, values_pulled
from funcgrad.ops.sums import sum as sum_

__all__ = ["NORM", "norm"]


def _norm_impl(x: Any, axes: Any, ord: Any = None, keepdims: bool = False) -> Any:
    axis = None if axes is None else axes[0] if len(axes) == 1 else axes
    return np.linalg.norm(x, ord, axis, keepdims)


def _all_axes(axes: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(range(len(shape))) if axes is None else axes


def _norm_type(x: ArrayType, *, axes: Any, ord: Any = None, keepdims: bool = False) -> ArrayType:
    where_ = _all_axes(axes, x.shape)
    shape = tuple(
        1 if i in where_ else n for i, n in enumerate(x.shape) if keepdims or i not in where_
    )
    return ArrayType(shape, real_dtype(x.dtype) if is_inexact(x.dtype) else np.dtype(float))


def _direction(x: Array) -> Array:
    """conj(x)/|x|, and 0 at 0."""
    if type_of(x).dtype.kind != "c":
        return sign(x)
    size = absolute(x)
    none = equal(size, 0)
    return where(none, 0.0, divide(conjugate(x), where(none, 1.0, size)))


def _norm_vjp(g: Any, y: Any, x: Any, *, axes: Any, ord: Any = None, keepdims: bool = False) -> Any:
    shape = type_of(x).shape
    where_ = _all_axes(axes, shape)
    g, y = broadcast_along(g, shape, where_), broadcast_along(y, shape, where_)
    if ord in (None, "fro", "f") or (ord == 2 and len(where_) == 1):
        none = equal(y, 0)
        d = divide(conjugate(x), where(none, 1.0, y))
        return scale(where(none, 0.0, g), d)
    if len(where_) == 2 and ord in (2, -2, "nuc"):
        return scale(g, _spectral(x, where_, ord))
    if len(where_) == 2:
        return _matrix_norm_vjp(g, x, where_, ord)
    if np.isinf(ord):
        share = _shared_extreme(absolute(x), where_, ord, type_of(g).dtype)
        return scale(g, multiply(_direction(x), share))
    if ord == 0:
        return cast(scale(g, 0.0), type_of(x).dtype)
    if ord == 1:
        return scale(g, _direction(x))
    none = logical_or(equal(y, 0), isinf(y))
    ratio = divide(absolute(x), where(none, 1.0, y))
    zero = equal(ratio, 0)
    weight = where(zero, 0.0, power(where(zero, 1.0, ratio), ord - 1))
    return scale(where(none, 0.0, g), multiply(_direction(x), weight))


def _spectral(x: Array, axes: Any, order: Any) -> Array:
    """The derivative of the largest, the smallest, or the sum of the singular values.

    Equal extreme values share it equally; singular values of 0 have none.
    """
    ndim = type_of(x).ndim
    places = (*(i for i in range(ndim) if i not in axes), *axes)
    matrix = transpose(x, places)
    u, s, vh = bind(SVD, (matrix,))
    weight = np.ones(type_of(s).shape, type_of(s).dtype)
    if order != "nuc":
        k = type_of(s).shape[-1]
        pick = np.eye(k, dtype=type_of(s).dtype)[0 if order == 2 else -1]
        chosen = cast(drop(coincide(column(subtract(s, _extreme(s, pick))), s)), pick.dtype)
        weight = multiply(weight, divide(chosen, sum_(chosen, -1, True)))
    c = values_pulled(weight, matrix, u, s, vh)
    return transpose(c, tuple(places.index(i) for i in range(ndim)))


def _extreme(s: Array, pick: Any) -> Array:
    return sum_(multiply(s, pick), -1, True)


def _matrix_norm_vjp(g: Any, x: Any, axes: Any, order: Any) -> Any:
    """Orders ±1 and ±inf: the largest or smallest column or row sum."""
    summed = axes[0] if abs(order) == 1 else axes[1]
    other = axes[1] if abs(order) == 1 else axes[0]
    totals = sum_(absolute(x), (summed,), True)
    share = _shared_extreme(totals, (other,), order, type_of(g).dtype)
    return scale(g, multiply(_direction(x), share))


def _shared_extreme(x: Array, axes: Any, order: Any, dtype: Any) -> Array:
    """1 over their number where `x` is largest (smallest, for a negative order), else 0.

    The extreme is taken of these very numbers: those of the forward pass may be rounded otherwise,
    and then none would be equal to it.
    """
    extreme = max_(x, axes, True) if order > 0 else min_(x, axes, True)
    chosen = cast(equal(x, extreme), dtype)
    return divide(chosen, sum_(chosen, axes, True))


def _norm_batch(size: int, xs: Any, batched: Any, params: Any) -> Any:
    shape = type_of(xs[0]).shape[1:]
    if params["axes"] is None and len(shape) not in (1, 2):
        flat = reshape(xs[0], (size, math.prod(shape)))
        y = bind(NORM, (flat,), {"axes": (1,)})
        return reshape(y, (size, *(1,) * len(shape))) if params.get("keepdims") else y
    axes = tuple(a + 1 for a in _all_axes(params["axes"], shape))
    return bind(NORM, xs, {**params, "axes": axes})


def _norm_samples() -> list[Sample]:
    x, m = draw((4,)), draw((2, 3))
    vector = [{"ord": o} for o in (None, 1, 2, 3, np.inf, -np.inf, 0.5)]
    out = [
        Sample((x,), {"axes": (0,), **{k: v for k, v in p.items() if v is not None}})
        for p in vector
    ]
    orders = ("fro", 1, -1, 2, -2, "nuc", np.inf, -np.inf)
    out += [Sample((m,), {"axes": (0, 1), "ord": o}) for o in orders]
    out += [Sample((x,), {"axes": None, "ord": o}) for o in (2, 3)]
    z = m + 1j * draw((2, 3), seed=1)
    out += [Sample((z,), {"axes": (1, 0), "ord": o}) for o in (1, 2, "nuc")]
    out += [Sample((z,), {"axes": (1,), "ord": o}) for o in (1, 3, np.inf)]
    out += [
        Sample((m,), {"axes": None}),
        Sample((m,), {"axes": (1,), "keepdims": True}),
        Sample((draw((2, 3, 2)),), {"axes": None}),
        Sample((np.zeros(3),), {"axes": None}, smooth=False),
        Sample((np.array([2.0, -2.0, 1.0]),), {"axes": None, "ord": np.inf}, smooth=False),
        Sample((np.eye(3),), {"axes": None, "ord": 2}, smooth=False),
        Sample((draw((2, 3, 2)),), {"axes": (2, 0), "ord": "nuc", "keepdims": True}),
        Sample((m.astype(np.float32),), {"axes": (0,), "ord": 3}),
        Sample((z,), {"axes": (0,)}),
    ]
    return out


NORM = explicit(
    "norm",
    _norm_impl,
    type_rule=_norm_type,
    vjp=(_norm_vjp,),
    batch=_norm_batch,
    sample=_norm_samples,
)


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Array:
    """NumPy's vector and matrix norms.

    At the zero vector the gradient is 0; where an element, a column or a singular value ties with
    another for the norm, they share it equally.
    """
    x = as_float(operand(x))
    axes = None  # not all axes by number: NumPy sums in another order then
    if axis is not None:
        given = (axis,) if isinstance(axis, (int, np.integer)) else tuple(axis)
        normalize_axes(given, type_of(x).ndim)
        axes = tuple(int(a) % type_of(x).ndim for a in given)
    params: dict[str, Any] = {"axes": axes}
    if ord is not None:
        params["ord"] = ord
    if keepdims:
        params["keepdims"] = True
    return bind(NORM, (x,), params)
