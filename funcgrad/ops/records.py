"""The records of operations that passes and the compiler know: they are told by identity.

A name says nothing: an operation of a user may have that of one of ours, and another meaning.
"""

from __future__ import annotations

from typing import Any

from funcgrad.core.forms import Elementwise
from funcgrad.ops.arithmetic import (
    CAST,
    SCALE,
    WHERE,
    add,
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    divide,
    equal,
    floor_divide,
    fmod,
    greater,
    invert,
    less,
    maximum,
    minimum,
    multiply,
    negative,
    not_equal,
    power,
    reciprocal,
    remainder,
    sqrt,
    subtract,
)
from funcgrad.ops.arithmetic.power import power_log, power_slope
from funcgrad.ops.constant import ALL, ANY, ARGMAX, ARGMIN, STOP_GRADIENT
from funcgrad.ops.contraction import DOT, INNER, TENSORDOT
from funcgrad.ops.convolution import CONVOLVE
from funcgrad.ops.cumulative import CUMPROD, CUMSUM, RECURRENCE
from funcgrad.ops.determinant import COFACTORS, DET, SLOGDET
from funcgrad.ops.einsum import EINSUM
from funcgrad.ops.factor import CHOLESKY, EIGH, EIGVALSH
from funcgrad.ops.index import ADD_AT, GATHER, GETITEM, PLACE, PUT, SCATTER_ADD, WINNERS
from funcgrad.ops.nonlinear_reductions import MAX, MIN, PROD, STD, VAR
from funcgrad.ops.norms import NORM
from funcgrad.ops.product import MATMUL
from funcgrad.ops.shape import BROADCAST, CONCATENATE, FLIP, RESHAPE, TRANSPOSE
from funcgrad.ops.singular import SVD, SVDVALS
from funcgrad.ops.softmax import LOG_SOFTMAX, SOFTMAX
from funcgrad.ops.solve import INV, SOLVE
from funcgrad.ops.sort import ARGPARTITION, ARGSORT, PARTITION, PERMUTE, SEARCHSORTED, SORT
from funcgrad.ops.sums import MEAN, SUM, SUM_FROM
from funcgrad.ops.whole_factors import SVD_WHOLE

__all__ = [
    "ADD",
    "ADD_AT",
    "ALL",
    "ANY",
    "ARGMAX",
    "ARGMIN",
    "ARGPARTITION",
    "ARGSORT",
    "BITWISE_AND",
    "BITWISE_OR",
    "BITWISE_XOR",
    "BROADCAST",
    "CAST",
    "CHOLESKY",
    "COFACTORS",
    "CONCATENATE",
    "CONVOLVE",
    "CUMPROD",
    "CUMSUM",
    "DET",
    "DIVIDE",
    "DOT",
    "EIGH",
    "EIGVALSH",
    "EINSUM",
    "EQUAL",
    "FLIP",
    "FLOOR_DIVIDE",
    "FMOD",
    "GATHER",
    "GETITEM",
    "GREATER",
    "INNER",
    "INV",
    "INVERT",
    "LESS",
    "LOG_SOFTMAX",
    "MATMUL",
    "MAX",
    "MAXIMUM",
    "MEAN",
    "MIN",
    "MINIMUM",
    "MULTIPLY",
    "NEGATIVE",
    "NORM",
    "NOT_EQUAL",
    "PARTITION",
    "PERMUTE",
    "PLACE",
    "POWER",
    "POWER_LOG",
    "POWER_SLOPE",
    "PROD",
    "PUT",
    "RECIPROCAL",
    "RECURRENCE",
    "REMAINDER",
    "RESHAPE",
    "SCALE",
    "SCATTER_ADD",
    "SEARCHSORTED",
    "SLOGDET",
    "SOFTMAX",
    "SOLVE",
    "SORT",
    "SQRT",
    "STD",
    "STOP_GRADIENT",
    "SUBTRACT",
    "SUM",
    "SUM_FROM",
    "SVD",
    "SVDVALS",
    "SVD_WHOLE",
    "TENSORDOT",
    "TRANSPOSE",
    "VAR",
    "WHERE",
    "WINNERS",
]


def _record(operation: Any) -> Elementwise:
    found: Elementwise = operation.primitive
    return found


ADD = _record(add)
BITWISE_AND = _record(bitwise_and)
BITWISE_OR = _record(bitwise_or)
BITWISE_XOR = _record(bitwise_xor)
DIVIDE = _record(divide)
EQUAL = _record(equal)
FLOOR_DIVIDE = _record(floor_divide)
FMOD = _record(fmod)
GREATER = _record(greater)
INVERT = _record(invert)
LESS = _record(less)
MAXIMUM = _record(maximum)
MINIMUM = _record(minimum)
MULTIPLY = _record(multiply)
NEGATIVE = _record(negative)
NOT_EQUAL = _record(not_equal)
POWER = _record(power)
POWER_LOG, POWER_SLOPE = _record(power_log), _record(power_slope)
RECIPROCAL = _record(reciprocal)
REMAINDER = _record(remainder)
SQRT = _record(sqrt)
SUBTRACT = _record(subtract)
