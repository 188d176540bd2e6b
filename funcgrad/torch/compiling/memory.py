"""Whether what a program writes shares memory with anything else that it uses.

A program computes with the contents of tensors as they are at its beginning, and writes at its end;
eager code would see a write into shared memory at once. So such calls run eagerly.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import Any

import numpy as np

from funcgrad.torch._tensor import Tensor
from funcgrad.torch.compiling.program import Program

__all__ = ["Apart"]


class Apart:
    """Remembers the arrays that were found apart, so that only others are looked at again."""

    def __init__(self) -> None:
        self.arrays: list[Any] = []

    def holds(self, tensors: Sequence[Tensor], program: Program) -> bool:
        """Whether the tensors that are written lie apart from all that the program uses."""
        if not program.writes:
            return True
        arrays = [tensors[k]._t.value for k in program.watched]
        if len(self.arrays) == len(arrays) and all(map(is_, self.arrays, arrays)):
            return True
        written = {w.place for w in program.writes if not w.replaces}
        before = self.arrays or [None] * len(arrays)
        new = [k for k, (x, y) in enumerate(zip(arrays, before, strict=True)) if x is not y]
        for n in new:
            for k, x in enumerate(arrays):
                touched = program.watched[k] in written or program.watched[n] in written
                if k != n and touched and np.may_share_memory(x, arrays[n]):
                    return False
        self.arrays = arrays
        return True
