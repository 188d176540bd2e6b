"""Rows of the non-central distributions and of Kolmogorov's, over special functions.

Their densities are the derivatives of the integrals by the place, which special functions state.
"""

from __future__ import annotations

import math
from typing import Any

from funcgrad.ops.arithmetic import divide, greater, greater_equal, logical_and, sqrt, square, where
from funcgrad.ops.transcendental import log
from funcgrad.scipy.special.bessel import ive
from funcgrad.scipy.special.elementary import xlogy
from funcgrad.scipy.special.empirical import kolmogorov, kolmogorov_density
from funcgrad.scipy.special.gamma_functions import gammaln
from funcgrad.scipy.special.hypergeometric import hyp0f1
from funcgrad.scipy.special.noncentral import ncf_log_density, ncfdtr, nct_density, nctdtr
from funcgrad.scipy.special.sampling import chndtr
from funcgrad.scipy.stats.family import ANY, HALF, POSITIVE, Family

__all__ = ["NONCENTRAL"]


def _chi_square(y: Any, k: Any, nc: Any) -> Any:
    """The logarithm of the density, by a scaled Bessel function; near nc = 0 by its series."""
    far = greater(nc * y, 1.0)
    half = 0.5 * k
    central = xlogy(half - 1.0, y) - 0.5 * y - gammaln(half) - half * math.log(2)
    near = central - 0.5 * nc + log(hyp0f1(half, 0.25 * where(far, 0.0, nc * y)))
    root, spread = sqrt(where(far, y, 1.0)), sqrt(where(far, nc, 1.0))
    power = xlogy(half - 1.0, divide(root, spread))
    scaled = log(ive(half - 1.0, root * spread))
    return where(far, scaled + power - 0.5 * square(root - spread) - math.log(2), near)


def _positive_first(nc: Any, *degrees: Any) -> Any:
    found = greater_equal(nc, 0.0)
    for d in degrees:
        found = logical_and(found, greater(d, 0.0))
    return found


NONCENTRAL: dict[str, Family] = {
    "ncx2": Family(
        _chi_square,
        cdf=lambda y, k, nc: chndtr(y, k, nc),
        sf=lambda y, k, nc: 1.0 - chndtr(y, k, nc),
        **HALF,
        allowed=lambda k, nc: _positive_first(nc, k),
        mean=lambda k, nc: k + nc,
        var=lambda k, nc: 2.0 * (k + 2.0 * nc),
        shapes=(3.5, 1.2),
    ),
    "ncf": Family(
        lambda y, n, d, nc: ncf_log_density(n, d, nc, y),
        cdf=lambda y, n, d, nc: ncfdtr(n, d, nc, y),
        sf=lambda y, n, d, nc: 1.0 - ncfdtr(n, d, nc, y),
        **HALF,
        allowed=lambda n, d, nc: _positive_first(nc, n, d),
        shapes=(4.5, 6.5, 0.4),
    ),
    "nct": Family(
        lambda y, k, nc: log(nct_density(k, nc, y)),
        cdf=lambda y, k, nc: nctdtr(k, nc, y),
        sf=lambda y, k, nc: 1.0 - nctdtr(k, nc, y),
        allowed=lambda k, nc: greater(k, 0.0),
        shapes=(7.0, 0.3),
    ),
    "kstwobign": Family(
        lambda y: log(kolmogorov_density(y)),
        cdf=lambda y: 1.0 - kolmogorov(y),
        sf=kolmogorov,
        **POSITIVE,
        **ANY,
    ),
}
