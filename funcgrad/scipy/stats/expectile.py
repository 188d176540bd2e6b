"""Expectiles: the weighted means whose weights depend on which elements lie below them.

SciPy finds them by a search. Which elements lie below is locally constant, so the derivatives, of
every order, are those of the mean; and it is told by the elements in order, without a search.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import scipy.stats as sps

import funcgrad.numpy as fnp
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import bind, concrete, operand, type_of
from funcgrad.core.types import Array
from funcgrad.numpy.function_calls import FUNCTIONS, as_array, numpy_function
from funcgrad.ops.arithmetic import less_equal, where
from funcgrad.ops.cumulative import cumsum
from funcgrad.ops.samples import draw
from funcgrad.ops.sums import sum as total
from funcgrad.scipy.programs import program
from funcgrad.scipy.valued import valued

__all__ = ["expectile"]

_OWN = inspect.unwrap(sps.expectile)
_OF_AXES = "axis" in inspect.signature(_OWN).parameters  # SciPy 1.18 and later


def _value(a: Any, weights: Any, alpha: Any) -> Any:
    given = {"weights": weights, "axis": -1} if _OF_AXES else {"weights": weights}
    return np.asarray(_OWN(a, float(alpha), **given))[()]


def _mean(a: Any, weights: Any, alpha: Any) -> Any:
    """The expectile `t` is the mean with weights ``w (1 - alpha)`` up to t and ``w alpha`` above.

    An element lies below where the sum of which `t` is the root is not yet positive.
    """
    order = fnp.argsort(a, axis=-1)
    a, w = (fnp.take_along_axis(x, order, axis=-1) for x in (a, weights))
    below, under = cumsum(w * a, axis=-1), cumsum(w, axis=-1)
    every, all_of = below[..., -1:], under[..., -1:]
    slope = (1.0 - alpha) * (a * under - below) - alpha * (every - below - a * (all_of - under))
    w = w * where(less_equal(slope, 0), 1.0 - alpha, alpha)
    return total(w * a, -1) / total(w, -1)


def _dtype(a: np.dtype[Any], weights: np.dtype[Any], alpha: Any) -> np.dtype[Any]:
    made: np.dtype[Any] = _value(np.arange(2, dtype=a), np.ones(2, weights), 0.3).dtype
    return made


_EXPECTILE = valued(
    "stats.expectile",
    _value,
    _mean,
    lambda: [
        Sample((draw((5,)), 0.5 + draw((5,), seed=1) ** 2, np.float64(0.3))),
        Sample((draw((6,)), np.ones(6), np.float64(0.8))),
    ],
    dtype=_dtype,
)


def _expectile(a: Any, alpha: Any = 0.5, *, weights: Any = None, axis: Any = None) -> Array:
    """Of the last axis in SciPy 1.18, whose decorator sees to others; of all elements before."""
    x = as_array(a) if _OF_AXES else operand(fnp.ravel(a))
    if type_of(x).dtype.kind != "f":
        x = as_array(fnp.astype(x, np.float64))
    kind = type_of(x)
    if concrete(operand(alpha)) and not 0 <= alpha <= 1:
        raise ValueError("The expectile level alpha must be in the range [0, 1].")
    if weights is None:
        w = np.ones(kind.shape, kind.dtype)
    else:
        w = operand(fnp.broadcast_to(weights, fnp.shape(a) if not _OF_AXES else kind.shape))
        w = operand(fnp.reshape(w, kind.shape))
    found: Array = bind(_EXPECTILE, (x, w, as_array(alpha)))
    return found


if _OWN is sps.expectile.__wrapped__:
    expectile = numpy_function(sps.expectile)(_expectile)
else:
    FUNCTIONS[_OWN] = _expectile
    expectile = numpy_function(sps.expectile)(program(sps.expectile.__wrapped__))
