"""Dead code: leave out equations and constants on which no output depends."""

from __future__ import annotations

from funcgrad.graph.ir import Graph, Var

__all__ = ["dead_code"]


def dead_code(graph: Graph) -> Graph:
    """The graph without what nobody reads."""
    needed = {o for o in graph.outputs if isinstance(o, Var)}
    kept = []
    for e in reversed(graph.equations):
        if any(v in needed for v in e.outputs):
            kept.append(e)
            needed.update(a for a in e.inputs if isinstance(a, Var))
    constants = tuple((v, a) for v, a in graph.constants if v in needed)
    if len(kept) == len(graph.equations) and len(constants) == len(graph.constants):
        return graph
    return Graph(graph.inputs, tuple(reversed(kept)), graph.outputs, constants)
