"""The gamma function and its kin. Their derivatives are polygamma functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sp

from funcgrad.core.forms import Op
from funcgrad.core.tracer import type_of
from funcgrad.ops.arithmetic import (
    absolute,
    divide,
    equal,
    floor,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    minimum,
    negative,
    power,
    remainder,
    rint,
    square,
    where,
)
from funcgrad.ops.gamma import gammas
from funcgrad.ops.transcendental import cos, sin
from funcgrad.scipy.special.define import fixed, plain, special
from funcgrad.transforms.jvp import jvp

POSITIVE = (0.4, 4.0)
RANGES: dict[str, list[Any]] = {
    "hurwitz_zeta": [(1.5, 4.0), POSITIVE],
    "polygamma_value": [[0, 1, 3], POSITIVE],
    "psi": [POSITIVE],
    "gammaln": [POSITIVE],
}


def hurwitz_zeta(x: Any, q: Any) -> Any:
    return sp.zeta(x, q)


def zeta_of_one(x: Any) -> Any:
    return sp.zeta(x)


def polygamma_value(n: Any, x: Any) -> Any:
    return sp.polygamma(n, x)


_TERMS = 12
# B_2k / (2k)!, of the formula of Euler and Maclaurin
_BERNOULLI = [float(b) / math.factorial(k) for k, b in enumerate(sp.bernoulli(24))][2::2]


def _hurwitz(x: Any, q: Any) -> Any:
    """Σ (k + q)^-x by twelve terms and the formula of Euler and Maclaurin for the rest.

    It goes on to x < 1, where neither the sum nor SciPy's value is: see `_hurwitz_slope`.
    """
    out = 0.0
    for k in range(_TERMS):
        out = out + power(q + float(k), negative(x))
    a = q + float(_TERMS)
    rest = power(a, negative(x))
    out = out + rest * (0.5 + divide(a, x - 1.0))
    rising = divide(x * rest, a)
    for k, b in enumerate(_BERNOULLI):
        out = out + b * rising
        rising = divide(rising * (x + (2.0 * k + 1.0)) * (x + (2.0 * k + 2.0)), square(a))
    return out


def _riemann(x: Any) -> Any:
    """To the left by the functional equation (DLMF 25.4.1), which is a zero times a pole at 0."""
    left = less(x, -0.25)
    right = _hurwitz(where(left, 1.0 - x, x), 1.0)
    y = where(left, x, -2.0)
    turned = 2.0 * power(2.0 * math.pi, y - 1.0) * sin(0.5 * math.pi * y) * gamma(1.0 - y)
    return where(left, turned * right, right)


def slope_of(function: Callable[..., Any], k: int) -> Callable[..., Any]:
    """The partial derivative by operand `k` of a composition, as a rule of a ufunc."""

    def slope(_: Any, *xs: Any) -> Any:
        def moved(x: Any) -> Any:
            return function(*xs[:k], x, *xs[k + 1 :])

        ones = np.ones(type_of(xs[k]).shape, type_of(xs[k]).dtype)
        return jvp(moved, (xs[k],), (ones,))[1]

    return slope


def _hurwitz_slope(y: Any, x: Any, q: Any) -> Any:
    """The derivative by `x`; NaN to the left of 1, as the value."""
    return where(less(x, 1.0), math.nan, slope_of(_hurwitz, 0)(y, x, q))


zeta_function, polygamma, psi, gammaln = gammas(
    lambda value, *partials: special(value, *partials, ranges=RANGES[plain(value).__name__]),
    (hurwitz_zeta, polygamma_value, sp.psi, sp.gammaln),
    (_hurwitz_slope, fixed("polygamma", "the order n")),
)
riemann_zeta: Op = special(zeta_of_one, slope_of(_riemann, 0), ranges=[(1.5, 4.0)])
zetac: Op = special(sp.zetac, slope_of(_riemann, 0), ranges=[(1.5, 4.0)])
loggamma: Op = special(sp.loggamma, lambda _, x: psi(x), ranges=[POSITIVE])
gamma: Op = special(sp.gamma, lambda y, x: y * psi(x), ranges=[POSITIVE])


def _beside(x: Any) -> Any:
    """How far `x` is from the nearest integer, exactly."""
    return x - rint(x)


def _psi_parts(x: Any, rest: Any) -> tuple[Any, Any]:
    """ψ(x) as a difference: to the left ψ(1 - x) and π cot(π x) (DLMF 5.5.4).

    SciPy's loses digits beside the poles. `rest` is the way to the nearest integer.
    """
    left = less(x, 0.5)
    angle = math.pi * where(left, rest, 0.5)
    turned = divide(math.pi * cos(angle), sin(angle))
    return psi(where(left, 1.0 - x, x)), where(left, turned, 0.0)


def _psi(x: Any, rest: Any = None) -> Any:
    """ψ(x), which is not finite at a pole."""
    smooth, turned = _psi_parts(x, _beside(x) if rest is None else rest)
    return smooth - turned


def psi_gap(a: Any, b: Any, end: Any = None) -> Any:
    """ψ(a) - ψ(a + b), by Taylor's series where `b` is so small that digits would cancel.

    `end` is how far a + b is from the nearest integer, where that is known better.
    """
    room = where(less(a, 0.5), minimum(absolute(a), absolute(_beside(a))), a)
    near = less(absolute(b), 1e-5 * room)
    x, h = where(near, a, 1.0), where(near, b, 0.0)
    series = polygamma(1, x) + h * (0.5 * polygamma(2, x) + h * polygamma(3, x) / 6.0)
    poles = logical_and(_is_pole(a), _is_pole(a + b))  # whose parts in the two are the same
    low, high = where(poles, 1.0 - a, a), where(poles, 1.0 - a - b, a + b)
    if end is None:
        end = where(equal(b, rint(b)), _beside(a) + _beside(b), _beside(a + b))
    first, first_turned = _psi_parts(low, where(poles, 0.25, _beside(a)))
    last, last_turned = _psi_parts(high, where(poles, 0.25, end))
    return where(near, negative(h) * series, (first - last) - (first_turned - last_turned))


def _is_pole(x: Any) -> Any:
    """Whether Γ has a pole at `x`."""
    return logical_and(less_equal(x, 0), equal(x, floor(x)))


def _reciprocal_slope(y: Any, x: Any) -> Any:
    """-ψ(x) / Γ(x); to the left that of sin(π x) Γ(1 - x) / π, which has no poles (DLMF 5.5.3)."""
    left = less(x, 0.5)
    low, rest = where(left, x, 0.0), _beside(where(left, x, 0.0))
    sign = 1.0 - 2.0 * absolute(remainder(rint(low), 2.0))
    sine = divide(sin(math.pi * rest), math.pi)
    turned = sign * gamma(1.0 - low) * (cos(math.pi * rest) - sine * psi(1.0 - low))
    return where(left, turned, negative(y) * psi(where(left, 1.0, x)))


rgamma: Op = special(sp.rgamma, lambda y, x: _reciprocal_slope(y, x), ranges=[POSITIVE])


def _beta_slope(y: Any, a: Any, b: Any) -> Any:
    """Γ(a) Γ(b) times that of 1 / Γ(a + b) where this is 0."""
    zero = logical_and(_is_pole(a + b), logical_not(logical_or(_is_pole(a), _is_pole(b))))
    first, last = where(zero, a, 1.0), where(zero, b, 1.0)
    there = gamma(first) * gamma(last) * _reciprocal_slope(0.0, where(zero, a + b, 0.0))
    return where(zero, there, y * psi_gap(a, where(zero, 0.5 - a, b)))


beta: Op = special(
    sp.beta,
    lambda y, a, b: _beta_slope(y, a, b),
    lambda y, a, b: _beta_slope(y, b, a),
    ranges=[POSITIVE, POSITIVE],
)
betaln: Op = special(
    sp.betaln,
    lambda _, a, b: psi_gap(a, b),
    lambda _, a, b: psi_gap(b, a),
    ranges=[POSITIVE, POSITIVE],
)


def _at_pole(n: Any, k: Any, x: Any, pole: Any) -> Any:
    """The slope of Γ(n+1) / (Γ(k+1) Γ(x)) by x, where x = n - k + 1 has a pole of Γ."""
    held = where(pole, x, 0.0)
    ratio = divide(1.0, poch(where(pole, n, 1.0) + 1.0, where(pole, k - n, 0.0)))
    return where(pole, ratio * _reciprocal_slope(0.0, held), 0.0)


def _finite_factorial(n: Any) -> Any:
    """Whether Γ(n + 1) is finite."""
    return logical_not(_is_pole(n + 1.0))


def _binom_by_n(y: Any, n: Any, k: Any) -> Any:
    left = n - k + 1.0
    pole = logical_and(_is_pole(left), _finite_factorial(n))
    whole = equal(k, rint(k))  # then n - k + 1 is as far from an integer as n is
    rest = where(whole, _beside(n) - _beside(k), _beside(left))
    inside = negative(y) * _gap_below(where(pole, 1.0, left), where(pole, 0.25, rest), n, k)
    return where(pole, _at_pole(n, k, left, pole), inside)


def _gap_below(left: Any, rest: Any, n: Any, k: Any) -> Any:
    """ψ(n - k + 1) - ψ(n + 1), the first of which is `rest` from an integer."""
    turned = psi_gap(n + 1.0, negative(k), rest)
    return where(less(left, 0.5), negative(turned), psi_gap(left, k))


def _binom_by_k(y: Any, n: Any, k: Any) -> Any:
    left, right = n - k + 1.0, k + 1.0
    over_left = logical_and(_is_pole(left), _finite_factorial(n))
    over_right = logical_and(_is_pole(right), _finite_factorial(n))
    low, high = where(over_left, 1.0, left), where(over_right, 1.0, right)
    rest = where(equal(k, rint(k)), _beside(n) - _beside(k), _beside(left))
    inside = y * (_psi(low, where(over_left, 0.25, rest)) - _psi(high))
    at_left = negative(_at_pole(n, k, left, over_left))
    at_right = _at_pole(n, n - k, right, over_right)
    return where(over_left, at_left, where(over_right, at_right, inside))


binom: Op = special(
    sp.binom,
    lambda y, n, k: _binom_by_n(y, n, k),
    lambda y, n, k: _binom_by_k(y, n, k),
    ranges=[(4.2, 6.0), (0.4, 3.0)],
)


def _poch_by_first(y: Any, z: Any, m: Any) -> Any:
    """At a pole of Γ(z) it is that of 1/Γ; where Γ(z + m) has one too, ψ is reflected at both."""
    pole, over = _is_pole(z), _is_pole(z + m)
    alone = logical_and(pole, logical_not(over))
    both = logical_and(pole, over)
    there = gamma(where(alone, z + m, 1.0)) * _reciprocal_slope(0.0, where(alone, z, 0.0))
    # ψ(1 - z) - ψ(1 - z - m), at the places where neither has a pole
    turned = psi_gap(where(both, 1.0 - z, 1.0), where(both, -m, 0.0))
    inside = psi_gap(where(pole, 1.0, z), where(pole, 0.0, m))
    return where(alone, there, negative(y) * where(both, turned, inside))


poch: Op = special(
    sp.poch,
    lambda y, z, m: _poch_by_first(y, z, m),
    lambda y, z, m: y * where(_is_pole(z + m), math.nan, psi(z + m)),  # a jump, or infinite
    ranges=[POSITIVE, POSITIVE],
)
