"""lgamma and digamma, in double precision; single precision goes by way of it.

For negative x both are reflected, in a branch of its own. There lgamma passes through zero between
the integers, where its error is one of the last place of 1, not of the result; so does digamma.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from funcgrad.compile.llvm.emit import Emitter, Value
from funcgrad.compile.llvm.mathematics.blocks import fast_two_sum, two_product
from funcgrad.compile.llvm.mathematics.coefficients import (
    DIGAMMA,
    DIGAMMA_ROOT,
    DIGAMMA_TAIL,
    LGAMMA_1,
    LGAMMA_2,
    LGAMMA_LEAST,
    LGAMMA_MINIMUM,
    LGAMMA_TAIL,
    LOG_2_PI,
    SIN_PI,
)
from funcgrad.compile.llvm.mathematics.error import either
from funcgrad.compile.llvm.mathematics.logarithm import log, log_in_two_parts

__all__ = ["digamma", "lgamma"]


def _through_double(
    function: Callable[[Emitter, Value], Value],
) -> Callable[[Emitter, Value], Value]:
    def both(e: Emitter, x: Value) -> Value:
        if e.double:
            return function(e, x)
        double = e.of("double")
        wide = double.convert("fpext", double.value(x.name, "float"), "double")
        narrow = e.convert("fptrunc", function(double, wide), "float")
        return e.value(narrow.name)

    both.__doc__ = function.__doc__
    return both


def _whole_and_rest(e: Emitter, x: Value) -> Value:
    """x less the nearest integer, without error."""
    return x - e.intrinsic("rint", x)


def _sin_pi(e: Emitter, f: Value) -> Value:
    """sin(pi f) for |f| <= 1/2."""
    return f * e.polynomial(SIN_PI["double"], f * f)


@_through_double
def lgamma(e: Emitter, x: Value) -> Value:
    """log|Gamma(x)|: polynomials about its zeros up to 3, then Stirling's series.

    For negative x it is log(pi / |sin(pi x)|) - lgamma(1 - x).
    """
    negative = e.bits(x) < 0
    a = e.select(negative, 1.0 - x, x)
    high, low = log_in_two_parts(e, a)
    small = a < 0.5
    inner = _lgamma_near_zeros(e, e.select(small, a + 1.0, a), e.select(small, a, a - 1.0))
    near = e.select(small, inner - high, inner)
    result = e.select(a < 3.0, near, _stirling(e, a, high, low))
    result = e.select(a.equals(0.0), e.constant(math.inf), result)

    def reflected() -> list[Value]:
        size, sine = e.absolute(x), e.absolute(_sin_pi(e, _whole_and_rest(e, x)))
        tiny = size < 1e-30  # the sine is pi x, which a denormal would round
        log_pi = e.select(tiny, e.constant(0.0), e.constant(math.log(math.pi)))
        other = (log_pi - log(e, e.select(tiny, size, sine))) - result
        # The poles, which are all numbers so large that they are whole, and -inf as in C
        pole = e.select(x.equals(-math.inf), e.constant(0.0), sine).equals(0.0)
        other = e.select(pole, e.constant(math.inf), other)
        return [e.select(negative, other, result)]

    return e.rarely(negative, [result], reflected)[0]


def _lgamma_near_zeros(e: Emitter, x: Value, from_1: Value) -> Value:
    """lgamma(x) for 1/2 <= x <= 3, about 1, its minimum, and 2."""
    first, second = x < 1.2, x < 1.75
    place, place_low = DIGAMMA_ROOT["double"]
    least, least_low = LGAMMA_MINIMUM["double"]
    t = e.select(first, from_1, e.select(second, (x - place) - place_low, x - 2.0))
    tail = either(e, second, [0.0, *LGAMMA_LEAST["double"]], LGAMMA_2["double"])
    constant, *rest = either(e, first, LGAMMA_1["double"], tail)
    ratio, ratio_low = fast_two_sum(constant, t * e.polynomial(rest, t))
    p = e.multiply_add(t, ratio, t * ratio_low)
    # Adding +0 makes lgamma(1) = +0.
    return e.select(first, p + 0.0, e.select(second, (p - least_low) - least, p))


def _stirling(e: Emitter, x: Value, log_x: Value, log_x_low: Value) -> Value:
    inverse = 1.0 / x
    tail = inverse * e.polynomial(LGAMMA_TAIL["double"], inverse * inverse)
    factor = x - 0.5
    slope, slope_low = fast_two_sum(log_x, e.constant(-1.0))
    product, product_low = two_product(e, factor, slope)
    product_low = e.multiply_add(factor, slope_low + log_x_low, product_low)
    constant, constant_low = LOG_2_PI["double"]
    total, rest = fast_two_sum(product, e.constant(constant))
    result = total + (rest + (product_low + (tail + constant_low)))
    return e.select(x > LARGEST, e.constant(math.inf), result)


# Above it lgamma is infinite.
LARGEST = 2.5563481638716906e305


@_through_double
def digamma(e: Emitter, x: Value) -> Value:
    """The derivative of lgamma: a polynomial up to 3, then the asymptotic series.

    For negative x it is digamma(1 - x) + pi cot(-pi x).
    """
    negative = e.bits(x) < 0
    a = e.select(negative, 1.0 - x, x)
    inverse = 1.0 / a
    small = a < 1.0
    y = e.select(small, a + 1.0, a)
    root, root_low = DIGAMMA_ROOT["double"]
    constant, *rest = DIGAMMA["double"]
    t = y - 2.0
    ratio, ratio_low = fast_two_sum(constant, t * e.polynomial(rest, t))
    p = e.multiply_add(y - root, ratio, e.multiply_add(y - root, ratio_low, ratio * -root_low))
    # Where a is small, the rounding of the quotient counts.
    lost = e.fused(-a, inverse, 1.0) * inverse
    lost = e.select(inverse < math.inf, lost, e.constant(0.0))
    near = e.select(small, (p - lost) - inverse, p)
    z = inverse * inverse
    tail = e.multiply_add(z, e.polynomial(DIGAMMA_TAIL["double"], z), inverse * 0.5)
    log_a, log_low = log_in_two_parts(e, a)
    far = e.select(a < math.inf, log_a + (log_low - tail), a)
    result = e.select(a < 3.0, near, far)

    def reflected() -> list[Value]:
        f = _whole_and_rest(e, -x)
        cotangent = _sin_pi(e, 0.5 - e.absolute(f)) / _sin_pi(e, f)
        other = e.multiply_add(cotangent, math.pi, result)
        pole = f.equals(0.0) & x.differs(0.0)
        other = e.select(pole, e.constant(math.nan), other)
        return [e.select(negative, other, result)]

    return e.rarely(negative, [result], reflected)[0]
