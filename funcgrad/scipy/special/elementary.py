"""Logistic functions, entropies, transforms to normality, and trigonometry in degrees.

Each partial is in the form that keeps its relative accuracy at the ends of its domain.
"""

from __future__ import annotations

import math
from typing import Any

import scipy.special as sp

from funcgrad.core.forms import Op
from funcgrad.ops.arithmetic import (
    absolute,
    divide,
    equal,
    hypot,
    isinf,
    less,
    less_equal,
    logical_and,
    multiply,
    negative,
    power,
    sign,
    sqrt,
    square,
    where,
)
from funcgrad.ops.transcendental import exp, log, log1p, sin
from funcgrad.scipy.special.define import special

LN2, LN10 = math.log(2.0), math.log(10.0)
DEGREE = math.pi / 180
WIDE = (-3.0, 3.0)
POSITIVE = (0.3, 3.0)
UNIT = (0.1, 0.9)

# ------------------------------------------------------------------------------- logistic

expit: Op = special(sp.expit, lambda y, x: multiply(y, expit(negative(x))), ranges=[WIDE])
log_expit: Op = special(sp.log_expit, lambda _, x: expit(negative(x)), ranges=[WIDE])
logit: Op = special(sp.logit, lambda _, x: divide(1.0, x * (1.0 - x)), ranges=[UNIT])

# ------------------------------------------------------------------------------- entropies

entr: Op = special(sp.entr, lambda _, x: negative(log(x)) - 1.0, ranges=[POSITIVE])
rel_entr: Op = special(
    sp.rel_entr,
    lambda _, x, y: log(divide(x, y)) + 1.0,
    lambda _, x, y: negative(divide(x, y)),
    ranges=[POSITIVE, POSITIVE],
)
kl_div: Op = special(
    sp.kl_div,
    lambda _, x, y: log(divide(x, y)),
    lambda _, x, y: divide(y - x, y),
    ranges=[POSITIVE, POSITIVE],
)


def _log_unless(x: Any, y: Any, logarithm: Any, end: float = 0.0) -> Any:
    """The logarithm, and 0 where `x` is 0 and `y` at or below the `end` of the logarithm."""
    lost = logical_and(equal(x, 0), less_equal(y, end))
    return where(lost, 0.0, logarithm(where(lost, 1.0, y)))


def _share(x: Any, y: Any) -> Any:
    """x / y, and 0 where `x` is: there the function is 0 for every `y`."""
    none = equal(x, 0)
    return where(none, 0.0, divide(x, where(none, 1.0, y)))


xlogy: Op = special(
    sp.xlogy,
    lambda _, x, y: _log_unless(x, y, log),
    lambda _, x, y: _share(x, y),
    ranges=[WIDE, POSITIVE],
    complex_=True,
)
xlog1py: Op = special(
    sp.xlog1py,
    lambda _, x, y: _log_unless(x, y, log1p, -1.0),
    lambda _, x, y: _share(x, y + 1.0),
    ranges=[WIDE, (-0.6, 2.0)],
)

# ---------------------------------------------------------------------------------- losses

huber: Op = special(
    sp.huber,
    lambda _, d, r: where(less_equal(absolute(r), d), 0.0, absolute(r) - d),
    lambda _, d, r: where(less_equal(absolute(r), d), r, d * sign(r)),
    ranges=[(0.5, 1.0), WIDE],
)


def _slope(d: Any, r: Any) -> Any:
    return sqrt(1.0 + square(divide(r, d)))


def _by_delta(d: Any, r: Any) -> Any:
    """2 d (s - 1) - r² / (d s) of s = √(1 + (r/d)²), which cancels, as a product."""
    h = hypot(d, r)
    return square(divide(r, h + d)) * divide(r, h) * r


pseudo_huber: Op = special(
    sp.pseudo_huber,
    lambda _, d, r: _by_delta(d, r),
    lambda _, d, r: divide(r, _slope(d, r)),
    ranges=[(0.5, 2.0), WIDE],
)

# --------------------------------------------------------------------- (exp(x) - 1) / x and kin

# (x exp(x) - exp(x) + 1) / x² = Σ (k + 1) / (k + 2)! x^k
EXPREL_SERIES = [(k + 1) / math.factorial(k + 2) for k in range(16)]
# (x / (1 + x) - log(1 + x)) / x² = Σ (-1)^(k+1) (k + 1) / (k + 2) x^k
POWER_SERIES = [(-1) ** (k + 1) * (k + 1) / (k + 2) for k in range(14)]


def _polynomial(x: Any, coefficients: list[float]) -> Any:
    total = coefficients[-1]
    for c in coefficients[-2::-1]:
        total = total * x + c
    return total


def _near_zero(x: Any, size: float, series: list[float], formula: Any) -> Any:
    """A quotient that cancels near 0, where its series is taken."""
    near = less(absolute(x), size)
    return where(near, _polynomial(where(near, x, 0.0), series), formula(where(near, 1.0, x)))


def exprel_slope(x: Any) -> Any:
    """The derivative of (exp(x) - 1) / x."""
    formula = lambda x: divide(exp(x) * (x - 1.0) + 1.0, square(x))
    return _near_zero(x, 0.5, EXPREL_SERIES, formula)


exprel: Op = special(sp.exprel, lambda _, x: exprel_slope(x), ranges=[WIDE])


def _root_slope(v: Any) -> Any:
    """The derivative of log(1 + v) / v."""
    return _near_zero(
        v,
        0.05,
        POWER_SERIES,
        lambda v: divide(divide(v, 1.0 + v) - log1p(v), square(v)),
    )


def _boxcox_slope(logarithm: Any, p: Any) -> Any:
    """That of (x^p - 1) / p by p; that of -1 / p where x is 0."""
    none = isinf(logarithm) & less(logarithm * p, 0.0)
    held = where(none, 0.0, logarithm)
    inside = square(held) * exprel_slope(p * held)
    return where(none, divide(1.0, square(where(none, p, 1.0))), inside)


boxcox: Op = special(
    sp.boxcox,
    lambda _, x, p: power(x, p - 1.0),
    lambda _, x, p: _boxcox_slope(log(x), p),
    ranges=[POSITIVE, WIDE],
)
boxcox1p: Op = special(
    sp.boxcox1p,
    lambda _, x, p: exp((p - 1.0) * log1p(x)),
    lambda _, x, p: _boxcox_slope(log1p(x), p),
    ranges=[(-0.6, 2.0), WIDE],
)
inv_boxcox: Op = special(
    sp.inv_boxcox,
    lambda x, y, p: divide(x, p * y + 1.0),
    lambda x, y, p: x * square(y) * _root_slope(p * y),
    ranges=[POSITIVE, (0.1, 2.0)],
)
inv_boxcox1p: Op = special(
    sp.inv_boxcox1p,
    # x + 1 would have lost the digits of what is small
    lambda _, y, p: divide(inv_boxcox(y, p), p * y + 1.0),
    lambda _, y, p: inv_boxcox(y, p) * square(y) * _root_slope(p * y),
    ranges=[POSITIVE, (0.1, 2.0)],
)
powm1: Op = special(
    sp.powm1,
    lambda _, x, p: p * power(x, p - 1.0),
    lambda _, x, p: power(x, p) * log(x),
    ranges=[POSITIVE, WIDE],
)

# ------------------------------------------------------------------------- powers and angles

exp2: Op = special(sp.exp2, lambda y, _: LN2 * y, ranges=[WIDE])
expm1: Op = special(sp.expm1, lambda _, x: exp(x), ranges=[WIDE])
log1p_: Op = special(sp.log1p, lambda _, x: divide(1.0, x + 1.0), ranges=[(-0.6, 2.0)])
cbrt: Op = special(sp.cbrt, lambda y, _: divide(1.0, 3.0 * square(y)), ranges=[POSITIVE])
exp10: Op = special(sp.exp10, lambda y, _: LN10 * y, ranges=[WIDE])
cosm1: Op = special(sp.cosm1, lambda _, x: negative(sin(x)), ranges=[WIDE])
sindg: Op = special(sp.sindg, lambda _, x: DEGREE * cosdg(x), ranges=[(-170.0, 170.0)])
cosdg: Op = special(sp.cosdg, lambda _, x: -DEGREE * sindg(x), ranges=[(-170.0, 170.0)])
tandg: Op = special(sp.tandg, lambda y, _: DEGREE * (1.0 + square(y)), ranges=[(-80.0, 80.0)])
cotdg: Op = special(sp.cotdg, lambda y, _: -DEGREE * (1.0 + square(y)), ranges=[(20.0, 160.0)])
gammasgn: Op = special(sp.gammasgn, ranges=[WIDE])
round_: Op = special(sp.round, ranges=[WIDE])
radian: Op = special(
    sp.radian, DEGREE, DEGREE / 60, DEGREE / 3600, ranges=[(0.0, 90.0), (0.0, 60.0), (0.0, 60.0)]
)
