"""The discrete distributions of `scipy.stats`: one row for each, as `families` has them.

Functions of a count have no derivative in it, so differentiating in it is a named error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.ops.arithmetic import (
    equal,
    greater,
    greater_equal,
    less,
    less_equal,
    logical_and,
    maximum,
    minimum,
    square,
    where,
)
from funcgrad.ops.nonlinear_reductions import max as largest
from funcgrad.ops.transcendental import exp, expm1, log, log1p
from funcgrad.scipy.special.elementary import entr, xlog1py, xlogy
from funcgrad.scipy.special.gamma_functions import betaln, gammaln
from funcgrad.scipy.special.incomplete import betainc, betaincc, gammainc, gammaincc
from funcgrad.scipy.stats.family import INF, Family
from funcgrad.transforms.while_loop import while_loop

__all__ = ["DISCRETE"]


def _chance(*given: Any) -> Any:
    """The last one is a probability, the others are not negative."""
    *rest, p = given
    ok = logical_and(greater_equal(p, 0), less_equal(p, 1))
    for each in rest:
        ok = logical_and(ok, greater_equal(each, 0))
    return ok


def _log_binomial(n: Any, k: Any) -> Any:
    return gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)


def _binom_sf(k: Any, n: Any, p: Any) -> Any:
    """P(K > k) = I_p(k + 1, n - k); nothing is left beyond n."""
    rest = equal(k, n)
    return where(rest, 0.0, betainc(k + 1.0, where(rest, 1.0, n - k), p))


def _binom_cdf(k: Any, n: Any, p: Any) -> Any:
    rest = equal(k, n)
    return where(rest, 1.0, betaincc(k + 1.0, where(rest, 1.0, n - k), p))


def _binom_logsf(k: Any, n: Any, p: Any) -> Any:
    rest = equal(k, n)
    return where(rest, -INF, log(betainc(where(rest, 1.0, k + 1.0), where(rest, 1.0, n - k), p)))


def _binom_logpmf(k: Any, n: Any, p: Any) -> Any:
    return _log_binomial(n, k) + xlogy(k, p) + xlog1py(n - k, -p)


def _betabinom_logpmf(k: Any, n: Any, a: Any, b: Any) -> Any:
    return betaln(k + a, n - k + b) - betaln(a, b) - log(n + 1.0) - betaln(n - k + 1.0, k + 1.0)


def _hypergeom_logpmf(k: Any, m: Any, n: Any, draws: Any) -> Any:
    return _log_binomial(n, k) + _log_binomial(m - n, draws - k) - _log_binomial(m, draws)


def _logser_logpmf(k: Any, p: Any) -> Any:
    return k * log(p) - log(k) - log(-log1p(-p))


def _summed(logpmf: Callable[..., Any], low: Any, high: Any) -> Callable[..., Any]:
    """The sum of the masses from ``low(k, *shapes)`` to ``high(k, *shapes)``."""

    def total(k: Any, *shapes: Any) -> Any:
        first, last = low(k, *shapes), high(k, *shapes)
        nothing = 0.0 * (first + last)
        none = less(last, first)
        count = largest(where(none, -1.0, last - first), None)

        def step(carry: tuple[Any, Any]) -> tuple[Any, Any]:
            j, found = carry
            at = minimum(first + j, last)
            there = less_equal(first + j, last)
            mass = exp(logpmf(where(none, first, at), *shapes))
            return j + 1.0, found + where(there, mass, 0.0)

        start = np.float64(0.0), nothing
        return while_loop(lambda carry: less_equal(carry[0], count), step, start)[1]

    return total


def _sums(logpmf: Callable[..., Any], low: Any, high: Any) -> dict[str, Any]:
    """The integrals of a distribution between two counts, as sums from the near end."""
    below = _summed(logpmf, low, lambda k, *_: k)
    return {
        "cdf": lambda k, *s: where(greater_equal(k, high(k, *s)), 1.0, below(k, *s)),
        "sf": _summed(logpmf, lambda k, *_: k + 1.0, high),
    }


def _hypergeom_low(m: Any, n: Any, draws: Any) -> Any:
    return maximum(draws - (m - n), 0.0)


def _hypergeom_high(m: Any, n: Any, draws: Any) -> Any:
    return minimum(n, draws)


DISCRETE: dict[str, Family] = {
    "poisson": Family(
        lambda k, mu: xlogy(k, mu) - gammaln(k + 1.0) - mu,
        cdf=lambda k, mu: gammaincc(k + 1.0, mu),
        sf=lambda k, mu: gammainc(k + 1.0, mu),
        support=(0.0, INF),
        allowed=lambda mu: greater_equal(mu, 0),
        mean=lambda mu: mu,
        var=lambda mu: mu,
        shapes=(2.5,),
    ),
    "binom": Family(
        _binom_logpmf,
        cdf=_binom_cdf,
        sf=_binom_sf,
        logsf=_binom_logsf,
        support=(0.0, lambda n, p: n),
        inside=0.0,
        allowed=_chance,
        mean=lambda n, p: n * p,
        var=lambda n, p: n * p * (1.0 - p),
        shapes=(5.0, 0.4),
    ),
    "bernoulli": Family(
        lambda k, p: _binom_logpmf(k, 1.0, p),
        cdf=lambda k, p: where(equal(k, 1), 1.0, 1.0 - p),
        sf=lambda k, p: where(equal(k, 1), 0.0, p),
        logsf=lambda k, p: where(equal(k, 1), -INF, log(p)),
        support=(0.0, 1.0),
        allowed=_chance,
        mean=lambda p: p,
        var=lambda p: p * (1.0 - p),
        entropy=lambda p: entr(p) + entr(1.0 - p),
        shapes=(0.4,),
    ),
    "geom": Family(
        lambda k, p: xlog1py(k - 1.0, -p) + log(p),
        cdf=lambda k, p: -expm1(xlog1py(k, -p)),
        sf=lambda k, p: exp(xlog1py(k, -p)),
        logsf=lambda k, p: xlog1py(k, -p),
        support=(1.0, INF),
        allowed=lambda p: logical_and(greater(p, 0), less_equal(p, 1)),
        mean=lambda p: 1.0 / p,
        var=lambda p: (1.0 - p) / square(p),
        shapes=(0.4,),
    ),
    "nbinom": Family(
        lambda k, n, p: (
            gammaln(n + k) - gammaln(k + 1.0) - gammaln(n) + n * log(p) + xlog1py(k, -p)
        ),
        cdf=lambda k, n, p: betainc(n, k + 1.0, p),
        sf=lambda k, n, p: betaincc(n, k + 1.0, p),
        support=(0.0, INF),
        allowed=lambda n, p: logical_and(
            greater(n, 0), logical_and(greater(p, 0), less_equal(p, 1))
        ),
        mean=lambda n, p: n * (1.0 - p) / p,
        var=lambda n, p: n * (1.0 - p) / square(p),
        shapes=(3.5, 0.4),
    ),
    "betabinom": Family(
        _betabinom_logpmf,
        **_sums(_betabinom_logpmf, lambda k, *_: 0.0 * k, lambda k, n, *_: n),
        support=(0.0, lambda n, a, b: n),
        inside=0.0,
        allowed=lambda n, a, b: logical_and(
            greater_equal(n, 0), logical_and(greater(a, 0), greater(b, 0))
        ),
        mean=lambda n, a, b: n * a / (a + b),
        shapes=(5.0, 2.5, 1.5),
    ),
    "hypergeom": Family(
        _hypergeom_logpmf,
        **_sums(
            _hypergeom_logpmf,
            lambda _, *shapes: _hypergeom_low(*shapes),
            lambda _, *shapes: _hypergeom_high(*shapes),
        ),
        support=(_hypergeom_low, _hypergeom_high),
        inside=_hypergeom_high,
        mean=lambda m, n, draws: draws * n / m,
        shapes=(20.0, 7.0, 12.0),
    ),
    "logser": Family(
        _logser_logpmf,
        cdf=_summed(_logser_logpmf, lambda k, _: 0.0 * k + 1.0, lambda k, _: k),
        sf=lambda k, p: 1.0 - DISCRETE["logser"].cdf(k, p),  # type: ignore[misc]
        support=(1.0, INF),
        allowed=lambda p: logical_and(greater(p, 0), less_equal(p, 1)),
        mean=lambda p: p / ((p - 1.0) * log1p(-p)),
        shapes=(0.4,),
    ),
}
"""The rows; a mass has the place of a density, ``logpdf``."""
