"""Scatters, running sums and products, and sorting on large arrays: by kernels.

They stand in front of the values of their primitives, so whatever is derived from them takes them
too: the backward passes of indexing, `take`, `gather`, sums of segments, `cumsum`, `cumprod`,
`logcumsumexp`, `sort` and `topk`, to any order. They add in NumPy's order. It imports NumPy, not
Numba.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from funcgrad.kernels import memory, pieces
from funcgrad.kernels.choice import FEWEST, Entry, entry_of
from funcgrad.kernels.pieces import FIRST, LAST, Cut
from funcgrad.ops.cumulative import CUMSUM, RECURRENCE
from funcgrad.ops.index import SCATTER_ADD
from funcgrad.ops.sort import ARGSORT, PERMUTE

__all__ = ["install", "sorted_by_place"]

ndarray = np.ndarray[Any, Any]
FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
Attempt = Callable[..., Any]


def _first(name: str, attempt: Attempt, last: int) -> Callable[..., Any]:
    """`attempt` in front of the values of NumPy, where its array operands are large.

    ``attempt(entry, *operands, **params)`` gives None for what it does not take. Operands before
    the place `last` are floats of one dtype.
    """

    def kernel(impl: Callable[..., Any], *xs: Any, **params: Any) -> Any:
        x = xs[0]
        if type(x) is not np.ndarray or x.size < FEWEST or x.dtype not in FLOATS:
            return impl(*xs, **params)
        if not all(type(y) is np.ndarray and y.dtype == x.dtype for y in xs[1:last]):
            return impl(*xs, **params)
        entry = entry_of(name, x.dtype.char)
        if entry.taken(x.size):
            found = attempt(entry, *xs, **params)
            if found is not None:
                return found
        start = perf_counter()
        found = impl(*xs, **params)
        entry.spent(start)
        return found

    return kernel


# ---------------------------------------------------------------------------------- running


def _lines(x: ndarray, axis: int) -> ndarray:
    """`x` as (outer, along, inner), written as the kernels want it."""
    shape = x.shape
    if not (x.flags.c_contiguous and x.flags.aligned and x.flags.writeable):
        dense = memory.empty(shape, x.dtype)
        np.copyto(dense, x)
        x = dense
    return x.reshape(math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :]))


def _turned(x: ndarray, axis: int) -> tuple[ndarray, bool]:
    """`x` read from its end along `axis`, where that is how it lies in memory."""
    back = x.strides[axis] < 0
    return (np.flip(x, axis) if back else x), back


def _run(entry: Entry, lines: Sequence[ndarray], rest: tuple[Any, ...] = ()) -> bool:
    """Call a kernel on lines, in several threads if that pays; False if it cannot be."""
    outer, count, inner = lines[0].shape
    size = outer * count * inner
    if outer > 1:
        return pieces.run(entry, [*(Cut(x, 0) for x in lines), *rest, 0, inner], outer, size)
    return pieces.run(entry, [*lines, *rest, FIRST, LAST], inner, size)


def _cumsum(entry: Entry, x: Any, axis: int, dtype: Any) -> Any:
    if dtype is not None and dtype != x.dtype:
        return None
    given, back = _turned(x, axis)
    out = memory.empty(x.shape, x.dtype)
    found = _run(entry, [_lines(given, axis), _lines(out, axis)], (back,))
    return (np.flip(out, axis) if back else out) if found else None


def _recurrence(entry: Entry, a: Any, b: Any, axis: int) -> Any:
    if a.shape != b.shape:
        return None
    given, back = _turned(b, axis)
    factors = np.flip(a, axis) if back else a
    out = memory.empty(b.shape, b.dtype)
    lines = [_lines(v, axis) for v in (factors, given, out)]
    found = _run(entry, lines, (back,))
    return (np.flip(out, axis) if back else out) if found else None


# ---------------------------------------------------------------------------------- scatter


def _scatter_add(entry: Entry, g: Any, *indices: Any, shape: tuple[int, ...]) -> Any:
    count = len(indices)
    extents, tail = shape[:count], shape[count:]
    where = np.broadcast_shapes(*(np.shape(i) for i in indices))
    if g.shape != where + tail or 0 in shape:
        return None
    if count == len(shape) == 1:
        return None  # NumPy is as fast for vectors
    at: Any = 0
    for index, extent in zip(indices, extents, strict=True):
        index = np.asarray(index)
        if index.dtype.kind not in "iu":
            return None
        index = index.astype(np.intp, copy=False)
        if index.size and (index.min() < -extent or index.max() >= extent):
            return None  # NumPy has the error
        at = at * extent + np.where(index < 0, index + extent, index)
    at = np.array(np.broadcast_to(at, where), order="C").reshape(-1)
    columns = math.prod(tail)
    out = np.zeros(shape, g.dtype)
    rows = out.reshape(math.prod(extents), columns)
    given = _lines(g.reshape(at.size, columns), 0).reshape(at.size, columns)
    blocks = -(-columns // LINE)
    # threads share columns, never rows: each sum is made by one of them, in order
    arguments = [rows, given, at, FIRST, LAST, LINE]
    return out if pieces.run(entry, arguments, blocks, g.size) else None


LINE = 16  # columns, of which two threads write no part of the same cache line


# ------------------------------------------------------------------------------------- sort


def _permute(entry: Entry, x: Any, order: Any, axis: int, back: bool) -> Any:
    if order.shape != x.shape or order.dtype != np.intp:
        return None
    out = memory.empty(x.shape, x.dtype)
    lines = [_lines(v, axis) for v in (x, order, out)]
    return out if entry.run(*lines, back) else None


def _argsort(entry: Entry, x: Any, axis: int, kind: Any) -> Any:
    """The stable order, from the quicker one that leaves equal elements in any."""
    if kind != "stable" or axis != x.ndim - 1:
        return None
    order = np.argsort(x, axis)
    rows = _lines(x, axis)[..., 0]
    return order if entry.run(rows, order.reshape(rows.shape)) else None


def sorted_by_place(at: ndarray, counts: ndarray) -> ndarray:
    """The stable permutation that sorts the places `at`, of which there are `counts` of each."""
    entry = entry_of("sort_by_place", at.dtype.char)
    if at.size >= FEWEST and at.dtype == np.intp and entry.taken(at.size):
        order = np.empty(at.size, np.intp)
        if entry.run(np.ascontiguousarray(at), np.cumsum(counts) - counts, order):
            return order
    start = perf_counter()
    order = np.argsort(at, kind="stable")
    entry.spent(start)
    return order


def install() -> None:
    """Put the kernels in front of the values of their primitives."""
    SCATTER_ADD.take_kernel(_first("scatter_add", _scatter_add, 1))
    CUMSUM.take_kernel(_first("cumsum", _cumsum, 1))
    RECURRENCE.take_kernel(_first("recurrence", _recurrence, 2))
    PERMUTE.take_kernel(_first("permute", _permute, 1))
    ARGSORT.take_kernel(_first("stable_argsort", _argsort, 1))
