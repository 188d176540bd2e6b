"""The modified Bessel functions of the first kind of orders 0 and 1, plain and times exp(-|x|).

The power series has no cancellation, and holds below 30; beyond, the asymptotic series
(Abramowitz and Stegun 1964, 9.7.1) gives double precision.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.core.forms import Op, elementwise
from funcgrad.core.primitive import Sample
from funcgrad.ops.arithmetic import divide, equal, multiply, sign, subtract, where
from funcgrad.ops.normal import double
from funcgrad.ops.samples import draw

__all__ = ["i0", "i0e", "i0_of_numpy", "i1", "i1e"]

FAR = 30.0


def _near(a: Any, order: int) -> Any:
    """The power series for 0 <= a < 30."""
    quarter = a * a / 4
    term = (a / 2) ** order
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
        return np.copysign(out, x) if order else out

    value.__name__ = f"i{order}{'e' if scaled else ''}"
    return double(value)


def _samples() -> list[Sample]:
    return [
        Sample((draw((3,)),)),
        Sample((np.array([-40.0, -5.0, -0.1, 0.1, 2.0, 31.0]),)),
        Sample((draw((2, 2)).astype(np.float32),)),
        Sample((np.zeros(2),), smooth=False),
    ]


def _over(y: Any, x: Any) -> Any:
    """y / x, and ½ at 0, for the functions of order 1."""
    none = equal(x, 0)
    return where(none, 0.5, divide(y, where(none, 1.0, x)))


i0: Op = elementwise(_function(0, False), lambda _, x: i1(x), sample=_samples)
i1: Op = elementwise(
    _function(1, False), lambda y, x: subtract(i0(x), _over(y, x)), sample=_samples
)
i0e: Op = elementwise(
    _function(0, True), lambda y, x: subtract(i1e(x), multiply(sign(x), y)), sample=_samples
)
i1e: Op = elementwise(
    _function(1, True),
    lambda y, x: subtract(subtract(i0e(x), _over(y, x)), multiply(sign(x), y)),
    sample=_samples,
)
# NumPy's own value of i0, which differs in the last bits.
i0_of_numpy: Op = elementwise(np.i0, lambda _, x: i1(x), name="i0_of_numpy", sample=_samples)
