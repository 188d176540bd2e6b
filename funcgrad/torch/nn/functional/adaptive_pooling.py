"""Pooling into a given number of windows, which overlap where it does not divide the image."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core.types import Array
from funcgrad.ops import arithmetic as a
from funcgrad.ops import index as indexing
from funcgrad.ops.shape import concatenate, reshape
from funcgrad.ops.sums import sum as add_up
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.composite import Composite
from funcgrad.torch.nn.functional.pooling import PICKED
from funcgrad.torch.operations.common import boxed, computed, shape_of, widened
from funcgrad.torch.operations.promotion import dtype_of
from funcgrad.torch.operations.record import NodeClass, node, operation, refuse
from funcgrad.torch.operations.results import laid
from funcgrad.torch.root import bare

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices", "adaptive_max_pool2d", "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d", "adaptive_max_pool3d_with_indices",
]  # fmt: skip

Sizes = tuple[int, ...]


def _nodes(name: str) -> dict[int, NodeClass]:
    """By rank; the gradients know of the images, in which they do not bend."""
    flat, deep = (f"{name}{rank}DBackwardBackward0" for rank in (2, 3))
    return {
        1: node("SqueezeBackward1", "", shows=(0,), bends=flat),
        2: node(f"{name}2D", "self", shows=(0,), bends=flat),
        3: node(f"{name}3D", "self", shows=(0,), bends=deep),
    }


MEAN_OF_LINE = node("SqueezeBackward1", "", shows=(0,))  # PyTorch takes the mean of one window
AVG_NODES, MAX_NODES = _nodes("AdaptiveAvgPool"), _nodes("AdaptiveMaxPool")


def _sizes(name: str, given: Any, shape: Sizes, rank: int) -> Sizes:
    """How many windows along each axis; None keeps its extent."""
    listed = isinstance(given, (tuple, list))
    if listed and rank > 1 and len(shape) <= len(given):
        raise ValueError(f"Input dimension should be at least {len(given) + 1}")
    items = tuple(given) if listed else (given,) * rank
    if len(items) != rank:
        raise RuntimeError(f"{name}: output_size must be {rank}")
    if len(shape) not in (rank + 1, rank + 2):
        if rank == 1:
            raise RuntimeError(
                f"Expected 2 to 3 dimensions, but got {len(shape)}-dimensional tensor for argument "
                f"#1 'self' (while checking arguments for {name})"
            )
        raise RuntimeError(
            f"{name}(): Expected {rank + 1}D or {rank + 2}D tensor, but got"
            f"{':' if 'max' in name else ''} {list(shape)}"
        )
    found = tuple(n if o is None else int(o) for o, n in zip(items, shape[-rank:], strict=True))
    if min(found) < 0:
        raise RuntimeError(f"{name}: elements of output_size must be greater than or equal to 0")
    return found


def _bounds(n: int, count: int) -> tuple[Array, Array]:
    """Where the windows along an axis of `n` elements begin and end."""
    k = np.arange(count)
    return k * n // max(count, 1), -(-(k + 1) * n // max(count, 1))


def _check_extents(name: str, shape: Sizes, axes: int) -> None:
    """Raise where one of the last axes is empty."""
    for k in range(len(shape) - axes, len(shape)):
        if not shape[k]:
            raise RuntimeError(
                f"{name}(): Expected input to have non-zero size for non-batch dimensions, but "
                f"input has sizes {list(shape)} with dimension {k} being empty"
            )


def _sums(x: Array, axis: int, count: int) -> Array:
    """The sum of each window along an axis, of its own elements only.

    A product with a matrix that is zero elsewhere would carry NaN and infinities to all windows.
    """
    shape = shape_of(x)
    n, lead = shape[axis], (slice(None),) * axis
    if count and n % count == 0:
        return add_up(reshape(x, (*shape[:axis], count, n // count, *shape[axis + 1 :])), axis + 1)
    begin, end = _bounds(n, count)
    widest = max(end - begin, default=0)
    if count <= widest or not count:
        parts = [indexing.getitem(x, (*lead, slice(b, e))) for b, e in zip(begin, end, strict=True)]
        sums = [add_up(p, axis, True) for p in parts]
        return concatenate(sums, axis) if sums else indexing.getitem(x, (*lead, slice(0, 0)))
    found, after = None, (1,) * (len(shape) - axis - 1)
    for j in range(widest):
        y = indexing.read(x, (*lead, np.minimum(begin + j, end - 1)))
        y = a.where((begin + j < end).reshape(-1, *after), y, dtype_of(x).type(0))
        found = y if found is None else a.add(found, y)
    return found


def _averaged(x: Array, sizes: Sizes) -> Array:
    rank = len(sizes)
    for k, count in enumerate(sizes):
        axis = len(shape_of(x)) - rank + k
        begin, end = _bounds(shape_of(x)[axis], count)
        extents = (end - begin).reshape(-1, *(1,) * (rank - k - 1)).astype(dtype_of(x))
        x = a.divide(_sums(x, axis, count), extents)
    return x


MEANS = Composite("adaptive_avg_pool", widened(_averaged), linear=True)


def _average(rank: int) -> Callable[..., Tensor]:
    name = f"adaptive_avg_pool{rank}d"

    def pool(input: Tensor, output_size: Any) -> Tensor:
        x = input.content()
        sizes = _sizes(name, output_size, shape_of(x), rank)
        refuse({"biu": name}, x)
        if rank > 1 and set(sizes) == {1}:
            whole: Tensor = input.mean(tuple(range(-rank, 0)), keepdim=True)
            return whole
        _check_extents(name, shape_of(x), len(shape_of(x)) - 1 if rank == 3 else rank)
        kind = MEAN_OF_LINE if sizes == (1,) else AVG_NODES[rank]
        out = boxed(computed(MEANS, x, sizes=sizes), kind)
        return laid(out, "images" if rank > 1 else "lines", input)  # type: ignore[no-any-return]

    pool.__name__ = pool.__qualname__ = name
    pool.__doc__ = (
        f"The means of as many windows as `output_size` says, over {rank} dimensions; None keeps "
        "the extent of a dimension."
    )
    return pool


def _positions(x: Array, sizes: Sizes) -> Array:
    """Where the largest element of each window is in the flattened image."""
    extents = shape_of(x)[-len(sizes) :]
    lines = []
    for n, count in zip(extents, sizes, strict=True):
        begin, end = _bounds(n, count)
        widest = int((end - begin).max()) if count else 0
        # windows that are shorter than the widest look at their last element again
        lines.append(np.minimum(begin[:, None] + np.arange(widest), end[:, None] - 1))
    steps = [math.prod(extents[k + 1 :]) for k in range(len(sizes))]
    best, at = None, None
    for offsets in itertools.product(*(range(line.shape[1]) for line in lines)):
        grid = np.ix_(*(line[:, j] for line, j in zip(lines, offsets, strict=True)))
        y = indexing.read(x, (Ellipsis, *grid))
        flat = functools.reduce(np.add, (g * s for g, s in zip(grid, steps, strict=True)))
        if best is None:
            best, at = y, a.add(flat, np.zeros(shape_of(y), np.int64))
            continue
        better = a.greater(y, best)
        if dtype_of(x).kind == "f":
            better = a.logical_or(better, a.isnan(y))
        best, at = a.where(better, y, best), a.where(better, flat, at)
    if at is None:
        return np.zeros((*shape_of(x)[: -len(sizes)], *sizes), np.int64)
    return at


def _largest(rank: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    name = f"adaptive_max_pool{rank}d"

    def with_indices(
        input: Tensor, output_size: Any, return_indices: bool = False
    ) -> tuple[Tensor, Tensor]:
        x = input.content()
        sizes = _sizes(name, output_size, shape_of(x), rank)
        _check_extents(name, shape_of(x), len(shape_of(x)) - 1)
        refuse({"bciu": name}, x)
        at = _positions(bare(x), sizes)
        how = "images" if rank > 1 else "lines"
        found = boxed(computed(PICKED, x, at, axes=rank), MAX_NODES[rank])
        return laid(found, how, input), laid(box(at), how, input)

    def pool(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
        found = with_indices(input, output_size)
        return found if return_indices else found[0]

    pool.__name__ = pool.__qualname__ = name
    with_indices.__name__ = with_indices.__qualname__ = f"{name}_with_indices"
    pool.__doc__ = (
        f"The largest elements of as many windows as `output_size` says, over {rank} dimensions; "
        "with `return_indices`, where they are in the flattened image."
    )
    with_indices.__doc__ = f"As `{name}` with ``return_indices=True``."
    return pool, with_indices


adaptive_avg_pool1d = operation("adaptive_avg_pool1d", "input, dims output_size", variants="")(
    _average(1)
)
adaptive_avg_pool2d, adaptive_avg_pool3d = map(_average, (2, 3))
adaptive_max_pool1d, adaptive_max_pool1d_with_indices = _largest(1)
adaptive_max_pool2d, adaptive_max_pool2d_with_indices = _largest(2)
adaptive_max_pool3d, adaptive_max_pool3d_with_indices = _largest(3)
