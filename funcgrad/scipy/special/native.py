"""Which of these functions the compiler has vector mathematics for: their records say so."""

from __future__ import annotations

from funcgrad.compile import scalars  # noqa: F401 (gives the operations below their bodies)
from funcgrad.core.forms import Op
from funcgrad.ops import activation, gamma, normal
from funcgrad.ops import error as errors
from funcgrad.scipy.special.elementary import expit
from funcgrad.scipy.special.error import erf, erfc
from funcgrad.scipy.special.gamma_functions import gammaln, psi

__all__ = ["install"]

BODIES: list[tuple[Op, Op]] = [
    (erf, errors.erf),
    (erfc, normal.erfc),
    (expit, activation.expit),
    (gammaln, gamma.lgamma),
    (psi, gamma.digamma),
]


def install() -> None:
    """Give each record the scalar body of the operation that computes the same function."""
    for ours, known in BODIES:
        ours.primitive.scalar = known.primitive.scalar  # type: ignore[attr-defined]
