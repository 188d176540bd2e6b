"""The backward pass of sums and products, for Numba: written by hand.

A group of elements is read while it lies in the cache, which no elementwise kernel can do.
`write_reductions` says how operands lie in memory; the tests hold all kernels to the rules of the
primitives.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from funcgrad.kernels.access import at
from funcgrad.kernels.sums import TILE


@njit(nogil=True, error_model="numpy")
def spread(rows: int, columns: int, g: Any, cx: Any) -> None:
    """Backward of `sum` and `mean`, as an array: `g`, repeated along the reduced axes."""
    for i in range(rows):
        for j in range(columns):
            cx[i, j] = at(g, i, j)


@njit(nogil=True, error_model="numpy")
def prod_backward_along(first: int, last: int, g: Any, y: Any, x: Any, extra: Any, cx: Any) -> None:
    """Backward of `prod`: the product of what stands before an element and of what stands after."""
    real = cx.dtype.type
    count = cx.shape[3]
    for group in range(first, last):
        i, k = divmod(group, cx.shape[2])
        before = after = real(1)
        for p in range(cx.shape[1]):
            for j in range(count):
                cx[i, p, k, j] = before
                before *= x[i, p, k, j]
        for p in range(cx.shape[1] - 1, -1, -1):
            for j in range(count - 1, -1, -1):
                cx[i, p, k, j] = g[i, k] * (cx[i, p, k, j] * after)
                after *= x[i, p, k, j]


@njit(nogil=True, error_model="numpy")
def prod_backward_beside(
    first: int, last: int, g: Any, y: Any, x: Any, extra: Any, cx: Any
) -> None:
    """Backward of `prod` over other than the last axes."""
    group, width = first, cx.shape[2]
    while group < last:
        i, k = divmod(group, width)
        stop = min(k + TILE, width, k + last - group)
        product = np.ones(stop - k, cx.dtype)
        for p in range(cx.shape[1]):
            row, out = x[i, p, k:stop], cx[i, p, k:stop]
            for j in range(stop - k):
                out[j] = product[j]
                product[j] *= row[j]
        product[:] = 1
        gs = g[i, k:stop]
        for p in range(cx.shape[1] - 1, -1, -1):
            row, out = x[i, p, k:stop], cx[i, p, k:stop]
            for j in range(stop - k):
                out[j] = gs[j] * (out[j] * product[j])
                product[j] *= row[j]
        group += stop - k
