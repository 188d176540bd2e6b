"""The addresses of arrays, and the memory that an executable works in.

NumPy keeps the address of an array's data 16 bytes behind the object; reading it there takes a
tenth of the time of the public ways. Where a test at first use does not find it, the public way is
taken.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["DATA", "address_of", "aligned", "bits", "known_layout"]

_from_address = ctypes.c_void_p.from_address
DATA = 2 * ctypes.sizeof(ctypes.c_void_p)  # bytes from an array object to the address of its data


def _quick(x: np.ndarray[Any, Any]) -> int:
    return _from_address(id(x) + DATA).value or 0


def _slow(x: np.ndarray[Any, Any]) -> int:
    found: int = x.__array_interface__["data"][0]
    return found


@functools.cache
def address_of() -> Callable[[np.ndarray[Any, Any]], int]:
    """The function that gives the address of an array's first element."""
    probes = [np.arange(5.0), np.arange(6)[1:], np.zeros((2, 3), np.float32)[::-1], np.zeros(())]
    return _quick if all(_quick(x) == _slow(x) for x in probes) else _slow


def known_layout() -> bool:
    """Whether the address of an array's data is where `DATA` says."""
    return address_of() is _quick


def aligned(size: int) -> np.ndarray[Any, Any]:
    """Uninitialised bytes that begin at a cache line."""
    whole = np.empty(size + 64, np.uint8)
    start = -_slow(whole) % 64
    return whole[start : start + size]


def bits(number: np.generic) -> int:
    """The word that holds a NumPy number of at most 8 bytes at its lower end."""
    return int.from_bytes(number.tobytes().ljust(8, b"\0"), "little", signed=True)
