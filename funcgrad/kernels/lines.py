"""Operations along lines and at positions, which no elementwise loop can do, for Numba.

Arrays are (outer, along, inner): lines run along the middle axis. Each function does a range of the
inner or of the outer axis, so that threads can share it, and adds in the order in which NumPy adds,
so that the bits are NumPy's.
"""

from __future__ import annotations

from typing import Any

from numba import njit


@njit(nogil=True, cache=True, error_model="numpy")
def scatter_add(out: Any, g: Any, at: Any, first: int, last: int, block: int) -> None:
    """``out[at[m], b] += g[m, b]`` in the order of m, for columns in blocks `first` to `last`."""
    stop = min(last * block, g.shape[1])
    for m in range(at.size):
        row = at[m]
        for b in range(first * block, stop):
            out[row, b] += g[m, b]


@njit(nogil=True, cache=True, error_model="numpy")
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


@njit(nogil=True, cache=True, error_model="numpy")
def _next(y: Any, f: Any, x: Any) -> Any:
    """``f y + x``; a `y` that is 0 stays 0 whatever it meets."""
    term = f * y
    return x + (y * y if (term != term) & (y == 0) else term)


@njit(nogil=True, cache=True, error_model="numpy")
def recurrence(f: Any, x: Any, out: Any, back: bool, first: int, last: int) -> None:
    """``out[i] = f[i] out[i-1] + x[i]``, from the end if `back`; 0 stays 0 whatever it meets."""
    outer, count, inner = x.shape
    for a in range(outer):
        before = count - 1 if back else 0
        for b in range(first, last):
            out[a, before, b] = x[a, before, b]
        y = x[a, before, first]
        for i in range(1, count):
            k = count - 1 - i if back else i
            if inner == 1:
                y = _next(y, f[a, k, 0], x[a, k, 0])
                out[a, k, 0] = y
            else:
                for b in range(first, last):
                    out[a, k, b] = _next(out[a, before, b], f[a, k, b], x[a, k, b])
            before = k


@njit(nogil=True, cache=True, error_model="numpy")
def permute(x: Any, order: Any, out: Any, back: bool) -> None:
    """``out[i] = x[order[i]]`` along each line, or ``out[order[i]] = x[i]`` if `back`."""
    outer, count, inner = x.shape
    for a in range(outer):
        for i in range(count):
            for b in range(inner):
                k = order[a, i, b]
                if back:
                    out[a, k, b] = x[a, i, b]
                else:
                    out[a, i, b] = x[a, k, b]


@njit(nogil=True, cache=True, error_model="numpy")
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
                order[a, start:end].sort()
            start = end


@njit(nogil=True, cache=True, error_model="numpy")
def sort_by_place(at: Any, starts: Any, order: Any) -> None:
    """The stable permutation that sorts places, of which each begins at `starts`, moved on here."""
    for m in range(at.size):
        order[starts[at[m]]] = m
        starts[at[m]] += 1
