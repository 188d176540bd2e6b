"""log and log1p.

x = 2**k m with m in [sqrt(1/2), sqrt(2)), and log(x) = k ln 2 + log(1 + f), f = m - 1.
"""

from __future__ import annotations

import math

from funcgrad.compile.llvm.emit import Emitter, Value
from funcgrad.compile.llvm.mathematics.coefficients import LN2, LOG, LOG_QUOTIENT

__all__ = ["log", "log1p"]


def split_exponent(e: Emitter, x: Value) -> tuple[Value, Value]:
    """The integer k and m in [sqrt(1/2), sqrt(2)) with x = 2**k m, for positive normal x."""
    root_half = 0x3FE6A09E667F3BCD if e.double else 0x3F3504F3
    bits = e.bits(x)
    k = (bits - root_half) >> e.mantissa_bits
    return k, e.from_bits(bits - (k << e.mantissa_bits))


def small_integer_to_float(e: Emitter, k: Value) -> Value:
    if not e.double or e.full_registers:
        return e.convert("sitofp", k, e.element)
    # Without AVX-512 DQ there is no instruction for 64 bits: add it to the bits of the rounder.
    return e.from_bits(k + e.bits(e.rounder)) - e.rounder


def log_sum(e: Emitter, k: Value, f: Value) -> Value:
    """k ln 2 + log(1 + f)."""
    high, low = LN2[e.element]
    if e.double:
        s = e.quotient(f, f + 2.0)
        z = s * s
        rest = z * e.polynomial(LOG_QUOTIENT["double"], z)
        half_square = f * f * 0.5
        tail = e.multiply_add(s, half_square + rest, k * low)
        return e.multiply_add(k, high, f - (half_square - tail))
    square = f * f
    tail = e.multiply_add(square * f, e.polynomial(LOG["float"], f), k * low)
    tail = e.multiply_add(square, -0.5, tail)
    return e.multiply_add(k, high, tail + f)


def at_edges(e: Emitter, x: Value, result: Value, zero: float) -> Value:
    """NaN and infinity stay themselves; -inf at `zero`, and NaN below it."""
    result = e.select(x < math.inf, result, x)
    edge = e.select(x.equals(zero), e.constant(-math.inf), e.constant(math.nan))
    return e.select(x <= zero, edge, result)


def log(e: Emitter, x: Value) -> Value:
    smallest_normal, lift = (2.0**-1022, 54) if e.double else (2.0**-126, 25)
    denormal = x < smallest_normal
    k, m = split_exponent(e, e.select(denormal, x * 2.0**lift, x))
    exponent = small_integer_to_float(e, k)
    exponent = e.select(denormal, exponent - float(lift), exponent)
    return at_edges(e, x, log_sum(e, exponent, m - 1.0), 0.0)


def log1p(e: Emitter, x: Value) -> Value:
    u = x + 1.0
    # What the rounding of u lost, by the two-sum (Knuth).
    part = u - 1.0
    lost = (x - part) + (1.0 - (u - part))
    k, m = split_exponent(e, u)
    scale = e.from_bits((e.bias << e.mantissa_bits) - (k << e.mantissa_bits))
    # Where x is large the scale may be no number, and what was lost does not count.
    f = e.select(x < 2.0**60, e.multiply_add(lost, scale, m - 1.0), m - 1.0)
    result = at_edges(e, x, log_sum(e, small_integer_to_float(e, k), f), -1.0)
    return e.select(x.equals(0.0), x, result)  # the sign of zero
