"""Memory for large results that is used again, so that the system need not give new pages.

Two thirds of the time of an operation on a million numbers go into page faults. `empty` hands out
an array of the same shape and dtype that it has handed out before, once nothing else refers to it:
the reference count says so. A view, a tensor, a memoryview or another library that shows the memory
holds a reference, and so does the user who keeps a result; such an array is not taken, and neither
is one to which a weak reference leads. What no one has asked for in a while is let go of first.

There is no lock. Any line may be interrupted by another thread, or by the handler of a signal or a
finalizer that wants memory itself, so every step is one operation of a deque or a dictionary: who
has taken an array out of its deque has it alone. It imports config and NumPy.
"""

from __future__ import annotations

import math
import sys
from collections import OrderedDict, deque
from contextlib import suppress
from sys import getrefcount
from typing import Any
from weakref import getweakrefcount

import numpy as np

from funcgrad.config import config

__all__ = ["SMALLEST", "clear", "empty", "held", "is_shown_once", "zeros"]

ndarray = np.ndarray
SMALLEST = 1 << 16  # bytes; the C library keeps what is smaller
PROBES = 64  # arrays that are looked at before a new one is made
# Without the interpreter's lock a count says nothing.
COUNTED = getattr(sys, "_is_gil_enabled", lambda: True)()

KEPT = 1 << 23  # bytes

# The GNU C library gives the end of its heap back to the system as soon as 128 KiB of it are free,
# so that a gradient of 10⁴ numbers pays for each of its pages at each call, which is more than half
# of its time. By the library's own rule (mallopt(3), the dynamic M_MMAP_THRESHOLD) it keeps twice
# the largest array that the program has let go of, which nothing is written into here.
np.empty(KEPT, np.uint8)

Key = tuple[tuple[int, ...], Any, str]
Known = deque[ndarray[Any, Any]]  # of one shape; on the right what was handed out last
_arrays: OrderedDict[Key, Known] = OrderedDict()
_bytes = 0  # about: it is counted anew before anything is let go of


def _alone() -> int:
    """The count of an array that only the caller has, in a variable."""
    x = deque([np.empty(1)]).pop()
    return getrefcount(x)


ALONE = _alone()


def _free(known: Known, shape: Any, dtype: Any) -> ndarray[Any, Any] | None:
    """An array that nobody has, out of its deque.

    The next free one is most often the last (a temporary result), or the one before it (the
    results of a pass that were let go of together), so the search goes down from there, and round.
    """
    global _bytes
    for _ in range(min(len(known), PROBES)):
        try:
            x = known.pop()
        except IndexError:  # others have them all in their hands
            return None
        if getrefcount(x) != ALONE:
            known.appendleft(x)
        elif x.shape == shape and x.dtype == dtype and x.flags.writeable and not getweakrefcount(x):
            return x
        else:  # somebody has changed its form, or may ask whether it is still there
            _bytes -= x.nbytes
    return None


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
    known = _arrays.get(key)
    if known is None:
        known = _arrays.setdefault(key, deque())
    else:
        _touch(key)
    x = _free(known, shape, dtype)
    if x is None:
        x = np.empty(shape, dtype, order)
        _bytes += size
    known.append(x)
    if _bytes > limit:
        _shrink(limit)
    return x


def zeros(shape: tuple[int, ...], dtype: np.dtype[Any]) -> ndarray[Any, Any]:
    """An array of zeros."""
    out = empty(shape, dtype)
    out.fill(0)
    return out


def is_shown_once(x: ndarray[Any, Any]) -> bool:
    """Whether `x`, a view, shows all of an array's memory and nothing else refers to that array.

    It may then be handed out as it is. What the caller knows the array by does not count, nor do
    the arrays that are known here.
    """
    whole = x.base
    if type(whole) is not ndarray or not COUNTED or not (whole.flags.owndata and x.flags.writeable):
        return False
    if x.nbytes != whole.nbytes or x.dtype != whole.dtype or not x.flags.c_contiguous:
        return False
    others = getrefcount(whole) - ALONE - 1  # the variable here, and `x`
    if others == 1:
        known = tuple(_arrays.get((whole.shape, whole.dtype, "C"), ()))
        others -= any(y is whole for y in known)
        known = ()
    return others == 0 and not getweakrefcount(whole)


def _touch(key: Key) -> None:
    """Note that arrays of a shape are asked for."""
    with suppress(KeyError):  # somebody has let go of them meanwhile
        _arrays.move_to_end(key)


def _shrink(limit: int) -> None:
    """Let go of arrays, those of the longest unused shape first."""
    global _bytes
    total = held()
    for key in list(_arrays):
        known = _arrays.get(key) or deque()
        try:
            while total > limit:
                total -= known.popleft().nbytes
        except IndexError:  # it is empty
            _arrays.pop(key, None)
        else:
            break
    _bytes = total


def held() -> int:
    """How many bytes are known here, in use or not."""
    return sum(
        math.prod(key[0]) * key[1].itemsize * len(_arrays.get(key, ())) for key in list(_arrays)
    )


def clear() -> None:
    """Let go of everything; what is in use lives on with who uses it."""
    global _bytes
    _bytes = 0
    _arrays.clear()
