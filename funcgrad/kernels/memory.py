"""Memory for large results that is used again, so that the system need not give new pages.

Two thirds of the time of an operation on a million numbers go into page faults. `empty` hands out
an array of the same shape and dtype that it has handed out before, once nothing else refers to it:
the reference count says so. A view, a tensor, a memoryview or another library that shows the memory
holds a reference, and so does the user who keeps a result; such an array is not taken. What no one
has asked for in a while is let go of first. It imports config, NumPy, and `algebra`, through which
the operations below this room get their memory.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import OrderedDict
from sys import getrefcount
from typing import Any

import numpy as np

from funcgrad.config import config
from funcgrad.core.algebra import algebra

__all__ = ["SMALLEST", "clear", "empty", "held", "zeros"]

ndarray = np.ndarray
SMALLEST = 1 << 16  # bytes; the C library keeps what is smaller
PROBES = 64  # arrays that are looked at before a new one is made
_boxed = [object()]
ALONE = getrefcount(_boxed[0])  # as counted of what only a list holds
# Without the interpreter's lock a count says nothing.
COUNTED = getattr(sys, "_is_gil_enabled", lambda: True)()

Key = tuple[tuple[int, ...], Any, str]
_lock = threading.Lock()
_arrays: OrderedDict[Key, Known] = OrderedDict()
_bytes = 0


class Known:
    """The arrays of one shape, and the one that was handed out last.

    The next free one is most often that (a temporary result), or the one before it (the results of
    a pass that were let go of together), so the search goes down from there.
    """

    __slots__ = ("arrays", "last")

    def __init__(self) -> None:
        self.arrays: list[ndarray[Any, Any]] = []
        self.last = 0

    def free(self) -> int:
        """Where an array lies that nobody has; -1 if none was found."""
        arrays, k = self.arrays, self.last
        count = len(arrays)
        for _ in range(min(count, PROBES)):
            if k >= count or k < 0:
                k = count - 1
            if getrefcount(arrays[k]) == ALONE:
                return k
            k -= 1
        return -1


def empty(shape: tuple[int, ...], dtype: np.dtype[Any], order: Any = "C") -> ndarray[Any, Any]:
    """An uninitialised array, as `numpy.empty` gives it; of memory used before if there is some."""
    global _bytes
    limit = config.reused_memory
    size = dtype.itemsize
    for n in shape:
        size *= n
    if not SMALLEST <= size <= limit or not COUNTED:
        return np.empty(shape, dtype, order)
    key = (shape, dtype, order)
    with _lock:
        known = _arrays.get(key)
        if known is None:
            known = _arrays[key] = Known()
        else:
            _arrays.move_to_end(key)
            while (k := known.free()) >= 0:
                x = known.arrays[k]
                if x.shape == shape and x.flags.writeable and x.dtype == dtype:
                    known.last = k
                    return x
                del known.arrays[k], x  # somebody has changed its form
                _bytes -= size
        x = np.empty(shape, dtype, order)
        known.last = len(known.arrays)
        known.arrays.append(x)
        _bytes += size
        if _bytes > limit:
            _bytes = _shrink(_bytes, limit)
        return x


algebra.empty = empty


def zeros(shape: tuple[int, ...], dtype: np.dtype[Any]) -> ndarray[Any, Any]:
    """An array of zeros."""
    out = empty(shape, dtype)
    out.fill(0)
    return out


def _shrink(total: int, limit: int) -> int:
    """Let go of arrays, those of the longest unused shape first; the bytes that remain."""
    for key in list(_arrays):
        arrays = _arrays[key].arrays
        while arrays and total > limit:
            total -= arrays.pop(0).nbytes
        if arrays:
            break
        del _arrays[key]
    return total


def held() -> int:
    """How many bytes are known here, in use or not."""
    return _bytes


def clear() -> None:
    """Let go of everything; what is in use lives on with who uses it."""
    global _bytes
    with _lock:
        _arrays.clear()
        _bytes = 0


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
