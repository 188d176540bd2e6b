"""When tensors were written, and what becomes of what nodes have saved of them.

Every change in place is counted by the `Version` of its memory. A node that has saved what nobody
can see it has saved gets a copy before a write; one whose values a backward pass has given back
holds `FREED` in their place.
"""

from __future__ import annotations

import weakref
from typing import Any

from funcgrad.torch.staged import memory_copy
from funcgrad.transforms.node import seq

__all__ = ["FREED", "ONLY_INNER", "Version", "writes"]

ONLY_INNER = -1  # in the place of a slot: it is the residuals within a composite


class Writes:
    """When a tensor was last written, as a serial number of nodes.

    What a node made later has saved, nobody has changed since.
    """

    __slots__ = ("latest",)

    def __init__(self) -> None:
        self.latest = 0


writes = Writes()


class Version:
    """Counts the in-place changes of a storage; shared by a tensor, its views and detached ones."""

    so_far = 0
    inference = False
    writer: Any = None  # the name of the operation that changed the storage last
    keepers: Any = None  # of nodes that have saved it where PyTorch's do not

    @property
    def count(self) -> int:
        """How many changes there have been; whoever adds to it has changed the storage."""
        return self.so_far

    @count.setter
    def count(self, changes: int) -> None:
        self.so_far = changes
        writes.latest = next(seq)

    def kept_by(self, node: Any, slot: int) -> None:
        """Let `node` have a copy of what it saved in `slot`, should the storage be written."""
        if self.keepers is None:
            self.keepers = []
        elif len(self.keepers) & (len(self.keepers) - 1) == 0:  # at powers of 2
            self.keepers = [k for k in self.keepers if k[0]() is not None]
        self.keepers.append((weakref.ref(node), slot))

    def before_write(self) -> None:
        """Give the nodes that have saved the storage copies of it."""
        if self.keepers is None:
            return
        for reference, slot in self.keepers:
            node = reference()
            if node is None or node.saved is FREED:
                continue
            if slot != ONLY_INNER:
                kept = list(node.saved)
                kept[slot] = memory_copy(kept[slot])
                node.saved = tuple(kept)
            node.inner = None  # its rule computes again, from what was saved
        self.keepers = None


class Freed:
    """In the place of saved values that a backward pass has given back."""

    def __repr__(self) -> str:
        return "<freed>"


FREED = Freed()
