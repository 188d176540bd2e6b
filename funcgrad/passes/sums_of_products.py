"""Sums of matrix products: the rows of a product add up to the product of the sum of the rows.

Gradients of means are such sums. To add up what is multiplied takes one pass over memory, where the
product takes as many as it has columns. The sum is also taken apart where a product is one of
several terms: its elements were rounded already, so adding it up alone loses no more than that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from funcgrad.graph.ir import Atom, Equation, Graph, Var
from funcgrad.ops import records
from funcgrad.ops.product import MATMUL
from funcgrad.ops.shape import RESHAPE
from funcgrad.ops.sums import SUM
from funcgrad.passes.products import thin
from funcgrad.passes.rewrite import Rewriter, rewrite

__all__ = ["sums_of_products"]

Term = tuple[Atom, bool]  # with whether it is taken away


def sums_of_products(graph: Graph) -> Graph:
    """The graph with sums over rows or columns of products taken before the products."""
    if not any(e.prim is MATMUL for e in graph.equations):
        return graph
    uses = Counter(a for e in graph.equations for a in e.inputs)
    uses.update(graph.outputs)

    def rule(r: Rewriter, e: Equation) -> tuple[Atom, ...] | None:
        if e.prim is not SUM or e.params["dtype"] is not None or e.inputs[0].type.weak:
            return None
        x = e.inputs[0]
        terms = list(_terms(r, e, x, uses))
        found = [t for t in terms if _product(r, e, t[0], uses) is not None]
        if not found:
            return None
        total = _rest(r, e, [t for t in terms if t not in found])
        for a, negative in found:
            part = _contracted(r, e, a, negative)
            total = part if total is None else r.append(records.ADD, (total, part))[0]
        assert total is not None
        if total.type.shape != e.outputs[0].type.shape:
            (total,) = r.append(RESHAPE, (total,), {"shape": e.outputs[0].type.shape})
        return (total,)

    return rewrite(graph, rule)


def _terms(r: Rewriter, e: Equation, x: Atom, uses: Counter[Atom]) -> Iterator[Term]:
    """What is added and taken away to make `x`, all of its shape and needed for nothing else."""
    waiting = [(x, False)]
    while waiting:
        a, negative = waiting.pop()
        made = r.made.get(a) if isinstance(a, Var) else None
        own = made is not None and uses[a] == 1 and made.scope == e.scope
        if made is None or not own or any(b.type != a.type for b in made.inputs):
            yield a, negative
        elif made.prim in (records.ADD, records.SUBTRACT):
            one, other = made.inputs
            waiting += [(other, negative ^ (made.prim is records.SUBTRACT)), (one, negative)]
        elif made.prim is records.NEGATIVE:
            waiting.append((made.inputs[0], not negative))
        else:
            yield a, negative


def _product(r: Rewriter, e: Equation, a: Atom, uses: Counter[Atom]) -> Equation | None:
    """The product that a term is, if some of the axes of the sum are of one operand alone."""
    made = r.made.get(a) if isinstance(a, Var) else None
    if made is None or made.prim is not MATMUL or uses[a] > 1 or made.scope != e.scope:
        return None
    aval = a.type
    if aval.dtype.kind != "f" or any(b.type.dtype != aval.dtype for b in made.inputs):
        return None
    if any(b.type.ndim < 2 for b in made.inputs) or aval.size == 0:
        return None
    return made if any(map(any, _own(made, e.params["axes"]))) else None


def _own(e: Equation, axes: Sequence[int]) -> tuple[list[bool], list[bool]]:
    """For each of the axes of a sum of a product whether it is of the left, the right one alone."""
    shape = e.outputs[0].type.shape
    left, right = ([1] * (len(shape) - a.type.ndim) + list(a.type.shape[:-2]) for a in e.inputs)
    left += [shape[-2], 1]
    right += [1, shape[-1]]
    return (
        [left[k] > 1 and right[k] == 1 for k in axes],
        [right[k] > 1 and left[k] == 1 for k in axes],
    )


def _contracted(r: Rewriter, e: Equation, a: Atom, negative: bool) -> Atom:
    """The sum of a product over the axes of `e`, its operands added up first."""
    assert isinstance(a, Var)
    made, axes, rank = r.made[a], e.params["axes"], a.type.ndim
    operands: list[Atom] = list(made.inputs)
    if negative:
        (operands[0],) = r.append(records.NEGATIVE, (operands[0],))
    summed: set[int] = set()
    for side, mine in enumerate(_own(made, axes)):
        over = [k for k, own in zip(axes, mine, strict=True) if own]
        summed.update(over)
        operands[side] = _sum(r, operands[side], [k - rank for k in over])
    (total,) = thin(r, *operands) or r.append(MATMUL, operands)
    total = _sum(r, total, [k - rank for k in axes if k not in summed])
    if e.params["keepdims"]:
        return total
    return r.append(RESHAPE, (total,), {"shape": e.outputs[0].type.shape})[0]


def _sum(r: Rewriter, a: Atom, from_the_end: Sequence[int]) -> Atom:
    """The sum over some axes, which stay with one element."""
    axes = tuple(k + a.type.ndim for k in from_the_end if k + a.type.ndim >= 0)
    if not axes:
        return a
    return r.append(SUM, (a,), {"axes": axes, "keepdims": True, "dtype": None})[0]


def _rest(r: Rewriter, e: Equation, terms: Sequence[Term]) -> Atom | None:
    """The sum of the other terms."""
    if not terms:
        return None
    total: Atom | None = None
    for a, negative in terms:
        if total is None:
            total = r.append(records.NEGATIVE, (a,))[0] if negative else a
        else:
            (total,) = r.append(records.SUBTRACT if negative else records.ADD, (total, a))
    assert total is not None
    return r.append(SUM, (total,), e.params)[0]
