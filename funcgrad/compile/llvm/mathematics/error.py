"""erf."""

from __future__ import annotations

from funcgrad.compile.llvm.emit import Emitter, Value
from funcgrad.compile.llvm.mathematics.coefficients import ERF, ERFC
from funcgrad.compile.llvm.mathematics.exponential import exp_reduced, low_power_of_two, reduce

__all__ = ["erf"]


def erf(e: Emitter, x: Value) -> Value:
    """x + x P(x²) below 1, and 1 - exp(-x²) Q((x - 3) / (x + 3)) above, for |x|."""
    a = e.at_most(e.absolute(x), 6.0 if e.double else 4.0)
    z = a * a
    small = e.multiply_add(a, e.polynomial(ERF[e.element], z), a)
    t = e.quotient(a - 3.0, a + 3.0)
    shifted, _, r = reduce(e, -z)
    tail = exp_reduced(e, r) * low_power_of_two(e, shifted) * e.polynomial(ERFC[e.element], t)
    return e.copy_sign(e.select(a < 1.0, small, 1.0 - tail), x)
