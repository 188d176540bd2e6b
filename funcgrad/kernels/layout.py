"""How the operand of a reduction becomes an array of three or four axes that kernels can read.

Neighbouring axes that are all reduced, or all kept, are one. What remains alternates: kept,
reduced, kept, reduced. Where the last axes are reduced the kernels read along them (four axes);
where they are kept, several groups side by side (three). It imports NumPy and the pool of memory.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.kernels import memory

__all__ = ["Layout", "dense", "layout_of"]

ndarray = np.ndarray


class Layout(NamedTuple):
    """The shapes of a reduction for the kernels.

    `whole` is that of the operand, `single` that of what has one element for each group; `order`
    is "F" where the operand lies in memory column by column and all axes are turned round.
    """

    whole: tuple[int, ...]
    single: tuple[int, int]
    order: Any

    @property
    def groups(self) -> int:
        return math.prod(self.single)

    def turned(self, x: Any) -> Any:
        return x.T if self.order == "F" else x

    def view(self, x: Any, whole: bool) -> ndarray[Any, Any]:
        """`x`, of the operand's shape or with an element for each group, for the kernels."""
        return dense(self.turned(np.asarray(x))).reshape(self.whole if whole else self.single)


def layout_of(x: Any, shape: tuple[int, ...], axes: Sequence[int]) -> Layout | None:
    """The layout for the operand or output `x`; None if axes alternate too often."""
    found = None
    if x.flags.f_contiguous and not x.flags.c_contiguous:
        found = _layout(shape[::-1], [len(shape) - 1 - a for a in axes], "F")
    return found or _layout(shape, axes, "C")


def _layout(shape: tuple[int, ...], axes: Sequence[int], order: str) -> Layout | None:
    extents: list[int] = []  # kept, reduced, kept, …
    for k, n in enumerate(shape):
        reduced = k in axes
        if n == 1:
            continue
        if extents and reduced == (len(extents) % 2 == 0):
            extents[-1] *= n
        else:
            extents += [1, n] if reduced and not extents else [n]
    if len(extents) > 4:
        return None
    if len(extents) < 3:
        first, last = (*extents, 1, 1)[:2]
        extents = [first, 1, 1, last]
    return Layout(tuple(extents), (extents[0], extents[2]), order)


def dense(x: Any) -> ndarray[Any, Any]:
    """`x` as an array in memory without gaps."""
    found: ndarray[Any, Any] = np.asarray(x)
    if not found.flags.c_contiguous or not found.flags.aligned:
        found = memory.empty(found.shape, found.dtype)
        np.copyto(found, x)
    return found
