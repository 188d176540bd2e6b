"""Moments and entropies of distributions that SciPy's own programs compute from the shapes.

Which of these programs are right on traced values the tests show. Where one has a branch for a
single value of a shape, as that of `genextreme` has, it is not here: its derivative is 0 there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import scipy.stats as sps

from funcgrad.scipy.stats.families import Family
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
    return row._replace(**stated)
