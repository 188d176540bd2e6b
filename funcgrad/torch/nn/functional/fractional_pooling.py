"""Pooling into windows that begin at random places (Graham 2014)."""

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
from funcgrad.ops.shape import reshape
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.nn.functional.pooling import PICKED
from funcgrad.torch.operations.common import boxed, computed, shape_of
from funcgrad.torch.operations.promotion import dtype_of, kind_of
from funcgrad.torch.operations.record import node, refuse
from funcgrad.torch.operations.sampling import rand
from funcgrad.torch.root import bare

__all__ = [
    "fractional_max_pool2d", "fractional_max_pool2d_with_indices", "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices",
]  # fmt: skip

Sizes = tuple[int, ...]
NODES = {
    2: node("FractionalMaxPool2D", "self", shows=(0,)),
    3: node("FractionalMaxPool3D", "self", shows=(0,)),
}
AXES = {2: ("height", "width"), 3: ("time", "height", "width")}
WORDS = {2: "Ints", 3: "three Ints"}
# PyTorch refuses windows that fill a volume, and takes those that fill an image
ROOM = {2: 0, 3: 1}
SAMPLE = {2: (1, 0), 3: (0, 1, 2)}  # which random number is for which axis
CALLED = {2: "fractional_max_pool2d()", 3: "fractional_max_pool3d_out()"}


def _ints(name: str, what: str, position: int, given: Any, rank: int) -> Sizes:
    items = tuple(given) if isinstance(given, (tuple, list)) else (given,) * rank
    if not all(hasattr(n, "__index__") for n in items):
        raise TypeError(
            f"{name}(): argument '{what}' (position {position}) must be tuple of ints, not "
            f"{type(given).__name__}"
        )
    if len(items) != rank:
        raise RuntimeError(f"{name}: {what} must either be a single Int or tuple of {WORDS[rank]}")
    return tuple(int(n) for n in items)


def _wanted(input: Tensor, rank: int, name: str, output_size: Any, output_ratio: Any) -> Any:
    """How many windows along each axis, of which a ratio may be given."""
    if output_size is not None:
        return output_size
    if output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    if rank == 2 and len(output_ratio) > 2:
        raise ValueError(
            f"{name} requires output_ratio to either be a single Int or tuple of Ints."
        )
    ratios = output_ratio if isinstance(output_ratio, (tuple, list)) else (output_ratio,) * rank
    return [int(input.size(k - rank) * ratios[k]) for k in range(rank)]


def _checked(name: str, shape: Sizes, rank: int, kernel: Any, count: Any) -> tuple[Sizes, Sizes]:
    """The extents of windows and how many there are; PyTorch's errors for what does not fit."""
    extents = _ints(name, "kernel_size", 2, kernel, rank)
    counts = _ints(name, "output_size", 3, count, rank)
    called = CALLED[rank]
    if len(shape) not in (rank + 1, rank + 2):
        raise RuntimeError(
            f"{called}: Expected {rank + 1}D or {rank + 2}D tensor, but got: {list(shape)}"
        )
    for k in range(1, len(shape)):
        if not shape[k]:
            raise RuntimeError(
                f"{called}: Expected input to have non-zero size for non-batch dimensions, but "
                f"got{list(shape)} with dimension {k} being empty."
            )
    for axis, n, k, c in zip(AXES[rank], shape[-rank:], extents, counts, strict=True):
        if c + k - 1 + ROOM[rank] > n:
            raise RuntimeError(f"{called}: pool {axis} {k} too large relative to input {axis} {n}")
    if min(counts) < 0:
        sizes = [*shape[:-rank], *counts]
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {min(counts)}: {sizes}"
        )
    return extents, counts


def _samples(input: Tensor, rank: int, given: Any, name: str) -> Array:
    """A random number for each channel and axis: (samples, channels, rank)."""
    x, batched = input.content(), input.dim() == rank + 2
    if given is None:
        count = input.size(0) if batched else 1
        given = rand(count, input.size(-rank - 1), rank, dtype=input.dtype)
    if not isinstance(given, Tensor):
        raise TypeError(
            f"{name}(): argument 'random_samples' (position 4) must be Tensor, not "
            f"{type(given).__name__}"
        )
    samples = given.content()
    sizes, shape = shape_of(samples), tuple(input.shape)
    if kind_of(samples) != kind_of(x):
        raise RuntimeError("Expect _random_samples to have the same dtype as input")
    if len(sizes) != 3:
        raise RuntimeError(f"Expect _random_samples to have 3 dimensions, got {len(sizes)}")
    count = shape[0] if batched else 1
    if sizes[0] < count:
        raise RuntimeError("Expect _random_samples.size(0) no less then input batch size.")
    if sizes[1] != shape[-rank - 1]:
        raise RuntimeError("Expect _random_samples.size(1) equals to input channel size.")
    if sizes[2] != rank:
        raise RuntimeError(f"Expect _random_samples.size(2) equals to {rank}; got {sizes[2]}.")
    refuse({"biuc": f"{name}_out_frame"}, x)
    found: Array = indexing.getitem(samples, slice(count) if batched else 0)
    return found


def _starts(sample: Array, n: int, count: int, extent: int) -> Array:
    """Where the windows along an axis begin, of samples of any shape: (..., count)."""
    kind, shape, order = dtype_of(sample), shape_of(sample), np.arange(count)
    step = kind.type(n - extent) / kind.type(max(count - 1, 1))
    at = reshape(sample, (*shape, 1))
    moved = _whole(a.multiply(a.add(order.astype(kind), at), step))
    begin = a.subtract(moved, _whole(a.multiply(at, step)))
    return a.where(order < count - 1, begin, n - extent)


def _whole(x: Array) -> Array:
    return a.cast(x, np.int64)


def _positions(x: Array, samples: Array, extents: Sizes, counts: Sizes) -> Array:
    """Where the largest element of each window is in the flattened image.

    Of equals the first counts, of NaNs the last.
    """
    rank = len(extents)
    shape = shape_of(x)
    sizes = shape[-rank:]
    lead = shape[:-rank]
    flat = reshape(x, (*lead, math.prod(sizes)))
    lines = []
    for k in range(rank):
        begin = _starts(
            indexing.getitem(samples, (..., SAMPLE[rank][k])), sizes[k], counts[k], extents[k]
        )
        around = [counts[k] if j == k else 1 for j in range(rank)]
        lines.append(reshape(begin, (*lead, *around)))
    steps = [math.prod(sizes[k + 1 :]) for k in range(rank)]
    first: Any = functools.reduce(
        a.add, (a.multiply(line, step) for line, step in zip(lines, steps, strict=True))
    )
    best, at = None, first
    for offsets in itertools.product(*map(range, extents)):
        here = a.add(first, sum(o * s for o, s in zip(offsets, steps, strict=True)))
        spots = reshape(here, (*lead, math.prod(counts)))
        y = reshape(indexing.take_along_axis(flat, spots, len(lead)), shape_of(here))
        if best is None:
            best = y
            continue
        better = a.logical_or(a.greater(y, best), a.isnan(y))
        best, at = a.where(better, y, best), a.where(better, here, at)
    return at


def _pools(rank: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    name = f"fractional_max_pool{rank}d"

    def with_indices(
        input: Tensor,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        wanted = _wanted(input, rank, name, output_size, output_ratio)
        if _random_samples is None:
            input.size(-rank - 1)  # PyTorch's error for what has no channels
        x = input.content()
        extents, counts = _checked(name, shape_of(x), rank, kernel_size, wanted)
        samples = _samples(input, rank, _random_samples, name)
        at = _positions(bare(x), bare(samples), extents, counts)
        return boxed(computed(PICKED, x, at, axes=rank), NODES[rank]), box(at)

    def pool(
        input: Tensor,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> Any:
        found = with_indices(
            input, kernel_size, output_size, output_ratio, return_indices, _random_samples
        )
        return found if return_indices else found[0]

    pool.__name__ = pool.__qualname__ = name
    with_indices.__name__ = with_indices.__qualname__ = f"{name}_with_indices"
    pool.__doc__ = (
        f"The largest elements of windows of one extent, over {rank} dimensions, as many as "
        "`output_size` says or, with `output_ratio`, of each axis that part; they begin at random "
        "places, which are PyTorch's for the same seed. With `return_indices`, where the elements "
        "are in the flattened image."
    )
    with_indices.__doc__ = f"As `{name}` with ``return_indices=True``."
    return pool, with_indices


fractional_max_pool2d, fractional_max_pool2d_with_indices = _pools(2)
fractional_max_pool3d, fractional_max_pool3d_with_indices = _pools(3)
