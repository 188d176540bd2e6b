"""sqrt, cbrt, hypot and power."""

from __future__ import annotations

import math

from funcgrad.compile.llvm.emit import Emitter, Value
from funcgrad.compile.llvm.mathematics.avx512 import exponent, look_up, mantissa, scale
from funcgrad.compile.llvm.mathematics.blocks import (
    fast_two_sum,
    power_of_two,
    scale_by_power,
    split,
    two_product,
)
from funcgrad.compile.llvm.mathematics.coefficients import (
    CBRT,
    LN2,
    LOG_FIFTH,
    LOG_NEAR_1_FINELY,
    LOG_STEPS,
    LOG_STEPS_LOW,
    THIRD,
)
from funcgrad.compile.llvm.mathematics.exponential import clamp, exp_reduced, reduce
from funcgrad.compile.llvm.mathematics.logarithm import nearer

__all__ = ["cbrt", "hypot", "power", "sqrt"]


def sqrt(e: Emitter, x: Value) -> Value:
    return e.square_root(x)


def cbrt(e: Emitter, x: Value) -> Value:
    """2**q cbrt(2**j m), from an approximation r of the inverse cube root of a = 2**j m."""
    a = e.absolute(x)
    k, m = (exponent(e, a), mantissa(e, a)) if e.full_registers else split(e, a)
    third = e.multiply_add(k, 1.0 / 3.0, e.rounder)  # k / 3 is never half way
    q = third - e.rounder
    j = e.multiply_add(q, -3.0, k + e.rounder)  # -1, 0 or 1 in the low bits
    a = m * _by_remainder(e, j, 0.5, 2.0)
    r = e.polynomial(CBRT[e.element], m) * _by_remainder(e, j, 2.0 ** (1 / 3), 2.0 ** (-1 / 3))
    # With half the bits, r² is exact. a = t³ / (1 - d)², where t = a r² and 1 - d = a r³.
    r = e.from_bits(e.bits(r) & (-1 << (e.mantissa_bits + 1) // 2))
    t, t_low = two_product(e, a, r * r)
    d = e.multiply_add(-t_low, r, e.fused(-t, r, 1.0))
    series = e.polynomial([2 / 3, 5 / 9, 40 / 81] if e.double else [2 / 3, 5 / 9], d)
    root = t + e.multiply_add(t * d, series, t_low)
    if e.full_registers:
        return e.copy_sign(scale(e, root, q), x)  # q is infinite where x is 0 or infinite
    root = root * power_of_two(e, e.bits(third) - e.bits(e.rounder))
    usual = x.differs(0.0) & (e.absolute(x) < math.inf)
    return e.select(usual, e.copy_sign(root, x), x)


def _by_remainder(e: Emitter, j: Value, down: float, up: float) -> Value:
    """`down`, 1 or `up` for the low bits -1, 0 and 1."""
    if e.full_registers:
        entries = 16 if e.double else 32
        return look_up(e, [1.0, up, *[1.0] * (entries - 3), down], e.bits(j))
    above, below = j > e.rounder, j < e.rounder
    return e.select(above, e.constant(up), e.select(below, e.constant(down), e.constant(1.0)))


def hypot(e: Emitter, x: Value, y: Value) -> Value:
    """sqrt(x² + y²), scaled by a power of two that brings the larger operand near 1."""
    a, b = e.absolute(x), e.absolute(y)
    infinite = a.equals(math.inf) | b.equals(math.inf)
    larger = e.select(a > b, a, b)
    if e.full_registers:
        # Between the exponents of the smallest and the largest number, also for 0 and infinity.
        limit = 1074.0 if e.double else 149.0
        k = e.at_least(e.at_most(exponent(e, larger), limit), -limit)
        a, b = scale(e, a, -k), scale(e, b, -k)
        result = scale(e, e.square_root(e.multiply_add(a, a, b * b)), k)
    else:
        bound, up = (2.0**500, 2.0**600) if e.double else (2.0**60, 2.0**100)
        big, small, down = larger > bound, larger < 1.0 / bound, 1.0 / up
        one = e.constant(1.0)
        factor = e.select(big, e.constant(down), e.select(small, e.constant(up), one))
        back = e.select(big, e.constant(up), e.select(small, e.constant(down), one))
        a, b = a * factor, b * factor
        result = e.square_root(e.multiply_add(a, a, b * b)) * back
    return e.select(infinite, e.constant(math.inf), result)  # also beside a NaN


def power(e: Emitter, x: Value, y: Value) -> Value:
    """exp(y log(x)), with the logarithm and the product in two parts; C99's special values."""
    log_x, log_low = _log_finely(e, e.absolute(x))
    # Beyond the bound any y does the same, and no product overflows.
    bound = 2.0**66 if e.double else 2.0**34
    z = clamp(e, y, -bound, bound)
    product, product_low = two_product(e, log_x, z)
    low, high = (-746.0, 710.0) if e.double else (-104.0, 89.0)
    clamped = clamp(e, product, low, high)
    shifted, n, r = reduce(e, clamped)
    r = r + e.select(
        clamped.equals(product), e.multiply_add(log_low, z, product_low), e.constant(0.0)
    )
    result = scale_by_power(e, exp_reduced(e, r), n, shifted)
    usual = (x > 0.0) & (x < math.inf) & (e.absolute(y) < math.inf)
    special = usual ^ e.mask(True)
    return e.rarely(special, [result], lambda: [_special_power(e, x, y, result)])[0]


def _log_finely(e: Emitter, x: Value) -> tuple[Value, Value]:
    """log(x) in two parts, to some ten bits more than one part has, for positive finite x."""
    k, m = split(e, x)
    high_ln2, low_ln2 = LN2[e.element]
    if e.full_registers:
        inverse, index = nearer(e, m)
        head, tail = _log1p_finely(e, e.fused(m, inverse, -1.0))
        whole = e.multiply_add(k, high_ln2, look_up(e, LOG_STEPS[e.element], index))
        tail = tail + e.multiply_add(k, low_ln2, look_up(e, LOG_STEPS_LOW[e.element], index))
    else:
        head, tail = _log_by_quotient(e, m - 1.0)
        whole = k * high_ln2
        tail = e.multiply_add(k, low_ln2, tail)
    total, rest = fast_two_sum(whole, head)
    return fast_two_sum(total, rest + tail)


def _log1p_finely(e: Emitter, r: Value) -> tuple[Value, Value]:
    """log(1 + r) = r - r²/2 + r³ P(r), of which the first two terms are summed without loss."""
    square, square_low = two_product(e, r, r)
    head, tail = fast_two_sum(r, square * -0.5)
    rest = e.multiply_add(square_low, -0.5, tail)
    return head, e.multiply_add(square * r, e.polynomial(LOG_NEAR_1_FINELY[e.element], r), rest)


def _log_by_quotient(e: Emitter, f: Value) -> tuple[Value, Value]:
    """log(1 + f) = 2s + 2/3 s³ + s³ z P(z), s = f / (2 + f), z = s², likewise."""
    divisor, divisor_low = fast_two_sum(2.0, f)
    inverse = 1.0 / divisor
    s = f * inverse
    s_low = (e.fused(-divisor, s, f) - divisor_low * s) * inverse
    z, z_low = two_product(e, s, s)
    z_low = e.multiply_add(s + s, s_low, z_low)
    third, third_low = THIRD[e.element]
    w, w_low = two_product(e, z, third)
    w_low = e.multiply_add(z_low, third, e.multiply_add(z, third_low, w_low))
    w_low = e.multiply_add(z * z * 0.5, e.polynomial(LOG_FIFTH[e.element], z), w_low)
    cube, cube_low = two_product(e, s, w)
    cube_low = e.multiply_add(s, w_low, e.multiply_add(s_low, w, cube_low))
    head, tail = fast_two_sum(s, cube)
    tail = tail + (s_low + cube_low)
    return head + head, tail + tail


def _special_power(e: Emitter, x: Value, y: Value, result: Value) -> Value:
    """What `power` is where x is not positive and finite, or y not finite."""
    zero, one, nan = e.constant(0.0), e.constant(1.0), e.constant(math.nan)
    a = e.absolute(x)
    infinite = e.absolute(y).equals(math.inf)
    extreme = a.equals(0.0) | a.equals(math.inf) | infinite
    limit = e.select((a > 1.0) ^ (y < 0.0), e.constant(math.inf), zero)
    limit = e.select(a.equals(1.0), one, limit)
    result = e.select(extreme, limit, result)
    whole = y.equals(e.intrinsic("rint", y))
    half = y * 0.5
    odd = whole & half.differs(e.intrinsic("rint", half))
    result = e.select(odd & (e.bits(x) < 0), -result, result)
    result = e.select((x < 0.0) & (whole | extreme) ^ (x < 0.0), nan, result)
    result = e.select(e.compare("uno", x, y), nan, result)
    return e.select(y.equals(0.0) | x.equals(1.0), one, result)
