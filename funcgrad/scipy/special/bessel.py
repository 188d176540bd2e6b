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
    divide,
    greater,
    isinf,
    negative,
    power,
    sign,
    sqrt,
    trunc,
    where,
)
from funcgrad.ops.bessel import far_or_near, far_quotient, modified
from funcgrad.ops.transcendental import exp, log
from funcgrad.scipy.special.define import fixed, over, special, special_outputs
from funcgrad.scipy.special.differences import above, by_differences, growing, oscillating
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


jv: Op = _of_order(sp.jv, lambda _, v, x: _half(jv, v, x, -1.0), complex_=True)
yv: Op = _of_order(sp.yv, lambda _, v, x: _half(yv, v, x, -1.0), complex_=True)
iv: Op = _of_order(sp.iv, lambda _, v, x: _half(iv, v, x, 1.0), complex_=True, step=growing)
kv: Op = _of_order(
    sp.kv, lambda _, v, x: negative(_half(kv, v, x, 1.0)), complex_=True, step=growing
)
hankel1: Op = _of_order(sp.hankel1, lambda _, v, z: _half(hankel1, v, z, -1.0), complex_=True)
hankel2: Op = _of_order(sp.hankel2, lambda _, v, z: _half(hankel2, v, z, -1.0), complex_=True)
kn: Op = _of_whole_order(sp.kn, lambda _, n, x: negative(_half(kv, trunc(n), x, 1.0)))
yn: Op = _of_whole_order(sp.yn, lambda _, n, x: _half(yv, trunc(n), x, -1.0))

# Times exp(-|imag z|), exp(-|real z|), exp(z), exp(-iz) and exp(iz). The first two have no complex
# derivative; of real numbers the first one is 1.
jve: Op = _of_order(sp.jve, lambda _, v, x: _half(jve, v, x, -1.0))
yve: Op = _of_order(sp.yve, lambda _, v, x: _half(yve, v, x, -1.0))
ive: Op = _of_order(sp.ive, lambda y, v, x: _half(ive, v, x, 1.0) - sign(x) * y, step=growing)
kve: Op = _of_order(
    sp.kve, lambda y, v, x: _kve_slope(y, _half(kve, v, x, 1.0)), complex_=True, step=growing
)


def _kve_slope(y: Any, half: Any) -> Any:
    return where(isinf(half), negative(half), y - half)


hankel1e: Op = _of_order(
    sp.hankel1e, lambda y, v, z: _half(hankel1e, v, z, -1.0) - 1j * y, complex_=True
)
hankel2e: Op = _of_order(
    sp.hankel2e, lambda y, v, z: _half(hankel2e, v, z, -1.0) + 1j * y, complex_=True
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


struve: Op = _of_order(sp.struve, lambda y, v, x: _struve_slope(y, v, x))
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


def _over_less_one(y: Any, x: Any) -> Any:
    """(y - 1) / x, of an even function y that is 1 at 0."""
    return over(y - 1.0, x, 0.0)


_it2j0y0: tuple[Op, ...] = special_outputs(
    sp.it2j0y0,
    [lambda _, x: negative(_over_less_one(j0(x), x))],
    [lambda _, x: negative(divide(y0(x), x))],
    ranges=[POSITIVE],
)
_it2i0k0: tuple[Op, ...] = special_outputs(
    sp.it2i0k0,
    [lambda _, x: _over_less_one(i0(x), x)],
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


# Ai and Ai' times exp(2/3 x √x), Bi and Bi' times its reciprocal
_airye: tuple[Op, ...] = special_outputs(
    sp.airye,
    [lambda y, x: _airye[1](x) + sqrt(x) * y],
    [lambda y, x: x * _airye[0](x) + sqrt(x) * y],
    [lambda y, x: _airye[3](x) - _root(x) * y],
    [lambda y, x: x * _airye[2](x) - _root(x) * y],
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
