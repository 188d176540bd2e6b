"""Long sums: those of products of matrices are one product, those of rows of one array a stack.

A loop over steps in time leaves both behind: what a matrix gets that multiplies in every step, and
what an array gets of which every step reads a row. Step by step each would read and write the whole
sum.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from funcgrad.graph.ir import Atom, Equation, Graph, Var
from funcgrad.ops import records
from funcgrad.ops.product import MATMUL
from funcgrad.ops.shape import CONCATENATE, RESHAPE, TRANSPOSE
from funcgrad.ops.sums import SUM
from funcgrad.passes.rewrite import Rewriter, rewrite

__all__ = ["long_sums"]

FEWEST = 4  # terms: fewer are not worth the copies that bring them together


def long_sums(graph: Graph) -> Graph:
    """The graph with long sums of products and of rows written as one product or one stack."""
    if all(e.prim is not MATMUL and e.prim is not records.PLACE for e in graph.equations):
        return graph
    uses = Counter(a for e in graph.equations for a in e.inputs)
    uses.update(graph.outputs)
    made = {v: e for e in graph.equations for v in e.outputs}
    parts = _parts(graph, uses, made)

    def rule(r: Rewriter, e: Equation) -> Sequence[Atom] | None:
        if e.prim is SUM:
            (x,) = e.inputs
            stack = r.made.get(x) if isinstance(x, Var) and uses[x] == 1 else None
            return None if stack is None else _over_stack(r, e, stack)
        if not _is_sum(e) or e.outputs[0] in parts:
            return None
        terms = _terms(e, parts)
        if len(terms) < FEWEST:
            return None
        own = [
            found
            for a in terms
            if uses[a] == 1
            and isinstance(a, Var)
            and (found := made.get(a))
            and found.scope == e.scope
        ]
        products = [f for f in own if _is_product(f, e)]
        if len(products) >= FEWEST and _pays(products):
            return _summed(r, _product(r, products), products, terms)
        rows = {f.params["index"][0]: f for f in own if _is_row(f)}
        if len(rows) >= FEWEST and len(rows) == e.outputs[0].type.shape[0]:
            placed = [rows[k] for k in range(len(rows))]
            return _summed(r, _stack(r, placed), placed, terms)
        return None

    return rewrite(graph, rule)


def _parts(graph: Graph, uses: Counter[Atom], made: dict[Var, Equation]) -> dict[Var, Equation]:
    """The sums that belong to another one, by their values."""
    found: dict[Var, Equation] = {}
    for e in graph.equations:
        if _is_sum(e):
            for a in e.inputs:
                inner = made.get(a) if isinstance(a, Var) else None
                if inner is not None and _is_sum(inner) and uses[a] == 1 and inner.scope == e.scope:
                    found[inner.outputs[0]] = inner
    return found


def _is_sum(e: Equation) -> bool:
    """Whether it adds two arrays of one floating type."""
    if e.prim is not records.ADD:
        return False
    kind = e.outputs[0].type
    return kind.ndim > 0 and kind.dtype.kind == "f" and all(a.type == kind for a in e.inputs)


def _terms(e: Equation, parts: dict[Var, Equation]) -> list[Atom]:
    """What a sum adds up, in order."""
    found: list[Atom] = []
    stack = list(reversed(e.inputs))
    while stack:
        a = stack.pop()
        if isinstance(a, Var) and a in parts:
            stack += reversed(parts[a].inputs)
        else:
            found.append(a)
    return found


def _summed(
    r: Rewriter, total: Atom, taken: Sequence[Equation], terms: Sequence[Atom]
) -> Sequence[Atom]:
    """`total`, which stands for the equations that are `taken`, and the other terms."""
    own = {v for e in taken for v in e.outputs}
    for a in terms:
        if a not in own:
            (total,) = r.append(records.ADD, (total, r.read(a)))
    return (total,)


# ---------------------------------------------------------------------------------- products


def _is_product(e: Equation, total: Equation) -> bool:
    dtype = total.outputs[0].type.dtype
    plain = all(a.type.ndim == 2 and a.type.dtype == dtype for a in e.inputs)
    return e.prim is MATMUL and plain


def _pays(products: Sequence[Equation]) -> bool:
    """Whether bringing the terms together copies fewer elements than the sums have."""
    rows, columns = products[0].outputs[0].type.shape
    copied = sum(e.inputs[0].type.shape[1] for e in products) * (rows + columns)
    return copied < len(products) * rows * columns


def _product(r: Rewriter, products: Sequence[Equation]) -> Atom:
    left = _joined(r, [e.inputs[0] for e in products], 1)
    right = _joined(r, [e.inputs[1] for e in products], 0)
    return r.append(MATMUL, (left, right))[0]


def _joined(r: Rewriter, matrices: Sequence[Atom], axis: int) -> Atom:
    """Matrices side by side; of transposes what they are transposes of."""
    found = [r.read(a) for a in matrices]
    turned = [r.made.get(a) if isinstance(a, Var) else None for a in found]
    if all(e is not None and e.prim is TRANSPOSE for e in turned):
        whole = [e.inputs[0] for e in turned if e is not None]
        (joined,) = r.append(CONCATENATE, whole, {"axis": 1 - axis})
        return r.append(TRANSPOSE, (joined,), {"axes": (1, 0)})[0]
    return r.append(CONCATENATE, found, {"axis": axis})[0]


def _over_stack(r: Rewriter, e: Equation, product: Equation) -> Sequence[Atom] | None:
    """The sum of all products in a stack."""
    kind = product.outputs[0].type
    lead = tuple(range(kind.ndim - 2))
    whole = e.params == {"axes": lead, "keepdims": False, "dtype": None}
    if not lead or not whole or product.prim is not MATMUL or product.scope != e.scope:
        return None
    x, y = product.inputs
    (rows, terms), columns = x.type.shape[-2:], y.type.shape[-1]
    same = x.type.shape[:-2] == y.type.shape[:-2] == kind.shape[:-2]
    plain = kind.dtype.kind == "f" and x.type.dtype == y.type.dtype == kind.dtype
    if not same or not plain or terms * (rows + columns) >= rows * columns:
        return None
    (turned,) = r.append(TRANSPOSE, (x,), {"axes": (*lead, len(lead) + 1, len(lead))})
    (left,) = r.append(RESHAPE, (turned,), {"shape": (turned.type.size // rows, rows)})
    (right,) = r.append(RESHAPE, (y,), {"shape": (y.type.size // columns, columns)})
    (left,) = r.append(TRANSPOSE, (left,), {"axes": (1, 0)})
    return r.append(MATMUL, (left, right))


# -------------------------------------------------------------------------------------- rows


def _is_row(e: Equation) -> bool:
    """Whether it is an array of zeros but for one row, which is the operand."""
    if e.prim is not records.PLACE:
        return False
    index, shape = e.params["index"], e.params["shape"]
    one = len(index) == 1 and type(index[0]) is int and index[0] >= 0
    return one and e.inputs[0].type.shape == shape[1:]


def _stack(r: Rewriter, rows: Sequence[Equation]) -> Atom:
    given = [r.read(e.inputs[0]) for e in rows]
    lines = [r.append(RESHAPE, (a,), {"shape": (1, *a.type.shape)})[0] for a in given]
    (stack,) = r.append(CONCATENATE, lines, {"axis": 0})
    return r.append(records.ADD, (stack, r.literal(0.0)))[0]  # the zeros around a row made +0 of -0
