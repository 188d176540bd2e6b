"""The loops of convolutions around the tiles of `tiles`, for Numba.

Arrays are those of `planes`: images and results lie as long rows in which the elements that a
window meets are at fixed distances, with space after the end. Each function does a range of its
first loop, so that threads can share one.
"""

from __future__ import annotations

from typing import Any

from numba import njit

from funcgrad.kernels.tiles import (
    COLUMNS,
    HEIGHT,
    correlate,
    correlate_row,
    gather,
    gather_row,
)


@njit(nogil=True, error_model="numpy")
def convolution_gather(y: Any, w: Any, x: Any, at: Any, step: int, first: int, last: int) -> None:
    """``y[n, g·r, l] = Σ_k w[g, r, k] x[n, g·step + at[k] + l]`` for images `first` to `last`."""
    zero = y.dtype.type(0)
    size = y.itemsize
    groups, rows, count = w.shape
    lanes = 64 // size * COLUMNS
    length = y.shape[2]
    for n in range(first, last):
        for g in range(groups):
            source = x.ctypes.data + (n * x.shape[1] + g * step) * size
            for l in range(0, length, lanes):
                for r in range(0, rows - rows % HEIGHT, HEIGHT):
                    target = (
                        y.ctypes.data + ((n * groups * rows + g * rows + r) * length + l) * size
                    )
                    factors = w.ctypes.data + (g * rows + r) * count * size
                    gather(zero, target, length, factors, count, source + l * size,
                           at.ctypes.data, count)  # fmt: skip
                for r in range(rows - rows % HEIGHT, rows):
                    target = (
                        y.ctypes.data + ((n * groups * rows + g * rows + r) * length + l) * size
                    )
                    factors = w.ctypes.data + (g * rows + r) * count * size
                    gather_row(zero, target, length, factors, count, source + l * size,
                               at.ctypes.data, count)  # fmt: skip


@njit(nogil=True, error_model="numpy")
def convolution_correlate(
    c: Any, g: Any, x: Any, at: Any, step: int, first: int, last: int
) -> None:
    """``c[p, r, k] += Σ_{n, l} g[n, p·r, l] x[n, p·step + at[k] + l]`` for blocks of `HEIGHT` rows.

    The places `at` are a multiple of `COLUMNS` of them, and `c` has as many columns.
    """
    zero = c.dtype.type(0)
    size = c.itemsize
    groups, rows, count = c.shape
    length = g.shape[2]
    blocks = (rows + HEIGHT - 1) // HEIGHT
    for block in range(first, last):
        p, top = block // blocks, block % blocks * HEIGHT
        bottom = min(top + HEIGHT, rows)
        for n in range(g.shape[0]):
            source = x.ctypes.data + (n * x.shape[1] + p * step) * size
            for k in range(0, count, COLUMNS):
                places = at.ctypes.data + k * 8
                for r in range(top, bottom, HEIGHT if bottom - top == HEIGHT else 1):
                    sums = c.ctypes.data + ((p * rows + r) * count + k) * size
                    given = g.ctypes.data + (n * groups * rows + p * rows + r) * length * size
                    if bottom - top == HEIGHT:
                        correlate(zero, sums, count, given, length, source, places, length)
                    else:
                        correlate_row(zero, sums, count, given, length, source, places, length)
