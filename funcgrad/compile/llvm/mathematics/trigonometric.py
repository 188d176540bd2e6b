"""sin, cos and tan, for arguments of any size.

x = n pi/2 + r with |r| <= pi/4. The first product n * HALF_PI[0] is subtracted without error by the
fused multiply-add, since the difference is a multiple of the last bit of HALF_PI[0]. The parts are
all positive, so that x = -0 stays -0. Arguments too large for that go to `huge_arguments`.
"""

from __future__ import annotations

from funcgrad.compile.llvm.emit import Emitter, Value
from funcgrad.compile.llvm.mathematics.blocks import (
    apply_sign,
    quotient,
    two_product,
)
from funcgrad.compile.llvm.mathematics.coefficients import COS, HALF_PI, SIN, TAN
from funcgrad.compile.llvm.mathematics.huge_arguments import reduce_huge

__all__ = ["cos", "sin", "tan"]

QUARTER_PI = 0.785  # a little less
TWO_OVER_PI = 0.6366197723675814


def _multiple(e: Emitter, x: Value) -> tuple[Value, Value, Value]:
    """A number whose low bits are those of n, n as a float, and x - n HALF_PI[0]."""
    shifted = e.multiply_add(x, TWO_OVER_PI, e.rounder)
    n = shifted - e.rounder
    return e.bits(shifted), n, e.fused(n, -HALF_PI[e.element][0], x)


def _unless_huge(e: Emitter, x: Value, usual: list[Value]) -> list[Value]:
    huge = e.absolute(x) > (2.0**40 if e.double else 2.0**15)

    def slow() -> list[Value]:
        return [e.select(huge, a, b) for a, b in zip(reduce_huge(e, x), usual)]

    return e.rarely(huge, usual, slow)


def _reduced(e: Emitter, x: Value) -> list[Value]:
    quadrant, n, r = _multiple(e, x)
    for part in HALF_PI[e.element][1:]:
        r = e.fused(n, -part, r)
    return _unless_huge(e, x, [quadrant, r])


def _reduce_finely(e: Emitter, x: Value) -> list[Value]:
    """The same with r in two parts, of which the second is small."""
    quadrant, n, coarse = _multiple(e, x)
    _, second, third = HALF_PI[e.element]
    product, product_low = two_product(e, n, second)
    r = coarse - product
    low = ((coarse - r) - product) - e.multiply_add(n, third, product_low)
    return _unless_huge(e, x, [quadrant, r, low])


def _flipped(e: Emitter, x: Value, quadrant: Value) -> Value:
    """x with the sign of a quadrant, which the second bit of its number says."""
    return apply_sign(e, x, quadrant << (62 if e.double else 30))


def _factors(e: Emitter, quadrant: Value, z: Value, r: Value) -> list[Value]:
    """The two factors of `_sum` without the sign of the quadrant; z = r²."""
    odd = (quadrant & 1).differs(0)
    head = e.select(odd, e.multiply_add(z, -0.5, 1.0), r)
    return [head, z * e.select(odd, z, r)]


def _short_series(e: Emitter, quadrant: Value, z: Value) -> Value:
    """P(z) or Q(z) of `_sum` in single precision."""
    odd = (quadrant & 1).differs(0)
    pairs = zip(COS[e.element], SIN[e.element], strict=True)
    return e.estrin([e.select(odd, e.constant(c), e.constant(s)) for c, s in pairs], z)


def _sum(
    e: Emitter,
    quadrant: Value,
    z: Value,
    head: Value,
    factor: Value,
    series: Value | None = None,
) -> Value:
    """sin(r) = r + r z P(z), or cos(r) = 1 - z/2 + z z Q(z), as head + factor series.

    A loop that waits for its last step waits for the longest chain of these operations, so in
    double precision the first two terms of the series are multiplied beside the sum of the others.
    What is taken from r = -0 is 0, as -0 + 0 is, so that it stays -0. The three terms of single
    precision have no shorter chain than their sum, which takes fewer operations.
    """
    if not e.double:
        series = _short_series(e, quadrant, z) if series is None else series
        result = e.multiply_add(factor, series, head)
        return e.copy_sign(result, head)  # the sign of r = -0
    odd = (quadrant & 1).differs(0)
    pairs = zip(COS[e.element], SIN[e.element], strict=True)
    terms = [e.select(odd, e.constant(-c), e.constant(-s)) for c, s in pairs]
    first = e.multiply_add(factor, e.estrin(terms[:2], z), 0.0)
    return head - e.multiply_add(factor * (z * z), e.estrin(terms[2:], z), first)


def _sine(e: Emitter, x: Value, turns: int) -> Value:
    """sin(x + turns pi/2).

    A loop that waits for its last step waits for single numbers. Those that are small are not
    reduced, which a processor guesses well: of states that move little in a step it is the same
    for many of them. The others have their sign in both factors; in vectors the result has it,
    which is one operation less and gives the same bits.
    """

    def reduced() -> list[Value]:
        quadrant, r = _reduced(e, x)
        return [quadrant + turns, r * r, r]

    def signed() -> list[Value]:
        quadrant, z, r = reduced()
        return [quadrant, z, *(_flipped(e, f, quadrant) for f in _factors(e, quadrant, z, r))]

    if e.lanes > 1:
        quadrant, z, r = reduced()
        # before the factors, so that fewer registers are held
        series = None if e.double else _short_series(e, quadrant, z)
        head, factor = _factors(e, quadrant, z, r)
        return _flipped(e, _sum(e, quadrant, z, head, factor, series), quadrant)
    z = x * x
    quadrant = e.constant(turns, "i64" if e.double else "i32")
    small = [z, e.multiply_add(z, -0.5, 1.0), z * z] if turns else [z, x, z * x]
    far = e.compare("ugt", e.absolute(x), QUARTER_PI)
    return _sum(e, *e.rarely(far, [quadrant, *small], signed, odds=1))


def sin(e: Emitter, x: Value) -> Value:
    return _sine(e, x, 0)


def cos(e: Emitter, x: Value) -> Value:
    return _sine(e, x, 1)


def tan(e: Emitter, x: Value) -> Value:
    """t = r + r³ P(r²), or -1 / t in odd quadrants."""
    quadrant, r, low = _reduce_finely(e, x)
    z = r * r
    low = e.multiply_add(z * 1.5, low, low)  # the slope, 1 + tan(r)², goes up to 2
    t = r + e.multiply_add(z * r, e.polynomial(TAN[e.element], z), low)
    odd = (quadrant & 1).differs(0)
    result = quotient(e, e.select(odd, -1.0, t), e.select(odd, t, 1.0))
    return e.select(x.equals(0.0), x, result)  # the sign of zero
