"""Statistics of samples that are not SciPy's own programs alone (`scipy/programs.py`)."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.stats as sps
from scipy import special

import funcgrad.numpy as fnp
from funcgrad.core.forms import each_lane
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import bind, concrete, operand, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.numpy.function_calls import as_array, numpy_function, refuse
from funcgrad.ops.constant import Constant, constant
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import moveaxis, reshape
from funcgrad.scipy.programs import program

__all__ = ["hmean", "linregress", "mode", "percentileofscore", "rankdata", "spearmanr"]


def _ranks(x: Any, method: str) -> Any:
    return sps.rankdata(x, method, axis=-1)


RANKS: Constant = constant(
    "scipy_rankdata",
    _ranks,
    lambda x, *, method: ArrayType(x.shape, _ranks(np.zeros(1), method).dtype),
    lambda size, xs, batched, params: bind(RANKS, xs, params),
    lambda: [
        Sample((np.array([[2.0, 1.0, 2.0], [0.0, -1.0, 5.0]]),), {"method": "average"}),
        Sample((draw((4,)),), {"method": "ordinal"}),
    ],
)


@numpy_function(sps.rankdata, constant=True)
def rankdata(
    a: Any, method: str = "average", *, axis: int | None = None, nan_policy: str = "propagate"
) -> Array:
    """The ranks from 1 on along `axis`, or of all elements; they are locally constant."""
    refuse("scipy.stats.rankdata", nan_policy=None if nan_policy == "propagate" else nan_policy)
    x = as_array(a)
    if axis is None:
        return bind(RANKS, (reshape(x, (type_of(x).size,)),), {"method": method})
    last = type_of(x).ndim - 1
    found = bind(RANKS, (moveaxis(x, axis, last),), {"method": method})
    return moveaxis(found, last, axis)


@numpy_function(sps.mode)
def mode(
    a: Any, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False
) -> Any:
    """The most common value along `axis`, the smallest of several, and how often it is there.

    Its derivative is that of one of the elements which have this value.
    """
    refuse("scipy.stats.mode", nan_policy=None if nan_policy == "propagate" else nan_policy)
    x = fnp.asarray(a)
    kept = (1,) * x.ndim if axis is None else None
    if axis is None or x.ndim == 0:
        x, axis = fnp.ravel(x), 0
    ordered = fnp.sort(x, axis)  # NaN last
    count = ordered.shape[axis]
    if not count:
        raise ValueError("stats.mode: an axis without elements has no most common value")
    place = np.arange(count).reshape(-1, *(1,) * (ordered.ndim - 1 - axis % ordered.ndim))
    previous = fnp.take(ordered, np.maximum(np.arange(count) - 1, 0), axis)
    fresh = fnp.not_equal(ordered, previous) & fnp.equal(previous, previous)  # NaN is NaN here
    begin = fnp.maximum.accumulate(fnp.where(fresh, place, 0), axis)
    length = place - begin + 1
    where = fnp.expand_dims(fnp.argmax(length, axis), axis)
    value = fnp.take_along_axis(ordered, where, axis)
    often = fnp.take_along_axis(length, where, axis)
    if keepdims:
        parts = [v if kept is None else fnp.reshape(v, kept) for v in (value, often)]
    else:
        parts = [fnp.squeeze(v, axis)[()] for v in (value, often)]
    return _ModeResult(*parts)


_ModeResult = type(sps.mode([0]))


@numpy_function(sps.hmean)
def hmean(
    a: Any,
    axis: Any = 0,
    dtype: Any = None,
    *,
    weights: Any = None,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Array:
    """The harmonic mean over `axis`; NaN where a number is negative.

    SciPy asks whether there is one; where that is not known, it is part of the computation.
    """
    options = {"nan_policy": nan_policy, "keepdims": keepdims}
    if concrete(operand(a)):
        made: Array = _HMEAN(a, axis=axis, dtype=dtype, weights=weights, **options)
        return made
    refuse("scipy.stats.hmean", nan_policy=None if nan_policy == "propagate" else nan_policy)
    x = fnp.asarray(a, dtype=dtype)
    inverses = fnp.divide(1.0, fnp.where(fnp.less(x, 0), np.nan, x))
    return fnp.divide(1.0, fnp.average(inverses, axis, weights, keepdims=keepdims))


_HMEAN = program(sps.hmean.__wrapped__)


# ------------------------------------------------------------------------ locally constant ones


def _correlated(x: Any, axis: int, **options: Any) -> Any:
    found = sps.spearmanr(x, axis=axis, **options)
    return np.asarray(found.statistic), np.asarray(found.pvalue)


def _correlated_type(x: ArrayType, *, axis: int, **_: Any) -> tuple[ArrayType, ArrayType]:
    count = x.shape[1 - axis]
    shape = () if count == 2 or x.shape[axis] <= 1 else (count, count)
    return ArrayType(shape, np.dtype(np.float64)), ArrayType(shape, np.dtype(np.float64))


class _Several(Constant):
    multiple = True


SPEARMAN: Constant = _Several(
    "scipy_spearmanr",
    _correlated,
    _correlated_type,
    lambda *given: each_lane(SPEARMAN, *given),
)
SPEARMAN.sample = lambda: [
    Sample((draw((5, 2)),), {"axis": 0}),
    Sample((draw((3, 5)),), {"axis": 1}),
]


@numpy_function(sps.spearmanr, constant=True)
def spearmanr(
    a: Any,
    b: Any = None,
    axis: int | None = 0,
    nan_policy: str = "propagate",
    alternative: str = "two-sided",
) -> Any:
    """Spearman's rank correlation and its p-value, which are locally constant."""
    a = as_array(a)
    if axis is None:
        a, axis = reshape(a, (type_of(a).size,)), 0
        b = None if b is None else fnp.ravel(b)
    if axis not in (0, 1) or type_of(a).ndim > 2:
        raise ValueError("spearmanr only handles 1-D or 2-D arrays, along the axes 0, 1 or None")
    if type_of(a).ndim == 1:
        axis = 0
    if b is not None:
        a = operand((fnp.vstack if axis else fnp.column_stack)((a, b)))
    if type_of(a).ndim < 2:
        raise ValueError("`spearmanr` needs at least 2 variables to compare")
    options = {"axis": axis, "nan_policy": nan_policy, "alternative": alternative}
    statistic, pvalue = bind(SPEARMAN, (a,), options)
    made = type(sps.spearmanr([0.0, 1.0, 2.0], [0.0, 1.0, 3.0]))(statistic, pvalue)
    made.correlation = statistic
    return made


SCORES: Constant = constant(
    "scipy_percentileofscore",
    lambda a, score, **options: np.asarray(sps.percentileofscore(a, score, **options))[()],
    lambda a, score, **_: ArrayType(score.shape, np.dtype(np.float64)),
    lambda *given: each_lane(SCORES, *given),
    lambda: [Sample((draw((6,)), draw((3,), seed=1)), {"kind": "mean"})],
)


@numpy_function(sps.percentileofscore, constant=True)
def percentileofscore(a: Any, score: Any, kind: str = "rank", nan_policy: str = "propagate") -> Any:
    """The percentage of the sample that is below a score; it is locally constant."""
    a = as_array(a)
    if type_of(a).ndim != 1:
        raise ValueError("`a` must be 1-dimensional.")
    return bind(SCORES, (a, as_array(score)), {"kind": kind, "nan_policy": nan_policy})


# ------------------------------------------------------------------------------------- lines


@numpy_function(sps.linregress)
def linregress(
    x: Any,
    y: Any = None,
    alternative: str = "two-sided",
    *,
    axis: Any = None,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    """The line through points by least squares, and its statistics.

    Where the points are not known, neither is whether there are two of them or less of a line.
    """
    if concrete(operand(x)) and concrete(operand(y)):
        more = {"axis": axis, "nan_policy": nan_policy, "keepdims": keepdims}
        defaults = {"axis": None, "nan_policy": "propagate", "keepdims": False}
        asked = {name: v for name, v in more.items() if v != defaults[name]}  # SciPy 1.16 has them
        given = (x,) if y is None else (x, y)
        return _LINREGRESS(*given, alternative=alternative, **asked)
    refuse(
        "scipy.stats.linregress",
        axis=axis,
        keepdims=keepdims or None,
        nan_policy=None if nan_policy == "propagate" else nan_policy,
    )
    x, y = (x[0], x[1]) if y is None else (x, y)
    x, y = as_array(x), as_array(y)
    n = type_of(x).size
    if n < 3 or type_of(x).ndim != 1 or type_of(y).shape != type_of(x).shape:
        raise ValueError("linregress of values that are not known needs three points or more")
    centre = fnp.mean(x)
    covariances = fnp.cov(x, y, bias=True)
    across, both, along = covariances[0, 0], covariances[0, 1], covariances[1, 1]
    none = (across == 0) | (along == 0)
    r = both / fnp.sqrt(fnp.where(none, 1.0, across * along))
    r = fnp.where(none, fnp.where(both == 0, np.nan, 0.0), fnp.where(abs(r) > 1, fnp.sign(r), r))
    t = r * fnp.sqrt((n - 2) / ((1.0 - r + 1e-20) * (1.0 + r + 1e-20)))
    below = {"two-sided": -abs(t), "less": t, "greater": -t}
    if alternative not in below:
        raise ValueError("`alternative` must be 'less', 'greater', or 'two-sided'.")
    pvalue = special.stdtr(n - 2, below[alternative]) * (2 if alternative == "two-sided" else 1)
    error = fnp.sqrt((1 - r**2) * along / across / (n - 2))
    slope = both / across
    made = {"intercept": fnp.mean(y) - slope * centre, "rvalue": r, "pvalue": pvalue}
    return type(sps.linregress([0.0, 1.0, 2.0], [0.0, 1.0, 3.0]))(
        slope=slope, **made, stderr=error, intercept_stderr=error * fnp.sqrt(across + centre**2)
    )


_LINREGRESS = program(sps.linregress.__wrapped__)
