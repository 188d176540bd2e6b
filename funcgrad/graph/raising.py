"""Which equations may raise for what their operands hold, though the types are right, or act.

They must not run where the program does not: in a loop of no steps, for an example that takes the
other branch.
"""

from __future__ import annotations

from collections.abc import Iterable

from funcgrad.core.primitive import Primitive
from funcgrad.graph.ir import Equation, Graph
from funcgrad.ops import records

__all__ = ["may_raise"]

RAISING: frozenset[Primitive] = frozenset(
    {
        records.ADD_AT,
        records.CHOLESKY,
        records.EIGH,
        records.EIGVALSH,
        records.GATHER,
        records.INV,
        records.PUT,
        records.SCATTER_ADD,
        records.SOLVE,
        records.SVD,
        records.SVDVALS,
        records.SVD_WHOLE,
        records.WINNERS,
    }
)


def may_raise(equations: Iterable[Equation]) -> bool:
    """Whether one of them, or of their graphs, may; of what is not ours nobody knows."""
    waiting = list(equations)
    while waiting:
        e = waiting.pop()
        graphs = [p for p in e.params.values() if isinstance(p, Graph)]
        if (
            e.prim in RAISING
            or e.prim.checks
            or e.prim.effect
            or not e.prim.is_ours
            or e.params.get("strict")
        ):
            return True
        if e.prim.form == "higher_order" and not graphs:
            return True
        waiting += (each for g in graphs for each in g.equations)
    return False
