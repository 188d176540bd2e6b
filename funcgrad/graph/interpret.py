"""The reference backend: run a graph one equation after the other.

Each equation is bound anew, so that a graph runs on arrays as well as on traced values of any
transform. A value is dropped after its last use.
"""

from __future__ import annotations

from typing import Any

from funcgrad.core.tracer import bind
from funcgrad.core.types import Array
from funcgrad.graph.ir import Atom, Graph, Literal, Var

__all__ = ["evaluate"]


def _last_uses(graph: Graph) -> list[tuple[Var, ...]]:
    """For each equation the variables that nobody reads after it."""
    plan: list[tuple[Var, ...]] | None = graph.derived.get("last_uses")
    if plan is None:
        kept = {o for o in graph.outputs if isinstance(o, Var)}
        plan = []
        for e in reversed(graph.equations):
            touched = [*e.inputs, *e.outputs]
            last = {v for v in touched if isinstance(v, Var) and v not in kept}
            kept |= last
            plan.append(tuple(last))
        plan.reverse()
        graph.derived["last_uses"] = plan
    return plan


def evaluate(graph: Graph, *args: Array) -> tuple[Array, ...]:
    """The outputs of `graph` for these inputs."""
    values: dict[Var, Any] = dict(zip(graph.inputs, args, strict=True))
    values.update(graph.constants)

    def read(a: Atom) -> Any:
        return a.value if isinstance(a, Literal) else values[a]

    for e, dead in zip(graph.equations, _last_uses(graph), strict=True):
        made = bind(e.prim, [read(a) for a in e.inputs], e.params)
        if e.prim.multiple:
            values.update(zip(e.outputs, made, strict=True))
        else:
            values[e.outputs[0]] = made
        for v in dead:
            del values[v]
    return tuple(map(read, graph.outputs))
