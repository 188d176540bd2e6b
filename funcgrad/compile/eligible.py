"""Which equations a loop can do that are not elementwise: reductions, and moving elements about.

It imports the scalar bodies and how operands lie along the axes of a result.
"""

from __future__ import annotations

import math

from funcgrad.compile.scalars import NATIVE
from funcgrad.graph.ir import Equation
from funcgrad.ops import records
from funcgrad.passes.operands import domain, pieces

__all__ = ["REDUCTIONS", "moves", "reduces"]

# what a loop does for each reduction
REDUCTIONS = {
    records.SUM: "add",
    records.SCATTER_ADD: "add",
    records.MAX: "max",
    records.MIN: "min",
    records.PROD: "mul",
    records.ANY: "or",
    records.ALL: "and",
}
INDICES = ("int64", "int32")
MANY, LARGE = 16, 1 << 11  # arrays that are joined, and elements of what they become
REDUCED = {
    records.SUM: "fi",
    records.MAX: "f",
    records.MIN: "f",
    records.PROD: "f",
    records.ANY: "b",
    records.ALL: "b",
}


def reduces(e: Equation) -> bool:
    """Whether an equation is a reduction that a loop can do in the dtype of its operand."""
    if e.prim is records.SCATTER_ADD:
        return _scatters(e)
    kinds = REDUCED.get(e.prim)
    if kinds is None or len(e.inputs) != 1:
        return False
    x, out = e.inputs[0].type, e.outputs[0].type
    plain = x.dtype == out.dtype and x.dtype in NATIVE and not x.weak
    return plain and x.dtype.kind in kinds and x.size > 0 and not e.params.get("dtype")


def _scatters(e: Equation) -> bool:
    g, *at = (a.type for a in e.inputs)
    out = e.outputs[0].type
    known = g.dtype == out.dtype and g.dtype in NATIVE and g.dtype.kind in "fi" and not g.weak
    indexed = out.size > 0 and all(i.dtype.name in INDICES and i.size for i in at)
    return known and indexed and math.prod(domain(e)) > 1  # one element takes no loop


def moves(e: Equation) -> bool:
    """Whether an equation only moves elements about, by positions or in pieces, in a kernel.

    The type of each element is one that kernels know, and none is a float that becomes an integer.
    """
    types, out = [a.type for a in e.inputs], e.outputs[0].type
    if any(t.dtype not in NATIVE for t in (*types, out)):
        return False
    if e.prim is records.GATHER:
        return types[0].size > 0 and all(i.dtype.name in INDICES for i in types[1:])
    if e.prim is records.CONCATENATE and len(e.inputs) > MANY and out.size > LARGE:
        return False  # each element would ask all of them; NumPy copies one after the other
    return pieces(e) is not None and out.ndim > 0 and out.size > 0
