"""The backward pass of reductions and normalisations over the last axes, row by row, for Numba.

Written by hand: a row is read while it lies in the cache, which no elementwise kernel can do. Each
function takes matrices of rows, `g` and `y` with an element for each row where the operation
reduces, and the array for the cotangent. The tests hold them to the rules of the primitives.
"""

from __future__ import annotations

from typing import Any

from numba import njit

from funcgrad.compile.numba.intrinsics import INTRINSICS

exp = INTRINSICS["exp"]
sqrt = INTRINSICS["sqrt"]
BLOCK = 1024  # elements of a partial sum, so that a long row is as accurate as a short one


@njit(nogil=True, cache=True, error_model="numpy")
def scaled(g: Any, d: Any) -> Any:
    """The product of a cotangent and a partial derivative: 0 where the cotangent is 0."""
    r = g * d
    return g * g if (r != r) & (g == 0) else r


# Only sums may be taken in another order, so that several run side by side.
@njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc"})
def _sum(x: Any) -> Any:
    total = x.dtype.type(0)
    for j in range(x.size):
        total += x[j]
    return total


@njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc"})
def _dot(g: Any, y: Any) -> Any:
    total = y.dtype.type(0)
    for j in range(y.size):
        total += scaled(g[j], y[j])
    return total


@njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc"})
def _squares(x: Any, mean: Any) -> Any:
    total = x.dtype.type(0)
    for j in range(x.size):
        away = x[j] - mean
        total += away * away
    return total


@njit(nogil=True, cache=True, error_model="numpy")
def add_exactly(x: float, y: float) -> Any:
    """The sum in double precision, and what its rounding lost (Knuth)."""
    total = x + y
    back = total - x
    return total, (x - (total - back)) + (y - back)


@njit(nogil=True, cache=True, error_model="numpy")
def row_sum(x: Any) -> Any:
    """The sum of a row, block by block."""
    total = lost = 0.0
    for start in range(0, x.size, BLOCK):
        part = _sum(x[start : start + BLOCK])
        total, rest = add_exactly(total, part)
        lost += rest
    return x.dtype.type(total + lost if lost == lost else total)


@njit(nogil=True, cache=True, error_model="numpy")
def row_dot(g: Any, y: Any) -> Any:
    """The sum of the products of two rows."""
    total = lost = 0.0
    for start in range(0, y.size, BLOCK):
        part = _dot(g[start : start + BLOCK], y[start : start + BLOCK])
        total, rest = add_exactly(total, part)
        lost += rest
    return y.dtype.type(total + lost if lost == lost else total)


@njit(nogil=True, cache=True, error_model="numpy")
def row_squares(x: Any, mean: Any) -> Any:
    """The sum of the squared distances from `mean`."""
    total = lost = 0.0
    for start in range(0, x.size, BLOCK):
        part = _squares(x[start : start + BLOCK], mean)
        total, rest = add_exactly(total, part)
        lost += rest
    return x.dtype.type(total + lost if lost == lost else total)


@njit(nogil=True, cache=True, error_model="numpy")
def softmax_backward(g: Any, y: Any, x: Any, cx: Any) -> None:
    """Backward of `softmax`."""
    for i in range(y.shape[0]):
        total = row_dot(g[i], y[i])
        for j in range(y.shape[1]):
            cx[i, j] = scaled(g[i, j], y[i, j]) - y[i, j] * total


@njit(nogil=True, cache=True, error_model="numpy")
def log_softmax_backward(g: Any, y: Any, x: Any, cx: Any) -> None:
    """Backward of `log_softmax`."""
    for i in range(y.shape[0]):
        total = row_sum(g[i])
        for j in range(y.shape[1]):
            cx[i, j] = g[i, j] - exp(y[i, j]) * total


@njit(nogil=True, cache=True, error_model="numpy")
def logsumexp_backward(g: Any, y: Any, x: Any, cx: Any) -> None:
    """Backward of `logsumexp`: infinities that are all there is share equally if they are +inf."""
    real = x.dtype.type
    infinity = real(float("inf"))
    for i in range(x.shape[0]):
        gi, yi = g[i], y[i]
        if abs(yi) == infinity:
            count = real(0)
            for j in range(x.shape[1]):
                count += real(x[i, j] == yi)
            share = real(yi > 0) / max(count, real(1))
            for j in range(x.shape[1]):
                cx[i, j] = scaled(gi, share if x[i, j] == yi else exp(x[i, j] - yi))
        else:
            for j in range(x.shape[1]):
                cx[i, j] = scaled(gi, exp(x[i, j] - yi))


@njit(nogil=True, cache=True, error_model="numpy")
def extremum_backward(g: Any, y: Any, x: Any, cx: Any) -> None:
    """Backward of `max` and `min`: the chosen elements share equally, and a NaN is chosen."""
    real = x.dtype.type
    for i in range(x.shape[0]):
        yi = y[i]
        count = 0
        for j in range(x.shape[1]):
            v = x[i, j]
            count += (v == yi) | (v != v)
        share = real(1) / real(max(count, 1))
        part = g[i] * share
        for j in range(x.shape[1]):
            v = x[i, j]
            cx[i, j] = part if (v == yi) | (v != v) else real(0)


@njit(nogil=True, cache=True, error_model="numpy")
def var_backward(g: Any, y: Any, x: Any, divisor: Any, cx: Any) -> None:
    """Backward of `var`."""
    real = x.dtype.type
    for i in range(x.shape[0]):
        gi = g[i]
        mean = row_sum(x[i]) / real(x.shape[1])
        for j in range(x.shape[1]):
            cx[i, j] = scaled(gi, real(2) * (x[i, j] - mean) / real(divisor))


@njit(nogil=True, cache=True, error_model="numpy")
def std_backward(g: Any, y: Any, x: Any, divisor: Any, cx: Any) -> None:
    """Backward of `std`: 0 where there is no spread."""
    real = x.dtype.type
    for i in range(x.shape[0]):
        gi, yi = g[i], y[i]
        mean = row_sum(x[i]) / real(x.shape[1])
        for j in range(x.shape[1]):
            d = (x[i, j] - mean) / yi / real(divisor)
            cx[i, j] = scaled(gi, real(0) if yi == 0 else d)


@njit(nogil=True, cache=True, error_model="numpy")
def prod_backward(g: Any, y: Any, x: Any, cx: Any) -> None:
    """Backward of `prod`: the product of what stands before an element and of what stands after."""
    real = x.dtype.type
    last = x.shape[1] - 1
    for i in range(x.shape[0]):
        before = real(1)
        for j in range(x.shape[1]):
            cx[i, j] = before
            before *= x[i, j]
        after = real(1)
        for k in range(x.shape[1]):
            j = last - k
            cx[i, j] = scaled(g[i], cx[i, j] * after)
            after *= x[i, j]


@njit(nogil=True, cache=True, error_model="numpy")
def norm_backward(g: Any, y: Any, x: Any, cx: Any) -> None:
    """Backward of the Euclidean `norm`: 0 at 0."""
    real = x.dtype.type
    for i in range(x.shape[0]):
        none = y[i] == 0
        gi = real(0) if none else g[i]
        yi = real(1) if none else y[i]
        for j in range(x.shape[1]):
            cx[i, j] = scaled(gi, x[i, j] / yi)


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
