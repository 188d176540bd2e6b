"""Products with an identity matrix, which is what all directions at once are for a linear function.

Each element stays what it is, but the product of the others with 0 is not 0 where one of them is
infinite or NaN: an element next to such a one becomes NaN, and -0 becomes 0. Comparing takes one
pass over memory where the product takes one for each row.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.graph.ir import Atom, Equation, Graph, Var
from funcgrad.ops import records
from funcgrad.ops.arithmetic import CAST
from funcgrad.ops.product import MATMUL
from funcgrad.ops.sums import SUM
from funcgrad.passes.rewrite import Rewriter, rewrite

__all__ = ["identities"]


def identities(graph: Graph) -> Graph:
    """The graph with products with identity matrices written as comparisons."""
    if not any(e.prim is MATMUL for e in graph.equations):
        return graph

    def rule(r: Rewriter, e: Equation) -> tuple[Atom, ...] | None:
        if e.prim is not MATMUL:
            return None
        (x, y), aval = e.inputs, e.outputs[0].type
        if aval.dtype.kind != "f" or aval.size == 0:
            return None
        if aval.weak or x.type.dtype != aval.dtype or y.type.dtype != aval.dtype:
            return None
        if _is_identity(r, x) and y.type.shape == aval.shape:
            return _unchanged(r, y, max(y.type.ndim - 2, 0))
        if _is_identity(r, y) and x.type.shape == aval.shape:
            return _unchanged(r, x, x.type.ndim - 1)
        return None

    return rewrite(graph, rule)


def _is_identity(r: Rewriter, a: Atom) -> bool:
    if a.type.ndim != 2 or a.type.shape[0] != a.type.shape[1] or a.type.shape[0] < 2:
        return False
    array = _array(r, a)
    return array is not None and np.array_equal(array, np.eye(len(array), dtype=array.dtype))


def _array(r: Rewriter, a: Atom) -> Any:
    """The constant that an atom is, in its shape."""
    shape = a.type.shape
    while isinstance(a, Var) and (made := r.made.get(a)) and made.prim is records.RESHAPE:
        a = made.inputs[0]
    array = r.arrays.get(a) if isinstance(a, Var) else None
    return None if array is None else np.reshape(array, shape)


def _unchanged(r: Rewriter, x: Atom, axis: int) -> tuple[Atom, ...]:
    """Each element, NaN where another one along the axis is not finite."""
    aval = x.type.dtype.type
    zero = r.literal(aval(0))
    (nothing,) = r.append(records.MULTIPLY, (x, zero))
    (wrong,) = r.append(records.NOT_EQUAL, (nothing, zero))
    (count,) = r.append(CAST, (wrong,), {"dtype": x.type.dtype})
    (total,) = r.append(SUM, (count,), {"axes": (axis,), "keepdims": True, "dtype": None})
    (others,) = r.append(records.GREATER, (total, count))
    (plain,) = r.append(records.ADD, (x, zero))
    return r.append(records.WHERE, (others, r.literal(aval("nan")), plain))
