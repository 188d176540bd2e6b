"""Powers and roots."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from funcgrad.core.algebra import algebra
from funcgrad.core.forms import Op, elementwise
from funcgrad.core.primitive import Sample
from funcgrad.ops.arithmetic.basic import divide, multiply
from funcgrad.ops.arithmetic.compare import equal
from funcgrad.ops.arithmetic.select import where
from funcgrad.ops.samples import binary, draw, unary

__all__ = ["cbrt", "float_power", "power", "sqrt", "ufunc_power"]


def _power_base(_: Any, x: Any, p: Any) -> Any:
    if isinstance(p, (int, float)):
        if p in (0, 2):
            return multiply(p, x) if p else 0.0
        return multiply(p, power(x, p - 1))
    # x**0 is constant, also at x = 0, where p * x**(p-1) is 0 * inf
    return where(equal(p, 0), 0.0, multiply(p, power(x, p - 1)))


def _power_exponent(z: Any, x: Any, _: Any) -> Any:
    # 0**p is 0 for all p > 0; NumPy's log has the NaN for x < 0
    zero = equal(x, 0)
    return where(zero, 0.0, multiply(z, algebra.log(where(zero, 1.0, x))))


def _power_samples() -> list[Sample]:
    positive_base = binary(0.5, 2, -2, 2)()
    return [
        *positive_base,
        Sample((draw((3,)), 2)),
        Sample((draw((3,), 0.5, 2.0), 3.0)),
        Sample((np.array([0.0, 1.5]), 2.0), smooth=False),
        Sample((np.array([0.0, 1.5]), np.array([2.0, 0.0])), smooth=False),
        Sample((np.array([-2.0, 0.0]), np.array([3.0, 1.0])), smooth=False),
    ]


# x**2 is a square and x**0.5 a square root, also of complex numbers and of scalars. The function
# np.power takes no such short cuts for these and rounds otherwise: a record of the same derivative.
ufunc_power: Op = elementwise(
    np.power, _power_base, _power_exponent, name="ufunc_power", cost=40, sample=_power_samples
)
power: Op = elementwise(
    np.power, _power_base, _power_exponent, operator=operator.pow, cost=40, sample=_power_samples
)
float_power: Op = elementwise(
    np.float_power, _power_base, _power_exponent, sample=binary(0.5, 2, -2, 2)
)
sqrt: Op = elementwise(
    np.sqrt,
    lambda y, _: divide(0.5, y),
    cost=5,
    sample=unary(0.5, 3, kinks=(0.0,), complex_=False),
)
cbrt: Op = elementwise(
    np.cbrt, lambda y, _: divide(1.0 / 3.0, multiply(y, y)), sample=unary(0.5, 3, kinks=(0.0,))
)
