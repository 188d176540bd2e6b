"""Operations along lines and at positions, which no elementwise loop can do, for Numba.

Arrays are (outer, along, inner): lines run along the middle axis. Each function does a range of the
inner or of the outer axis, so that threads can share it, and adds in the order in which NumPy adds,
so that the bits are NumPy's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(nogil=True, error_model="numpy")
def scatter_add(out: Any, g: Any, at: Any, first: int, last: int, block: int) -> None:
    """``out[at[m], b] += g[m, b]`` in the order of m, for columns in blocks `first` to `last`."""
    begin, stop = first * block, min(last * block, g.shape[1])
    for m in range(at.size):
        row, given = out[at[m], begin:stop], g[m, begin:stop]
        for b in range(stop - begin):
            row[b] += given[b]


@njit(nogil=True, error_model="numpy")
def add_at(out: Any, at: Any, v: Any, outside: Any) -> None:
    """``out[at[m]] += v[m]`` in the order of m; `outside` becomes 1 for a place that is none."""
    size = out.size
    for m in range(at.size):
        place = at[m]
        if place < 0:
            place += size
        if place < 0 or place >= size:
            outside[0] = 1
            return
        out[place] += v[m]


@njit(nogil=True, error_model="numpy")
def cumsum(x: Any, out: Any, back: bool, first: int, last: int) -> None:
    """Running sums, from the end if `back`, for the columns `first` to `last`."""
    outer, count, inner = x.shape
    for a in range(outer):
        before = count - 1 if back else 0
        for b in range(first, last):
            out[a, before, b] = x[a, before, b]
        total = x[a, before, first]
        for i in range(1, count):
            k = count - 1 - i if back else i
            if inner == 1:  # in a register: memory would answer later than the sum is needed
                total += x[a, k, 0]
                out[a, k, 0] = total
            else:
                for b in range(first, last):
                    out[a, k, b] = out[a, before, b] + x[a, k, b]
            before = k


@njit(nogil=True, error_model="numpy")
def cumprod(x: Any, out: Any, first: int, last: int) -> None:
    """Running products for the columns `first` to `last`."""
    outer, count, inner = x.shape
    a = 0
    if inner == 1:  # four lines at a time: a product waits for the one before
        while a + 4 <= outer:
            p, q, r, s = x[a, 0, 0], x[a + 1, 0, 0], x[a + 2, 0, 0], x[a + 3, 0, 0]
            out[a, 0, 0], out[a + 1, 0, 0], out[a + 2, 0, 0], out[a + 3, 0, 0] = p, q, r, s
            for k in range(1, count):
                p *= x[a, k, 0]
                q *= x[a + 1, k, 0]
                r *= x[a + 2, k, 0]
                s *= x[a + 3, k, 0]
                out[a, k, 0] = p
                out[a + 1, k, 0] = q
                out[a + 2, k, 0] = r
                out[a + 3, k, 0] = s
            a += 4
    while a < outer:
        for b in range(first, last):
            out[a, 0, b] = x[a, 0, b]
        total = x[a, 0, first]
        for k in range(1, count):
            if inner == 1:
                total *= x[a, k, 0]
                out[a, k, 0] = total
            else:
                for b in range(first, last):
                    out[a, k, b] = out[a, k - 1, b] * x[a, k, b]
        a += 1


@njit(nogil=True, error_model="numpy")
def cumprod_backward(g: Any, y: Any, x: Any, c: Any, first: int, last: int) -> None:
    """Backward of `cumprod`: ``r[k] = g[k] + x[k+1] r[k+1]`` times the product before k."""
    outer, count, inner = x.shape
    rest = np.empty(last - first, x.dtype)
    for a in range(outer):
        if inner == 1:
            r = g[a, count - 1, 0]
            for k in range(count - 1, 0, -1):
                c[a, k, 0] = r * y[a, k - 1, 0]
                r = g[a, k - 1, 0] + r * x[a, k, 0]
            c[a, 0, 0] = r
            continue
        for b in range(first, last):
            rest[b - first] = g[a, count - 1, b]
        for k in range(count - 1, 0, -1):
            for b in range(first, last):
                r = rest[b - first]
                c[a, k, b] = r * y[a, k - 1, b]
                rest[b - first] = g[a, k - 1, b] + r * x[a, k, b]
        for b in range(first, last):
            c[a, 0, b] = rest[b - first]


@njit(nogil=True, error_model="numpy")
def running_extremum(x: Any, sign: Any, place: Any, first: int, last: int) -> None:
    """Where the largest element of `sign` times `x` so far stands, the last of equal ones."""
    outer, count, inner = x.shape
    best = np.empty(last - first, x.dtype)
    for a in range(outer):
        for b in range(first, last):
            best[b - first] = sign * x[a, 0, b]
            place[a, 0, b] = 0
        if inner == 1:  # in registers
            top, at = best[0], 0
            for k in range(1, count):
                v = sign * x[a, k, 0]
                if not v < top and (top == top or v != v):  # of NaN, which stays, the last as well
                    top, at = v, k
                place[a, k, 0] = at
            continue
        for k in range(1, count):
            for b in range(first, last):
                v, top = sign * x[a, k, b], best[b - first]
                new = (v != v) | (v >= top)
                best[b - first] = v if new else top
                place[a, k, b] = k if new else place[a, k - 1, b]


@njit(nogil=True, error_model="numpy")
def recurrence(f: Any, x: Any, out: Any, back: bool, first: int, last: int) -> None:
    """``out[i] = f[i] out[i-1] + x[i]``, from the end if `back`."""
    outer, count, inner = x.shape
    for a in range(outer):
        before = count - 1 if back else 0
        for b in range(first, last):
            out[a, before, b] = x[a, before, b]
        y = x[a, before, first]
        for i in range(1, count):
            k = count - 1 - i if back else i
            if inner == 1:
                y = x[a, k, 0] + f[a, k, 0] * y
                out[a, k, 0] = y
            else:
                for b in range(first, last):
                    out[a, k, b] = x[a, k, b] + f[a, k, b] * out[a, before, b]
            before = k


@njit(nogil=True, error_model="numpy")
def permute(x: Any, order: Any, out: Any, back: bool, first: int, last: int) -> None:
    """``out[i] = x[order[i]]`` along each line, or ``out[order[i]] = x[i]`` if `back`."""
    outer, count, inner = x.shape
    for a in range(outer):
        if inner == 1 and back:
            for i in range(count):
                out[a, order[a, i, 0], 0] = x[a, i, 0]
        elif inner == 1:
            for i in range(count):
                out[a, i, 0] = x[a, order[a, i, 0], 0]
        elif back:
            for i in range(count):
                for b in range(first, last):
                    out[a, order[a, i, b], b] = x[a, i, b]
        else:
            for i in range(count):
                for b in range(first, last):
                    out[a, i, b] = x[a, order[a, i, b], b]


@njit(nogil=True, error_model="numpy")
def take_along(x: Any, at: Any, out: Any, outside: Any, first: int, last: int) -> None:
    """``out[i] = x[at[i]]`` along each line; `outside` becomes 1 for a place that is none."""
    outer, count, _ = x.shape
    for a in range(outer):
        for i in range(at.shape[1]):
            for b in range(first, last):
                k = at[a, i, b]
                if k < 0:
                    k += count
                if k < 0 or k >= count:
                    outside[0] = 1
                    return
                out[a, i, b] = x[a, k, b]


@njit(nogil=True, error_model="numpy")
def add_along(g: Any, at: Any, out: Any, outside: Any, first: int, last: int) -> None:
    """``out[at[i]] += g[i]`` along each line, of an `out` that is made zero before."""
    outer, count, _ = out.shape
    for a in range(outer):
        for k in range(count):
            for b in range(first, last):
                out[a, k, b] = 0
        for i in range(at.shape[1]):
            for b in range(first, last):
                k = at[a, i, b]
                if k < 0:
                    k += count
                if k < 0 or k >= count:
                    outside[0] = 1
                    return
                out[a, k, b] += g[a, i, b]


@njit(nogil=True, error_model="numpy")
def ascending(x: Any) -> None:
    """Sort in place, by a heap: it needs no memory, as Numba's `sort` does, from a runtime."""
    size, k = x.size, x.size // 2
    while size > 1:
        if k > 0:
            k -= 1
            value = x[k]
        else:
            size -= 1
            value = x[size]
            x[size] = x[0]
        hole, child = k, 2 * k + 1
        while child < size:
            if child + 1 < size and x[child + 1] > x[child]:
                child += 1
            if x[child] <= value:
                break
            x[hole] = x[child]
            hole, child = child, 2 * child + 1
        x[hole] = value


@njit(nogil=True, error_model="numpy")
def stable_argsort(x: Any, order: Any) -> None:
    """Make stable the permutation that sorts each row of `x`: equal elements keep their order."""
    rows, count = x.shape
    for a in range(rows):
        start = 0
        while start < count:
            value = x[a, order[a, start]]
            end = start + 1
            while end < count:
                other = x[a, order[a, end]]
                if not (other == value or (other != other and value != value)):
                    break
                end += 1
            if end - start > 1:
                ascending(order[a, start:end])
            start = end
