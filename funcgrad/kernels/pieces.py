"""Kernels over a range, of which threads take pieces.

A caller says which arguments of a kernel go with the piece: its ends, its length, an array of which
the kernel sees a part. With little work, or one thread, the kernel does the whole range. It imports
config and the threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.config import config
from funcgrad.kernels import native, threads
from funcgrad.kernels.choice import Entry
from funcgrad.kernels.native import FIRST, LAST, LENGTH, Cut

__all__ = ["FIRST", "LAST", "LENGTH", "Cut", "run"]


def run(entry: Entry, arguments: Sequence[Any], count: int, size: int) -> bool:
    """Run a kernel for 0 … `count`, behind which there are `size` elements; False if it cannot be.

    In the place of an argument may stand `FIRST`, `LAST` and `LENGTH`, and for an array of which a
    piece is an index range along an axis, `Cut`.
    """
    if size < threads.PARALLEL or config.threads == 1 or count < 2 or not entry.calls:
        return entry.run(*_piece(arguments, 0, count))
    entry.calls += 1
    function: Any = entry.function
    kinds = tuple(map(native.kind, arguments))
    if kinds not in entry.codes:
        entry.codes[kinds] = native.code_of(function, _piece(arguments, 0, count), kinds)
    code = entry.codes[kinds]
    if code is not None:
        native.run(code, arguments, threads.grain(count, size), count)
    else:
        threads.run(lambda a, b: function(*_piece(arguments, a, b)), count, size)
    return True


def _piece(arguments: Sequence[Any], first: int, last: int) -> list[Any]:
    """The arguments for `first` … `last`."""
    ends = {FIRST: first, LAST: last, LENGTH: last - first}
    return [_part(x, first, last) if type(x) is Cut else
            ends[x] if type(x) is str else x for x in arguments]  # fmt: skip


def _part(x: Cut, first: int, last: int) -> np.ndarray[Any, Any]:
    return x.array[(slice(None),) * x.axis + (slice(first, last),)]
