"""exp, exp2, expm1, and what is made of them: tanh and sigmoid.

exp(x) = 2**n exp(r), with n the integer nearest to x / ln 2 and |r| <= ln 2 / 2; r is subtracted in
two parts, of which the first product is exact.
"""

from __future__ import annotations

from typing import NamedTuple

from funcgrad.compile.llvm.emit import Emitter, Value
from funcgrad.compile.llvm.mathematics.coefficients import EXP, EXPM1, LN2

__all__ = ["Reduced", "exp", "exp_reduced", "expm1", "reduce", "sigmoid", "tanh"]

LOG2_E = 1.4426950408889634


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


def clamp(e: Emitter, x: Value) -> Value:
    """Bring x to where the result is just 0 or just infinite, so that n stays a small integer."""
    low, high = (-746.0, 710.0) if e.double else (-104.0, 89.0)
    return e.at_least(e.at_most(x, high), low)


def exp_reduced(e: Emitter, r: Value) -> Value:
    """exp(r) for |r| <= ln 2 / 2."""
    square = r * r
    return e.multiply_add(e.polynomial(EXP[e.element], r), square, r) + 1.0


def exp(e: Emitter, x: Value) -> Value:
    shifted, n, r = reduce(e, clamp(e, x))
    return e.scale_by_power(exp_reduced(e, r), n, shifted)


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
    shifted, _, r = reduce(e, e.at_least(e.at_most(x, high), low))
    scale = low_power_of_two(e, shifted, -1)
    half = e.multiply_add(scale, expm1_reduced(e, r), scale - 0.5)
    return e.copy_sign(half + half, x)  # the sign of zero


def tanh(e: Emitter, x: Value) -> Value:
    """u / (u + 2) with u = expm1(2 |x|)."""
    a = e.at_most(e.absolute(x), 20.0 if e.double else 10.0)
    shifted, _, r = reduce(e, a + a)
    scale = low_power_of_two(e, shifted)
    u = e.multiply_add(scale, expm1_reduced(e, r), scale - 1.0)
    return e.copy_sign(e.quotient(u, u + 2.0), x)


def sigmoid(e: Emitter, x: Value) -> Value:
    """v / (1 + v) or 1 / (1 + v) with v = exp(-|x|), so that neither tail is lost."""
    v = exp(e, -e.absolute(x))
    return e.quotient(e.select(x < 0.0, v, e.constant(1.0)), v + 1.0)
