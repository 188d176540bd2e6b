"""What a tape keeps of arrays that the caller owns: a copy, or a watched reference.

The caller may change an array after it was recorded: a workspace that a loop reuses, an input
that changes between `vjp` and its call. Small arrays are copied; of large ones a checksum of all
elements is kept and compared before backward, so that the gradient is right or an error is raised.
An argument is copied once, what is saved at each use, so what is small differs.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import byte_bounds

from funcgrad.config import config
from funcgrad.core import memory
from funcgrad.core.mutation import written_line
from funcgrad.core.tracer import Tracer, running, type_of
from funcgrad.errors import MutatedCaptureError, Place, located, user_place
from funcgrad.transforms.checksum import checksum

__all__ = [
    "Watches",
    "argument_copy",
    "hold",
    "is_frozen",
    "lock_again",
    "small_copy",
    "verify",
    "watch",
]

ndarray = np.ndarray
ARGUMENTS = 64  # times the limit for what is saved; two checksums take as long as ten copies
# An array with its checksum, or a tracer with what its trace watches. The key is the memory: what
# is used a hundred times, under whatever name, is read once.
Watches = dict[Hashable, tuple[Any, Any]]


def watch(watches: Watches, x: Any) -> None:
    """Remember the content of an array, or of the array that a tracer of another trace shows."""
    if isinstance(x, Tracer):
        mark = x.owner.watch(x)
        if mark is not None:
            watches.setdefault(id(x), (x, mark))
        return
    key = _memory(x)
    if key not in watches:
        watches[key] = (x, _mark(x))


class Used(NamedTuple):
    """An array that is looked at more closely: its checksum, and where it was used."""

    checksum: bytes
    place: Place


def hold(trace: Any, watches: Watches, x: ndarray[Any, Any]) -> ndarray[Any, Any]:
    """Lock an array of the caller, and keep the line, for `debug.check_mutation`."""
    key, place = _memory(x), user_place()
    if key not in watches:
        watches[key] = (x, Used(checksum(x), place))
    running.locks.hold(trace, x, place)
    return x


def lock_again(owner: Any, watches: Watches) -> None:
    """Lock what a backward pass that is yet to come depends on."""
    for x, mark in watches.values():
        if isinstance(mark, Used):
            running.locks.hold(owner, x, mark.place)


def _memory(x: ndarray[Any, Any]) -> Hashable:
    """The same for arrays that show the same elements, in whatever order of axes."""
    address = x.__array_interface__["data"][0]
    return address, x.dtype.char, tuple(sorted(zip(x.strides, x.shape, strict=True)))


def _mark(x: ndarray[Any, Any]) -> bytes:
    return b"read-only" if is_frozen(x) else checksum(x)


def is_frozen(x: Any) -> bool:
    """Whether nobody can write into the memory of `x`, so that it need not be read."""
    while isinstance(x, ndarray):
        if x.flags.writeable:
            return False
        x = x.base
    return x is None


def verify(watches: Watches) -> None:
    """Raise when one of the watched arrays has changed since it was recorded."""
    for x, mark in watches.values():
        if _mark_of(x, mark) != mark:
            aval = type_of(x)
            raise MutatedCaptureError(
                located(
                    f"an array of shape {aval.shape} and dtype {aval.dtype} was changed in place "
                    "after it had been used in a computation whose gradient is now asked for; pass "
                    "a copy of it, or change it after the backward pass"
                    + (written_line(mark.place) if isinstance(mark, Used) else "")
                )
            )


def _mark_of(x: Any, mark: Any) -> Any:
    """What the mark of an array or a tracer would be now."""
    if isinstance(x, Tracer):
        return x.owner.watch(x)
    return Used(checksum(x), mark.place) if isinstance(mark, Used) else _mark(x)


def argument_copy(x: ndarray[Any, Any]) -> ndarray[Any, Any] | None:
    """`small_copy` of an argument; None also where nobody can write into it."""
    size = x.nbytes
    if size <= config.copy_limit:
        copy = x.copy("K")
        return copy if copy.strides == x.strides else small_copy(x)
    if size > ARGUMENTS * config.copy_limit or not x.flags.c_contiguous or is_frozen(x):
        return None
    copy = memory.empty(x.shape, x.dtype)
    np.copyto(copy, x)
    return copy


def small_copy(x: ndarray[Any, Any]) -> ndarray[Any, Any] | None:
    """A copy with the very strides of `x`, if it is small: NumPy rounds by the layout of memory."""
    if x.nbytes > config.copy_limit:
        return None
    copy = x.copy("K")
    if copy.strides == x.strides:
        return copy
    low, high = byte_bounds(x)
    if high - low > config.copy_limit:
        return None
    start = x.__array_interface__["data"][0] - low
    span = np.empty(high - low, np.uint8)
    copy = np.ndarray(x.shape, x.dtype, span, start, x.strides)
    copy[...] = x
    return copy
