"""Reading along a dimension by positions, by flat positions and by masks: gather and its kin.

The checks of positions and shapes are also those of what writes by positions (`scattering`,
`writing_slices`, `writing_flat_and_masked`).
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from funcgrad.core.tracer import concrete, value
from funcgrad.core.types import Array
from funcgrad.ops import arithmetic as a
from funcgrad.ops import index as core
from funcgrad.ops.shape import broadcast_to, reshape
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.operations import axes, reshaping
from funcgrad.torch.operations.common import (
    axis_of,
    boxed,
    computed,
    copied,
    mismatch,
    shape_of,
    told,
)
from funcgrad.torch.operations.comparison import known, selected
from funcgrad.torch.operations.promotion import dtype_of, kind_of
from funcgrad.torch.operations.record import NodeClass, node, operation
from funcgrad.torch.operations.remainders import remainder
from funcgrad.torch.operations.requirements import requires
from funcgrad.torch.operations.slicing import positioned
from funcgrad.torch.staged import bounded

__all__ = [
    "gather", "index_select", "masked_select", "take", "take_along_dim",
]  # fmt: skip


def positions_along(shape: tuple[int, ...], at: Array, axis: int) -> Array:
    """The flat positions, in an array of `shape`, of entries `at` along an axis."""
    if len(shape) == 1:
        return at
    where_ = shape_of(at)
    steps = [math.prod(shape[k + 1 :]) for k in range(len(shape))]
    other: Any = np.zeros((1,) * len(shape), np.int64)
    for k in range(len(shape)):
        if k != axis:
            other = other + (np.arange(where_[k]) * steps[k]).reshape(
                (-1,) + (1,) * (len(shape) - k - 1)
            )
    return a.add(a.multiply(at, steps[axis]), other)


def check_index(function: str, at: Array) -> Array:
    """Positions are integers of PyTorch's kinds."""
    if dtype_of(at) not in (np.int64, np.int32):
        raise RuntimeError(f"{function}(): Expected dtype int32/int64 for index")
    return at


def check_bounds(at: Array, extent: int, axis: int, error: Any = RuntimeError) -> None:
    """Raise for a position outside; negative ones do not count from the end."""
    bounded(at, 0, extent - 1)
    if not concrete(at):
        return
    array = np.asarray(value(at))
    bad = (array < 0) | (array >= extent)
    if bad.any():
        raise error(
            f"index {array[bad].flat[0]} is out of bounds for dimension {axis} with size {extent}"
        )


def check_ranks(shape: tuple[int, ...], at: tuple[int, ...], axis: int, what: str) -> None:
    """Positions have the rank of what they point into, and are no larger but along the axis."""
    if max(len(shape), 1) != max(len(at), 1):
        raise RuntimeError(f"Index tensor must have the same number of dimensions as {what} tensor")
    if not at or not shape or 0 in at:
        return
    if any(at[k] > shape[k] for k in range(len(shape)) if k != axis):
        odd = next(k for k in range(len(shape)) if at[k] > shape[k])
        raise RuntimeError(
            f"Size does not match at dimension {odd} "
            f"expected index {list(at)} to be no larger than self {list(shape)} apart from "
            f"dimension {axis}"
        )


# ------------------------------------------------------------------------------------ reading


@functools.cache
def _gathering(name: str, saves: str, axis: int, saved: bool, tells: str) -> NodeClass:
    """The node of what reads with an array for every dimension: it saves that of the axis."""
    return node(name, " ".join([saves, *"_" * axis, *["index"] * saved]), (0,), tells)


@operation(
    "gather", "input, int dim, Tensor index, *, bool sparse_grad=False, out", variants="method",
    remembers=True, positions="unsigned", lies="contiguous",
)  # fmt: skip
def gather(input: Tensor, dim: int, index: Tensor, sparse_grad: bool = False) -> Tensor:
    """The entries along a dimension at positions given for every place of the result."""
    x, at = input.content(), index.content()
    shape, where_ = shape_of(x), shape_of(at)
    axis = axis_of(dim, len(shape))
    check_index("gather", at)
    check_ranks(shape, where_, axis, "input")
    check_bounds(at, shape[axis] if shape else 1, axis)
    kind = _gathering("Gather", "self", axis, bool(shape and where_), "dim sparse_grad")
    if not shape or not where_:
        made = copied(reshape(x, where_)) if not shape else core.gather(x, at)
    else:
        grid = [
            at if k == axis else np.arange(where_[k]).reshape((-1,) + (1,) * (len(shape) - k - 1))
            for k in range(len(shape))
        ]
        made = core.gather(x, *grid)
    return told(boxed(made, kind), dim=axis, sparse_grad=bool(sparse_grad))


@operation(
    "index_select", "input, int dim, Tensor index, *, out", variants="method", remembers=True,
    positions="unsigned", lies="contiguous",
)  # fmt: skip
@requires("rank(index) <= 1: IndexError: index_select(): Index is supposed to be a vector")
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """The entries along a dimension at positions given by a vector."""
    x, at = input.content(), index.content()
    shape = shape_of(x)
    if dtype_of(at) not in (np.int64, np.int32):
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    axis = axis_of(dim, len(shape))
    if not shape and math.prod(shape_of(at)) != 1:
        raise RuntimeError(
            "index_select(): Index to scalar can have only 1 value, got "
            f"{math.prod(shape_of(at))} value(s)"
        )
    bounded(at, 0, (shape[axis] if shape else 1) - 1)
    if concrete(at):
        array = np.asarray(value(at))
        if ((array < 0) | (array >= (shape[axis] if shape else 1))).any():
            raise IndexError("index out of range in self")
    saved = bool(shape and shape_of(at))
    kind = _gathering("IndexSelect", "_", axis, saved, "dim self_sym_sizes")
    if not shape:
        return told(boxed(copied(x), kind), dim=axis)
    if not shape_of(at):
        at = reshape(at, (1,))
    lead = [np.arange(shape[k]).reshape((-1,) + (1,) * (axis - k)) for k in range(axis)]
    return told(boxed(core.gather(x, *lead, at), kind), dim=axis)


TAKE_NODE = node("Take", "self index")


@operation(
    "take", "input, Tensor index, *, out", variants="method", remembers=True,
    positions="signed",
)  # fmt: skip
def take(input: Tensor, index: Tensor) -> Tensor:
    """The elements of the flat tensor at positions; negative ones count from the end."""
    x, at = input.content(), index.content()
    if dtype_of(at) != np.int64:
        raise RuntimeError(
            f"take(): Expected a long tensor for index, but got {dtypes.scalar_name(kind_of(at))}"
        )
    size = math.prod(shape_of(x))
    bounded(at, -size, size - 1)
    if concrete(at):
        array = np.asarray(value(at))
        bad = (array < -size) | (array >= size)
        if bad.any():
            raise IndexError(
                f"out of range: tried to access index {array[bad].flat[0]} on a tensor of {size} "
                "elements."
            )
    return boxed(computed(TAKE, x, at), TAKE_NODE)


TAKE = Composite(
    "take", lambda x, at: core.gather(reshape(x, (math.prod(shape_of(x)),)), at), linear=True,
    fixed=1,
)  # fmt: skip


@operation("take_along_dim", "input, Tensor indices, int dim=None, *, out", variants="method")
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None) -> Tensor:
    """`gather` with shapes that broadcast; without a dimension in the flat tensor.

    With a dimension positions go round: -1 is the last one.
    """
    if indices.dtype is not dtypes.int64:
        raise RuntimeError("torch.take_along_dim(): dtype of indices should be Long")
    if dim is None:
        return gather(reshaping.view(input, (-1,)), 0, reshaping.reshape(indices, (-1,)))
    if input.ndim != indices.ndim:
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, "
            f"but got {input.ndim} dimensions for input, and {indices.ndim} dimensions for indices"
        )
    axis = axis_of(dim, input.ndim)
    mine, given = list(input.shape), list(indices.shape)
    shared = list(np.broadcast_shapes(
        tuple(n for k, n in enumerate(mine) if k != axis),
        tuple(n for k, n in enumerate(given) if k != axis),
    ))  # fmt: skip
    wide = axes.expand(input, (*shared[:axis], mine[axis], *shared[axis:]))
    at = axes.expand(indices, (*shared[:axis], given[axis], *shared[axis:]))
    return gather(wide, axis, remainder(at, mine[axis]) if mine[axis] else at)


def _selected(x: Array, chosen: np.ndarray[Any, Any]) -> Array:
    """The elements of `x`, repeated to the shape of a mask, where that holds."""
    if not shape_of(x):
        return computed(REPEATED, x, count=int(chosen.sum()))
    return positioned(x, lambda v: np.broadcast_to(v, chosen.shape)[chosen])


MASKED_SELECT = node("MaskedSelect", "self", (0,), "mask")


@operation("masked_select", "input, Tensor mask, *, out", variants="method")
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where a mask holds, in one dimension; both shapes broadcast."""
    x, m = input.content(), mask.content()
    if dtype_of(m).kind != "b":
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    full = common_shape(x, m)
    if concrete(m):
        made = _selected(x, np.broadcast_to(known(m, "masked_select()"), full))
    else:
        at = selected(broadcast_to(m, full), "masked_select()")
        made = core.gather(broadcast_to(x, full), *at)
    return told(boxed(made, MASKED_SELECT), mask=mask.detach())


def _repeated(x: Array, count: int) -> Array:
    """The one element of `x`, in memory of its own: broadcasting would show that of `x`."""
    return core.gather(reshape(x, (1,)), np.zeros(count, np.int64))


REPEATED = Composite("repeated", _repeated, linear=True)


def common_shape(x: Array, y: Array) -> tuple[int, ...]:
    """The shape that two contents broadcast to."""
    message = mismatch([shape_of(x), shape_of(y)])
    if message is not None:
        raise RuntimeError(message)
    return np.broadcast_shapes(shape_of(x), shape_of(y))
