"""Elementwise operations that NumPy computes by a function instead of a ufunc, and parts of floats.

Subgradients: at a bound of `clip` the value and the bound have ½ each.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.core.forms import Op, elementwise, selecting
from funcgrad.core.forms.elementwise import Pointwise
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import type_of
from funcgrad.ops.arithmetic import (
    absolute,
    add,
    cast,
    divide,
    less,
    maximum,
    multiply,
    share,
    square,
    subtract,
    where,
)
from funcgrad.ops.samples import draw
from funcgrad.ops.transcendental import cos

__all__ = ["clip", "exponent", "ldexp", "nextafter", "sinc"]


def _shares(y: Any, x: Any, lo: Any, hi: Any) -> tuple[Any, Any]:
    """What of the derivative goes to `x` in max(x, lo), and to that in min(max(x, lo), hi) = y."""
    larger = maximum(x, lo)
    return share(larger, x, lo), share(y, larger, hi)


@selecting
def _by_value(y: Any, x: Any, lo: Any, hi: Any) -> Any:
    first, second = _shares(y, x, lo, hi)
    return multiply(first, second)


@selecting
def _by_lower(y: Any, x: Any, lo: Any, hi: Any) -> Any:
    first, second = _shares(y, x, lo, hi)
    return multiply(subtract(1.0, first), second)


@selecting
def _by_upper(y: Any, x: Any, lo: Any, hi: Any) -> Any:
    return subtract(1.0, _shares(y, x, lo, hi)[1])


def _clip_samples() -> list[Sample]:
    return [
        Sample((draw((5,)), -0.7, 0.9)),
        Sample((draw((2, 3)), draw((3,), -1.5, -0.5, 1), draw((2, 1), 0.5, 1.5, 2))),
        Sample((draw((2, 3)).astype(np.float32), -1, 1)),
        Sample((np.array([-1.0, 0.0, 1.0]), -1.0, 1.0), smooth=False),
        Sample((np.array([-1.0, 0.0, 1.0]), 0.0, np.array([0.0, -1.0, 1.0])), smooth=False),
    ]


clip: Op = elementwise(np.clip, _by_value, _by_lower, _by_upper, cost=4, sample=_clip_samples)


_NEAR = 0.5
_TERMS = [(-1.0) ** k * 2 * k / math.factorial(2 * k + 1) for k in range(9, 0, -1)]


def _sinc_slope(x: Any) -> Any:
    """The derivative: by its series near 0, where cos(πx) and sinc(x) cancel."""
    u = multiply(math.pi, x)
    near = less(absolute(u), _NEAR)
    small = where(near, u, 0.0)
    squared = square(small)
    series: Any = 0.0
    for term in _TERMS:
        series = add(multiply(series, squared), term)
    far = where(near, 1.0, x)
    slope = divide(subtract(cos(multiply(math.pi, far)), sinc(far)), far)
    return where(near, multiply(math.pi, multiply(series, small)), slope)


def _sinc_samples() -> list[Sample]:
    return [
        Sample((draw((3,)),)),
        Sample((np.array([0.0, 1e-3, 0.1, -0.16, 1.0]),)),
        Sample((draw((2, 2)).astype(np.float32),)),
    ]


sinc: Op = elementwise(np.sinc, lambda _, x: _sinc_slope(x), sample=_sinc_samples)
nextafter: Op = elementwise(  # x and one unit in its last place
    np.nextafter,
    1,
    0,
    sample=lambda: [Sample((draw((3,)), draw((3,), seed=1)))],
)


# ------------------------------------------------------------------- mantissa and exponent


def _power_of_two(_: Any, x: Any, n: Any) -> Any:
    return ldexp(np.ones((), type_of(x).dtype), cast(n, np.intp))


def _ldexp_samples() -> list[Sample]:
    return [
        Sample((draw((3,)), np.array([2, -1, 0]))),
        Sample((1e-9 * draw((2, 2)), np.array([[-3], [30]]))),
        Sample((draw((2, 3)).astype(np.float32), np.array([1, 2, -40], np.int32))),
    ]


ldexp: Op = elementwise(np.ldexp, _power_of_two, 0, cost=4, sample=_ldexp_samples)


def _exponent(x: Any) -> Any:
    return np.frexp(x)[1]


exponent: Op = elementwise(  # what np.frexp gives second
    Pointwise(_exponent, 1),
    name="exponent",
    sample=lambda: [Sample((draw((3,)),)), Sample((draw((2, 2)).astype(np.float32),))],
)
