"""log, log2, log10, log1p and logaddexp.

x = 2**k m with m near 1. On AVX-512, m in double precision is brought nearer to 1: with c/16, its
inverse to a sixteenth, r = m c/16 - 1 is exact, and log(m) = log(1 + r) - log(c/16), the latter
looked up. Elsewhere log(m) = log(1 + f) = 2 artanh(s), f = m - 1, s = f / (2 + f); single precision
takes a polynomial in f.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from funcgrad.compile.llvm.emit import Emitter, Operand, Value
from funcgrad.compile.llvm.mathematics.avx512 import look_up, reciprocal_estimate
from funcgrad.compile.llvm.mathematics.blocks import (
    fast_two_sum,
    quotient,
    split,
    split_successor,
    two_product,
    two_sum,
)
from funcgrad.compile.llvm.mathematics.coefficients import (
    LN2,
    LOG,
    LOG2,
    LOG2_E,
    LOG2_SIXTEENTHS,
    LOG10,
    LOG10_2,
    LOG10_E,
    LOG10_SIXTEENTHS,
    LOG_NEAR_1,
    LOG_QUOTIENT,
    LOG_SIXTEENTHS,
)
from funcgrad.compile.llvm.mathematics.exponential import exp

__all__ = [
    "log",
    "log1p",
    "log2",
    "log10",
    "log_in_two_parts",
    "log_successor",
    "logaddexp",
    "nearer",
]


def nearer(e: Emitter, m: Value) -> tuple[Value, Value]:
    """An inverse c/16 of m in [3/4, 3/2), to a sixteenth, and a number whose low bits are c.

    In single precision, 32 takes the place of 16.
    """
    rounder = e.rounder / (16.0 if e.double else 32.0)
    shifted = reciprocal_estimate(e, m) + rounder
    return shifted - rounder, e.bits(shifted)


def _log_parts(e: Emitter, f: Value) -> tuple[Value, Value]:
    """log(1 + f) as a sum of two, by the series of artanh."""
    s = quotient(e, f, f + 2.0)
    z = s * s
    rest = z * e.polynomial(LOG_QUOTIENT[e.element], z)
    half_square = f * f * 0.5
    high = f - half_square
    return high, e.multiply_add(s, half_square + rest, (f - high) - half_square)


def _log_normal(e: Emitter, k: Value, m: Value) -> Value:
    """k ln 2 + log(m)."""
    if e.double and e.full_registers:
        inverse, index = nearer(e, m)
        return _log_looked_up(e, k, index, e.fused(m, inverse, -1.0), None)
    return _log_of_f(e, k, m - 1.0, None)


def log_successor(e: Emitter, k: Value, f: Value, start: Value | None = None) -> Value:
    """start + k ln 2 + log(1 + f), where f is exact beyond the bits of 1 + f."""
    if e.double and e.full_registers:
        inverse, index = nearer(e, f + 1.0)
        return _log_looked_up(e, k, index, e.fused(f, inverse, inverse - 1.0), start)
    return _log_of_f(e, k, f, start)


def _log_looked_up(e: Emitter, k: Value, index: Value, r: Value, start: Value | None) -> Value:
    high_ln2, low_ln2 = LN2["double"]
    whole, low_part = (look_up(e, table, index) for table in LOG_SIXTEENTHS.values())
    tail = e.multiply_add(k, low_ln2, low_part)
    tail = e.multiply_add(e.polynomial([-0.5, *LOG_NEAR_1["double"]], r), r * r, tail)
    whole = e.multiply_add(k, high_ln2, whole)
    return (whole if start is None else start + whole) + (r + tail)


def _log_of_f(e: Emitter, k: Value, f: Value, start: Value | None) -> Value:
    high_ln2, low_ln2 = LN2[e.element]
    if e.double:
        high, tail = _log_parts(e, f)
        return _plus_multiple(e, high + e.multiply_add(k, low_ln2, tail), k, high_ln2, start)
    square = f * f
    tail = e.multiply_add(square * f, e.polynomial(LOG["float"], f), k * low_ln2)
    tail = e.multiply_add(square, -0.5, tail)
    return _plus_multiple(e, tail + f, k, high_ln2, start)


def _plus_multiple(e: Emitter, x: Value, k: Value, factor: float, start: Value | None) -> Value:
    """start + k factor + x."""
    if start is None:
        return e.multiply_add(k, factor, x)
    total, rest = two_sum(start, k * factor)
    return total + (x + rest)


def _at_edges(e: Emitter, x: Value, result: Value) -> Value:
    """NaN and infinity stay themselves; -inf at 0, and NaN below it."""
    if e.full_registers:
        return result  # `split` has seen to it
    result = e.select(x < math.inf, result, x)
    edge = e.select(x.equals(0.0), e.constant(-math.inf), e.constant(math.nan))
    return e.select(x <= 0.0, edge, result)


def log(e: Emitter, x: Value) -> Value:
    return _at_edges(e, x, _log_normal(e, *split(e, x)))


def log2(e: Emitter, x: Value) -> Value:
    k, m = split(e, x)
    if e.double and e.full_registers:
        inverse, index = nearer(e, m)
        r = e.fused(m, inverse, -1.0)
        whole, low_part = (look_up(e, table, index) for table in LOG2_SIXTEENTHS.values())
        return (k + whole) + _times_series(e, r, LOG2["double"], low_part)
    if e.double:
        high, tail = _log_in_base(e, m, LOG2_E["double"])
        whole, rest = fast_two_sum(k, high)
        return _at_edges(e, x, whole + (rest + tail))
    f = m - 1.0
    return _at_edges(e, x, k + _times_series(e, f, LOG2["float"]))


def log10(e: Emitter, x: Value) -> Value:
    k, m = split(e, x)
    high_2, low_2 = LOG10_2[e.element]
    if e.double and e.full_registers:
        inverse, index = nearer(e, m)
        r = e.fused(m, inverse, -1.0)
        whole, low_part = (look_up(e, table, index) for table in LOG10_SIXTEENTHS.values())
        tail = _times_series(e, r, LOG10["double"], e.multiply_add(k, low_2, low_part))
        return e.multiply_add(k, high_2, whole) + tail
    if e.double:
        high, tail = _log_in_base(e, m, LOG10_E["double"])
        whole, rest = fast_two_sum(k * high_2, high)
        return _at_edges(e, x, whole + (rest + e.multiply_add(k, low_2, tail)))
    f = m - 1.0
    series = _times_series(e, f, LOG10["float"], k * low_2)
    return _at_edges(e, x, e.multiply_add(k, high_2, series))


def _times_series(
    e: Emitter, r: Value, coefficients: Sequence[float], start: Operand = 0.0
) -> Value:
    """start + r P(r), with one rounding of the leading term."""
    leading, *rest = coefficients
    return e.multiply_add(r, leading, e.multiply_add(e.polynomial(rest, r), r * r, start))


def _log_in_base(e: Emitter, m: Value, factor: tuple[float, ...]) -> tuple[Value, Value]:
    """log(m) times a factor in two parts, as a rounded product and the rest."""
    high, low = _log_parts(e, m - 1.0)
    product, rest = two_product(e, high, factor[0])
    rest = e.multiply_add(high, factor[1], e.multiply_add(low, factor[0], rest))
    return product, rest


def log1p(e: Emitter, x: Value) -> Value:
    result = log_successor(e, *split_successor(e, x))
    result = e.select(x < math.inf, result, x)
    edge = e.select(x.equals(-1.0), e.constant(-math.inf), e.constant(math.nan))
    result = e.select(x <= -1.0, edge, result)
    return e.copy_sign(result, x)  # the sign of zero


def logaddexp(e: Emitter, x: Value, y: Value) -> Value:
    """max(x, y) + log1p(exp(-|x - y|)); equal infinities have no difference."""
    larger = e.select(x > y, x, y)
    distance = e.select(x.equals(y), e.constant(0.0), e.absolute(x - y))
    ratio = exp(e, -distance)
    result = log_successor(e, *split_successor(e, ratio), larger)
    return e.select(e.absolute(larger) < math.inf, result, larger + ratio)


def log_in_two_parts(e: Emitter, x: Value) -> tuple[Value, Value]:
    """log(x) as a rounded sum and the rest, to some sixty bits, for positive finite x."""
    k, m = split(e, x)
    high_ln2, low_ln2 = LN2[e.element]
    high, tail = _log_parts(e, m - 1.0)
    total, rest = fast_two_sum(k * high_ln2, high)
    return fast_two_sum(total, rest + e.multiply_add(k, low_ln2, tail))
