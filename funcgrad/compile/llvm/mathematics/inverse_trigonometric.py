"""arcsin, arccos, arctan and arctan2."""

from __future__ import annotations

import math
from typing import NamedTuple

from funcgrad.compile.llvm.emit import Emitter, Value
from funcgrad.compile.llvm.mathematics.avx512 import exponent, scale
from funcgrad.compile.llvm.mathematics.blocks import (
    apply_sign,
    fast_two_sum,
    quotient,
)
from funcgrad.compile.llvm.mathematics.coefficients import ASIN, ATAN, HALF_PI

__all__ = ["arccos", "arcsin", "arctan", "arctan2"]


def _root_or_self(e: Emitter, a: Value) -> tuple[Value, Value, Value]:
    """Where a > 1/2, and y with the rest of its arcsin: y is a, or sqrt((1 - a) / 2) there.

    arcsin(a) = pi/2 - 2 arcsin(sqrt((1 - a) / 2)).
    """
    large = a > 0.5
    z = e.select(large, e.multiply_add(a, -0.5, 0.5), a * a)
    y = e.select(large, e.square_root(z), a)
    return large, y, z * y * e.polynomial(ASIN[e.element], z)


def arcsin(e: Emitter, x: Value) -> Value:
    half_pi, half_pi_low, *_ = HALF_PI[e.element]
    large, y, rest = _root_or_self(e, e.absolute(x))
    head, lost = fast_two_sum(half_pi, -(y + y))
    far = head - (e.multiply_add(rest, 2.0, -half_pi_low) - lost)
    return e.copy_sign(e.select(large, far, y + rest), x)


def arccos(e: Emitter, x: Value) -> Value:
    """pi/2 - arcsin(x) near 0, and twice an arcsin, or pi less that, near 1 and -1."""
    half_pi, half_pi_low, *_ = HALF_PI[e.element]
    large, y, rest = _root_or_self(e, e.absolute(x))
    negative = x < 0.0
    factor = e.select(large, e.constant(2.0), e.constant(1.0))
    factor = e.select(large ^ negative, factor, -factor)
    base, base_low = (
        e.select(large, e.select(negative, e.constant(2.0 * v), e.constant(0.0)), e.constant(v))
        for v in (half_pi, half_pi_low)
    )
    return e.multiply_add(factor, y, base) + e.multiply_add(factor, rest, base_low)


TAN_PI_8 = math.sqrt(2.0) - 1.0
TAN_3_PI_8 = math.sqrt(2.0) + 1.0


class Octant(NamedTuple):
    """The multiple of pi/4 nearest to arctan(y / x), in two parts, and the rest's tangent."""

    base: Value
    base_low: Value
    t: Value


def _octant(e: Emitter, y: Value, x: Value) -> Octant:
    """For y >= 0, x >= 0 that are not both zero or infinite."""
    middle, steep = y > x * TAN_PI_8, y > x * TAN_3_PI_8
    numerator = e.select(steep, -x, e.select(middle, y - x, y))
    denominator = e.select(steep, y, e.select(middle, x + y, x))
    base, base_low = (
        e.select(steep, e.constant(v), e.select(middle, e.constant(v / 2.0), e.constant(0.0)))
        for v in HALF_PI[e.element][:2]
    )
    return Octant(base, base_low, quotient(e, numerator, denominator))


def _angle(e: Emitter, base: Value, base_low: Value, t: Value) -> Value:
    """base + arctan(t) for |t| <= tan(pi/8)."""
    z = t * t
    rest = e.multiply_add(e.polynomial(ATAN[e.element], z), z * t, base_low)
    return base + (t + rest)


def arctan(e: Emitter, x: Value) -> Value:
    a = e.at_most(e.absolute(x), 2.0**60)  # infinity has no quotient
    return e.copy_sign(_angle(e, *_octant(e, a, e.constant(1.0))), x)


def arctan2(e: Emitter, y: Value, x: Value) -> Value:
    """The angle in the first quadrant, or pi less that where x is negative, with the sign of y."""
    a, b = _comparable(e, e.absolute(y), e.absolute(x))
    base, base_low, t = _octant(e, a, b)
    pi, pi_low = (2.0 * v for v in HALF_PI[e.element][:2])
    left = e.bits(x) < 0
    base = e.select(left, pi - base, base)
    base_low = e.select(left, pi_low - base_low, base_low)
    return e.copy_sign(_angle(e, base, base_low, apply_sign(e, t, e.bits(x))), y)


def _comparable(e: Emitter, a: Value, b: Value) -> tuple[Value, Value]:
    """Operands of the same quotient whose sum is finite, and that are not both 0 or infinite."""
    larger = e.select(a > b, a, b)

    def slow() -> list[Value]:
        infinite = larger.equals(math.inf)
        # 1 for infinity, 0 for what is finite, and NaN for NaN
        x, y = (e.select(infinite, e.select(v.equals(math.inf), 1.0, v * 0.0), v) for v in (a, b))
        return [x, e.select(larger.equals(0.0), 1.0, y)]

    special = larger.equals(math.inf) | larger.equals(0.0)
    a, b = e.rarely(special, [a, b], slow)
    if e.full_registers:
        k = -exponent(e, e.select(a > b, a, b))
        return scale(e, a, k), scale(e, b, k)
    factor = e.select(larger > e.largest / 4.0, e.constant(0.125), e.constant(1.0))
    return a * factor, b * factor
