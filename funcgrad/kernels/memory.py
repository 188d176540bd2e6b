"""Memory for large results that is used again, so that the system need not give new pages.

Two thirds of the time of an operation on a million numbers go into page faults. `empty` hands out
an array of the same shape and dtype that it has handed out before, once nothing else refers to it:
the reference count says so. A view, a tensor, a memoryview or another library that shows the memory
holds a reference, and so does the user who keeps a result; such an array is not taken. What no one
has asked for in a while is let go of first. It imports config and NumPy.
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

__all__ = ["SMALLEST", "clear", "empty", "held"]

ndarray = np.ndarray
SMALLEST = 1 << 17  # bytes; the C library keeps what is smaller
_boxed = [object()]
ALONE = getrefcount(_boxed[0])  # as counted of what only a list holds
# Without the interpreter's lock a count says nothing.
COUNTED = getattr(sys, "_is_gil_enabled", lambda: True)()

Key = tuple[tuple[int, ...], Any, str]
_lock = threading.Lock()
_arrays: OrderedDict[Key, list[ndarray[Any, Any]]] = OrderedDict()
_bytes = 0


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
            known = _arrays[key] = []
        else:
            _arrays.move_to_end(key)
            for k in range(len(known) - 1, -1, -1):  # the last one is most likely in the cache
                if getrefcount(known[k]) == ALONE:
                    x = known[k]
                    if x.shape == shape and x.flags.writeable and x.dtype == dtype:
                        return x
                    del known[k]  # somebody has changed its form
                    _bytes -= size
                    del x
        x = np.empty(shape, dtype, order)
        known.append(x)
        _bytes += size
        if _bytes > limit:
            _bytes = _shrink(_bytes, limit)
        return x


def _shrink(total: int, limit: int) -> int:
    """Let go of arrays, those of the longest unused shape first; the bytes that remain."""
    for key in list(_arrays):
        known = _arrays[key]
        while known and total > limit:
            total -= known.pop(0).nbytes
        if known:
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
