"""What all that is made of loops stands on: staged bodies, and what in them depends on what."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.core.tracer import type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.graph.build import stage
from funcgrad.graph.ir import Graph, Var
from funcgrad.graph.loop import Loop

__all__ = [
    "INTEGER",
    "Run",
    "closed_over_carries",
    "reached_outputs",
    "staged_graph",
    "strong_type",
    "types_of_variables",
]

INTEGER = ArrayType((), np.dtype(np.int64))
Run = Callable[[Loop, Sequence[Array]], Sequence[Array]]


def staged_graph(run: Callable[..., Sequence[Array]], types: Sequence[ArrayType]) -> Graph:
    """The graph of a function of operands of these types that brings nothing along."""
    graph, consts = stage(run, types)
    assert not consts
    return graph


def types_of_variables(variables: Sequence[Any]) -> list[ArrayType]:
    return [ArrayType(v.type.shape, v.type.dtype) for v in variables]


def strong_type(x: Array) -> ArrayType:
    aval = type_of(x)
    return ArrayType(aval.shape, aval.dtype)


def reached_outputs(
    graph: Graph, mask: Sequence[bool], follows: Callable[[Var], bool]
) -> list[bool]:
    """Which outputs depend on the inputs of `mask`, by values that are to be followed."""
    known = {v for v, m in zip(graph.inputs, mask, strict=True) if m and follows(v)}
    for e in graph.equations:
        if not known.isdisjoint(a for a in e.inputs if isinstance(a, Var)):
            known.update(v for v in e.outputs if follows(v))
    return [o in known for o in graph.outputs]


def closed_over_carries(
    p: Loop, given: Sequence[bool], follows: Callable[[Var], bool]
) -> tuple[bool, ...]:
    """`given`, of constants, carries and xs, with all carries that come to depend on them."""
    mask = list(given)
    while True:
        reached = reached_outputs(p.body, mask, follows)
        more = [
            m or r for m, r in zip(mask[p.consts : p.consts + p.carries], reached, strict=False)
        ]
        if more == mask[p.consts : p.consts + p.carries]:
            return tuple(mask)
        mask[p.consts : p.consts + p.carries] = more
