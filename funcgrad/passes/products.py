"""Matrix products brought to the form in which they are fastest.

NumPy multiplies stacks of matrices one by one. A stack of vectors times one matrix is one product
of matrices; a product over an axis of extent 1 multiplies, one over an axis of two to four is as
many products and their sum, and one of a row and a column multiplies and sums, all of which fuse
with what stands around them. The transpose of a product is the product of the transposes in turned
order, which BLAS reads as well.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from funcgrad.graph.ir import Atom, Equation, Graph, Var
from funcgrad.ops import records
from funcgrad.ops.index import GETITEM
from funcgrad.ops.product import MATMUL
from funcgrad.ops.shape import CONCATENATE, RESHAPE, TRANSPOSE
from funcgrad.ops.sums import SUM
from funcgrad.passes.rewrite import Rewriter, rewrite

__all__ = ["products", "thin"]

Found = tuple[Atom, ...] | None
SHORT = range(2, 5)
WORTHWHILE = 256  # elements that are multiplied
ALL: tuple[int | None, int | None, int | None] = (None, None, None)


def products(graph: Graph) -> Graph:
    """The graph with its products of stacks written as others where those are faster."""

    uses = Counter(a for e in graph.equations for a in e.inputs)
    uses.update(graph.outputs)

    def rule(r: Rewriter, e: Equation) -> Found:
        if e.prim is TRANSPOSE and e.params["axes"] == (1, 0):
            return _turned_product(r, e.inputs[0], uses)
        if e.prim is not MATMUL:
            return None
        x, y = e.inputs
        aval = e.outputs[0].type
        same = x.type.dtype == y.type.dtype == aval.dtype and aval.dtype.kind == "f"
        if not same or x.type.ndim < 2 or y.type.ndim < 2 or aval.size == 0:
            return None
        if x.type.shape[-1] == 1:
            return r.append(records.MULTIPLY, (x, y))
        if x.type.shape[-1] in SHORT and aval.size >= WORTHWHILE:
            return _few_terms(r, x, y)
        few = aval.ndim > 2 and x.type.shape[-2] in SHORT and y.type.shape[-1] in SHORT
        if few and x.type.shape[-1] >= WORTHWHILE:
            return _few_elements(r, x, y)
        if aval.ndim > 2 and x.type.shape[-2] == y.type.shape[-1] == 1:
            return _dots(r, x, y, aval.shape)
        if x.type.ndim > 2 and y.type.ndim == 2:
            return _rows(r, x, y, aval.shape)
        if x.type.ndim == 2 and y.type.ndim > 2 and y.type.shape[-1] == 1:
            return _columns(r, x, y, aval.shape)
        return thin(r, x, y)

    return rewrite(graph, rule)


def _shaped(r: Rewriter, a: Atom, shape: Sequence[int]) -> Atom:
    return r.append(RESHAPE, (a,), {"shape": tuple(shape)})[0]


def _turned(r: Rewriter, a: Atom) -> Atom:
    axes = tuple(range(a.type.ndim))
    return r.append(TRANSPOSE, (a,), {"axes": (*axes[:-2], axes[-1], axes[-2])})[0]


def _turned_product(r: Rewriter, x: Atom, uses: Counter[Atom]) -> Found:
    """The transpose of a product that nothing else needs: made in the order in which it is read."""
    made = r.made.get(x) if isinstance(x, Var) else None
    if made is None or made.prim is not MATMUL or uses[x] > 1:
        return None
    a, b = made.inputs
    if a.type.ndim != 2 or b.type.ndim != 2:
        return None
    return r.append(MATMUL, (_turned(r, b), _turned(r, a)))


def _dots(r: Rewriter, x: Atom, y: Atom, shape: tuple[int, ...]) -> Found:
    row, column = x.type.shape, y.type.shape
    x, y = _shaped(r, x, (*row[:-2], row[-1])), _shaped(r, y, (*column[:-2], column[-2]))
    (terms,) = r.append(records.MULTIPLY, (x, y))
    last = (len(shape) - 2,)
    (total,) = r.append(SUM, (terms,), {"axes": last, "keepdims": False, "dtype": None})
    return (_shaped(r, total, shape),)


def thin(r: Rewriter, x: Atom, y: Atom) -> Found:
    """A row times each matrix of a stack, or each matrix times a column: products and their sum."""
    left, right = x.type.shape, y.type.shape
    lead = np.broadcast_shapes(left[:-2], right[:-2])
    row, column = left[-2] == 1, right[-1] == 1
    whole = (row and right[:-2] == lead) or (column and left[:-2] == lead)
    if not lead or not whole:
        return None
    pair = (_turned(r, x), y) if row else (x, _turned(r, y))
    (terms,) = r.append(records.MULTIPLY, pair)
    over = (len(lead) + (not row),)
    return r.append(SUM, (terms,), {"axes": over, "keepdims": True, "dtype": None})


def _rows(r: Rewriter, x: Atom, y: Atom, shape: tuple[int, ...]) -> Found:
    """A stack of matrices times one matrix: all their rows at once."""
    made = r.made.get(x) if isinstance(x, Var) else None
    if made is not None and made.prim is TRANSPOSE and x.type.shape[-2] > 1:
        return None  # whose rows would have to be copied
    (found,) = r.append(MATMUL, (_shaped(r, x, (math.prod(shape[:-1]), x.type.shape[-1])), y))
    return (_shaped(r, found, shape),)


def _columns(r: Rewriter, x: Atom, y: Atom, shape: tuple[int, ...]) -> Found:
    """One matrix times a stack of columns: the rows of a matrix times its transpose."""
    columns = _shaped(r, y, (math.prod(shape[:-2]), y.type.shape[-2]))
    (found,) = r.append(MATMUL, (columns, _turned(r, x)))
    return (_shaped(r, found, shape),)


def _part(r: Rewriter, a: Atom, axis: int, k: int) -> Atom:
    """Row (axis -2) or column (-1) k of matrices, as matrices."""
    made = r.made.get(a) if isinstance(a, Var) else None
    if made is not None and made.prim is TRANSPOSE and _turns(made.params["axes"]):
        part = _part(r, made.inputs[0], -3 - axis, k)
        return _turned(r, part)
    index = [ALL] * a.type.ndim
    index[axis] = (k, k + 1, None)
    return r.append(GETITEM, (a,), {"index": tuple(index)})[0]


def _turns(axes: Sequence[int]) -> bool:
    """Whether a transpose is that of the matrices of a stack."""
    n = len(axes)
    return tuple(axes) == (*range(n - 2), n - 1, n - 2)


def _few_terms(r: Rewriter, x: Atom, y: Atom) -> Found:
    """The sum of a few columns times rows."""
    total: Atom | None = None
    for k in range(x.type.shape[-1]):
        (term,) = r.append(records.MULTIPLY, (_part(r, x, -1, k), _part(r, y, -2, k)))
        total = term if total is None else r.append(records.ADD, (total, term))[0]
    assert total is not None
    return (total,)


def _few_elements(r: Rewriter, x: Atom, y: Atom) -> Found:
    """For each of a few rows the sums of its products with a few columns."""
    rows = []
    for k in range(x.type.shape[-2]):
        row = _part(r, x, -2, k)
        (terms,) = r.append(records.MULTIPLY, (_turned(r, row), y))
        over = {"axes": (terms.type.ndim - 2,), "keepdims": True, "dtype": None}
        rows.append(r.append(SUM, (terms,), over)[0])
    return r.append(CONCATENATE, rows, {"axis": rows[0].type.ndim - 2})
