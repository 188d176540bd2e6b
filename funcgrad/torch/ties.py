"""Edges along which a derivative of a gradient is zero, and yet defined.

The gradient of relu depends on its input by the sign alone, so that its derivative is zero. PyTorch
records that: such a gradient has a `grad_fn`, and the gradient of it is zeros, not "unused". Under
``create_graph=True`` the same is done here by a node that hands the cotangent on, and that has the
input among its parents. Zeros do not travel: an input that can be reached along such edges and has
got nothing at the end of a pass is given zeros then.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from funcgrad.core.primitive import Params, Primitive
from funcgrad.core.tracer import type_of
from funcgrad.core.types import Array, ArrayType, zeros
from funcgrad.torch.nodes import edge_of, node_class, output_types
from funcgrad.torch.root import ROOT, RootTracer

__all__ = ["TIE", "fill", "tied", "zeros_pulled"]


class Tie(Primitive):
    """The first operand; the others take no part, but are parents."""

    form = "composite"

    def saved_flags(self, mask: int, count: int) -> tuple[bool, ...]:
        return (False,) * (count + 1)

    def type_rule(self, types: Sequence[ArrayType], params: Params) -> ArrayType:
        return types[0]

    def vjp(self, node: Any, g: Any) -> Sequence[Any]:
        return [g, *(None for _ in node.parents[1:])]


TIE = Tie("torch.tie", lambda x, *_: x)


def tied(node: Any, pulled: list[Any]) -> list[Any]:
    """The cotangents `pulled` by the rule of `node`, those that bend with operands tied to them."""
    bent = node.bends
    if bent is None:
        return pulled
    name, places = bent
    for k, operands in places:
        c = pulled[k]
        moving = [i for i in operands if node.parents[i] is not None]
        if c is not None and moving:
            pulled[k] = _tie(c, node, moving, node_class(name))
    return pulled


def _tie(c: Array, node: Any, operands: Sequence[int], kind: Any) -> Any:
    """`c`, recorded as depending on operands of `node`, too."""
    content, edge = (c.value, c.node) if type(c) is RootTracer else (c, None)
    types = tuple(type_of(c) if node.avals is None else node.avals[i] for i in operands)
    edges = (edge, *(node.parents[i] for i in operands))
    saved = (None,) * (len(edges) + 1)
    out = ROOT.record_node(TIE, edges, {}, saved, (type_of(c), *types), content)
    out.node.become(kind)
    return out


def zeros_pulled(node: Any, pulled: Sequence[Any]) -> list[Any]:
    """The cotangents of the operands of a tie where user code may look at them."""
    return [
        zeros(kind) if c is None and p is not None else c
        for c, p, kind in zip(pulled, node.parents, node.avals, strict=True)
    ]


def fill(order: Sequence[Any], ends: Sequence[Any], found: list[Any]) -> None:
    """Put zeros where nothing has arrived, but a way leads along an edge of a tie."""
    reached: set[Any] = set()
    for node in order:
        if node.prim is TIE:
            reached.update(node.parents[1:])
        elif node in reached:
            reached.update(node.parents)
    for k, (end, c) in enumerate(zip(ends, found, strict=True)):
        if c is None and end is not None and end in reached:
            node, output = edge_of(end)
            found[k] = zeros(output_types(node)[output])
