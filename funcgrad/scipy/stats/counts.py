"""More discrete distributions of `scipy.stats`: one row for each, as in `discrete`."""

from __future__ import annotations

from typing import Any

from funcgrad.ops.arithmetic import (
    absolute,
    divide,
    greater,
    greater_equal,
    less,
    logical_and,
    sqrt,
    square,
    where,
)
from funcgrad.ops.transcendental import exp, expm1, log, tanh
from funcgrad.scipy.special.bessel import ive
from funcgrad.scipy.special.gamma_functions import betaln
from funcgrad.scipy.special.gamma_functions import zeta_function as zeta
from funcgrad.scipy.special.sampling import chndtr
from funcgrad.scipy.stats.discrete import (
    _hypergeom_high,
    _hypergeom_logpmf,
    _hypergeom_low,
    _summed,
)
from funcgrad.scipy.stats.family import INF, Family

__all__ = ["COUNTS"]


def _log_rest(rate: Any) -> Any:
    """log(1 - exp(-rate))."""
    return log(-expm1(-rate))


def _laplace_below(k: Any, a: Any) -> Any:
    """P(K <= k) of k < 0."""
    return divide(exp(a * k), 1.0 + exp(-a))


def _laplace_cdf(k: Any, a: Any) -> Any:
    left = less(k, 0)
    below = _laplace_below(where(left, k, -1.0), a)
    return where(left, below, 1.0 - _laplace_below(where(left, -1.0, -k - 1.0), a))


def _skellam_logpmf(k: Any, first: Any, last: Any) -> Any:
    a, b = sqrt(first), sqrt(last)
    return log(ive(absolute(k), 2.0 * a * b)) - square(a - b) + k * log(divide(a, b))


def _skellam_cdf(k: Any, first: Any, last: Any) -> Any:
    """By the non-central chi-square distribution (Johnson 1959)."""
    left = less(k, 0)
    below = chndtr(2.0 * last, where(left, -2.0 * k, 2.0), 2.0 * first)
    return where(
        left, below, 1.0 - chndtr(2.0 * first, 2.0 * where(left, 1.0, k + 1.0), 2.0 * last)
    )


def _negative_logpmf(k: Any, n: Any, a: Any, b: Any) -> Any:
    return betaln(a + n, b + k) - betaln(a, b) - log(n + k) - betaln(n, k + 1.0)


def _zipf_sf(k: Any, a: Any) -> Any:
    return divide(zeta(a, k + 1.0), zeta(a, 1.0))


def _one(k: Any, *_: Any) -> Any:
    return 0.0 * k + 1.0


def _after(k: Any, *_: Any) -> Any:
    return k + 1.0


def _power(k: Any, a: Any, _: Any) -> Any:
    return -a * log(k)


_harmonic = _summed(_power, _one, lambda k, a, n: n + 0.0 * k)
_harmonic_low = _summed(_power, _one, lambda k, *_: k)
_harmonic_high = _summed(_power, _after, lambda k, a, n: n + 0.0 * k)


def _odds_term(k: Any, m: Any, n: Any, draws: Any, odds: Any) -> Any:
    """The logarithm of a mass, but for a factor of all; it is at most 0."""
    end = where(greater(odds, 1.0), _hypergeom_high(m, n, draws), _hypergeom_low(m, n, draws))
    return _hypergeom_logpmf(k, m, n, draws) + (k - end) * log(odds)


def _first(k: Any, m: Any, n: Any, draws: Any, _: Any) -> Any:
    return _hypergeom_low(m, n, draws) + 0.0 * k


def _last(k: Any, m: Any, n: Any, draws: Any, _: Any) -> Any:
    return _hypergeom_high(m, n, draws) + 0.0 * k


_odds = _summed(_odds_term, _first, _last)
_odds_low = _summed(_odds_term, _first, lambda k, *_: k)
_odds_high = _summed(_odds_term, _after, _last)

COUNTS: dict[str, Family] = {
    "planck": Family(
        lambda k, rate: _log_rest(rate) - rate * k,
        cdf=lambda k, rate: -expm1(-rate * (k + 1.0)),
        sf=lambda k, rate: exp(-rate * (k + 1.0)),
        logsf=lambda k, rate: -rate * (k + 1.0),
        support=(0.0, INF),
        mean=lambda rate: divide(1.0, expm1(rate)),
        var=lambda rate: divide(exp(-rate), square(expm1(-rate))),
        shapes=(0.7,),
    ),
    "boltzmann": Family(
        lambda k, rate, n: _log_rest(rate) - _log_rest(rate * n) - rate * k,
        cdf=lambda k, rate, n: divide(expm1(-rate * (k + 1.0)), expm1(-rate * n)),
        sf=lambda k, rate, n: (
            exp(-rate * (k + 1.0)) * divide(expm1(-rate * (n - k - 1.0)), expm1(-rate * n))
        ),
        support=(0.0, lambda rate, n: n - 1.0),
        inside=0.0,
        shapes=(0.7, 6.0),
    ),
    "dlaplace": Family(
        lambda k, a: log(tanh(0.5 * a)) - a * absolute(k),
        cdf=_laplace_cdf,
        sf=lambda k, a: _laplace_cdf(-k - 1.0, a),
        inside=0.0,
        mean=lambda a: 0.0 * a,
        var=lambda a: divide(2.0 * exp(-a), square(expm1(-a))),
        shapes=(0.8,),
    ),
    "yulesimon": Family(
        lambda k, a: log(a) + betaln(k, a + 1.0),
        cdf=lambda k, a: -expm1(log(k) + betaln(k, a + 1.0)),
        sf=lambda k, a: exp(log(k) + betaln(k, a + 1.0)),
        logsf=lambda k, a: log(k) + betaln(k, a + 1.0),
        support=(1.0, INF),
        shapes=(2.5,),
    ),
    "zipf": Family(
        lambda k, a: -a * log(k) - log(zeta(a, 1.0)),
        cdf=lambda k, a: 1.0 - _zipf_sf(k, a),
        sf=_zipf_sf,
        support=(1.0, INF),
        allowed=lambda a: greater(a, 1.0),
        shapes=(3.5,),
    ),
    "zipfian": Family(
        lambda k, a, n: -a * log(k) - log(_harmonic(k, a, n)),
        cdf=lambda k, a, n: divide(_harmonic_low(k, a, n), _harmonic(k, a, n)),
        sf=lambda k, a, n: divide(_harmonic_high(k, a, n), _harmonic(k, a, n)),
        support=(1.0, lambda a, n: n),
        allowed=lambda a, n: logical_and(greater_equal(a, 0.0), greater_equal(n, 1.0)),
        shapes=(1.3, 8.0),
    ),
    "betanbinom": Family(
        _negative_logpmf,
        cdf=_summed(_negative_logpmf, lambda k, *_: 0.0 * k, lambda k, *_: k),
        sf=lambda k, *s: 1.0 - COUNTS["betanbinom"].cdf(k, *s),  # type: ignore[misc]
        support=(0.0, INF),
        shapes=(5.0, 9.3, 1.5),
    ),
    "skellam": Family(
        _skellam_logpmf,
        cdf=_skellam_cdf,
        sf=lambda k, first, last: _skellam_cdf(-k - 1.0, last, first),
        inside=0.0,
        mean=lambda first, last: first - last,
        var=lambda first, last: first + last,
        shapes=(2.5, 1.2),
    ),
    "nchypergeom_fisher": Family(
        lambda k, *s: _odds_term(k, *s) - log(_odds(k, *s)),
        cdf=lambda k, *s: divide(_odds_low(k, *s), _odds(k, *s)),
        sf=lambda k, *s: divide(_odds_high(k, *s), _odds(k, *s)),
        support=(
            lambda m, n, draws, _: _hypergeom_low(m, n, draws),
            lambda m, n, draws, _: _hypergeom_high(m, n, draws),
        ),
        inside=lambda m, n, draws, _: _hypergeom_high(m, n, draws),
        shapes=(20.0, 7.0, 12.0, 0.4),
    ),
}
