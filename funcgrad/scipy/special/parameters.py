"""Derivatives of the incomplete gamma and beta functions by their parameters.

With p(t) the density, P = ∫ p from 0 to x has the derivative ∫ p s by a parameter, where s is the
derivative of log p, and the second one ∫ p (s s' + ∂s'), of two parameters or one. The integral
from 0 to x is minus that from x to the other end; of the two the one is taken that has not the mass
of p in it, where little cancels. They go through the variable in which p is smooth, log t or
logit t, away from x, by the rule for a half line of Takahasi and Mori 1974 (exp-sinh), scaled by
the width of p.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sp

__all__ = [
    "beta_first",
    "beta_first_first",
    "beta_first_last",
    "beta_last",
    "beta_last_last",
    "gamma_first",
    "gamma_second",
]

STEP = 1 / 48
_K = np.arange(-192, 157) * STEP
NODES = np.exp(np.pi / 2 * np.sinh(_K))  # from 1e-19 to 1e9 widths
WEIGHTS = STEP * np.pi / 2 * np.cosh(_K) * NODES


def _each(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` of float64 columns, as a function of arrays that broadcast and keep float32."""

    def of_arrays(*given: Any) -> Any:
        dtype = np.result_type(*given)
        dtype = dtype if dtype.kind == "f" else np.dtype(np.float64)
        shape = np.broadcast_shapes(*map(np.shape, given))
        columns = [np.broadcast_to(np.asarray(x, float), shape).reshape(-1, 1) for x in given]
        with np.errstate(all="ignore"):
            return function(*columns).reshape(shape).astype(dtype)[()]

    of_arrays.__name__ = function.__name__
    return of_arrays


def _half_line(integrand: Callable[[Any], Any], scale: Any) -> Any:
    """∫ integrand(r) from 0 to ∞; beyond where the integrand underflows it counts for nothing."""
    found = integrand(scale * NODES)
    return np.sum(np.where(np.isfinite(found), found, 0.0) * WEIGHTS, -1, keepdims=True) * scale


# ------------------------------------------------------------------------------------ gamma


def _gamma_parts(a: Any, x: Any, weight: Callable[[Any], Any]) -> Any:
    """∫ p(t) weight(log t) from 0 to x, or minus that from x on, whichever is small."""
    start = np.log(x)
    side = np.where(x < a, -1.0, 1.0)  # of small shapes the mass is near 0
    tail = np.where(side < 0, np.minimum(a, np.sqrt(a)), np.maximum(np.sqrt(a), 1.0))
    scale = 1.0 / np.maximum(np.abs(a - x), tail)
    flat = np.where(side > 0, -start, 0.0)  # where p is cut off behind a plateau
    scale = np.maximum(scale, flat)

    def integrand(r: Any) -> Any:
        w = start + side * r
        log_density = a * w - np.exp(w) - sp.gammaln(a)
        return np.exp(log_density) * weight(w)

    found = -side * _half_line(integrand, scale)
    return np.where((x > 0) & np.isfinite(x), found, np.where(np.isnan(x), np.nan, 0.0))


@_each
def gamma_first(a: Any, x: Any) -> Any:
    """The derivative of the regularised lower incomplete gamma function P(a, x) by a."""
    mean = sp.psi(a)
    return _gamma_parts(a, x, lambda w: w - mean)


@_each
def gamma_second(a: Any, x: Any) -> Any:
    """The second derivative of P(a, x) by a."""
    mean, slope = sp.psi(a), sp.polygamma(1, a)
    return _gamma_parts(a, x, lambda w: (w - mean) ** 2 - slope)


# ------------------------------------------------------------------------------------- beta


def _beta_parts(a: Any, b: Any, x: Any, weight: Callable[[Any, Any], Any]) -> Any:
    """∫ p(t) weight(log t, log(1 - t)) from 0 to x, or minus that from x to 1."""
    start = sp.logit(x)
    side = np.where(x * (a + b) < a, -1.0, 1.0)
    slope = np.abs(a * (1 - x) - b * x)
    tail = np.minimum(np.where(side < 0, a, b), np.sqrt(a * b / (a + b)))
    # Behind a plateau p is cut off at logit t = -log b, or log a; beyond 0 it falls as exp(-b t).
    outward = np.where(side < 0, a, b)
    plateau = np.maximum(-side * start - np.log(np.maximum(outward, 1.0)), 0.0)
    scale = np.minimum(1.0 / np.maximum(slope, tail), plateau + 1.0 / np.minimum(outward, 1.0))

    def integrand(r: Any) -> Any:
        w = start + side * r
        low, high = sp.log_expit(w), sp.log_expit(-w)
        return np.exp(a * low + b * high - sp.betaln(a, b)) * weight(low, high)

    found = -side * _half_line(integrand, scale)
    return np.where((x > 0) & (x < 1), found, np.where(np.isnan(x), np.nan, 0.0))


def _psi_gap(a: Any, b: Any) -> Any:
    """ψ(a) - ψ(a + b), by Taylor's series where the two are equal but for their last digits."""
    series = b * (sp.polygamma(1, a) + b * (sp.polygamma(2, a) / 2 + b * sp.polygamma(3, a) / 6))
    return np.where(b < 1e-5 * a, -series, sp.psi(a) - sp.psi(a + b))


def _centred(a: Any, b: Any) -> tuple[Any, Any]:
    """The scores of `a` and `b`: log t and log(1 - t) less their means."""
    of_a, of_b = _psi_gap(a, b), _psi_gap(b, a)
    return (lambda low, _: low - of_a), (lambda _, high: high - of_b)


@_each
def beta_first(a: Any, b: Any, x: Any) -> Any:
    """The derivative of the regularised incomplete beta function I(a, b, x) by a."""
    return _beta_parts(a, b, x, _centred(a, b)[0])


@_each
def beta_last(a: Any, b: Any, x: Any) -> Any:
    """The derivative of I(a, b, x) by b."""
    return _beta_parts(a, b, x, _centred(a, b)[1])


def _beta_second(a: Any, b: Any, x: Any, i: int, j: int) -> Any:
    scores = _centred(a, b)
    slope = -sp.polygamma(1, a + b) + (sp.polygamma(1, (a, b)[i]) if i == j else 0.0)
    return _beta_parts(
        a, b, x, lambda low, high: scores[i](low, high) * scores[j](low, high) - slope
    )


@_each
def beta_first_first(a: Any, b: Any, x: Any) -> Any:
    """The second derivative of I(a, b, x) by a."""
    return _beta_second(a, b, x, 0, 0)


@_each
def beta_first_last(a: Any, b: Any, x: Any) -> Any:
    """The derivative of I(a, b, x) by a and b."""
    return _beta_second(a, b, x, 0, 1)


@_each
def beta_last_last(a: Any, b: Any, x: Any) -> Any:
    """The second derivative of I(a, b, x) by b."""
    return _beta_second(a, b, x, 1, 1)
