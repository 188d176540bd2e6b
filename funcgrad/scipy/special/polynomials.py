"""Orthogonal polynomials, differentiable in their argument (NIST Handbook 2010, 18.9).

The derivative of a polynomial is one of a degree less in the family with larger parameters. Those
by the degree, between the whole numbers a function that is no polynomial, and by the parameters of
a family are differences of values (`differences.py`).
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
from funcgrad.ops.arithmetic import divide, equal, greater, less, negative, where
from funcgrad.ops.transcendental import arccos, arccosh, sin, sinh
from funcgrad.scipy.special.define import NAMES, Range, fixed, special
from funcgrad.scipy.special.differences import by_differences, from_poles, mild

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
) -> Op:
    """The polynomial `ufunc(n, *parameters, x)`, with its slope where n is not 0.

    `poles` tells the operands of the gamma functions above the line; `by_degree` may turn the
    derivative by differences into another.
    """
    by = [by_differences(lambda *xs: op(*xs), k, _steps(k, poles)) for k in range(1 + parameters)]
    if by_degree is not None:
        by[0] = by_degree(by[0])
    ranges: Sequence[Range] = [BETWEEN, *[PARAMETER] * parameters, x]
    op: Op = special(ufunc, *by, _masked(slope, 1 + parameters), ranges=ranges)
    return op


def _steps(k: int, poles: Callable[..., Any]) -> Callable[..., Any]:
    """The step by the degree, or by a parameter: with poles at -1, -2, … and of gamma functions."""

    def step(*xs: Any) -> Any:
        found = mild(*xs) if k else mild(*xs, math.pi)
        for x in (*poles(*xs[:-1]), *([xs[k] + 1.0] if k else [])):
            found = from_poles(x, found)
        return found

    return step


def _reflected(differences: Callable[..., Any]) -> Callable[..., Any]:
    """Of degrees below -1/2, where SciPy's values are coarse: P of n is P of -1 - n."""

    def slope(y: Any, n: Any, x: Any) -> Any:
        below = less(n, -0.5)
        found = differences(y, where(below, -1.0 - n, n), x)
        return where(below, negative(found), found)

    return slope


def _angle(scale: float, turn: Callable[..., Any]) -> Callable[..., Any]:
    """That of cos(n θ), x = cos θ, and of cosh beyond 1; `turn` goes to Chebyshev's variable."""

    def slope(_: Any, n: Any, x: Any) -> Any:
        u = turn(x)
        far, low = greater(u, 1.0), where(less(u, -1.0), math.nan, 1.0)
        inner, outer = arccos(where(far, 0.5, u)), arccosh(where(far, u, 1.5))
        return scale * low * where(far, outer * sinh(n * outer), -inner * sin(n * inner))

    return slope


def _masked(slope: Callable[..., Any], count: int) -> Callable[..., Any]:
    """`slope`, and 0 of what is constant: a degree below 0 is nothing SciPy is asked for."""

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
eval_genlaguerre: Op = _polynomial(
    sp.eval_genlaguerre,
    lambda n, a, x: -1.0 * eval_genlaguerre(n - 1, a + 1.0, x),
    1,
    poles=lambda n, a: (n + a + 1.0,),
)
eval_laguerre: Op = _polynomial(
    sp.eval_laguerre, lambda n, x: -1.0 * eval_genlaguerre(n - 1, 1.0, x)
)
eval_legendre: Op = _polynomial(
    sp.eval_legendre, lambda n, x: eval_gegenbauer(n - 1, 1.5, x), by_degree=_reflected
)
eval_chebyt: Op = _polynomial(
    sp.eval_chebyt,
    lambda n, x: n * eval_chebyu(n - 1, x),
    by_degree=lambda _: _angle(1.0, lambda x: x),
)
eval_chebyu: Op = _polynomial(sp.eval_chebyu, lambda n, x: 2.0 * eval_gegenbauer(n - 1, 2.0, x))


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
    lambda n, x: 2.0 * eval_gegenbauer(n - 1, 1.5, 2.0 * x - 1.0),
    x=(0.1, 0.9),
)
eval_sh_chebyt: Op = _polynomial(
    sp.eval_sh_chebyt,
    lambda n, x: 2.0 * n * eval_chebyu(n - 1, 2.0 * x - 1.0),
    x=(0.1, 0.9),
    by_degree=lambda _: _angle(1.0, lambda x: 2.0 * x - 1.0),
)
eval_sh_chebyu: Op = _polynomial(
    sp.eval_sh_chebyu,
    lambda n, x: 4.0 * eval_gegenbauer(n - 1, 2.0, 2.0 * x - 1.0),
    x=(0.1, 0.9),
)
eval_chebyc: Op = _polynomial(
    sp.eval_chebyc,
    lambda n, x: n * eval_chebyu(n - 1, 0.5 * x),
    by_degree=lambda _: _angle(2.0, lambda x: 0.5 * x),
)
eval_chebys: Op = _polynomial(sp.eval_chebys, lambda n, x: eval_gegenbauer(n - 1, 2.0, 0.5 * x))
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
