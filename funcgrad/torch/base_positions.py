"""Where the elements of a view lie in its base, and reading and writing a base there.

A view knows how it is read from an array. Read from an array of positions instead, it gives the
places of its elements. The positions lie in memory of the base's dtype, so that views which take
complex numbers for pairs of real ones, or pairs for numbers, move them as they move the elements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from funcgrad.core.tracer import layout, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.ops import arithmetic as a
from funcgrad.ops.index import gather, getitem, set_positions
from funcgrad.ops.shape import reshape, stack

__all__ = ["Parts", "as_complex", "as_real", "laid", "places_of", "read_places", "write_places"]

Read = Callable[[Any], Any]
Parts = Literal["same", "real", "complex"]  # what a view shows: as its base, or parts of numbers
MANY = 1 << 30
NOTHING = -1  # the place of what is none of the elements


def places_of(base: ArrayType, read: Read, array: Any = None) -> tuple[np.ndarray[Any, Any], Parts]:
    """The flat positions of the elements of a view, and in what they count.

    With the `array` of the base they lie in memory as that does, for views that read memory as it
    is. The elements of a ``"real"`` view of complex numbers count in real parts; of those of a
    ``"complex"`` view of real numbers it is the position of the real part.
    """
    kind, per = base.dtype, 2 if base.dtype.kind == "c" else 1
    if kind.kind not in "fc" or kind.itemsize // per < 4 or base.size >= MANY:
        return np.asarray(read(laid(np.arange(base.size).reshape(base.shape), array))), "same"
    whole = np.dtype(f"i{kind.itemsize // per}")
    numbers = np.arange(per * base.size, dtype=whole).view(kind).reshape(base.shape)
    found = np.asarray(read(laid(numbers, array)))
    at = (found.real if found.dtype.kind == "c" else found).view(whole).astype(np.int64)
    if found.dtype.kind == kind.kind:
        return at // per, "same"
    return at, "real" if per == 2 else "complex"


def laid(numbers: np.ndarray[Any, Any], array: Any) -> np.ndarray[Any, Any]:
    """`numbers` in memory in the order of `array`, also of one that is traced."""
    array = layout(array)
    if not isinstance(array, np.ndarray) or array.flags.c_contiguous:
        return numbers
    if not array.size:
        return numbers
    step = numbers.itemsize
    strides = [s // array.itemsize * step for s in array.strides]
    extent = 1 + sum((n - 1) * s // step for n, s in zip(array.shape, strides, strict=True))
    memory = np.empty(extent, numbers.dtype)
    memory.view(np.int64 if step % 8 == 0 else np.int32)[...] = NOTHING  # stays in the gaps
    out = np.lib.stride_tricks.as_strided(memory, array.shape, strides)
    out[...] = numbers
    return out


def as_real(x: Array) -> Array:
    """The parts of complex numbers as a last axis."""
    return stack([a.real(x), a.imag(x)], type_of(x).ndim)


def as_complex(x: Array) -> Array:
    """The numbers whose parts are the last axis."""
    return a.from_parts(getitem(x, (Ellipsis, 0)), getitem(x, (Ellipsis, 1)))


def read_places(x: Array, positions: Array, parts: Parts = "same") -> Array:
    """What stands at places of `x`."""
    flat = reshape(as_real(x) if parts == "real" else x, (-1,))
    if parts == "complex":
        return a.from_parts(gather(flat, positions), gather(flat, positions + 1))
    return gather(flat, positions)


def write_places(x: Array, v: Array, positions: Array, parts: Parts = "same") -> Array:
    """`x` with `v` at places."""
    if parts == "real":
        return as_complex(set_positions(as_real(x), positions, v))
    if parts == "complex":
        return set_positions(set_positions(x, positions, a.real(v)), positions + 1, a.imag(v))
    return set_positions(x, positions, v)
