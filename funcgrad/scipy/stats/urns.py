"""Wallenius' distribution: balls are drawn one by one, those of the first colour with some odds.

The mass is C(m₁, x) C(m₂, y) ∫ (1 - t^(ω/D))^x (1 - t^(1/D))^y dt over the unit interval, where
D = ω (m₁ - x) + m₂ - y (Wallenius 1963; Fog 2008). With t = exp(-D s) and s = exp(z) the logarithm
of the integrand has one maximum; nodes go out from it as sinh, over the width that it has there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core.tracer import bind
from funcgrad.ops.arithmetic import divide, equal, less, maximum, minimum, sqrt, where
from funcgrad.ops.constant import STOP_GRADIENT
from funcgrad.ops.sums import sum as total
from funcgrad.ops.transcendental import exp, expm1, log, log1p
from funcgrad.scipy.special.differences import along
from funcgrad.scipy.special.gamma_functions import gammaln
from funcgrad.scipy.stats.discrete import _hypergeom_high, _hypergeom_low, _summed
from funcgrad.scipy.stats.family import Family

__all__ = ["URNS"]

_V = np.linspace(-5.6, 5.6, 401)
_STEP = _V[1] - _V[0]
_NEWTON = 60


def _log_choices(m: Any, x: Any) -> Any:
    return gammaln(m + 1.0) - gammaln(x + 1.0) - gammaln(m - x + 1.0)


def _log_integrand(z: Any, x: Any, y: Any, odds: Any, rest: Any) -> Any:
    s = exp(z)
    return x * log(-expm1(-odds * s)) + y * log(-expm1(-s)) - rest * s + z


def _pull(u: Any) -> Any:
    """u exp(-u) / (1 - exp(-u)), the derivative of log(1 - exp(-u)) by log u."""
    return divide(u, expm1(u))


def _top(x: Any, y: Any, odds: Any, rest: Any) -> tuple[Any, Any]:
    """The logarithm of s at the maximum, by halving, and the width of the integrand there."""
    low, high = -45.0 + 0.0 * rest, 45.0 + 0.0 * rest
    for _ in range(_NEWTON):
        z = 0.5 * (low + high)
        s = exp(z)
        rising = x * _pull(minimum(odds * s, 700.0)) + y * _pull(minimum(s, 700.0)) + 1.0
        up = rising > rest * s
        low, high = where(up, z, low), where(up, high, z)
    s = exp(0.5 * (low + high))
    a, b = minimum(odds * s, 700.0), minimum(s, 700.0)
    fall = rest * s
    for weight, u in ((x, a), (y, b)):  # the derivative of the pull by log u, with its sign turned
        share = _pull(u)
        fall = fall + weight * share * (share + u - 1.0)
    return 0.5 * (low + high), divide(1.0, sqrt(maximum(fall, 1e-300)))


def _logpmf(k: Any, m: Any, n: Any, draws: Any, odds: Any) -> Any:
    """Of m balls, n of the first colour, `draws` of which are drawn."""
    x, y = k, draws - k
    rest = odds * (n - x) + (m - n - y)
    all_ = equal(rest, 0.0)  # all balls are drawn
    rest = where(all_, 1.0, rest)
    place, width = (bind(STOP_GRADIENT, (v,)) for v in _top(x, y, odds, rest))
    z = along(place) + along(width) * np.sinh(_V) * 0.5
    wide = [along(v + 0.0 * rest) for v in (x, y, odds, rest)]
    peak = bind(STOP_GRADIENT, (_log_integrand(along(place), *wide),))
    sizes = exp(_log_integrand(z, *wide) - peak) * np.cosh(_V)
    whole = total(sizes, -1) * (0.5 * _STEP) * width
    log_integral = where(all_, 0.0, log(rest) + log(whole) + peak[..., 0])
    return _log_choices(n, x) + _log_choices(m - n, y) + log_integral


def _first(k: Any, m: Any, n: Any, draws: Any, _: Any) -> Any:
    return _hypergeom_low(m, n, draws) + 0.0 * k


def _last(k: Any, m: Any, n: Any, draws: Any, _: Any) -> Any:
    return _hypergeom_high(m, n, draws) + 0.0 * k


_below = _summed(_logpmf, _first, lambda k, *_: k)
_above = _summed(_logpmf, lambda k, *_: k + 1.0, _last)


def _log(sum_: Any, rest: Any) -> Callable[..., Any]:
    """The logarithm of a sum, by the rest where the sum is nearly 1."""

    def formula(k: Any, *shapes: Any) -> Any:
        found, others = sum_(k, *shapes), rest(k, *shapes)
        small = less(found, 0.5)
        near = log1p(-where(small, 0.5, others))
        return where(small, log(where(small, found, 0.5)), near)

    return formula


URNS: dict[str, Family] = {
    "nchypergeom_wallenius": Family(
        _logpmf,
        cdf=_below,
        sf=_above,
        logcdf=_log(_below, _above),
        logsf=_log(_above, _below),
        support=(
            lambda m, n, draws, _: _hypergeom_low(m, n, draws),
            lambda m, n, draws, _: _hypergeom_high(m, n, draws),
        ),
        inside=lambda m, n, draws, _: _hypergeom_high(m, n, draws),
        shapes=(20.0, 7.0, 12.0, 0.4),
    ),
}
