"""Powers and roots."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from funcgrad.core.forms import Op, elementwise
from funcgrad.core.forms.elementwise import Pointwise
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import Tracer, type_of
from funcgrad.ops.arithmetic.basic import add, divide, multiply
from funcgrad.ops.arithmetic.compare import equal, greater_equal, logical_and
from funcgrad.ops.arithmetic.select import where
from funcgrad.ops.samples import binary, draw, unary

__all__ = [
    "cbrt",
    "float_power",
    "log",
    "power",
    "power_log",
    "power_slope",
    "sqrt",
    "ufunc_power",
]

# the exponent's derivative of a power needs it; the other logarithms are in `ops.transcendental`
log: Op = elementwise(
    np.log, lambda _, x: divide(1.0, x), sample=unary(0.5, 3, kinks=(0.0,), complex_=True)
)


def _value(v: Any, x: Any, p: Any) -> Any:
    shape = np.broadcast_shapes(np.shape(v), np.shape(x), np.shape(p))
    return v if np.shape(v) == shape else np.broadcast_to(v, shape).copy()


def _by_both(_: Any, _v: Any, x: Any, p: Any) -> Any:
    """The derivative of x**p by both, whichever comes first."""
    below = p - 1
    z = power(x, below)
    return add(multiply(p, _power_exponent(z, x, below)), z)


def _slope_by_base(_: Any, _v: Any, x: Any, p: Any) -> Any:
    both = logical_and(equal(x, 0), equal(p, 0))
    return where(both, 0.0, multiply(p, _slope_of(x, p - 1)))


def _log_by_exponent(y: Any, _v: Any, x: Any, _: Any) -> Any:
    return multiply(y, log(where(equal(x, 0), 1.0, x)))


def _stated_samples() -> list[Sample]:
    # of the value alone: with an operand that is no function of the others, nothing is a derivative
    return [Sample((draw((3,)), *s.args), smooth=False) for s in binary(0.5, 2, -2, 2)()[:1]]


# The first derivatives of x**p choose by what x and p are, and the derivative of a choice is that
# of what was chosen: a constant where x or p is 0, which hides how the derivative changes there. So
# theirs are stated: a value, and its derivatives as functions of x and p. It compiles to that.
power_slope: Op = elementwise(
    Pointwise(_value, 3),
    0,
    _slope_by_base,
    _by_both,
    operator=_value,
    name="power_slope",
    cost=0,
    sample=_stated_samples,
)
power_log: Op = elementwise(
    Pointwise(_value, 3),
    0,
    _by_both,
    _log_by_exponent,
    operator=_value,
    name="power_log",
    cost=0,
    sample=_stated_samples,
)


def _stated(record: Op, v: Any, x: Any, p: Any) -> Any:
    return record(v, x, p) if isinstance(x, Tracer) or isinstance(p, Tracer) else v


def _slope_of(x: Any, p: Any) -> Any:
    # x**0 is constant, also at x = 0, where p * x**(p-1) is 0 * inf
    value = where(equal(p, 0), 0.0, multiply(p, power(x, p - 1)))
    return _stated(power_slope, value, x, p)


def _power_exponent(z: Any, x: Any, p: Any) -> Any:
    # 0**p is 0 for all p > 0; NumPy's log has the NaN for x < 0
    zero = equal(x, 0)
    if type_of(p).dtype.kind != "c":
        zero = logical_and(zero, greater_equal(p, 0))
    return _stated(power_log, where(zero, 0.0, multiply(z, log(where(zero, 1.0, x)))), x, p)


def _power_base(_: Any, x: Any, p: Any) -> Any:
    if isinstance(p, (int, float)):
        if p in (0, 2):
            return multiply(p, x) if p else 0.0
        return multiply(p, power(x, p - 1))
    return _slope_of(x, p)


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
for _op in (ufunc_power, power):
    _op.primitive.by_number = True  # type: ignore[attr-defined]
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
