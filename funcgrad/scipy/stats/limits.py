"""Rows of distributions of which a shape has a limit inside its range, in forms that hold there.

SciPy writes these with a branch for the one value of the shape, or with differences of what is
nearly equal beside it. Here each formula goes on through that value, so its derivative by the shape
is right there, too.
"""

from __future__ import annotations

import math
from typing import Any

from funcgrad.ops.arithmetic import (
    absolute,
    divide,
    equal,
    greater,
    isfinite,
    less,
    logical_and,
    logical_not,
    negative,
    square,
    where,
)
from funcgrad.ops.logistic import logaddexp
from funcgrad.ops.transcendental import exp, expm1, log, sin
from funcgrad.scipy.special.elementary import log_expit
from funcgrad.scipy.special.empirical import tklmbda
from funcgrad.scipy.special.error import log_ndtr
from funcgrad.scipy.special.gamma_functions import gammaln
from funcgrad.scipy.stats.family import INF, LOG_ROOT_2PI, POSITIVE, Family
from funcgrad.scipy.stats.outward import integrals
from funcgrad.scipy.stats.standard_forms import _log1p_over, _symmetric, _vonmises_cdf

__all__ = ["INTEGRALS", "LIMITS"]


def _inverse(where_: Any, x: Any, otherwise: float, way: float = 1.0) -> Any:
    """± 1 / x at the places where it is asked for."""
    return where(where_, divide(way, where(where_, x, 1.0)), otherwise)


# ---------------------------------------------------------------------------------- kappa


def _kappa3(y: Any, a: Any) -> Any:
    """z with cdf = (1 + exp(-z))^(-1/a)."""
    return a * log(y) - log(a)


def _reduced(y: Any, k: Any) -> Any:
    """-log(1 - k y) / k, which is y at k = 0."""
    return _log1p_over(-k, y)


def _kappa4_logcdf(y: Any, h: Any, k: Any) -> Any:
    return negative(_log1p_over(-h, exp(-_reduced(y, k))))


def _kappa4_logpdf(y: Any, h: Any, k: Any) -> Any:
    u = _reduced(y, k)
    return (k - 1.0) * u + (1.0 - h) * _kappa4_logcdf(y, h, k)


def _kappa4_low(h: Any, k: Any) -> Any:
    """(1 - h^-k) / k of h > 0, and 1 / k of k < 0."""
    bounded = greater(h, 0)
    of_h = log(where(bounded, h, 1.0))
    near = less(absolute(k * of_h), 1e-5)
    inner = where(near, 1.0, k)
    z = -k * of_h
    away = negative(divide(expm1(-inner * of_h), inner))
    begin = where(near, of_h * (1.0 + 0.5 * z * (1.0 + z / 3.0)), away)
    return where(bounded, begin, _inverse(less(k, 0), k, -INF))


# ------------------------------------------------------------------------- truncated Pareto


def _log_powers(b: Any, length: Any) -> Any:
    """log((1 - exp(-b l)) / b), of b of either sign."""
    size = absolute(b)
    grown = where(less(b, 0), -b * length, 0.0)
    return grown + log(-expm1(-size * length)) - log(size)


# ---------------------------------------------------------------------------------- Tukey


def _tukey_logpdf(y: Any, shape: Any) -> Any:
    low, high = log(tklmbda(y, shape)), log(tklmbda(-y, shape))
    return negative(logaddexp((shape - 1.0) * low, (shape - 1.0) * high))


# -------------------------------------------------------------------------------- Pearson

_STIRLING = [1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156]


def _stirling(t: Any) -> Any:
    """log Γ(1/t) less Stirling's formula, of t > 0, and 0 at 0."""
    near = less(t, 0.04)
    x, a = where(near, t, 0.0), divide(1.0, where(near, 1.0, t))
    series: Any = 0.0
    for c in reversed(_STIRLING):
        series = series * square(x) + c
    return where(near, x * series, gammaln(a) - (a - 0.5) * log(a) + a - LOG_ROOT_2PI)


def _bend(z: Any) -> Any:
    """(exp(z) - 1 - z) / z²."""
    near = less(absolute(z), 0.5)
    x, away = where(near, z, 0.0), where(near, 1.0, z)
    series: Any = 0.0
    for k in range(14, 1, -1):
        series = series * x + 1.0 / math.factorial(k)
    return where(near, series, divide(expm1(away) - away, square(away)))


def _pearson_place(y: Any, skew: Any) -> Any:
    """2/s log(1 + s y / 2): in this variable the mode is at 0."""
    return _log1p_over(0.5 * skew, y)


def _pearson_density(v: Any, skew: Any) -> Any:
    return negative(LOG_ROOT_2PI + _stirling(0.25 * square(skew)) + _pearson_fall(v, skew))


def _pearson_fall(v: Any, skew: Any) -> Any:
    return square(v) * _bend(0.5 * skew * v)


def _pearson_logpdf(y: Any, skew: Any) -> Any:
    v = _pearson_place(y, skew)
    return _pearson_density(v, skew) - 0.5 * skew * v


LIMITS: dict[str, Family] = {
    "kappa3": Family(
        lambda y, a: divide(-log(a), a) + (1.0 + divide(1.0, a)) * log_expit(-_kappa3(y, a)),
        cdf=lambda y, a: exp(divide(log_expit(_kappa3(y, a)), a)),
        sf=lambda y, a: -expm1(divide(log_expit(_kappa3(y, a)), a)),
        logcdf=lambda y, a: divide(log_expit(_kappa3(y, a)), a),
        **POSITIVE,
        shapes=(1.7,),
    ),
    "kappa4": Family(
        _kappa4_logpdf,
        cdf=lambda y, h, k: exp(_kappa4_logcdf(y, h, k)),
        sf=lambda y, h, k: -expm1(_kappa4_logcdf(y, h, k)),
        logcdf=_kappa4_logcdf,
        support=(_kappa4_low, lambda h, k: _inverse(greater(k, 0), k, INF)),
        closed=False,
        inside=lambda h, k: _kappa4_inside(h, k),
        allowed=lambda h, k: logical_and(equal(h, h), equal(k, k)),
        shapes=(0.2, -0.3),
    ),
    "truncpareto": Family(
        lambda y, b, c: -(b + 1.0) * log(y) - _log_powers(b, log(c)),
        cdf=lambda y, b, c: exp(_log_powers(b, log(y)) - _log_powers(b, log(c))),
        sf=lambda y, b, c: exp(_truncpareto_logsf(y, b, c)),
        logcdf=lambda y, b, c: _log_powers(b, log(y)) - _log_powers(b, log(c)),
        logsf=lambda y, b, c: _truncpareto_logsf(y, b, c),
        support=(1.0, lambda b, c: c),
        closed=False,
        inside=lambda b, c: 0.5 * (1.0 + c),
        allowed=lambda b, c: logical_and(logical_not(equal(b, 0)), greater(c, 1)),
        shapes=(2.5, 4.5),
    ),
    "tukeylambda": Family(
        _tukey_logpdf,
        cdf=lambda y, shape: tklmbda(y, shape),
        sf=lambda y, shape: tklmbda(-y, shape),
        support=(
            lambda s: _inverse(greater(s, 0), s, -INF, -1.0),
            lambda s: _inverse(greater(s, 0), s, INF),
        ),
        closed=False,
        inside=0.0,
        allowed=isfinite,
        shapes=(0.35,),
    ),
    "pearson3": Family(
        _pearson_logpdf,
        **integrals(_pearson_density, _pearson_place, lambda skew: 0.0 * skew),
        support=(
            lambda s: _inverse(greater(s, 0), s, -INF, -2.0),
            lambda s: _inverse(less(s, 0), s, INF, -2.0),
        ),
        closed=False,
        inside=0.0,
        allowed=isfinite,
        shapes=(0.6,),
    ),
}


def _kappa4_inside(h: Any, k: Any) -> Any:
    low, high = _kappa4_low(h, k), _inverse(greater(k, 0), k, INF)
    below, above = isfinite(low), isfinite(high)
    left, right = where(below, low, 0.0), where(above, high, 0.0)
    alone = where(below, left + 1.0, where(above, right - 1.0, 0.0))
    return where(logical_and(below, above), 0.5 * (left + right), alone)


def _truncpareto_logsf(y: Any, b: Any, c: Any) -> Any:
    return _log_powers(b, log(divide(c, y))) - b * log(y) - _log_powers(b, log(c))


# -------------------------------------------------------- integrals of rows of `written`


def _cosine_cdf(y: Any) -> Any:
    """(u - sin u) / 2π with u = π + y, by its series near the end."""
    u = y + math.pi
    near = less(u, 1.5)
    x = where(near, u, 0.0)
    series: Any = 0.0
    for k in range(12, 0, -1):
        series = 1.0 / math.factorial(2 * k + 1) - square(x) * series
    inner = where(near, math.pi, u)
    return divide(where(near, x * square(x) * series, inner - sin(inner)), 2 * math.pi)


def _lognormal_parts(y: Any, u: Any, s: Any, a: Any, b: Any) -> tuple[Any, Any, Any]:
    """z = (log y - u) / s, and φ(z) b R(as - z) / (a + b) and φ(z) a R(bs + z) / (a + b).

    Here R is Mills's ratio; the squares in the exponents cancel.
    """
    z = divide(log(y) - u, s)
    first = log_ndtr(z - a * s) + 0.5 * a * s * (a * s - 2.0 * z)
    last = log_ndtr(-z - b * s) + 0.5 * b * s * (b * s + 2.0 * z)
    return z, divide(b, a + b) * exp(first), divide(a, a + b) * exp(last)


def _dpareto_cdf(y: Any, u: Any, s: Any, a: Any, b: Any) -> Any:
    z, first, last = _lognormal_parts(y, u, s, a, b)
    return exp(log_ndtr(z)) - first + last


def _dpareto_sf(y: Any, u: Any, s: Any, a: Any, b: Any) -> Any:
    z, first, last = _lognormal_parts(y, u, s, a, b)
    return exp(log_ndtr(-z)) + first - last


INTEGRALS: dict[str, dict[str, Any]] = {
    "cosine": {"cdf": _cosine_cdf, "sf": lambda y: _cosine_cdf(-y)},
    "dpareto_lognorm": {"cdf": _dpareto_cdf, "sf": _dpareto_sf},
    "vonmises_line": _symmetric(lambda y, k: _vonmises_cdf(-y, k)),
}
