"""Common subexpressions: equal equations of one scope become one.

A checkpoint computes again what it did not keep; its equations carry a scope of their own and are
never merged with the first computation, or the memory that the checkpoint spares would come back.
"""

from __future__ import annotations

from collections.abc import Hashable

from funcgrad.graph.effects import has_effect
from funcgrad.graph.ir import Atom, Equation, Graph, Literal
from funcgrad.passes.rewrite import Rewriter, rewrite

__all__ = ["common_subexpressions", "key_of"]


def common_subexpressions(graph: Graph) -> Graph:
    """The graph in which no two equations of a scope compute the same."""
    seen: dict[Hashable, tuple[Atom, ...]] = {}

    def rule(r: Rewriter, e: Equation) -> tuple[Atom, ...] | None:
        key = key_of(e)
        if key is None:
            return None
        known = seen.get(key)
        if known is None:
            seen[key] = e.outputs
        return known

    return rewrite(graph, rule)


def key_of(e: Equation) -> Hashable:
    """What makes two equations equal; None where their parameters cannot be compared."""
    if has_effect(e):
        return None
    parts: list[Hashable] = [
        (type(a.value), repr(a.value), a.type) if isinstance(a, Literal) else a for a in e.inputs
    ]
    if e.prim.commutes and e.inputs[0].type == e.inputs[1].type:
        # NaN payloads aside, the order of two such operands does not matter
        parts.sort(key=lambda p: p.id if not isinstance(p, tuple) else -1)  # type: ignore[attr-defined]
    key = (e.prim, tuple(parts), tuple(sorted(e.params.items(), key=lambda p: p[0])), e.scope)
    try:
        hash(key)
    except TypeError:
        return None
    return key
