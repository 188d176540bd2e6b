"""Rows that are taken apart and put together: ``np.stack([y[0], y[1], ...])`` is ``y``.

A loop that appends to a list, and `numpy.stack` of the list after it, is staged as one read of the
stacked rows for each step; its derivative as one slice of the cotangent for each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from funcgrad.core.types import ArrayType
from funcgrad.graph.ir import Atom, Equation, Var
from funcgrad.ops.index import GETITEM
from funcgrad.ops.shape import RESHAPE

__all__ = ["joined_rows", "row_of_slice"]

SHORTEST = 8  # rows that are joined to one slice, at the least

Reads = Mapping[Var, Equation]


class _Row(NamedTuple):
    """A row of an array, as it lies in what is joined: with an axis of its own, or without."""

    source: Var
    row: int
    shape: tuple[int, ...]


def row_of_slice(e: Equation, reads: Reads) -> Equation:
    """A reshaping of ``x[k:k+1]`` that drops the axis, as ``x[k]``; any other as it is."""
    (a,) = e.inputs
    read = reads.get(a) if isinstance(a, Var) else None
    if read is None or len(read.params.get("index", ())) != 1:
        return e
    (item,) = read.params["index"]
    if type(item) is not tuple or a.type.shape[:1] != (1,):
        return e
    if e.outputs[0].type.shape != a.type.shape[1:] or type(item[0]) is not int or item[0] < 0:
        return e
    return e._replace(prim=GETITEM, inputs=read.inputs, params={"index": (item[0],)})


def joined_rows(e: Equation, reads: Reads, var: Callable[[ArrayType], Var]) -> list[Equation]:
    """A concatenation along the first axis with runs of rows as slices; the equation comes last."""
    if e.params["axis"] != 0 or len(e.inputs) < SHORTEST:
        return [e]
    before: list[Equation] = []
    inputs: list[Atom] = []
    at = 0
    while at < len(e.inputs):
        stop = _end_of_run(e.inputs, at, reads)
        if stop - at >= SHORTEST:
            before += _slice(e, at, stop, reads, var)
            inputs.append(before[-1].outputs[0])
        else:
            inputs += e.inputs[at:stop]
        at = stop
    if not before:
        return [e]
    if len(inputs) == 1:
        *before, last = before
        return [*before, last._replace(outputs=e.outputs)]
    return [*before, e._replace(inputs=tuple(inputs))]


def _row(a: Atom, reads: Reads) -> _Row | None:
    e = reads.get(a) if isinstance(a, Var) else None
    if e is not None and e.prim is RESHAPE:
        (a,) = e.inputs
        e = reads.get(a) if isinstance(a, Var) else None
    if e is None or e.prim is not GETITEM or len(e.params["index"]) != 1:
        return None
    (row,) = e.params["index"]
    source = e.inputs[0]
    if type(row) is not int or row < 0 or not isinstance(source, Var):
        return None
    return _Row(source, row, source.type.shape[1:])


def _end_of_run(atoms: tuple[Atom, ...], at: int, reads: Reads) -> int:
    """Where the rows end that follow one another in one array."""
    first = _row(atoms[at], reads)
    shape = atoms[at].type.shape
    if first is None or shape not in (first.shape, (1, *first.shape)):
        return at + 1
    stop = at + 1
    while stop < len(atoms):
        row = _row(atoms[stop], reads)
        ahead = first.row + stop - at
        if row is None or (row.source, row.row) != (first.source, ahead):
            break
        if atoms[stop].type.shape != shape:
            break
        stop += 1
    return stop


def _slice(
    e: Equation, at: int, stop: int, reads: Reads, var: Callable[[ArrayType], Var]
) -> list[Equation]:
    """What gives the rows from `at` to `stop` of a concatenation at once."""
    first = _row(e.inputs[at], reads)
    assert first is not None
    count, kind = stop - at, first.source.type
    rows = var(ArrayType((count, *first.shape), kind.dtype))
    index: dict[str, Any] = {"index": ((first.row, first.row + count, 1),)}
    found = [e._replace(prim=GETITEM, inputs=(first.source,), params=index, outputs=(rows,))]
    shape = e.inputs[at].type.shape
    if shape == first.shape:  # joined end to end
        flat = (count * shape[0], *shape[1:])
        out = var(ArrayType(flat, kind.dtype))
        params: dict[str, Any] = {"shape": flat}
        found.append(e._replace(prim=RESHAPE, inputs=(rows,), params=params, outputs=(out,)))
    return found
