"""Rows that are taken apart and put together: ``np.stack([y[0], y[1], ...])`` is ``y``.

A loop that appends to a list, and `numpy.stack` of the list after it, is staged as one read of the
stacked rows for each step; its derivative as one slice of the cotangent for each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from funcgrad.core.primitive import Primitive
from funcgrad.core.types import ArrayType
from funcgrad.graph.ir import Atom, Equation, Var
from funcgrad.ops.index import GETITEM
from funcgrad.ops.shape import CONCATENATE, RESHAPE

__all__ = ["joined_rows", "row_of_slice"]

SHORTEST = 8  # rows that are joined to one slice, at the least
PARTS = 8  # arrays whose rows take turns, at the most

Reads = Mapping[Var, Equation]


class _Run(NamedTuple):
    """Rows at even distances."""

    step: int
    number: int


class _Row(NamedTuple):
    """A row of an array, and its shape in what is joined: with an axis of its own, or without."""

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
    rows = [_row(a, reads) for a in e.inputs]
    while at < len(rows):
        run = _run(rows, at)
        if run is None:
            inputs.append(e.inputs[at])
            at += 1
            continue
        before += _slices(e, rows[at : at + len(run)], run, at, var)
        inputs.append(before[-1].outputs[0])
        at += len(run) * run[0].number
    if not before:
        return [e]
    if len(inputs) == 1:
        *before, last = before
        return [*before, last._replace(outputs=e.outputs)]
    return [*before, e._replace(inputs=tuple(inputs))]


def _row(a: Atom, reads: Reads) -> _Row | None:
    aval = a.type
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
    shape = source.type.shape[1:]
    return _Row(source, row, aval.shape) if aval.shape in (shape, (1, *shape)) else None


def _run(rows: list[_Row | None], at: int) -> list[_Run] | None:
    """The longest run of rows at even distances of one array, or of some arrays by turns."""
    for parts in range(1, min(PARTS, len(rows) - at - 1) + 1):
        found = _turns(rows, at, parts)
        if found is not None and parts * found[0].number >= SHORTEST:
            return found
    return None


def _turns(rows: list[_Row | None], at: int, parts: int) -> list[_Run] | None:
    steps = []
    for k in range(at, at + parts):
        one, next_ = rows[k], rows[k + parts] if k + parts < len(rows) else None
        if one is None or next_ is None or one.shape != (rows[at] or one).shape:
            return None
        steps.append(next_.row - one.row)
    if not all(steps):
        return None
    count = 1
    while at + (count + 1) * parts <= len(rows):
        for k, step in enumerate(steps):
            one, here = rows[at + k], rows[at + count * parts + k]
            assert one is not None
            if here != _Row(one.source, one.row + count * step, one.shape):
                return [_Run(step, count) for step in steps] if count > 1 else None
        count += 1
    return [_Run(step, count) for step in steps] if count > 1 else None


def _slices(
    e: Equation,
    rows: list[_Row | None],
    run: list[_Run],
    at: int,
    var: Callable[[ArrayType], Var],
) -> list[Equation]:
    """What gives the rows of a run of a concatenation at once."""
    made: list[Equation] = []

    def emit(prim: Primitive, inputs: tuple[Atom, ...], params: Any, shape: Any) -> Var:
        out = var(ArrayType(shape, inputs[0].type.dtype))
        made.append(e._replace(prim=prim, inputs=inputs, params=params, outputs=(out,)))
        return out

    parts = []
    for row, (step, count) in zip(rows, run, strict=True):
        assert row is not None
        stop = row.row + count * step
        index = ((row.row, stop if stop >= 0 else None, step),)
        shape = (count, *row.source.type.shape[1:])
        parts.append(emit(GETITEM, (row.source,), {"index": index}, shape))
    extent, *rest = e.inputs[at].type.shape
    count, shape = run[0].number, parts[0].type.shape
    out = parts[0]
    if len(parts) > 1:
        longer = (count, 1, *shape[1:])
        turned = tuple([emit(RESHAPE, (v,), {"shape": longer}, longer) for v in parts])
        out = emit(CONCATENATE, turned, {"axis": 1}, (count, len(parts), *shape[1:]))
    whole = (count * len(parts) * extent, *rest)
    if out.type.shape != whole:
        emit(RESHAPE, (out,), {"shape": whole}, whole)
    return made
