"""Exponential and trigonometric integrals, Lambert's W, and parabolic cylinder functions.

Derivatives of the last by their parameter are differences of values (`differences.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import scipy.special as sp

from funcgrad.core.forms import Op
from funcgrad.ops.arithmetic import (
    absolute,
    divide,
    equal,
    less,
    negative,
    square,
    trunc,
    where,
)
from funcgrad.ops.pointwise import sinc
from funcgrad.ops.transcendental import cos, exp, log
from funcgrad.scipy.special.define import Range, fixed, special, special_outputs
from funcgrad.scipy.special.differences import above, by_differences, mild
from funcgrad.scipy.special.elementary import exprel
from funcgrad.scipy.special.error import wofz_slope

POSITIVE = (0.4, 3.0)
UNIT = (-0.8, 0.8)

exp1: Op = special(
    sp.exp1, lambda _, x: negative(divide(exp(negative(x)), x)), ranges=[POSITIVE], complex_=True
)
expi: Op = special(sp.expi, lambda _, x: divide(exp(x), x), ranges=[POSITIVE], complex_=True)


def _expn_slope(n: Any, x: Any) -> Any:
    """-E of the order below; that of order -1 is written out."""
    n = trunc(n)  # SciPy's value rounds it so
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
    apart = where(near, 2.0, z)
    return negative(where(near, total, divide(log(apart), apart - 1.0)))


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


# ------------------------------------------------------------------------ parabolic cylinders


def _parabolic(
    ufunc: Any, factor: Callable[..., Any], x: Range, step: Callable[..., Any] = mild
) -> tuple[Op, ...]:
    """A solution of w'' = factor(v, x) w, with w'."""
    by_parameter = [by_differences(lambda *xs, i=i: parts[i](*xs), 0, step) for i in (0, 1)]
    parts: tuple[Op, ...] = special_outputs(
        ufunc,
        [by_parameter[0], lambda _, v, x: parts[1](v, x)],
        [by_parameter[1], lambda _, v, x: factor(v, x) * parts[0](v, x)],
        ranges=[(0.3, 2.5), x],
    )
    return parts


_pbdv = _parabolic(sp.pbdv, lambda v, x: 0.25 * x * x - v - 0.5, (-2.0, 2.0))
_pbvv = _parabolic(sp.pbvv, lambda v, x: 0.25 * x * x - v - 0.5, (-2.0, 2.0))


def _within_five(a: Any, x: Any) -> Any:
    """SciPy has values of |a| <= 5."""
    return above(5.0 - absolute(a), mild(a, x))


_pbwa = _parabolic(sp.pbwa, lambda a, x: a - 0.25 * x * x, (0.2, 2.0), _within_five)

# ---------------------------------------------------------------- Fresnel's modified integrals


def _modified_fresnel(ufunc: Any, sign: float) -> tuple[Op, ...]:
    """F = ∫ exp(± i t²) dt from x on, and K = exp(∓ i (x² + π/4)) F / √π.

    K is half of Faddeeva's function of x times an eighth root of 1, in the upper half plane.
    """
    turn = complex(sign * math.cos(math.pi / 4), math.sin(math.pi / 4))
    parts: tuple[Op, ...] = special_outputs(
        ufunc,
        [lambda _, x: negative(exp(sign * 1j * square(x)))],
        [lambda _, x: 0.5 * turn * wofz_slope(turn * x)],
        ranges=[(0.2, 2.0)],  # of x < 0 SciPy 1.17 gives a wrong imaginary part
    )
    return parts


_modfresnelp = _modified_fresnel(sp.modfresnelp, 1.0)
_modfresnelm = _modified_fresnel(sp.modfresnelm, -1.0)
