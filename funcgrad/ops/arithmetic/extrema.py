"""The larger and the smaller of two, absolute values, remainders, and what has kinks like them.

Subgradients: two equal operands share the derivative of their maximum or minimum equally; |x|
and hypot have 0 at 0.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from funcgrad.core.forms import UFUNCS, Op, elementwise, explicit, selecting
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import Tracer, operand, type_of
from funcgrad.ops.arithmetic.basic import divide, multiply, negative, subtract
from funcgrad.ops.arithmetic.compare import (
    equal,
    floor_divide,
    isnan,
    logical_and,
    logical_or,
    trunc,
)
from funcgrad.ops.arithmetic.compare import sign as sign_of_real
from funcgrad.ops.arithmetic.select import conjugate, real, where
from funcgrad.ops.samples import binary, draw, unary

__all__ = [
    "absolute",
    "copysign",
    "fabs",
    "fmax",
    "fmin",
    "fmod",
    "heaviside",
    "hypot",
    "maximum",
    "minimum",
    "remainder",
    "share",
    "sign",
]


def share(z: Any, x: Any, y: Any) -> Any:
    """1 where `x` is the chosen one, ½ where both are; a NaN is chosen if the result is NaN."""
    nan = isnan(z)  # not so where fmax and fmin pass over it
    chosen = logical_or(equal(x, z), logical_and(nan, isnan(x)))
    other = logical_or(equal(y, z), logical_and(nan, isnan(y)))
    return where(chosen, where(other, 0.5, 1.0), 0.0)


def _extremum(ufunc: np.ufunc) -> Any:
    return elementwise(
        ufunc,
        selecting(lambda z, x, y: share(z, x, y)),
        selecting(lambda z, x, y: share(z, y, x)),
        cost=1,
        commutes=True,
        sample=binary(kinks=((1.0, 1.0), (0.0, 0.0))),
    )


maximum, minimum, fmax, fmin = map(_extremum, (np.maximum, np.minimum, np.fmax, np.fmin))


def _absolute_partial(y: Any, x: Any) -> Any:
    if type_of(x).dtype.kind == "c":  # |z| is real: dz enters through Re(conj(z)/|z| dz)
        return where(equal(y, 0), 0.0, divide(conjugate(x), where(equal(y, 0), 1.0, y)))
    return sign_of_real(x)


absolute: Op = elementwise(
    np.absolute,
    _absolute_partial,
    operator=operator.abs,
    cost=1,
    sample=unary(0.1, 2, kinks=(0.0,), complex_=True),
)
fabs: Op = elementwise(
    np.fabs, lambda _, x: sign_of_real(x), cost=1, sample=unary(0.1, 2, kinks=(0.0,))
)
remainder: Op = elementwise(
    np.remainder,
    1,
    lambda _, x, y: negative(floor_divide(x, y)),
    operator=operator.mod,
    sample=binary(0.6, 0.9, 0.4, 0.5),
)
fmod: Op = elementwise(
    np.fmod, 1, lambda _, x, y: negative(trunc(divide(x, y))), sample=binary(0.6, 0.9, 0.4, 0.5)
)
copysign: Op = elementwise(
    np.copysign,
    lambda y, x, _: multiply(sign_of_real(x), sign_of_real(y)),
    0,
    cost=1,
    sample=binary(0.1, 2),
)
heaviside: Op = elementwise(
    np.heaviside,
    0,
    selecting(lambda _, x, __: where(equal(x, 0), 1.0, 0.0)),
    cost=4,
    sample=binary(0.1, 2),
)
hypot: Op = elementwise(
    np.hypot,
    lambda z, x, _: where(equal(z, 0), 0.0, divide(x, where(equal(z, 0), 1.0, z))),
    lambda z, _, y: where(equal(z, 0), 0.0, divide(y, where(equal(z, 0), 1.0, z))),
    sample=binary(kinks=((0.0, 0.0),)),
)


def _sign_cotangent(g: Any, y: Any, x: Any) -> Any:
    """Only what turns z changes z / |z|: of the cotangent the part along it is taken away."""
    size = absolute(x)
    nought = equal(size, 0)
    turning = subtract(g, multiply(conjugate(y), real(multiply(g, y))))
    return where(nought, 0.0, divide(turning, where(nought, 1.0, size)))


def _turned() -> list[Sample]:
    z = draw((2, 3)) + 1j * draw((2, 3), seed=1)
    return [
        Sample((z,)),
        Sample((z.T.astype(np.complex64),)),
        Sample((np.complex128(-0.3j),)),
        Sample((np.array([0j, 2.0, -1j]),), smooth=False),
    ]


SIGN_OF_COMPLEX = explicit(
    "sign_of_complex", np.sign, signature="()->()", vjp=[_sign_cotangent], sample=_turned
)


def sign(x: Any, /) -> Any:
    """The sign of a real number, which is locally constant; of a complex one z / |z|, 0 at 0."""
    x = operand(x)
    if not isinstance(x, Tracer) or type_of(x).dtype.kind != "c":
        return sign_of_real(x)
    return SIGN_OF_COMPLEX(x)


sign.primitive = sign_of_real.primitive  # type: ignore[attr-defined]
UFUNCS[np.sign] = sign
