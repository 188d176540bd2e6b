"""The counter-based generator threefry of Salmon et al. 2011, for Numba: element by element."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

PARITY = np.uint32(0x1BD11BDA)


@njit(inline="always")
def _four(x: Any, y: Any, a: int, b: int, c: int, d: int) -> Any:
    """Four rounds: an addition, a rotation to the left and an exclusive or each."""
    for by in (a, b, c, d):
        x = np.uint32(x + y)
        y = np.uint32(((y << np.uint32(by)) | (y >> np.uint32(32 - by))) ^ x)
    return x, y


@njit(inline="always")
def _encrypted(k0: Any, k1: Any, x: Any, y: Any) -> Any:
    """The two words of the counter, encrypted, as one."""
    k2 = np.uint32(k0 ^ k1 ^ PARITY)
    x, y = np.uint32(x + k0), np.uint32(y + k1)
    x, y = _four(x, y, 13, 15, 26, 6)
    x, y = np.uint32(x + k1), np.uint32(y + k2 + np.uint32(1))
    x, y = _four(x, y, 17, 29, 16, 24)
    x, y = np.uint32(x + k2), np.uint32(y + k0 + np.uint32(2))
    x, y = _four(x, y, 13, 15, 26, 6)
    x, y = np.uint32(x + k0), np.uint32(y + k1 + np.uint32(3))
    x, y = _four(x, y, 17, 29, 16, 24)
    x, y = np.uint32(x + k1), np.uint32(y + k2 + np.uint32(4))
    x, y = _four(x, y, 13, 15, 26, 6)
    x, y = np.uint32(x + k2), np.uint32(y + k0 + np.uint32(5))
    return (np.uint64(x) << np.uint64(32)) | np.uint64(y)


@njit(nogil=True, error_model="numpy")
def threefry(key0: int, key1: int, high: int, low: Any, out: Any, first: int, last: int) -> None:
    """Encrypt the counters `first` to `last`, of one upper word, with one key."""
    k0, k1, above = np.uint32(key0), np.uint32(key1), np.uint32(high)
    for i in range(first, last):
        out[i] = _encrypted(k0, k1, above, low[i])


@njit(nogil=True, error_model="numpy")
def threefry_keys(
    key0: Any, key1: Any, high: Any, low: Any, out: Any, first: int, last: int
) -> None:
    """Encrypt the counters `first` to `last`, each with its own key."""
    for i in range(first, last):
        out[i] = _encrypted(key0[i], key1[i], high[i], low[i])
