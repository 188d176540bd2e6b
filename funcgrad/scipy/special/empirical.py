"""Kolmogorov's and Smirnov's distributions of distances, and Tukey's lambda distribution.

Smirnov's probability is a sum of polynomials in the distance (Birnbaum and Tingey 1951), which is
differentiated twice; its number of samples is a whole number. Kolmogorov's is a theta function.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special as sp

from funcgrad.core.forms import Op
from funcgrad.core.forms.elementwise import Pointwise
from funcgrad.ops.arithmetic import (
    divide,
    equal,
    less,
    less_equal,
    logical_or,
    negative,
    power,
    square,
    where,
)
from funcgrad.ops.transcendental import exp
from funcgrad.scipy.special.define import fixed, special
from funcgrad.scipy.special.elementary import boxcox
from funcgrad.scipy.special.gamma_functions import slope_of

# ------------------------------------------------------------- Kolmogorov's distribution


def _kolmogorov(y: Any) -> Any:
    """The probability to exceed y: by theta's series, or, below 1, by the transformed one."""
    near = less(y, 1.0)
    a, b = where(near, y, 0.5), where(near, 1.5, y)
    left = sum(exp(divide(-((2 * k - 1) ** 2) * math.pi**2 / 8, square(a))) for k in range(1, 6))
    right = sum(2 * (-1) ** (k - 1) * exp(-2.0 * k**2 * square(b)) for k in range(1, 6))
    inside = 1.0 - divide(math.sqrt(2 * math.pi) * left, a)
    return where(less_equal(y, 0.0), 1.0, where(near, inside, right))


kolmogorov: Op = special(sp.kolmogorov, slope_of(_kolmogorov, 0), ranges=[(0.3, 1.8)])


def kolmogorov_density(y: Any) -> Any:
    return negative(slope_of(_kolmogorov, 0)(None, y))


kolmogi: Op = special(
    sp.kolmogi, lambda y, _: divide(1.0, slope_of(_kolmogorov, 0)(None, y)), ranges=[(0.1, 0.9)]
)

# ----------------------------------------------------------------- Smirnov's distribution


def _smirnov_derivative(n: Any, x: Any, order: int) -> Any:
    """The derivative by x of Σ C(n, j) x A^(j-1) B^(n-j), where A = x + j/n and B = 1 - A > 0.

    The term of j = 0 is (1-x)^n. Of the others, w = C(n, j) A^(j-1) B^(n-j) has w' = q w with
    q = (j-1)/A - (n-j)/B, of which the large parts cancel: they are left out.
    """
    n, x = np.trunc(np.asarray(n, float))[..., None], np.asarray(x, float)[..., None]
    j = np.arange(1.0, max(float(np.max(n, initial=1.0)), 2.0))
    a = x + j / n
    b = 1.0 - a
    q = -n * x * (1.0 / a + 1.0 / b) - 1.0 / a
    choices = sp.gammaln(n + 1) - sp.gammaln(j + 1) - sp.gammaln(n - j + 1)
    w = np.exp(choices + (j - 1) * np.log(a) + (n - j) * np.log(b))
    first = -n * (1.0 - x) ** (n - 1.0)
    if order == 1:
        found = w * (1.0 + x * q)
    else:
        bend = -(j - 1) / a**2 - (n - j) / b**2
        found = w * (2.0 * q + x * (q * q + bend))
        first = n * (n - 1.0) * (1.0 - x) ** np.maximum(n - 2.0, 0.0)
    found = np.sum(np.where((j < n) & (b > 0), found, 0.0), -1) + first[..., 0]
    inside = (x[..., 0] >= 0) & (x[..., 0] <= 1)
    return np.where(inside, found, np.nan)


def _of_order(order: int, name: str) -> Pointwise:
    def derivative(n: Any, x: Any) -> Any:
        dtype = np.result_type(n, x)
        with np.errstate(all="ignore"):
            found = _smirnov_derivative(n, x, order)
        return found.astype(dtype if dtype.kind == "f" else float)[()]

    derivative.__name__ = name
    return Pointwise(derivative, 2)


SAMPLES = [3, 5, 8]


def _count(name: str) -> Any:
    return fixed(name, "the number of samples, which is a whole number")


smirnov_bend: Op = special(
    _of_order(2, "smirnov_second"),
    _count("smirnov"),
    fixed("smirnov", "the distance", order="third "),
    ranges=[SAMPLES, [1]],
    smooth=False,
)
smirnov_slope: Op = special(
    _of_order(1, "smirnov_first"),
    _count("smirnov"),
    lambda _, n, x: smirnov_bend(n, x),
    ranges=[SAMPLES, [1]],
    smooth=False,
)
smirnov: Op = special(
    sp.smirnov,
    _count("smirnov"),
    lambda _, n, x: smirnov_slope(n, x),
    ranges=[SAMPLES, (0.3, 0.6)],
)
smirnovi: Op = special(
    sp.smirnovi,
    _count("smirnovi"),
    lambda x, n, _: divide(1.0, smirnov_slope(n, x)),
    ranges=[SAMPLES, (0.1, 0.5)],
    smooth=False,  # the second derivative jumps where a term begins
)

# ------------------------------------------------------------- Tukey's lambda distribution


def _tukey_quantile(p: Any, shape: Any) -> Any:
    """(p^λ - (1-p)^λ) / λ, and log p - log(1-p) at λ = 0."""
    return boxcox(p, shape) - boxcox(1.0 - p, shape)


def _tukey_density(p: Any, shape: Any) -> Any:
    """0 outside the support, too, where SciPy's p is 0 or 1."""
    outside = logical_or(equal(p, 0.0), equal(p, 1.0))
    inner = where(outside, 0.5, p)
    return where(
        outside, 0.0, divide(1.0, power(inner, shape - 1.0) + power(1.0 - inner, shape - 1.0))
    )


def _tukey_shape(p: Any, _: Any, shape: Any) -> Any:
    outside = logical_or(equal(p, 0.0), equal(p, 1.0))
    inner = where(outside, 0.5, p)
    return negative(_tukey_density(p, shape) * slope_of(_tukey_quantile, 1)(None, inner, shape))


tklmbda: Op = special(
    sp.tklmbda,
    lambda p, _, shape: _tukey_density(p, shape),
    _tukey_shape,
    ranges=[(-1.0, 1.0), (-0.5, 0.8)],
    smooth=False,  # SciPy searches for it to some ten digits
)
