"""Tables of 8-byte words that point into one another, in one piece of memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Memory", "Table"]


class Table(NamedTuple):
    """A place in the memory, in words."""

    start: int


class Memory:
    """Words that are gathered, and then written with addresses for tables."""

    def __init__(self, size: int) -> None:
        self.memory: list[Any] = [0] * size

    def table(self, words: Iterable[Any]) -> Table:
        start = len(self.memory)
        self.memory.extend(words)
        return Table(start)

    def written(self) -> np.ndarray[Any, Any]:
        made = np.empty(len(self.memory), np.uint64)
        start = made.ctypes.data
        made[:] = [
            start + 8 * w.start if isinstance(w, Table) else w & 0xFFFF_FFFF_FFFF_FFFF
            for w in self.memory
        ]
        return made
