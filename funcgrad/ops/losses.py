"""The squared error as one primitive, reduction included; the compiler takes it apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core.forms import Explicit, align, explicit
from funcgrad.core.primitive import Params, Sample
from funcgrad.core.tracer import bind, operand, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.ops.arithmetic import divide, multiply, negative, scale, subtract
from funcgrad.ops.samples import draw
from funcgrad.ops.sums import sum as sum_

__all__ = ["SQUARED_ERROR", "squared_error"]

ndarray = np.ndarray


def _total(x: Array, reduction: str, axes: tuple[int, ...], count: int) -> Array:
    """The elements of an example reduced; `axes` are all of them, `count` is their number."""
    if reduction == "none":
        return x
    total = sum_(x, axes)
    return divide(total, type_of(x).dtype.type(count)) if reduction == "mean" else total


def squared_error_composed(x: Array, y: Array, *, reduction: str) -> Array:
    """`squared_error` in simpler operations, for the compiler."""
    d = subtract(x, y)
    aval = type_of(d)
    return _total(multiply(d, d), reduction, tuple(range(aval.ndim)), aval.size)


def _squared_error(x: Any, y: Any, reduction: str) -> Any:
    d = np.subtract(x, y)
    if type(d) is not ndarray:
        return d * d
    np.multiply(d, d, out=d)
    if reduction == "none":
        return d
    total = np.add.reduce(d, None)
    with np.errstate(all="ignore"):  # the mean of nothing is NaN
        return total / d.dtype.type(d.size) if reduction == "mean" else total


def _squared_error_pull(
    g: Any, _y: Any, x: Any, y: Any, needs: Sequence[bool], reduction: str
) -> list[Array | None]:
    d = subtract(x, y)
    factor = 2.0 / max(type_of(d).size, 1) if reduction == "mean" else 2.0
    c = scale(multiply(g, factor), d)
    return [c if needs[0] else None, negative(c) if needs[1] else None]


def _squared_error_batch(size: int, xs: Any, batched: Any, params: Params) -> Array:
    d = subtract(*align(xs, batched))
    shape = type_of(d).shape[1:]
    axes = tuple(range(1, len(shape) + 1))
    return _total(multiply(d, d), params["reduction"], axes, int(np.prod(shape)))


def _squared_error_samples() -> list[Sample]:
    x, y = draw((2, 3)), draw((2, 3), seed=1)
    return [
        *(Sample((x, y), {"reduction": how}) for how in ("mean", "sum", "none")),
        Sample((x.astype(np.float32), y.astype(np.float32)), {"reduction": "mean"}),
        Sample((x[:, ::-1], x[:, ::-1]), {"reduction": "sum"}),
        Sample((np.float64(0.5), np.float64(2.0)), {"reduction": "mean"}),
    ]


SQUARED_ERROR: Explicit = explicit(
    "squared_error",
    _squared_error,
    type_rule=lambda x, y, *, reduction: ArrayType(
        x.shape if reduction == "none" else (), np.result_type(x.dtype, y.dtype)
    ),
    vjp=_squared_error_pull,
    batch=_squared_error_batch,
    sample=_squared_error_samples,
)
SQUARED_ERROR.composed = squared_error_composed


def squared_error(x: Any, y: Any, reduction: str = "mean") -> Array:
    """``(x - y)²`` of operands of one shape and dtype: each, their sum or their mean."""
    return bind(SQUARED_ERROR, (operand(x), operand(y)), {"reduction": reduction})
