"""Rows of distributions whose densities have a Bessel or hypergeometric function as their mass.

Their integrals are found by quadrature (`outward`), and so are the derivatives of these.
"""

from __future__ import annotations

import math
from typing import Any

from funcgrad.ops.arithmetic import (
    absolute,
    divide,
    equal,
    greater,
    greater_equal,
    isfinite,
    less,
    less_equal,
    logical_and,
    logical_or,
    sqrt,
    square,
    where,
)
from funcgrad.ops.transcendental import arcsinh, log, log1p, sinh
from funcgrad.scipy.special.bessel import k1e, kve
from funcgrad.scipy.special.elementary import expit, log_expit, logit
from funcgrad.scipy.special.gamma_functions import betaln
from funcgrad.scipy.special.hypergeometric import hyp2f1
from funcgrad.scipy.stats.family import LOG_ROOT_2PI, POSITIVE, UNIT, Family
from funcgrad.scipy.stats.outward import integrals

__all__ = ["HYPERBOLIC"]


def _root(a: Any, b: Any) -> Any:
    return sqrt((a + b) * (a - b))


def _hyperbolic(y: Any, p: Any, a: Any, b: Any) -> Any:
    """Barndorff-Nielsen 1978, in the scaled function."""
    d, r = _root(a, b), sqrt(1.0 + square(y))
    peak = p * log(d) - log(kve(p, d)) - LOG_ROOT_2PI - (p - 0.5) * log(a)
    return peak + log(kve(p - 0.5, a * r)) + (p - 0.5) * log(r) + (d - (a * r - b * y))


def _hyperbolic_middle(p: Any, a: Any, b: Any) -> Any:
    """The mean."""
    d = _root(a, b)
    found = divide(b * kve(p + 1.0, d), d * kve(p, d))
    return where(isfinite(found), found, 0.0)


def _normal_inverse(y: Any, a: Any, b: Any) -> Any:
    r = sqrt(1.0 + square(y))
    return log(a) - math.log(math.pi) + log(k1e(a * r)) - log(r) + (_root(a, b) - (a * r - b * y))


def _inverse_gauss(w: Any, p: Any, b: Any) -> Any:
    """In w = log y: 2 sinh²(w/2) is cosh w - 1."""
    return p * w - 2.0 * b * square(sinh(0.5 * w)) - math.log(2) - log(kve(p, b))


def _gauss(w: Any, a: Any, b: Any, c: Any, z: Any) -> Any:
    """In w = logit y."""
    mass = betaln(a, b) + log(hyp2f1(c, a, a + b, -z))
    return a * log_expit(w) + b * log_expit(-w) - c * log1p(z * expit(w)) - mass


HYPERBOLIC: dict[str, Family] = {
    "genhyperbolic": Family(
        _hyperbolic,
        **integrals(_hyperbolic, None, _hyperbolic_middle),
        allowed=lambda p, a, b: logical_or(
            logical_and(less(absolute(b), a), greater_equal(p, 0)),
            logical_and(less_equal(absolute(b), a), less(p, 0)),
        ),
        inside=0.0,
        shapes=(0.5, 1.5, -0.5),
    ),
    "norminvgauss": Family(
        _normal_inverse,
        **integrals(_normal_inverse, None, lambda a, b: divide(b, _root(a, b))),
        allowed=lambda a, b: logical_and(greater(a, 0), less(absolute(b), a)),
        inside=0.0,
        shapes=(1.25, 0.5),
    ),
    "geninvgauss": Family(
        lambda y, p, b: _inverse_gauss(log(y), p, b) - log(y),
        **integrals(_inverse_gauss, lambda y, *_: log(y), lambda p, b: arcsinh(divide(p, b))),
        **POSITIVE,
        allowed=lambda p, b: logical_and(equal(p, p), greater(b, 0)),
        shapes=(2.3, 1.5),
    ),
    "gausshyper": Family(
        lambda y, a, b, c, z: _gauss(logit(y), a, b, c, z) - log(y) - log1p(-y),
        **integrals(_gauss, lambda y, *_: logit(y), lambda a, b, c, z: log(divide(a, b))),
        **UNIT,
        closed=False,
        allowed=lambda a, b, c, z: logical_and(
            logical_and(greater(a, 0), greater(b, 0)),
            logical_and(equal(c, c), greater(z, -1)),
        ),
        shapes=(3.0, 2.0, 1.5, 0.8),
    ),
}
