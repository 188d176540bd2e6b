"""The formulas of methods of distributions: of a place, the shapes, and the location and scale.

They are made of the rows in standard form, and right outside the support and of shapes that are not
allowed.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.stats as sps

from funcgrad.ops.arithmetic import (
    add,
    divide,
    equal,
    greater,
    greater_equal,
    less,
    less_equal,
    logical_and,
    multiply,
    sqrt,
    subtract,
    where,
)
from funcgrad.ops.transcendental import exp, log
from funcgrad.scipy.stats import discrete
from funcgrad.scipy.stats.counts import COUNTS as COUNTED
from funcgrad.scipy.stats.families import FAMILIES
from funcgrad.scipy.stats.family import Family
from funcgrad.scipy.stats.hyperbolic import HYPERBOLIC
from funcgrad.scipy.stats.limits import LIMITS
from funcgrad.scipy.stats.moments import with_moments
from funcgrad.scipy.stats.noncentral import NONCENTRAL
from funcgrad.scipy.stats.operands import COUNT
from funcgrad.scipy.stats.stable import STABLE
from funcgrad.scipy.stats.studentized import STUDENTIZED
from funcgrad.scipy.stats.urns import URNS
from funcgrad.scipy.stats.whole_numbers import WHOLE
from funcgrad.scipy.stats.written import WRITTEN

__all__ = ["DISCRETE", "ROWS", "at_shapes", "formula_of", "moment_of", "standard"]

DISCRETE: dict[str, Family] = {**discrete.DISCRETE, **COUNTED, **URNS}
_STATED: dict[str, Family] = {
    **FAMILIES, **NONCENTRAL, **WRITTEN, **LIMITS, **HYPERBOLIC, **WHOLE, **STABLE,
    **STUDENTIZED, **DISCRETE,
}  # fmt: skip
ROWS = {
    name: with_moments(name, row)
    for name, row in _STATED.items()
    if hasattr(sps, name)  # older releases lack some
}


# -------------------------------------------------------------------------------- formulas


def standard(row: Family, name: str) -> Callable[..., Any] | None:
    """The formula of a method in standard form, without what lies outside the support."""
    if name in ("pmf", "pdf"):
        return lambda y, *s: exp(row.logpdf(y, *s))
    if name in ("logpmf", "logpdf"):
        return row.logpdf
    stated: Callable[..., Any] | None = getattr(row, name)
    if stated is not None or not name.startswith("log"):
        return stated
    plain: Callable[..., Any] | None = getattr(row, name[3:])
    return None if plain is None else lambda y, *s: log(plain(y, *s))


def at_shapes(x: Any, shapes: Sequence[Any]) -> Any:
    return x(*shapes) if callable(x) else x


def _allowed(row: Family, shapes: Sequence[Any], scale: Any) -> Any:
    ok = greater(scale, 0)
    if row.allowed is not None:
        return logical_and(ok, row.allowed(*shapes))
    return functools.reduce(lambda found, s: logical_and(found, greater(s, 0)), shapes, ok)


_BEYOND = {  # to the left of the support, to the right of it
    "pdf": (0.0, 0.0),
    "logpdf": (-math.inf, -math.inf),
    "pmf": (0.0, 0.0),
    "logpmf": (-math.inf, -math.inf),
    "cdf": (0.0, 1.0),
    "logcdf": (-math.inf, 0.0),
    "sf": (1.0, 0.0),
    "logsf": (0.0, -math.inf),
}


def formula_of(name: str, method: str) -> Callable[..., Any]:
    """A method as a function of a place, the shapes, and the location and scale."""
    row, counts = ROWS[name], name in DISCRETE
    f = standard(row, method)
    assert f is not None

    def composed(x: Any, *rest: Any) -> Any:
        *shapes, loc, scale = rest
        with np.errstate(all="ignore"):
            y = divide(subtract(x, loc), scale)
            if counts:
                given, y = y, COUNT(y)
            low, high = (at_shapes(end, shapes) for end in row.support)
            if row.closed:
                within = logical_and(greater_equal(y, low), less_equal(y, high))
            else:
                within = logical_and(greater(y, low), less(y, high))
            inside = f(where(within, y, at_shapes(row.inside, shapes)), *shapes)
            if method == "pdf":
                inside = divide(inside, scale)
            elif method == "logpdf":
                inside = subtract(inside, log(scale))
            left, right = _BEYOND[method]
            out = where(within, inside, where(less_equal(y, low), left, right))
            if method in ("pmf", "logpmf"):
                out = where(equal(given, y), out, left)
            good = logical_and(_allowed(row, shapes, scale), equal(y, y))
            return where(good, out, math.nan)

    return composed


def moment_of(
    name: str, method: str, average: Callable[[str, str], Callable[..., Any] | None]
) -> Callable[..., Any] | None:
    """A moment as a function of the shapes, and the location and scale.

    What the row does not state is an `average`, if there is one.
    """
    row = ROWS[name]
    which = "var" if method == "std" else method
    f = getattr(row, which) or average(name, which)
    if f is None:
        return None

    def composed(*rest: Any) -> Any:
        *shapes, loc, scale = rest
        with np.errstate(all="ignore"):
            found = f(*shapes)
            if method == "mean":
                out = add(loc, multiply(scale, found))
            elif method == "entropy":
                out = add(found, log(scale) if name not in DISCRETE else 0.0 * scale)
            elif method == "var":
                out = multiply(found, multiply(scale, scale))
            else:
                out = multiply(sqrt(found), scale)
            # every operand counts for the shape of the result
            out = add(out, multiply(0.0, add(loc, scale)))
            return where(_allowed(row, shapes, scale), out, math.nan)

    return composed
