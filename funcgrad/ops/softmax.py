"""Softmax along an axis, its logarithm, and the logarithm of a sum of exponentials.

Nothing overflows: the maximum is subtracted first. The gradient of `logsumexp` where all elements
are -inf is 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from funcgrad.core.forms import Explicit, explicit
from funcgrad.core.primitive import PRIMITIVES, Params, Sample
from funcgrad.core.tracer import bind, operand, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.ops.arithmetic import (
    absolute,
    add,
    cast,
    divide,
    equal,
    isfinite,
    isinf,
    logical_and,
    maximum,
    multiply,
    scale,
    sign,
    subtract,
    where,
)
from funcgrad.ops.constant import STOP_GRADIENT
from funcgrad.ops.index import getitem
from funcgrad.ops.matrices import as_float
from funcgrad.ops.nonlinear_reductions import graded
from funcgrad.ops.nonlinear_reductions import max as largest
from funcgrad.ops.reduction import Axes, Axis, normalize_axes, standard_samples
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import reshape
from funcgrad.ops.sums import sum as sum_
from funcgrad.ops.transcendental import exp, log

__all__ = [
    "finite_largest",
    "log_softmax",
    "logsumexp",
    "logsumexp_partial",
    "softmax",
    "weighted_logsumexp",
]


def _shifted(x: Any, axis: int) -> Any:
    """`x` less its maximum: an infinite one makes the row NaN, as in JAX and PyTorch."""
    return np.subtract(x, np.maximum.reduce(x, axis, keepdims=True, initial=-np.inf))


def _softmax(x: Any, axis: int) -> Any:
    with np.errstate(all="ignore"):
        e = _shifted(x, axis)
        np.exp(e, e)
        e /= np.add.reduce(e, axis, keepdims=True)
        return e


def _log_softmax(x: Any, axis: int) -> Any:
    with np.errstate(all="ignore"):
        d = _shifted(x, axis)
        total = np.add.reduce(np.exp(d), axis, keepdims=True)
        d -= np.log(total, total)
        return d


def _softmax_pull(g: Any, y: Any, axis: int) -> Any:
    weighted = scale(g, y)
    return subtract(weighted, multiply(y, sum_(weighted, (axis,), True)))


def _log_softmax_pull(g: Any, y: Any, axis: int) -> Any:
    return subtract(g, multiply(exp(y), sum_(g, (axis,), True)))


def _batch(name: str) -> Callable[..., Any]:
    def rule(size: int, xs: Any, batched: Any, params: Params) -> Any:
        return bind(PRIMITIVES[name], xs, {"axis": params["axis"] + 1})

    return rule


def _samples() -> list[Sample]:
    x = draw((2, 3))
    return [
        Sample((x,), {"axis": 1}),
        Sample((x[:, ::-1],), {"axis": 0}),
        Sample((x.astype(np.float32),), {"axis": 1}),
        Sample((np.array([1e4, 0.0, -1e4]),), {"axis": 0}),
        Sample((draw((0, 2)),), {"axis": 0}),
        Sample((np.array([0.5, -np.inf, 1.0]),), {"axis": 0}, smooth=False),
    ]


def _normalised(name: str, impl: Any, pull: Any) -> Explicit:
    return explicit(
        name,
        impl,
        type_rule=lambda x, *, axis: ArrayType(x.shape, x.dtype),
        vjp=(lambda g, y, _x, *, axis: pull(g, y, axis),),
        batch=_batch(name),
        sample=_samples,
    )


SOFTMAX = _normalised("softmax", _softmax, _softmax_pull)
LOG_SOFTMAX = _normalised("log_softmax", _log_softmax, _log_softmax_pull)


def _apply(prim: Explicit, x: Any, axis: int) -> Array:
    x = as_float(operand(x))
    return bind(prim, (x,), {"axis": normalize_axis_index(axis, type_of(x).ndim)})


def softmax(x: Any, axis: int = -1) -> Array:
    """``exp(x) / sum(exp(x))`` along `axis`."""
    return _apply(SOFTMAX, x, axis)


def log_softmax(x: Any, axis: int = -1) -> Array:
    """The logarithm of `softmax`."""
    return _apply(LOG_SOFTMAX, x, axis)


# --------------------------------------------------------------------------------- logsumexp


def _logsumexp(x: Any, axes: Axes, keepdims: bool) -> Any:
    with np.errstate(all="ignore"):
        if x.dtype.kind == "c":
            most = np.max(x.real, axes, keepdims=True, initial=-np.inf)
        else:
            most = np.max(x, axes, keepdims=True, initial=-np.inf)
        most = np.where(np.isfinite(most), most, 0).astype(most.dtype)
        out = np.log(np.sum(np.exp(x - most), axes, keepdims=True)) + most
    return out if keepdims else np.squeeze(out, axes)[()]


def logsumexp_partial(y: Any, x: Any, *, axes: Axes, keepdims: bool) -> tuple[Any, Any]:
    infinite = logical_and(isinf(y), equal(x, y))
    gap = subtract(where(infinite, 0.0, x), where(infinite, 0.0, y))
    if type_of(x).dtype.kind == "c":
        return None, exp(gap)
    # of infinities that are all there is, each has an equal share if they are +inf, none if -inf
    count = sum_(cast(infinite, float), axes, keepdims=True)
    share = divide(where(equal(y, np.inf), 1.0, 0.0), maximum(count, 1.0))
    return None, where(infinite, share, exp(gap))


def _logsumexp_samples() -> list[Sample]:
    plain = [s for s in standard_samples()() if len(s.args) == 1]
    row = {"axes": (1,), "keepdims": False}
    return [
        *plain,
        Sample((np.array([[1e4, 0.0], [-1e4, -1e4]]),), row),
        Sample((draw((2, 3)) + 1j * draw((2, 3), seed=1),), row),
        Sample((np.array([[-np.inf, 0.5], [-np.inf, -np.inf]]),), row, smooth=False),
    ]


LOGSUMEXP = graded("logsumexp", _logsumexp, np.max, logsumexp_partial, _logsumexp_samples)


def logsumexp(x: Any, axis: Axis = None, keepdims: bool = False) -> Array:
    """``log(sum(exp(x)))`` over `axis`."""
    x = as_float(operand(x))
    axes = normalize_axes(axis, type_of(x).ndim)
    return bind(LOGSUMEXP, (x,), {"axes": axes, "keepdims": keepdims})


def finite_largest(x: Array, axes: Axis) -> Array:
    """The largest element over `axes`, a constant; 0 where it is infinite."""
    most = bind(STOP_GRADIENT, (largest(x, axes, keepdims=True),), {})
    return where(isfinite(most), most, 0.0)


def weighted_logsumexp(
    x: Array, weights: Any, axis: Axis, keepdims: bool, return_sign: bool
) -> Any:
    """``log(sum(weights * exp(x)))`` over `axis`; with the sign, that of the absolute value."""
    x = where(equal(weights, 0), -np.inf, x)  # what has no weight counts for nothing, also inf
    axes = normalize_axes(axis, type_of(x).ndim)
    most = finite_largest(x, axes)
    s = sum_(multiply(weights, exp(subtract(x, most))), axes, keepdims=True)
    out = add(log(absolute(s) if return_sign else s), most)
    found = (out, sign(s)) if return_sign else (out,)
    if not keepdims:
        kept = tuple(n for k, n in enumerate(type_of(out).shape) if k not in axes)
        found = tuple(
            reshape(each, kept) if kept else getitem(reshape(each, (1,)), (0,)) for each in found
        )
    return found if return_sign else found[0]
