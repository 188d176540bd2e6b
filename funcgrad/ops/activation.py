"""Elementwise functions of neural networks: logistic, rectifier, swish and the Gaussian unit.

Subgradients: the rectifier has 0 at 0, as machine learning has it; `maximum(x, 0)` has ½.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.core.forms import Op, elementwise
from funcgrad.core.tracer import bind
from funcgrad.ops.arithmetic import (
    add,
    divide,
    greater,
    greater_equal,
    less,
    less_equal,
    logical_not,
    logical_or,
    multiply,
    negative,
    square,
    subtract,
    where,
)
from funcgrad.ops.constant import STOP_GRADIENT
from funcgrad.ops.logistic import as_float, expit, expit_value, logaddexp, samples
from funcgrad.ops.normal import ndtr
from funcgrad.ops.transcendental import exp, tanh

__all__ = ["clamped", "gelu", "gelu_tanh", "log_sigmoid", "mish", "relu", "silu"]


# integers of the size of floating point numbers
BITS = {np.dtype(f"f{size}").num: np.dtype(f"i{size}") for size in (2, 4, 8)}


def _relu(x: Any) -> Any:
    x = np.asarray(x)
    bits = BITS.get(x.dtype.num)
    if bits is None or not x.dtype.isnative:
        return np.where(x < 0, x.dtype.type(0), x)[()]
    # all bits times 0 or 1: -0 and NaN stay, and it takes a third of the time
    return np.multiply(x.view(bits), np.logical_not(x < 0)).view(x.dtype)[()]


relu: Op = elementwise(
    _relu, lambda y, _: logical_not(less_equal(y, 0)), name="relu", cost=1, sample=samples
)


def _silu(x: Any) -> Any:
    x = as_float(x)
    return (x * expit_value(x))[()]


def _silu_slope(x: Any) -> Any:
    s = expit(x)
    return multiply(s, add(1.0, multiply(x, subtract(1.0, s))))


silu: Op = elementwise(_silu, lambda _, x: _silu_slope(x), name="silu", sample=samples)


def _gelu(x: Any) -> Any:
    x = as_float(x)
    return (x * ndtr(x))[()]


def _density(x: Any) -> Any:
    return multiply(1 / math.sqrt(2 * math.pi), exp(negative(divide(square(x), 2.0))))


gelu: Op = elementwise(
    _gelu,
    lambda _, x: add(ndtr(x), multiply(x, _density(x))),
    name="gelu",
    sample=samples,
)
silu.primitive.composed = lambda x: multiply(x, expit(x))  # type: ignore[attr-defined]
gelu.primitive.composed = lambda x: multiply(x, ndtr(x))  # type: ignore[attr-defined]
for _function in (expit, relu, silu, gelu):
    _function.primitive.in_pieces = True  # type: ignore[attr-defined]

# --------------------------------------------------- what is several operations, for every face


def gelu_tanh(x: Any) -> Any:
    """`gelu` with an approximation of the normal distribution function (Hendrycks 2016)."""
    cube = multiply(multiply(x, x), x)
    inner = multiply(add(x, multiply(cube, 0.044715)), math.sqrt(2.0 / math.pi))
    return multiply(multiply(x, 0.5), add(tanh(inner), 1.0))


def mish(x: Any) -> Any:
    """``x * tanh(log(1 + exp(x)))`` (Misra 2019)."""
    return multiply(x, tanh(logaddexp(x, 0.0)))


def log_sigmoid(x: Any) -> Any:
    """``log(expit(x))``, without overflow."""
    return subtract(0.0, logaddexp(negative(x), 0.0))  # 0 at infinity, not -0


def clamped(x: Any, low: Any, high: Any) -> Any:
    """`x` limited to [low, high]; the derivative at a bound is 0."""
    outside = logical_or(less_equal(x, low), greater_equal(x, high))
    at_least = where(less(x, low), low, bind(STOP_GRADIENT, (x,), {}))
    return where(outside, where(greater(x, high), high, at_least), x)
