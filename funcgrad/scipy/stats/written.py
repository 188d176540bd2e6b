"""Rows of distributions whose standard form is SciPy's own program, run on traced values.

SciPy writes the density, the integrals, the support and the condition on the shapes of most
distributions in Python, as functions of the standardised place. Where nothing of that leaves
Python, these programs (`scipy/programs.py`) are the formulas of a row, as those in `families`;
which they are the tests show. Where a formula has a branch for one value of a shape, the derivative
by the shape would be 0 there: such rows stand in `limits`, and integrals in compiled code too.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

import scipy.stats as sps

from funcgrad.ops.arithmetic import isfinite, logical_and, where
from funcgrad.ops.transcendental import log
from funcgrad.scipy.programs import program
from funcgrad.scipy.stats.family import Family
from funcgrad.scipy.stats.limits import INTEGRALS

__all__ = ["WRITTEN"]


class _Programs:
    """Stands for a distribution in its own methods: those it calls are programs, too."""

    def __init__(self, dist: Any) -> None:
        self._dist = dist

    def __getattr__(self, name: str) -> Any:
        found = getattr(type(self._dist), name, None)
        if isinstance(found, FunctionType):
            return functools.partial(program(found), self)
        return getattr(self._dist, name)


def _own(dist: Any, name: str) -> Callable[..., Any] | None:
    """The method where the distribution has its own, not one by quadrature or differences."""
    if getattr(type(dist), name) is getattr(sps.rv_continuous, name):
        return None
    return lambda *xs: getattr(_Programs(dist), name)(*xs)  # made when it is first called


def _end(dist: Any, which: int) -> Callable[..., Any]:
    return lambda *shapes: _Programs(dist)._get_support(*shapes)[which]


def _between(dist: Any) -> Callable[..., Any]:
    """A place inside the support."""
    low, high = _end(dist, 0), _end(dist, 1)

    def place(*shapes: Any) -> Any:
        a, b = low(*shapes), high(*shapes)
        below, above = isfinite(a), isfinite(b)
        left, right = where(below, a, 0.0), where(above, b, 0.0)
        alone = where(below, left + 1.0, where(above, right - 1.0, 0.25))
        return where(logical_and(below, above), 0.5 * (left + right), alone)

    return place


def _density(dist: Any) -> Callable[..., Any]:
    """Its logarithm: the one stated, or that of the density."""
    pdf, logpdf = _own(dist, "_pdf"), _own(dist, "_logpdf")
    if logpdf is not None:
        return logpdf
    assert pdf is not None, dist.name
    return lambda *xs: log(pdf(*xs))


def _less_one(f: Callable[..., Any] | None) -> Callable[..., Any] | None:
    return None if f is None else lambda *xs: 1.0 - f(*xs)


def _row(name: str, shapes: tuple[float, ...]) -> Family:
    dist = getattr(sps, name)
    cdf, sf, logcdf, logsf = (_own(dist, k) for k in ("_cdf", "_sf", "_logcdf", "_logsf"))
    stated = {
        "cdf": cdf or _less_one(sf),
        "sf": sf or _less_one(cdf),
        "logcdf": logcdf,
        "logsf": logsf,
    }
    return Family(
        _density(dist),
        **INTEGRALS.get(name, stated),
        support=(_end(dist, 0), _end(dist, 1)),
        closed=False,
        inside=_between(dist),
        allowed=lambda *s: _Programs(dist)._argcheck(*s),
        shapes=shapes,
    )


_SHAPES: dict[str, tuple[float, ...]] = {
    "alpha": (3.57,),
    "anglit": (),
    "arcsine": (),
    "argus": (1.0,),
    "betaprime": (5.0, 6.0),
    "bradford": (0.299,),
    "burr": (10.5, 4.3),
    "burr12": (10.0, 4.0),
    "cosine": (),
    "crystalball": (2.0, 3.0),
    "dgamma": (1.6,),
    "dpareto_lognorm": (3.0, 1.2, 1.5, 2.0),
    "dweibull": (2.07,),
    "exponnorm": (1.5,),
    "exponpow": (2.7,),
    "exponweib": (2.89, 1.95),
    "fatiguelife": (1.3,),
    "foldcauchy": (4.72,),
    "foldnorm": (1.95,),
    "genexpon": (1.5, 0.7, 0.9),
    "gengamma": (4.42, 3.12),
    "genhalflogistic": (0.773,),
    "genlogistic": (0.412,),
    "gompertz": (0.947,),
    "halfgennorm": (0.675,),
    "halflogistic": (),
    "hypsecant": (),
    "invweibull": (10.6,),
    "jf_skew_t": (8.0, 4.0),
    "johnsonsb": (4.32, 3.18),
    "johnsonsu": (2.55, 2.25),
    "laplace_asymmetric": (2.0,),
    "levy": (),
    "levy_l": (),
    "loggamma": (0.414,),
    "loglaplace": (3.25,),
    "mielke": (10.4, 4.6),
    "moyal": (),
    "nakagami": (4.97,),
    "powerlognorm": (2.14, 0.446),
    "powernorm": (4.45,),
    "rdist": (1.6,),
    "recipinvgauss": (0.63,),
    "rel_breitwigner": (5.0,),
    "rice": (0.775,),
    "semicircular": (),
    "skewcauchy": (0.5,),
    "trapezoid": (0.2, 0.8),
    "truncexpon": (4.69,),
    "truncweibull_min": (2.5, 0.25, 1.75),
    "vonmises_line": (3.99,),
    "wald": (),
}
WRITTEN: dict[str, Family] = {
    name: _row(name, shapes) for name, shapes in _SHAPES.items() if hasattr(sps, name)
}
