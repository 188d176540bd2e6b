"""Losses: the squared error, and the negative log likelihood of classes.

Each is one primitive, reduction included; the compiler takes them apart. They stand on arithmetic,
sums and indices.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core.forms import Explicit, Linear, align, explicit, linear
from funcgrad.core.primitive import Params, Sample
from funcgrad.core.tracer import Tracer, bind, operand, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.ops.arithmetic import (
    cast,
    divide,
    equal,
    multiply,
    negative,
    not_equal,
    scale,
    subtract,
    where,
)
from funcgrad.ops.index import gather
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import broadcast_to, every_lane, reshape, transpose
from funcgrad.ops.sums import sum as sum_

__all__ = ["NLL_LOSS", "SQUARED_ERROR", "nll_loss", "squared_error"]

ndarray = np.ndarray

# ------------------------------------------------------------------------------ squared error


def _total(x: Array, reduction: str, axes: tuple[int, ...], count: int) -> Array:
    """The elements of an example reduced; `axes` are all of them, `count` is their number."""
    if reduction == "none":
        return x
    total = sum_(x, axes)
    return divide(total, type_of(x).dtype.type(count)) if reduction == "mean" else total


def squared_error_composed(x: Array, y: Array, *, reduction: str) -> Array:
    """`squared_error` in simpler operations, for the compiler."""
    d = subtract(x, y)
    kind = type_of(d)
    return _total(multiply(d, d), reduction, tuple(range(kind.ndim)), kind.size)


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


def _squared_error_push(_z: Any, xs: Sequence[Any], ts: Sequence[Any], reduction: str) -> Array:
    d = subtract(*xs)
    kind = type_of(d)
    moved = ts[0] if ts[1] is None else negative(ts[1]) if ts[0] is None else subtract(*ts)
    changes = multiply(scale(moved, d), 2.0)
    return _total(changes, reduction, tuple(range(kind.ndim)), kind.size)


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
    jvp=_squared_error_push,
    batch=_squared_error_batch,
    sample=_squared_error_samples,
)


def squared_error(x: Any, y: Any, reduction: str = "mean") -> Array:
    """``(x - y)²`` of operands of one shape and dtype: each, their sum or their mean."""
    return bind(SQUARED_ERROR, (operand(x), operand(y)), {"reduction": reduction})


# ----------------------------------------------------------------- negative log likelihood
#
# The log probabilities are (C), (N, C) or (N, C, d1, …), the classes have the same shape without C.


def _in_rows(x: Array) -> Array:
    """The log probabilities as a matrix with a row for each class given."""
    shape = type_of(x).shape
    if len(shape) == 2:
        return x
    if len(shape) == 1:
        return reshape(x, (1, *shape))
    last = transpose(x, (0, *range(2, len(shape)), 1))
    return reshape(last, (int(np.prod(shape[:1] + shape[2:])), shape[1]))


def _from_rows(rows: Array, shape: tuple[int, ...]) -> Array:
    """What `_in_rows` made into a matrix, in its own shape."""
    if len(shape) <= 2:
        return reshape(rows, shape)
    last = reshape(rows, (shape[0], *shape[2:], shape[1]))
    return transpose(last, (0, len(shape) - 1, *range(1, len(shape) - 1)))


def _picked(x: Any, target: Any) -> tuple[Any, Any, Any]:
    rows, flat = _in_rows(x), np.asarray(target).reshape(-1)
    return rows, np.arange(rows.shape[0]), flat


def _nll_loss(x: Any, target: Any, reduction: str, ignore: int) -> Any:
    rows, places, flat = _picked(x, target)
    skipped = np.equal(flat, ignore)
    count = flat.size - np.count_nonzero(skipped)
    if count == flat.size:
        loss = np.negative(rows[places, flat])
    else:
        loss = np.negative(rows[places, np.where(skipped, 0, flat)])
        loss[skipped] = 0
    if reduction == "none":
        return loss.reshape(np.shape(target))[()]
    total = np.add.reduce(loss)
    with np.errstate(all="ignore"):
        return total / loss.dtype.type(count) if reduction == "mean" else total


def _kept(target: Array, ignore: int, dtype: np.dtype[Any]) -> Any:
    """How many classes of one example count."""
    kept = not_equal(target, ignore)
    if not isinstance(kept, Tracer):
        return dtype.type(np.count_nonzero(kept))
    return sum_(cast(kept, dtype))


def nll_loss_composed(x: Array, target: Array, *, reduction: str, ignore: int) -> Array:
    """`nll_loss` in simpler operations, for the compiler."""
    kind = type_of(target)
    rows, flat = _in_rows(x), reshape(target, (kind.size,))
    kept = not_equal(flat, ignore)
    picked = gather(rows, np.arange(kind.size), where(kept, flat, kind.dtype.type(0)))
    loss = where(kept, negative(picked), type_of(x).dtype.type(0))
    if reduction == "none":
        return reshape(loss, kind.shape)
    total = sum_(loss)
    return divide(total, _kept(flat, ignore, type_of(x).dtype)) if reduction == "mean" else total


def _nll_loss_pull(g: Any, _y: Any, x: Any, target: Any, *, reduction: str, ignore: int) -> Array:
    kind = type_of(x)
    if reduction == "mean":
        g = divide(g, _kept(target, ignore, kind.dtype))
    if reduction != "none":
        g = broadcast_to(g, type_of(target).shape)
    return bind(NLL_SCATTER, (g, target), {"shape": kind.shape, "ignore": ignore})


def _nll_loss_batch(size: int, xs: Any, batched: Any, params: Params) -> Array:
    x, target = every_lane(size, xs, batched)
    shape, given = type_of(x).shape, type_of(target).shape
    extents = (size, *shape[1:]) if len(shape) == 2 else (size * shape[1], *shape[2:])
    ignore = params["ignore"]
    merged = (extents[0],) if len(shape) == 2 else (size * given[1], *given[2:])
    alone = {"reduction": "none", "ignore": ignore}
    loss = bind(NLL_LOSS, (reshape(x, extents), reshape(target, merged)), alone)
    loss = reshape(loss, given)
    axes = tuple(range(1, len(given)))
    if params["reduction"] == "none":
        return loss
    total = sum_(loss, axes)
    if params["reduction"] == "sum":
        return total
    return divide(total, sum_(cast(not_equal(target, ignore), type_of(x).dtype), axes))


def _nll_samples() -> list[Sample]:
    x, target = draw((3, 4)), np.array([1, 0, 3])
    mean, none = {"reduction": "mean", "ignore": -100}, {"reduction": "none", "ignore": -100}
    image = draw((2, 3, 2, 2)), np.array([[[0, 2], [1, 1]], [[2, 2], [0, 1]]])
    return [
        Sample((x, target), mean),
        Sample((x, target), {"reduction": "sum", "ignore": 0}),
        Sample((x, target), none),
        Sample((x.astype(np.float32), target), {"reduction": "mean", "ignore": 3}),
        Sample((draw((4,)), np.array(2)), mean),
        Sample((draw((4,)), np.array(2)), none),
        Sample(image, {"reduction": "mean", "ignore": 2}),
        Sample(image, none),
    ]


NLL_LOSS: Explicit = explicit(
    "nll_loss",
    _nll_loss,
    type_rule=lambda x, target, *, reduction, ignore: ArrayType(
        target.shape if reduction == "none" else (), x.dtype
    ),
    vjp=(_nll_loss_pull, None),
    jvp=lambda y, xs, ts, **params: bind(NLL_LOSS, (ts[0], xs[1]), params),
    batch=_nll_loss_batch,
    linear_in=(0,),
    sample=_nll_samples,
)


def nll_loss(x: Any, target: Any, reduction: str = "mean", ignore: int = -100) -> Array:
    """The negative log likelihood of classes (those equal to `ignore` do not count)."""
    params = {"reduction": reduction, "ignore": ignore}
    return bind(NLL_LOSS, (operand(x), operand(target)), params)


def nll_scatter_composed(g: Array, target: Array, *, shape: tuple[int, ...], ignore: int) -> Array:
    """The cotangent of log probabilities in simpler operations, for the compiler."""
    kind, g = type_of(target), reshape(g, (type_of(g).size, 1))
    classes = shape[0] if len(shape) == 1 else shape[1]
    flat = reshape(target, (kind.size, 1))
    at = where(equal(flat, ignore), kind.dtype.type(-1), flat)
    zero = type_of(g).dtype.type(0)
    rows = where(equal(at, np.arange(classes, dtype=kind.dtype)), negative(g), zero)
    return _from_rows(rows, shape)


def _nll_scatter(g: Any, target: Any, shape: tuple[int, ...], ignore: int) -> Any:
    full = np.zeros(shape, g.dtype)
    rows, places, flat = _picked(full, target)
    skipped = np.equal(flat, ignore)
    values = np.negative(g).reshape(-1)
    if np.count_nonzero(skipped):
        kept = ~skipped
        places, flat, values = places[kept], flat[kept], values[kept]
    rows[places, flat] = values
    return full if len(shape) <= 2 else _from_rows(rows, shape)


def _nll_scatter_batch(size: int, xs: Any, batched: Any, params: Params) -> Array:
    g, target = every_lane(size, xs, batched)
    shape, given = params["shape"], type_of(target).shape
    lanes = (size, *shape) if len(shape) == 1 else (size * shape[0], *shape[1:])
    merged = (size,) if len(shape) == 1 else (size * given[1], *given[2:])
    found = bind(NLL_SCATTER, (reshape(g, merged), reshape(target, merged)),
                 {"shape": lanes, "ignore": params["ignore"]})  # fmt: skip
    return reshape(found, (size, *shape))


def _nll_scatter_samples() -> list[Sample]:
    params = {"shape": (3, 4), "ignore": 3}
    return [
        Sample((draw((3,)), np.array([1, 0, 3])), params),
        Sample((np.float64(0.5), np.array(2)), {"shape": (4,), "ignore": -100}),
        Sample((draw((2, 2)), np.array([[0, 2], [1, 1]])), {"shape": (2, 3, 2), "ignore": 0}),
    ]


NLL_SCATTER: Linear = linear(
    "nll_scatter",
    _nll_scatter,
    (
        lambda g, _x, target, *, shape, ignore: bind(
            NLL_LOSS, (g, target), {"reduction": "none", "ignore": ignore}
        ),
    ),
    lambda g, target, *, shape, ignore: ArrayType(shape, g.dtype),
    _nll_scatter_batch,
    sample=_nll_scatter_samples,
)
