"""The order of the dimensions in memory: ``contiguous_format``, ``channels_last`` and their kin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core.tracer import type_of
from funcgrad.core.types import Array
from funcgrad.ops.shape import flat, reshape, transpose
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.device import channels_last, channels_last_3d, memory_format
from funcgrad.torch.tensor_arrays import layout

__all__ = [
    "WIDEST_FIRST", "check_format", "dense", "in_format", "is_in_format", "order_of_images",
    "order_of_lines",
]  # fmt: skip

# The dimensions from the widest step to the narrowest.
WIDEST_FIRST: dict[Any, tuple[int, ...]] = {
    channels_last: (0, 2, 3, 1),
    channels_last_3d: (0, 2, 3, 4, 1),
}


def check_format(name: str, given: Any, rank: int | None = None) -> None:
    """Raise for what is no format, and for one of another rank."""
    if given is not None and not isinstance(given, memory_format):
        raise TypeError(
            f"{name}(): argument 'memory_format' must be torch.memory_format, not "
            f"{type(given).__name__}"
        )
    order = WIDEST_FIRST.get(given)
    if given is not None and order is not None and rank is not None and rank != len(order):
        raise RuntimeError(f"required rank {len(order)} tensor to use {given.name} format")


def is_in_format(array: Any, given: Any) -> bool:
    """Whether the elements of an array follow one another in a format."""
    order = WIDEST_FIRST.get(given)
    if order is None:
        return bool(array.flags.c_contiguous)
    return array.ndim == len(order) and bool(array.transpose(order).flags.c_contiguous)


def dense(x: Array) -> Array:
    """`x` in C order."""
    shape = type_of(x).shape
    return reshape(flat(x), shape) if len(shape) > 1 else x


def in_format(x: Array, order: Sequence[int] | None) -> Array:
    """`x` in C order, or with its dimensions in an order in memory, the widest step first."""
    if order is None:
        return dense(x)
    back = tuple(int(k) for k in np.argsort(order))
    return transpose(dense(transpose(x, tuple(order))), back)


def order_of_images(*xs: Tensor) -> tuple[int, ...] | None:
    """The order of images whose channels lie next to each other, if PyTorch takes all for such."""
    if not all(_are_images(a.shape, a.strides) for a in map(layout, xs)):
        return None
    return (0, *range(2, xs[0].ndim), 1)


def order_of_lines(x: Tensor) -> tuple[int, ...] | None:
    """The same of lines, which PyTorch takes as images of one row."""
    array = layout(x)
    if array.ndim != 3:
        return None
    (n, c, width), (far, next_, step) = array.shape, array.strides
    found = _are_images((n, c, 1, width), (far, next_, width * step, step))
    return (0, 2, 1) if found else None


def _are_images(shape: Sequence[int], strides: Sequence[int]) -> bool:
    rank, least = len(shape), 0
    if rank not in (4, 5) or strides[1] == 0:  # channels that are one say nothing
        return False
    for k in (1, *range(rank - 1, 1, -1), 0):
        n, step = shape[k], strides[k]
        if n == 0 or step < least or (k == 0 and least == strides[1]):
            return False
        least = step * n if n > 1 else step
    return True
