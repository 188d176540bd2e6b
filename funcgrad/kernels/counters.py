"""Random bits of large arrays by a kernel: threefry, in front of its value in NumPy.

The kernel does all rounds of an element in registers, where NumPy goes through memory a hundred
times; the bits are the same. It imports NumPy, not Numba.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core import memory
from funcgrad.kernels import pieces
from funcgrad.kernels.choice import entry_of
from funcgrad.kernels.pieces import FIRST, LAST

__all__ = ["FEWEST", "words"]

FEWEST = 2  # elements: NumPy takes a hundred calls, and Python a hundred operations for each


def words(impl: Callable[..., Any], *xs: Any) -> Any:
    """The two words of 32 bits of each element as one of 64; see `random.keys`."""
    if not any(isinstance(x, np.ndarray) for x in xs):
        return impl(*xs)
    given = [np.asarray(x, np.uint32) for x in xs]
    alone = not any(x.ndim for x in given[:3])  # one draw of one key
    shape = given[3].shape if alone else np.broadcast_shapes(*(x.shape for x in given))
    size = math.prod(shape)
    if size >= FEWEST:
        entry = entry_of("threefry" if alone else "threefry_keys", "I")
        if entry.taken():
            first = [x.item() if alone else _whole(x, shape) for x in given[:3]]
            out = memory.empty(shape, np.dtype(np.uint64))
            flat = [*first, _whole(given[3], shape), out.reshape(-1)]
            if pieces.run(entry, [*flat, FIRST, LAST], size, size):
                return out
    return impl(*given)


def _whole(x: Any, shape: tuple[int, ...]) -> Any:
    """An element for each place of the shape, in one row as the kernel wants it."""
    row = np.ascontiguousarray(x if x.shape == shape else np.broadcast_to(x, shape)).reshape(-1)
    return row if row.flags.writeable and row.flags.aligned else row.copy()
