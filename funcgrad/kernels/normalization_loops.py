"""Layer norm and the like, and their backward pass, for Numba: a group while it lies in the cache.

Values have the bits of the primitives in NumPy, so every operation is NumPy's, in its order, and
sums come from `pairwise`. Of cotangents sums may be added otherwise: by `sums`, which loses nothing
in long rows. It imports Numba.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from funcgrad.kernels.pairwise import DEPTH, row_total
from funcgrad.kernels.sums import BLOCK, add_exactly, row_squares, row_sum, scaled


@njit(nogil=True, cache=True, error_model="numpy")
def layer_norm_value(first: int, last: int, x: Any, w: Any, b: Any, eps: Any, y: Any) -> None:
    """The rows `first` … `last` of layer norm; `w` and `b` may be None."""
    real = x.dtype.type
    columns = x.shape[1]
    count = real(columns)
    left, right = np.empty(DEPTH, x.dtype), np.empty(DEPTH, np.int64)
    for i in range(first, last):
        row, out = x[i], y[i]
        mean = row_total(row, None, left, right) / count
        spread = row_total(row, mean, left, right) / count
        inverse = real(1) / real(np.sqrt(spread + real(eps)))
        for j in range(columns):
            value = (row[j] - mean) * inverse
            if w is not None:
                value *= w[j]
            if b is not None:
                value += b[j]
            out[j] = value


# Only sums may be taken in another order, so that several run side by side.
@njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc"})
def _layer_norm_part(x: Any, g: Any, w: Any, mean: Any, inverse: Any, cw: Any, cb: Any) -> Any:
    """Σ h and Σ h n of a part of a row, h = g w; the part is added to `cw` and `cb`."""
    real = x.dtype.type
    plain = along = real(0)
    for j in range(x.size):
        n = (x[j] - mean) * inverse
        h = g[j] if w is None else scaled(g[j], w[j])
        plain += h
        along += h * n
        if cw is not None:
            cw[j] += scaled(g[j], n)
        if cb is not None:
            cb[j] += g[j]
    return plain, along


@njit(nogil=True, cache=True, error_model="numpy")
def layer_norm_backward(
    first: int, last: int, size: int, g: Any, x: Any, w: Any, eps: Any, cx: Any, cw: Any, cb: Any
) -> None:
    """Backward of layer norm; `w`, `cx`, `cw` and `cb` may be None.

    With n = (x - mean) / deviation, the cotangent of a row is h - mean(h) - n mean(h n) over the
    deviation, for h = g w (Ba, Kiros, Hinton 2016). The rows are taken in chunks of `size`, from
    `first` to `last`: of each, `cw` and `cb` have the sums over the rows.
    """
    real = x.dtype.type
    rows, columns = x.shape
    count = real(columns)
    for chunk in range(first, last):
        for i in range(chunk * size, min((chunk + 1) * size, rows)):
            row, gs = x[i], g[i]
            mean = row_sum(row) / count
            inverse = real(1) / real(np.sqrt(row_squares(row, mean) / count + real(eps)))
            plain = along = lost = more = 0.0
            for start in range(0, columns, BLOCK):
                stop = min(start + BLOCK, columns)
                one, two = _layer_norm_part(
                    row[start:stop],
                    gs[start:stop],
                    None if w is None else w[start:stop],
                    mean,
                    inverse,
                    None if cw is None else cw[chunk, start:stop],
                    None if cb is None else cb[chunk, start:stop],
                )
                plain, rest = add_exactly(plain, one)
                lost += rest
                along, rest = add_exactly(along, two)
                more += rest
            if cx is not None:
                out = cx[i]
                mid = real(plain + lost if lost == lost else plain) / count
                slope = real(along + more if more == more else along) / count
                for j in range(columns):
                    n = (row[j] - mean) * inverse
                    h = gs[j] if w is None else scaled(gs[j], w[j])
                    out[j] = (h - mid - n * slope) * inverse
