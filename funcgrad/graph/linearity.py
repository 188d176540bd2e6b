"""Which operation of a graph keeps it from being linear in some of its inputs.

A tape alone cannot tell: what it does not record, a comparison or a sign, has no node.

In a mask stands True for what depends on the inputs in question, None for what is known to be zero
(a sum with it is linear), False for all else.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from funcgrad.core.tracer import Tracer
from funcgrad.core.types import is_inexact
from funcgrad.graph.ir import Equation, Graph, Literal
from funcgrad.graph.live import needed

__all__ = ["Flow", "either", "is_zero", "linear_flow"]


Flow = bool | None


def linear_flow(graph: Graph, mask: Sequence[Flow]) -> tuple[str, list[Flow]]:
    """Which outputs depend on the inputs of `mask`; the first operation that is not linear, or "".

    What nothing reads counts for nothing.
    """
    known: dict[object, Flow] = dict(zip(graph.inputs, mask, strict=True))
    known.update((v, None) for v, constant in graph.constants if is_zero(constant))

    def flow_of(atom: object) -> Flow:
        if isinstance(atom, Literal):
            return None if is_zero(atom.value) else False
        return known.get(atom, False)

    name = ""
    for e in needed(graph.equations, graph.outputs):
        given = [flow_of(a) for a in e.inputs]
        if any(given):
            found, reached = e.prim.linear_flow(given, e.params)
            reached = reached or [True] * len(e.outputs)
            outputs = [v for v, r in zip(e.outputs, reached, strict=True) if r]
            exact = not all(is_inexact(v.type.dtype) for v in outputs)
            name = name or found or (e.prim.name if exact else "")
            known.update(zip(e.outputs, reached, strict=True))
        elif None in given:
            known.update(_of_zeros(e, given))
    return name, [flow_of(o) for o in graph.outputs]


def either(one: Flow, other: Flow) -> Flow:
    """What a value is that is one or the other."""
    return None if one is other is None else bool(one or other)


def _of_zeros(e: Equation, given: Sequence[Flow]) -> dict[object, Flow]:
    """The outputs of an equation that are zero, as some of its operands are."""
    name, reached = e.prim.linear_flow([g is None for g in given], e.params)
    if name:
        return {}
    reached = reached or [True] * len(e.outputs)
    return {v: None for v, r in zip(e.outputs, reached, strict=True) if r}


def is_zero(x: object) -> bool:
    """Whether it is a number or an array whose elements are known, and are all zero."""
    return not isinstance(x, Tracer) and bool(np.all(np.equal(x, 0)))  # type: ignore[call-overload]
