"""The gamma function and its kin. Their derivatives are polygamma functions."""

from __future__ import annotations

import math
from typing import Any

import scipy.special as sp

from funcgrad.core.forms import Op
from funcgrad.ops.arithmetic import equal, floor, less_equal, logical_and, negative, where
from funcgrad.ops.transcendental import cos
from funcgrad.scipy.special.define import fixed, special

POSITIVE = (0.4, 4.0)


def hurwitz_zeta(x: Any, q: Any) -> Any:
    return sp.zeta(x, q)


def polygamma_value(n: Any, x: Any) -> Any:
    return sp.polygamma(n, x)


zeta_function: Op = special(
    hurwitz_zeta,
    fixed("zeta", "x"),
    lambda _, x, q: negative(x) * zeta_function(x + 1.0, q),
    ranges=[[2, 3, 4], POSITIVE],
)
polygamma: Op = special(
    polygamma_value,
    fixed("polygamma", "the order n"),
    lambda _, n, x: polygamma(n + 1, x),
    ranges=[[0, 1, 3], POSITIVE],
)
psi: Op = special(sp.psi, lambda _, x: polygamma(1, x), ranges=[POSITIVE])
gammaln: Op = special(sp.gammaln, lambda _, x: psi(x), ranges=[POSITIVE])
loggamma: Op = special(sp.loggamma, lambda _, x: psi(x), ranges=[POSITIVE])
gamma: Op = special(sp.gamma, lambda y, x: y * psi(x), ranges=[POSITIVE])


def _reciprocal_slope(y: Any, x: Any) -> Any:
    """-ψ(x) / Γ(x); (-1)ⁿ n! at -n, where Γ has a pole."""
    pole = logical_and(less_equal(x, 0), equal(x, floor(x)))
    at_pole = cos(math.pi * where(pole, x, 0.0)) * gamma(1.0 - where(pole, x, 0.0))
    return where(pole, at_pole, negative(y) * psi(where(pole, 1.0, x)))


rgamma: Op = special(sp.rgamma, lambda y, x: _reciprocal_slope(y, x), ranges=[POSITIVE])
beta: Op = special(
    sp.beta,
    lambda y, a, b: y * (psi(a) - psi(a + b)),
    lambda y, a, b: y * (psi(b) - psi(a + b)),
    ranges=[POSITIVE, POSITIVE],
)
betaln: Op = special(
    sp.betaln,
    lambda _, a, b: psi(a) - psi(a + b),
    lambda _, a, b: psi(b) - psi(a + b),
    ranges=[POSITIVE, POSITIVE],
)
binom: Op = special(
    sp.binom,
    lambda y, n, k: y * (psi(n + 1.0) - psi(n - k + 1.0)),
    lambda y, n, k: y * (psi(n - k + 1.0) - psi(k + 1.0)),
    ranges=[(4.2, 6.0), (0.4, 3.0)],
)
poch: Op = special(
    sp.poch,
    lambda y, z, m: y * (psi(z + m) - psi(z)),
    lambda y, z, m: y * psi(z + m),
    ranges=[POSITIVE, POSITIVE],
)
