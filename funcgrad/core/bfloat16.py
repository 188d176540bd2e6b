"""bfloat16, a dtype that NumPy does not have: float32 numbers whose lower 16 bits are zero.

Arrays of them are of float32 in the other byte order. That is a dtype of its own for everything
that compares dtypes (keys, kinds, compiled code, which takes native arrays only), every view and
copy keeps it, and where a function of NumPy computes with it the numbers are right and come out
in float32, to be rounded once. The dtype is this object: an array of a user's in that byte order is
another thing, and keeps NumPy's meaning. It may import NumPy only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["BFLOAT16", "bits_of", "from_bits", "rounded"]

BFLOAT16: np.dtype[Any] = np.dtype(np.float32).newbyteorder("S")
_HALF, _KEPT, _NAN = np.uint32(0x7FFF), np.uint32(0xFFFF0000), np.uint32(0x7FC00000)


def rounded(x: Any) -> np.ndarray[Any, Any]:
    """An array, a scalar or a number as an array of bfloat16, rounded to the nearest, ties to even.

    It is an array without dimensions where `x` has none: NumPy's scalars have no byte order.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        single = np.asarray(x, np.float32)
    bits = single.view(np.uint32)
    out = np.right_shift(bits, 16, out=np.empty_like(bits))
    out &= 1
    out += _HALF
    out += bits
    out &= _KEPT
    np.copyto(out, _NAN, where=np.isnan(single))  # as PyTorch has them, of one kind
    return out.byteswap(inplace=True).view(BFLOAT16)


def bits_of(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The 16 bits of each number of an array of bfloat16."""
    words = np.ascontiguousarray(x).view(np.dtype(np.uint32).newbyteorder("S"))
    return (words >> 16).astype(np.uint16)


def from_bits(bits: Any) -> np.ndarray[Any, Any]:
    """The numbers of bfloat16 that have these 16 bits."""
    words = np.asarray(bits, np.uint16).astype(np.uint32) << np.uint32(16)
    return np.asarray(words).byteswap().view(BFLOAT16)
