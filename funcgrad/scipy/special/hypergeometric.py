"""Hypergeometric functions, differentiable in their argument and in their parameters.

By a parameter the power series is differentiated term by term, where it converges fast and does not
cancel: it has all digits there, also of small arguments and of large parameters, where differences
of values have few. Where the series of ₁F₁ or ₂F₁ itself cancels, that of Kummer's or Pfaff's
transformation (DLMF 13.2.39, 15.8.1) may not. Elsewhere the derivatives are differences of SciPy's
values (`differences.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.special as sp

from funcgrad.core.forms import Op
from funcgrad.core.forms.elementwise import Pointwise
from funcgrad.core.tracer import bind
from funcgrad.ops.arithmetic import (
    absolute,
    ceil,
    divide,
    equal,
    floor,
    isfinite,
    isnan,
    less,
    maximum,
    minimum,
    negative,
    power,
    where,
)
from funcgrad.ops.constant import STOP_GRADIENT
from funcgrad.ops.sums import sum as total
from funcgrad.ops.transcendental import exp, log, log1p
from funcgrad.scipy.special.define import special
from funcgrad.scipy.special.differences import SHARE, above, along, by_differences, from_poles, mild
from funcgrad.scipy.special.gamma_functions import gammaln, slope_of

__all__ = [
    "hyp0f1",
    "hyp1f1",
    "hyp2f1",
    "hyperu",
    "kummer_by_first",
    "log_wright_bessel",
    "wright_bessel",
]

POSITIVE = (0.4, 3.0)
UNIT = (-0.8, 0.8)
TERMS = 400
LOST = 1e4  # how much larger than the sum its terms may be

# ---------------------------------------------------------------------------------- series


def _series(upper: Sequence[Any], lower: Sequence[Any], z: Any, along: Sequence[float]) -> Any:
    """The derivative of Σ Π(a)_k / Π(b)_k z^k / k! along a direction of its parameters.

    NaN where it converges slowly, or its terms cancel.
    """
    *parameters, z = np.broadcast_arrays(*upper, *lower, z)
    upper, lower = parameters[: len(upper)], parameters[len(upper) :]
    up, down = along[: len(upper)], along[len(upper) :]
    term, moved = np.ones_like(z), np.zeros_like(z)
    total, largest = np.zeros_like(z), np.zeros(z.shape)
    small = np.zeros(z.shape, bool)
    for k in range(TERMS):
        top: Any = 1.0
        slope: Any = 0.0
        for a, weight in zip(upper, up):
            top, slope = top * (a + k), slope * (a + k) + weight * top
        bottom: Any = float(k + 1)
        score: Any = 0.0
        for b, weight in zip(lower, down):
            bottom, score = bottom * (b + k), score + weight / (b + k)
        share = z / bottom
        moved = (moved * top + term * slope - term * top * score) * share
        term = term * top * share
        total = total + moved
        largest = np.maximum(largest, np.abs(moved))
        before = small  # one term may be 0 where the next is not
        small = (np.abs(moved) <= 1e-18 * np.abs(total)) & (np.abs(top * share) < 1.0)
        if k > 2 and np.all(small & before):
            break
    else:
        total = np.where(small, total, np.nan)
    return np.where(largest <= LOST * np.abs(total), total, np.nan)


def _turned_kummer(parameters: Sequence[Any], z: Any, along: Sequence[float]) -> Any:
    """By exp(z) ₁F₁(b - a; b; -z)."""
    a, b = parameters
    by_a, by_b = along
    return np.exp(z) * _series([b - a], [b], -z, [by_b - by_a, by_b])


def _turned_gauss(parameters: Sequence[Any], z: Any, along: Sequence[float]) -> Any:
    """By (1 - z)^-a ₂F₁(a, c - b; c; z / (z - 1)) (DLMF 15.8.1)."""
    a, b, c = parameters
    by_a, by_b, by_c = along
    w = z / (z - 1.0)
    moved = _series([a, c - b], [c], w, [by_a, by_c - by_b, by_c])
    return (1.0 - z) ** -a * (moved - by_a * np.log1p(-z) * sp.hyp2f1(a, c - b, c, w))


def _by_series(count: int, k: int) -> Callable[..., Any]:
    """As a function of parameters, of which the last is below, and argument."""

    def slope(*xs: Any) -> Any:
        dtype = np.result_type(*xs)
        dtype = dtype if dtype.kind in "fc" else np.dtype(np.float64)
        wide = np.result_type(dtype, np.float64)
        *parameters, z = (
            np.asarray(x, np.float64 if i < count else wide) for i, x in enumerate(xs)
        )
        along = [float(i == k) for i in range(count)]
        with np.errstate(all="ignore"):
            found = _series(parameters[:-1], parameters[-1:], z, along)
            if count == 2 and np.any(np.isnan(found)):
                found = np.where(np.isnan(found), _turned_kummer(parameters, z, along), found)
            if count == 3 and np.any(np.isnan(found)):
                found = np.where(np.isnan(found), _turned_gauss(parameters, z, along), found)
        return found.astype(dtype)[()]

    slope.__name__ = f"hyp{count - 1}f1_by_{k}"
    return slope


def _by_parameter(function: Callable[..., Any], count: int, k: int) -> Callable[..., Any]:
    """The derivative of pF1, which has `count` parameters, by parameter `k`, as a rule."""
    far = by_differences(function, k, step_of(count, k))

    def slope(y: Any, *xs: Any) -> Any:
        *parameters, z = xs
        found = near(*xs)
        # SciPy's ₁F₁ never ends at infinity
        by_steps = far(y, *parameters, where(isfinite(z), z, np.nan))
        return where(isnan(found), by_steps, found)

    def by_z(_: Any, *xs: Any) -> Any:
        """That of Π a / b F(a + 1; b + 1; z), which is the derivative of F by z."""
        *parameters, z = xs
        up = [x + 1.0 for x in parameters]
        factor, *upper = [divide(1.0, parameters[-1]), *parameters[:-1]]
        others = factor
        for i, a in enumerate(upper):
            factor = factor * a
            others = others if i == k else others * a
        shifted = function(*up, z)
        moved = negative(divide(factor, parameters[-1])) if k == count - 1 else others
        return moved * shifted + factor * slope(None, *up, z)

    near: Op = special(
        Pointwise(_by_series(count, k), count + 1),
        *(by_differences(lambda *xs: slope(None, *xs), i, step_of(count, i)) for i in range(count)),
        by_z,
        ranges=[*[POSITIVE] * (count - 1), (3.0, 5.0), UNIT if count < 3 else (-0.6, 0.6)],
        complex_=[count],
    )
    return slope


def step_of(count: int, k: int) -> Callable[..., Any]:
    """The step by parameter `k`: the last one has poles at 0, -1, -2, …"""
    step = _near_one if count == 3 else mild
    return (lambda *xs: from_poles(xs[k], step(*xs))) if k == count - 1 else step


def _near_one(*xs: Any) -> Any:
    """₂F₁ changes with its parameters as (1 - z)^(c - a - b) does."""
    steep = absolute(log(maximum(absolute(1.0 - xs[-1]), 1e-300)))
    return divide(SHARE, divide(SHARE, mild(*xs)) + steep)


def _below(function: Callable[..., Any]) -> Callable[..., Any]:
    """The derivative by the argument; F is 1 where a parameter above is 0."""

    def slope(_: Any, *xs: Any) -> Any:
        *upper, lower, z = xs
        factor, one = divide(1.0, lower), False
        for a in upper:
            factor, one = factor * a, equal(a, -1.0) | one
        shifted = function(*(x + 1.0 for x in xs[:-1]), z)
        return factor * (where(one, 1.0, shifted) if upper else shifted)

    return slope


def _rules(function: Callable[..., Any], count: int) -> Any:
    by = [_by_parameter(function, count, k) for k in range(count)]
    return (*by, _below(function))


# ------------------------------------------------------------------------------- functions


hyp0f1: Op = special(
    sp.hyp0f1,
    *_rules(lambda *xs: hyp0f1(*xs), 1),
    ranges=[POSITIVE, UNIT],
    complex_=[1],
)
_KUMMER = _rules(lambda *xs: hyp1f1(*xs), 2)
kummer_by_first = _KUMMER[0]
hyp1f1: Op = special(
    sp.hyp1f1,
    *_KUMMER,
    ranges=[POSITIVE, POSITIVE, UNIT],
    complex_=[2],
)
hyp2f1: Op = special(
    sp.hyp2f1,
    *_rules(lambda *xs: hyp2f1(*xs), 3),
    ranges=[POSITIVE, POSITIVE, (3.0, 5.0), (-0.6, 0.6)],
    complex_=[3],
)


# ------------------------------------------------------------------- Tricomi's function

_STEPS = 12  # of the recurrence by the first parameter, down from 1
_COUNT = 480


def _by_integral(a: Any, b: Any, x: Any) -> Any:
    """U(a, b, x) for a >= 1 by the trapezoidal rule in log t (DLMF 13.4.4)."""
    high = bind(STOP_GRADIENT, (log(divide(45.0, minimum(x, 45.0))) + 1.5,))
    step = along(divide(high + 40.0, _COUNT))
    u = step * np.arange(_COUNT) - 40.0
    t = exp(u)
    a, b, x = along(a), along(b), along(x)
    return total(step * exp(a * u - x * t + (b - a - 1.0) * log1p(t) - gammaln(a)), -1)


def _tricomi(a: Any, b: Any, x: Any) -> Any:
    """U(a, b, x), from a >= 1 down by its recurrence, of which it is the minimal solution.

    (DLMF 13.3.7.) SciPy's values have few digits in places, and none in some. Of large b and small
    a the recurrence loses digits; there it is that of other parameters (13.2.40).
    """
    turned = less(a, 0.5) & less(3.0, b)
    shift = where(turned, 1.0 - b, 0.0)
    a, b = a + shift, b + 2.0 * shift
    count = maximum(ceil(1.0 - a), 0.0)
    high, low = _by_integral(a + count + 1.0, b, x), _by_integral(a + count, b, x)
    for k in range(_STEPS):
        c = a + maximum(count - float(k), 0.0)
        below = (2.0 * c - b + x) * low - c * (c - b + 1.0) * high
        left = less(float(k), count)
        high, low = where(left, low, high), where(left, below, low)
    return low * exp(shift * log(x))


def _of_tricomi(k: int, slope: Callable[..., Any], otherwise: Callable[..., Any]) -> Any:
    """By operand `k`: `slope` where the integral has its digits, `otherwise` elsewhere.

    Polynomials, which are those of a = 0, -1, -2, …, are exact in SciPy.
    """

    def rule(y: Any, a: Any, b: Any, x: Any) -> Any:
        low = where(less(a, 0.5) & less(3.0, b), a - b + 1.0, a)
        good = less(-11.0, low) & less(a, 59.0) & less(absolute(b), 40.0)
        good = good & less(1e-12, x) & less(x, 1e4)
        if k:
            good = good & (less(0.0, a) | less(floor(a), a))
        safe = [where(good, w, 1.5) for w in (a, b, x)]
        return where(good, slope(y, *safe), otherwise(y, a, b, x))

    return rule


hyperu: Op = special(
    sp.hyperu,
    *(
        _of_tricomi(k, slope_of(_tricomi, k), by_differences(lambda *xs: hyperu(*xs), k, mild))
        for k in (0, 1)
    ),
    _of_tricomi(
        2,
        lambda _, a, b, x: negative(a) * _tricomi(a + 1.0, b + 1.0, x),
        lambda _, a, b, x: negative(a) * hyperu(a + 1.0, b + 1.0, x),
    ),
    ranges=[POSITIVE, POSITIVE, POSITIVE],
)

# ------------------------------------------------------------------- Wright's function


def _mild_above(k: int) -> Callable[..., Any]:
    """Of large x the logarithm is about x^(1 / (1 + a)), which a turns quickly."""

    def step(a: Any, b: Any, x: Any) -> Any:
        share = divide(1.0, 1.0 + a)
        growth = power(absolute(x), share) * log1p(absolute(x)) * share
        return above((a, b)[k], divide(1.0, divide(1.0, mild(a, b, x)) + 4.0 * growth))

    return step


def _wright_by(k: int) -> Callable[..., Any]:
    """By a or b; of a small b from W(a, b) = b W(a, b + 1) + a x W(a, a + b + 1)."""
    differences = by_differences(lambda *xs: wright_bessel(*xs), k, _mild_above(k))

    def slope(y: Any, a: Any, b: Any, x: Any) -> Any:
        small = less(b, 0.25)
        up, over_ = where(small, b + 1.0, b), where(small, a + b + 1.0, b)
        first, last = differences(y, a, up, x), differences(y, a, over_, x)
        if k:
            turned = wright_bessel(a, up, x) + b * first + a * x * last
        else:
            by_b = by_differences(lambda *xs: wright_bessel(*xs), 1, _mild_above(1))
            whole = last + by_b(y, a, over_, x)
            turned = b * first + x * wright_bessel(a, over_, x) + a * x * whole
        return where(small, turned, first)

    return slope


wright_bessel: Op = special(
    sp.wright_bessel,
    _wright_by(0),
    _wright_by(1),
    lambda _, a, b, x: wright_bessel(a, b + a, x),
    ranges=[POSITIVE, POSITIVE, POSITIVE],
)


def _log_wright_by(k: int) -> Callable[..., Any]:
    """Of a small b by the function itself, while it does not overflow."""
    differences = by_differences(lambda *xs: log_wright_bessel(*xs), k, _mild_above(k))
    plain = _wright_by(k)

    def slope(y: Any, a: Any, b: Any, x: Any) -> Any:
        small = less(b, 0.25) & less(y, 600.0)
        low, high = where(small, b, 0.1), where(small, 0.5, b)
        place = where(small, x, 1.0)
        inside = divide(plain(None, a, low, place), wright_bessel(a, low, place))
        return where(small, inside, differences(y, a, high, x))

    return slope


log_wright_bessel: Op = special(
    sp.log_wright_bessel,
    _log_wright_by(0),
    _log_wright_by(1),
    lambda y, a, b, x: exp(log_wright_bessel(a, b + a, x) - y),
    ranges=[POSITIVE, POSITIVE, POSITIVE],
)
