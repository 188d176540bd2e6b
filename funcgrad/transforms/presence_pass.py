"""A node of the backward pass that follows which elements are there.

Rules are the same as ever: they are given tracers of a `Presence` where elements may be absent, and
where a rule may leave some out. What reads a loop of indexing stays linear here, too: the parts
are added into one array, beside one of masks.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.tracer import plain
from funcgrad.ops import arithmetic
from funcgrad.transforms.node import Cotangents, Held, Node, PickNode, Scatter, add, dense
from funcgrad.transforms.presence import PartTracer, Presence

__all__ = ["pull_marked"]


class Gathered(Held):
    """Scattered cotangents, added up in an array of ours, and where there was one."""

    __slots__ = ("array", "mask")

    def __init__(self, first: Scatter) -> None:
        self.array = np.zeros(first.aval.shape, first.aval.dtype)
        self.mask = np.zeros(first.aval.shape, bool)
        self.add(first)

    def add(self, c: Scatter) -> None:
        self.array[c.index] += c.g
        self.mask[c.index] = True


def pull_marked(node: Node, trace: Presence, cts: Cotangents, g: Any) -> None:
    """Add what the cotangent `g` of `node` means for its parents into `cts`."""
    if type(g) is list:
        g = [_taken(c, trace) for c in g]
        known = any(map(trace.mine, g))
    else:
        g = _taken(g, trace)
        known = trace.mine(g)
    prim = node.prim
    if prim is None:
        return node.pull(cts, trace.dense(g))
    if isinstance(node, PickNode):
        return _into_slot(node, trace, cts, g)
    if prim.opaque:
        found = node.cotangents(_each(trace.dense, g))
    elif known or prim.chooses:
        found = prim.vjp(node, _each(trace.whole, g))
    else:
        found = node.cotangents(g)
    for p, c in zip(node.parents, found, strict=True):
        if p is not None and c is not None:
            c = trace.lower(plain(c))
            cts[p] = _sum(trace, cts[p], c) if p in cts else c
    return None


def _each(function: Any, g: Any) -> Any:
    if type(g) is not list:
        return function(g)
    return [None if c is None else function(c) for c in g]


def _into_slot(node: PickNode, trace: Presence, cts: Cotangents, g: Any) -> None:
    (parent,) = node.parents
    assert parent is not None
    if parent not in cts:
        cts[parent] = [None] * len(parent.outputs)
    slots, k = cts[parent], node.params["index"]
    slots[k] = g if slots[k] is None else _sum(trace, slots[k], g)


def _taken(g: Any, trace: Presence) -> Any:
    """A cotangent as a rule takes it."""
    if type(g) is Scatter:
        g = Gathered(g)
    if type(g) is Gathered:
        return trace.part(g.array, g.mask)
    return dense(g)


def _sum(trace: Presence, old: Any, c: Any) -> Any:
    """The sum of two cotangents of one node."""
    if type(c) is Scatter and type(old) in (Scatter, Gathered):
        old = Gathered(old) if type(old) is Scatter else old
        old.add(c)
        return old
    if isinstance(old, PartTracer) or isinstance(c, PartTracer) or Gathered in (type(old), type(c)):
        pair = (trace.whole(_taken(x, trace)) for x in (old, c))
        return trace.lower(arithmetic.add(*pair))
    return add(old, c)
