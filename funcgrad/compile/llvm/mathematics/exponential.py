"""exp, exp2, expm1 and sigmoid.

exp(x) = 2**n exp(r), with n the integer nearest to x / ln 2 and |r| <= ln 2 / 2; r is subtracted in
two parts, of which the first product is exact.
"""

from __future__ import annotations

from typing import NamedTuple

from funcgrad.compile.llvm.emit import Emitter, Value
from funcgrad.compile.llvm.mathematics.blocks import fast_two_sum, quotient, scale_by_power
from funcgrad.compile.llvm.mathematics.coefficients import EXP, EXP2, EXPM1, LN2

__all__ = [
    "Reduced",
    "exp",
    "exp2",
    "exp_reduced",
    "expm1",
    "expm1_reduced",
    "low_power_of_two",
    "reduce",
    "sigmoid",
]

LOG2_E = 1.4426950408889634
TINY = 1e-30  # the square is lost beside it


class Reduced(NamedTuple):
    """x = n ln 2 + r; `shifted` is n + rounder, with n in its low bits."""

    shifted: Value
    n: Value
    r: Value


def reduce(e: Emitter, x: Value) -> Reduced:
    shifted = e.multiply_add(x, LOG2_E, e.rounder)
    n = shifted - e.rounder
    high, low = LN2[e.element]
    r = e.multiply_add(n, -low, e.multiply_add(n, -high, x))
    return Reduced(shifted, n, r)


def clamp(e: Emitter, x: Value, low: float, high: float) -> Value:
    """Bring x to where the result is constant, so that n stays a small integer."""
    return e.at_least(e.at_most(x, high), low)


def exp_reduced(e: Emitter, r: Value) -> Value:
    """exp(r) for |r| <= ln 2 / 2."""
    square = r * r
    return e.multiply_add(e.polynomial(EXP[e.element], r), square, r) + 1.0


def exp(e: Emitter, x: Value) -> Value:
    low, high = (-746.0, 710.0) if e.double else (-104.0, 89.0)
    shifted, n, r = reduce(e, clamp(e, x, low, high))
    return scale_by_power(e, exp_reduced(e, r), n, shifted)


def exp2(e: Emitter, x: Value) -> Value:
    low, high = (-1080.0, 1025.0) if e.double else (-155.0, 129.0)
    x = clamp(e, x, low, high)
    shifted = x + e.rounder
    n = shifted - e.rounder
    r = x - n
    result = e.multiply_add(e.polynomial(EXP2[e.element], r), r, 1.0)
    return scale_by_power(e, result, n, shifted)


def expm1_reduced(e: Emitter, r: Value) -> Value:
    """exp(r) - 1 for |r| <= ln 2 / 2."""
    half = e.multiply_add(e.polynomial(EXPM1[e.element], r), r, 0.5)
    return e.multiply_add(half, r * r, r)


def low_power_of_two(e: Emitter, shifted: Value, offset: int = 0) -> Value:
    """2**(n + offset) from n + rounder, where that is a normal number."""
    return e.from_bits((e.bits(shifted) + (e.bias + offset)) << e.mantissa_bits)


def expm1(e: Emitter, x: Value) -> Value:
    # Half of the result is computed, since 2**1024 is no number; below `low` it is -1.
    low, high = (-40.0, 710.0) if e.double else (-20.0, 89.0)
    shifted, _, r = reduce(e, clamp(e, x, low, high))
    power = low_power_of_two(e, shifted, -1)
    half = e.multiply_add(power, expm1_reduced(e, r), power - 0.5)
    tiny = e.absolute(x) < TINY  # half of a denormal number may be none
    return e.select(tiny, x, half + half)


def sigmoid(e: Emitter, x: Value) -> Value:
    """v / (1 + v) or 1 / (1 + v) with v = exp(-|x|), so that neither tail is lost."""
    v = exp(e, -e.absolute(x))
    total, rest = fast_two_sum(1.0, v)
    return quotient(e, e.select(x < 0.0, v, e.constant(1.0)), total, rest)
