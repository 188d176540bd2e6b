"""The complementary error function, its inverse, and the normal distribution.

erfc and erfcx take W. J. Cody's rational approximations (Mathematics of Computation 23, 1969), the
quantile M. J. Wichura's algorithm AS 241 (Applied Statistics 37, 1988); both are accurate to a few
units in the last place of double precision, in which lower precisions are computed as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core.forms import Op, elementwise
from funcgrad.core.primitive import Sample, Samples
from funcgrad.core.tracer import type_of
from funcgrad.ops.arithmetic import (
    absolute,
    add,
    cast,
    copysign,
    divide,
    equal,
    greater,
    less,
    less_equal,
    minimum,
    multiply,
    negative,
    sqrt,
    square,
    subtract,
    where,
)
from funcgrad.ops.samples import draw
from funcgrad.ops.transcendental import exp, log

__all__ = [
    "asymptotic_slope", "double", "erfc", "erfc_slope", "erfcx", "erfcx_slope", "erfinv",
    "erfinv_slope", "log_ndtr", "ndtr", "ndtri", "ndtri_slope"
]  # fmt: skip

SQRT_PI, SQRT2 = math.sqrt(math.pi), math.sqrt(2.0)

# erf(x) = x P(x²)/Q(x²) up to 0.46875
SMALL = (
    (3.20937758913846947e03, 3.77485237685302021e02, 1.13864154151050156e02,
     3.16112374387056560e00, 1.85777706184603153e-1),
    (2.84423683343917062e03, 1.28261652607737228e03, 2.44024637934444173e02,
     2.36012909523441209e01, 1.0),
)  # fmt: skip
# erfcx(x) = P(x)/Q(x) up to 4
MIDDLE = (
    (1.23033935479799725e03, 2.05107837782607147e03, 1.71204761263407058e03,
     8.81952221241769090e02, 2.98635138197400131e02, 6.61191906371416295e01,
     8.88314979438837594e00, 5.64188496988670089e-1, 2.15311535474403846e-8),
    (1.23033935480374942e03, 3.43936767414372164e03, 4.36261909014324716e03,
     3.29079923573345963e03, 1.62138957456669019e03, 5.37181101862009858e02,
     1.17693950891312499e02, 1.57449261107098347e01, 1.0),
)  # fmt: skip
# erfcx(x) = (1/√π - P(1/x²)/(x² Q(1/x²))) / x beyond
LARGE = (
    (6.58749161529837803e-4, 1.60837851487422766e-2, 1.25781726111229246e-1,
     3.60344899949804439e-1, 3.05326634961232344e-1, 1.63153871373020978e-2),
    (2.33520497626869185e-3, 6.05183413124413191e-2, 5.27905102951428412e-1,
     1.87295284992346047e00, 2.56852019228982242e00, 1.0),
)  # fmt: skip


FEW = 12  # numbers, up to which Python's arithmetic is quicker; it has NumPy's bits


def _quotient(x: float, above: tuple[float, ...], below: tuple[float, ...]) -> float:
    top, bottom = above[-1], below[-1]
    for a, b in zip(above[-2::-1], below[-2::-1], strict=True):
        top, bottom = top * x + a, bottom * x + b
    return top / bottom if bottom else math.nan


def _ratio(x: Any, coefficients: tuple[tuple[float, ...], tuple[float, ...]]) -> Any:
    """The quotient of two polynomials, constant terms first; both are computed at a time."""
    if x.size <= FEW:
        return np.array([_quotient(v, *coefficients) for v in x.tolist()], np.float64)
    rows = np.array(coefficients).T[:, :, None]
    value = rows[-1] * x
    value += rows[-2]
    for c in rows[-3::-1]:
        value *= x
        value += c
    above, below = value
    above /= below
    return above


def double(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`function` of flat float64 arrays, as one of arrays of any shape and floating type."""

    def widened(x: Any) -> Any:
        given = np.asarray(x)
        dtype = given.dtype if given.dtype.kind == "f" else np.dtype(np.float64)
        with np.errstate(all="ignore"):
            out = function(given.astype(np.float64).reshape(-1))
        return out.reshape(given.shape).astype(dtype)[()]

    widened.__name__ = function.__name__.strip("_")
    return widened


def _square_exp(x: Any) -> Any:
    """exp(-x²), the square in two parts so that its rounding is not magnified."""
    high = np.trunc(x * 16) / 16
    return np.exp(-high * high) * np.exp(-(x - high) * (x + high))


def _scaled(a: Any) -> Any:
    """exp(a²) erfc(a) for a >= 0.46875."""
    out = _ratio(a, MIDDLE)
    far = a > 4
    if far.any():
        b = a[far]
        z = 1 / (b * b)
        out[far] = np.where(b < 1e8, (1 / SQRT_PI - z * _ratio(z, LARGE)) / b, 1 / (SQRT_PI * b))
    return out


def _erfc(x: Any) -> Any:
    a = np.abs(x)
    out = np.empty_like(x)
    near = a <= 0.46875
    b = x[near]
    out[near] = 1 - b * _ratio(b * b, SMALL)
    rest = ~near  # NaN among them
    b = a[rest]
    found = np.where(b < 27.3, _scaled(b) * _square_exp(np.minimum(b, 28.0)), 0.0)
    found = np.where(x[rest] < 0, 2 - found, found)
    out[rest] = np.where(np.isnan(b), np.nan, found)
    return out


def _erfcx(x: Any) -> Any:
    out = np.empty_like(x)
    near = np.abs(x) <= 0.46875
    b = x[near]
    out[near] = np.exp(b * b) * (1 - b * _ratio(b * b, SMALL))
    right = x > 0.46875
    out[right] = _scaled(x[right])
    left = ~(near | right)
    b = -x[left]
    # erfc(-b) = 2 - erfc(b), and exp(b²) with its square in two parts
    out[left] = 2 / _square_exp(np.minimum(b, 30.0)) - _scaled(b)
    out[np.isnan(x)] = np.nan
    return out


def _unary_samples(low: float, high: float, *more: float) -> Samples:
    def samples() -> list[Sample]:
        return [
            Sample((draw((3,), low, high),)),
            Sample((np.array([low, *more, high]),)),
            Sample((draw((2, 2), low, high).astype(np.float32),)),
        ]

    return samples


def erfc_slope(x: Any) -> Any:
    """The derivative of erfc, of complex numbers too."""
    return multiply(-2.0 / SQRT_PI, exp(negative(square(x))))


FAR = 10.0  # from here on 16 terms of the asymptotic series have double precision


def asymptotic_slope(x: Any, sign: float) -> Any:
    """Σ sign^k (2k - 1)!! (2k + 1) / (2^k x^(2k + 2)), for the places where formulas cancel.

    Abramowitz and Stegun 1964, 7.1.23, differentiated.
    """
    z = divide(0.5 * sign, square(x))
    total, factor, terms = 0.0, 1.0, []
    for k in range(16):
        terms.append(factor * (2 * k + 1))
        factor *= 2 * k + 1
    for c in reversed(terms):
        total = add(multiply(total, z), c)
    return divide(total, square(x))


def erfcx_slope(y: Any, x: Any) -> Any:
    """The derivative of exp(x²) erfc(x), which is y, without the cancellation of 2 x y - 2 / √π."""
    far = greater(x, FAR)
    near = subtract(multiply(multiply(2.0, where(far, 0.0, x)), where(far, 0.0, y)), 2.0 / SQRT_PI)
    return where(far, multiply(asymptotic_slope(where(far, x, 1.0), -1.0), -1.0 / SQRT_PI), near)


def erfinv_slope(y: Any) -> Any:
    """The derivative of the inverse of the error function, by its value."""
    return multiply(SQRT_PI / 2, exp(square(y)))


def ndtri_slope(y: Any) -> Any:
    """The derivative of the quantile of the normal distribution, by its value."""
    return multiply(math.sqrt(2 * math.pi), exp(divide(square(y), 2.0)))


erfc: Op = elementwise(
    double(_erfc), lambda _, x: erfc_slope(x), sample=_unary_samples(-2.0, 5.0, -0.3, 0.0, 0.4, 3.0)
)
erfcx: Op = elementwise(
    double(_erfcx),
    lambda y, x: erfcx_slope(y, x),
    sample=_unary_samples(-2.0, 5.0, -0.3, 0.0, 0.4, 3.0),
)


# --------------------------------------------------------------------------------- quantiles

# AS 241, PPND16: numerators and denominators, the constant term first
CENTRE = (
    (3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
     1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
     3.3430575583588128105e4, 2.5090809287301226727e3),
    (1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
     2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4,
     5.2264952788528545610e3),
)  # fmt: skip
FLANK = (
    (1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
     3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
     2.27238449892691845833e-2, 7.74545014278341407640e-4),
    (1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
     1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
     1.05075007164441684324e-9),
)  # fmt: skip
TAIL = (
    (6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0,
     2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
     2.71155556874348757815e-5, 2.01033439929228813265e-7),
    (1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
     7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
     2.04426310338993978564e-15),
)  # fmt: skip


def _quantile(q: Any, tail: Any) -> Any:
    """The normal quantile, from p - ½ and the smaller of p and 1 - p."""
    r = 0.180625 - q * q
    out = q * _ratio(r, CENTRE)
    outside = ~(np.abs(q) <= 0.425)
    if outside.any():
        r = np.sqrt(-np.log(tail[outside]))
        found = np.where(r <= 5, _ratio(r - 1.6, FLANK), _ratio(r - 5, TAIL))
        found = np.where(tail[outside] == 0, np.inf, found)
        out[outside] = np.where(tail[outside] < 0, np.nan, np.copysign(found, q[outside]))
    out[np.isnan(q)] = np.nan
    return out


def _ndtri(p: Any) -> Any:
    return _quantile(p - 0.5, np.minimum(p, 1 - p))


def _erfinv(x: Any) -> Any:
    return _quantile(x / 2, (1 - np.abs(x)) / 2) / SQRT2


erfinv: Op = elementwise(
    double(_erfinv),
    lambda y, _: erfinv_slope(y),
    sample=_unary_samples(-0.9, 0.95, -0.3, 0.0, 0.4),
)
ndtri: Op = elementwise(
    double(_ndtri),
    lambda y, _: ndtri_slope(y),
    sample=_unary_samples(0.05, 0.95, 0.3, 0.5, 0.9),
)


def _polynomial(x: Any, coefficients: tuple[float, ...]) -> Any:
    value: Any = coefficients[-1]
    for c in coefficients[-2::-1]:
        value = add(multiply(value, x), c)
    return value


def _quantile_composed(q: Any, tail: Any) -> Any:
    """`_quantile` in operations, of which native code computes all three formulas."""

    def ratio(x: Any, pair: tuple[tuple[float, ...], tuple[float, ...]]) -> Any:
        return divide(_polynomial(x, pair[0]), _polynomial(x, pair[1]))

    centre = multiply(q, ratio(subtract(0.180625, square(q)), CENTRE))
    r = sqrt(negative(log(tail)))
    near = ratio(subtract(r, 1.6), FLANK)
    found = where(less_equal(r, 5.0), near, ratio(subtract(r, 5.0), TAIL))
    found = copysign(where(equal(tail, 0.0), np.inf, found), q)
    found = where(less(tail, 0.0), np.nan, found)
    return where(less_equal(absolute(q), 0.425), centre, found)


def _in_double(composed: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """What the compiler takes in the place of `double` of a function."""

    def widened(x: Any) -> Any:
        aval = type_of(x)
        found = composed(cast(x, np.dtype(np.float64)))
        return cast(found, aval.dtype if aval.dtype.kind == "f" else np.dtype(np.float64))

    return widened


ndtri.primitive.composed = _in_double(  # type: ignore[attr-defined]
    lambda p: _quantile_composed(subtract(p, 0.5), minimum(p, subtract(1.0, p)))
)
erfinv.primitive.composed = _in_double(  # type: ignore[attr-defined]
    lambda x: divide(
        _quantile_composed(divide(x, 2.0), divide(subtract(1.0, absolute(x)), 2.0)), SQRT2
    )
)


def _log_ndtr(x: Any) -> Any:
    low = x < -1
    out = np.log1p(-_erfc(np.where(low, 0.0, x) / SQRT2) / 2)
    b = x[low]
    out[low] = np.log(_erfcx(-b / SQRT2) / 2) - b * b / 2
    return out


log_ndtr: Op = elementwise(
    double(_log_ndtr),
    lambda _, x: divide(math.sqrt(2 / math.pi), erfcx(divide(negative(x), SQRT2))),
    sample=_unary_samples(-5.0, 3.0, -1.5, 0.0, 0.4),
)


def ndtr(x: Any) -> Any:
    """The distribution function of the standard normal distribution."""
    return multiply(0.5, erfc(multiply(-1 / SQRT2, x)))


for _function in (erfc, erfcx, erfinv, ndtri, log_ndtr):
    _function.primitive.in_pieces = True  # type: ignore[attr-defined]
