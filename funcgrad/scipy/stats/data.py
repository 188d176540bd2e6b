"""Statistics of samples that are not SciPy's own programs alone (`scipy/programs.py`)."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.stats as sps

import funcgrad.numpy as fnp
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import bind, concrete, operand, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.numpy.calls import as_array, numpy_function, refuse
from funcgrad.ops.constant import Constant, constant
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import moveaxis, reshape
from funcgrad.scipy.programs import program

__all__ = ["hmean", "rankdata"]


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
    refuse("stats.hmean", nan_policy=None if nan_policy == "propagate" else nan_policy)
    x = fnp.asarray(a, dtype=dtype)
    inverses = fnp.divide(1.0, fnp.where(fnp.less(x, 0), np.nan, x))
    return fnp.divide(1.0, fnp.average(inverses, axis, weights, keepdims=keepdims))


_HMEAN = program(sps.hmean.__wrapped__)
