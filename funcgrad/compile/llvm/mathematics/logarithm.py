"""log, log2, log10, log1p and logaddexp.

x = 2**k m with m near 1. On AVX-512, m is brought nearer to 1: with c/16, the inverse of m to a
sixteenth (c/32 in single precision), r = m c/16 - 1 is exact, and log(m) = log(1 + r) - log(c/16),
the latter looked up in two parts, of which the first is added to k ln 2 without error. Elsewhere
log(m) = log(1 + f) = 2 artanh(s), f = m - 1, s = f / (2 + f); single precision takes a polynomial
in f.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from funcgrad.compile.llvm.emit import Emitter, Operand, Value
from funcgrad.compile.llvm.mathematics.avx512 import look_up, reciprocal_estimate, scale
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
    LOG2_NEAR_1,
    LOG2_STEPS,
    LOG2_STEPS_LOW,
    LOG10,
    LOG10_2,
    LOG10_E,
    LOG10_NEAR_1,
    LOG10_STEPS,
    LOG10_STEPS_LOW,
    LOG_NEAR_1,
    LOG_QUOTIENT,
    LOG_STEPS,
    LOG_STEPS_LOW,
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
    if e.full_registers:
        inverse, index = nearer(e, m)
        return _log_looked_up(e, k, index, e.fused(m, inverse, -1.0), None)
    return _log_of_f(e, k, m - 1.0, None)


def log_successor(
    e: Emitter,
    t: Value,
    t_low: Value | None = None,
    *,
    start: Value | None = None,
    twice: Value | None = None,
) -> Value:
    """start + log(1 + t + t_low) for t > -1, and of twice that where the mask `twice` is set."""
    if e.full_registers:
        k, index, r = _successor_looked_up(e, t, t_low)
    else:
        k, r = split_successor(e, t, t_low)
    if twice is not None:
        k = e.select(twice, k + 1.0, k)
    return _log_looked_up(e, k, index, r, start) if e.full_registers else _log_of_f(e, k, r, start)


def _successor_looked_up(e: Emitter, t: Value, t_low: Value | None) -> tuple[Value, Value, Value]:
    """k, the index of the table, and r, of 1 + t + t_low; exact beyond the bits of 1 + t.

    With s the inverse over 2**k, r = t s + (s - 1) has one rounding, and is t itself where s is 1.
    """
    k, m = split(e, t + 1.0)
    inverse, index = nearer(e, m)
    s = scale(e, inverse, -k)
    r = e.fused(t, s, s - 1.0)
    return k, index, r if t_low is None else e.multiply_add(t_low, s, r)


def _log_looked_up(e: Emitter, k: Value, index: Value, r: Value, start: Value | None) -> Value:
    high_ln2, low_ln2 = LN2[e.element]
    whole, low_part = (look_up(e, table[e.element], index) for table in (LOG_STEPS, LOG_STEPS_LOW))
    tail = e.multiply_add(k, low_ln2, low_part)
    tail = e.multiply_add(e.polynomial([-0.5, *LOG_NEAR_1[e.element]], r), r * r, tail)
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
    if e.full_registers:
        whole, low_part, r = _steps_and_rest(e, m, LOG2_STEPS, LOG2_STEPS_LOW)
        return (k + whole) + _times_series(e, r, LOG2_NEAR_1[e.element], low_part)
    if e.double:
        high, tail = _log_in_base(e, m, LOG2_E["double"])
        whole, rest = fast_two_sum(k, high)
        return _at_edges(e, x, whole + (rest + tail))
    f = m - 1.0
    return _at_edges(e, x, k + _times_series(e, f, LOG2["float"]))


def log10(e: Emitter, x: Value) -> Value:
    k, m = split(e, x)
    high_2, low_2 = LOG10_2[e.element]
    if e.full_registers:
        whole, low_part, r = _steps_and_rest(e, m, LOG10_STEPS, LOG10_STEPS_LOW)
        low_part = e.multiply_add(k, low_2, low_part)
        series = _times_series(e, r, LOG10_NEAR_1[e.element], low_part)
        return e.multiply_add(k, high_2, whole) + series
    if e.double:
        high, tail = _log_in_base(e, m, LOG10_E["double"])
        whole, rest = fast_two_sum(k * high_2, high)
        return _at_edges(e, x, whole + (rest + e.multiply_add(k, low_2, tail)))
    f = m - 1.0
    series = _times_series(e, f, LOG10["float"], k * low_2)
    return _at_edges(e, x, e.multiply_add(k, high_2, series))


def _steps_and_rest(
    e: Emitter, m: Value, steps: Mapping[str, Sequence[float]], low: Mapping[str, Sequence[float]]
) -> tuple[Value, Value, Value]:
    """The two parts looked up for m, and what its approximate inverse leaves of it, less 1."""
    inverse, index = nearer(e, m)
    whole, low_part = (look_up(e, table[e.element], index) for table in (steps, low))
    return whole, low_part, e.fused(m, inverse, -1.0)


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
    result = log_successor(e, x)
    result = e.select(x < math.inf, result, x)
    edge = e.select(x.equals(-1.0), e.constant(-math.inf), e.constant(math.nan))
    result = e.select(x <= -1.0, edge, result)
    return e.copy_sign(result, x)  # the sign of zero


def logaddexp(e: Emitter, x: Value, y: Value) -> Value:
    """max(x, y) + log1p(exp(-|x - y|)); equal infinities have no difference."""
    larger = e.select(x > y, x, y)
    distance = e.select(x.equals(y), e.constant(0.0), e.absolute(x - y))
    ratio = exp(e, -distance)
    result = log_successor(e, ratio, start=larger)
    return e.select(e.absolute(larger) < math.inf, result, larger + ratio)


def log_in_two_parts(e: Emitter, x: Value) -> tuple[Value, Value]:
    """log(x) as a rounded sum and the rest, to some sixty bits, for positive finite x."""
    k, m = split(e, x)
    high_ln2, low_ln2 = LN2[e.element]
    high, tail = _log_parts(e, m - 1.0)
    total, rest = fast_two_sum(k * high_ln2, high)
    return fast_two_sum(total, rest + e.multiply_add(k, low_ln2, tail))
