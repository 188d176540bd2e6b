"""Exponentials, logarithms, trigonometric and hyperbolic functions. Angles are in radians.

Each is stated by its partial derivative, in the form that stays accurate at the ends of its
domain. Subgradients: arctan2 has 0 at the origin.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.forms import Op, elementwise
from funcgrad.core.tracer import type_of
from funcgrad.ops.arithmetic import (
    add,
    divide,
    equal,
    from_parts,
    imag,
    multiply,
    negative,
    real,
    reciprocal,
    sqrt,
    square,
    subtract,
    where,
)
from funcgrad.ops.arithmetic.power import log as log
from funcgrad.ops.samples import binary, unary

LN2, LN10 = float(np.log(2.0)), float(np.log(10.0))

exp: Op = elementwise(np.exp, lambda y, _: y, sample=unary(complex_=True))
exp2: Op = elementwise(np.exp2, lambda y, _: multiply(LN2, y), sample=unary())
# not y + 1, which has no digit left where exp(x) is small
expm1: Op = elementwise(np.expm1, lambda _, x: exp(x), sample=unary())
log2: Op = elementwise(np.log2, lambda _, x: divide(1.0 / LN2, x), sample=unary(0.5, 3))
log10: Op = elementwise(np.log10, lambda _, x: divide(1.0 / LN10, x), sample=unary(0.5, 3))
log1p: Op = elementwise(
    np.log1p, lambda _, x: divide(1.0, add(x, 1.0)), sample=unary(-0.5, 3, complex_=True)
)

sin: Op = elementwise(np.sin, lambda _, x: cos(x), sample=unary(kinks=(0.0,), complex_=True))
cos: Op = elementwise(np.cos, lambda _, x: negative(sin(x)), sample=unary(complex_=True))
tan: Op = elementwise(
    np.tan, lambda y, _: add(square(y), 1.0), sample=unary(-1.2, 1.2, complex_=True)
)
arcsin: Op = elementwise(
    np.arcsin,
    lambda _, x: divide(1.0, _sqrt_one_minus_square(x)),
    sample=unary(-0.9, 0.9, complex_=True),
)
arccos: Op = elementwise(
    np.arccos,
    lambda _, x: divide(-1.0, _sqrt_one_minus_square(x)),
    sample=unary(-0.9, 0.9, complex_=True),
)
arctan: Op = elementwise(
    np.arctan, lambda _, x: divide(1.0, add(square(x), 1.0)), sample=unary(complex_=True)
)


def _is_complex(x: Any) -> bool:
    return type_of(x).dtype.kind == "c"


def _shifted(x: Any, by: float, sign: int = 1) -> Any:
    """±x + a real number; the imaginary part keeps the sign of its zero, which tells the side of a
    branch cut. (A complex sum would add 0 to it, and -0 + 0 is 0.)"""
    re, im = real(x), imag(x)
    return from_parts(add(re, by), im) if sign > 0 else from_parts(subtract(by, re), negative(im))


def _sqrt_one_minus_square(x: Any) -> Any:
    if _is_complex(x):  # Kahan 1987, Branch cuts: the root of the product loses the sign
        return multiply(sqrt(_shifted(x, 1.0, -1)), sqrt(_shifted(x, 1.0)))
    return sqrt(one_minus_square(x))


def _one_minus_square(x: Any) -> Any:
    return (1 - x) * (x + 1)  # exact near the ends


# By the factors, a slope that is infinite at an end would meet the 0 of the other one.
one_minus_square: Op = elementwise(
    _one_minus_square,
    lambda _, x: multiply(-2.0, x),
    name="one_minus_square",
    cost=1,
    sample=unary(-0.9, 0.9),
)


def _over_radius(x: Any, y: Any, numerator: Any) -> Any:
    """numerator / (x² + y²), and 0 at the origin."""
    r2 = add(square(x), square(y))
    origin = equal(r2, 0)
    return where(origin, 0.0, divide(numerator, where(origin, 1.0, r2)))


arctan2: Op = elementwise(
    np.arctan2,
    lambda _, y, x: _over_radius(x, y, x),
    lambda _, y, x: _over_radius(x, y, negative(y)),
    sample=binary(kinks=((0.0, 0.0),)),
)

sinh: Op = elementwise(np.sinh, lambda _, x: cosh(x), sample=unary(complex_=True))
cosh: Op = elementwise(np.cosh, lambda _, x: sinh(x), sample=unary(complex_=True))
tanh: Op = elementwise(
    np.tanh,
    lambda y, _: multiply(subtract(1.0, y), add(y, 1.0)),
    sample=unary(complex_=True),
)


def _sqrt_one_plus_square(x: Any) -> Any:
    if _is_complex(x):
        return _sqrt_one_minus_square(from_parts(negative(imag(x)), real(x)))  # of ix
    return sqrt(add(square(x), 1.0))


arcsinh: Op = elementwise(
    np.arcsinh,
    lambda _, x: divide(1.0, _sqrt_one_plus_square(x)),
    sample=unary(complex_=True),
)


def _arccosh_partial(_: Any, x: Any) -> Any:
    if _is_complex(x):
        return divide(1.0, multiply(sqrt(_shifted(x, -1.0)), sqrt(_shifted(x, 1.0))))
    return divide(1.0, sqrt(subtract(0.0, one_minus_square(x))))  # the negative of 0 is -0


arccosh: Op = elementwise(
    np.arccosh,
    _arccosh_partial,
    sample=unary(1.2, 3, complex_=True),
)
arctanh: Op = elementwise(
    np.arctanh,
    lambda _, x: reciprocal(
        multiply(subtract(1.0, x), add(x, 1.0)) if _is_complex(x) else one_minus_square(x)
    ),
    sample=unary(-0.8, 0.8, complex_=True),
)

degrees: Op = elementwise(np.degrees, lambda _, __: 180.0 / np.pi, cost=1, sample=unary())
radians: Op = elementwise(np.radians, lambda _, __: np.pi / 180.0, cost=1, sample=unary())
deg2rad: Op = elementwise(np.deg2rad, lambda _, __: np.pi / 180.0, cost=1, sample=unary())
rad2deg: Op = elementwise(np.rad2deg, lambda _, __: 180.0 / np.pi, cost=1, sample=unary())
