"""Error functions, the normal distribution, and the integrals of Dawson, Fresnel and Owen.

What is stated in `ops`, too, where values need no SciPy, takes its derivatives from there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import scipy.special as sp

from funcgrad.core.forms import Op
from funcgrad.ops.arithmetic import (
    absolute,
    add,
    divide,
    equal,
    greater,
    imag,
    less,
    logical_and,
    multiply,
    negative,
    real,
    remainder,
    rint,
    square,
    subtract,
    where,
)
from funcgrad.ops.error import erf_slope
from funcgrad.ops.normal import (
    FAR,
    asymptotic_slope,
    erfc_slope,
    erfcx_slope,
    erfinv_slope,
    ndtri_slope,
)
from funcgrad.ops.transcendental import cos, exp, sin
from funcgrad.scipy.special.define import special, special_outputs

ROOT_PI = math.sqrt(math.pi)
ROOT_2PI = math.sqrt(2 * math.pi)
WIDE = (-3.0, 3.0)
UNIT = (0.1, 0.9)

erf: Op = special(sp.erf, lambda _, x: erf_slope(x), ranges=[WIDE], complex_=True)
erfc: Op = special(sp.erfc, lambda _, x: erfc_slope(x), ranges=[WIDE], complex_=True)
erfi: Op = special(sp.erfi, lambda _, x: 2 / ROOT_PI * exp(square(x)), ranges=[WIDE], complex_=True)
erfinv: Op = special(sp.erfinv, lambda y, _: erfinv_slope(y), ranges=[(-0.9, 0.9)])
erfcinv: Op = special(sp.erfcinv, lambda y, _: negative(erfinv_slope(y)), ranges=[(0.1, 1.9)])


def _dawson_slope(y: Any, x: Any) -> Any:
    far = greater(absolute(x), FAR)
    near = 1.0 - 2.0 * where(far, 0.0, x) * where(far, 0.0, y)
    return where(far, -0.5 * asymptotic_slope(where(far, x, 1.0), 1.0), near)


erfcx: Op = special(sp.erfcx, lambda y, x: erfcx_slope(y, x), ranges=[WIDE])
dawsn: Op = special(sp.dawsn, lambda y, x: _dawson_slope(y, x), ranges=[WIDE])
wofz: Op = special(sp.wofz, lambda _, z: wofz_slope(z), ranges=[(-2.0, 2.0)], complex_=True)


def _faddeeva(
    z: Any, near: Callable[[Any], Any], far: Callable[[Any], Any], wing: Any
) -> tuple[Any, Any]:
    """`near` of z, and `far`, of the upper half plane, where that cancels.

    In the lower one w(z) = 2 exp(-z²) - w(-z), and `wing` is of the first term.
    """
    away = greater(absolute(z), FAR)
    below = logical_and(away, less(imag(z), 0.0))
    series = far(where(away, where(below, negative(z), z), 1.0))
    folded = where(below, z, 0.0)
    return where(
        below,
        wing(folded, exp(negative(square(folded)))),
        where(away, series, near(where(away, 0.0, z))),
    ), where(below, series, 0.0)


def wofz_slope(z: Any) -> Any:
    """w'(z) = -2 z w(z) + 2i / √π."""
    found, folded = _faddeeva(
        z,
        lambda z: -2.0 * z * wofz(z) + 2j / ROOT_PI,
        lambda z: -1j / ROOT_PI * asymptotic_slope(z, 1.0),
        lambda z, e: -4.0 * z * e,
    )
    return add(found, folded)


def _asymptotic_bend(z: Any) -> Any:
    """Half the second derivative of the same series as that of `asymptotic_slope`."""
    q, total, odd = divide(0.5, square(z)), 0.0, 1.0
    terms = []
    for k in range(16):
        terms.append(odd * (2 * k + 1) * (k + 1))
        odd *= 2 * k + 1
    for c in reversed(terms):
        total = add(multiply(total, q), c)
    return 1j / ROOT_PI * divide(divide(total, square(z)), z)


def _wofz_bend(z: Any) -> Any:
    """w''(z) / 2 = -w(z) - z w'(z)."""
    found, folded = _faddeeva(
        z,
        lambda z: negative(wofz(z)) - z * wofz_slope(z),
        _asymptotic_bend,
        lambda z, e: (4.0 * square(z) - 2.0) * e,
    )
    return subtract(found, folded)


# ----------------------------------------------------------------------------------- normal


def density(x: Any) -> Any:
    return 1 / ROOT_2PI * exp(-0.5 * square(x))


def _hazard(y: Any, x: Any) -> Any:
    """density(x) / Φ(x), given y = log Φ(x); both factors vanish far to the left."""
    left = less(x, 0)
    near = divide(math.sqrt(2 / math.pi), erfcx(where(left, x, 0.0) * -math.sqrt(0.5)))
    return where(left, near, density(x) * exp(negative(where(left, 0.0, y))))


ndtr: Op = special(sp.ndtr, lambda _, x: density(x), ranges=[WIDE])
log_ndtr: Op = special(sp.log_ndtr, lambda y, x: _hazard(y, x), ranges=[WIDE])
ndtri: Op = special(sp.ndtri, lambda y, _: ndtri_slope(y), ranges=[UNIT])
ndtri_exp: Op = special(
    sp.ndtri_exp, lambda y, x: divide(1.0, _hazard(x, y)), ranges=[(-5.0, -0.1)]
)
nrdtrimn: Op = special(
    sp.nrdtrimn,
    lambda m, p, s, x: negative(s) * ROOT_2PI * exp(0.5 * square(divide(x - m, s))),
    lambda m, _, s, x: negative(divide(x - m, s)),
    1,
    ranges=[UNIT, (0.5, 2.0), (-1.0, 1.0)],
)
nrdtrisd: Op = special(
    sp.nrdtrisd,
    lambda s, m, _, x: divide(s, m - x),
    lambda s, m, p, x: negative(over_score(s, m, x)),
    lambda s, m, _, x: divide(s, x - m),
    ranges=[(-1.0, 1.0), (0.6, 0.9), (2.0, 3.0)],
)


def over_score(s: Any, m: Any, x: Any) -> Any:
    """The slope of (x - m) / z in p for z = Φ⁻¹(p), where s is the quotient."""
    z = divide(x - m, s)
    return divide(s, z) * ROOT_2PI * exp(0.5 * square(z))


# --------------------------------------------------------------------------------- integrals


def _voigt(x: Any, sigma: Any, gamma: Any) -> tuple[Any, Any]:
    """z and the derivative of w at it, for w(z) the function of Faddeeva."""
    z = divide(add(x, 1j * gamma), sigma * math.sqrt(2))
    return z, wofz_slope(z)


def _voigt_slope(x: Any, sigma: Any, gamma: Any, lorentz: Any, part: Callable[..., Any]) -> Any:
    """The real or the imaginary part of the slope; that of Lorentz's profile where σ = 0."""
    none = equal(sigma, 0.0)
    width = where(none, 1.0, sigma)
    inside = part(_voigt(x, width, gamma)[1]) * divide(1 / (2 * ROOT_PI), square(width))
    return where(none, lorentz, inside)


def _voigt_width(x: Any, sigma: Any, gamma: Any) -> Any:
    """The profile is a solution of the heat equation: σ times its second derivative by x."""
    none = equal(sigma, 0.0)
    width = where(none, 1.0, sigma)
    z, _ = _voigt(x, width, gamma)
    inside = divide(real(_wofz_bend(z)), square(width) * ROOT_2PI)
    far = where(none, square(x) + square(gamma), 1.0)
    lorentz = gamma / math.pi * divide(6.0 * square(x) - 2.0 * square(gamma), far * square(far))
    return where(none, sigma * lorentz, inside)


def _lorentz(x: Any, gamma: Any, top: Any) -> Any:
    return divide(top, math.pi * square(square(x) + square(gamma)))


voigt_profile: Op = special(
    sp.voigt_profile,
    lambda _, x, s, g: _voigt_slope(x, s, g, _lorentz(x, g, -2.0 * x * g), real),
    lambda _, x, s, g: _voigt_width(x, s, g),
    lambda _, x, s, g: _voigt_slope(
        x, s, g, _lorentz(x, g, square(x) - square(g)), lambda w: negative(imag(w))
    ),
    ranges=[(-2.0, 2.0), (0.5, 2.0), (0.3, 1.0)],
)
owens_t: Op = special(
    sp.owens_t,
    lambda _, h, a: -0.5 * density(h) * erf(a * h * math.sqrt(0.5)),
    lambda _, h, a: divide(
        exp(-0.5 * square(h) * (1.0 + square(a))), 2 * math.pi * (1.0 + square(a))
    ),
    ranges=[(-2.0, 2.0), (-2.0, 2.0)],
)


def _quarter_square(x: Any) -> Any:
    """π/2 x², less whole turns: of x = n + f both n² and 2nf are exact to a multiple of 4."""
    n = rint(x)
    f = x - n
    m = remainder(n, 4.0)
    return math.pi / 2 * (remainder(m * m, 4.0) + remainder(2.0 * n * f, 4.0) + f * f)


_fresnel: tuple[Op, ...] = special_outputs(
    sp.fresnel,
    [lambda _, x: sin(_quarter_square(x))],
    [lambda _, x: cos(_quarter_square(x))],
    ranges=[(-2.0, 2.0)],
)
