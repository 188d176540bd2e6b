"""Mathieu's functions, and spheroidal wave functions.

Derivatives by the angle or the radius are SciPy's second output and the differential equation of
the function; those by q and by c are differences of values (`differences.py`). Orders and degrees
are whole numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sp

from funcgrad.core.forms import Op
from funcgrad.ops.arithmetic import (
    absolute,
    divide,
    equal,
    less,
    maximum,
    minimum,
    negative,
    remainder,
    sqrt,
    square,
    where,
)
from funcgrad.ops.transcendental import cos, cosh
from funcgrad.scipy.special.define import Range, fixed, special, special_outputs
from funcgrad.scipy.special.differences import SHARE, above, by_differences

MORE = [1, 2, 1]  # values of q and c at which samples are not differentiated by them

# ------------------------------------------------------------------------- Mathieu's functions


def _share_of_q(_: Any, q: Any, *__: Any) -> Any:
    """Of the way to the nearest branch point, which is imaginary and not below 1.4."""
    return 0.0625 + absolute(q) / 256.0


def _characteristic(ufunc: Any) -> Op:
    """The values a for which y'' + (a - 2 q cos 2x) y = 0 has even, or odd, periodic solutions."""
    by_q = by_differences(lambda *xs: op(*xs), 1, _share_of_q)
    op: Op = special(ufunc, fixed(ufunc.__name__, "the order m"), by_q, ranges=[MORE, (0.5, 3.0)])
    return op


mathieu_a, mathieu_b = map(_characteristic, (sp.mathieu_a, sp.mathieu_b))


def _mathieu(ufunc: Any, value: Op, modified: bool) -> tuple[Op, ...]:
    """A solution and its derivative by the angle, in degrees, or by x of the modified equation."""
    turn = 1.0 if modified else math.pi / 180
    order = fixed(ufunc.__name__, "the order m")

    def step(m: Any, q: Any, x: Any) -> Any:
        if not modified:
            return _share_of_q(m, q)
        # undefined of q < 0; they are waves of the phase 2 √q cosh x
        wave = divide(SHARE * sqrt(maximum(q, 1e-300)), cosh(minimum(absolute(x), 300.0)))
        return above(q, minimum(_share_of_q(m, q), wave))

    def bend(_: Any, m: Any, q: Any, x: Any) -> Any:
        if modified:
            factor = value(m, q) - 2.0 * q * cosh(2.0 * x)
        else:
            factor = 2.0 * q * cos(2.0 * turn * x) - value(m, q)
        return turn * factor * parts[0](m, q, x)

    by_q = [by_differences(lambda *xs, i=i: parts[i](*xs), 1, step) for i in (0, 1)]
    parts: tuple[Op, ...] = special_outputs(
        ufunc,
        [order, by_q[0], lambda _, m, q, x: turn * parts[1](m, q, x)],
        [order, by_q[1], bend],
        ranges=[[1, 2, 3], (1.0, 3.0), (0.2, 1.5) if modified else (10.0, 80.0)],
    )
    return parts


_cem, _sem = _mathieu(sp.mathieu_cem, mathieu_a, False), _mathieu(sp.mathieu_sem, mathieu_b, False)
_modcem1 = _mathieu(sp.mathieu_modcem1, mathieu_a, True)
_modcem2 = _mathieu(sp.mathieu_modcem2, mathieu_a, True)
_modsem1 = _mathieu(sp.mathieu_modsem1, mathieu_b, True)
_modsem2 = _mathieu(sp.mathieu_modsem2, mathieu_b, True)

# ------------------------------------------------------------------ spheroidal wave functions

ORDERS, DEGREES = [0, 1, 1], [2, 3, 1]


def _share_of_c(_: Any, __: Any, c: Any, *___: Any) -> Any:
    return 0.0625 + absolute(c) / 256.0


def _radial(m: Any, n: Any, c: Any, x: Any) -> Any:
    """Of the radius: powers of c near 0, and waves of the phase c x far away."""
    found = where(equal(c, 0.0), 0.0625, above(c, _share_of_c(m, n, c)))
    return minimum(found, divide(SHARE, 1.0 + absolute(x)))


def _reflected(function: Callable[..., Any], odd: bool) -> Callable[..., Any]:
    """Below c = 0, where SciPy has no values: λ and the functions of the angle depend on c², and
    those of the radius are, as spherical Bessel functions of c x, even or odd as n is."""

    def anywhere(m: Any, n: Any, c: Any, *x: Any) -> Any:
        found = function(m, n, absolute(c), *x)
        turned = less(c, 0.0) & equal(remainder(n, 2.0), 1.0)
        return where(turned, negative(found), found) if odd else found

    return anywhere


def _within(function: Callable[..., Any], room: float) -> Callable[..., Any]:
    """`function`, and NaN where SciPy would write beyond its arrays, which kills the process.

    They have room for so many coefficients, and c + (n - m) / 2 and some are computed. The steps
    of a difference must not lead from where a value can be computed to where none can.
    """

    def guarded(m: Any, n: Any, c: Any, *x: Any) -> Any:
        fits = less(absolute(c) + 0.5 * (n - m), room)
        return where(fits, function(m, n, where(fits, c, 1.0), *x), np.nan)

    return guarded


def _whole(ufunc: Any) -> list[Any]:
    return [fixed(ufunc.__name__, operand) for operand in ("the order m", "the degree n")]


def _separation(ufunc: Any) -> Op:
    even = _reflected(lambda *xs: op(*xs), odd=False)
    by_c = by_differences(_within(even, 280.0), 2, _share_of_c)
    op: Op = special(ufunc, *_whole(ufunc), by_c, ranges=[ORDERS, DEGREES, (1.0, 3.0)])
    return op


pro_cv, obl_cv = map(_separation, (sp.pro_cv, sp.obl_cv))


def _inner(sign: float) -> Callable[..., Any]:
    """The second derivative of (1-x²) w'' - 2x w' + (λ ∓ c²x² - m²/(1-x²)) w = 0."""

    def bend(w: Any, slope: Any, cv: Any, m: Any, c: Any, x: Any) -> Any:
        rest = 1.0 - square(x)
        factor = cv - sign * square(c * x) - divide(square(m), rest)
        return divide(2.0 * x * slope - factor * w, rest)

    return bend


def _outer(w: Any, slope: Any, cv: Any, m: Any, c: Any, x: Any) -> Any:
    """That of (1+x²) w'' + 2x w' - (λ - c²x² - m²/(1+x²)) w = 0."""
    whole = 1.0 + square(x)
    factor = cv - square(c * x) - divide(square(m), whole)
    return divide(factor * w - 2.0 * x * slope, whole)


def _spheroidal(
    ufunc: Any, given: Any, value: Op, bend: Callable[..., Any], x: Range, *, by_c: bool = True
) -> None:
    """`ufunc` with λ by itself, and the one that is `given` λ before x."""

    def curved(_: Any, m: Any, n: Any, c: Any, x: Any) -> Any:
        return bend(parts[0](m, n, c, x), parts[1](m, n, c, x), value(m, n, c), m, c, x)

    def curved_given(_: Any, m: Any, n: Any, c: Any, cv: Any, x: Any) -> Any:
        return bend(known[0](m, n, c, cv, x), known[1](m, n, c, cv, x), cv, m, c, x)

    refused = fixed(ufunc.__name__, "c: SciPy's values have too few digits for differences")
    outward = bend is _outer or x[0] > 1
    changes = [
        by_differences(
            _within(_reflected(lambda *xs, i=i: parts[i](*xs), outward), 165.0),
            2,
            _radial if outward else _share_of_c,
        )
        for i in (0, 1)
    ]
    if not by_c:
        changes = [refused, refused]
    parts: tuple[Op, ...] = special_outputs(
        ufunc,
        [*_whole(ufunc), changes[0], lambda _, m, n, c, x: parts[1](m, n, c, x)],
        [*_whole(ufunc), changes[1], curved],
        ranges=[ORDERS, DEGREES, (1.0, 3.0) if by_c else MORE, x],
        smooth=by_c,
    )
    alone = [fixed(given.__name__, which) for which in ("c alone", "its characteristic value")]
    known: tuple[Op, ...] = special_outputs(
        given,
        [*_whole(given), *alone, lambda _, *xs: known[1](*xs)],
        [*_whole(given), *alone, curved_given],
        ranges=[ORDERS, DEGREES, MORE, [2, 12, 2], x],
        smooth=False,  # of a characteristic value that is none it is no solution
    )


_spheroidal(sp.pro_ang1, sp.pro_ang1_cv, pro_cv, _inner(1.0), (-0.8, 0.8))
_spheroidal(sp.obl_ang1, sp.obl_ang1_cv, obl_cv, _inner(-1.0), (-0.8, 0.8))
_spheroidal(sp.pro_rad1, sp.pro_rad1_cv, pro_cv, _inner(1.0), (1.2, 2.0))
_spheroidal(sp.pro_rad2, sp.pro_rad2_cv, pro_cv, _inner(1.0), (1.2, 2.0), by_c=False)
_spheroidal(sp.obl_rad1, sp.obl_rad1_cv, obl_cv, _outer, (0.5, 2.0))
_spheroidal(sp.obl_rad2, sp.obl_rad2_cv, obl_cv, _outer, (0.5, 2.0), by_c=False)
