"""Reductions of segments and their backward passes, for Numba.

Every array is a vector. A place counts from the end if it is negative; for one that is outside,
`outside` becomes 1 and nothing more is done.
"""

from __future__ import annotations

from typing import Any

from numba import njit


@njit(nogil=True, error_model="numpy")
def _place(at: int, size: int, outside: Any) -> int:
    """A place as a position, -1 if it is outside."""
    place = at + size if at < 0 else at
    if place < 0 or place >= size:
        outside[0] = 1
        return -1
    return place


@njit(nogil=True, error_model="numpy")
def segment_extremum(out: Any, at: Any, v: Any, sign: Any, outside: Any) -> None:
    """The largest of what stands in `out` and what `v` sends there, by `sign` times the value."""
    for m in range(at.size):
        p = _place(at[m], out.size, outside)
        if p < 0:
            return
        old, new = out[p], v[m]
        if old == old and (new != new or sign * new > sign * old):
            out[p] = new


@njit(nogil=True, error_model="numpy")
def segment_extremum_backward(
    g: Any, y: Any, v: Any, at: Any, x: Any, each: Any, cv: Any, cx: Any, outside: Any
) -> None:
    """What is equal to the extremum, or NaN, shares its cotangent; `each` is memory like `x`."""
    real = g.dtype.type
    for p in range(x.size):
        each[p] = real(1) if (x[p] == y[p]) | (x[p] != x[p]) else real(0)
    for m in range(at.size):
        p = _place(at[m], x.size, outside)
        if p < 0:
            return
        if v[m] == y[p] or v[m] != v[m]:
            each[p] += real(1)
    for p in range(x.size):
        each[p] = g[p] * (real(1) / each[p])
        cx[p] = each[p] if (x[p] == y[p]) | (x[p] != x[p]) else real(0)
    for m in range(at.size):
        p = at[m] + x.size if at[m] < 0 else at[m]
        cv[m] = each[p] if v[m] == y[p] or v[m] != v[m] else real(0)


@njit(nogil=True, error_model="numpy")
def segment_product(out: Any, at: Any, v: Any, outside: Any) -> None:
    """``out[at[m]] *= v[m]`` in the order of m."""
    for m in range(at.size):
        p = _place(at[m], out.size, outside)
        if p < 0:
            return
        out[p] *= v[m]


@njit(nogil=True, error_model="numpy")
def segment_product_backward(
    g: Any, y: Any, v: Any, at: Any, x: Any, each: Any, cv: Any, cx: Any, outside: Any
) -> None:
    """What stands behind an element in its segment, then times what stands ahead of it."""
    each[:] = 1
    for m in range(at.size - 1, -1, -1):
        p = _place(at[m], x.size, outside)
        if p < 0:
            return
        cv[m] = each[p]
        each[p] *= v[m]
    for p in range(x.size):
        cx[p] = g[p] * each[p]
        each[p] = x[p]
    for m in range(at.size):
        p = at[m] + x.size if at[m] < 0 else at[m]
        cv[m] = g[p] * (each[p] * cv[m])
        each[p] *= v[m]
