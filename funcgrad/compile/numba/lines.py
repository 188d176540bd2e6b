"""Sorting, searching, moving and convolving along lines as Numba functions; quotients.

Arrays are (outer, along, inner). Each function gives `DONE`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from funcgrad.compile.numba.factors import DONE

__all__ = ["argsort", "convolve", "floor_divide", "integer_fmod", "permute", "searchsorted", "sort"]


@njit(nogil=True, error_model="numpy")
def sort(x: Any, y: Any) -> Any:
    for a in range(x.shape[0]):
        for b in range(x.shape[2]):
            y[a, :, b] = np.sort(x[a, :, b])
    return DONE


@njit(nogil=True, error_model="numpy")
def argsort(x: Any, order: Any) -> Any:
    for a in range(x.shape[0]):
        for b in range(x.shape[2]):
            order[a, :, b] = np.argsort(x[a, :, b], kind="mergesort")
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
def convolve(x: Any, w: Any, y: Any, start: int) -> Any:
    """What follows `start` of the full convolution."""
    for k in range(y.size):
        at = k + start
        total = y.dtype.type(0)
        for i in range(max(0, at - w.size + 1), min(x.size, at + 1)):
            total += x[i] * w[at - i]
        y[k] = total
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
