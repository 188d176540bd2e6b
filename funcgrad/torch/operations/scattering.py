"""Writing along a dimension by positions: scatter and scatter_add.

Repeated positions add up under `scatter_add`; where a write replaces, the last one wins and the
others get no gradient. (`scatter_reduce` has a file of its own.)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.core.types import Array
from funcgrad.ops import index as core
from funcgrad.ops.shape import broadcast_to, reshape
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.operations.common import axis_of, boxed, shape_of
from funcgrad.torch.operations.dense import dense_composite
from funcgrad.torch.operations.gathering import (
    check_bounds,
    check_index,
    check_ranks,
    positions_along,
)
from funcgrad.torch.operations.promotion import dtype_of, number
from funcgrad.torch.operations.record import node, operation
from funcgrad.torch.operations.recorded import Underivable
from funcgrad.torch.operations.requirements import requires

__all__ = [
    "scatter", "scatter_add",
]  # fmt: skip


@requires("""
    scalar_name(src) == scalar_name(x): scatter(): Expected self.dtype to be equal to src.dtype
    all(n <= m for n, m in zip(shape(at), shape(src), strict=False)): Expected index {sizes(at)} to
        be no larger than self {sizes(x)} apart from dimension 0 and to be no larger size than src
        {sizes(src)}
""")
def source(x: Array, src: Tensor, at: Array) -> Array:
    """The part of `src` that is written: as large as the index."""
    v = src.content()
    return v


def _scattered(x: Array, v: Array, at: Array, axis: int, adding: bool) -> Array:
    shape, where_ = shape_of(x), shape_of(at)
    if not shape:
        x, v, at = (reshape(c, (math.prod(shape_of(c)),)) for c in (x, v, at))
        found = _scattered(x, v, at, 0, adding)
        return reshape(found, shape)
    if shape_of(v) and shape_of(v) != where_:
        v = core.getitem(v, tuple(slice(0, n) for n in where_))
    positions = positions_along(shape, at, axis)
    v = broadcast_to(v, where_)
    write_ = core.add_at if adding else core.set_positions
    return write_(x, positions, v)


SCATTER = dense_composite("scatter", _scattered, linear=True, fixed=1)
# the operands are the tensor, what is written, and where
SCATTER_NODE = node("Scatter", "_ _ index", (0, 1), "dim")
SCATTER_NUMBER = node("ScatterBackward1", "_ _ index", (0,), "dim")
SCATTER_ADD = node("ScatterAdd", "_ _ index", (0, 1), "dim")
UNDERIVED = node("NotImplemented", shows=(0, 1)), node("NotImplemented", shows=(0,))


def prepared(function: str, input: Tensor, dim: int, index: Tensor) -> tuple[Array, Array, int]:
    """The contents of a tensor and of positions along a dimension that fit, and the axis."""
    x, at = input.content(), index.content()
    check_index(function if function != "scatter_add" else "scatter", at)
    shape = shape_of(x)
    axis = axis_of(dim, len(shape))
    check_ranks(shape, shape_of(at), axis, "self")
    check_bounds(at, shape[axis] if shape else 1, axis)
    return x, at, axis


TO = "input, int dim, Tensor index"


@operation(
    "scatter",
    f"{TO}, Tensor src, *, out | {TO}, Tensor src, *, str reduce, out"
    f" | {TO}, Number value, *, out | {TO}, Number value, *, str reduce, out",
    overlap="none",
)  # fmt: skip
def scatter(
    input: Tensor, dim: int, index: Tensor, src: Tensor | None, reduce: str | None = None,
    value: Any = None,
) -> Tensor:  # fmt: skip
    """A copy in which entries of `src` (or a number) are written along a dimension."""
    x, at, axis = prepared("scatter", input, dim, index)
    v = number(value, dtype_of(x)) if src is None else source(x, src, at)
    if reduce is not None:
        return _reducing(x, at, axis, v, reduce, src is None)
    made = SCATTER(x, v, at, axis=axis, adding=False)
    return boxed(made, SCATTER_NUMBER if src is None else SCATTER_NODE)


def _reducing(x: Array, at: Array, axis: int, v: Array, reduce: str, number: bool) -> Tensor:
    """The old form ``reduce="add"`` or ``"multiply"``, which has no derivative."""
    if reduce not in ("add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    made = SCATTER_REDUCING(x, v, at, axis=axis, adding=reduce == "add")
    return boxed(made, UNDERIVED[number])


def _multiplied(x: Any, v: Any, at: Any, axis: int, adding: bool) -> Any:
    if adding:
        return _scattered(x, v, at, axis, True)
    out = np.array(x)
    positions = positions_along(out.shape, at, axis)
    part = v if not np.ndim(v) else v[tuple(slice(0, n) for n in np.shape(at))]
    np.multiply.at(out.reshape(-1), positions, part)
    return out


SCATTER_REDUCING = Underivable("scatter", _multiplied)


@operation("scatter_add", f"{TO}, Tensor src, *, out", overlap="none")
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """A copy to which entries of `src` are added along a dimension."""
    x, at, axis = prepared("scatter_add", input, dim, index)
    return boxed(SCATTER(x, source(x, src, at), at, axis=axis, adding=True), SCATTER_ADD)
