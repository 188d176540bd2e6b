"""Scatters, running sums, products and extrema, and sorting on large arrays: by kernels.

They stand in front of the values of their primitives, so whatever is derived from them takes them
too: the backward passes of indexing, `take`, `gather`, sums of segments, `cumsum`, `cumprod`,
`logcumsumexp`, `sort` and `topk`, to any order. They add in NumPy's order. It imports NumPy, not
Numba.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.core import memory
from funcgrad.kernels import pieces, threads
from funcgrad.kernels.choice import FEWEST, FLOATS, Entry, entry_of
from funcgrad.kernels.copies import copy_of, zeros
from funcgrad.kernels.pieces import FIRST, LAST, Cut
from funcgrad.ops.cumulative import CUMPROD, CUMSUM, RECURRENCE
from funcgrad.ops.index import ADD_AT, GATHER, SCATTER_ADD
from funcgrad.ops.order import RUNNING_EXTREMUM
from funcgrad.ops.sort import ARGSORT, PERMUTE

ndarray = np.ndarray[Any, Any]
Attempt = Callable[..., Any]


def _first(name: str, attempt: Attempt, *floats: int) -> Callable[..., Any]:
    """`attempt` in front of the values of NumPy, where one of its array operands is large.

    ``attempt(entry, *operands, **params)`` gives None for what it does not take. The operands at
    the places 0 and `floats` are floats of one dtype.
    """

    def kernel(impl: Callable[..., Any], *xs: Any, **params: Any) -> Any:
        x = xs[0]
        if type(x) is not np.ndarray or x.dtype not in FLOATS:
            return impl(*xs, **params)
        size = max(x.size, *(np.size(xs[k]) for k in floats)) if floats else x.size
        if size < FEWEST:
            return impl(*xs, **params)
        if not all(type(xs[k]) is np.ndarray and xs[k].dtype == x.dtype for k in floats):
            return impl(*xs, **params)
        entry = entry_of(name, x.dtype.char)
        if entry.taken():
            found = attempt(entry, *xs, **params)
            if found is not None:
                return found
        found = impl(*xs, **params)
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
    if not size:  # kernels begin with the first element of a line without asking
        return True
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


def _cumprod(entry: Entry, x: Any, axis: int, dtype: Any) -> Any:
    if dtype is not None and dtype != x.dtype:
        return None
    out = memory.empty(x.shape, x.dtype)
    return out if _run(entry, [_lines(x, axis), _lines(out, axis)]) else None


def _cumprod_backward(node: Any, g: Any, owned: bool = False) -> tuple[Sequence[Any], bool]:
    """The cotangent of the factors of a running product; see `BackwardKernel`."""
    y, x = node.saved
    axis = node.params["axis"]
    if g.dtype in FLOATS and type(y) is type(x) is np.ndarray and g.dtype == y.dtype == x.dtype:
        entry = entry_of("cumprod_backward", g.dtype.char)
        if entry.taken():
            c = memory.empty(x.shape, x.dtype)
            if _run(entry, [_lines(v, axis) for v in (g, y, x, c)]):
                return [c], True
    return node.prim.vjp(node, g), False


def _running_extremum(entry: Entry, x: Any, axis: int, largest: bool) -> Any:
    place = memory.empty(x.shape, np.dtype(np.intp))
    sign = x.dtype.type(1 if largest else -1)
    lines = [_lines(x, axis), _lines(place, axis)]
    outer, _, inner = lines[0].shape
    if outer > 1:
        cut = [Cut(lines[0], 0), sign, Cut(lines[1], 0), 0, inner]
        return place if pieces.run(entry, cut, outer, x.size) else None
    whole = [lines[0], sign, lines[1], FIRST, LAST]
    return place if pieces.run(entry, whole, inner, x.size) else None


# ---------------------------------------------------------------------------------- scatter


def _add_at(entry: Entry, x: Any, positions: Any, v: Any) -> Any:
    if np.asarray(positions).dtype != np.intp or positions.shape != v.shape or not x.size:
        return None
    out = copy_of(x)
    return out if _added(entry, out.reshape(-1), positions, v) else None


def _added(entry: Entry, out: ndarray, at: ndarray, v: ndarray) -> bool:
    """Add `v` at the places `at` of a flat array; False, and anything, if one is outside."""
    outside = np.zeros(1, np.int64)
    flat = [np.ascontiguousarray(at).reshape(-1), _lines(v.reshape(-1), 0).reshape(-1)]
    return pieces.run(entry, [out, *flat, outside]) and not outside[0]


def _axis_of_lines(shape: tuple[int, ...], indices: Sequence[Any]) -> int | None:
    """The axis along which the other indices only count, as in `take_along_axis`."""
    where = np.broadcast_shapes(*map(np.shape, indices))
    if len(indices) != len(shape) or len(where) != len(shape):
        return None
    free = [k for k, i in enumerate(indices) if not _counts(i, k, shape)]
    if len(free) > 1:
        return None
    axis = free[0] if free else 0
    return axis if where == (*shape[:axis], where[axis], *shape[axis + 1 :]) else None


def _counts(index: Any, axis: int, shape: tuple[int, ...]) -> bool:
    """Whether an index is 0, 1, … along its axis, and the same along all others."""
    n = shape[axis]
    form = (n,) + (1,) * (len(shape) - axis - 1)
    index = np.asarray(index)
    if index.size != n or index.shape[-len(form) :] != form:
        return False
    return bool((index.reshape(-1) == np.arange(n)).all())


def _along(name: str, x: Any, axis: int, indices: Sequence[Any], count: int) -> Any:
    """Run a kernel from `x` to lines of `count` elements, by positions along an axis."""
    at = np.broadcast_to(indices[axis], np.broadcast_shapes(*map(np.shape, indices)))
    entry = entry_of(name, x.dtype.char)
    if at.dtype != np.intp or not entry.taken():
        return None
    shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
    out, outside = memory.empty(shape, x.dtype), np.zeros(1, np.int64)
    lines = [_lines(v, axis) for v in (x, at, out)]
    return out if _run(entry, lines, (outside,)) and not outside[0] else None


def _gather(entry: Entry, x: Any, *indices: Any) -> Any:
    if x.ndim < 2 or 0 in x.shape:
        return None  # NumPy is faster for vectors
    axis = _axis_of_lines(x.shape, indices)
    if axis is None:
        return None
    where = np.broadcast_shapes(*map(np.shape, indices))
    return _along("take_along", x, axis, indices, where[axis])


def _scatter_add(entry: Entry, g: Any, *indices: Any, shape: tuple[int, ...]) -> Any:
    count = len(indices)
    axis = _axis_of_lines(shape, indices)
    if axis is not None and count > 1 and 0 not in (*shape, *g.shape):
        found = _along("add_along", g, axis, indices, shape[axis])
        if found is not None:
            return found
    extents, tail = shape[:count], shape[count:]
    where = np.broadcast_shapes(*(np.shape(i) for i in indices))
    if g.shape != where + tail or 0 in shape:
        return None
    if count == len(shape) == 1:
        return _scatter_add_flat(g, np.broadcast_to(indices[0], where), shape)
    at = _rows(indices, extents, where)
    if at is None:
        return None
    columns = math.prod(tail)
    out = zeros(shape, g.dtype)
    rows = out.reshape(math.prod(extents), columns)
    given = _lines(g.reshape(at.size, columns), 0).reshape(at.size, columns)
    # threads share columns, never rows: each sum is made by one of them, in order
    block = max(1, -(-columns // (LINE * BLOCKS))) * LINE
    blocks = -(-columns // block)
    arguments = [rows, given, at, FIRST, LAST, block]
    return out if pieces.run(entry, arguments, blocks, g.size) else None


def _scatter_add_flat(g: ndarray, at: ndarray, shape: tuple[int, ...]) -> Any:
    entry = entry_of("add_at", g.dtype.char)
    if at.dtype != np.intp or not entry.taken():
        return None
    out = zeros(shape, g.dtype)
    return out if _added(entry, out, at, g) else None


def _rows(indices: Sequence[Any], extents: Sequence[int], where: tuple[int, ...]) -> ndarray | None:
    """Positions along several axes as those along one; None for what NumPy refuses."""
    at: Any = 0
    for index, extent in zip(indices, extents, strict=True):
        index = np.asarray(index)
        if index.dtype.kind not in "iu":
            return None
        index = index.astype(np.intp, copy=False)
        if index.size and (index.min() < -extent or index.max() >= extent):
            return None
        at = at * extent + np.where(index < 0, index + extent, index)
    return np.array(np.broadcast_to(at, where), order="C").reshape(-1)


LINE = 16  # columns, of which two threads write no part of the same cache line
BLOCKS = 4  # of columns: narrow ones are read in short pieces


# ------------------------------------------------------------------------------------- sort


def _permute(entry: Entry, x: Any, order: Any, axis: int, back: bool) -> Any:
    if order.shape != x.shape or order.dtype != np.intp:
        return None
    out = memory.empty(x.shape, x.dtype)
    lines = [_lines(v, axis) for v in (x, order, out)]
    return out if _run(entry, lines, (back,)) else None


def _argsort(entry: Entry, x: Any, axis: int, kind: Any) -> Any:
    """The stable order, from the quicker one that leaves equal elements in any."""
    if kind != "stable":
        return None
    last = x.ndim - 1
    rows = _lines(np.moveaxis(x, axis, last), last)[..., 0]
    order = np.empty(rows.shape, np.intp)

    def work(first: int, end: int) -> None:
        order[first:end] = np.argsort(rows[first:end], 1)

    threads.run(work, len(rows), x.size)
    if not pieces.run(entry, [Cut(rows, 0), Cut(order, 0)], len(rows), x.size):
        return None
    moved = order.reshape(*x.shape[:axis], *x.shape[axis + 1 :], x.shape[axis])
    return np.ascontiguousarray(np.moveaxis(moved, last, axis))


GATHER.take_kernel(_first("take_along", _gather))
SCATTER_ADD.take_kernel(_first("scatter_add", _scatter_add))
ADD_AT.take_kernel(_first("add_at", _add_at, 2))
CUMSUM.take_kernel(_first("cumsum", _cumsum))
CUMPROD.take_kernel(_first("cumprod", _cumprod))
CUMPROD.take_backward_kernel(_cumprod_backward)
RUNNING_EXTREMUM.take_kernel(_first("running_extremum", _running_extremum))
RECURRENCE.take_kernel(_first("recurrence", _recurrence, 1))
PERMUTE.take_kernel(_first("permute", _permute))
ARGSORT.take_kernel(_first("stable_argsort", _argsort))
