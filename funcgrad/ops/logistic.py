"""The logistic function, and logarithms of sums of exponentials, whose derivative it is."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.forms import Op, elementwise
from funcgrad.core.primitive import Sample
from funcgrad.ops.arithmetic import equal, isinf, logical_and, multiply, subtract, where
from funcgrad.ops.samples import binary, draw
from funcgrad.ops.transcendental import LN2

__all__ = ["as_float", "expit", "expit_value", "logaddexp", "logaddexp2", "samples"]


def samples() -> list[Sample]:
    """Of a function of one operand, that must overflow nowhere."""
    return [
        Sample((draw((3,)),)),
        Sample((np.array([-800.0, -3.0, -0.2, 0.4, 5.0, 800.0]),)),
        Sample((draw((2, 2)).astype(np.float32),)),
        Sample((np.zeros(2),), smooth=False),
    ]


def as_float(x: Any) -> Any:
    """An array of floating point numbers."""
    x = np.asarray(x)
    return x if x.dtype.kind in "fc" else x.astype(float)


def expit_value(x: Any) -> Any:
    """1 / (1 + exp(-x))."""
    x = as_float(x)
    if x.dtype.kind == "c":
        return (1 / (1 + np.exp(-x)))[()]
    small = np.exp(-np.abs(x))  # overflows nowhere
    # Above is it, or 1 where x is not negative; a choice by signs that vary would take much longer.
    return (np.maximum(small, x >= 0) / (1 + small))[()]


expit: Op = elementwise(
    expit_value, lambda y, _: multiply(y, subtract(1.0, y)), name="expit", sample=samples
)


def _weight(a: Any, b: Any) -> Any:
    """exp(a) / (exp(a) + exp(b)); ½ where both are the same infinity."""
    same = logical_and(equal(a, b), isinf(a))
    return expit(subtract(where(same, 0.0, a), where(same, 0.0, b)))


KINKS = ((1e4, -1e4), (-np.inf, -np.inf), (0.3, -1000.0), (-800.0, 0.5))
logaddexp: Op = elementwise(
    np.logaddexp,
    lambda _, x, y: _weight(x, y),
    lambda _, x, y: _weight(y, x),
    sample=binary(kinks=KINKS),
)
logaddexp2: Op = elementwise(
    np.logaddexp2,
    lambda _, x, y: _weight(multiply(LN2, x), multiply(LN2, y)),
    lambda _, x, y: _weight(multiply(LN2, y), multiply(LN2, x)),
    sample=binary(kinks=KINKS),
)
