"""The number of successes of unequal trials, `scipy.stats.poisson_binom`, on traced probabilities.

Its masses are the coefficients of Π (1 - p + p z), a polynomial in every p: no quotient, so the
derivatives are right where a p is 0 or 1, too. Values are SciPy's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.stats as sps

from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import bind, type_of
from funcgrad.core.types import Array
from funcgrad.ops.arithmetic import (
    add,
    equal,
    greater,
    greater_equal,
    less_equal,
    logical_and,
    multiply,
    sqrt,
    subtract,
    where,
)
from funcgrad.ops.index import getitem
from funcgrad.ops.shape import concatenate, reshape
from funcgrad.ops.sums import sum as total
from funcgrad.ops.transcendental import log
from funcgrad.scipy.stats.operands import COUNT, number
from funcgrad.scipy.valued import Valued, valued

__all__ = ["TRIALS", "of_trials"]


def _masses(p: Any) -> Array:
    """The probabilities of all counts, along the last axis."""
    kind = type_of(p)
    none = np.zeros((*kind.shape[:-1], 1))
    found: Any = none + 1.0
    last = len(kind.shape) - 1
    for k in range(kind.shape[-1]):
        one = getitem(p, (Ellipsis, slice(k, k + 1)))
        kept = concatenate([multiply(found, 1.0 - one), none], last)
        found = add(kept, concatenate([none, multiply(found, one)], last))
    return found


_CHOSEN: dict[str, Callable[[Any, Any], Any]] = {
    "pmf": equal,
    "cdf": less_equal,
    "sf": greater,
}


def _formula(method: str) -> Callable[..., Any]:
    plain = method.removeprefix("log")
    chosen = _CHOSEN[plain]

    def formula(k: Any, p: Any) -> Any:
        counts = np.arange(type_of(p).shape[-1] + 1.0)
        k = reshape(k if plain == "pmf" else COUNT(k), (*type_of(k).shape, 1))
        good = logical_and(greater_equal(p, 0.0), less_equal(p, 1.0))
        wrong = total(where(good, 0.0, math.nan), -1)
        found = total(where(chosen(counts, k), _masses(p), 0.0), -1) + wrong
        if plain == method:
            return found
        with np.errstate(divide="ignore"):
            return log(found)

    return formula


def _value(method: str) -> Callable[..., Any]:
    def value(k: Any, p: Any) -> Any:
        made = getattr(sps.poisson_binom, method)(k, p)
        return np.asarray(made, np.float64)[()]

    return value


def _samples() -> list[Sample]:
    return [Sample((np.array([1.0, 2.0]), np.array([0.2, 0.5, 0.7])), smooth=False)]


TRIALS: dict[str, Valued] = (
    {
        method: valued(f"stats.poisson_binom.{method}", _value(method), _formula(method), _samples)
        for method in ("pmf", "logpmf", "cdf", "logcdf", "sf", "logsf")
    }
    if hasattr(sps, "poisson_binom")  # older releases lack it
    else {}
)


def of_trials(name: str, given: Sequence[Any], keywords: dict[str, Any]) -> Array | None:
    """A method on traced operands, or None where there is none."""
    if name not in (*TRIALS, "mean", "var", "std"):
        return None
    given = list(given)
    place = [given.pop(0)] if name in TRIALS else []
    p = number(given.pop(0) if given else keywords["p"])
    loc = given.pop(0) if given else keywords.get("loc", 0)
    if name in TRIALS:
        return bind(TRIALS[name], (subtract(number(place[0]), number(loc)), p))
    if name == "mean":
        return total(p, -1) + loc
    spread = total(p * (1 - p), -1)
    return spread if name == "var" else sqrt(spread)
