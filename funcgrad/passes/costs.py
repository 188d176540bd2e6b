"""What a graph costs, in operations and bytes, from the records of its equations."""

from __future__ import annotations

import math

from funcgrad.graph.ir import Atom, Equation, Graph
from funcgrad.ops import records

__all__ = ["costs"]

MATHEMATICS = 10  # the cost of an element from which on it counts as a function of mathematics


def costs(graph: Graph) -> dict[str, float]:
    """``flops``, ``transcendentals`` and ``bytes accessed`` of a graph that is run as it stands.

    An operation on elements counts once for each, a product of matrices twice for each pair. Loops
    count for all of their steps (one, where their number is not known), choices for the dearest
    branch. Bytes are those of operands and results, as if every operation were run by itself.
    """
    total = dict.fromkeys(("flops", "transcendentals", "bytes accessed"), 0.0)
    for e in graph.equations:
        for key, value in _equation(e).items():
            total[key] += value
    return total


def _equation(e: Equation) -> dict[str, float]:
    inner = _inner(e)
    if inner is not None:
        return inner
    moved = float(sum(map(_bytes, (*e.inputs, *e.outputs))))
    if e.prim.view:
        return {}
    elements = float(max((a.type.size for a in (*e.inputs, *e.outputs)), default=0))
    if e.prim in PRODUCTS:
        return {"flops": 2.0 * _pairs(e), "bytes accessed": moved}
    if e.prim.cost >= MATHEMATICS and e.prim.aligned:
        return {"transcendentals": elements, "bytes accessed": moved}
    return {"flops": elements if e.prim.cost else 0.0, "bytes accessed": moved}


def _inner(e: Equation) -> dict[str, float] | None:
    """The costs of an equation over graphs."""
    if e.prim.loops:
        steps = e.params["length"] or 1
        return {k: v * steps for k, v in costs(e.params["body"]).items()}
    graphs = [p for p in e.params.values() if isinstance(p, Graph)]
    graphs += [g for p in e.params.values() if isinstance(p, tuple) for g in p if type(g) is Graph]
    if not graphs:
        return None
    found = [costs(g) for g in graphs]
    return {k: max(f[k] for f in found) for k in found[0]}


PRODUCTS = (records.DOT, records.MATMUL, records.INNER, records.EINSUM)


def _pairs(e: Equation) -> float:
    """How many products of two numbers a product of arrays takes."""
    out, left = e.outputs[0].type, e.inputs[0].type
    if e.prim is records.EINSUM:
        return float(max(math.prod(a.type.shape) for a in (*e.inputs, *e.outputs)))
    return float(out.size * (left.shape[-1] if left.shape else 1))


def _bytes(a: Atom) -> int:
    return a.type.size * a.type.dtype.itemsize
