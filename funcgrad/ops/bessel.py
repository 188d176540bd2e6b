"""The modified Bessel functions of the first kind of orders 0 and 1, plain and times exp(-|x|).

The power series has no cancellation, and holds below 30; beyond, the asymptotic series
(Abramowitz and Stegun 1964, 9.7.1) gives double precision. The rules are stated once, for these
values and for SciPy's (`modified`).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from funcgrad.core.forms import Op, elementwise
from funcgrad.core.primitive import Sample
from funcgrad.core.types import Array
from funcgrad.ops.arithmetic import (
    absolute,
    add,
    divide,
    greater,
    multiply,
    negative,
    reciprocal,
    sign,
    subtract,
    where,
)
from funcgrad.ops.normal import double
from funcgrad.ops.samples import draw

__all__ = ["Modified", "i0", "i0_of_numpy", "i0e", "i1", "i1e", "modified"]

FAR = 30.0


def _near(a: Any, order: int) -> Any:
    """The power series for 0 <= a < 30."""
    quarter = a * a / 4
    term = (a / 2) ** order / math.factorial(order)
    total = np.array(term)
    for k in range(1, 80):
        term = term * quarter / (k * (k + order))
        total += term
    return total


def _far(a: Any, order: int) -> Any:
    """exp(-a) times the function for a >= 30."""
    mu = 4.0 * order * order
    term = np.ones_like(a)
    total = np.ones_like(a)
    for k in range(1, 25):
        term = term * -(mu - (2 * k - 1) ** 2) / (8 * k * a)
        total += term
    return total / np.sqrt(2 * math.pi * a)


def _function(order: int, scaled: bool) -> Any:
    def value(x: Any) -> Any:
        a = np.abs(x)
        out = np.empty_like(a)
        near = a < FAR
        b, c = a[near], a[~near]
        out[near] = _near(b, order) * (np.exp(-b) if scaled else 1.0)
        tail = _far(c, order)
        tail[np.isinf(c)] = 0.0 if scaled else 1.0
        half = np.exp(c / 2)  # exp(c) overflows before the function does
        out[~near] = tail if scaled else tail * half * half
        return np.copysign(out, x) if order % 2 else out

    value.__name__ = f"i{order}{'e' if scaled else ''}"
    return double(value)


def _samples() -> list[Sample]:
    return [
        Sample((draw((3,)),)),
        Sample((np.array([-40.0, -5.0, -0.1, 0.1, 2.0, 31.0]),)),
        Sample((draw((2, 2)).astype(np.float32),)),
        Sample((np.zeros(2),), smooth=False),
    ]


FAR_OUT = 300.0
# 1 - I_1 / I_0 in powers of 1 / x, of the quotient of DLMF 10.40.1 (K_1 / K_0 - 1 at -x)
QUOTIENT = (1 / 2, 1 / 8, 1 / 8, 25 / 128, 13 / 32, 1073 / 1024)


def far_quotient(x: Array) -> Array:
    """1 - I_1(x) / I_0(x) for x far out, where the difference of the two has no digit left."""
    found: Array = multiply(QUOTIENT[-1], reciprocal(x))
    for c in QUOTIENT[-2::-1]:
        found = multiply(add(found, c), reciprocal(x))
    return found


def far_or_near(x: Any, far: Callable[[Array], Array], near: Callable[[Array], Array]) -> Array:
    """`far` of operands beyond `FAR_OUT`, of either sign, `near` of the others."""
    out = greater(absolute(x), FAR_OUT)
    found: Array = where(out, far(where(out, x, FAR_OUT)), near(where(out, 1.0, x)))
    return found


class Modified(NamedTuple):
    """Orders 0 and 1, plain and times exp(-|x|)."""

    i0: Op
    i1: Op
    i0e: Op
    i1e: Op


def modified(
    define: Callable[..., Op],
    values: tuple[Any, Any, Any, Any],
    second: Callable[[], Op],
    second_scaled: Callable[[], Op],
) -> Modified:
    """The functions of which `values` are the values, made by ``define(value, partial)``.

    `second` and `second_scaled` tell those of order 2. The sum of the neighbours in order (DLMF
    10.29.1) is regular at 0, to all orders, where I_0 - I_1 / x is 0 / 0.
    """
    i0: Op = define(values[0], lambda _, x: i1(x))
    i1: Op = define(values[1], lambda _, x: multiply(0.5, add(i0(x), second()(x))))

    def slope0(x: Array) -> Array:
        return subtract(i1e(x), multiply(sign(x), i0e(x)))

    def far0(x: Array) -> Array:
        return negative(multiply(multiply(sign(x), far_quotient(absolute(x))), i0e(x)))

    def slope1(x: Array) -> Array:
        return subtract(multiply(0.5, add(i0e(x), second_scaled()(x))), multiply(sign(x), i1e(x)))

    def far1(x: Array) -> Array:
        return subtract(multiply(far_quotient(absolute(x)), i0e(x)), divide(i1e(x), x))

    i0e: Op = define(values[2], lambda _, x: far_or_near(x, far0, slope0))
    i1e: Op = define(values[3], lambda _, x: far_or_near(x, far1, slope1))
    return Modified(i0, i1, i0e, i1e)


def _define(value: Any, partial: Any) -> Op:
    made: Op = elementwise(value, partial, sample=_samples)
    return made


@functools.cache
def _higher(order: int, scaled: bool) -> Op:
    """The function of a higher order, which derivatives of those of order 1 need."""

    def slope(y: Any, x: Any) -> Any:
        neighbours = add(_of(order - 1, scaled)(x), _of(order + 1, scaled)(x))
        found = multiply(0.5, neighbours)
        return subtract(found, multiply(sign(x), y)) if scaled else found

    return _define(_function(order, scaled), slope)


def _of(order: int, scaled: bool) -> Op:
    return (i1e if scaled else i1) if order == 1 else _higher(order, scaled)


i0, i1, i0e, i1e = modified(
    _define,
    (_function(0, False), _function(1, False), _function(0, True), _function(1, True)),
    lambda: _higher(2, False),
    lambda: _higher(2, True),
)
# NumPy's own value of i0, which differs in the last bits.
i0_of_numpy: Op = elementwise(np.i0, lambda _, x: i1(x), name="i0_of_numpy", sample=_samples)
