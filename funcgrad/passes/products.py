"""Matrix products brought to the form in which they are fastest.

NumPy multiplies stacks of matrices one by one. A stack of vectors times one matrix is one product
of matrices; a product over an axis of extent 1 multiplies, and one of a row and a column multiplies
and sums, both of which fuse with what stands around them. The transpose of a product is the product
of the transposes in turned order, which BLAS reads as well.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from funcgrad.core.primitive import PRIMITIVES
from funcgrad.graph.ir import Atom, Equation, Graph, Var
from funcgrad.ops.product import MATMUL
from funcgrad.ops.shape import RESHAPE, TRANSPOSE
from funcgrad.ops.sums import SUM
from funcgrad.passes.rewrite import Rewriter, rewrite

__all__ = ["products"]

Found = tuple[Atom, ...] | None


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
        kind = e.outputs[0].type
        same = x.type.dtype == y.type.dtype == kind.dtype and kind.dtype.kind == "f"
        if not same or x.type.ndim < 2 or y.type.ndim < 2 or kind.size == 0:
            return None
        if x.type.shape[-1] == 1:
            return r.append(PRIMITIVES["multiply"], (x, y))
        if kind.ndim > 2 and x.type.shape[-2] == y.type.shape[-1] == 1:
            return _dots(r, x, y, kind.shape)
        if x.type.ndim > 2 and y.type.ndim == 2:
            return _rows(r, x, y, kind.shape)
        if x.type.ndim == 2 and y.type.ndim > 2 and y.type.shape[-1] == 1:
            return _columns(r, x, y, kind.shape)
        return None

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
    (terms,) = r.append(PRIMITIVES["multiply"], (x, y))
    last = (len(shape) - 2,)
    (total,) = r.append(SUM, (terms,), {"axes": last, "keepdims": False, "dtype": None})
    return (_shaped(r, total, shape),)


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
