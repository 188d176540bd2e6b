"""sinh, cosh, tanh and their inverses.

sinh and cosh of x = n ln 2 + r are 2**(n-1) times (1 + q) sinh(r) + (1 - q) cosh(r) and
(1 + q) cosh(r) + (1 - q) sinh(r), q = 2**(-2n): no quotient, and for n = 0 nothing but sinh(r).
"""

from __future__ import annotations

import math

from funcgrad.compile.llvm.emit import Emitter, Value
from funcgrad.compile.llvm.mathematics.avx512 import scale
from funcgrad.compile.llvm.mathematics.blocks import (
    apply_sign,
    fast_two_sum,
    half_inverse_root,
    nearest_exponent,
    power_of_two,
    quotient,
    root,
    scale_by_power,
    small_integer_to_float,
    two_sum,
)
from funcgrad.compile.llvm.mathematics.coefficients import ATANH, COSH, LN2, SINH
from funcgrad.compile.llvm.mathematics.exponential import (
    Reduced,
    expm1_reduced,
    low_power_of_two,
    reduce,
)
from funcgrad.compile.llvm.mathematics.logarithm import log_successor

__all__ = ["arccosh", "arcsinh", "arctanh", "cosh", "sinh", "tanh"]


def _parts(e: Emitter, x: Value) -> tuple[Reduced, Value, Value, Value]:
    """|x| reduced, q = 2**(-2n), sinh(r) and cosh(r) - 1."""
    a = e.at_most(e.absolute(x), 712.0 if e.double else 91.0)
    reduced = reduce(e, a)
    n, r = reduced.n, reduced.r
    if e.full_registers:
        q = scale(e, 1.0, n * -2.0)
    else:
        k = e.bits(e.rounder) - e.bits(reduced.shifted)
        q = e.select(n > 60.0, e.constant(0.0), power_of_two(e, k << 1))
    z = r * r
    sinh_r = e.multiply_add(e.polynomial(SINH[e.element], z), z * r, r)
    rest = e.multiply_add(e.polynomial(COSH[e.element], z), z, 0.5)
    return reduced, q, sinh_r, rest * z


def sinh(e: Emitter, x: Value) -> Value:
    (shifted, n, _), q, sinh_r, coshm1_r = _parts(e, x)
    plus, minus = q + 1.0, 1.0 - q
    twice = minus + e.multiply_add(plus, sinh_r, minus * coshm1_r)
    return e.copy_sign(scale_by_power(e, twice, n - 1.0, shifted - 1.0), x)


def cosh(e: Emitter, x: Value) -> Value:
    (shifted, n, _), q, sinh_r, coshm1_r = _parts(e, x)
    plus, minus = q + 1.0, 1.0 - q
    # 1 + q would lose q in part where it is small.
    twice = (e.multiply_add(minus, sinh_r, plus * coshm1_r) + q) + 1.0
    return scale_by_power(e, twice, n - 1.0, shifted - 1.0)


def tanh(e: Emitter, x: Value) -> Value:
    """u / (u + 2) with u = expm1(2 |x|)."""
    a = e.at_most(e.absolute(x), 20.0 if e.double else 10.0)
    shifted, _, r = reduce(e, a + a)
    power = low_power_of_two(e, shifted)
    u = e.multiply_add(power, expm1_reduced(e, r), power - 1.0)
    total, rest = two_sum(u, e.constant(2.0))
    return e.copy_sign(quotient(e, u, total, rest), x)


def _large(e: Emitter, x: Value) -> Value:
    """Where x² swallows 1 and the inverse functions are log(2x)."""
    return x > (2.0**60 if e.double else 2.0**30)


def arcsinh(e: Emitter, x: Value) -> Value:
    """log(1 + t) with t = |x| + x² / (1 + sqrt(1 + x²))."""
    a = e.absolute(x)
    square = a * a
    t, t_low = fast_two_sum(a, square / (root(e, square + 1.0) + 1.0))
    return e.copy_sign(_log1p_or_log_twice(e, t, t_low, a), x)


def arccosh(e: Emitter, x: Value) -> Value:
    """log(1 + t) with t = (x - 1) + sqrt((x - 1)² + 2 (x - 1))."""
    y = x - 1.0
    double_y = y + y
    square = e.multiply_add(y, y, double_y)
    square_low = e.fused(y, y, double_y - square)
    s = e.square_root(square)
    rest = e.fused(-s, s, square) + square_low
    t, t_low = two_sum(y, s)
    t_low = e.multiply_add(rest, half_inverse_root(e, square, s), t_low)
    result = _log1p_or_log_twice(e, t, t_low, x)
    return e.select(x < 1.0, e.constant(math.nan), result)


def _log1p_or_log_twice(e: Emitter, t: Value, t_low: Value, x: Value) -> Value:
    """log(1 + t + t_low), or log(2x) where x is large."""
    large = _large(e, x)
    t, t_low = e.select(large, x, t), e.select(large, e.constant(0.0), t_low)
    result = log_successor(e, t, t_low, twice=large)
    return e.select(x < math.inf, result, x)


def arctanh(e: Emitter, x: Value) -> Value:
    """artanh(s) + k/2 ln 2, where (1 + |x|) / (1 - |x|) = 2**k (1 + s) / (1 - s).

    k is the sum of the exponents of 1 + |x| and 1 / (1 - |x|), which brings s below 1/3; with
    k = 0, s is |x| itself.
    """
    a = e.absolute(x)
    sum_, sum_low = fast_two_sum(1.0, a)
    rest, rest_low = fast_two_sum(1.0, -a)
    up, down = nearest_exponent(e, sum_), nearest_exponent(e, rest)
    up_power, down_power = power_of_two(e, -up), power_of_two(e, -down)
    p, p_low = sum_ * up_power, sum_low * up_power
    q, q_low = rest * down_power, rest_low * down_power
    s = quotient(e, (p - q) + (p_low - q_low), (p + q) + (p_low + q_low))
    z = s * s
    series = e.multiply_add(e.polynomial(ATANH[e.element], z), z * s, s)
    half = small_integer_to_float(e, up - down) * 0.5
    high, low = LN2[e.element]
    result = e.multiply_add(half, high, e.multiply_add(half, low, series))
    result = e.select(a.equals(1.0), e.constant(math.inf), result)
    result = e.select(a > 1.0, e.constant(math.nan), result)
    return apply_sign(e, result, e.bits(x))
