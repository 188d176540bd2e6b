"""Means, variances and entropies that no formula gives: averages over the quantiles.

The mean is the integral of the quantile over the unit interval, by the rule of Takahasi and Mori
(1974) on each side of the median; from each end it is taken by the quantile, or the survival's,
which has all digits there. Its derivative is that of the quantiles, so a support that moves with a
shape does no harm. Where the tails are so heavy that the outermost node counts, or a kink lies
elsewhere than at the median, there is no average, or too few digits of it: the derivative is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.ops.arithmetic import (
    absolute,
    isfinite,
    less,
    logical_and,
    logical_not,
    square,
    where,
)
from funcgrad.ops.shape import concatenate
from funcgrad.ops.sums import sum as total
from funcgrad.scipy.special.differences import along

__all__ = ["average"]

_STEP = 1 / 14
_T = np.arange(-43, 44) * _STEP
_LOGIT = math.pi * np.sinh(_T)
# Half of the unit interval, down to 1e-15: SciPy's survivals are no less where they are 1 - F.
U = 0.5 / (1.0 + np.exp(-_LOGIT))
WEIGHTS = _STEP * math.pi * np.cosh(_T) * U / (1.0 + np.exp(_LOGIT))
_EVERY_OTHER = np.where(np.arange(_T.size) % 2 == 1, 1.0, -1.0)
_LOST = 1e-9  # of the whole, which the outermost node may be
_UNSURE = 1e-6  # of it, by which the rule of half as many nodes may differ: its error is the root


def average(
    method: str, low: Callable[..., Any], high: Callable[..., Any], log_density: Callable[..., Any]
) -> Callable[..., Any]:
    """A moment as a function of the shapes, by the quantiles from both ends."""

    def of_shapes(*shapes: Any) -> Any:
        wide = tuple(along(s) for s in shapes)
        ends = low(U, *wide), high(U, *wide)
        if method == "entropy":
            return -sum(_sum(log_density(x, *wide)) for x in ends)
        mean = sum(_sum(x) for x in ends)
        if method == "mean":
            return mean
        return sum(_sum(square(x - along(mean))) for x in ends) + 0.0 * mean

    return of_shapes


def _sum(values: Any) -> Any:
    """The part of one end; its derivative is NaN where the outermost node counts."""
    known = isfinite(values)  # a density vanishes at an end, and a quantile is infinite
    terms = where(known, where(known, values, 0.0) * WEIGHTS, 0.0)
    sizes = absolute(terms)
    before = concatenate([known[..., :1] & False, known[..., :-1]], -1)
    outermost = total(where(logical_and(known, logical_not(before)), sizes, 0.0), -1)
    whole = total(sizes, -1) + 1e-300
    other = absolute(total(terms * _EVERY_OTHER, -1))
    sure = logical_and(less(outermost, _LOST * whole), less(other, _UNSURE * whole))
    return total(terms, -1) * where(sure, 1.0, math.nan)  # `where` of NaN would have the slope 0
