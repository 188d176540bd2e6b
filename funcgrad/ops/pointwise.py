"""Elementwise operations that NumPy computes by a function instead of a ufunc: clip and sinc.

Subgradients: at a bound of `clip` the value and the bound have ½ each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.core.forms import Elementwise
from funcgrad.core.primitive import Params, Sample
from funcgrad.core.tracer import bind
from funcgrad.core.types import Array, ArrayType
from funcgrad.ops.arithmetic import (
    absolute,
    add,
    divide,
    equal,
    greater,
    less,
    multiply,
    square,
    subtract,
    where,
)
from funcgrad.ops.samples import draw
from funcgrad.ops.transcendental import cos

__all__ = ["CLIP", "SINC", "clip", "sinc"]


class _Signature:
    """What the elementwise form asks of a ufunc, for a NumPy function that is none."""

    def __init__(self, nin: int, resolve: Callable[..., Any]) -> None:
        self.nin, self.resolve = nin, resolve

    def resolve_dtypes(self, dtypes: Sequence[Any]) -> tuple[Any, ...]:
        # a Python type stands for a weak operand, which `result_type` knows as a number
        shown = [t() if isinstance(t, type) else t for t in dtypes[: self.nin]]
        return (self.resolve(*shown),)


class Pointwise(Elementwise):
    """An elementwise primitive that NumPy computes by a function instead of a ufunc."""

    def __init__(
        self, name: str, impl: Callable[..., Any], nin: int, resolve: Any, partials: Any
    ) -> None:
        super().__init__(name, _Signature(nin, resolve), impl, partials)  # type: ignore[arg-type]
        self.keeps_weak = False

    def type_rule(self, types: Sequence[ArrayType], params: Params) -> ArrayType:
        first = ArrayType(types[0].shape, types[0].dtype)
        return super().type_rule((first, *types[1:]), params)


def _inside(x: Any, lo: Any, hi: Any) -> Any:
    """1 between the bounds, ½ at a bound, 0 outside."""
    above = where(equal(x, lo), 0.5, where(less(x, lo), 0.0, 1.0))
    return where(equal(x, hi), 0.5, where(greater(x, hi), 0.0, above))


CLIP = Pointwise(
    "clip",
    np.clip,
    3,
    lambda x, lo, hi: np.result_type(x, lo, hi),
    (
        lambda _, x, lo, hi: _inside(x, lo, hi),
        lambda _, x, lo, hi: where(
            less(lo, hi),
            where(equal(x, lo), 0.5, where(less(x, lo), 1.0, 0.0)),
            0.0,
        ),
        lambda _, x, lo, hi: where(
            greater(lo, hi),
            1.0,
            where(equal(x, hi), 0.5, where(greater(x, hi), 1.0, 0.0)),
        ),
    ),
)
CLIP.sample = lambda: [
    Sample((draw((5,)), -0.7, 0.9)),
    Sample((draw((2, 3)), draw((3,), -1.5, -0.5, 1), draw((2, 1), 0.5, 1.5, 2))),
    Sample((draw((2, 3)).astype(np.float32), -1, 1)),
    Sample((np.array([-1.0, 0.0, 1.0]), -1.0, 1.0), smooth=False),
]


def clip(x: Array, lo: Array, hi: Array) -> Array:
    """`x` limited to the interval from `lo` to `hi`."""
    return bind(CLIP, (x, lo, hi))


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
    slope = divide(subtract(cos(multiply(math.pi, far)), bind(SINC, (far,))), far)
    return where(near, multiply(math.pi, multiply(series, small)), slope)


SINC = Pointwise(
    "sinc", np.sinc, 1, lambda x: np.result_type(x, 1.0), (lambda _, x: _sinc_slope(x),)
)
SINC.sample = lambda: [
    Sample((draw((3,)),)),
    Sample((np.array([0.0, 1e-3, 0.1, -0.16, 1.0]),)),
    Sample((draw((2, 2)).astype(np.float32),)),
]


def sinc(x: Array) -> Array:
    """sin(πx) / (πx), with all its derivatives at 0."""
    return bind(SINC, (x,))
