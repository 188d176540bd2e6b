"""Rows of distributions of which a shape is a whole number, piecewise polynomials of the place.

Irwin and Hall's is that of a sum of uniform numbers, a B-spline whose derivative is a difference of
two of one order less; `ksone` and `kstwo` are those of Smirnov's and Kolmogorov's distances. Of the
latter SciPy's density is a difference of values. Here it is the derivative of Durbin's matrix
(Marsaglia, Tsang and Wang 2003), of Smirnov's sum in the tail, and of the series of Pelz and Good
1976 where samples are many (Simard and L'Ecuyer 2011 say where each holds).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sp
import scipy.stats as sps

from funcgrad.core.forms import Op
from funcgrad.core.forms.elementwise import Pointwise
from funcgrad.ops.arithmetic import equal, greater_equal, logical_and, negative, rint
from funcgrad.ops.transcendental import log
from funcgrad.scipy.special.define import fixed, special
from funcgrad.scipy.special.empirical import smirnov, smirnov_bend, smirnov_slope
from funcgrad.scipy.stats.family import Family

__all__ = ["WHOLE"]


def _count(name: str) -> Any:
    return fixed(f"scipy.stats.{name}", "the number of samples, which is a whole number")


def _of(function: Callable[..., Any], name: str) -> Pointwise:
    """`function` of two arrays, in double precision."""

    def compute(n: Any, x: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.asarray(function(np.asarray(n, float), np.asarray(x, float)), float)[()]

    compute.__name__ = name
    return Pointwise(compute, 2)


def _is_count(n: Any) -> Any:
    return logical_and(greater_equal(n, 1), equal(n, rint(n)))


# -------------------------------------------------------------------- sums of uniform numbers


def _spline(n: Any, x: Any) -> Any:
    """The density of a sum of n uniform numbers, by de Boor's recursion, of positive terms.

    ``(n - 1) f(x; n) = x f(x; n - 1) + (n - x) f(x - 1; n - 1)``
    """
    n, x = np.broadcast_arrays(n, x)
    most = int(np.max(n[np.isfinite(n)], initial=1.0))
    places = x[..., None] - np.arange(most)  # of all shifts; f(·; 1) is 1 on [0, 1)
    found = ((places >= 0) & (places < 1)).astype(float)
    out = np.where(n == 1, found[..., 0], 0.0)
    for k in range(2, most + 1):
        here, beside = places[..., : most - k + 1], found[..., 1:]
        found = (here * found[..., :-1] + (k - here) * beside) / (k - 1)
        out = np.where(n == k, found[..., 0], out)
    return np.where((n != np.rint(n)) | np.isnan(x), np.nan, out)


def _spline_sum(n: Any, x: Any) -> Any:
    """The integral: the densities of one more at x, x - 1, …"""
    n, x = np.broadcast_arrays(n, x)
    most = int(np.max(n[np.isfinite(n)], initial=1.0))
    shifts = np.arange(most + 1)
    found = np.sum(_spline(n[..., None] + 1, x[..., None] - shifts), -1)
    return np.where(x >= n, 1.0, found)


COUNTS = [3, 4, 5]
_density: Op = special(
    _of(_spline, "irwinhall_density"),
    _count("irwinhall"),
    lambda _, n, x: _density(n - 1, x) - _density(n - 1, x - 1.0),
    ranges=[COUNTS, (0.3, 2.8)],
)
_integral: Op = special(
    _of(_spline_sum, "irwinhall_integral"),
    _count("irwinhall"),
    lambda _, n, x: _density(n, x),
    ranges=[COUNTS, (0.3, 2.8)],
)

# -------------------------------------------------------------------- Kolmogorov's distance


def _times(a: Any, b: Any) -> Any:
    """The product of two polynomials of degree 2, whose coefficients are matrices."""
    return [sum(a[i] @ b[k - i] for i in range(k + 1)) for k in range(3)]


def _durbin(n: int, x: float) -> tuple[float, float]:
    """The first two derivatives of n!/nⁿ (Hⁿ)_kk, with H of h = k - n x as a polynomial at h."""
    k = math.ceil(n * x)
    h, m = k - n * x, 2 * k - 1
    j = np.arange(1.0, m + 1)
    inverse = np.exp(-sp.gammaln(j + 1))
    edge = [-(h**j), -j * h ** (j - 1), -j * (j - 1) / 2 * h ** np.maximum(j - 2, 0)]
    first = [(e + (i == 0)) * inverse for i, e in enumerate(edge)]
    over = max(2 * h - 1.0, 0.0)
    for i, (factor, power) in enumerate(((1.0, m), (2.0 * m, m - 1), (2.0 * m * (m - 1), m - 2))):
        corner = factor * over ** max(power, 0) if over else 0.0
        first[i][-1] = (2 * edge[i][-1] + corner + (i == 0)) * inverse[-1]
    matrix = [np.zeros((m, m)) for _ in range(3)]
    row, column = np.indices((m, m))
    gap = row - column + 1
    inside = (gap >= 0) & (column > 0)
    matrix[0][inside] = np.concatenate([[1.0], inverse])[gap[inside]]
    for i in range(3):
        matrix[i][:, 0] = first[i]
        matrix[i][-1, :] = first[i][::-1]
    rows = [np.eye(m)[k - 1 : k], np.zeros((1, m)), np.zeros((1, m))]
    size, scale, left = 0.0, 0.0, n  # logarithms of the factors taken out
    while left:
        if left % 2:
            rows, size = _times(rows, matrix), size + scale
            most = np.max(np.abs(rows[0]))
            rows, size = [r / most for r in rows], size + math.log(most)
        left //= 2
        if left:
            matrix, scale = _times(matrix, matrix), 2 * scale
            most = np.max(np.abs(matrix[0]))
            matrix, scale = [a / most for a in matrix], scale + math.log(most)
    whole = math.exp(math.lgamma(n + 1) - n * math.log(n) + size)
    return -n * whole * rows[1][0, k - 1], 2.0 * n * n * whole * rows[2][0, k - 1]


def _pelz_good(n: int, x: float) -> tuple[float, float]:
    """The first two derivatives of the series in n^-½, of terms c z^p exp(-b / z²)."""
    z = math.sqrt(n) * x
    k = np.arange(1.0, math.ceil(8 * z / math.pi) + 8)
    m2, s = (2 * k - 1) ** 2 * math.pi**2 / 4, math.sqrt(2 * math.pi)
    of_odd = [  # the order in n^-½, the divisor, the powers of z and of m2
        (0, 1.0, [(1.0, -1, 0)]),
        (1, 6.0, [(-1.0, -2, 0), (1.0, -4, 1)]),
        (2, 72.0, [(6.0, -1, 0), (2.0, -3, 0), (2.0, -3, 1), (-5.0, -5, 1), (1.0, -7, 2),
                   (-2.0, -5, 2)]),
        (3, 6480.0, [(-30.0, -4, 0), (-90.0, -2, 0), (135.0, -6, 1), (-96.0, -4, 1),
                     (-60.0, -8, 2), (212.0, -6, 2), (5.0, -10, 3), (-30.0, -8, 3)]),
    ]  # fmt: skip
    terms = [
        (s * n ** (-order / 2) * c / divisor * m2**q, p, m2 / 2)
        for order, divisor, parts in of_odd
        for c, p, q in parts
    ]
    k2 = (k * math.pi) ** 2
    terms += [
        (-s / 36 / n * k2, -3, k2 / 2),
        (s / 72 / n**1.5 * k2, -4, k2 / 2),
        (-s / 216 / n**1.5 * k2**2, -6, k2 / 2),
    ]
    found = []
    for _ in range(2):
        moved = [(c * p, p - 1, b) for c, p, b in terms]
        terms = moved + [(2 * c * b, p - 3, b) for c, p, b in terms]
        found.append(sum(float(np.sum(c * np.exp(-b / z**2))) * z**p for c, p, b in terms))
    return math.sqrt(n) * found[0], n * found[1]


_MANY = 2000
_TAIL = 4.2  # of n x²: the second term of Kolmogorov's sum is 1e-11 of the first


def _distance(n: float, x: float) -> tuple[float, float]:
    """The first two derivatives of the distribution of the distance of n samples."""
    if not (n >= 1 and n == round(n)) or x != x:
        return math.nan, math.nan
    n = int(n)
    if x <= 0.5 / n or x >= 1.0:
        return 0.0, 0.0
    t = n * x
    if t <= 1.0:
        peak, base = math.lgamma(n + 1) - n * math.log(n), math.log(2 * t - 1)
        slope = 2.0 * n * n * math.exp(peak + (n - 1) * base)
        bend = 4.0 * n**3 * (n - 1) * math.exp(peak + (n - 2) * base) if n > 1 else 0.0
        return slope, bend
    if x >= 0.5 or t * x >= _TAIL:
        return -2.0 * float(smirnov_slope(n, x)), -2.0 * float(smirnov_bend(n, x))
    return _durbin(n, x) if n <= _MANY else _pelz_good(n, x)


def _each(which: int) -> Callable[..., Any]:
    return np.vectorize(lambda n, x: _distance(n, x)[which], otypes=[float])


SAMPLES = [5, 20, 8]
_bend: Op = special(
    _of(_each(1), "kstwo_second"),
    _count("kstwo"),
    fixed("scipy.stats.kstwo", "the distance", order="third "),
    ranges=[SAMPLES, [1]],
    smooth=False,  # there is no third derivative
)
_slope: Op = special(
    _of(_each(0), "kstwo_first"),
    _count("kstwo"),
    lambda _, n, x: _bend(n, x),
    ranges=[SAMPLES, (0.28, 0.4)],
    smooth=False,  # there is no third derivative
)


def _of_counts(function: Callable[..., Any], n: Any, x: Any) -> Any:
    """SciPy's value, and NaN where `n` is no count, for which its function raises."""
    counts = (np.asarray(n) >= 1) & (np.asarray(n) == np.rint(n))
    return np.where(counts, function(x, np.where(counts, n, 1)), np.nan)[()]


def _exact(n: Any, x: Any) -> Any:
    return _of_counts(sps.kstwo._cdf, n, x)


def _exact_tail(n: Any, x: Any) -> Any:
    return _of_counts(sps.kstwo._sf, n, x)


_kolmogorov: Op = special(
    _of(_exact, "kstwo_cdf"),
    _count("kstwo"),
    lambda _, n, x: _slope(n, x),
    ranges=[SAMPLES, (0.28, 0.4)],
)
_kolmogorov_tail: Op = special(
    _of(_exact_tail, "kstwo_sf"),
    _count("kstwo"),
    lambda _, n, x: negative(_slope(n, x)),
    ranges=[SAMPLES, (0.28, 0.4)],
)

WHOLE: dict[str, Family] = {
    "irwinhall": Family(
        lambda y, n: log(_density(n, y)),
        cdf=lambda y, n: _integral(n, y),
        sf=lambda y, n: _integral(n, n - y),
        support=(0.0, lambda n: n),
        closed=False,
        inside=0.5,
        allowed=_is_count,
        shapes=(4.0,),
    ),
    "ksone": Family(
        lambda y, n: log(negative(smirnov_slope(n, y))),
        cdf=lambda y, n: 1.0 - smirnov(n, y),
        sf=lambda y, n: smirnov(n, y),
        support=(0.0, 1.0),
        closed=False,
        inside=0.5,
        allowed=_is_count,
        shapes=(8.0,),
    ),
    "kstwo": Family(
        lambda y, n: log(_slope(n, y)),
        cdf=lambda y, n: _kolmogorov(n, y),
        sf=lambda y, n: _kolmogorov_tail(n, y),
        support=(lambda n: 0.5 / n, 1.0),
        closed=False,
        inside=0.9,
        allowed=_is_count,
        shapes=(12.0,),
    ),
}
