"""The backward pass of sums, products and layer norm, for Numba: written by hand.

A group of elements is read while it lies in the cache, which no elementwise kernel can do.
`write_reductions` says how operands lie in memory; the tests hold all kernels to the rules of the
primitives.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from funcgrad.compile.numba.intrinsics import INTRINSICS
from funcgrad.kernels.access import at
from funcgrad.kernels.sums import TILE, row_dot, row_squares, row_sum, scaled

sqrt = INTRINSICS["sqrt"]


@njit(nogil=True, cache=True, error_model="numpy")
def spread(rows: int, columns: int, g: Any, cx: Any) -> None:
    """Backward of `sum` and `mean`, as an array: `g`, repeated along the reduced axes."""
    for i in range(rows):
        for j in range(columns):
            cx[i, j] = at(g, i, j)


@njit(nogil=True, cache=True, error_model="numpy")
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
                cx[i, p, k, j] = scaled(g[i, k], cx[i, p, k, j] * after)
                after *= x[i, p, k, j]


@njit(nogil=True, cache=True, error_model="numpy")
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
                out[j] = scaled(gs[j], out[j] * product[j])
                product[j] *= row[j]
        group += stop - k


@njit(nogil=True, cache=True, error_model="numpy")
def layer_norm_backward(g: Any, x: Any, w: Any, eps: Any, cx: Any, cw: Any, cb: Any) -> None:
    """Backward of layer norm; `w`, `cx`, `cw` and `cb` may be None.

    With n = (x - mean) / size, the cotangent of a row is h - mean(h) - n mean(h n) over the size,
    for h = g w (Ba, Kiros, Hinton 2016).
    """
    real = x.dtype.type
    columns = x.shape[1]
    count = real(columns)
    h = x[0].copy()
    n = x[0].copy()
    for i in range(x.shape[0]):
        mean = row_sum(x[i]) / count
        inverse = real(1) / sqrt(row_squares(x[i], mean) / count + real(eps))
        for j in range(columns):
            n[j] = (x[i, j] - mean) * inverse
            if w is None:
                h[j] = g[i, j]
            else:
                h[j] = scaled(g[i, j], w[j])
            if cw is not None:
                cw[j] += scaled(g[i, j], n[j])
            if cb is not None:
                cb[j] += g[i, j]
        if cx is not None:
            first = row_sum(h) / count
            second = row_dot(h, n) / count
            for j in range(columns):
                cx[i, j] = (h[j] - first - n[j] * second) * inverse
