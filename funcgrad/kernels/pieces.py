"""Kernels over a range, of which threads take pieces.

A caller says which arguments of a kernel go with the piece: its ends, its length, an array of which
the kernel sees a part. With little work, or one thread, the kernel does the whole range. It imports
config and the threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from funcgrad.config import config
from funcgrad.kernels import native, threads
from funcgrad.kernels.choice import Entry
from funcgrad.kernels.native import FIRST, LAST, LENGTH, Cut

__all__ = ["FIRST", "LAST", "LENGTH", "Cut", "run"]


def run(entry: Entry, arguments: Sequence[Any], count: int = 1, size: int = 0) -> bool:
    """Run a kernel for 0 … `count`, behind which there are `size` elements; False if it cannot be.

    In the place of an argument may stand `FIRST`, `LAST` and `LENGTH`, and for an array of which a
    piece is an index range along an axis, `Cut`.
    """
    code = entry.code("pieces", tuple(map(native.kind, arguments)))
    if code is None:
        return False
    shared = size >= threads.PARALLEL and config.threads > 1
    native.run(code, arguments, threads.grain(count, size) if shared else count, count)
    entry.calls += 1
    return True
