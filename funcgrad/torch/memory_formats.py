"""The order of the dimensions in memory: ``contiguous_format``, ``channels_last`` and their kin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core.types import Array
from funcgrad.ops.shape import copied, transpose
from funcgrad.torch.device import channels_last, channels_last_3d, memory_format

__all__ = ["WIDEST_FIRST", "check_format", "in_format", "is_in_format"]

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


def in_format(x: Array, order: Sequence[int]) -> Array:
    """A copy of `x` whose dimensions lie in an order in memory, the widest step first."""
    turned = transpose(x, tuple(order))
    if isinstance(turned, (np.ndarray, np.generic)):
        turned = np.array(turned, order="C")
    else:
        turned = copied(turned, "C")
    return transpose(turned, tuple(int(k) for k in np.argsort(order)))
