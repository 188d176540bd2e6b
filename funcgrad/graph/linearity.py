"""Which operation of a graph keeps it from being linear in some of its inputs.

A tape alone cannot tell: what it does not record, a comparison or a sign, has no node.
"""

from __future__ import annotations

from collections.abc import Sequence

from funcgrad.core.types import is_inexact
from funcgrad.graph.ir import Graph
from funcgrad.graph.live import needed

__all__ = ["linear_flow"]


def linear_flow(graph: Graph, mask: Sequence[bool]) -> tuple[str, list[bool]]:
    """Which outputs depend on the inputs of `mask`; the first operation that is not linear, or "".

    What nothing reads counts for nothing.
    """
    moving = {v for v, m in zip(graph.inputs, mask, strict=True) if m}
    name = ""
    for e in needed(graph.equations, graph.outputs):
        given = [a in moving for a in e.inputs]
        if any(given):
            found, reached = e.prim.linear_flow(given, e.params)
            outputs = [v for k, v in enumerate(e.outputs) if reached is None or reached[k]]
            exact = not all(is_inexact(v.type.dtype) for v in outputs)
            name = name or found or (e.prim.name if exact else "")
            moving.update(outputs)
    return name, [o in moving for o in graph.outputs]
