"""Moments and entropies of distributions that SciPy's own programs compute from the shapes.

Which of these programs are right on traced values the tests show. Where one has a branch for a
single value of a shape, as that of `genextreme` has, it is not here: its derivative is 0 there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import scipy.stats as sps

from funcgrad.ops.arithmetic import divide, greater, square, where
from funcgrad.ops.transcendental import sin
from funcgrad.scipy.special.gamma_functions import beta, gamma
from funcgrad.scipy.stats.family import Family
from funcgrad.scipy.stats.written import _Programs

__all__ = ["with_moments"]

_OWN = {
    "mean": (
        "t chi f pareto invgamma genpareto argus bradford dgamma exponnorm fatiguelife foldnorm "
        "genlogistic johnsonsu laplace_asymmetric loggamma nakagami pearson3 genhyperbolic "
        "norminvgauss boltzmann yulesimon"
    ),
    "var": (
        "t chi f pareto invgamma genpareto argus bradford dgamma exponnorm fatiguelife foldnorm "
        "genlogistic johnsonsu laplace_asymmetric loggamma nakagami tukeylambda pearson3 "
        "genhyperbolic norminvgauss betabinom logser boltzmann yulesimon"
    ),
    "entropy": (
        "t vonmises wrapcauchy chi f weibull_max lomax truncnorm bradford dweibull gengamma "
        "genhalflogistic genlogistic halfgennorm invweibull laplace_asymmetric loggamma loglaplace "
        "nakagami trapezoid truncexpon vonmises_line truncpareto geom planck dlaplace"
    ),
}
_NAMES = {moment: frozenset(names.split()) for moment, names in _OWN.items()}


# -------------------------------------------------------------------- by powers

Power = Callable[..., tuple[Any, Any]]  # E X^k, and whether it is finite


def _fisk(k: float, c: Any) -> tuple[Any, Any]:
    angle = divide(k * math.pi, c)
    return divide(angle, sin(angle)), greater(c, k)


def _burr(k: float, c: Any, d: Any) -> tuple[Any, Any]:
    share = divide(k, c)
    return d * beta(1.0 - share, d + share), greater(c, k)


def _burr12(k: float, c: Any, d: Any) -> tuple[Any, Any]:
    share = divide(k, c)
    return d * beta(d - share, 1.0 + share), greater(c * d, k)


def _betaprime(k: float, a: Any, b: Any) -> tuple[Any, Any]:
    first = divide(a, b - 1.0)
    return first if k == 1 else first * divide(a + 1.0, b - 2.0), greater(b, k)


def _lomax(k: float, c: Any) -> tuple[Any, Any]:
    first = divide(1.0, c - 1.0)
    return first if k == 1 else first * divide(2.0, c - 2.0), greater(c, k)


def _loglaplace(k: float, c: Any) -> tuple[Any, Any]:
    return divide(square(c), square(c) - k * k), greater(c, k)


def _noncentral_f(k: float, n: Any, d: Any, nc: Any) -> tuple[Any, Any]:
    share, whole = divide(d, n), n + nc
    if k == 1:
        return share * divide(whole, d - 2.0), greater(d, 2.0)
    return square(share) * divide(square(whole) + 2.0 * (whole + nc), (d - 2.0) * (d - 4.0)), (
        greater(d, 4.0)
    )


def _trapezoid(k: float, c: Any, d: Any) -> tuple[Any, Any]:
    powers = 1.0 + d + square(d)
    if k == 1:
        return divide(powers - square(c), 3.0 * (1.0 + d - c)), True
    return divide(powers + d * square(d) - c * square(c), 6.0 * (1.0 + d - c)), True


def _double_weibull(k: float, c: Any) -> tuple[Any, Any]:
    return 0.0 * c if k == 1 else gamma(1.0 + divide(2.0, c)), True


def _gibrat(k: float) -> tuple[Any, Any]:
    return math.exp(0.5 * k * k), True


_POWERS: dict[str, Power] = {
    "fisk": _fisk,
    "burr": _burr,
    "burr12": _burr12,
    "mielke": lambda k, a, s: _burr(k, s, divide(a, s)),
    "betaprime": _betaprime,
    "lomax": _lomax,
    "loglaplace": _loglaplace,
    "ncf": _noncentral_f,
    "trapezoid": _trapezoid,
    "dweibull": _double_weibull,
    "gibrat": _gibrat,
}


def _by_powers(power: Power, moment: str) -> Callable[..., Any]:
    """Infinite, without a derivative, where the power has no mean."""

    def formula(*shapes: Any) -> Any:
        first, there = power(1.0, *shapes)
        if moment == "var":
            second, there = power(2.0, *shapes)
            first = second - square(first)
        return first * where(there, 1.0, math.nan)

    return formula


def _own(name: str, moment: str) -> Callable[..., Any]:
    programs = _Programs(getattr(sps, name))
    if moment == "entropy":
        return lambda *shapes: programs._entropy(*shapes)
    which = ("mean", "var").index(moment)
    return lambda *shapes: programs._stats(*shapes)[which]


def with_moments(name: str, row: Family) -> Family:
    """The row with the moments that it does not state."""
    stated: dict[str, Any] = {
        moment: _own(name, moment)
        for moment, names in _NAMES.items()
        if name in names and getattr(row, moment) is None
    }
    if name == "skewcauchy" and row.entropy is None:
        stated["entropy"] = lambda a: math.log(4.0 * math.pi) + 0.0 * a
    for moment in ("mean", "var"):
        if name in _POWERS and getattr(row, moment) is None:
            stated[moment] = _by_powers(_POWERS[name], moment)
    return row._replace(**stated)
