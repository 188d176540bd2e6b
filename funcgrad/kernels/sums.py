"""Sums inside kernels of Numba: products that know zero cotangents, and blocks added exactly.

Sums are taken in blocks of `BLOCK` elements, and those are added with what their rounding loses,
so a long row is as accurate as a short one.
"""

from __future__ import annotations

from typing import Any

from numba import njit

__all__ = ["BLOCK", "TILE", "add_exactly", "row_squares", "row_sum"]

BLOCK = 1024  # elements of a partial sum
TILE = 256  # groups that are read side by side


@njit(nogil=True, error_model="numpy")
def add_exactly(x: float, y: float) -> Any:
    """The sum in double precision, and what its rounding lost (Knuth)."""
    total = x + y
    back = total - x
    return total, (x - (total - back)) + (y - back)


# Only sums may be taken in another order, so that several run side by side.
@njit(nogil=True, error_model="numpy", fastmath={"reassoc"})
def _sum(x: Any) -> Any:
    total = x.dtype.type(0)
    for j in range(x.size):
        total += x[j]
    return total


@njit(nogil=True, error_model="numpy", fastmath={"reassoc"})
def _squares(x: Any, mean: Any) -> Any:
    total = x.dtype.type(0)
    for j in range(x.size):
        away = x[j] - mean
        total += away * away
    return total


@njit(nogil=True, error_model="numpy")
def row_sum(x: Any) -> Any:
    """The sum of a row, block by block."""
    total = lost = 0.0
    for start in range(0, x.size, BLOCK):
        part = _sum(x[start : start + BLOCK])
        total, rest = add_exactly(total, part)
        lost += rest
    return x.dtype.type(total + lost if lost == lost else total)


@njit(nogil=True, error_model="numpy")
def row_squares(x: Any, mean: Any) -> Any:
    """The sum of the squared distances from `mean`."""
    total = lost = 0.0
    for start in range(0, x.size, BLOCK):
        part = _squares(x[start : start + BLOCK], mean)
        total, rest = add_exactly(total, part)
        lost += rest
    return x.dtype.type(total + lost if lost == lost else total)
