"""erf, erfc and erfinv.

Each has several polynomials, and each lane the coefficients of its own: one evaluation serves all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from funcgrad.compile.llvm.emit import Emitter, Value
from funcgrad.compile.llvm.mathematics.blocks import (
    fast_two_sum,
    half_inverse_root,
    quotient,
    scale_by_power,
    two_sum,
)
from funcgrad.compile.llvm.mathematics.coefficients import (
    ERF,
    ERFC,
    ERFC_SHIFT,
    ERFINV_0,
    ERFINV_2,
    ERFINV_5,
    ERFINV_16,
    LOG_ERFC,
)
from funcgrad.compile.llvm.mathematics.exponential import (
    expm1_reduced,
    low_power_of_two,
    reduce,
)
from funcgrad.compile.llvm.mathematics.logarithm import log_in_two_parts

__all__ = ["either", "erf", "erfc", "erfinv"]


def either(
    e: Emitter, mask: Value, x: Sequence[Value | float], y: Sequence[Value | float]
) -> list[Value]:
    """The coefficients x where `mask` is set, else y; the shorter is filled up with zeros."""
    count = max(len(x), len(y))
    filled = [[e.lift(c) for c in [*row, *[0.0] * (count - len(row))]] for row in (x, y)]
    return [e.select(mask, a, b) for a, b in zip(*filled, strict=True)]


def erf(e: Emitter, x: Value) -> Value:
    """x + x P(x²) below 1, and 1 - exp(P(|x|)) above, for |x|."""
    a = e.at_most(e.absolute(x), 5.95 if e.double else 4.0)
    small = a < 1.0
    coefficients = either(e, small, ERF[e.element], LOG_ERFC[e.element])
    p = e.polynomial(coefficients, e.select(small, a * a, a))
    shifted, _, r = reduce(e, p)
    power = low_power_of_two(e, shifted)
    far = (1.0 - power) - power * expm1_reduced(e, r)
    return e.copy_sign(e.select(small, e.multiply_add(a, p, a), far), x)


def erfc(e: Emitter, x: Value) -> Value:
    """1 - erf(x) for |x| < 3/4, and exp(-x²) P(1/(x + c)) / (x + c), or 2 less that.

    The rounding of x² counts in its exponential, and is made good there.
    """
    a = e.at_most(e.absolute(x), 28.0 if e.double else 11.0)
    small = a < 0.75
    shift, center = ERFC_SHIFT[e.element]
    square = a * a
    divisor, divisor_low = two_sum(a, e.constant(shift))
    offset = e.multiply_add(a, -center, 1.0 - center * shift)  # 1 / (a + c) - v0
    variable = e.select(small, square, quotient(e, offset, divisor, divisor_low))
    constant, *rest = either(e, small, ERF[e.element], ERFC[e.element])
    p, p_low = fast_two_sum(constant, variable * e.polynomial(rest, variable))
    near = (1.0 - x) - x * p
    shifted, n, r = reduce(e, -square)
    r = r - e.fused(a, a, -square)
    product, product_low = fast_two_sum(p, e.multiply_add(p, expm1_reduced(e, r), p_low))
    ratio = quotient(e, product, divisor, divisor_low, product_low)
    far = scale_by_power(e, ratio, n, shifted)
    far = e.select(x < 0.0, 2.0 - far, far)
    return e.select(small, near, far)


def erfinv(e: Emitter, x: Value) -> Value:
    """x P(w), w = -log(1 - x²), after M. Giles (GPU Computing Gems 2, 2011, chapter 10)."""
    rest = e.fused(-x, x, 1.0)
    log_rest, log_low = log_in_two_parts(e, rest)
    w = e.select(rest > 0.0, -log_rest, e.constant(math.nan))
    root = e.square_root(w)
    root_low = (e.fused(-root, root, w) - log_low) * half_inverse_root(e, w, root)
    near, middle = w < 1.7, w < 5.0
    if e.double:
        far = w < 16.0
        tail = either(e, far, ERFINV_5["double"], ERFINV_16["double"])
        center = e.select(far, e.constant(3.1), e.constant(5.0))
    else:
        tail, center = [e.lift(c) for c in ERFINV_5["float"]], e.constant(3.0)
    tail = either(e, middle, ERFINV_2[e.element], tail)
    center = e.select(near, e.constant(0.85), e.select(middle, e.constant(3.25), center))
    variable = (e.select(middle, w, root) - center) + e.select(middle, -log_low, root_low)
    result = x * e.polynomial(either(e, near, ERFINV_0[e.element], tail), variable)
    result = result + 0.0  # SciPy's erfinv(-0) is +0
    edge = e.absolute(x).equals(1.0)
    return e.select(edge, e.copy_sign(e.constant(math.inf), x), result)
