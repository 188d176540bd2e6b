"""Elliptic integrals and Jacobi's functions in the parameter m = k² (NIST Handbook 2010, 19, 22).

The textbook derivatives by m divide what cancels at m = 0, and at small angles: near m = 0 those of
complete integrals are hypergeometric series, those of incomplete ones are Carlson's integrals.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import scipy.special as sp

from funcgrad.core.forms import Op
from funcgrad.core.tracer import bind, type_of
from funcgrad.ops.arithmetic import (
    absolute,
    divide,
    equal,
    imag,
    less,
    maximum,
    minimum,
    negative,
    real,
    rint,
    sqrt,
    square,
    where,
)
from funcgrad.ops.constant import STOP_GRADIENT
from funcgrad.ops.shape import reshape
from funcgrad.ops.sums import sum as total
from funcgrad.ops.transcendental import arctan2, cos, exp, sin
from funcgrad.scipy.special.define import special, special_outputs
from funcgrad.scipy.special.gamma_functions import slope_of
from funcgrad.scipy.special.hypergeometric import hyp2f1

SMALL = 0.1  # below it the series are taken
PARAMETER = (0.15, 0.85)
ANGLE = (-1.2, 1.2)
NODES, WEIGHTS = np.polynomial.legendre.leggauss(24)


def _complete_slopes(m: Any) -> tuple[Any, Any]:
    """The derivatives of K and E."""
    near = less(absolute(m), SMALL)
    small, apart = where(near, m, 0.0), where(near, 0.5, m)
    first, second = ellipk(apart), ellipe(apart)
    rest = 1.0 - apart
    of_k = divide(second - rest * first, 2.0 * apart * rest)
    of_e = divide(second - first, 2.0 * apart)
    series_k = math.pi / 8 * hyp2f1(1.5, 1.5, 2.0, small)
    series_e = -math.pi / 8 * hyp2f1(0.5, 1.5, 2.0, small)
    return where(near, series_k, of_k), where(near, series_e, of_e)


ellipk: Op = special(sp.ellipk, lambda _, m: _complete_slopes(m)[0], ranges=[PARAMETER])
ellipe: Op = special(sp.ellipe, lambda _, m: _complete_slopes(m)[1], ranges=[PARAMETER])


def _km1_slope(y: Any, p: Any) -> Any:
    """That of K(1 - p): no difference from 1 is formed where p is small."""
    near = less(absolute(p - 1.0), SMALL)
    apart = where(near, 0.5, p)
    m = 1.0 - apart
    formula = divide(ellipe(m) - apart * where(near, 1.0, y), 2.0 * m * apart)
    return negative(
        where(near, math.pi / 8 * hyp2f1(1.5, 1.5, 2.0, where(near, 1.0 - p, 0.0)), formula)
    )


ellipkm1: Op = special(sp.ellipkm1, lambda y, p: _km1_slope(y, p), ranges=[PARAMETER])


def _delta(phi: Any, m: Any) -> Any:
    """√(1 - m sin²φ)."""
    return sqrt(1.0 - m * square(sin(phi)))


def _within(phi: Any) -> tuple[Any, Any]:
    """The number of half turns in `phi`, and the angle that is left."""
    turns = rint(divide(phi, math.pi))
    return turns, phi - math.pi * turns


def _quotient(phi: Any, m: Any) -> Any:
    """(F - E) / m, by a Carlson integral, in which nothing cancels (19.25.10)."""
    turns, rest = _within(phi)
    s, c = sin(rest), cos(rest)
    inner = s * square(s) * elliprd(square(c), 1.0 - m * square(s), 1.0 + 0.0 * s) / 3.0
    return inner - 4.0 * turns * _complete_slopes(m)[1]


def _first_slope(_: Any, phi: Any, m: Any) -> Any:
    """∫ sin² / (2 Δ³), the same integral with the last two of its operands exchanged."""
    turns, rest = _within(phi)
    s, c = sin(rest), cos(rest)
    inner = s * square(s) * elliprd(square(c), 1.0 + 0.0 * s, 1.0 - m * square(s)) / 6.0
    return inner + 2.0 * turns * _complete_slopes(m)[0]


ellipkinc: Op = special(
    sp.ellipkinc,
    lambda _, phi, m: divide(1.0, _delta(phi, m)),
    lambda y, phi, m: _first_slope(y, phi, m),
    ranges=[ANGLE, PARAMETER],
)
ellipeinc: Op = special(
    sp.ellipeinc,
    lambda _, phi, m: _delta(phi, m),
    lambda _, phi, m: -0.5 * _quotient(phi, m),
    ranges=[ANGLE, PARAMETER],
)


def _amplitude_slope(u: Any, m: Any) -> Any:
    """The derivative by m of the amplitude φ, of which u is the first integral."""
    phi = _ellipj[3](u, m)
    return negative(_delta(phi, m)) * _first_slope(u, phi, m)


def _delta_slope(y: Any, u: Any, m: Any) -> Any:
    sn, cn = _ellipj[0](u, m), _ellipj[1](u, m)
    turned = square(sn) + 2.0 * m * sn * cn * _amplitude_slope(u, m)
    return divide(-0.5 * turned, y)


_ellipj: tuple[Op, ...] = special_outputs(
    sp.ellipj,
    [
        lambda _, u, m: _ellipj[1](u, m) * _ellipj[2](u, m),
        lambda _, u, m: _ellipj[1](u, m) * _amplitude_slope(u, m),
    ],
    [
        lambda _, u, m: negative(_ellipj[0](u, m)) * _ellipj[2](u, m),
        lambda _, u, m: negative(_ellipj[0](u, m)) * _amplitude_slope(u, m),
    ],
    [
        lambda _, u, m: negative(m) * _ellipj[0](u, m) * _ellipj[1](u, m),
        lambda y, u, m: _delta_slope(y, u, m),
    ],
    [lambda _, u, m: _ellipj[2](u, m), lambda _, u, m: _amplitude_slope(u, m)],
    ranges=[(-1.0, 1.0), PARAMETER],
)


# ---------------------------------------------------------------------------------- Carlson


def _first_kind(x: Any, y: Any, z: Any) -> Any:
    """The derivative of R_F by z (19.18.1)."""
    return divide(elliprd(x, y, z), -6.0)


def _second_kind(x: Any, y: Any, z: Any) -> Any:
    """The derivative of R_D by x (19.18.4 with 19.18.1), by an integral where x is near z."""
    near = less(absolute(x - z), SMALL * absolute(z))
    apart = where(near, 2.0 * z, x)
    formula = 0.5 * divide(elliprd(y, z, apart) - elliprd(apart, y, z), apart - z)
    first, middle, last = (where(near, w, 1.0) for w in (x, y, z))
    return where(near, _second_kind_integral(first, middle, last), formula)


def _times(x: Any, slope: Any) -> Any:
    """x times a derivative by x that is infinite at 0, where the product is 0."""
    none = equal(x, 0.0)
    return where(none, 0.0, x * where(none, 0.0, slope))


def _second_kind_last(w: Any, x: Any, y: Any, z: Any) -> Any:
    """That by z: R_D is homogeneous of degree -3/2."""
    moved = _times(x, _second_kind(x, y, z)) + _times(y, _second_kind(y, x, z))
    return negative(divide(1.5 * w + moved, z))


elliprf: Op = special(
    sp.elliprf,
    lambda _, x, y, z: _first_kind(y, z, x),
    lambda _, x, y, z: _first_kind(x, z, y),
    lambda _, x, y, z: _first_kind(x, y, z),
    ranges=[(0.2, 0.8), (1.0, 2.0), (3.0, 4.0)],
)
elliprd: Op = special(
    sp.elliprd,
    lambda _, x, y, z: _second_kind(x, y, z),
    lambda _, x, y, z: _second_kind(y, x, z),
    lambda w, x, y, z: _second_kind_last(w, x, y, z),
    ranges=[(0.2, 0.8), (1.0, 2.0), (3.0, 4.0)],
)


def _surface(w: Any, x: Any, y: Any, z: Any) -> Any:
    """The derivative of R_G by x, which is √x / 2 where y and z are 0."""
    alone = equal(y, 0.0) & equal(z, 0.0)
    y = where(alone, 1.0, y)
    found = 0.25 * elliprf(x, y, z) - _times(x, divide(elliprd(y, z, x), 12.0))
    return where(alone, divide(w, 2.0 * x), found)


elliprg: Op = special(
    sp.elliprg,
    lambda w, x, y, z: _surface(w, x, y, z),
    lambda w, x, y, z: _surface(w, y, z, x),
    lambda w, x, y, z: _surface(w, z, x, y),
    ranges=[(0.2, 0.8), (1.0, 2.0), (3.0, 4.0)],
)


def _mean_slope(mean: Any, a: Any, b: Any) -> Any:
    """The derivative by a of π b / (2 K(1 - a²/b²)), where a is the smaller one (19.8.5).

    That by the larger one follows from it, since the mean is homogeneous.
    """
    swapped = less(absolute(b), absolute(a))
    low, high = where(swapped, b, a), where(swapped, a, b)
    ratio = divide(low, high)
    tiny = less(absolute(ratio), 1e-9)  # there K is log(4 / ratio), and the square is none
    held = where(tiny, 0.5, ratio)
    slope = _km1_slope(ellipkm1(square(held)), square(held))
    usual = negative(square(divide(mean, high)) * (4 / math.pi) * held * slope)
    limit = divide(square(divide(mean, high)) * (2 / math.pi), where(tiny, ratio, 1.0))
    by_low = where(tiny, limit, usual)
    return where(swapped, divide(mean - low * by_low, high), by_low)


agm: Op = special(
    sp.agm,
    lambda m, a, b: _mean_slope(m, a, b),
    lambda m, a, b: _mean_slope(m, b, a),
    ranges=[(0.4, 0.8), (1.0, 2.0)],
)


def _degenerate(w: Any, x: Any, y: Any) -> Any:
    """The derivative of R_C by x; the elementary formula cancels where x is near y."""
    near = less(absolute(y - x), SMALL * y)
    apart = where(near, 2.0 * y, x)
    formula = divide(w - divide(1.0, sqrt(apart)), 2.0 * (y - apart))
    return where(near, divide(elliprd(y, y, x), -6.0), formula)


def _degenerate_last(w: Any, x: Any, y: Any) -> Any:
    """That by y: R_C is R_F(x, y, y), and homogeneous of degree -1/2 on both sides of the cut."""
    cut = less(y, 0.0)
    principal = negative(divide(0.5 * w + _times(x, _degenerate(w, x, y)), y))
    up = where(cut, 1.0, y)
    return where(cut, principal, divide(elliprd(x, up, up), -3.0))


elliprc: Op = special(
    sp.elliprc,
    lambda w, x, y: _degenerate(w, x, y),
    lambda w, x, y: _degenerate_last(w, x, y),
    ranges=[(0.2, 0.8), (1.0, 2.0)],
)

# R_J by the trapezoidal rule in u, with t = (the largest operand) exp(u): the integrands of its
# derivatives vanish at both ends with all of theirs, so the error is that of rounding.
_STEP = 0.35
_NODES = np.exp(np.arange(-75.0, 20.0, _STEP))


def _ray(*xs: Any) -> Any:
    """The direction in which t goes, and its scale: of complex operands between their angles.

    NaN where those leave no direction that is far from all singularities.
    """
    size = functools.reduce(maximum, map(absolute, xs))
    if all(type_of(x).dtype.kind != "c" for x in xs):
        return size
    angles = [arctan2(imag(x), real(x)) for x in xs]
    least, most = functools.reduce(minimum, angles), functools.reduce(maximum, angles)
    size = where(less(most - least, 3.2), size, math.nan)
    return size * exp(0.5j * (least + most))


def _integral(x: Any, y: Any, z: Any, p: Any) -> Any:
    """3/2 ∫ dt / (√(t + x) √(t + y) √(t + z) (t + p)) (19.16.2)."""
    scale = bind(STOP_GRADIENT, (_ray(x, y, z, p),))
    x, y, z, p, scale = (reshape(w, (*type_of(w).shape, 1)) for w in (x, y, z, p, scale))
    t = _NODES * scale
    root = sqrt(t + x) * sqrt(t + y) * sqrt(t + z)
    return total(divide(1.5 * _STEP * t, root * (t + p)), -1)


def _second_kind_integral(x: Any, y: Any, z: Any) -> Any:
    """-3/4 ∫ dt / (√(t + x)³ √(t + y) √(t + z)³), likewise."""
    scale = bind(STOP_GRADIENT, (_ray(x, y, z),))
    x, y, z, scale = (reshape(w, (*type_of(w).shape, 1)) for w in (x, y, z, scale))
    t = _NODES * scale
    root = sqrt(t + x) * sqrt(t + y) * sqrt(t + z)
    return total(divide(-0.75 * _STEP * t, root * (t + x) * (t + z)), -1)


def _ordered(a: Any, b: Any) -> tuple[Any, Any]:
    """Both, the larger one last; each as it is, where `maximum` would halve derivatives."""
    swapped = less(b, a)
    return where(swapped, b, a), where(swapped, a, b)


def _third_kind(x: Any, y: Any, z: Any, p: Any) -> Any:
    """R_J, which for p < 0 is Cauchy's principal value, by R_J of another p > 0 (19.20.14)."""
    if any(type_of(w).dtype.kind == "c" for w in (x, y, z, p)):
        return _integral(x, y, z, p)
    cut = less(p, 0.0)
    a, b, c = (where(cut, w, 1.0) for w in (x, y, z))  # else roots of 0 have no derivative
    low, high = _ordered(a, b)
    middle, high = _ordered(high, c)
    q, inner = where(cut, negative(p), 1.0), low * middle  # whose order is of no account
    turned = divide(high * (low + middle + q) - inner, high + q)
    found = _integral(x, y, z, where(cut, turned, p))
    rest = inner + turned * q
    last = sqrt(divide(inner * high, rest)) * elliprc(rest, turned * q)
    principal = (turned - high) * found - 3.0 * elliprf(a, b, c) + 3.0 * last
    return where(cut, divide(principal, q + high), found)


elliprj: Op = special(
    sp.elliprj,
    *(slope_of(_third_kind, k) for k in range(4)),
    ranges=[(0.2, 0.8), (1.0, 2.0), (3.0, 4.0), (0.5, 2.5)],
)
