"""Order statistics that NumPy has not: the lower median, running extrema and modes as indices.

Elements that equal the lower median share the cotangent equally.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core.layout import ordered
from funcgrad.core.primitive import PRIMITIVES, Params, Sample
from funcgrad.core.tracer import bind, operand, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.ops.arithmetic import cast, divide, equal, isnan, logical_and, logical_or
from funcgrad.ops.constant import constant
from funcgrad.ops.nonlinear_reductions import graded
from funcgrad.ops.reduction import Axes
from funcgrad.ops.samples import draw
from funcgrad.ops.sums import sum as sum_

__all__ = ["lower_median", "mode_positions", "running_extremum"]


def _median(x: Any, axes: Axes, keepdims: bool, ignore_nan: bool) -> Any:
    flat = np.sort(x, axis=None)  # NaN comes last
    known = int(np.sum(~np.isnan(flat))) if flat.dtype.kind == "f" else flat.size
    if flat.size == 0 or known == 0 or (known < flat.size and not ignore_nan):
        found = np.asarray(np.nan, x.dtype)
    else:
        found = flat[(known - 1) // 2]
    return found.reshape((1,) * x.ndim) if keepdims else found[()]


def _median_partial(
    y: Any, x: Any, *, axes: Axes, keepdims: bool, ignore_nan: bool
) -> tuple[Any, Any]:
    chosen = logical_or(equal(x, y), logical_and(isnan(x), isnan(y)))
    return chosen, divide(1.0, sum_(cast(chosen, float), axes, True))


LOWER_MEDIAN = graded(
    "lower_median",
    _median,
    np.max,
    _median_partial,
    lambda: [
        Sample((draw((5,)),), {"axes": (0,), "keepdims": False, "ignore_nan": False}),
        Sample((draw((2, 2)),), {"axes": (0, 1), "keepdims": False, "ignore_nan": True}),
    ],
)
LOWER_MEDIAN._batch = None  # over all axes: lane by lane


def lower_median(x: Any, ignore_nan: bool = False) -> Array:
    """The median of all elements; of an even number the lower of the two in the middle."""
    x = operand(x)
    axes = tuple(range(type_of(x).ndim))
    return bind(LOWER_MEDIAN, (x,), {"axes": axes, "keepdims": False, "ignore_nan": ignore_nan})


# ----------------------------------------------------------------------------------- indices


def _shift(name: str) -> Callable[..., Any]:
    def batch(size: int, xs: Any, batched: Any, params: Params) -> Any:
        return bind(PRIMITIVES[name], xs, {**params, "axis": params["axis"] + 1})

    return batch


def _positions(x: ArrayType, *, axis: int, largest: bool) -> ArrayType:
    return ArrayType(x.shape, np.dtype(np.intp))


def _running(x: Any, axis: int, largest: bool) -> Any:
    best = (np.maximum if largest else np.minimum).accumulate(x, axis)
    new = x == best
    if x.dtype.kind == "f":
        new |= np.isnan(x)
    shape = [1] * x.ndim
    shape[axis] = -1
    place = np.arange(x.shape[axis]).reshape(shape)
    return np.maximum.accumulate(np.where(new, place, 0), axis)


RUNNING_EXTREMUM = constant(
    "running_extremum",
    _running,
    _positions,
    _shift("running_extremum"),
    sample=lambda: [
        Sample((draw((2, 3)),), {"axis": 1, "largest": True}),
        Sample((np.array([1.0, 3.0, 3.0, 2.0]),), {"axis": 0, "largest": False}),
    ],
)


def running_extremum(x: Array, axis: int, largest: bool) -> Array:
    """Where along `axis` the extremum so far stands; of equal ones the last."""
    return bind(RUNNING_EXTREMUM, (x,), {"axis": axis, "largest": largest})


def _modes(x: Any, axis: int) -> Any:
    lines = np.moveaxis(x, axis, -1)
    out = np.empty(lines.shape[:-1], np.intp)
    for at in np.ndindex(out.shape):
        # NaN equals nothing, so each is one of a kind, and they come last
        values, counts = np.unique(lines[at], return_counts=True, equal_nan=False)
        (places,) = np.nonzero(lines[at] == values[np.argmax(counts)])
        out[at] = places[-1] if places.size else 0  # nothing but NaN
    return out[()]


MODES = constant(
    "mode_positions",
    _modes,
    lambda x, *, axis: ArrayType(x.shape[:axis] + x.shape[axis + 1 :], np.dtype(np.intp)),
    _shift("mode_positions"),
    sample=lambda: [
        Sample((np.array([[3.0, 2.0, 2.0], [1.0, 1.0, 3.0]]),), {"axis": 1}),
    ],
)


def mode_positions(x: Array, axis: int) -> Array:
    """Where along `axis` the most frequent element stands: the smallest, where it is last."""
    return bind(MODES, (x,), {"axis": axis})


RUNNING_EXTREMUM.lies = ordered
