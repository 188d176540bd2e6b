"""Products of products in the order that takes the fewest multiplications.

(A B) x is A (B x), which needs no product of matrices, and (a bᵀ) B is a (bᵀ B): gradients with
respect to a matrix that a vector was multiplied by are such outer products. A product is taken
apart only if that pays for all that it is needed for. The sums are those of another order, as in
`einsum`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from funcgrad.graph.ir import Atom, Equation, Graph, Var
from funcgrad.ops import records
from funcgrad.ops.product import MATMUL
from funcgrad.ops.shape import TRANSPOSE
from funcgrad.passes.dead_code import dead_code
from funcgrad.passes.rewrite import Rewriter, rewrite

__all__ = ["chains"]

WORTHWHILE = 1 << 12  # multiplications of a product that is not done
GAIN = 2  # as many times fewer multiplications
ROUNDS = 8  # of products in a row


def chains(graph: Graph) -> Graph:
    """The graph with its products of products in another order where that is shorter."""
    for _ in range(ROUNDS):
        if not any(e.prim is MATMUL for e in graph.equations):
            return graph
        shorter = rewrite(_without_long(graph), _through_outer)
        if shorter.equations == graph.equations:
            return graph
        graph = dead_code(shorter)
    return graph


def _is_matrix_product(e: Equation) -> bool:
    (out,) = e.outputs if e.prim is MATMUL else (None,)
    if out is None or out.type.ndim != 2 or out.type.dtype.kind != "f":
        return False
    return all(a.type.ndim == 2 and a.type.dtype == out.type.dtype for a in e.inputs)


def _is_turned(e: Equation) -> bool:
    return e.prim is TRANSPOSE and e.params["axes"] == (1, 0)


# ------------------------------------------------------------------- products of products


def _without_long(graph: Graph) -> Graph:
    """Each product that is needed for thin ones only is taken apart in these."""
    uses: dict[Var, list[Equation]] = {}
    for e in graph.equations:
        for a in e.inputs:
            if isinstance(a, Var):
                uses.setdefault(a, []).append(e)
    shown = set(graph.outputs)
    long = {
        e.outputs[0]: e
        for e in graph.equations
        if _is_matrix_product(e) and _is_too_long(e, uses, shown)
    }
    if not long:
        return graph

    def rule(r: Rewriter, e: Equation) -> tuple[Atom, ...] | None:
        if e.prim is not MATMUL or e.outputs[0] in long:
            return None
        x, y = e.inputs
        for a, first in ((x, True), (y, False)):
            parts = _parts(r, a, long)
            if parts is None:
                continue
            left, right = parts
            if first:
                (inner,) = r.append(MATMUL, (right, y))
                return r.append(MATMUL, (left, inner))
            (inner,) = r.append(MATMUL, (x, left))
            return r.append(MATMUL, (inner, right))
        return None

    return rewrite(graph, rule)


def _parts(r: Rewriter, a: Atom, long: dict[Var, Equation]) -> tuple[Atom, Atom] | None:
    """The two matrices whose product an operand is, or whose product's transpose."""
    made = r.made.get(a) if isinstance(a, Var) else None
    if made is None:
        return None
    if made.outputs[0] in long:
        return made.inputs[0], made.inputs[1]
    source = made.inputs[0] if _is_turned(made) else None
    if not isinstance(source, Var) or source not in long:
        return None
    x, y = r.made[source].inputs
    return _turn(r, y), _turn(r, x)


def _turn(r: Rewriter, a: Atom) -> Atom:
    return r.append(TRANSPOSE, (a,), {"axes": (1, 0)})[0]


def _is_too_long(e: Equation, uses: dict[Var, list[Equation]], shown: set[Atom]) -> bool:
    """Whether a product takes more multiplications than to do without it."""
    (rows, terms), columns = e.inputs[0].type.shape, e.inputs[1].type.shape[1]
    here = rows * terms * columns
    if here < WORTHWHILE:
        return False
    apart = 0
    for width in _widths(e.outputs[0], e.scope, uses, shown):
        if width is None:
            return False
        here += width * rows * columns
        apart += width * terms * (rows + columns)
    return 0 < GAIN * apart < here


def _widths(
    v: Var, scope: int, uses: dict[Var, list[Equation]], shown: set[Atom]
) -> Iterator[int | None]:
    """How many vectors each use multiplies a matrix by; None for uses of another kind."""
    if v in shown:
        yield None
    for e in uses.get(v, ()):
        if _is_turned(e) and e.scope == scope:
            yield from _widths(e.outputs[0], scope, uses, shown)
        elif e.prim is MATMUL and e.scope == scope and e.inputs.count(v) == 1:
            (other,) = (a for a in e.inputs if a is not v)
            same = other.type.dtype == v.type.dtype and other.type.ndim <= 2
            yield other.type.size // v.type.shape[e.inputs[0] is v] if same else None
        else:
            yield None


# --------------------------------------------------------------------------- outer products


def _through_outer(r: Rewriter, e: Equation) -> tuple[Atom, ...] | None:
    """A product with an outer product: that with one of its vectors, times the other."""
    if not _is_matrix_product(e):
        return None
    x, y = e.inputs
    if math.prod((*x.type.shape, y.type.shape[1])) < WORTHWHILE:
        return None
    found = _outer(r, e, x)
    if found is not None:
        column, row = found
        return r.append(records.MULTIPLY, (column, r.append(MATMUL, (row, y))[0]))
    found = _outer(r, e, y)
    if found is not None:
        column, row = found
        return r.append(records.MULTIPLY, (r.append(MATMUL, (x, column))[0], row))
    return None


def _outer(r: Rewriter, e: Equation, a: Atom) -> tuple[Atom, Atom] | None:
    """The column and the row whose product a matrix is."""
    made = r.made.get(a) if isinstance(a, Var) else None
    turned = made is not None and _is_turned(made)
    if made is not None and turned:
        inner = made.inputs[0]
        made = r.made.get(inner) if isinstance(inner, Var) else None
    if made is None or made.prim is not records.MULTIPLY or made.scope != e.scope:
        return None
    rows, columns = made.outputs[0].type.shape
    if min(rows, columns) < 2 or any(b.type.dtype != a.type.dtype for b in made.inputs):
        return None
    for column, row in (made.inputs, made.inputs[::-1]):
        if column.type.shape == (rows, 1) and row.type.shape == (1, columns):
            return (_turn(r, row), _turn(r, column)) if turned else (column, row)
    return None
