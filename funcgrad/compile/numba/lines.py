"""Sorting, searching and moving along lines as Numba functions; quotients.

Arrays are (outer, along, inner). Each function gives `DONE`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from funcgrad.compile.numba.factors import DONE

__all__ = ["argsort", "floor_divide", "integer_fmod", "permute", "searchsorted", "sort"]


@njit(nogil=True, error_model="numpy")
def _sorting(keys: Any, items: Any, spare: Any) -> None:
    """Sort items, or positions of `keys`, stably, NaN last, by merging runs of doubled length.

    Numba's own sorts take LLVM several seconds.
    """
    count = items.size
    source, target, width = items, spare, 1
    while width < count:
        for low in range(0, count, 2 * width):
            middle, high = min(low + width, count), min(low + 2 * width, count)
            i, j = low, middle
            for k in range(low, high):
                first = j >= high
                if i < middle and not first:
                    if keys is None:
                        x, y = source[i], source[j]
                    else:
                        x, y = keys[source[i]], keys[source[j]]
                    first = not (y < x or (x != x and y == y))
                if first:
                    target[k] = source[i]
                    i += 1
                else:
                    target[k] = source[j]
                    j += 1
        source, target, width = target, source, 2 * width
    for i in range(count):
        spare[i] = source[i]
    for i in range(count):
        items[i] = spare[i]


@njit(nogil=True, error_model="numpy")
def sort(x: Any, y: Any) -> Any:
    line, spare = np.empty(x.shape[1], x.dtype), np.empty(x.shape[1], x.dtype)
    for a in range(x.shape[0]):
        for b in range(x.shape[2]):
            for i in range(line.size):
                line[i] = x[a, i, b]
            _sorting(None, line, spare)
            for i in range(line.size):
                y[a, i, b] = line[i]
    return DONE


@njit(nogil=True, error_model="numpy")
def argsort(x: Any, order: Any) -> Any:
    line = np.empty(x.shape[1], x.dtype)
    found, spare = np.empty(x.shape[1], np.int64), np.empty(x.shape[1], np.int64)
    for a in range(x.shape[0]):
        for b in range(x.shape[2]):
            for i in range(line.size):
                line[i] = x[a, i, b]
                found[i] = i
            _sorting(line, found, spare)
            for i in range(line.size):
                order[a, i, b] = found[i]
    return DONE


@njit(nogil=True, error_model="numpy")
def permute(x: Any, order: Any, y: Any, back: bool) -> Any:
    for a in range(order.shape[0]):
        for i in range(order.shape[1]):
            for b in range(order.shape[2]):
                k = order[a, i, b]
                if back:
                    y[a, k, b] = x[a, i, b]
                else:
                    y[a, i, b] = x[a, k, b]
    return DONE


@njit(nogil=True, error_model="numpy")
def searchsorted(a: Any, v: Any, y: Any, right: bool) -> Any:
    """By halves; NaN stands behind all numbers, as it does when sorted."""
    for k in range(v.size):
        low, high = 0, a.size
        value = v[k]
        while low < high:
            middle = (low + high) // 2
            other = a[middle]
            if right:
                before = other <= value or value != value
            else:
                before = other < value or (value != value and other == other)
            if before:
                low = middle + 1
            else:
                high = middle
        y[k] = low
    return DONE


@njit(nogil=True, error_model="numpy")
def floor_divide(x: Any, y: Any) -> Any:
    """The floor of a quotient of floats, as NumPy has it: by the remainder, which is exact."""
    if y == 0:
        return x / y
    rest = np.fmod(x, y)
    quotient = (x - rest) / y
    if rest != 0 and (y < 0) != (rest < 0):
        quotient -= 1
    if quotient == 0:
        return np.copysign(quotient, x / y)
    floor = np.floor(quotient)
    return floor + 1 if quotient - floor > 0.5 else floor


@njit(nogil=True, error_model="numpy")
def integer_fmod(x: Any, y: Any) -> Any:
    """What is left of `x`, with its sign, of integers: Numba's `fmod` has the sign of `y`."""
    rest = np.remainder(x, y)
    return rest - y if rest != 0 and (x < 0) != (y < 0) else rest
