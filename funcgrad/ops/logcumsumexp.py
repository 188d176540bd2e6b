"""The logarithm of a running sum of exponentials, differentiated by a recurrence that is stable."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from funcgrad.core.forms import Explicit, explicit
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import bind, operand, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.ops.arithmetic import isinf, logical_and, scale, subtract, where
from funcgrad.ops.cumulative import before, recurrence
from funcgrad.ops.matrices import as_float
from funcgrad.ops.samples import draw
from funcgrad.ops.transcendental import exp

__all__ = ["logcumsumexp"]


def _value(x: Any, axis: int) -> Any:
    with np.errstate(all="ignore"):
        return np.logaddexp.accumulate(x, axis)


def _share(x: Array, y: Array) -> Array:
    """exp(x - y), and 0 where both are -inf."""
    none = logical_and(isinf(x), isinf(y))
    return where(none, 0.0, exp(subtract(where(none, 0.0, x), where(none, 0.0, y))))


def _push(y: Any, xs: Any, ts: Any, *, axis: int) -> Any:
    """t[i] = exp(y[i-1] - y[i]) t[i-1] + exp(x[i] - y[i]) tx[i]: no factor exceeds 1."""
    return recurrence(_share(before(y, axis, -np.inf), y), scale(ts[0], _share(xs[0], y)), axis)


LOGCUMSUMEXP: Explicit = explicit(
    "logcumsumexp",
    _value,
    type_rule=lambda x, *, axis: ArrayType(x.shape, x.dtype),
    jvp=_push,
    batch=lambda size, xs, batched, params: bind(LOGCUMSUMEXP, xs, {"axis": params["axis"] + 1}),
    sample=lambda: [
        Sample((draw((2, 3)),), {"axis": 1}),
        Sample((draw((2, 3))[:, ::-1],), {"axis": 0}),
        Sample((np.array([-1e3, 0.0, 1e3, 2.0]),), {"axis": 0}),
        Sample((draw((2, 3)).astype(np.float32),), {"axis": 1}),
        Sample((draw((0, 2)),), {"axis": 0}),
        Sample((np.array([-np.inf, 0.5, 1.0]),), {"axis": 0}, smooth=False),
    ],
)


def logcumsumexp(x: Any, axis: int = -1) -> Array:
    """``log(cumsum(exp(x)))`` along `axis`, without overflow."""
    x = as_float(operand(x))
    return bind(LOGCUMSUMEXP, (x,), {"axis": normalize_axis_index(axis, type_of(x).ndim)})
