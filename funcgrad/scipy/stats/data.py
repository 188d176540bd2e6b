"""Statistics of samples: values are SciPy's, derivatives those of the same sums in operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.stats as sps

from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import bind, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.numpy.calls import as_array, numpy_function, refuse
from funcgrad.ops.arithmetic import divide, power, sqrt, square, subtract
from funcgrad.ops.constant import Constant, constant
from funcgrad.ops.matrices import as_float
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import moveaxis, reshape
from funcgrad.ops.sums import mean
from funcgrad.ops.transcendental import exp, log
from funcgrad.scipy.valued import Valued, valued

__all__ = ["gmean", "hmean", "kurtosis", "moment", "rankdata", "sem", "skew", "zscore"]


def _count(a: Any, axis: int | None) -> int:
    shape = type_of(a).shape
    return type_of(a).size if axis is None else shape[axis]


def _central(a: Any, axis: int | None) -> Array:
    return subtract(a, mean(a, axis, keepdims=True))


def _raised(a: Any, axis: int | None, order: int) -> Array:
    return mean(power(_central(a, axis), order), axis)


def _skew(a: Any, axis: int | None, bias: bool) -> Array:
    n = _count(a, axis)
    found = divide(_raised(a, axis, 3), power(_raised(a, axis, 2), 1.5))
    return found if bias or n < 3 else found * (np.sqrt((n - 1.0) * n) / (n - 2.0))


def _kurtosis(a: Any, axis: int | None, fisher: bool, bias: bool) -> Array:
    n = _count(a, axis)
    found = divide(_raised(a, axis, 4), square(_raised(a, axis, 2)))
    if not bias and n > 3:
        found = ((n**2 - 1.0) * found - 3 * (n - 1.0) ** 2) / ((n - 2) * (n - 3)) + 3.0
    return found - 3.0 if fisher else found


def _deviation(a: Any, axis: int | None, ddof: int, keepdims: bool = False) -> Array:
    n = _count(a, axis)
    return sqrt(mean(square(_central(a, axis)), axis, keepdims=keepdims) * (n / (n - ddof)))


def _zscore(a: Any, axis: int | None, ddof: int) -> Array:
    return divide(_central(a, axis), _deviation(a, axis, ddof, True))


def _moment(a: Any, axis: int | None, order: int) -> Array:
    return _raised(a, axis, order) if order > 1 else mean(_central(a, axis), axis)


def _statistic(name: str, composed: Callable[..., Any], **params: Any) -> Valued:
    function = getattr(sps, name)
    return valued(
        f"stats.{name}",
        lambda a, **given: np.asarray(function(a, **given))[()],
        composed,
        lambda: [Sample((1.5 + draw((4, 3)) ** 2,), {"axis": 0, **params})],
    )


GMEAN = _statistic("gmean", lambda a, axis: exp(mean(log(a), axis)))
HMEAN = _statistic("hmean", lambda a, axis: divide(1.0, mean(divide(1.0, a), axis)))
ZSCORE = _statistic("zscore", _zscore, ddof=0)
SEM = _statistic(
    "sem",
    lambda a, axis, ddof: _deviation(a, axis, ddof) / np.sqrt(_count(a, axis)),
    ddof=1,
)
SKEW = _statistic("skew", _skew, bias=True)
KURTOSIS = _statistic("kurtosis", _kurtosis, fisher=True, bias=True)
MOMENT = _statistic("moment", _moment, order=2)


def _of(record: Valued, name: str, a: Any, options: dict[str, Any], **params: Any) -> Array:
    policy = options.pop("nan_policy", "propagate")
    refuse(
        f"stats.{name}",
        nan_policy=None if policy == "propagate" else policy,
        **{k: v or None for k, v in options.items()},
    )
    return bind(record, (as_float(as_array(a)),), params)


@numpy_function(sps.gmean)
def gmean(a: Any, axis: int | None = 0, **options: Any) -> Array:
    """The geometric mean over `axis`; weights and other dtypes are not supported."""
    return _of(GMEAN, "gmean", a, options, axis=axis)


@numpy_function(sps.hmean)
def hmean(a: Any, axis: int | None = 0, **options: Any) -> Array:
    """The harmonic mean over `axis`; weights and other dtypes are not supported."""
    return _of(HMEAN, "hmean", a, options, axis=axis)


@numpy_function(sps.zscore)
def zscore(a: Any, axis: int | None = 0, ddof: int = 0, **options: Any) -> Array:
    """The deviations from the mean in units of the standard deviation."""
    return _of(ZSCORE, "zscore", a, options, axis=axis, ddof=ddof)


@numpy_function(sps.sem)
def sem(a: Any, axis: int | None = 0, ddof: int = 1, **options: Any) -> Array:
    """The standard error of the mean over `axis`."""
    return _of(SEM, "sem", a, options, axis=axis, ddof=ddof)


@numpy_function(sps.skew)
def skew(a: Any, axis: int | None = 0, bias: bool = True, **options: Any) -> Array:
    """The skewness over `axis`."""
    return _of(SKEW, "skew", a, options, axis=axis, bias=bool(bias))


@numpy_function(sps.kurtosis)
def kurtosis(
    a: Any, axis: int | None = 0, fisher: bool = True, bias: bool = True, **options: Any
) -> Array:
    """The kurtosis over `axis`, that of a normal distribution being 0 (3 if not `fisher`)."""
    return _of(KURTOSIS, "kurtosis", a, options, axis=axis, fisher=bool(fisher), bias=bool(bias))


@numpy_function(sps.moment)
def moment(a: Any, order: int = 1, axis: int | None = 0, **options: Any) -> Array:
    """The central moment of an order over `axis`."""
    if not np.isscalar(order):
        refuse("stats.moment", order=order)
    return _of(MOMENT, "moment", a, options, axis=axis, order=int(order))


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
    refuse("stats.rankdata", nan_policy=None if nan_policy == "propagate" else nan_policy)
    x = as_array(a)
    if axis is None:
        return bind(RANKS, (reshape(x, (type_of(x).size,)),), {"method": method})
    last = type_of(x).ndim - 1
    found = bind(RANKS, (moveaxis(x, axis, last),), {"method": method})
    return moveaxis(found, last, axis)
