"""The distribution function of normal variables, `scipy.stats.multivariate_normal.cdf`.

Values are SciPy's, which from three variables on are estimates with random errors of 1e-5. The
derivatives are those of a deterministic form: of two variables it is Owen's (1956), and more are
taken apart by Plackett's identity (1954): the derivative by a correlation is the density of those
two times the probability of the others, given them. The correlations of the first variable grow
from 0, where it is alone, to their values; the integral on that way is Gauss's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.special as sp
import scipy.stats as sps

from funcgrad.core.forms import Op
from funcgrad.core.forms.elementwise import Pointwise
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import bind, type_of
from funcgrad.core.types import Array
from funcgrad.errors import UnsupportedCallError, located
from funcgrad.numpy.axes import diagonal
from funcgrad.ops.arithmetic import (
    add,
    divide,
    greater,
    less,
    multiply,
    negative,
    sqrt,
    square,
    subtract,
    where,
)
from funcgrad.ops.index import getitem
from funcgrad.ops.matrices import definite
from funcgrad.ops.samples import draw
from funcgrad.ops.sums import sum as total
from funcgrad.ops.transcendental import exp, log
from funcgrad.scipy.dispatch import scipy_method
from funcgrad.scipy.special.define import special
from funcgrad.scipy.special.differences import along
from funcgrad.scipy.special.error import density, ndtr
from funcgrad.scipy.stats.multivariate import _normal_given
from funcgrad.scipy.valued import Valued, valued

__all__ = ["RECORDS"]

MOST = 6  # variables, with which the number of nodes grows
_NODES, _WEIGHTS = (w * 0.5 for w in np.polynomial.legendre.leggauss(40))
_NODES = _NODES + 0.5
FAR = 39.0  # beyond it the density underflows

# ------------------------------------------------------------------------------ two variables


def _bivariate(h: Any, k: Any, r: Any) -> Any:
    """P(X < h, Y < k) of the correlation r, by Owen's function T."""
    h, k, r = np.broadcast_arrays(*(np.asarray(x, float) for x in (h, k, r)))
    with np.errstate(all="ignore"):
        root = np.sqrt((1 - r) * (1 + r))
        both = (h == 0) & (k == 0)
        a = np.where(both, (1 - r) / root, (k - r * h) / (h * root))
        b = np.where(both, (1 - r) / root, (h - r * k) / (k * root))
        apart = (h * k < 0) | ((h * k == 0) & (h + k < 0))
        whole = 0.5 * (sp.ndtr(h) + sp.ndtr(k)) - 0.5 * apart
        return (whole - sp.owens_t(h, a) - sp.owens_t(k, b))[()]


def _density_of_two(h: Any, k: Any, r: Any) -> Any:
    rest = (1.0 - r) * (1.0 + r)
    fall = divide(square(h - r * k), rest) + square(k)
    return divide(exp(-0.5 * fall), 2 * math.pi * sqrt(rest))


def _given(h: Any, k: Any, r: Any) -> Any:
    """The density of h times P(Y < k) given it."""
    return density(h) * ndtr(divide(k - r * h, sqrt((1.0 - r) * (1.0 + r))))


two: Op = special(
    Pointwise(_bivariate, 3),
    lambda _, h, k, r: _given(h, k, r),
    lambda _, h, k, r: _given(k, h, r),
    lambda _, h, k, r: _density_of_two(h, k, r),
    ranges=[(-1.5, 1.5), (-1.5, 1.5), (-0.8, 0.8)],
)

# ------------------------------------------------------------------------------------- more

Rows = Sequence[Sequence[Any]]


def _orthant(z: Sequence[Any], r: Rows) -> Any:
    """P(Z < z) of the correlations `r`, all of one shape."""
    if len(z) == 1:
        return ndtr(z[0])
    if len(z) == 2:
        return two(z[0], z[1], r[0][1])
    alone = ndtr(z[0]) * _orthant(z[1:], [row[1:] for row in r[1:]])
    z, r = [along(x) for x in z], [[along(x) for x in row] for row in r]
    grown = [_NODES * x for x in r[0]]
    found: Any = 0.0
    for j in range(1, len(z)):
        others = [k for k in range(1, len(z)) if k != j]
        rate = r[0][j] * _density_of_two(z[0], z[j], grown[j])
        found = found + rate * _conditional(z, [grown, *r[1:]], j, others)
    return alone + total(found * _WEIGHTS, -1)


def _conditional(z: Sequence[Any], r: Rows, j: int, others: Sequence[int]) -> Any:
    """P of the others, given that the first one and that of `j` have their values."""
    tied = r[0][j]
    rest = (1.0 - tied) * (1.0 + tied)
    by_first = {k: divide(r[0][k] - tied * r[j][k], rest) for k in others}
    by_other = {k: divide(r[j][k] - tied * r[0][k], rest) for k in others}

    def left(k: int, m: int) -> Any:
        own = r[k][m] if k != m else 1.0
        return own - by_first[k] * r[0][m] - by_other[k] * r[j][m]

    widths = {k: sqrt(left(k, k)) for k in others}
    places = [
        divide(z[k] - by_first[k] * z[0] - by_other[k] * z[j], widths[k]) + 0.0 * tied
        for k in others
    ]
    ties = [
        [divide(left(k, m), widths[k] * widths[m]) if k != m else 1.0 + 0.0 * tied for m in others]
        for k in others
    ]
    return _orthant(places, ties)


def _probability(x: Any, mean: Any, cov: Any, **_: Any) -> Array:
    widths = sqrt(diagonal(cov, 0, -2, -1))
    z = divide(subtract(x, mean), widths)
    z = where(greater(z, FAR), FAR, where(less(z, negative(FAR)), -FAR, z))
    d = type_of(mean).shape[0]
    scaled = divide(cov, multiply(getitem(widths, (slice(None), None)), widths))
    places = [getitem(z, (Ellipsis, k)) for k in range(d)]
    half = [[0.5 * add(getitem(scaled, (i, j)), getitem(scaled, (j, i))) for j in range(d)]
            for i in range(d)]  # fmt: skip
    shaped = [[add(w, multiply(0.0, places[0])) for w in row] for row in half]
    return _orthant(places, shaped)


# ---------------------------------------------------------------------------------- records


def _record(method: str) -> Valued:
    def value(x: Any, mean: Any, cov: Any, options: Any = ()) -> Any:
        made = getattr(sps.multivariate_normal, method)(x, mean, cov, **dict(options))
        return np.asarray(made, np.float64)[()]

    def formula(x: Any, mean: Any, cov: Any, options: Any = ()) -> Any:
        found = _probability(x, mean, cov)
        if type_of(found).ndim == 1 and type_of(found).shape[0] == 1:
            found = getitem(found, 0)  # as SciPy does
        return found if method == "cdf" else log(found)

    return valued(
        f"stats.multivariate_normal.{method}",
        value,
        formula,
        lambda: [Sample((draw((4, 2)), draw((2,)), definite(n=2)), {"options": ()}, smooth=False)],
    )


RECORDS = {method: _record(method) for method in ("cdf", "logcdf")}


def _state(method: str) -> None:
    full = f"scipy.stats.multivariate_normal.{method}"

    @scipy_method(sps.multivariate_normal, method)
    def define(
        self: Any,
        x: Any,
        mean: Any = None,
        cov: Any = 1,
        allow_singular: Any = False,
        maxpts: Any = None,
        abseps: Any = 1e-5,
        releps: Any = 1e-5,
        *,
        lower_limit: Any = None,
        rng: Any = None,
    ) -> Array:
        if lower_limit is not None:
            raise UnsupportedCallError(
                located(
                    f"{full} takes no lower_limit of traced values; add and subtract the "
                    "probabilities of its corners"
                )
            )
        given = _normal_given(x, mean, cov)
        if type_of(given[1]).shape[0] > MOST:
            raise UnsupportedCallError(
                located(f"{full} has derivatives of up to {MOST} variables, not of more")
            )
        options = (
            ("allow_singular", allow_singular), ("maxpts", maxpts), ("abseps", abseps),
            ("releps", releps), ("rng", rng),
        )  # fmt: skip
        return bind(RECORDS[method], given, {"options": options})


for _method in RECORDS:
    _state(_method)


def _refuse_student() -> None:
    @scipy_method(sps.multivariate_t, "cdf")
    def define(self: Any, *_: Any, **__: Any) -> Array:
        raise UnsupportedCallError(
            located(
                "scipy.stats.multivariate_t.cdf has no derivative here: SciPy estimates it by "
                "random points; integrate multivariate_normal.cdf over the scale, or take the "
                "mean of funcgrad.random's draws"
            )
        )


_refuse_student()
