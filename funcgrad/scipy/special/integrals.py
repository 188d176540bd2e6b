"""Exponential and trigonometric integrals, hypergeometric functions, and Lambert's W.

Hypergeometric functions are differentiable in their argument, not in their parameters.
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
    less,
    less_equal,
    negative,
    square,
    where,
)
from funcgrad.ops.pointwise import sinc
from funcgrad.ops.transcendental import cos, cosh, exp, log1p
from funcgrad.scipy.special.define import fixed, special, special_outputs
from funcgrad.scipy.special.elementary import exprel
from funcgrad.scipy.special.gamma_functions import slope_of

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


def _parameter(name: str) -> Any:
    return fixed(name, "its parameters")


hyp0f1: Op = special(
    sp.hyp0f1,
    _parameter("hyp0f1"),
    lambda _, v, z: divide(hyp0f1(v + 1.0, z), v),
    ranges=[[1, 2, 3], UNIT],
    complex_=True,
)
hyp1f1: Op = special(
    sp.hyp1f1,
    _parameter("hyp1f1"),
    _parameter("hyp1f1"),
    lambda _, a, b, z: divide(a, b) * hyp1f1(a + 1.0, b + 1.0, z),
    ranges=[[1, 2, 3], [2, 3, 4], UNIT],
    complex_=True,
)
hyp2f1: Op = special(
    sp.hyp2f1,
    _parameter("hyp2f1"),
    _parameter("hyp2f1"),
    _parameter("hyp2f1"),
    lambda _, a, b, c, z: divide(a * b, c) * hyp2f1(a + 1.0, b + 1.0, c + 1.0, z),
    ranges=[[1, 2, 3], [2, 1, 2], [3, 4, 6], (-0.6, 0.6)],
    complex_=True,
)
hyperu: Op = special(
    sp.hyperu,
    _parameter("hyperu"),
    _parameter("hyperu"),
    lambda _, a, b, x: negative(a) * hyperu(a + 1.0, b + 1.0, x),
    ranges=[[1, 2, 1], [2, 1, 1], POSITIVE],
)
wright_bessel: Op = special(
    sp.wright_bessel,
    _parameter("wright_bessel"),
    _parameter("wright_bessel"),
    lambda _, a, b, x: wright_bessel(a, b + a, x),
    ranges=[[1, 2, 1], [1, 1, 2], POSITIVE],
)
log_wright_bessel: Op = special(
    sp.log_wright_bessel,
    _parameter("log_wright_bessel"),
    _parameter("log_wright_bessel"),
    lambda y, a, b, x: exp(log_wright_bessel(a, b + a, x) - y),
    ranges=[[1, 2, 1], [1, 1, 2], POSITIVE],
)

# Solutions of w'' = (x²/4 - v - ½) w, w'' = (x²/4 - v - ½) w and w'' = (a - x²/4) w, with w'.
_pbdv: tuple[Op, ...] = special_outputs(
    sp.pbdv,
    [fixed("pbdv", "the order v"), lambda _, v, x: _pbdv[1](v, x)],
    [fixed("pbdv", "the order v"), lambda _, v, x: (0.25 * x * x - v - 0.5) * _pbdv[0](v, x)],
    ranges=[[0, 1, 2], (-2.0, 2.0)],
)
_pbvv: tuple[Op, ...] = special_outputs(
    sp.pbvv,
    [fixed("pbvv", "the order v"), lambda _, v, x: _pbvv[1](v, x)],
    [fixed("pbvv", "the order v"), lambda _, v, x: (0.25 * x * x - v - 0.5) * _pbvv[0](v, x)],
    ranges=[[0, 1, 2], (-2.0, 2.0)],
)
_pbwa: tuple[Op, ...] = special_outputs(
    sp.pbwa,
    [fixed("pbwa", "its parameter"), lambda _, a, x: _pbwa[1](a, x)],
    [fixed("pbwa", "its parameter"), lambda _, a, x: (a - 0.25 * x * x) * _pbwa[0](a, x)],
    ranges=[[0, 1, 2], (0.2, 2.0)],
)

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

# ------------------------------------------------------------- Kolmogorov's distribution


def _kolmogorov(y: Any) -> Any:
    """The probability to exceed y: by theta's series, or, below 1, by the transformed one."""
    near = less(y, 1.0)
    a, b = where(near, y, 0.5), where(near, 1.5, y)
    left = sum(exp(divide(-((2 * k - 1) ** 2) * math.pi**2 / 8, square(a))) for k in range(1, 6))
    right = sum(2 * (-1) ** (k - 1) * exp(-2.0 * k**2 * square(b)) for k in range(1, 6))
    inside = 1.0 - divide(math.sqrt(2 * math.pi) * left, a)
    return where(less_equal(y, 0.0), 1.0, where(near, inside, right))


kolmogorov: Op = special(sp.kolmogorov, slope_of(_kolmogorov, 0), ranges=[(0.3, 1.8)])
kolmogi: Op = special(
    sp.kolmogi, lambda y, _: divide(1.0, slope_of(_kolmogorov, 0)(None, y)), ranges=[(0.1, 0.9)]
)

# ------------------------------------------------------------------------- Mathieu's functions

# The values a for which y'' + (a - 2 q cos 2x) y = 0 has even, and odd, periodic solutions.
mathieu_a: Op = special(
    sp.mathieu_a,
    fixed("mathieu_a", "the order m"),
    fixed("mathieu_a", "q"),
    ranges=[[1, 2, 3], [1, 2, 1]],
)
mathieu_b: Op = special(
    sp.mathieu_b,
    fixed("mathieu_b", "the order m"),
    fixed("mathieu_b", "q"),
    ranges=[[1, 2, 3], [1, 2, 1]],
)


def _mathieu(ufunc: Any, value: Op, modified: bool) -> tuple[Op, ...]:
    """A solution and its derivative by the angle, in degrees, or by x of the modified equation."""
    turn = 1.0 if modified else math.pi / 180
    name = ufunc.__name__
    none = [fixed(name, "the order m"), fixed(name, "q")]

    def bend(_: Any, m: Any, q: Any, x: Any) -> Any:
        if modified:
            factor = value(m, q) - 2.0 * q * cosh(2.0 * x)
        else:
            factor = 2.0 * q * cos(2.0 * turn * x) - value(m, q)
        return turn * factor * parts[0](m, q, x)

    parts: tuple[Op, ...] = special_outputs(
        ufunc,
        [*none, lambda _, m, q, x: turn * parts[1](m, q, x)],
        [*none, bend],
        ranges=[[1, 2, 3], [1, 2, 1], (0.2, 1.5) if modified else (10.0, 80.0)],
    )
    return parts


_cem, _sem = _mathieu(sp.mathieu_cem, mathieu_a, False), _mathieu(sp.mathieu_sem, mathieu_b, False)
_modcem1 = _mathieu(sp.mathieu_modcem1, mathieu_a, True)
_modcem2 = _mathieu(sp.mathieu_modcem2, mathieu_a, True)
_modsem1 = _mathieu(sp.mathieu_modsem1, mathieu_b, True)
_modsem2 = _mathieu(sp.mathieu_modsem2, mathieu_b, True)
