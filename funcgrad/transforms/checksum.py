"""A checksum that notices when an array has been changed, read at the speed of memory.

Of each block of 64-bit words it takes the sums of 509 interleaved classes, and of floating point
numbers the product with weights that depend on the place. The sums are exact: they change with
any one element, and when two elements change places, unless these lie a multiple of 509 words
apart. The weighted sum changes with the order and with signs, but for what its rounding hides.
What neither shows is an exchange of that very distance between elements so small that they do not
count beside the others of their block. Infinities, NaN and other dtypes go through a CRC.
"""

from __future__ import annotations

import functools
import zlib
from hashlib import blake2b
from typing import Any

import numpy as np

from funcgrad.config import config

__all__ = ["checksum"]

SMALL = 1 << 14  # bytes, up to which BLAKE2 takes no more time than the many short steps here
COLUMNS = 509  # a prime, so that the rows of hardly any matrix fall into the same classes
BLOCK = 64 * COLUMNS  # words: a quarter of a megabyte, which stays in the second-level cache
PIECE = 16 * COLUMNS  # of a product: BLAS starts threads for longer ones, which cost more than here
ODD = np.uint64(0x9E3779B97F4A7C15)  # the sums of a block are told from those of the next one
_PARTS = (("f8", "f8"), ("c16", "f8"), ("f4", "f4"), ("c8", "f4"))
REAL = {np.dtype(whole): np.dtype(part) for whole, part in _PARTS}


def checksum(x: np.ndarray[Any, Any]) -> bytes:
    """A digest of the elements of `x`; a cryptographic one if it is small, or in debug mode."""
    if x.nbytes <= SMALL or config.debug:
        return blake2b(x.tobytes(), digest_size=16).digest()
    flat = x.ravel("K")
    raw = flat.view(np.uint8)
    words = raw[: raw.size // 8 * 8].view(np.uint64)
    real = REAL.get(x.dtype)
    sums = np.zeros(COLUMNS, np.uint64)
    rest: list[float] = []
    with np.errstate(all="ignore"):
        for start in range(0, words.size, BLOCK):
            block = words[start : start + BLOCK]
            whole = block.size // COLUMNS * COLUMNS
            sums *= ODD
            sums += np.add.reduce(block[:whole].reshape(-1, COLUMNS), axis=0)
            rest.append(zlib.crc32(block[whole:].data))
            rest += _by_place(block, real)
    end = zlib.crc32(raw[words.size * 8 :].data)
    return blake2b(sums.tobytes() + repr((rest, end)).encode(), digest_size=16).digest()


def _by_place(block: np.ndarray[Any, Any], real: np.dtype[Any] | None) -> list[float]:
    """Numbers that depend on the order of the elements."""
    if real is None:
        return [zlib.crc32(block.data)]
    numbers = block.view(real)
    found: list[float] = []
    for start in range(0, numbers.size, PIECE):
        piece = numbers[start : start + PIECE]
        total = float(piece.dot(_weights(real)[: piece.size]))
        found.append(total if total - total == 0.0 else zlib.crc32(piece.data))
    return found


@functools.cache
def _weights(real: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Numbers between ½ and 1½ without a pattern: the multiples of the golden ratio, mod 1."""
    return (0.5 + np.arange(PIECE) * 0.6180339887498949 % 1.0).astype(real)
