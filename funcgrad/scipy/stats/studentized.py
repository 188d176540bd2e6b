"""The studentised range, by quadrature over the deviation and the smallest of the samples.

``F(q) = ∫ g(s; ν) k ∫ φ(z) (Φ(z + q s) - Φ(z))^(k-1) dz ds``, where ν s² has the chi-square
distribution (Lund and Lund 1983). Both integrals are trapezoidal sums between ends at which the
integrand and its derivatives vanish, the outer one in log s, so their error is that of rounding,
and the derivative of the sum is the sum of the derivatives.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.core.tracer import bind
from funcgrad.ops.arithmetic import divide, greater, isinf, less, logical_and, sqrt, square, where
from funcgrad.ops.constant import STOP_GRADIENT
from funcgrad.ops.sums import sum as total
from funcgrad.ops.transcendental import exp, log, log1p
from funcgrad.scipy.special.differences import along
from funcgrad.scipy.special.error import ndtr
from funcgrad.scipy.special.gamma_functions import gammaln
from funcgrad.scipy.stats.family import LOG_ROOT_2PI, POSITIVE, Family

__all__ = ["STUDENTIZED"]

_PLACES = np.linspace(-9.0, 9.0, 181)
_GAP = float(_PLACES[1] - _PLACES[0])
_COUNT = 160


def _mass(wide: Any) -> Any:
    """Φ(z + w) - Φ(z), by Hermite's polynomials at the middle where w is small."""
    near = less(wide, 0.01)
    h = 0.5 * where(near, wide, 0.01)
    middle, h2 = square(_PLACES + h), square(h)
    series = 1.0 + h2 / 6 * (middle - 1.0)
    series = series + square(h2) / 120 * (middle * (middle - 6.0) + 3.0)
    series = series + h2 * square(h2) / 5040 * (middle * (middle * (middle - 15.0) + 45.0) - 15.0)
    thin = 2.0 * h * exp(-0.5 * middle - LOG_ROOT_2PI) * series
    # both from the side on which the integral is small
    w = where(near, 1.0, wide)
    low = ndtr(-_PLACES) - ndtr(-_PLACES - w)
    high = ndtr(_PLACES + w) - ndtr(_PLACES)
    return where(near, thin, where(_PLACES > 0, low, high))


def _of_range(width: Any, k: Any, density: bool) -> Any:
    """The integral over z for a known deviation, or its derivative by the width."""
    wide, k = along(width), along(k)
    mass = _mass(wide)
    there = greater(mass, 0.0)
    mass = where(there, mass, 1.0)
    logs = (k - 1.0) * log(mass) - 0.5 * _PLACES**2 - LOG_ROOT_2PI + log(k)
    if density:
        logs = logs + log(k - 1.0) - log(mass) - 0.5 * square(_PLACES + wide) - LOG_ROOT_2PI
    return total(where(there, exp(logs), 0.0), -1) * _GAP


def _integral(q: Any, k: Any, v: Any, density: bool) -> Any:
    known = isinf(v)
    inner = where(known, 10.0, v)
    # of log s: above there is nothing, and below nothing but s^(ν + k - 1), which the nodes reach
    # by u = τ - exp(-τ - begin), where few degrees of freedom make it wide
    few, begin = less(inner, 10.0), 1.0 + log1p(q)
    low = where(
        few,
        -begin - log1p(divide(45.0, inner + k - 1.0)),
        -divide(40.0, inner) - divide(8.0, sqrt(inner + 1.0)),
    )
    high = 0.5 * log(1.0 + divide(100.0, inner) + divide(20.0, sqrt(inner)))
    low, high, begin = (bind(STOP_GRADIENT, (w,)) for w in (low, high, begin))
    step = along(divide(high - low, _COUNT))
    place = along(low) + step * np.arange(_COUNT + 1)
    stretch = where(along(few), exp(-place - along(begin)), 0.0)
    u, step = place - stretch, step * (1.0 + stretch)
    n = along(inner)
    peak = math.log(2) + 0.5 * n * log(0.5 * n) - gammaln(0.5 * n)
    weights = exp(peak + (n + float(density)) * u - 0.5 * n * exp(2.0 * u)) * step
    found = total(weights * _of_range(along(q) * exp(u), along(k) + 0.0 * u, density), -1)
    return where(known, _of_range(q + 0.0 * k, k + 0.0 * q, density), found)


STUDENTIZED: dict[str, Family] = {
    "studentized_range": Family(
        lambda y, k, v: log(_integral(y, k, v, True)),
        cdf=lambda y, k, v: _integral(y, k, v, False),
        sf=lambda y, k, v: 1.0 - _integral(y, k, v, False),
        **POSITIVE,
        allowed=lambda k, v: logical_and(greater(k, 1), greater(v, 0)),
        shapes=(3.4, 10.5),
    ),
}
