"""Exponential and trigonometric integrals, hypergeometric functions, and Lambert's W.

Derivatives of hypergeometric functions by their parameters are differences of values
(`differences.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import scipy.special as sp

from funcgrad.core.forms import Op
from funcgrad.core.tracer import type_of
from funcgrad.ops.arithmetic import (
    absolute,
    divide,
    equal,
    less,
    negative,
    square,
    where,
)
from funcgrad.ops.arithmetic.select import real
from funcgrad.ops.pointwise import sinc
from funcgrad.ops.transcendental import cos, exp, log1p
from funcgrad.scipy.special.define import Range, fixed, special, special_outputs
from funcgrad.scipy.special.differences import above, by_differences, from_poles, mild
from funcgrad.scipy.special.elementary import exprel

POSITIVE = (0.4, 3.0)
UNIT = (-0.8, 0.8)

exp1: Op = special(
    sp.exp1, lambda _, x: negative(divide(exp(negative(x)), x)), ranges=[POSITIVE], complex_=True
)
expi: Op = special(sp.expi, lambda _, x: divide(exp(x), x), ranges=[POSITIVE], complex_=True)


def _expn_slope(n: Any, x: Any) -> Any:
    """-E of the order below; that of order -1 is written out."""
    first = equal(n, 0)
    below = negative(expn(where(first, 1, n) - 1, x))
    return where(first, negative(divide(exp(negative(x)) * (1.0 + divide(1.0, x)), x)), below)


expn: Op = special(
    sp.expn,
    fixed("expn", "the order n"),
    lambda _, n, x: _expn_slope(n, x),
    ranges=[[0, 1, 2], POSITIVE],
)

# log(1 + u) / u = Σ (-u)^k / (k + 1)
LOG_SERIES = [(-1) ** k / (k + 1) for k in range(14)]


def _spence_slope(z: Any) -> Any:
    """log(z) / (1 - z), and -1 at 1."""
    u = z - 1.0
    near = less(absolute(u), 0.05)
    small, total = where(near, u, 0.0), LOG_SERIES[-1]
    for c in LOG_SERIES[-2::-1]:
        total = total * small + c
    apart = where(near, 1.0, u)
    return negative(where(near, total, divide(log1p(apart), apart)))


spence: Op = special(sp.spence, lambda _, z: _spence_slope(z), ranges=[POSITIVE])
_sici: tuple[Op, ...] = special_outputs(
    sp.sici,
    [lambda _, x: sinc(divide(x, math.pi))],
    [lambda _, x: divide(cos(x), x)],
    ranges=[POSITIVE],
)
_shichi: tuple[Op, ...] = special_outputs(
    sp.shichi,
    [lambda _, x: 0.5 * (exprel(x) + exprel(negative(x)))],
    [lambda _, x: 0.5 * divide(exp(x) + exp(negative(x)), x)],
    ranges=[POSITIVE],
)

wrightomega: Op = special(
    sp.wrightomega, lambda w, _: divide(w, 1.0 + w), ranges=[(-2.0, 2.0)], complex_=True
)


def lambert_value(z: Any, k: Any) -> Any:
    return sp.lambertw(z, k)


lambert: Op = special(
    lambert_value,
    lambda w, _, __: divide(exp(negative(w)), 1.0 + w),
    fixed("lambertw", "the branch k"),
    ranges=[POSITIVE, [0]],
    complex_=True,
)


# -------------------------------------------------------------------------- hypergeometric


def _mild_from_poles(k: int) -> Callable[..., Any]:
    """The step by operand `k`, with poles where that is 0, -1, -2, …"""
    return lambda *xs: from_poles(xs[k], mild(*xs))


def _mild_above(k: int) -> Callable[..., Any]:
    return lambda *xs: above(xs[k], mild(*xs))


hyp0f1: Op = special(
    sp.hyp0f1,
    by_differences(lambda v, z: hyp0f1(v, z), 0, _mild_from_poles(0)),
    lambda _, v, z: divide(hyp0f1(v + 1.0, z), v),
    ranges=[POSITIVE, UNIT],
    complex_=[1],
)


def _kummer(a: Any, b: Any, z: Any) -> Any:
    """₁F₁ by SciPy's function of a complex argument: that of a real one has no digit in places."""
    if type_of(z).dtype.kind == "c":
        return hyp1f1(a, b, z)
    return real(hyp1f1(a, b, z + 0j))


hyp1f1: Op = special(
    sp.hyp1f1,
    by_differences(_kummer, 0, mild),
    by_differences(_kummer, 1, _mild_from_poles(1)),
    lambda _, a, b, z: divide(a, b) * hyp1f1(a + 1.0, b + 1.0, z),
    ranges=[POSITIVE, POSITIVE, UNIT],
    complex_=[2],
)


def _gauss(a: Any, b: Any, c: Any, z: Any) -> Any:
    return hyp2f1(a, b, c, z)


hyp2f1: Op = special(
    sp.hyp2f1,
    by_differences(_gauss, 0, mild),
    by_differences(_gauss, 1, mild),
    by_differences(_gauss, 2, _mild_from_poles(2)),
    lambda _, a, b, c, z: divide(a * b, c) * hyp2f1(a + 1.0, b + 1.0, c + 1.0, z),
    ranges=[POSITIVE, POSITIVE, (3.0, 5.0), (-0.6, 0.6)],
    complex_=[3],
)
hyperu: Op = special(
    sp.hyperu,
    by_differences(lambda *xs: hyperu(*xs), 0, mild),
    by_differences(lambda *xs: hyperu(*xs), 1, mild),
    lambda _, a, b, x: negative(a) * hyperu(a + 1.0, b + 1.0, x),
    ranges=[POSITIVE, POSITIVE, POSITIVE],
)
wright_bessel: Op = special(
    sp.wright_bessel,
    by_differences(lambda *xs: wright_bessel(*xs), 0, _mild_above(0)),
    by_differences(lambda *xs: wright_bessel(*xs), 1, _mild_above(1)),
    lambda _, a, b, x: wright_bessel(a, b + a, x),
    ranges=[POSITIVE, POSITIVE, POSITIVE],
)
log_wright_bessel: Op = special(
    sp.log_wright_bessel,
    by_differences(lambda *xs: log_wright_bessel(*xs), 0, _mild_above(0)),
    by_differences(lambda *xs: log_wright_bessel(*xs), 1, _mild_above(1)),
    lambda y, a, b, x: exp(log_wright_bessel(a, b + a, x) - y),
    ranges=[POSITIVE, POSITIVE, POSITIVE],
)


def _parabolic(ufunc: Any, factor: Callable[..., Any], x: Range) -> tuple[Op, ...]:
    """A solution of w'' = factor(v, x) w, with w'."""
    by_parameter = [by_differences(lambda *xs, i=i: parts[i](*xs), 0, mild) for i in (0, 1)]
    parts: tuple[Op, ...] = special_outputs(
        ufunc,
        [by_parameter[0], lambda _, v, x: parts[1](v, x)],
        [by_parameter[1], lambda _, v, x: factor(v, x) * parts[0](v, x)],
        ranges=[(0.3, 2.5), x],
    )
    return parts


_pbdv = _parabolic(sp.pbdv, lambda v, x: 0.25 * x * x - v - 0.5, (-2.0, 2.0))
_pbvv = _parabolic(sp.pbvv, lambda v, x: 0.25 * x * x - v - 0.5, (-2.0, 2.0))
_pbwa = _parabolic(sp.pbwa, lambda a, x: a - 0.25 * x * x, (0.2, 2.0))

# ---------------------------------------------------------------- Fresnel's modified integrals


def _modified_fresnel(ufunc: Any, sign: float) -> tuple[Op, ...]:
    """F = ∫ exp(± i t²) dt from x on, and K = exp(∓ i (x² + π/4)) F / √π."""
    turn = complex(math.cos(math.pi / 4), -sign * math.sin(math.pi / 4)) / math.sqrt(math.pi)
    parts: tuple[Op, ...] = special_outputs(
        ufunc,
        [lambda _, x: negative(exp(sign * 1j * square(x)))],
        [lambda y, x: -2j * sign * x * y - turn],
        ranges=[(0.2, 2.0)],  # of x < 0 SciPy 1.17 gives a wrong imaginary part
    )
    return parts


_modfresnelp = _modified_fresnel(sp.modfresnelp, 1.0)
_modfresnelm = _modified_fresnel(sp.modfresnelm, -1.0)
