"""Bessel, Hankel, Kelvin, Struve and Airy functions, differentiable in their argument.

Derivatives are those of Abramowitz and Stegun 1964, 9.1.27, 9.6.26, 9.9.14 and 12.1.11 to 12.1.15,
for complex arguments too where SciPy takes them. Those by the order are differences of values
(`differences.py`); `kn` and `yn` round theirs.
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
    greater,
    isinf,
    less,
    logical_and,
    negative,
    not_equal,
    power,
    sign,
    sqrt,
    square,
    trunc,
    where,
)
from funcgrad.ops.bessel import far_or_near, far_quotient, modified
from funcgrad.ops.transcendental import exp, log, log1p
from funcgrad.scipy.special.define import fixed, over, special, special_outputs
from funcgrad.scipy.special.differences import (
    SHARE,
    above,
    by_differences,
    growing,
    oscillating,
)
from funcgrad.scipy.special.gamma_functions import gammaln, rgamma

ORDER = (0.3, 2.5)
ORDERS = [0, 1, 2]
POSITIVE = (0.5, 4.0)
WIDE = (-4.0, 4.0)

# ------------------------------------------------------------------------------- any order


def _of_order(
    ufunc: Any,
    slope: Callable[..., Any],
    complex_: bool = False,
    step: Callable[..., Any] = oscillating,
) -> Op:
    def itself(v: Any, x: Any) -> Any:
        return op(v, x)

    by_order, also = by_differences(itself, 0, step), [1] if complex_ else []
    op: Op = special(ufunc, by_order, slope, ranges=[ORDER, POSITIVE], complex_=also)
    return op


def _of_whole_order(ufunc: Any, slope: Callable[..., Any]) -> Op:
    refused = fixed(ufunc.__name__, "the order, which is a whole number")
    return special(ufunc, refused, slope, ranges=[ORDERS, POSITIVE])


def _half(f: Op, v: Any, x: Any, sign: float) -> Any:
    """(f of the order below + sign · f of the order above) / 2.

    That of the order above is the larger one where they overflow.
    """
    above = sign * f(v + 1.0, x)
    return where(isinf(above), above, 0.5 * (f(v - 1.0, x) + above))


def _first_kind(f: Op, y: Any, v: Any, x: Any, sign: float) -> Any:
    """The same of J and I; of an order near 0, where v - 1 is rounded, v/x f ± f of that above."""
    small = logical_and(less(absolute(v), 0.25), not_equal(x, 0.0))
    near = where(small, v, 0.25)
    low = divide(near, where(small, x, 1.0)) * y + sign * f(near + 1.0, x)
    return where(small, low, _half(f, where(small, 0.25, v), x, sign))


jv: Op = _of_order(sp.jv, lambda y, v, x: _first_kind(jv, y, v, x, -1.0), complex_=True)
yv: Op = _of_order(sp.yv, lambda _, v, x: _half(yv, v, x, -1.0), complex_=True)
iv: Op = _of_order(
    sp.iv, lambda y, v, x: _first_kind(iv, y, v, x, 1.0), complex_=True, step=growing
)
kv: Op = _of_order(
    sp.kv, lambda _, v, x: negative(_half(kv, v, x, 1.0)), complex_=True, step=growing
)
hankel1: Op = _of_order(sp.hankel1, lambda _, v, z: _half(hankel1, v, z, -1.0), complex_=True)
hankel2: Op = _of_order(sp.hankel2, lambda _, v, z: _half(hankel2, v, z, -1.0), complex_=True)
kn: Op = _of_whole_order(sp.kn, lambda _, n, x: negative(_half(kv, trunc(n), x, 1.0)))
yn: Op = _of_whole_order(sp.yn, lambda _, n, x: _half(yv, trunc(n), x, -1.0))

# Times exp(-|imag z|), exp(-|real z|), exp(z), exp(-iz) and exp(iz). The first two have no complex
# derivative; of real numbers the first one is 1.
jve: Op = _of_order(sp.jve, lambda y, v, x: _first_kind(jve, y, v, x, -1.0))
yve: Op = _of_order(sp.yve, lambda _, v, x: _half(yve, v, x, -1.0))


def _far_slope(z: Any, v: Any, factor: Any) -> tuple[Any, Any]:
    """Σ k a_k / (factor z)^k of the expansions for large z (DLMF 10.17, 10.40), and where it holds.

    These functions are Σ a_k / (factor z)^k times a multiple of z^-½, whose slopes by recurrences
    are differences of what is larger by z.
    """
    far = greater(absolute(z), 400.0 * (1.0 + square(v)))
    w, mu = factor * where(far, z, 1000.0), 4.0 * square(where(far, v, 0.0))
    term, total = 1.0, 0.0
    for k in range(1, 10):
        term = divide(term * (mu - (2.0 * k - 1.0) ** 2), (8.0 * k) * w)
        total = total + k * term
    return far, divide(total, where(far, z, 1000.0))


def _decaying(y: Any, v: Any, z: Any, factor: Any, prefactor: Any, near: Any) -> Any:
    """The slope of such a function: far away that of its expansion."""
    far, series = _far_slope(z, v, factor)
    safe = where(far, z, 1000.0)
    outer = negative(divide(0.5 * y, safe)) - prefactor(where(far, v, 0.0), safe) * series
    return where(far, outer, near)


def _hankel_factor(sign: float) -> Callable[..., Any]:
    """√(2 / (π z)) exp(∓ i (π v / 2 + π / 4))."""
    return lambda v, z: (
        sqrt(divide(2 / math.pi, z)) * exp(-1j * sign * (math.pi / 2 * v + math.pi / 4))
    )


def _ive_slope(y: Any, v: Any, x: Any) -> Any:
    near = _first_kind(ive, y, v, x, 1.0) - sign(x) * y
    factor = lambda _, x: sqrt(divide(1 / (2 * math.pi), x))
    return where(greater(x, 0.0), _decaying(y, v, absolute(x), -1.0, factor, near), near)


ive: Op = _of_order(sp.ive, lambda y, v, x: _ive_slope(y, v, x), step=growing)


def _kve_slope(y: Any, v: Any, z: Any) -> Any:
    half = _half(kve, v, z, 1.0)
    near = where(isinf(half), negative(half), y - half)
    return _decaying(y, v, z, 1.0, lambda _, z: sqrt(divide(math.pi / 2, z)), near)


kve: Op = _of_order(sp.kve, lambda y, v, x: _kve_slope(y, v, x), complex_=True, step=growing)


def _hankel_slope(f: Op, y: Any, v: Any, z: Any, sign: float) -> Any:
    near = _half(f, v, z, -1.0) - (1j * sign) * y
    return _decaying(y, v, z, -1j * sign, _hankel_factor(sign), near)


hankel1e: Op = _of_order(
    sp.hankel1e, lambda y, v, z: _hankel_slope(hankel1e, y, v, z, 1.0), complex_=True
)
hankel2e: Op = _of_order(
    sp.hankel2e, lambda y, v, z: _hankel_slope(hankel2e, y, v, z, -1.0), complex_=True
)


def _struve_term(v: Any, x: Any) -> Any:
    high = greater(v, 150.0)  # where the gamma function overflows
    low = power(0.5 * where(high, 1.0, x), where(high, 0.0, v)) * rgamma(where(high, 0.0, v) + 1.5)
    found = where(high, exp(v * log(0.5 * where(high, x, 2.0)) - gammaln(v + 1.5)), low)
    return found * (0.5 / math.sqrt(math.pi))


def _struve_slope(y: Any, v: Any, x: Any) -> Any:
    """Far to the right the term and the function of the order above are equal but for the end."""
    far = greater(x, 25.0)  # there the form of DLMF 11.4.27
    near = where(far, 1.0, x)
    inside = _half(struve, v, near, -1.0) + _struve_term(v, near)
    outer = where(far, x, 1.0)
    return where(far, struve(v - 1.0, outer) - divide(v, outer) * y, inside)


def _with_power(v: Any, x: Any) -> Any:
    """Struve's function has a part that grows as the power v of x."""
    return divide(1.0, divide(1.0, oscillating(v, x)) + divide(log1p(absolute(x)), SHARE))


struve: Op = _of_order(sp.struve, lambda y, v, x: _struve_slope(y, v, x), step=_with_power)
modstruve: Op = _of_order(
    sp.modstruve, lambda _, v, x: _half(modstruve, v, x, 1.0) + _struve_term(v, x)
)

# -------------------------------------------------------------------------- orders 0 and 1

j0: Op = special(sp.j0, lambda _, x: negative(j1(x)), ranges=[WIDE])
j1: Op = special(sp.j1, lambda _, x: 0.5 * (j0(x) - jv(2.0, x)), ranges=[WIDE])
y0: Op = special(sp.y0, lambda _, x: negative(y1(x)), ranges=[POSITIVE])
y1: Op = special(sp.y1, lambda _, x: 0.5 * (y0(x) - yv(2.0, x)), ranges=[POSITIVE])
i0, i1, i0e, i1e = modified(
    lambda ufunc, partial: special(ufunc, partial, ranges=[WIDE]),
    (sp.i0, sp.i1, sp.i0e, sp.i1e),
    lambda: lambda x: iv(2.0, x),
    lambda: lambda x: ive(2.0, x),
)
k0: Op = special(sp.k0, lambda _, x: negative(k1(x)), ranges=[POSITIVE])
k1: Op = special(sp.k1, lambda _, x: -0.5 * (k0(x) + kv(2.0, x)), ranges=[POSITIVE])
# K_1 / K_0 - 1 is that quotient of the modified functions at -x
k0e: Op = special(
    sp.k0e,
    lambda _, x: far_or_near(
        x, lambda x: far_quotient(negative(x)) * k0e(x), lambda x: k0e(x) - k1e(x)
    ),
    ranges=[POSITIVE],
)
k1e: Op = special(
    sp.k1e,
    lambda _, x: far_or_near(
        x,
        lambda x: negative(far_quotient(negative(x)) * k0e(x)) - divide(k1e(x), x),
        lambda x: k1e(x) - 0.5 * (k0e(x) + kve(2.0, x)),
    ),
    ranges=[POSITIVE],
)

_itj0y0: tuple[Op, ...] = special_outputs(
    sp.itj0y0, [lambda _, x: j0(x)], [lambda _, x: y0(x)], ranges=[POSITIVE]
)
_iti0k0: tuple[Op, ...] = special_outputs(
    sp.iti0k0, [lambda _, x: i0(x)], [lambda _, x: k0(x)], ranges=[POSITIVE]
)


def _over_less_one(y: Any, x: Any, sign: float) -> Any:
    """(y - 1) / x, of the Bessel function y that is 1 at 0: near it by the series."""
    near = less(absolute(x), 1.5)
    small = where(near, x, 1.0)
    quarter, term, total = sign * 0.25 * square(small), sign * 0.25 * small, 0.0
    for k in range(1, 16):
        total = total + term
        term = divide(term * quarter, float((k + 1) ** 2))
    return where(near, total, divide(y - 1.0, where(near, 1.0, x)))


_it2j0y0: tuple[Op, ...] = special_outputs(
    sp.it2j0y0,
    [lambda _, x: negative(_over_less_one(j0(x), x, -1.0))],
    [lambda _, x: negative(divide(y0(x), x))],
    ranges=[POSITIVE],
)
_it2i0k0: tuple[Op, ...] = special_outputs(
    sp.it2i0k0,
    [lambda _, x: _over_less_one(i0(x), x, 1.0)],
    [lambda _, x: negative(divide(k0(x), x))],
    ranges=[POSITIVE],
)


def _moment_step(a: Any, p: Any, v: Any) -> Any:
    return above(p + v + 1.0, oscillating(p + v, a))


# ∫ x^p J_v(2 a x) dx over the unit interval; integration by parts gives its derivative.
besselpoly: Op = special(
    sp.besselpoly,
    lambda y, a, p, v: divide(jv(v, 2.0 * a) - (p + 1.0) * y, a),
    by_differences(lambda *xs: besselpoly(*xs), 1, _moment_step),
    by_differences(lambda *xs: besselpoly(*xs), 2, _moment_step),
    ranges=[POSITIVE, ORDER, ORDER],
)
itstruve0: Op = special(sp.itstruve0, lambda _, x: struve(0.0, x), ranges=[POSITIVE])
itmodstruve0: Op = special(sp.itmodstruve0, lambda _, x: modstruve(0.0, x), ranges=[POSITIVE])
it2struve0: Op = special(
    sp.it2struve0, lambda _, x: negative(divide(struve(0.0, x), x)), ranges=[POSITIVE]
)


# ---------------------------------------------------------------------------------- Kelvin

ber: Op = special(sp.ber, lambda _, x: berp(x), ranges=[WIDE])
bei: Op = special(sp.bei, lambda _, x: beip(x), ranges=[WIDE])
ker: Op = special(sp.ker, lambda _, x: kerp(x), ranges=[POSITIVE])
kei: Op = special(sp.kei, lambda _, x: keip(x), ranges=[POSITIVE])
# From the differential equation x²w'' + xw' = ix²w of w = ber + i bei; at 0, w'' = i/2.
berp: Op = special(sp.berp, lambda y, x: negative(bei(x)) - over(y, x, 0.0), ranges=[WIDE])
beip: Op = special(sp.beip, lambda y, x: ber(x) - over(y, x, 0.5), ranges=[WIDE])
kerp: Op = special(sp.kerp, lambda y, x: negative(kei(x)) - divide(y, x), ranges=[POSITIVE])
keip: Op = special(sp.keip, lambda y, x: ker(x) - divide(y, x), ranges=[POSITIVE])

# be = ber + i bei, ke = ker + i kei, and their derivatives
_kelvin: tuple[Op, ...] = special_outputs(
    sp.kelvin,
    [lambda _, x: _kelvin[2](x)],
    [lambda _, x: _kelvin[3](x)],
    [lambda y, x: 1j * _kelvin[0](x) - divide(y, x)],
    [lambda y, x: 1j * _kelvin[1](x) - divide(y, x)],
    ranges=[POSITIVE],
)

# ------------------------------------------------------------------------------------ Airy

_airy: tuple[Op, ...] = special_outputs(
    sp.airy,
    [lambda _, x: _airy[1](x)],
    [lambda _, x: x * _airy[0](x)],
    [lambda _, x: _airy[3](x)],
    [lambda _, x: x * _airy[2](x)],
    ranges=[WIDE],
)


def _root(x: Any) -> Any:
    """√x, and 0 to the left, where the scale of Bi is 1."""
    return where(greater(x, 0), sqrt(where(greater(x, 0), x, 1.0)), 0.0)


# The expansions for large x (DLMF 9.7.1): u_k, and v_k = -u_k (6k + 1) / (6k - 1)
_AIRY_U = [1.0]
for _k in range(1, 12):
    _AIRY_U.append(
        _AIRY_U[-1] * (6 * _k - 5) * (6 * _k - 3) * (6 * _k - 1) / (216 * _k * (2 * _k - 1))
    )
_AIRY_V = [-u * (6 * k + 1) / (6 * k - 1) for k, u in enumerate(_AIRY_U)]


def _airy_far(y: Any, x: Any, near: Any, terms: list[float], sign: float, power_: float) -> Any:
    """The slope of x^power Σ c_k (sign / ζ)^k, ζ = 2/3 x^(3/2), where it is y: near cancels there.

    The factor is y over the sum.
    """
    far = greater(x, 30.0)
    safe = where(far, x, 30.0)
    w = divide(1.5 * sign, safe * sqrt(safe))
    total, moved = 0.0, 0.0
    for k in range(len(terms) - 1, -1, -1):
        total, moved = total * w + terms[k], moved * w + k * terms[k]
    outer = divide(y, safe) * (power_ - divide(1.5 * moved, total))
    return where(far, outer, near)


# Ai and Ai' times exp(2/3 x √x), Bi and Bi' times its reciprocal
_airye: tuple[Op, ...] = special_outputs(
    sp.airye,
    [lambda y, x: _airy_far(y, x, _airye[1](x) + sqrt(x) * y, _AIRY_U, -1.0, -0.25)],
    [lambda y, x: _airy_far(y, x, x * _airye[0](x) + sqrt(x) * y, _AIRY_V, -1.0, 0.25)],
    [lambda y, x: _airy_far(y, x, _airye[3](x) - _root(x) * y, _AIRY_U, 1.0, -0.25)],
    [lambda y, x: _airy_far(y, x, x * _airye[2](x) - _root(x) * y, _AIRY_V, 1.0, 0.25)],
    ranges=[POSITIVE],
)
_itairy: tuple[Op, ...] = special_outputs(
    sp.itairy,
    [lambda _, x: _airy[0](x)],
    [lambda _, x: _airy[2](x)],
    [lambda _, x: _airy[0](negative(x))],
    [lambda _, x: _airy[2](negative(x))],
    ranges=[POSITIVE],
    smooth=False,  # SciPy's series have five digits
)
