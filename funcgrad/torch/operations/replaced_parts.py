"""Copies of tensors in which a part is replaced: ``select_scatter`` and its kin."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.ops import index as core
from funcgrad.ops.arithmetic import cast
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.operations.common import axis_of, boxed, computed, shape_of, told
from funcgrad.torch.operations.memory import as_strided
from funcgrad.torch.operations.promotion import dtype_of
from funcgrad.torch.operations.record import NodeClass, node, operation
from funcgrad.torch.operations.slicing import entry_of, positioned

__all__ = [
    "as_strided_scatter", "diagonal_scatter", "select_scatter", "slice_scatter",
]  # fmt: skip

SET_AT = Composite("set_at", lambda x, v, at: core.set_positions(x, at, v), linear=True, fixed=1)


def _replaced(input: Tensor, src: Tensor, read: Any, node: NodeClass, **shown: Any) -> Tensor:
    """`input` with `src` in the place of the part that `read` gives."""
    x, v = input.content(), cast(src.content(), dtype_of(input._t))
    shape = shape_of(x)
    at = read(np.arange(math.prod(shape)).reshape(shape))
    if np.shape(at) != shape_of(v):
        raise RuntimeError(
            "expected src to have a size equal to the slice of self. src size = "
            f"{list(shape_of(v))}, slice size = {list(np.shape(at))}"
        )
    made = boxed(computed(SET_AT, x, v, np.ascontiguousarray(at).reshape(np.shape(at))), node)
    return told(made, **shown)


SELECT_SCATTER = node("SelectScatter", tells="dim index")
SLICE_SCATTER = node("SliceScatter", tells="dim start end step")
DIAGONAL_SCATTER = node("DiagonalScatter", tells="offset dim1 dim2")
AS_STRIDED_SCATTER = node("AsStridedScatter", tells="size stride storage_offset")


@operation("select_scatter", "input, src, int dim, int index", variants="method")
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """A copy in which one entry along a dimension is `src`."""
    items = entry_of(shape_of(input), dim, index)
    return _replaced(
        input, src, lambda v: v[items], SELECT_SCATTER, dim=len(items) - 1, index=index
    )


@operation(
    "slice_scatter", "input, src, int dim=0, int start=None, int end=None, int step=1, *, out",
    variants="method",
)  # fmt: skip
def slice_scatter(
    input: Tensor, src: Tensor, dim: int, start: int | None, end: int | None, step: int
) -> Tensor:
    """A copy in which a slice along a dimension is `src`."""
    k = axis_of(dim, len(shape_of(input)))
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    items = (slice(None),) * k + (slice(start, end, step),)
    return _replaced(
        input, src, lambda v: v[items], SLICE_SCATTER, dim=k, start=start, end=end, step=step
    )


@operation(
    "diagonal_scatter", "input, src, int offset=0, int dim1=0, int dim2=1", variants="method"
)
def diagonal_scatter(input: Tensor, src: Tensor, offset: int, dim1: int, dim2: int) -> Tensor:
    """A copy in which a diagonal is `src`."""
    return _replaced(
        input, src, lambda v: np.diagonal(v, offset, dim1, dim2), DIAGONAL_SCATTER,
        offset=offset, dim1=dim1, dim2=dim2,
    )  # fmt: skip


@operation(
    "as_strided_scatter", "input, src, ints size, ints stride, int storage_offset=None",
    variants="method",
)  # fmt: skip
def as_strided_scatter(
    input: Tensor, src: Tensor, size: Sequence[int], stride: Sequence[int],
    storage_offset: int | None,
) -> Tensor:  # fmt: skip
    """A copy in which what `as_strided` shows is `src`."""
    as_strided(input.detach(), size, stride, storage_offset)  # for its errors
    if input.requires_grad and not input.is_contiguous():
        raise RuntimeError("as_strided_scatter is currently only supported for contiguous inputs")
    own = input.storage_offset()
    places = _places(shape_of(input), input.stride(), own)
    start = own if storage_offset is None else storage_offset
    targets = _places(tuple(size), stride, start)
    if np.unique(targets).size < targets.size:
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a "
            "single memory location. Please clone() the tensor before performing the operation."
        )
    if targets.shape != shape_of(src):
        raise RuntimeError(
            "expected src to have a size equal to the slice of self. src size = "
            f"{list(shape_of(src))}, slice size = {list(targets.shape)}"
        )
    seen = np.isin(targets, places)  # the storage may be larger than the tensor
    order = np.argsort(places, axis=None)
    at = order[np.searchsorted(places.reshape(-1)[order], targets[seen])]
    v = positioned(cast(src.content(), dtype_of(input._t)), lambda v: v[seen])
    made = boxed(computed(SET_AT, input.content(), v, at.reshape(shape_of(v))), AS_STRIDED_SCATTER)
    return told(made, size=tuple(size), stride=tuple(stride), storage_offset=storage_offset)


def _places(shape: tuple[int, ...], strides: Sequence[int], start: int) -> np.ndarray[Any, Any]:
    """Where the elements lie in a storage."""
    grid: Any = np.full(shape, start)
    for k, step in enumerate(strides):
        grid = grid + (np.arange(shape[k]) * step).reshape(-1, *(1,) * (len(shape) - k - 1))
    return np.asarray(grid)
