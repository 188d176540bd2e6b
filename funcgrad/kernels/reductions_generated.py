"""The backward pass of reductions as Numba functions: written, not edited.

`python -m funcgrad.kernels.write_reductions` prints it, and says how the arguments lie in memory.
Each function fills the groups `first` … `last` of the cotangent `cx`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from funcgrad.compile.numba.intrinsics import INTRINSICS
from funcgrad.kernels.sums import BLOCK, TILE, add_exactly

exp = INTRINSICS["exp"]
INFINITY = float("inf")


# Only sums may be taken in another order, so that several run side by side.
@njit(nogil=True, error_model="numpy", fastmath={"reassoc"})
def softmax_part(gr: Any, yr: Any) -> Any:
    real = gr.dtype.type
    s = real(0)
    for j in range(gr.size):
        g = gr[j]
        y = yr[j]
        s += g * y
    return s


@njit(nogil=True, error_model="numpy")
def softmax_backward_along(
    first: int, last: int, g_: Any, y_: Any, x_: Any, divisor: Any, cx: Any
) -> None:
    """Backward of `softmax`."""
    real = cx.dtype.type
    size = cx.shape[3]
    for group in range(first, last):
        i, k = divmod(group, cx.shape[2])
        total = lost = 0.0
        for p in range(cx.shape[1]):
            gr = g_[i, p, k]
            yr = y_[i, p, k]
            for start in range(0, size, BLOCK):
                part = softmax_part(gr[start : start + BLOCK], yr[start : start + BLOCK])
                total, rest = add_exactly(total, part)
                lost += rest
        s = real(total + lost if lost == lost else total)
        for p in range(cx.shape[1]):
            gr = g_[i, p, k]
            yr = y_[i, p, k]
            out = cx[i, p, k]
            for j in range(size):
                g = gr[j]
                y = yr[j]
                out[j] = g * y - y * s


@njit(nogil=True, error_model="numpy")
def softmax_backward_beside(
    first: int, last: int, g_: Any, y_: Any, x_: Any, divisor: Any, cx: Any
) -> None:
    """Backward of `softmax` over other than the last axes."""
    width = cx.shape[2]
    sums, part = np.empty(TILE, cx.dtype), np.empty(TILE, cx.dtype)
    total, lost = np.empty(TILE), np.empty(TILE)
    at = first
    while at < last:
        i, k = divmod(at, width)
        size = min(TILE, width - k, last - at)
        total[:] = 0.0
        lost[:] = 0.0
        for start in range(0, cx.shape[1], BLOCK):
            part[:] = 0
            for p in range(start, min(start + BLOCK, cx.shape[1])):
                gr = g_[i, p, k : k + size]
                yr = y_[i, p, k : k + size]
                for j in range(size):
                    g = gr[j]
                    y = yr[j]
                    part[j] += g * y
            for j in range(size):
                total[j], rest = add_exactly(total[j], part[j])
                lost[j] += rest
        for j in range(size):
            sums[j] = total[j] + lost[j] if lost[j] == lost[j] else total[j]
        for p in range(cx.shape[1]):
            gr = g_[i, p, k : k + size]
            yr = y_[i, p, k : k + size]
            out = cx[i, p, k : k + size]
            for j in range(size):
                g = gr[j]
                y = yr[j]
                s = sums[j]
                out[j] = g * y - y * s
        at += size


# Only sums may be taken in another order, so that several run side by side.
@njit(nogil=True, error_model="numpy", fastmath={"reassoc"})
def log_softmax_part(gr: Any) -> Any:
    real = gr.dtype.type
    s = real(0)
    for j in range(gr.size):
        g = gr[j]
        s += g
    return s


@njit(nogil=True, error_model="numpy")
def log_softmax_backward_along(
    first: int, last: int, g_: Any, y_: Any, x_: Any, divisor: Any, cx: Any
) -> None:
    """Backward of `log_softmax`."""
    real = cx.dtype.type
    size = cx.shape[3]
    for group in range(first, last):
        i, k = divmod(group, cx.shape[2])
        total = lost = 0.0
        for p in range(cx.shape[1]):
            gr = g_[i, p, k]
            for start in range(0, size, BLOCK):
                part = log_softmax_part(gr[start : start + BLOCK])
                total, rest = add_exactly(total, part)
                lost += rest
        s = real(total + lost if lost == lost else total)
        for p in range(cx.shape[1]):
            gr = g_[i, p, k]
            yr = y_[i, p, k]
            out = cx[i, p, k]
            for j in range(size):
                g = gr[j]
                y = yr[j]
                out[j] = g - exp(y) * s


@njit(nogil=True, error_model="numpy")
def log_softmax_backward_beside(
    first: int, last: int, g_: Any, y_: Any, x_: Any, divisor: Any, cx: Any
) -> None:
    """Backward of `log_softmax` over other than the last axes."""
    width = cx.shape[2]
    sums, part = np.empty(TILE, cx.dtype), np.empty(TILE, cx.dtype)
    total, lost = np.empty(TILE), np.empty(TILE)
    at = first
    while at < last:
        i, k = divmod(at, width)
        size = min(TILE, width - k, last - at)
        total[:] = 0.0
        lost[:] = 0.0
        for start in range(0, cx.shape[1], BLOCK):
            part[:] = 0
            for p in range(start, min(start + BLOCK, cx.shape[1])):
                gr = g_[i, p, k : k + size]
                for j in range(size):
                    g = gr[j]
                    part[j] += g
            for j in range(size):
                total[j], rest = add_exactly(total[j], part[j])
                lost[j] += rest
        for j in range(size):
            sums[j] = total[j] + lost[j] if lost[j] == lost[j] else total[j]
        for p in range(cx.shape[1]):
            gr = g_[i, p, k : k + size]
            yr = y_[i, p, k : k + size]
            out = cx[i, p, k : k + size]
            for j in range(size):
                g = gr[j]
                y = yr[j]
                s = sums[j]
                out[j] = g - exp(y) * s
        at += size


# Only sums may be taken in another order, so that several run side by side.
@njit(nogil=True, error_model="numpy", fastmath={"reassoc"})
def logsumexp_part(xr: Any, y: Any) -> Any:
    real = xr.dtype.type
    s = real(0)
    for j in range(xr.size):
        x = xr[j]
        s += real(x == y)
    return s


@njit(nogil=True, error_model="numpy")
def logsumexp_backward_along(
    first: int, last: int, g_: Any, y_: Any, x_: Any, divisor: Any, cx: Any
) -> None:
    """Backward of `logsumexp`: infinities that are all there is share equally if they are +inf."""
    real = cx.dtype.type
    size = cx.shape[3]
    for group in range(first, last):
        i, k = divmod(group, cx.shape[2])
        g = g_[i, k]
        y = y_[i, k]
        s = real(0)
        if abs(y) == real(INFINITY):
            total = lost = 0.0
            for p in range(cx.shape[1]):
                xr = x_[i, p, k]
                for start in range(0, size, BLOCK):
                    part = logsumexp_part(xr[start : start + BLOCK], y)
                    total, rest = add_exactly(total, part)
                    lost += rest
            s = real(total + lost if lost == lost else total)
        s = real(y > 0) / max(s, real(1))
        for p in range(cx.shape[1]):
            xr = x_[i, p, k]
            out = cx[i, p, k]
            for j in range(size):
                x = xr[j]
                out[j] = g * (s if (x == y) & (abs(y) == real(INFINITY)) else exp(x - y))


@njit(nogil=True, error_model="numpy")
def logsumexp_backward_beside(
    first: int, last: int, g_: Any, y_: Any, x_: Any, divisor: Any, cx: Any
) -> None:
    """Backward of `logsumexp` over other than the last axes."""
    real = cx.dtype.type
    width = cx.shape[2]
    sums, part = np.empty(TILE, cx.dtype), np.empty(TILE, cx.dtype)
    total, lost = np.empty(TILE), np.empty(TILE)
    at = first
    while at < last:
        i, k = divmod(at, width)
        size = min(TILE, width - k, last - at)
        gs = g_[i, k : k + size]
        ys = y_[i, k : k + size]
        sums[:] = 0
        some = False
        for j in range(size):
            y = ys[j]
            some |= abs(y) == real(INFINITY)
        if some:
            total[:] = 0.0
            lost[:] = 0.0
            for start in range(0, cx.shape[1], BLOCK):
                part[:] = 0
                for p in range(start, min(start + BLOCK, cx.shape[1])):
                    xr = x_[i, p, k : k + size]
                    for j in range(size):
                        x = xr[j]
                        y = ys[j]
                        part[j] += real(x == y)
                for j in range(size):
                    total[j], rest = add_exactly(total[j], part[j])
                    lost[j] += rest
            for j in range(size):
                sums[j] = total[j] + lost[j] if lost[j] == lost[j] else total[j]
        for j in range(size):
            s = sums[j]
            y = ys[j]
            sums[j] = real(y > 0) / max(s, real(1))
        for p in range(cx.shape[1]):
            xr = x_[i, p, k : k + size]
            out = cx[i, p, k : k + size]
            for j in range(size):
                x = xr[j]
                g = gs[j]
                y = ys[j]
                s = sums[j]
                out[j] = g * (s if (x == y) & (abs(y) == real(INFINITY)) else exp(x - y))
        at += size


# Only sums may be taken in another order, so that several run side by side.
@njit(nogil=True, error_model="numpy", fastmath={"reassoc"})
def extremum_part(xr: Any, y: Any) -> Any:
    real = xr.dtype.type
    s = real(0)
    for j in range(xr.size):
        x = xr[j]
        s += real((x == y) | (x != x))
    return s


@njit(nogil=True, error_model="numpy")
def extremum_backward_along(
    first: int, last: int, g_: Any, y_: Any, x_: Any, divisor: Any, cx: Any
) -> None:
    """Backward of `extremum`: the chosen elements share equally, and a NaN is chosen."""
    real = cx.dtype.type
    size = cx.shape[3]
    for group in range(first, last):
        i, k = divmod(group, cx.shape[2])
        g = g_[i, k]
        y = y_[i, k]
        total = lost = 0.0
        for p in range(cx.shape[1]):
            xr = x_[i, p, k]
            for start in range(0, size, BLOCK):
                part = extremum_part(xr[start : start + BLOCK], y)
                total, rest = add_exactly(total, part)
                lost += rest
        s = real(total + lost if lost == lost else total)
        s = g * (real(1) / max(s, real(1)))
        for p in range(cx.shape[1]):
            xr = x_[i, p, k]
            out = cx[i, p, k]
            for j in range(size):
                x = xr[j]
                out[j] = s if (x == y) | (x != x) else real(0)


@njit(nogil=True, error_model="numpy")
def extremum_backward_beside(
    first: int, last: int, g_: Any, y_: Any, x_: Any, divisor: Any, cx: Any
) -> None:
    """Backward of `extremum` over other than the last axes."""
    real = cx.dtype.type
    width = cx.shape[2]
    sums, part = np.empty(TILE, cx.dtype), np.empty(TILE, cx.dtype)
    total, lost = np.empty(TILE), np.empty(TILE)
    at = first
    while at < last:
        i, k = divmod(at, width)
        size = min(TILE, width - k, last - at)
        gs = g_[i, k : k + size]
        ys = y_[i, k : k + size]
        total[:] = 0.0
        lost[:] = 0.0
        for start in range(0, cx.shape[1], BLOCK):
            part[:] = 0
            for p in range(start, min(start + BLOCK, cx.shape[1])):
                xr = x_[i, p, k : k + size]
                for j in range(size):
                    x = xr[j]
                    y = ys[j]
                    part[j] += real((x == y) | (x != x))
            for j in range(size):
                total[j], rest = add_exactly(total[j], part[j])
                lost[j] += rest
        for j in range(size):
            sums[j] = total[j] + lost[j] if lost[j] == lost[j] else total[j]
        for j in range(size):
            s = sums[j]
            g = gs[j]
            sums[j] = g * (real(1) / max(s, real(1)))
        for p in range(cx.shape[1]):
            xr = x_[i, p, k : k + size]
            out = cx[i, p, k : k + size]
            for j in range(size):
                x = xr[j]
                y = ys[j]
                s = sums[j]
                out[j] = s if (x == y) | (x != x) else real(0)
        at += size


# Only sums may be taken in another order, so that several run side by side.
@njit(nogil=True, error_model="numpy", fastmath={"reassoc"})
def var_part(xr: Any) -> Any:
    real = xr.dtype.type
    s = real(0)
    for j in range(xr.size):
        x = xr[j]
        s += x
    return s


@njit(nogil=True, error_model="numpy")
def var_backward_along(
    first: int, last: int, g_: Any, y_: Any, x_: Any, divisor: Any, cx: Any
) -> None:
    """Backward of `var`."""
    real = cx.dtype.type
    size = cx.shape[3]
    count = real(cx.shape[1] * size)
    for group in range(first, last):
        i, k = divmod(group, cx.shape[2])
        g = g_[i, k]
        total = lost = 0.0
        for p in range(cx.shape[1]):
            xr = x_[i, p, k]
            for start in range(0, size, BLOCK):
                part = var_part(xr[start : start + BLOCK])
                total, rest = add_exactly(total, part)
                lost += rest
        s = real(total + lost if lost == lost else total)
        s = s / count
        for p in range(cx.shape[1]):
            xr = x_[i, p, k]
            out = cx[i, p, k]
            for j in range(size):
                x = xr[j]
                out[j] = g * (real(2) * (x - s) / real(divisor))


@njit(nogil=True, error_model="numpy")
def var_backward_beside(
    first: int, last: int, g_: Any, y_: Any, x_: Any, divisor: Any, cx: Any
) -> None:
    """Backward of `var` over other than the last axes."""
    real = cx.dtype.type
    width = cx.shape[2]
    count = real(cx.shape[1])
    sums, part = np.empty(TILE, cx.dtype), np.empty(TILE, cx.dtype)
    total, lost = np.empty(TILE), np.empty(TILE)
    at = first
    while at < last:
        i, k = divmod(at, width)
        size = min(TILE, width - k, last - at)
        gs = g_[i, k : k + size]
        total[:] = 0.0
        lost[:] = 0.0
        for start in range(0, cx.shape[1], BLOCK):
            part[:] = 0
            for p in range(start, min(start + BLOCK, cx.shape[1])):
                xr = x_[i, p, k : k + size]
                for j in range(size):
                    x = xr[j]
                    part[j] += x
            for j in range(size):
                total[j], rest = add_exactly(total[j], part[j])
                lost[j] += rest
        for j in range(size):
            sums[j] = total[j] + lost[j] if lost[j] == lost[j] else total[j]
        for j in range(size):
            s = sums[j]
            sums[j] = s / count
        for p in range(cx.shape[1]):
            xr = x_[i, p, k : k + size]
            out = cx[i, p, k : k + size]
            for j in range(size):
                x = xr[j]
                g = gs[j]
                s = sums[j]
                out[j] = g * (real(2) * (x - s) / real(divisor))
        at += size


# Only sums may be taken in another order, so that several run side by side.
@njit(nogil=True, error_model="numpy", fastmath={"reassoc"})
def std_part(xr: Any) -> Any:
    real = xr.dtype.type
    s = real(0)
    for j in range(xr.size):
        x = xr[j]
        s += x
    return s


@njit(nogil=True, error_model="numpy")
def std_backward_along(
    first: int, last: int, g_: Any, y_: Any, x_: Any, divisor: Any, cx: Any
) -> None:
    """Backward of `std`: 0 where there is no spread."""
    real = cx.dtype.type
    size = cx.shape[3]
    count = real(cx.shape[1] * size)
    for group in range(first, last):
        i, k = divmod(group, cx.shape[2])
        g = g_[i, k]
        y = y_[i, k]
        total = lost = 0.0
        for p in range(cx.shape[1]):
            xr = x_[i, p, k]
            for start in range(0, size, BLOCK):
                part = std_part(xr[start : start + BLOCK])
                total, rest = add_exactly(total, part)
                lost += rest
        s = real(total + lost if lost == lost else total)
        s = s / count
        for p in range(cx.shape[1]):
            xr = x_[i, p, k]
            out = cx[i, p, k]
            for j in range(size):
                x = xr[j]
                out[j] = g * (real(0) if y == 0 else (x - s) / y / real(divisor))


@njit(nogil=True, error_model="numpy")
def std_backward_beside(
    first: int, last: int, g_: Any, y_: Any, x_: Any, divisor: Any, cx: Any
) -> None:
    """Backward of `std` over other than the last axes."""
    real = cx.dtype.type
    width = cx.shape[2]
    count = real(cx.shape[1])
    sums, part = np.empty(TILE, cx.dtype), np.empty(TILE, cx.dtype)
    total, lost = np.empty(TILE), np.empty(TILE)
    at = first
    while at < last:
        i, k = divmod(at, width)
        size = min(TILE, width - k, last - at)
        gs = g_[i, k : k + size]
        ys = y_[i, k : k + size]
        total[:] = 0.0
        lost[:] = 0.0
        for start in range(0, cx.shape[1], BLOCK):
            part[:] = 0
            for p in range(start, min(start + BLOCK, cx.shape[1])):
                xr = x_[i, p, k : k + size]
                for j in range(size):
                    x = xr[j]
                    part[j] += x
            for j in range(size):
                total[j], rest = add_exactly(total[j], part[j])
                lost[j] += rest
        for j in range(size):
            sums[j] = total[j] + lost[j] if lost[j] == lost[j] else total[j]
        for j in range(size):
            s = sums[j]
            sums[j] = s / count
        for p in range(cx.shape[1]):
            xr = x_[i, p, k : k + size]
            out = cx[i, p, k : k + size]
            for j in range(size):
                x = xr[j]
                g = gs[j]
                y = ys[j]
                s = sums[j]
                out[j] = g * (real(0) if y == 0 else (x - s) / y / real(divisor))
        at += size


@njit(nogil=True, error_model="numpy")
def norm_backward_along(
    first: int, last: int, g_: Any, y_: Any, x_: Any, divisor: Any, cx: Any
) -> None:
    """Backward of `norm`, the Euclidean one: 0 at 0."""
    real = cx.dtype.type
    size = cx.shape[3]
    for group in range(first, last):
        i, k = divmod(group, cx.shape[2])
        g = g_[i, k]
        y = y_[i, k]
        for p in range(cx.shape[1]):
            xr = x_[i, p, k]
            out = cx[i, p, k]
            for j in range(size):
                x = xr[j]
                out[j] = (real(0) if y == 0 else g) * (x / (real(1) if y == 0 else y))


@njit(nogil=True, error_model="numpy")
def norm_backward_beside(
    first: int, last: int, g_: Any, y_: Any, x_: Any, divisor: Any, cx: Any
) -> None:
    """Backward of `norm` over other than the last axes."""
    real = cx.dtype.type
    width = cx.shape[2]
    at = first
    while at < last:
        i, k = divmod(at, width)
        size = min(TILE, width - k, last - at)
        gs = g_[i, k : k + size]
        ys = y_[i, k : k + size]
        for p in range(cx.shape[1]):
            xr = x_[i, p, k : k + size]
            out = cx[i, p, k : k + size]
            for j in range(size):
                x = xr[j]
                g = gs[j]
                y = ys[j]
                out[j] = (real(0) if y == 0 else g) * (x / (real(1) if y == 0 else y))
        at += size
