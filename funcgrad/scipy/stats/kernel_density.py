"""Densities estimated by Gaussian kernels: `scipy.stats.gaussian_kde` of traced values.

Its methods are SciPy's programs, but for the sums over all kernels, which are compiled code there.
Data, weights, a number for the bandwidth, and the points are differentiable.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.stats as sps

import funcgrad.numpy as fnp
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import Operand, operand, type_of
from funcgrad.core.types import Array
from funcgrad.numpy.function_calls import as_array
from funcgrad.ops.arithmetic import cast
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import swap_last
from funcgrad.scipy.dispatch import scipy_method
from funcgrad.scipy.linalg.solvers import solve_triangular
from funcgrad.scipy.programs import program
from funcgrad.scipy.special.functions import logsumexp
from funcgrad.scipy.valued import Valued, valued

__all__ = ["DENSITY", "LOG_DENSITY"]

_KDE = sps.gaussian_kde


def _value(name: str) -> Callable[..., Any]:
    """SciPy's method, of an object that holds what it reads."""
    method = inspect.unwrap(inspect.getattr_static(_KDE, name))

    def value(data: Any, weights: Any, points: Any, low: Any) -> Any:
        held = object.__new__(_KDE)
        held.dataset, held._weights, held.cho_cov, held.covariance = data, weights, low, low
        held.d, held.n = data.shape
        return method(held, points)

    return value


def _logarithm(data: Array, weights: Array, points: Array, low: Array) -> Array:
    """The logarithm of the sum of kernels, whose covariance has the Cholesky factor `low`."""
    d = type_of(data).shape[0]
    scaled, places = (swap_last(solve_triangular(low, x, lower=True)) for x in (data, points))
    apart = fnp.expand_dims(places, 1) - fnp.expand_dims(scaled, 0)
    peak = -fnp.sum(fnp.log(fnp.diagonal(low))) - 0.5 * d * math.log(2 * math.pi)
    return logsumexp(-0.5 * fnp.sum(apart * apart, -1), 1, b=weights) + peak


def _samples() -> list[Sample]:
    low = np.array([[0.8, 0.0], [0.3, 0.6]])
    return [Sample((draw((2, 5)), np.full(5, 0.2), draw((2, 3), seed=1), low), smooth=False)]


DENSITY: Valued = valued(
    "stats.gaussian_kde.evaluate",
    _value("evaluate"),
    lambda *given: fnp.exp(_logarithm(*given)),
    _samples,
)
LOG_DENSITY: Valued = valued("stats.gaussian_kde.logpdf", _value("logpdf"), _logarithm, _samples)


def _evaluated(record: Valued, owner: Any, points: Any) -> Any:
    x = operand(fnp.atleast_2d(as_array(points)))
    d, m = type_of(x).shape
    if d != owner.d:
        if d != 1 or m != owner.d:
            raise ValueError(f"points have dimension {d}, dataset has dimension {owner.d}")
        x = operand(fnp.reshape(x, (owner.d, 1)))
    given = (owner.dataset, owner.weights, x, owner.cho_cov)
    return record(*(cast(as_array(v), np.float64) for v in given))


@scipy_method(_KDE, "evaluate")
def _evaluate(owner: Any, points: Any) -> Any:
    return _evaluated(DENSITY, owner, points)


@scipy_method(_KDE, "pdf")
def _pdf(owner: Any, x: Any) -> Any:
    return _evaluated(DENSITY, owner, x)


@scipy_method(_KDE, "logpdf")
def _logpdf(owner: Any, x: Any) -> Any:
    return _evaluated(LOG_DENSITY, owner, x)


_SET_BANDWIDTH = program(inspect.unwrap(inspect.getattr_static(_KDE, "set_bandwidth")))


@scipy_method(_KDE, "set_bandwidth")
def _set_bandwidth(owner: Any, bw_method: Any = None) -> Any:
    if not isinstance(bw_method, Operand):
        return _SET_BANDWIDTH(owner, bw_method)
    owner._bw_method, owner.covariance_factor = "use constant", lambda: bw_method
    owner._traced = bw_method  # by which later calls of methods see it
    return owner._compute_covariance()
