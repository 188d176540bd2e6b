"""Constant positions that are slices, written as slices, which cost nothing.

NumPy code that writes into parts of an array, or pads it, becomes `put` at flat positions that are
known; where they are those of a slice the result is a choice between the written values, moved
there, and the array. Gathers at such positions are views. What remains reads positions from memory.
A slice of what was put into zeros is a slice of what was put there, or zeros: so is a column of the
cotangent of another column, which the backward pass of a loop reads step by step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.graph.ir import Atom, Equation, Graph, Var
from funcgrad.ops.arithmetic import WHERE
from funcgrad.ops.index import GATHER, GETITEM, PLACE, PUT, SCATTER_ADD, WINNERS
from funcgrad.ops.shape import BROADCAST, RESHAPE
from funcgrad.passes.rewrite import Rewriter, rewrite

__all__ = ["slices"]

Index = tuple[tuple[int, int | None, int], ...]
WHOLE = (None, None, None)


def slices(graph: Graph) -> Graph:
    """The graph with writes and reads at constant positions made slices where they are some."""

    def rule(r: Rewriter, e: Equation) -> tuple[Atom, ...] | None:
        if e.prim is PUT:
            return _put(r, e)
        if e.prim is GATHER:
            return _gather(r, e)
        if e.prim is SCATTER_ADD:
            return _scatter(r, e)
        if e.prim is GETITEM:
            return _slice_of_place(r, e)
        if e.prim is WINNERS and (positions := _constant(r, e.inputs[0])) is not None:
            return (r.constant(WINNERS.impl(positions, **e.params)),)
        return None

    return rewrite(graph, rule)


def _constant(r: Rewriter, a: Atom) -> Any:
    return r.arrays.get(a) if isinstance(a, Var) else None


def grid(positions: Any, shape: tuple[int, ...]) -> tuple[Index, tuple[int, ...]] | None:
    """The slices, and their extents, that choose these flat positions in this order.

    Examples
    --------
    >>> grid(np.array([4, 5, 7, 8]), (3, 3))
    (((1, 3, 1), (1, 3, 1)), (2, 2))
    """
    flat, size = np.asarray(positions).reshape(-1), int(np.prod(shape))
    if flat.size == 0 or not shape or flat.min() < -size or flat.max() >= size:
        return None
    places = np.unravel_index(flat % size, shape)
    extents = tuple(len(np.unique(p)) for p in places)
    if int(np.prod(extents)) != flat.size:
        return None
    index = []
    for axis, (p, n) in enumerate(zip(places, extents, strict=True)):
        line = p.reshape(extents)[tuple(slice(None) if k == axis else 0 for k in range(len(shape)))]
        step = int(line[1] - line[0]) if n > 1 else 1
        start, stop = int(line[0]), int(line[0]) + n * step
        known = (start + step * np.arange(n)).reshape(
            [-1 if k == axis else 1 for k in range(len(shape))]
        )
        if not np.array_equal(np.broadcast_to(known, extents), p.reshape(extents)):
            return None
        index.append((start, stop if stop >= 0 else None, step))
    return tuple(index), extents


def _put(r: Rewriter, e: Equation) -> tuple[Atom, ...] | None:
    x, at, v = e.inputs
    positions = _constant(r, at)
    if positions is None or v.type.dtype != x.type.dtype or v.type.weak:
        return None
    found = grid(positions, x.type.shape)
    if found is None:
        return None
    index, extents = found
    params = {"shape": x.type.shape, "index": index}
    (v,) = r.append(RESHAPE, (v,), {"shape": extents})
    (placed,) = r.append(PLACE, (v,), params)
    (true,) = r.append(BROADCAST, (r.literal(np.True_),), {"shape": extents})
    (written,) = r.append(PLACE, (true,), params)
    return r.append(WHERE, (written, placed, x))


def _leading(
    r: Rewriter, indices: Sequence[Atom], shape: tuple[int, ...]
) -> tuple[Index, tuple[int, ...]] | None:
    """The slices of leading axes that constant index arrays choose, one array for each axis."""
    arrays = [_constant(r, a) for a in indices]
    lead = shape[: len(arrays)]
    if any(a is None for a in arrays):
        return None
    if any(a.size and (a.min() < -n or a.max() >= n) for a, n in zip(arrays, lead, strict=True)):
        return None
    inside = tuple(np.asarray(a) % max(n, 1) for a, n in zip(arrays, lead, strict=True))
    inside = np.broadcast_arrays(*inside)
    return grid(np.ravel_multi_index(inside, lead), lead) if inside[0].size else None


def _gather(r: Rewriter, e: Equation) -> tuple[Atom, ...] | None:
    x, *indices = e.inputs
    made = r.made.get(x) if isinstance(x, Var) else None
    flat = made is not None and made.prim is RESHAPE and made.scope == e.scope
    if (
        made is not None
        and flat
        and x.type.ndim == 1
        and (at := _constant(r, indices[0])) is not None
    ):
        (x,) = made.inputs
        found = grid(at, x.type.shape)
    else:
        found = _leading(r, indices, x.type.shape)
    if found is None:
        return None
    (part,) = r.append(GETITEM, (x,), {"index": found[0]})
    return r.append(RESHAPE, (part,), {"shape": e.outputs[0].type.shape})


def _scatter(r: Rewriter, e: Equation) -> tuple[Atom, ...] | None:
    g, *indices = e.inputs
    shape = e.params["shape"]
    found = _leading(r, indices, shape)
    if found is None or g.type.weak:
        return None
    index, extents = found
    whole = np.broadcast_shapes(*(i.type.shape for i in indices)) + shape[len(indices) :]
    if g.type.shape != whole:
        (g,) = r.append(BROADCAST, (g,), {"shape": whole})
    (part,) = r.append(RESHAPE, (g,), {"shape": extents + shape[len(indices) :]})
    return r.append(PLACE, (part,), {"shape": shape, "index": index})


def _slice_of_place(r: Rewriter, e: Equation) -> tuple[Atom, ...] | None:
    """What was put where a slice is: along an axis of which it takes all, it may lie anywhere."""
    (a,), out = e.inputs, e.outputs[0].type
    made = r.made.get(a) if isinstance(a, Var) else None
    if made is None or made.prim is not PLACE or made.scope != e.scope or not out.size:
        return None
    (x,), shape = made.inputs, a.type.shape
    put, taken = _of_each_axis(made, shape), _of_each_axis(e, shape)
    if put is None or taken is None or x.type.dtype != out.dtype or x.type.weak:
        return None
    own: list[Any] = []  # the index of what was put
    left: list[Any] = []  # where that lies in what is taken
    for p, t, n in zip(put, taken, shape, strict=True):
        places, wanted = _places(p, n), _places(t, n)
        if _apart(places, wanted):
            zero = r.literal(out.dtype.type(0))
            return r.append(BROADCAST, (zero,), {"shape": out.shape}) if out.ndim else (zero,)
        if wanted == range(n) and places != wanted:
            own += [WHOLE] * isinstance(p, tuple)
            left.append(p)
        elif not _within(wanted, places):
            return None
        elif isinstance(p, tuple):
            first, last = places.index(wanted[0]), places.index(wanted[-1])
            step = wanted.step // places.step if first != last else 1
            stop = last + (1 if step > 0 else -1)
            own.append((first, stop if stop >= 0 else None, step) if type(t) is tuple else first)
            left += [WHOLE] * isinstance(t, tuple)
        elif isinstance(t, tuple):
            left.append(0)
    (part,) = r.append(GETITEM, (x,), {"index": tuple(own)}) if own else (x,)
    if all(i == WHOLE for i in left):
        return (part,)
    return r.append(PLACE, (part,), {"shape": out.shape, "index": tuple(left)})


def _of_each_axis(e: Equation, shape: tuple[int, ...]) -> list[Any] | None:
    """The integer or slice of each axis; None where there are new axes."""
    index = list(e.params["index"])
    if None in index:
        return None
    k = index.index(Ellipsis) if Ellipsis in index else len(index)
    index[k : k + 1] = [WHOLE] * (len(shape) - len(index) + (Ellipsis in index))
    return index


def _places(i: int | tuple[int | None, int | None, int | None], n: int) -> range:
    """The places along an axis of `n` elements that an index takes."""
    return range(n)[slice(*i)] if isinstance(i, tuple) else range(n)[i : i + 1 or None]


def _within(some: range, places: range) -> bool:
    ends = some[0] in places and some[-1] in places
    return ends and (len(some) == 1 or some.step % places.step == 0)


def _apart(one: range, other: range) -> bool:
    """Whether two ranges surely have nothing in common."""
    if not one or not other or len(one) == 1 or len(other) == 1:
        shorter, longer = sorted((one, other), key=len)
        return not shorter or shorter[0] not in longer
    ends = [sorted((x[0], x[-1])) for x in (one, other)]
    return max(first for first, _ in ends) > min(last for _, last in ends)
