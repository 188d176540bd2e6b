"""Densities of several variables: normal, t, Dirichlet, Wishart and kin, and two masses.

Values are SciPy's, derivatives those of the formulas with a Cholesky factor. A matrix of
covariances is taken as symmetric: its gradient is spread over both triangles.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.stats as sps

from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import bind, type_of
from funcgrad.core.types import Array
from funcgrad.errors import UnsupportedCallError, located
from funcgrad.numpy.axes import diagonal, moveaxis
from funcgrad.numpy.function_calls import as_array
from funcgrad.ops.arithmetic import add, equal, multiply, square, subtract, where
from funcgrad.ops.factor import cholesky
from funcgrad.ops.index import getitem
from funcgrad.ops.matrices import column, definite
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import broadcast_to, concatenate, reshape, swap_last
from funcgrad.ops.solve import solve
from funcgrad.ops.sums import sum as total
from funcgrad.ops.transcendental import exp, log, log1p
from funcgrad.scipy.dispatch import scipy_method
from funcgrad.scipy.linalg.solvers import solve_triangular
from funcgrad.scipy.special.elementary import xlogy
from funcgrad.scipy.special.functions import multigammaln
from funcgrad.scipy.special.gamma_functions import gammaln
from funcgrad.scipy.stats.distributions import COUNT, number
from funcgrad.scipy.valued import valued

__all__ = ["RECORDS", "define_methods"]


class Frozen:
    """A distribution with its parameters, of which one is traced."""

    def __init__(self, dist: Any, args: Any, kwargs: Any) -> None:
        self.dist, self.args, self.kwargs = dist, args, kwargs

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.dist, name)
        return lambda *x: method(*x, *self.args, **self.kwargs)


# ------------------------------------------------------------------------------- formulas


def _log_det(low: Array) -> Array:
    """That of the matrix whose Cholesky factor is `low`."""
    return multiply(2.0, total(log(diagonal(low, 0, -2, -1)), -1))


def _distance(x: Array, centre: Array, low: Array) -> Array:
    """(x - centre)ᵀ (low lowᵀ)⁻¹ (x - centre) for each row of `x`."""
    moved = subtract(x, centre)
    kind = type_of(moved)
    rows = reshape(moved, (kind.size // kind.shape[-1], kind.shape[-1]))
    scaled = solve_triangular(low, swap_last(rows), lower=True)
    return reshape(total(square(scaled), 0), kind.shape[:-1])


def _squeezed(x: Array) -> Array:
    return reshape(x, tuple(n for n in type_of(x).shape if n != 1))


def _normal(x: Any, mean: Any, cov: Any) -> Array:
    low, d = cholesky(cov), type_of(mean).shape[-1]
    whole = add(_distance(x, mean, low), add(_log_det(low), d * math.log(2 * math.pi)))
    return _squeezed(multiply(-0.5, whole))


def _student(x: Any, loc: Any, shape: Any, df: Any) -> Array:
    low, d = cholesky(shape), type_of(loc).shape[-1]
    half = 0.5 * (df + d)
    peak = gammaln(half) - gammaln(0.5 * df) - 0.5 * d * log(math.pi * df) - 0.5 * _log_det(low)
    return _squeezed(peak - half * log1p(_distance(x, loc, low) / df))


def _dirichlet(x: Any, alpha: Any) -> Array:
    peak = subtract(gammaln(total(alpha, -1)), total(gammaln(alpha), -1))
    powers = xlogy(alpha - 1.0, moveaxis(x, 0, -1))
    return _squeezed(add(peak, total(powers, -1)))


def _wishart(x: Any, df: Any, scale: Any) -> Array:
    p = type_of(scale).shape[-1]
    low = cholesky(scale)
    ratio = solve(scale, x)
    spread = total(diagonal(ratio, 0, -2, -1), -1)
    peak = 0.5 * math.log(2) * p * df + 0.5 * df * _log_det(low) + multigammaln(0.5 * df, p)
    return 0.5 * (df - p - 1.0) * _log_det(cholesky(x)) - 0.5 * spread - peak


def _inverse_wishart(x: Any, df: Any, scale: Any) -> Array:
    p = type_of(scale).shape[-1]
    ratio = solve(x, scale)
    spread = total(diagonal(ratio, 0, -2, -1), -1)
    peak = 0.5 * math.log(2) * p * df - 0.5 * df * _log_det(cholesky(scale))
    whole = peak + multigammaln(0.5 * df, p) + 0.5 * (df + p + 1.0) * _log_det(cholesky(x))
    return -0.5 * spread - whole


def _matrix_normal(x: Any, mean: Any, rows: Any, columns: Any) -> Array:
    """One matrix, or several along the leading axes."""
    n, p = type_of(mean).shape
    moved = subtract(x, mean)
    low, across = cholesky(rows), cholesky(columns)
    kind = type_of(moved)
    flat = reshape(moved, (kind.size // (n * p), n, p))
    left = solve_triangular(low, flat, lower=True)
    both = solve_triangular(across, swap_last(left), lower=True)
    spread = reshape(total(square(both), (1, 2)), kind.shape[:-2])
    sizes = n * p * math.log(2 * math.pi) + n * _log_det(across) + p * _log_det(low)
    return multiply(-0.5, add(spread, sizes))


def _dirichlet_multinomial(x: Any, alpha: Any, n: Any) -> Array:
    x, n, whole = COUNT(x), COUNT(n), total(alpha, -1)
    peak = gammaln(whole) + gammaln(n + 1.0) - gammaln(n + whole)
    each = gammaln(x + alpha) - gammaln(alpha) - gammaln(x + 1.0)
    found = add(peak, total(each, -1))
    return where(equal(total(x, -1), n), found, -math.inf)


def _multinomial(x: Any, n: Any, p: Any) -> Array:
    """As SciPy does, the last probability is what the others leave."""
    others = getitem(p, (Ellipsis, slice(0, -1)))
    last = subtract(1.0, total(others, -1, keepdims=True))
    p = concatenate([others, last], type_of(p).ndim - 1)
    x, n = COUNT(x), COUNT(n)
    return add(gammaln(n + 1.0), total(subtract(xlogy(x, p), gammaln(x + 1.0)), -1))


# -------------------------------------------------------------------------------- records


def _record(name: str, method: str, formula: Callable[..., Any], sample: Any) -> Any:
    dist = getattr(sps, name)
    is_log = method.startswith("log")
    return valued(
        f"stats.{name}.{method}",
        # SciPy asks whether a parameter is a scalar
        lambda *given: np.asarray(getattr(dist, method)(*(x[()] for x in given)), np.float64)[()],
        formula if is_log else lambda *given: exp(formula(*given)),
        sample,
    )


def _vectors() -> list[Sample]:
    return [Sample((draw((4, 3)), draw((3,)), definite()), smooth=False)]


_ROWS: dict[str, tuple[Callable[..., Any], Any, tuple[str, str]]] = {
    "multivariate_normal": (_normal, _vectors, ("logpdf", "pdf")),
    "multivariate_t": (
        _student,
        lambda: [Sample((*_vectors()[0].args, np.float64(3.5)), smooth=False)],
        ("logpdf", "pdf"),
    ),
    "dirichlet": (
        _dirichlet,
        lambda: [Sample((np.array([0.2, 0.3, 0.5]), np.array([1.5, 2.0, 2.5])), smooth=False)],
        ("logpdf", "pdf"),
    ),
    "wishart": (
        _wishart,
        lambda: [Sample((definite(), np.float64(4.5), definite(seed=2)), smooth=False)],
        ("logpdf", "pdf"),
    ),
    "invwishart": (
        _inverse_wishart,
        lambda: [Sample((definite(), np.float64(4.5), definite(seed=2)), smooth=False)],
        ("logpdf", "pdf"),
    ),
    "matrix_normal": (
        _matrix_normal,
        lambda: [
            Sample(
                (draw((2, 3)), draw((2, 3), seed=1), definite(n=2, seed=2), definite()),
                smooth=False,
            )
        ],
        ("logpdf", "pdf"),
    ),
    "dirichlet_multinomial": (
        _dirichlet_multinomial,
        lambda: [
            Sample((np.array([1.0, 2.0]), np.array([0.7, 1.6]), np.float64(3.0)), smooth=False)
        ],
        ("logpmf", "pmf"),
    ),
    "multinomial": (
        _multinomial,
        lambda: [
            Sample((np.array([1.0, 2.0]), np.float64(3.0), np.array([0.4, 0.6])), smooth=False)
        ],
        ("logpmf", "pmf"),
    ),
}
RECORDS = {
    (name, method): _record(name, method, formula, sample)
    for name, (formula, sample, methods) in _ROWS.items()
    for method in methods
}

# ------------------------------------------------------------------------------ parameters


def _matrix(cov: Any, d: int) -> Array:
    cov = number(1.0 if cov is None else cov)
    kind = type_of(cov)
    if kind.ndim < 2:
        cov = multiply(broadcast_to(cov, (d, d)), np.eye(d))
    if type_of(cov).shape != (d, d):
        raise ValueError(
            located(f"a matrix of covariances of shape {kind.shape} does not fit {d} variables")
        )
    return cov


def _places(x: Any, d: int) -> Array:
    x = number(x)
    if type_of(x).ndim == 0:
        return reshape(x, (1,))
    return column(x) if type_of(x).ndim == 1 and d == 1 else x


def _centre(mean: Any, cov: Any) -> Array:
    if mean is not None:
        mean = number(mean)
        return reshape(mean, (type_of(mean).size,))
    kind = type_of(as_array(1.0 if cov is None else cov))
    return np.zeros(kind.shape[0] if kind.ndim else 1)


def _normal_given(x: Any, mean: Any = None, cov: Any = 1, allow_singular: Any = False) -> Any:
    mean = _centre(mean, cov)
    d = type_of(mean).shape[0]
    return _places(x, d), mean, _matrix(cov, d)


def _student_given(
    x: Any, loc: Any = None, shape: Any = 1, df: Any = 1, allow_singular: Any = False
) -> Any:
    return *_normal_given(x, loc, shape), number(df)


def _dirichlet_given(x: Any, alpha: Any) -> Any:
    x, alpha = number(x), number(alpha)
    if type_of(x).shape[0] == type_of(alpha).shape[0] - 1:
        last = subtract(1.0, total(x, 0, keepdims=True))
        x = concatenate([x, last], 0)
    return x, alpha


def _wishart_given(x: Any, df: Any, scale: Any) -> Any:
    x, scale = number(x), number(scale)
    if type_of(x).ndim != 2 or type_of(scale).ndim != 2:
        raise UnsupportedCallError(
            located(
                "scipy.stats.wishart and invwishart: traced values have to be one matrix; use "
                "vmap for more"
            )
        )
    return x, number(df), scale


def _matrix_normal_given(x: Any, mean: Any = None, rowcov: Any = 1, colcov: Any = 1) -> Any:
    x = number(x)
    n, p = type_of(x).shape[-2:] if mean is None else type_of(number(mean)).shape
    mean = np.zeros((n, p)) if mean is None else number(mean)
    return x, mean, _matrix(rowcov, n), _matrix(colcov, p)


def _dirichlet_multinomial_given(x: Any, alpha: Any, n: Any) -> Any:
    return number(x), number(alpha), number(n)


def _multinomial_given(x: Any, n: Any, p: Any) -> Any:
    return number(x), number(n), number(p)


_GIVEN: dict[str, Callable[..., Any]] = {
    "multivariate_normal": _normal_given,
    "multivariate_t": _student_given,
    "dirichlet": _dirichlet_given,
    "wishart": _wishart_given,
    "invwishart": _wishart_given,
    "matrix_normal": _matrix_normal_given,
    "dirichlet_multinomial": _dirichlet_multinomial_given,
    "multinomial": _multinomial_given,
}


def define_methods(
    records: dict[tuple[str, str], Any], given: dict[str, Callable[..., Any]]
) -> None:
    """Give methods of SciPy's distributions their records; `given` makes operands of arguments."""
    for name, method in records:
        _state(name, method, records[name, method], given[name])
    for name in {name for name, _ in records}:
        _freeze(name)


def _state(name: str, method: str, record: Any, operands: Callable[..., Any]) -> None:
    @scipy_method(getattr(sps, name), method)
    def define(self: Any, *args: Any, **kwargs: Any) -> Array:
        return bind(record, operands(*args, **kwargs))


def _freeze(name: str) -> None:
    @scipy_method(getattr(sps, name), "__call__")
    def define(self: Any, *args: Any, **kwargs: Any) -> Frozen:
        kwargs.pop("seed", None)
        return Frozen(self, args, kwargs)


define_methods(RECORDS, _GIVEN)
