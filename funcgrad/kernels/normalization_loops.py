"""Layer norm and the like, and their backward pass, for Numba: a group while it lies in the cache.

Values have the bits of the primitives in NumPy, so every operation is NumPy's, in its order, and
sums come from `pairwise`. Of cotangents sums may be added otherwise: by `sums`, which loses nothing
in long rows. It imports Numba.

They state again what the rules say, because a printed chain of operations goes through memory for
each: of NumPy's time a value takes 0.2 to 0.35 and both passes 0.1 to 0.25 (10⁶ elements).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from funcgrad.kernels.pairwise import DEPTH, row_total
from funcgrad.kernels.sums import BLOCK, add_exactly, row_squares, row_sum


@njit(nogil=True, error_model="numpy")
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
@njit(nogil=True, error_model="numpy", fastmath={"reassoc"})
def _layer_norm_part(x: Any, g: Any, w: Any, mean: Any, inverse: Any, cw: Any, cb: Any) -> Any:
    """Σ h and Σ h n of a part of a row, h = g w; the part is added to `cw` and `cb`."""
    real = x.dtype.type
    plain = along = real(0)
    for j in range(x.size):
        n = (x[j] - mean) * inverse
        h = g[j] if w is None else g[j] * w[j]
        plain += h
        along += h * n
        if cw is not None:
            cw[j] += g[j] * n
        if cb is not None:
            cb[j] += g[j]
    return plain, along


@njit(nogil=True, error_model="numpy")
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
                    h = gs[j] if w is None else gs[j] * w[j]
                    out[j] = (h - mid - n * slope) * inverse


# ------------------------------------------------------------------------------ of channels
#
# Arrays have a row for each channel of each sample. Row p of group i is i * across + p * along: of
# batch norm a group is a channel, of group norm it is some channels of a sample.


@njit(nogil=True, error_model="numpy")
def channels_value(
    first: int, last: int, x: Any, w: Any, b: Any, eps: Any, across: int, along: int, rows: int,
    channels: int, y: Any, means: Any, variances: Any,
) -> None:  # fmt: skip
    """The groups `first` … `last` of batch norm or group norm; `w` and `b` may be None."""
    real = x.dtype.type
    count = real(rows * x.shape[1])
    left, right = np.empty(DEPTH, x.dtype), np.empty(DEPTH, np.int64)
    sums = np.empty(rows, x.dtype)
    for i in range(first, last):
        for p in range(rows):
            sums[p] = row_total(x[i * across + p * along], None, left, right)
        mean = row_total(sums, None, left, right) / count
        for p in range(rows):
            sums[p] = row_total(x[i * across + p * along], mean, left, right)
        spread = row_total(sums, None, left, right) / count
        inverse = real(1) / real(np.sqrt(spread + real(eps)))
        means[i], variances[i] = mean, spread
        for p in range(rows):
            k = i * across + p * along
            row, out = x[k], y[k]
            # in front of the loop: for all that is known, `out` could be the memory of `w`
            scale = real(1) if w is None else w[k % channels]
            move = real(0) if b is None else b[k % channels]
            for j in range(row.size):
                value = (row[j] - mean) * inverse
                if w is not None:
                    value *= scale
                if b is not None:
                    value += move
                out[j] = value


# Only sums may be taken in another order, so that several run side by side.
@njit(nogil=True, error_model="numpy", fastmath={"reassoc"})
def _channel_part(x: Any, g: Any, scale: Any, mean: Any, inverse: Any) -> Any:
    """Of a part of a row, with h = g scale: Σ h, Σ h n, Σ g, Σ g n."""
    real = x.dtype.type
    plain = along = moved = scaled_sum = real(0)
    for j in range(x.size):
        n = (x[j] - mean) * inverse
        h = g[j] * scale
        plain += h
        along += h * n
        moved += g[j]
        scaled_sum += g[j] * n
    return plain, along, moved, scaled_sum


@njit(nogil=True, error_model="numpy")
def channels_backward(
    first: int, last: int, g: Any, x: Any, w: Any, eps: Any, across: int, along: int, rows: int,
    channels: int, cx: Any, cw: Any, cb: Any,
) -> None:  # fmt: skip
    """Backward of batch norm or group norm: as that of layer norm, with a weight for each row.

    `w` and `cx` may be None; `cw` and `cb` have the sums of each row.
    """
    real = x.dtype.type
    count = real(rows * x.shape[1])
    for i in range(first, last):
        total = away = 0.0
        for p in range(rows):
            total += row_sum(x[i * across + p * along])
        mean = real(total / count)
        for p in range(rows):
            away += row_squares(x[i * across + p * along], mean)
        inverse = real(1) / real(np.sqrt(real(away / count) + real(eps)))
        plain, slope = 0.0, 0.0
        for p in range(rows):
            k = i * across + p * along
            scale = real(1) if w is None else w[k % channels]
            moved, tilted = 0.0, 0.0
            for start in range(0, x.shape[1], BLOCK):
                part = _channel_part(
                    x[k, start : start + BLOCK], g[k, start : start + BLOCK], scale, mean, inverse
                )
                plain += part[0]
                slope += part[1]
                moved += part[2]
                tilted += part[3]
            cb[k], cw[k] = moved, tilted
        if cx is not None:
            mid, tilt = real(plain / count), real(slope / count)
            for p in range(rows):
                k = i * across + p * along
                scale = real(1) if w is None else w[k % channels]
                row, gs, out = x[k], g[k], cx[k]
                for j in range(row.size):
                    n = (row[j] - mean) * inverse
                    out[j] = (gs[j] * scale - mid - n * tilt) * inverse
