"""Memory planning: intermediate values share one block of memory, each for as long as it is read.

Lifetimes are intervals of steps. Values are placed in the order of their birth into the smallest
gap that fits; one that dies in a step is not overwritten by one that is born in it, because a
kernel may still read while it writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["ALIGNMENT", "Lifetime", "place"]

ALIGNMENT = 64  # bytes: a cache line and the widest vector register


class Lifetime(NamedTuple):
    """A value of `size` bytes that is written in step `born` and read last in step `dies`."""

    size: int
    born: int
    dies: int


def place(lifetimes: Sequence[Lifetime]) -> tuple[list[int], int]:
    """The offset of each value, and how many bytes the block needs.

    Examples
    --------
    >>> place([Lifetime(64, 0, 1), Lifetime(64, 1, 2), Lifetime(64, 2, 3)])
    ([0, 64, 0], 128)
    """
    offsets = [0] * len(lifetimes)
    alive: list[tuple[int, int, int]] = []  # offset, end, dies
    total = 0
    for k in sorted(range(len(lifetimes)), key=lambda k: lifetimes[k].born):
        size, born, dies = lifetimes[k]
        size = -(-size // ALIGNMENT) * ALIGNMENT
        alive = sorted(a for a in alive if a[2] >= born)
        best, start = None, 0
        for offset, end, _ in alive:
            gap = offset - start
            if gap >= size and (best is None or gap < best[1]):
                best = (start, gap)
            start = max(start, end)
        offsets[k] = start if best is None else best[0]
        alive.append((offsets[k], offsets[k] + size, dies))
        total = max(total, offsets[k] + size)
    return offsets, total
