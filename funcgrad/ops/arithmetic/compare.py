"""Comparisons, logic, bits, tests of numbers and rounding: all of them locally constant."""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np

from funcgrad.core.forms import Op, elementwise
from funcgrad.core.primitive import Sample
from funcgrad.ops.samples import binary, unary

__all__ = [
    "bitwise_and",
    "bitwise_count",
    "bitwise_or",
    "bitwise_xor",
    "ceil",
    "equal",
    "floor",
    "floor_divide",
    "gcd",
    "greater",
    "greater_equal",
    "invert",
    "isfinite",
    "isinf",
    "isnan",
    "lcm",
    "left_shift",
    "less",
    "less_equal",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "not_equal",
    "right_shift",
    "rint",
    "sign",
    "signbit",
    "spacing",
    "trunc",
]

_cheap = functools.partial(elementwise, cost=1)
_commuting = functools.partial(_cheap, commutes=True)

equal: Op = _commuting(np.equal, operator=operator.eq, sample=binary())
not_equal: Op = _commuting(np.not_equal, operator=operator.ne, sample=binary())
less: Op = _cheap(np.less, operator=operator.lt, sample=binary())
less_equal: Op = _cheap(np.less_equal, operator=operator.le, sample=binary())
greater: Op = _cheap(np.greater, operator=operator.gt, sample=binary())
greater_equal: Op = _cheap(np.greater_equal, operator=operator.ge, sample=binary())


def _bools(count: int) -> Any:
    values: Any = (np.array([True, False, True]), np.array([[False], [True]]))
    return lambda: [Sample(values[:count])]


logical_and: Op = _commuting(np.logical_and, sample=binary())
logical_or: Op = _commuting(np.logical_or, sample=binary())
logical_xor: Op = _commuting(np.logical_xor, sample=binary())
logical_not: Op = _cheap(np.logical_not, sample=unary())
bitwise_and: Op = _commuting(np.bitwise_and, operator=operator.and_, sample=_bools(2))
bitwise_or: Op = _commuting(np.bitwise_or, operator=operator.or_, sample=_bools(2))
bitwise_xor: Op = _commuting(np.bitwise_xor, operator=operator.xor, sample=_bools(2))
invert: Op = _cheap(np.invert, operator=operator.invert, sample=_bools(1))


def _integers(count: int) -> Any:
    values: Any = (np.array([12, 5, 0]), np.array([[3], [1]], np.int8))
    return lambda: [Sample(values[:count])]


left_shift: Op = _cheap(np.left_shift, operator=operator.lshift, sample=_integers(2))
right_shift: Op = _cheap(np.right_shift, operator=operator.rshift, sample=_integers(2))
bitwise_count: Op = elementwise(np.bitwise_count, sample=_integers(1))
gcd: Op = elementwise(np.gcd, sample=_integers(2))
lcm: Op = elementwise(np.lcm, sample=_integers(2))
isnan: Op = _cheap(np.isnan, sample=unary())
isinf: Op = _cheap(np.isinf, sample=unary())
isfinite: Op = _cheap(np.isfinite, sample=unary())
signbit: Op = _cheap(np.signbit, sample=unary())
spacing: Op = elementwise(np.spacing, sample=unary(0.1, 2))
sign: Op = elementwise(np.sign, cost=3, sample=unary(0.1, 2))
floor: Op = _cheap(np.floor, sample=unary(0.1, 0.9))
ceil: Op = _cheap(np.ceil, sample=unary(0.1, 0.9))
trunc: Op = _cheap(np.trunc, sample=unary(0.1, 0.9))
rint: Op = _cheap(np.rint, sample=unary(0.1, 0.4))
floor_divide: Op = elementwise(
    np.floor_divide, operator=operator.floordiv, sample=binary(0.1, 0.4, 0.5, 2)
)
