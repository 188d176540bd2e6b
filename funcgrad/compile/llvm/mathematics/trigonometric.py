"""sin and cos.

x = n pi/2 + r with |r| <= pi/4. The first product n * HALF_PI[0] is subtracted without error by the
fused multiply-add, since the difference is a multiple of the last bit of HALF_PI[0]. The parts are
all positive, so that x = -0 stays -0.
"""

from __future__ import annotations

from funcgrad.compile.llvm.emit import Emitter, Value
from funcgrad.compile.llvm.mathematics.coefficients import COS, HALF_PI, SIN

__all__ = ["cos", "sin"]

TWO_OVER_PI = 0.6366197723675814


def reduce(e: Emitter, x: Value) -> tuple[Value, Value]:
    """The bits of n and r."""
    shifted = e.multiply_add(x, TWO_OVER_PI, e.rounder)
    n = shifted - e.rounder
    r = x
    for part in HALF_PI[e.element]:
        r = e.fused(n, -part, r)
    return e.bits(shifted), r


def sin_reduced(e: Emitter, r: Value, z: Value) -> Value:
    result = e.multiply_add(z * r, e.polynomial(SIN[e.element], z), r)
    return e.copy_sign(result, r)  # the sign of zero


def cos_reduced(e: Emitter, z: Value) -> Value:
    return e.multiply_add(z * z, e.polynomial(COS[e.element], z), e.multiply_add(z, -0.5, 1.0))


def in_quadrant(e: Emitter, quadrant: Value, r: Value) -> Value:
    """sin(quadrant pi/2 + r)."""
    z = r * r
    odd = (quadrant & 1).differs(0)
    result = e.select(odd, cos_reduced(e, z), sin_reduced(e, r, z))
    sign = (quadrant & 2) << (62 if e.double else 30)
    return e.from_bits(e.bits(result) ^ sign)


def sin(e: Emitter, x: Value) -> Value:
    return in_quadrant(e, *reduce(e, x))


def cos(e: Emitter, x: Value) -> Value:
    quadrant, r = reduce(e, x)
    return in_quadrant(e, quadrant + 1, r)
