"""What the functions are built of: quotients, powers of two, exponents, sums with their rounding.

Each has a form for AVX-512, where `e.full_registers` allows it, and a generic one.
"""

from __future__ import annotations

from typing import NamedTuple

from funcgrad.compile.llvm.emit import Emitter, Operand, Value
from funcgrad.compile.llvm.mathematics.avx512 import (
    exponent,
    inverse_root_estimate,
    mantissa,
    reciprocal_estimate,
    scale,
)

__all__ = [
    "Split",
    "apply_sign",
    "fast_two_sum",
    "half_inverse_root",
    "nearest_exponent",
    "power_of_two",
    "quotient",
    "root",
    "scale_by_power",
    "small_integer_to_float",
    "split",
    "split_successor",
    "two_product",
    "two_sum",
]


def quotient(
    e: Emitter,
    x: Operand,
    y: Operand,
    y_low: Value | None = None,
    x_low: Value | None = None,
) -> Value:
    """(x + x_low) / (y + y_low) to about half an ulp; y and the result are normal and finite.

    There is one division: the processor divides while it multiplies elsewhere, and is done before
    Newton's method would be.
    """
    x, y = e.lift(x), e.lift(y)
    if x_low is None and y_low is None:
        return x / y
    if e.full_registers:
        q, inverse = x / y, reciprocal_estimate(e, y)
    else:
        inverse = 1.0 / y
        q = x * inverse
    rest = e.fused(-y, q, x)
    if x_low is not None:
        rest = rest + x_low
    if y_low is not None:
        rest = e.multiply_add(-y_low, q, rest)
    return e.multiply_add(rest, inverse, q)


def root(e: Emitter, x: Value) -> Value:
    """sqrt(x) to about one ulp, for positive x whose inverse is normal; NaN for infinity."""
    if e.double or not e.full_registers:
        return e.square_root(x)
    # The instruction for the root holds up all others for as long as ten of them take.
    inverse = inverse_root_estimate(e, x)
    y = x * inverse
    return e.multiply_add(y, e.multiply_add(-y, inverse * 0.5, 0.5), y)


def half_inverse_root(e: Emitter, x: Value, root: Value) -> Value:
    """1 / (2 root) for root = sqrt(x), roughly: for corrections. Finite also at 0."""
    if e.full_registers:
        half = inverse_root_estimate(e, x) * 0.5
    else:
        half = 0.5 / root
    return e.at_most(half, e.largest)


# Sums and products with what their rounding lost


def two_sum(x: Operand, y: Value) -> tuple[Value, Value]:
    """x + y exactly, as a rounded sum and the rest (Knuth)."""
    total = x + y
    part = total - y
    return total, (x - part) + (y - (total - part))


def fast_two_sum(x: Operand, y: Value) -> tuple[Value, Value]:
    """The same where |x| >= |y| or x is 0 (Dekker)."""
    total = x + y
    return total, y - (total - x)


def two_product(e: Emitter, x: Value, y: Operand) -> tuple[Value, Value]:
    product = x * y
    return product, e.fused(x, y, -product)


# Exponents


def power_of_two(e: Emitter, k: Value) -> Value:
    """2**k for integers k in the range of normal numbers."""
    return e.from_bits((k + e.bias) << e.mantissa_bits)


def scale_by_power(e: Emitter, x: Value, n: Value, shifted: Value) -> Value:
    """x * 2**n for an integral float n, into the denormals and past the largest number.

    `shifted` is n + rounder, as a reduction leaves it: its low bits hold n.
    """
    if e.full_registers:
        return scale(e, x, n)
    k = e.bits(shifted) - e.bits(e.rounder)
    half = k >> 1
    return x * power_of_two(e, half) * power_of_two(e, k - half)


def small_integer_to_float(e: Emitter, k: Value) -> Value:
    if not e.double or e.full_registers:
        return e.convert("sitofp", k, e.element)
    # Without AVX-512 DQ there is no instruction for 64 bits: add it to the bits of the rounder.
    return e.from_bits(k + e.bits(e.rounder)) - e.rounder


class Split(NamedTuple):
    """x = 2**k m, with m near 1: in [3/4, 3/2) on AVX-512, else in [sqrt(1/2), sqrt(2))."""

    k: Value
    m: Value


def split(e: Emitter, x: Value) -> Split:
    """Take positive x apart; what becomes of other x is not said but on AVX-512.

    There 0, infinity and NaN give k = -inf, k = inf and m = NaN, with m = 1 beside an infinite k,
    and negative x gives m = NaN.
    """
    if e.full_registers:
        return _split_by_instruction(e, x)
    smallest_normal, lift = (2.0**-1022, 54) if e.double else (2.0**-126, 25)
    denormal = x < smallest_normal
    k, m = _split_normal(e, e.select(denormal, x * 2.0**lift, x))
    n = small_integer_to_float(e, k)
    return Split(e.select(denormal, n - float(lift), n), m)


def split_successor(e: Emitter, t: Value, t_low: Value | None = None) -> tuple[Value, Value]:
    """1 + t + t_low = 2**k (1 + f), for t > -1 and without AVX-512. Gives k and f.

    With s = 2**(-k), f = t s + (s - 1) has one rounding, and is t itself where k is 0.
    """
    whole, m = _split_normal(e, t + 1.0)
    s = power_of_two(e, -whole)
    f = e.fused(t, s, s - 1.0)
    if t_low is not None:
        f = e.multiply_add(t_low, s, f)
    # Where t is large, the power may be no number, and 1 does not count.
    return small_integer_to_float(e, whole), e.select(t > 2.0**60, m - 1.0, f)


def _split_by_instruction(e: Emitter, x: Value) -> Split:
    m = mantissa(e, x, interval=3)
    return Split(exponent(e, x) - exponent(e, m), m)


def nearest_exponent(e: Emitter, x: Value) -> Value:
    """The integer k that brings x / 2**k into [sqrt(1/2), sqrt(2)), for positive normal x."""
    root_half = 0x3FE6A09E667F3BCD if e.double else 0x3F3504F3
    return (e.bits(x) - root_half) >> e.mantissa_bits


def _split_normal(e: Emitter, x: Value) -> tuple[Value, Value]:
    k = nearest_exponent(e, x)
    return k, e.from_bits(e.bits(x) - (k << e.mantissa_bits))


def apply_sign(e: Emitter, x: Value, flip: Value) -> Value:
    """x with its sign flipped where the sign bit of the integer `flip` is set."""
    sign = -(1 << 63) if e.double else -(1 << 31)
    return e.from_bits(e.bits(x) ^ (flip & sign))
