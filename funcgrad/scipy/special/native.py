"""What the compiler computes of these functions by itself.

Some are functions that it has vector mathematics for: their records say so. Others are made of
such functions; in a graph this composition takes the place of the record, whose rules stay. Values
of both are SciPy's to a few ulp, complex numbers are left to SciPy.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.compile import scalars  # noqa: F401 (gives the operations below their bodies)
from funcgrad.core.forms import Op
from funcgrad.core.tracer import type_of
from funcgrad.ops import arithmetic as a
from funcgrad.ops import error as errors
from funcgrad.ops import gamma, logistic, normal
from funcgrad.ops import transcendental as t
from funcgrad.scipy.special import elementary
from funcgrad.scipy.special.elementary import expit
from funcgrad.scipy.special.error import erf, erfc, erfinv, log_ndtr, ndtr, ndtri
from funcgrad.scipy.special.gamma_functions import gammaln, psi

__all__ = ["install"]

BODIES: list[tuple[Op, Op]] = [
    (erf, errors.erf),
    (erfc, normal.erfc),
    (expit, logistic.expit),
    (gammaln, gamma.lgamma),
    (psi, gamma.digamma),
    (elementary.exp2, t.exp2),
    (elementary.expm1, t.expm1),
    (elementary.log1p_, t.log1p),
    (elementary.cbrt, a.cbrt),
]

Table = tuple[tuple[float, ...], tuple[float, ...]]
HALF_ROOT = math.sqrt(0.5)


def _ndtr(x: Any) -> Any:
    return 0.5 * normal.erfc(x * -HALF_ROOT)


def _log_ndtr(x: Any) -> Any:
    """By the error function, and far to the left by its series (Abramowitz and Stegun 26.2.12)."""
    right, far = a.greater(x, -1.0), a.less(x, -20.0)
    near = t.log1p(-0.5 * normal.erfc(a.where(right, x, 0.0) * HALF_ROOT))
    middle = a.logical_or(right, far)
    left = t.log(0.5 * normal.erfc(a.where(middle, -1.0, x) * -HALF_ROOT))
    z = a.where(far, x, -20.0)
    step, series = -1.0 / a.square(z), 0.0
    for k in range(10, 0, -1):
        series = (2 * k - 1) * step * (1.0 + series)
    tail = -0.5 * a.square(z) - t.log(-z * math.sqrt(2 * math.pi)) + t.log1p(series)
    tail = a.where(a.isinf(x), x, tail)
    return a.where(right, near, a.where(far, tail, left))


def _ratio(x: Any, table: Table) -> Any:
    above, below = (functools.reduce(lambda y, c: y * x + c, row[::-1]) for row in table)
    return above / below


def _quantile(q: Any, tail: Any) -> Any:
    """The normal quantile of p - 1/2 and the smaller of p and 1 - p: AS 241, as in `normal`."""
    centre = a.less_equal(a.absolute(q), 0.425)
    inner = a.where(centre, q, 0.0)
    middle = inner * _ratio(0.180625 - a.square(inner), normal.CENTRE)
    r = a.sqrt(-t.log(a.where(centre, 0.05, tail)))
    flank = a.less_equal(r, 5.0)
    near = _ratio(a.where(flank, r, 2.0) - 1.6, normal.FLANK)
    far = _ratio(a.where(flank, 5.0, a.minimum(r, 30.0)) - 5.0, normal.TAIL)
    size = a.where(flank, near, a.where(a.isinf(r), math.inf, far))
    return a.where(centre, middle, a.where(a.isnan(r), math.nan, a.copysign(size, q)))


def _ndtri(p: Any) -> Any:
    return _quantile(p - 0.5, a.minimum(p, 1.0 - p))


def _erfinv(x: Any) -> Any:
    return _quantile(x * 0.5, (1.0 - a.absolute(x)) * 0.5) * HALF_ROOT


def _log_expit(x: Any) -> Any:
    return a.minimum(x, 0.0) - t.log1p(t.exp(-a.absolute(x)))


def _logit(x: Any) -> Any:
    """In the middle by the difference from 1/2, which is exact."""
    middle = a.less(a.absolute(x - 0.475), 0.175)
    s = 2.0 * (a.where(middle, x, 0.5) - 0.5)
    away = a.where(middle, 0.25, x)
    return a.where(middle, t.log1p(s) - t.log1p(-s), t.log(away / (1.0 - away)))


def _entr(x: Any) -> Any:
    inside = a.greater(x, 0)
    inner = a.where(inside, x, 1.0)
    beyond = a.where(a.equal(x, 0), 0.0, a.where(a.isnan(x), x, -math.inf))
    return a.where(inside, -inner * t.log(inner), beyond)


def _xlogy(x: Any, y: Any) -> Any:
    return a.where(a.logical_and(a.equal(x, 0), a.logical_not(a.isnan(y))), 0.0, x * t.log(y))


def _xlog1py(x: Any, y: Any) -> Any:
    return a.where(a.logical_and(a.equal(x, 0), a.logical_not(a.isnan(y))), 0.0, x * t.log1p(y))


COMPOSITIONS: list[tuple[Op, Callable[..., Any]]] = [
    (ndtr, _ndtr),
    (log_ndtr, _log_ndtr),
    (ndtri, _ndtri),
    (erfinv, _erfinv),
    (elementary.log_expit, _log_expit),
    (elementary.logit, _logit),
    (elementary.entr, _entr),
    (elementary.xlogy, _xlogy),
    (elementary.xlog1py, _xlog1py),
]


def _composed(prim: Any, body: Callable[..., Any]) -> Callable[..., Any]:
    """How the record is staged: in double precision, as SciPy computes."""
    append = prim.stage

    def stage(trace: Any, args: Any, params: Any) -> Any:
        dtype = prim.type_rule([type_of(x) for x in args], params).dtype
        if dtype.char not in "df":
            return append(trace, args, params)
        return a.cast(body(*(a.cast(x, np.float64) for x in args)), dtype)

    return stage


def install() -> None:
    """Give each record the scalar body, or the composition, of the function that it is."""
    ours: Any
    for ours, known in BODIES:
        ours.primitive.scalar = known.primitive.scalar  # type: ignore[attr-defined]
    for ours, body in COMPOSITIONS:
        prim = ours.primitive
        prim.stage = _composed(prim, body)
