"""Orthogonal polynomials, differentiable in their argument (NIST Handbook 2010, 18.9).

The derivative of a polynomial is one of a degree less in the family with larger parameters. Those
by the degree, between the whole numbers a function that is no polynomial, are elementary for
Chebyshev's and a parameter's of Kummer's function for Laguerre's; the others, and those by the
parameters of a family, are differences of values (`differences.py`). Of degrees below the middle of
a symmetry, where SciPy's values are coarse or none, it is used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.special as sp

from funcgrad.core.forms import Op
from funcgrad.core.forms.elementwise import UFUNCS
from funcgrad.core.types import Array
from funcgrad.ops.arithmetic import (
    absolute,
    divide,
    equal,
    floor,
    greater,
    greater_equal,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    negative,
    remainder,
    rint,
    sqrt,
    where,
)
from funcgrad.ops.pointwise import sinc
from funcgrad.ops.transcendental import arccos, arccosh, arcsin, cos, cosh, sin, sinh
from funcgrad.scipy.special.define import NAMES, Range, fixed, over, special
from funcgrad.scipy.special.differences import BESIDE, by_differences, from_poles, mild
from funcgrad.scipy.special.hypergeometric import kummer_by_first

DEGREES = [0, 1, 2, 3]
BETWEEN = (0.3, 3.5)
INSIDE = (-0.9, 0.9)
PARAMETER = (0.5, 2.0)


def _polynomial(
    ufunc: Any,
    slope: Callable[..., Any],
    parameters: int = 0,
    x: Range = INSIDE,
    poles: Callable[..., Any] = lambda n, *_: (n + 1.0,),
    by_degree: Callable[..., Any] | None = None,
    by_parameter: Callable[..., Any] | None = None,
) -> Op:
    """The polynomial `ufunc(n, *parameters, x)`, with its slope where n is not 0.

    `poles` tells the operands of the gamma functions above the line, where n is no whole number;
    `by_degree` and `by_parameter` take the place of differences, which they are given.
    """
    by = [
        by_differences(lambda *xs: op(*xs), k, _steps(k, poles), share=BESIDE if k else 1.0)
        for k in range(1 + parameters)
    ]
    if by_degree is not None:
        by[0] = by_degree(by[0])
    if by_parameter is not None:
        by[1] = by_parameter(by[1])
    ranges: Sequence[Range] = [BETWEEN, *[PARAMETER] * parameters, x]
    op: Op = special(ufunc, *by, _masked(slope, 1 + parameters), ranges=ranges)
    return op


def _steps(k: int, poles: Callable[..., Any]) -> Callable[..., Any]:
    """The step by the degree, or by a parameter, which must not lead across poles.

    Polynomials have none in a parameter; but SciPy's factors do, at integers and halves of these.
    """

    def by_degree(*xs: Any) -> Any:
        found = mild(*xs, math.pi)
        for x in poles(*xs[:-1]):
            found = from_poles(x, found)
        return found

    def by_parameter(*xs: Any) -> Any:
        whole = logical_and(equal(xs[0], floor(xs[0])), greater_equal(xs[0], 0))
        found = mild(*xs)
        for x in poles(*xs[:-1]):
            found = from_poles(where(whole, 1.0, x), found)
        return found

    return by_parameter if k else by_degree


def _about(middle: float, sign: float) -> Callable[..., Any]:
    """Of a slope by the degree: the function of 2·middle - n is sign times that of n."""

    def reflected(slope: Callable[..., Any]) -> Callable[..., Any]:
        def by_degree(y: Any, n: Any, x: Any) -> Any:
            below = less(n, middle)
            found = slope(sign * y, where(below, 2 * middle - n, n), x)
            return where(below, -sign * found, found)

        return by_degree

    return reflected


def _folded(middle: float, sign: float, slope: Callable[..., Any]) -> Callable[..., Any]:
    """Likewise of a slope by x, which is 0 in the middle of what is odd."""

    def by_x(n: Any, x: Any) -> Any:
        below = less(n, middle)
        none = logical_and(equal(n, middle), sign < 0)
        found = slope(where(none, 1.0, where(below, 2 * middle - n, n)), x)
        return where(none, 0.0, where(below, sign * found, found))

    return by_x


def _angle(scale: float, turn: Callable[..., Any]) -> Callable[..., Any]:
    """That of cos(n θ), x = cos θ, and of cosh beyond 1; `turn` goes to Chebyshev's variable."""

    def slope(_: Any, n: Any, x: Any) -> Any:
        u = turn(x)
        far, low = greater(u, 1.0), where(less(u, -1.0), math.nan, 1.0)
        inner, outer = arccos(where(far, 0.5, u)), arccosh(where(far, u, 1.5))
        return scale * low * where(far, outer * sinh(n * outer), -inner * sin(n * inner))

    return slope


def _second_angle(turn: Callable[..., Any]) -> Callable[..., Any]:
    """That of sin((n + 1) θ) / sin θ: θ cos((n + 1) θ) / sin θ."""

    def slope(_: Any, n: Any, x: Any) -> Any:
        u = turn(x)
        far, low = greater(u, 1.0), where(less(u, -1.0), math.nan, 1.0)
        inner, outer = arccos(where(far, 0.5, u)), arccosh(where(far, u, 1.5))
        near = divide(cos((n + 1.0) * inner), sinc(divide(inner, math.pi)))
        return low * where(far, cosh((n + 1.0) * outer) * over(outer, sinh(outer), 1.0), near)

    return slope


def _first_slope(n: Any, u: Any, low: Any = None) -> Any:
    """n U_{n-1}(u); of n between integers n sin(n θ) / sin θ, from the nearer end.

    SciPy's values have few digits there. `low` is (1 + u) / 2; with φ = π - θ, from the end at -1,
    the sine is sin(n π) cos(n φ) - cos(n π) sin(n φ).
    """
    n = absolute(n)  # it is even
    whole = rint(n)
    low = 0.5 * (1.0 + u) if low is None else low
    left, inside = less(u, 0.0), less(absolute(u), 1.0)
    share = where(left, low, 0.5 * (1.0 - u))
    as_it_is = logical_or(equal(n, whole), less_equal(absolute(share), 0.0))
    rest = where(as_it_is, 0.25, n - whole)
    inside = logical_and(inside, logical_not(as_it_is))
    sign = 1.0 - 2.0 * remainder(whole, 2.0)
    angle = 2.0 * arcsin(sqrt(where(inside, share, 0.25)))
    waves = n * divide(sinc(divide(n * angle, math.pi)), sinc(divide(angle, math.pi)))
    torn = divide(sin(math.pi * rest) * cos(n * angle), sin(angle))
    near = where(left, sign * (torn - cos(math.pi * rest) * waves), waves)
    grown = arccosh(where(less(1.0, u), u, 1.5))
    away = where(left, math.nan, divide(sinh(n * grown), sinh(grown)))
    between = where(inside, near, away)
    return n * where(as_it_is, eval_chebyu(where(as_it_is, n, 1.0) - 1.0, u), between)


def _masked(slope: Callable[..., Any], count: int) -> Callable[..., Any]:
    """`slope`, and 0 of what is constant: SciPy has no value of degree -1 in all families."""

    def lower(n: Array) -> tuple[Array, Array]:
        constant = equal(n, 0)
        return constant, where(constant, 1, n)

    def without(_: Any, n: Any, x: Any) -> Any:
        constant, n = lower(n)
        return where(constant, 0.0, slope(n, x))

    def one(_: Any, n: Any, a: Any, x: Any) -> Any:
        constant, n = lower(n)
        return where(constant, 0.0, slope(n, a, x))

    def two(_: Any, n: Any, a: Any, b: Any, x: Any) -> Any:
        constant, n = lower(n)
        return where(constant, 0.0, slope(n, a, b, x))

    return (without, one, two)[count - 1]


eval_gegenbauer: Op = _polynomial(
    sp.eval_gegenbauer,
    lambda n, a, x: 2.0 * a * eval_gegenbauer(n - 1, a + 1.0, x),
    1,
    poles=lambda n, a: (0.5 * (n + 2.0 * a), n + 2.0 * a, 2.0 * a, a + 0.5),
)
eval_jacobi: Op = _polynomial(
    sp.eval_jacobi,
    lambda n, a, b, x: 0.5 * (n + a + b + 1.0) * eval_jacobi(n - 1, a + 1.0, b + 1.0, x),
    2,
    poles=lambda n, a, b: (n + a + 1.0,),
)


def _laguerre_above(differences: Callable[..., Any]) -> Callable[..., Any]:
    """Below 0 by that of a + 1, L_n^a = L_n^(a+1) - L_(n-1)^(a+1): SciPy has no value below -1."""

    def slope(y: Any, n: Any, a: Any, x: Any) -> Any:
        low = less(a, 0.0)
        up = where(low, a + 1.0, a)
        before = differences(y, where(low, n - 1.0, 1.0), up, x)
        return differences(y, n, up, x) - where(low, before, 0.0)

    return slope


def _unless_constant(slope: Callable[..., Any]) -> Callable[..., Any]:
    """By a parameter, of which the function of degree 0 does not depend."""

    def by_parameter(y: Any, n: Any, a: Any, x: Any) -> Any:
        constant = equal(n, 0)
        return where(constant, 0.0, slope(y, where(constant, 1.0, n), a, x))

    return by_parameter


eval_genlaguerre: Op = _polynomial(
    sp.eval_genlaguerre,
    lambda n, a, x: -1.0 * eval_genlaguerre(n - 1, a + 1.0, x),
    1,
    poles=lambda n, a: (n + a + 1.0, a + 1.0),
    by_degree=_laguerre_above,
    by_parameter=lambda by: _unless_constant(_laguerre_above(by)),
)
eval_laguerre: Op = _polynomial(
    sp.eval_laguerre,
    lambda n, x: -1.0 * eval_genlaguerre(n - 1, 1.0, x),
    # it is Kummer's function of -n and 1
    by_degree=lambda _: lambda _, n, x: negative(kummer_by_first(None, negative(n), 1.0, x)),
)
LEGENDRE = _about(-0.5, 1.0)
eval_legendre: Op = _polynomial(
    sp.eval_legendre,
    _folded(-0.5, 1.0, lambda n, x: eval_gegenbauer(n - 1, 1.5, x)),
    by_degree=LEGENDRE,
)
eval_chebyt: Op = _polynomial(
    sp.eval_chebyt, lambda n, x: _first_slope(n, x), by_degree=lambda _: _angle(1.0, lambda x: x)
)
eval_chebyu: Op = _polynomial(
    sp.eval_chebyu,
    _folded(-1.0, -1.0, lambda n, x: 2.0 * eval_gegenbauer(n - 1, 2.0, x)),
    by_degree=lambda _: _second_angle(lambda x: x),
)


def _of_whole_degree(ufunc: np.ufunc, slope: Callable[..., Any]) -> Op:
    """A polynomial whose ufunc refuses degrees that are no integers, as those of slopes are."""

    def evaluate(n: Any, x: Any) -> Any:
        return ufunc(np.asarray(n).astype(np.int64), x)

    evaluate.__name__ = name = ufunc.__name__
    refused = fixed(name, "the degree n, which is a whole number")
    UFUNCS[ufunc] = op = special(evaluate, refused, _masked(slope, 1), ranges=[DEGREES, INSIDE])
    NAMES[name] = ufunc, "No derivative in the degree n, which is a whole number."
    return op


eval_hermite: Op = _of_whole_degree(sp.eval_hermite, lambda n, x: 2.0 * n * eval_hermite(n - 1, x))
eval_hermitenorm: Op = _of_whole_degree(
    sp.eval_hermitenorm, lambda n, x: n * eval_hermitenorm(n - 1, x)
)
# In other variables: 2x - 1 and x / 2
eval_sh_legendre: Op = _polynomial(
    sp.eval_sh_legendre,
    _folded(-0.5, 1.0, lambda n, x: 2.0 * eval_gegenbauer(n - 1, 1.5, 2.0 * x - 1.0)),
    x=(0.1, 0.9),
    by_degree=LEGENDRE,
)
eval_sh_chebyt: Op = _polynomial(
    sp.eval_sh_chebyt,
    lambda n, x: 2.0 * _first_slope(n, 2.0 * x - 1.0, x),
    x=(0.1, 0.9),
    by_degree=lambda _: _angle(1.0, lambda x: 2.0 * x - 1.0),
)
eval_sh_chebyu: Op = _polynomial(
    sp.eval_sh_chebyu,
    _folded(-1.0, -1.0, lambda n, x: 4.0 * eval_gegenbauer(n - 1, 2.0, 2.0 * x - 1.0)),
    x=(0.1, 0.9),
    by_degree=lambda _: _second_angle(lambda x: 2.0 * x - 1.0),
)
eval_chebyc: Op = _polynomial(
    sp.eval_chebyc,
    lambda n, x: _first_slope(n, 0.5 * x),
    by_degree=lambda _: _angle(2.0, lambda x: 0.5 * x),
)
eval_chebys: Op = _polynomial(
    sp.eval_chebys,
    _folded(-1.0, -1.0, lambda n, x: eval_gegenbauer(n - 1, 2.0, 0.5 * x)),
    by_degree=lambda _: _second_angle(lambda x: 0.5 * x),
)
eval_sh_jacobi: Op = _polynomial(
    sp.eval_sh_jacobi,
    lambda n, p, q, x: n * eval_sh_jacobi(n - 1, p + 2.0, q + 1.0, x),
    2,
    x=(0.1, 0.9),
    poles=lambda n, p, q: (n + 1.0, n + p, n + p - q + 1.0, 2.0 * n + p, p - q + 1.0, q),
)
lpmv: Op = special(
    sp.lpmv,
    fixed("lpmv", "the order m, which is a whole number"),
    by_differences(lambda *xs: lpmv(*xs), 1, lambda *xs: mild(*xs, math.pi)),
    lambda y, m, v, x: divide(v * x * y - (v + m) * lpmv(m, v - 1.0, x), x * x - 1.0),
    ranges=[[0, 1, 1, 2], (1.3, 3.5), INSIDE],
)
