"""How the operand of a reduction becomes an array of three or four axes that kernels can read.

Neighbouring axes that are all reduced, or all kept, are one. What remains alternates: kept,
reduced, kept, reduced. Where the last axes are reduced the kernels read along them (four axes);
where they are kept, several groups side by side (three). What alternates more often is moved, the
reduced axes last. It imports NumPy and the pool of memory.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.core import memory

__all__ = ["Layout", "dense", "layout_of", "letters"]

ndarray = np.ndarray


class Layout(NamedTuple):
    """The shapes of a reduction for the kernels.

    `whole` is that of the operand, `single` that of what has one element for each group; `order`
    is that of the operand's axes in memory, None if it is theirs, and `turned` says that it is the
    opposite one, of results too.
    """

    whole: tuple[int, ...]
    single: tuple[int, int]
    order: tuple[int, ...] | None = None
    turned: bool = False

    @property
    def groups(self) -> int:
        return math.prod(self.single)

    def view(self, x: Any, whole: bool) -> ndarray[Any, Any]:
        """`x`, of the operand's shape or with an element for each group, for the kernels."""
        x = np.asarray(x)
        x = x.T if self.turned else x.transpose(self.order) if whole and self.order else x
        return dense(x).reshape(self.whole if whole else self.single)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> ndarray[Any, Any]:
        """Memory for an array of the operand's shape of which `view` is no copy."""
        if self.order is None:
            return memory.empty(shape, dtype)
        made = memory.empty(tuple(shape[k] for k in self.order), dtype)
        return made.transpose(np.argsort(self.order))


def layout_of(x: Any, shape: tuple[int, ...], axes: Sequence[int], lines: bool = False) -> Layout:
    """The layout for the operand or output `x`; with `lines` a group that is read along is one."""
    count = len(shape)
    if x.flags.f_contiguous and not x.flags.c_contiguous:
        found = _layout(shape[::-1], [count - 1 - a for a in axes])
        if found is not None and not (lines and len(found.whole) == 4 and found.whole[1] > 1):
            return found._replace(order=tuple(range(count))[::-1], turned=True)
    found = _layout(shape, axes)
    if found is None or (lines and len(found.whole) == 4 and found.whole[1] > 1):
        return _moved(shape, axes)
    return found


def _moved(shape: tuple[int, ...], axes: Sequence[int]) -> Layout:
    """The kept axes first, then the reduced ones."""
    kept = [k for k in range(len(shape)) if k not in axes]
    groups = math.prod(shape[k] for k in kept)
    whole = (groups, 1, 1, math.prod(shape[k] for k in axes))
    return Layout(whole, (groups, 1), (*kept, *axes))


def _layout(shape: tuple[int, ...], axes: Sequence[int]) -> Layout | None:
    """For axes in the order in which they lie in memory; None if they alternate too often."""
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
    return Layout(tuple(extents), (extents[0], extents[2]))


def dense(x: Any) -> ndarray[Any, Any]:
    """`x` as an array in memory without gaps."""
    found: ndarray[Any, Any] = np.asarray(x)
    if not found.flags.c_contiguous or not found.flags.aligned:
        found = memory.empty(found.shape, found.dtype)
        np.copyto(found, x)
    return found


def letters(dtype: np.dtype[Any], arguments: Sequence[Any]) -> str:
    """The dtype, and for each argument: f is there, F read-only, - is not."""
    kinds = "".join(
        "-" if a is None else "f" if type(a) is not ndarray or a.flags.writeable else "F"
        for a in arguments
    )
    return f"{dtype.char} {kinds}"
