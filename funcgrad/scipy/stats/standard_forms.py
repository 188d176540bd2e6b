"""Formulas of distributions in standard form that take more than a line (`families`)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.core.tracer import bind, type_of
from funcgrad.ops.arithmetic import (
    absolute,
    equal,
    greater,
    less,
    maximum,
    negative,
    power,
    rint,
    sqrt,
    square,
    where,
)
from funcgrad.ops.constant import STOP_GRADIENT
from funcgrad.ops.shape import reshape
from funcgrad.ops.sums import sum as total
from funcgrad.ops.transcendental import arccos, cos, exp, expm1, log, log1p
from funcgrad.scipy.special.bessel import i0e
from funcgrad.scipy.special.elementary import cosm1, xlogy
from funcgrad.scipy.special.error import erfcx, log_ndtr, ndtr
from funcgrad.scipy.special.gamma_functions import betaln, gammaln
from funcgrad.scipy.special.incomplete import gammaincc
from funcgrad.scipy.stats.family import LOG_ROOT_2PI, Formula


def _log1mexp(x: Any) -> Any:
    """log(1 - exp(-x)) of x > 0 (Mächler 2012)."""
    small = less(x, 0.6931471805599453)
    near = log(-expm1(-where(small, x, 1.0)))
    return where(small, near, log1p(-exp(-where(small, 1.0, x))))


def _log1p_over(c: Any, y: Any) -> Any:
    """log(1 + c y) / c, and its limit y at c = 0, with derivatives in c."""
    z = c * y
    near = less(absolute(z), 0.02)
    series = 0.0
    for k in range(9, 0, -1):
        series = series * -where(near, z, 0.0) + 1.0 / k
    away = where(near, 1.0, c)
    return where(near, y * series, log1p(where(near, 1.0, z)) / away)


def _log_mass(a: Any, b: Any) -> Any:
    """log(Φ(b) - Φ(a)); both ends are taken to the left of 0 if they lie on one side."""
    right = greater(a, 0)
    low, high = where(right, -b, a), where(right, -a, b)
    apart = less(high, 0)
    tail = where(apart, high, -1.0)
    lower = where(apart, low, -2.0)
    top = log_ndtr(tail)
    within = top + _log1mexp(top - log_ndtr(lower))
    across = log1p(-(ndtr(where(apart, -1.0, low)) + ndtr(-where(apart, 1.0, high))))
    return where(apart, within, across)


def _symmetric(sf: Formula, logsf: Formula | None = None) -> dict[str, Any]:
    """The integrals of what is symmetric about 0, given those of the right tail."""

    def turned(f: Formula | None) -> Formula | None:
        return None if f is None else lambda y, *s: f(-y, *s)

    return {"cdf": turned(sf), "sf": sf, "logcdf": turned(logsf), "logsf": logsf}


def _laplace_sf(y: Any) -> Any:
    right = greater(y, 0)
    tail = 0.5 * exp(-where(right, y, 0.0))
    return where(right, tail, 1.0 - 0.5 * exp(where(right, 0.0, y)))


def _gennorm_logpdf(y: Any, b: Any) -> Any:
    return log(0.5 * b) - gammaln(1.0 / b) - power(absolute(y), b)


def _gennorm_sf(y: Any, b: Any) -> Any:
    """In the middle it is told by its tangent: the power has no derivative there."""
    middle = equal(y, 0)
    z = where(middle, 1.0, y)
    half = 0.5 * gammaincc(1.0 / b, power(absolute(z), b))
    away = where(greater(z, 0), half, 1.0 - half)
    return where(middle, 0.5 - y * exp(log(0.5 * b) - gammaln(1.0 / b)), away)


def _laplace_logsf(y: Any) -> Any:
    right = greater(y, 0)
    tail = -where(right, y, 1.0) - math.log(2)
    return where(right, tail, log1p(-0.5 * exp(where(right, -1.0, y))))


def _power_tail(logsf: Formula) -> dict[str, Any]:
    """All integrals of a distribution, given the logarithm of its right tail."""
    return {
        "cdf": lambda y, *s: -expm1(logsf(y, *s)),
        "sf": lambda y, *s: exp(logsf(y, *s)),
        "logcdf": lambda y, *s: _log1mexp(-logsf(y, *s)),
        "logsf": logsf,
    }


def _mirrored(row: dict[str, Any]) -> dict[str, Any]:
    """The integrals of -Y, given those of Y."""
    pairs = {"cdf": "sf", "sf": "cdf", "logcdf": "logsf", "logsf": "logcdf"}

    def turned(f: Formula) -> Formula:
        return lambda y, *s: f(-(y), *s)

    return {k: turned(row[v]) for k, v in pairs.items()}


def _powered(y: Any, c: Any) -> Any:
    return exp(xlogy(c, y))


_WEIBULL = _power_tail(lambda y, c: -(_powered(y, c)))
_GUMBEL_L = _power_tail(lambda y: -(exp(y)))


def _weibull(y: Any, c: Any) -> Any:
    return log(c) + xlogy(c - 1.0, y) - _powered(y, c)


def _triang(y: Any, c: Any) -> tuple[Any, Any, Any]:
    """Whether `y` is to the left of the peak, and the two sides without a division by zero."""
    left = less(y, c)
    return left, where(left, c, 1.0), where(left, 1.0, 1.0 - c)


def _triang_logpdf(y: Any, c: Any) -> Any:
    left, rise, fall = _triang(y, c)
    return math.log(2) + where(left, log(y) - log(rise), log1p(-(y)) - log(fall))


def _triang_cdf(y: Any, c: Any) -> Any:
    left, rise, fall = _triang(y, c)
    return where(left, square(y) / rise, 1.0 - square(1.0 - y) / fall)


def _triang_sf(y: Any, c: Any) -> Any:
    left, rise, fall = _triang(y, c)
    return where(left, 1.0 - square(y) / rise, square(1.0 - y) / fall)


def _invgauss(y: Any, mu: Any, side: float) -> tuple[Any, Any]:
    """The logarithms of the two terms of its integral (Giner and Smyth 2016)."""
    root = 1.0 / sqrt(y)
    first = log_ndtr(side * root * (y / mu - 1.0))
    # exp(2/mu) Φ(-z) by erfcx: the exponentials cancel
    z = root * (y / mu + 1.0)
    second = 2.0 / mu - 0.5 * square(z) + log(0.5 * erfcx(z * math.sqrt(0.5)))
    return first, second


def _invgauss_logcdf(y: Any, mu: Any) -> Any:
    first, second = _invgauss(y, mu, 1.0)
    return first + log1p(exp(second - first))


def _invgauss_logsf(y: Any, mu: Any) -> Any:
    first, second = _invgauss(y, mu, -1.0)
    return first + log1p(-(exp(second - first)))


def _genextreme(y: Any, c: Any) -> Any:
    """log(-log cdf)."""
    return -_log1p_over(-c, y)


def _f_logpdf(y: Any, n: Any, d: Any) -> Any:
    scale = 0.5 * d * log(d) + 0.5 * n * log(n) + xlogy(0.5 * n - 1.0, y)
    return scale - 0.5 * (n + d) * log(d + n * y) - betaln(0.5 * n, 0.5 * d)


def _t_logpdf(y: Any, df: Any) -> Any:
    peak = -(betaln(0.5 * df, 0.5)) - 0.5 * log(df)
    return peak - 0.5 * (df + 1.0) * log1p(square(y) / df)


def _normal(y: Any) -> Any:
    return -0.5 * square(y) - LOG_ROOT_2PI


_PLACES, _WEIGHTS = np.polynomial.legendre.leggauss(96)


def _vonmises_cdf(y: Any, k: Any) -> Any:
    """The turns of `y`, and the integral of the density from -π, by Gauss's formula.

    It begins where the density is exp(-45) of that at the end, which tails, too, are resolved by.
    """
    turns = bind(STOP_GRADIENT, (rint(y / (2 * math.pi)),))
    angle = y - 2 * math.pi * turns
    right = greater(angle, 0)
    end = where(right, -angle, angle)
    height = maximum(cos(end) - 45.0 / maximum(k, 1.0), -1.0)
    low = bind(STOP_GRADIENT, (negative(arccos(height)),))
    half, start, kappa = (reshape(x, (*type_of(x).shape, 1)) for x in (0.5 * (end - low), low, k))
    density = exp(kappa * cosm1(start + half * (_PLACES + 1.0))) / (2 * math.pi * i0e(kappa))
    tail = total(half * _WEIGHTS * density, -1)
    return turns + where(right, 1.0 - tail, tail)
