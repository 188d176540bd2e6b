"""Index maps made elementwise, where they are: one-hot scatters and gathers of one element a row.

The cotangent of `x[np.arange(n), labels]` adds into one element of each row. Written as a choice it
fuses with the rest of the row; so does the gather itself once it stands at the operands of the
elementwise operations before it. Both keep NumPy's meaning for valid indices; what is out of bounds
is still found by the gather, which stays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.types import ArrayType
from funcgrad.graph.ir import Atom, Equation, Graph, Literal, Var
from funcgrad.ops import records
from funcgrad.ops.arithmetic import WHERE
from funcgrad.ops.index import GATHER, SCATTER_ADD
from funcgrad.ops.shape import BROADCAST, RESHAPE
from funcgrad.passes.rewrite import Rewriter, rewrite

__all__ = ["counts_rows", "one_hot", "sink_gathers"]

SHRINKS_BY = 4  # a gather sinks where it takes at most one element in so many


def counts_rows(array: Any, size: int) -> bool:
    """Whether an index array is 0, 1, … size - 1."""
    return (
        array is not None
        and np.shape(array) == (size,)
        and np.asarray(array).dtype.kind in "iu"
        and bool(np.array_equal(array, np.arange(size)))
    )


def _array(r: Rewriter, a: Atom) -> Any:
    return r.arrays.get(a) if isinstance(a, Var) else None


def one_hot(graph: Graph) -> Graph:
    """`scatter_add` of one element into each row, as a choice by the column."""
    checked = _gathered(graph)

    def rule(r: Rewriter, e: Equation) -> tuple[Atom, ...] | None:
        if e.prim is not SCATTER_ADD or len(e.inputs) != 3 or len(e.params["shape"]) != 2:
            return None
        g, rows, columns = e.inputs
        n, m = e.params["shape"]
        if g.type.dtype.kind != "f" or not counts_rows(_array(r, rows), n) or m == 0:
            return None
        if columns.type.shape != (n,) or columns not in checked:
            return None  # only the gather over the same indices finds those out of bounds
        if g.type.shape not in ((n,), ()):
            return None
        return (_choose(r, g, columns, n, m),)

    return rewrite(graph, rule)


def _gathered(graph: Graph) -> set[Atom]:
    """The index operands over which some gather checks the bounds."""
    live = [e for e in graph.equations if e.prim is GATHER]
    return {a for e in live for a in e.inputs[1:]}


def _choose(r: Rewriter, g: Atom, columns: Atom, n: int, m: int) -> Atom:
    kind = columns.type.dtype
    zero = r.literal(kind.type(0))
    (negative,) = r.append(records.LESS, (columns, zero))
    (wrapped,) = r.append(records.ADD, (columns, r.literal(kind.type(m))))
    (at,) = r.append(WHERE, (negative, wrapped, columns))
    (at,) = r.append(RESHAPE, (at,), {"shape": (n, 1)})
    count = r.constant(np.arange(m, dtype=kind))
    (chosen,) = r.append(records.EQUAL, (at, count))
    if g.type.shape == (n,):
        (g,) = r.append(RESHAPE, (g,), {"shape": (n, 1)})
    (made,) = r.append(WHERE, (chosen, g, r.literal(g.type.dtype.type(0))))
    return made


def sink_gathers(graph: Graph) -> Graph:
    """Gathers moved from the result of an elementwise operation to its operands."""
    while True:
        moved: list[Equation] = []

        def rule(r: Rewriter, e: Equation, moved: list[Equation] = moved) -> Any:
            found = _sink(r, e)
            if found is not None:
                moved.append(e)
            return found

        graph = rewrite(graph, rule)
        if not moved:
            return graph


def _sink(r: Rewriter, e: Equation) -> tuple[Atom, ...] | None:
    if e.prim is not GATHER or not isinstance(e.inputs[0], Var):
        return None
    x, *indices = e.inputs
    assert isinstance(x, Var)
    made = r.made.get(x)
    if made is None or made.scope != e.scope:
        return None
    aval, out = x.type, e.outputs[0].type
    if out.size * SHRINKS_BY > aval.size or len(indices) != aval.ndim:
        return None
    if not made.prim.aligned:
        return None
    if not all(_can_gather(a, aval) for a in made.inputs):
        return None
    found = r.append(made.prim, [_gather(r, a, aval, indices) for a in made.inputs], made.params)
    return found if found[0].type == out else None


def _can_gather(a: Atom, whole: ArrayType) -> bool:
    """Whether `_gather` knows the elements of an operand; along some axes it may have one."""
    shape = a.type.shape
    if isinstance(a, Literal) or not shape:
        return True
    own = whole.shape[len(whole.shape) - len(shape) :]
    return any(n == m for n, m in zip(shape, own, strict=True))


def _gather(r: Rewriter, a: Atom, whole: ArrayType, indices: list[Atom]) -> Atom:
    """The elements of an operand that go into those of the result."""
    if isinstance(a, Literal) or a.type.shape == ():
        return a
    if a.type.shape == whole.shape:
        return r.append(GATHER, (a, *indices))[0]
    # an axis along which the operand is spread has one element, whatever the index says; one that
    # counts the rows, and has all of them, needs no gather at all
    lead = len(whole.shape) - len(a.type.shape)
    kept = [k for k, n in enumerate(a.type.shape) if n == whole.shape[lead + k]]
    shape = tuple(a.type.shape[k] for k in kept)
    (flat,) = r.append(RESHAPE, (a,), {"shape": shape})
    if len(kept) == 1 and counts_rows(_array(r, indices[lead + kept[0]]), shape[0]):
        return flat
    result = np.broadcast_shapes(*(i.type.shape for i in indices))
    (found,) = r.append(GATHER, (flat, *(indices[lead + k] for k in kept)))
    if found.type.shape == result:
        return found
    return r.append(BROADCAST, (found,), {"shape": result})[0]
