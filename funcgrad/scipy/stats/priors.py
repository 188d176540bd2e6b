"""More densities of several variables: the matrix t, that of directions by von Mises and Fisher,
and the conjugate prior of a normal one.

As in `multivariate`: values are SciPy's, derivatives those of the formulas. A direction x, and the
mean direction, are differentiated as vectors: the density goes on off the sphere.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.stats as sps

from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import type_of
from funcgrad.core.types import Array
from funcgrad.ops.arithmetic import (
    add,
    divide,
    greater,
    logical_and,
    multiply,
    square,
    subtract,
    where,
)
from funcgrad.ops.factor import cholesky
from funcgrad.ops.matrices import definite
from funcgrad.ops.product import matmul
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import broadcast_to, reshape, swap_last
from funcgrad.ops.sums import sum as total
from funcgrad.ops.transcendental import log
from funcgrad.scipy.dispatch import scipy_method
from funcgrad.scipy.linalg.solvers import solve_triangular
from funcgrad.scipy.special.bessel import ive
from funcgrad.scipy.special.functions import multigammaln
from funcgrad.scipy.special.gamma_functions import gammaln
from funcgrad.scipy.stats.distributions import number
from funcgrad.scipy.stats.multivariate import _log_det, _matrix, _record, define_methods

__all__ = ["RECORDS"]

# ------------------------------------------------------------------------------- formulas


def _matrix_t(x: Any, mean: Any, rows: Any, columns: Any, df: Any) -> Array:
    """One matrix, or several along the leading axes (Gupta and Nagar 1999, 4.2.1)."""
    m, n = type_of(mean).shape
    low, across = cholesky(rows), cholesky(columns)
    moved = subtract(x, mean)
    kind = type_of(moved)
    flat = reshape(moved, (kind.size // (m * n), m, n))
    left = solve_triangular(low, flat, lower=True)
    both = solve_triangular(across, swap_last(left), lower=True)
    spread = add(np.eye(n), matmul(both, swap_last(both)))
    size = reshape(_log_det(cholesky(spread)), kind.shape[:-2])
    high, below = 0.5 * (df + (m + n - 1.0)), 0.5 * (df + (n - 1.0))
    peak = multigammaln(high, n) - multigammaln(below, n) - 0.5 * m * n * math.log(math.pi)
    return peak - 0.5 * n * _log_det(low) - 0.5 * m * _log_det(across) - high * size


def _direction(x: Any, mean: Any, kappa: Any) -> Array:
    half = 0.5 * type_of(mean).shape[-1]
    size = (half - 1.0) * log(kappa) - half * math.log(2 * math.pi)
    return size - log(ive(half - 1.0, kappa)) - kappa + kappa * total(multiply(x, mean), -1)


def _prior(x: Any, s2: Any, mean: Any, weight: Any, a: Any, b: Any) -> Array:
    """Normal in x of the variance s2 / weight, and inverse gamma in s2."""
    with np.errstate(all="ignore"):
        there = greater(s2, 0.0)
        s = where(there, s2, 1.0)
        spread = divide(2.0 * b + weight * square(x - mean), 2.0 * s)
        peak = 0.5 * log(weight) - 0.5 * math.log(2 * math.pi) + a * log(b) - gammaln(a)
        found = where(there, peak - (a + 1.5) * log(s) - spread, -math.inf)
        return where(_positive(weight, a, b), found + 0.0 * x, math.nan)


def _positive(*xs: Any) -> Any:
    found: Any = True
    for x in xs:
        found = logical_and(found, greater(x, 0.0))
    return found


# --------------------------------------------------------------------------------- records


def _matrix_t_samples() -> list[Sample]:
    given = draw((2, 3)), draw((2, 3), seed=1), definite(n=2, seed=2), definite()
    return [Sample((*given, np.float64(4.5)), smooth=False)]


def _direction_samples() -> list[Sample]:
    places = draw((4, 3))
    places = places / np.linalg.norm(places, axis=-1, keepdims=True)
    return [Sample((places, np.array([0.6, 0.0, 0.8]), np.float64(2.5)), smooth=False)]


def _prior_samples() -> list[Sample]:
    rest = (np.float64(v) for v in (0.3, 1.5, 3.5, 2.5))
    return [Sample((draw((3,)), draw((3,), 0.5, 2.0), *rest), smooth=False)]


_ROWS: dict[str, tuple[Callable[..., Any], Any]] = {
    "matrix_t": (_matrix_t, _matrix_t_samples),
    "vonmises_fisher": (_direction, _direction_samples),
    "normal_inverse_gamma": (_prior, _prior_samples),
}
RECORDS = {
    (name, method): _record(name, method, formula, sample)
    for name, (formula, sample) in _ROWS.items()
    if hasattr(sps, name)  # older releases lack some
    for method in ("logpdf", "pdf")
}


def _matrix_t_given(
    x: Any, mean: Any = None, row_spread: Any = 1, col_spread: Any = 1, df: Any = 1
) -> Any:
    x = number(x)
    m, n = type_of(x).shape[-2:] if mean is None else type_of(number(mean)).shape
    mean = np.zeros((m, n)) if mean is None else number(mean)
    return x, mean, _matrix(row_spread, m), _matrix(col_spread, n), number(df)


def _direction_given(x: Any, mu: Any = None, kappa: Any = 1) -> Any:
    return number(x), number(mu), number(kappa)


def _prior_given(x: Any, s2: Any, mu: Any = 0, lmbda: Any = 1, a: Any = 1, b: Any = 1) -> Any:
    given = tuple(map(number, (x, s2, mu, lmbda, a, b)))
    shape = np.broadcast_shapes(*(type_of(v).shape for v in given))
    return tuple(broadcast_to(v, shape) for v in given)


_GIVEN: dict[str, Callable[..., Any]] = {
    "matrix_t": _matrix_t_given,
    "vonmises_fisher": _direction_given,
    "normal_inverse_gamma": _prior_given,
}


define_methods(RECORDS, _GIVEN)


def _prior_moments(method: str, formula: Callable[..., Any]) -> None:
    @scipy_method(sps.normal_inverse_gamma, method)
    def define(self: Any, mu: Any = 0, lmbda: Any = 1, a: Any = 1, b: Any = 1) -> Any:
        mu, lmbda, a, b = map(number, (mu, lmbda, a, b))
        shape = np.broadcast_shapes(*(type_of(v).shape for v in (mu, lmbda, a, b)))
        with np.errstate(all="ignore"):
            out = tuple(
                where(logical_and(_positive(lmbda, a, b), greater(a, least)), found, math.nan)
                for found, least in formula(mu, lmbda, a, b)
            )
        return tuple(broadcast_to(v, shape) for v in out)


if hasattr(sps, "normal_inverse_gamma"):
    _prior_moments("mean", lambda mu, _, a, b: ((mu, 1.0), (b / (a - 1.0), 1.0)))
    _prior_moments(
        "var",
        lambda _, weight, a, b: (
            (b / ((a - 1.0) * weight), 1.0),
            (square(b) / (square(a - 1.0) * (a - 2.0)), 2.0),
        ),
    )
