"""Dead code: leave out equations and constants on which no output depends, but for effects."""

from __future__ import annotations

from funcgrad.graph.ir import Graph, Var
from funcgrad.graph.live import needed

__all__ = ["dead_code"]


def dead_code(graph: Graph) -> Graph:
    """The graph without what nobody reads."""
    kept = needed(graph.equations, graph.outputs)
    read = {a for e in kept for a in e.inputs if isinstance(a, Var)} | set(graph.outputs)
    constants = tuple((v, a) for v, a in graph.constants if v in read)
    if len(kept) == len(graph.equations) and len(constants) == len(graph.constants):
        return graph
    return Graph(graph.inputs, kept, graph.outputs, constants)
