"""The negative log likelihood of classes, and the cotangent of the log probabilities.

Both are one primitive, reduction included, and the likelihood weights of classes, too; without them
each is the transpose of the other. The compiler takes them apart.
The log probabilities are (C), (N, C) or (N, C, d1, …), the classes have the same shape without C,
and weights are (C). They stand on arithmetic, sums and indices.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core.forms import Explicit, Linear, explicit, linear
from funcgrad.core.primitive import Params, Sample
from funcgrad.core.tracer import bind, operand, type_of
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

__all__ = ["NLL_LOSS", "NLL_SCATTER", "nll_loss"]

ndarray = np.ndarray
Shape = tuple[int, ...]

# ---------------------------------------------------------------------------------- in NumPy


def _places(shape: Shape, target: Any) -> tuple[Shape, tuple[Any, ...], Any]:
    """The shape in which log probabilities are indexed, the other indices, and the classes."""
    if len(shape) < 3:
        rows = target.reshape(-1)
        return (rows.size, shape[-1]), (np.arange(rows.size),), rows
    n, classes, inner = shape[0], shape[1], math.prod(shape[2:])
    return (n, classes, inner), (np.arange(n)[:, None], np.arange(inner)), target.reshape(n, inner)


class _Counted:
    """Which of the classes given count, and how much."""

    def __init__(self, classes: Any, weight: Sequence[Any], ignore: int, dtype: Any) -> None:
        self.skipped = np.equal(classes, ignore)
        count = np.count_nonzero(self.skipped)
        self.some = count > 0  # are skipped
        self.classes = np.where(self.skipped, 0, classes) if self.some else classes
        self.weights, self.total = None, dtype.type(classes.size - count)
        if weight:
            self.weights = weight[0][self.classes]
            if self.some:
                self.weights[self.skipped] = 0
            self.total = np.add.reduce(self.weights, None)


def _nll_loss(x: Any, target: Any, *weight: Any, reduction: str, ignore: int) -> Any:
    extents, (first, *last), classes = _places(x.shape, np.asarray(target))
    counted = _Counted(classes, weight, ignore, x.dtype)
    loss = np.negative(x.reshape(extents)[(first, counted.classes, *last)])
    if counted.weights is not None:
        loss *= counted.weights
    if counted.some:
        loss[counted.skipped] = 0
    if reduction == "none":
        return loss.reshape(np.shape(target))[()]
    total = np.add.reduce(loss, None)
    with np.errstate(all="ignore"):
        return total / counted.total if reduction == "mean" else total


def _nll_scatter(g: Any, target: Any, shape: Shape, reduction: str, ignore: int) -> Any:
    full = np.zeros(shape, g.dtype)
    extents, (first, *last), classes = _places(shape, np.asarray(target))
    counted = _Counted(classes, (), ignore, g.dtype)
    with np.errstate(all="ignore"):
        values = np.negative(g / counted.total if reduction == "mean" else g)
    if reduction == "none":
        values = values.reshape(classes.shape)
    if counted.some:
        values = np.where(counted.skipped, g.dtype.type(0), values)
    full.reshape(extents)[(first, counted.classes, *last)] = values
    return full


# ---------------------------------------------------------------------- in simpler operations


def _in_rows(x: Array) -> Array:
    """The log probabilities as a matrix with a row for each class given."""
    shape = type_of(x).shape
    if len(shape) == 2:
        return x
    if len(shape) == 1:
        return reshape(x, (1, *shape))
    last = transpose(x, (0, *range(2, len(shape)), 1))
    return reshape(last, (math.prod(shape[:1] + shape[2:]), shape[1]))


def _from_rows(rows: Array, shape: Shape) -> Array:
    """What `_in_rows` made into a matrix, in its own shape."""
    if len(shape) <= 2:
        return reshape(rows, shape)
    last = reshape(rows, (shape[0], *shape[2:], shape[1]))
    return transpose(last, (0, len(shape) - 1, *range(1, len(shape) - 1)))


def _weights(flat: Array, weight: Sequence[Array], ignore: int, dtype: np.dtype[Any]) -> Array:
    """How much each of the classes given counts."""
    kept = not_equal(flat, ignore)
    if not weight:
        return cast(kept, dtype)
    return where(kept, gather(weight[0], where(kept, flat, 0)), dtype.type(0))


def nll_loss_composed(
    x: Array, target: Array, *weight: Array, reduction: str, ignore: int
) -> Array:
    """`nll_loss` in simpler operations, for the compiler."""
    aval, dtype = type_of(target), type_of(x).dtype
    rows, flat = _in_rows(x), reshape(target, (aval.size,))
    kept = not_equal(flat, ignore)
    picked = gather(rows, np.arange(aval.size), where(kept, flat, aval.dtype.type(0)))
    weights = _weights(flat, weight, ignore, dtype)
    loss = multiply(negative(picked), weights) if weight else negative(picked)
    loss = where(kept, loss, dtype.type(0))
    if reduction == "none":
        return reshape(loss, aval.shape)
    return divide(sum_(loss), sum_(weights)) if reduction == "mean" else sum_(loss)


def nll_scatter_composed(
    g: Array, target: Array, *, shape: Shape, reduction: str, ignore: int
) -> Array:
    """The cotangent of log probabilities in simpler operations, for the compiler."""
    aval, dtype = type_of(target), type_of(g).dtype
    if reduction == "mean":
        g = divide(g, sum_(cast(not_equal(target, ignore), dtype)))
    g = reshape(g if reduction == "none" else broadcast_to(g, aval.shape), (aval.size, 1))
    classes = shape[0] if len(shape) == 1 else shape[1]
    column = reshape(target, (aval.size, 1))
    at = where(equal(column, ignore), aval.dtype.type(-1), column)
    here = equal(at, np.arange(classes, dtype=aval.dtype))
    return _from_rows(where(here, negative(g), dtype.type(0)), shape)


# ------------------------------------------------------------------------------------ batching
#
# Lanes become examples. Weights may differ from lane to lane, so they are taken out first, which is
# again a likelihood: of classes whose log probability is the negative weight.


def _merged(x: Array, target: Array, ignore: int) -> Array:
    """The loss of each class given, of every lane."""
    shape, given = type_of(x).shape, type_of(target).shape
    extents = shape if len(shape) == 2 else (shape[0] * shape[1], *shape[2:])
    classes = given if len(shape) == 2 else (given[0] * given[1], *given[2:])
    alone = {"reduction": "none", "ignore": ignore}
    loss = bind(NLL_LOSS, (reshape(x, extents), reshape(target, classes)), alone)
    return reshape(loss, given)


def _lane_weights(
    weight: Sequence[Array], target: Array, shape: Shape, dtype: np.dtype[Any], ignore: int
) -> Array:
    """How much each of the classes given counts, of every lane; `shape` is that of the values."""
    if not weight:
        return cast(not_equal(target, ignore), dtype)
    lanes, classes = type_of(weight[0]).shape
    axes = (classes,) if len(shape) == 2 else (1, classes, *(1,) * (len(shape) - 3))
    each = broadcast_to(reshape(negative(weight[0]), (lanes, *axes)), shape)
    return _merged(each, target, ignore)


def _nll_loss_batch(size: int, xs: Any, batched: Any, params: Params) -> Array:
    x, target, *weight = every_lane(size, xs, batched)
    aval, given, ignore = type_of(x), type_of(target).shape, params["ignore"]
    axes = tuple(range(1, len(given)))
    loss = _merged(x, target, ignore)
    weights = None
    if weight or params["reduction"] == "mean":
        weights = _lane_weights(weight, target, aval.shape, aval.dtype, ignore)
    if weight:
        loss = multiply(loss, weights)
    if params["reduction"] == "none":
        return loss
    total = sum_(loss, axes)
    return divide(total, sum_(weights, axes)) if params["reduction"] == "mean" else total


def _nll_scatter_batch(size: int, xs: Any, batched: Any, params: Params) -> Array:
    g, target = every_lane(size, xs, batched)
    shape, given, ignore = params["shape"], type_of(target).shape, params["ignore"]
    if params["reduction"] == "mean":
        kept = cast(not_equal(target, ignore), type_of(g).dtype)
        g = divide(g, sum_(kept, tuple(range(1, len(given)))))
    if params["reduction"] != "none":
        g = broadcast_to(reshape(g, (size, *(1,) * (len(given) - 1))), given)
    lanes = (size, *shape) if len(shape) == 1 else (size * shape[0], *shape[1:])
    merged = (size,) if len(shape) == 1 else (size * given[1], *given[2:])
    found = bind(NLL_SCATTER, (reshape(g, merged), reshape(target, merged)),
                 {"shape": lanes, "reduction": "none", "ignore": ignore})  # fmt: skip
    return reshape(found, (size, *shape))


# ------------------------------------------------------------------------------------- records


def _nll_loss_pull(
    g: Any, _y: Any, x: Any, target: Any, *weight: Any, needs: Any, reduction: str, ignore: int
) -> list[Array | None]:
    shape = type_of(x).shape
    c = moved = None
    if any(needs[2:]):
        moved = _weight_pull(g, x, target, weight[0], reduction, ignore)
    if needs[0]:
        if weight:
            taken = _taken(weight[0], shape, target, ignore)
            g = divide(g, sum_(taken)) if reduction == "mean" else g
            g = scale(broadcast_to(g, type_of(target).shape), taken)
            reduction = "none"
        c = bind(NLL_SCATTER, (g, target),
                 {"shape": shape, "reduction": reduction, "ignore": ignore})  # fmt: skip
    return [c, None, moved][: len(needs)]


def _taken(weight: Array, shape: Shape, target: Array, ignore: int) -> Array:
    """The weight of each class given, 0 where it does not count; `shape` is that of the values.

    It is a likelihood of classes whose log probability is the negative weight.
    """
    axes = (shape[0],) if len(shape) == 1 else (1, shape[1], *(1,) * (len(shape) - 2))
    each = broadcast_to(reshape(negative(weight), axes), shape)
    return bind(NLL_LOSS, (each, target), {"reduction": "none", "ignore": ignore})


def _weight_pull(g: Any, x: Any, target: Any, weight: Any, reduction: str, ignore: int) -> Array:
    """The cotangent of the weights: of each class what those given have lost."""
    shape, alone = type_of(x).shape, {"reduction": "none", "ignore": ignore}
    loss = bind(NLL_LOSS, (x, target), alone)
    if reduction == "mean":
        g = divide(g, sum_(_taken(weight, shape, target, ignore)))
        mean = bind(NLL_LOSS, (x, target, weight), {"reduction": "mean", "ignore": ignore})
        loss = where(not_equal(target, ignore), subtract(loss, mean), type_of(x).dtype.type(0))
    g = scale(broadcast_to(g, type_of(target).shape), loss)
    each = bind(NLL_SCATTER, (negative(g), target), {"shape": shape, **alone})
    classes = min(len(shape) - 1, 1)
    return sum_(each, tuple(k for k in range(len(shape)) if k != classes))


def _nll_samples() -> list[Sample]:
    x, target = draw((3, 4)), np.array([1, 0, 3])
    weight = np.array([0.5, 1.0, 2.0, 0.25])
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
    ] + [
        Sample((x, target, weight), {"reduction": how, "ignore": 0})
        for how in ("mean", "sum", "none")
    ]


NLL_LOSS: Explicit = explicit(
    "nll_loss",
    _nll_loss,
    type_rule=lambda x, target, *_, reduction, ignore: ArrayType(
        target.shape if reduction == "none" else (), x.dtype
    ),
    vjp=_nll_loss_pull,
    batch=_nll_loss_batch,
    linear_in=(0,),
    sample=_nll_samples,
)
NLL_LOSS.composed = nll_loss_composed


def nll_loss(
    x: Any, target: Any, *weight: Any, reduction: str = "mean", ignore: int = -100
) -> Array:
    """The negative log likelihood of classes (those equal to `ignore` do not count).

    `weight` is at most one array: of each class. The mean is the weighted one.
    """
    params = {"reduction": reduction, "ignore": ignore}
    return bind(NLL_LOSS, [operand(v) for v in (x, target, *weight)], params)


def _nll_scatter_samples() -> list[Sample]:
    none = {"reduction": "none"}
    g, target = draw((3,)), np.array([1, 0, 3])
    image = np.array([[0, 2], [1, 1]])
    return [
        Sample((g, target), {"shape": (3, 4), "ignore": 3, **none}),
        Sample((np.float64(0.5), np.array(2)), {"shape": (4,), "ignore": -100, **none}),
        Sample((draw((2, 2)), image), {"shape": (2, 3, 2), "ignore": 0, **none}),
        Sample((np.float64(0.5), target), {"shape": (3, 4), "ignore": 3, "reduction": "mean"}),
        Sample((np.float64(0.5), image), {"shape": (2, 3, 2), "ignore": 3, "reduction": "sum"}),
    ]


NLL_SCATTER: Linear = linear(
    "nll_scatter",
    _nll_scatter,
    (
        lambda g, _x, target, *, shape, reduction, ignore: bind(
            NLL_LOSS, (g, target), {"reduction": reduction, "ignore": ignore}
        ),
    ),
    lambda g, target, *, shape, reduction, ignore: ArrayType(shape, g.dtype),
    _nll_scatter_batch,
    sample=_nll_scatter_samples,
)
NLL_SCATTER.composed = nll_scatter_composed
