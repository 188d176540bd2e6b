"""What a tape records: nodes, the tracers that carry them, and how cotangents are added.

A `Node` keeps what the rule of its primitive needs and hands cotangents on to its parents. `None`
stands for a zero cotangent throughout.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core.algebra import algebra
from funcgrad.core.primitive import Params, Primitive
from funcgrad.core.tracer import EMPTY, Tracer, plain, serial, type_of
from funcgrad.core.types import ArrayType
from funcgrad.errors import SourceLine
from funcgrad.kernels import FEWEST
from funcgrad.kernels.copies import zeros
from funcgrad.kernels.forward import add as sum_of
from funcgrad.kernels.forward import add_to
from funcgrad.ops import arithmetic

__all__ = [
    "PICK",
    "Buffer",
    "Cotangents",
    "Node",
    "Scatter",
    "StagedNode",
    "TapeTracer",
    "dense",
    "OpaqueRule",
    "leaf_node",
]

seq = serial  # of one clock with the levels of transforms
new = object.__new__
ndarray, float64 = np.ndarray, np.float64
Cotangents = dict[Any, Any]


class Pick(Primitive):
    """Output `index` of a node that has several: its cotangent goes into the parent's slot."""

    def __init__(self) -> None:
        super().__init__("pick", operator.getitem)


PICK = Pick()


class OpaqueRule(Exception):
    """A rule that runs code of the user is met, which must not see a NaN of the quick rules."""


class Node:
    """One recorded operation.

    `saved` is (outputs, operand 0, …) with None for what its rule does not need; `avals` has the
    type of each operand (None where it equals the output's, or in the place of the tuple when all
    do); `outputs` are the types of several outputs; `seq` is the order of creation. What is not
    a slot here is one in `OpNode`, and stands in the class where all nodes of it are alike.
    """

    __slots__ = ("__weakref__", "seq")
    quick = False  # whether `pull_quick` is another rule than `pull`
    prim: Primitive | None
    params: Params
    parents: tuple[Node | None, ...]
    saved: Any
    avals: Any
    seq: int
    outputs: tuple[ArrayType, ...]

    def pull(self, cts: Cotangents, g: Any) -> None:
        """Add what the cotangent `g` of this node means for its parents into `cts`."""
        self.send(cts, self.cotangents(g))

    def cotangents(self, g: Any) -> Sequence[Any]:
        """Those of the operands, given that of the output: by a kernel if `g` is large and raw."""
        prim = self.prim
        assert prim is not None
        kernel = prim.backward_kernel
        if kernel is not None:
            if kernel.of_operand:
                large = self.avals is not None and self.avals[0].size >= FEWEST
            else:
                large = type(g) is ndarray and g.size >= FEWEST
            if large:
                return _kept(*kernel.pull(self, g))
        return prim.vjp(self, g)

    def send(self, cts: Cotangents, found: Sequence[Any]) -> None:
        """Add the cotangents of the parents into `cts`."""
        for p, c in zip(self.parents, found, strict=True):
            if p is not None and c is not None:
                c = plain(c)
                old = cts.get(p)
                cts[p] = c if old is None else add(old, c)

    def pull_quick(self, cts: Cotangents, g: Any) -> None:
        """`pull` for a raw `g`, allowed to turn 0 times an infinite partial into NaN."""
        prim = self.prim
        assert prim is not None
        if prim.opaque:
            raise OpaqueRule
        self.pull(cts, g)

    def pull_owned(self, cts: Cotangents, g: Any) -> None:
        """`pull_quick` for a raw array of the pass itself, which nobody reads afterwards."""
        kernel = None
        if g.size >= FEWEST and self.prim is not None and not self.quick:
            kernel = self.prim.backward_kernel
        if kernel is None or kernel.of_operand:
            self.pull_quick(cts, g)
        else:
            self.send(cts, _kept(*kernel.pull(self, g, True)))


class OpNode(Node):
    """A node of any operation."""

    __slots__ = ("avals", "outputs", "params", "parents", "prim", "saved")


class StagedNode(OpNode):
    """A node whose value is one of a graph: what its rule adds to it has the operation's line."""

    __slots__ = ("line",)
    line: SourceLine


class LeafNode(Node):
    """An input: what arrives stays, in the dtype and byte order of the input."""

    __slots__ = ("avals",)
    prim, params, parents, saved = None, EMPTY, (), None

    def pull(self, cts: Cotangents, g: Any) -> None:
        dtype = self.avals[0].dtype
        raw = type(g) is ndarray or type(g) is float64
        same = (g.dtype if raw else type_of(g).dtype) is dtype
        cts[self] = g if same else arithmetic.cast(g, dtype)

    pull_quick = pull


class PickNode(Node):
    """One output of a node with several: it fills a slot of the parent's list of cotangents."""

    __slots__ = ("params", "parents")
    prim, saved, avals = PICK, None, None

    def pull(self, cts: Cotangents, g: Any) -> None:
        (parent,) = self.parents
        assert parent is not None
        slots = cts.get(parent)
        if slots is None:
            slots = cts[parent] = [None] * len(parent.outputs)
        k = self.params["index"]
        slots[k] = g if slots[k] is None else arithmetic.add(slots[k], g)

    pull_quick = pull


def leaf_node(aval: ArrayType) -> Node:
    """The node of an input of the type `aval`."""
    node = LeafNode()
    node.avals, node.seq = (aval,), next(seq)
    return node


def pick_node(parent: Node, k: int) -> Node:
    """The node of output `k` of `parent`."""
    node = PickNode()
    node.params, node.parents, node.seq = {"index": k}, (parent,), next(seq)
    return node


class TapeTracer(Tracer):
    """A value on a tape, with the node that made it.

    `kind` is an object that the tape hands out once for each small float64 shape (and once for
    float64 scalars), else None: two tracers of one kind need no further look before their raw
    values are combined.
    """

    __slots__ = ("kind", "node")
    node: Node
    kind: Any

    def assign(self, new: Tracer) -> None:
        assert isinstance(new, TapeTracer)
        self.value, self.node, self.kind = new.value, new.node, new.kind


# ----------------------------------------------------------------------- adding cotangents


class Held:
    """A cotangent in another form than an array; only sums and `dense` look into it."""

    __slots__ = ()

    def __add__(self, c: Any) -> Any:
        return add(self, c)


class Scatter(Held):
    """A cotangent that is zero but at `index`: added into one buffer, so a loop stays linear."""

    __slots__ = ("aval", "g", "index")

    def __init__(self, aval: ArrayType, index: Any, g: Any) -> None:
        self.aval, self.index, self.g = aval, index, g


class Buffer(Held):
    """A cotangent in an array that the backward pass made itself and may add into."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array


def _kept(found: Sequence[Any], own: bool) -> Sequence[Any]:
    """Cotangents, marked as arrays that the pass may change if they are its `own`."""
    return [Buffer(c) if type(c) is ndarray else c for c in found] if own else found


IN_PLACE_FROM = 1 << 14  # elements; below it a fresh sum is as fast


def add(old: Any, c: Any) -> Any:
    """The sum of two cotangents; in place where the old one is a buffer of our own."""
    if type(c) is Scatter:
        if type(old) is not Buffer:
            if isinstance(old, Tracer):
                return arithmetic.add(old, dense(c))
            base = dense(old) if type(old) is Scatter else np.array(old, copy=True)
            old = Buffer(base)
        old.array[c.index] += c.g
        return old
    if type(old) is Scatter or (type(c) is Buffer and type(old) is not Buffer):
        return add(c, old)
    if type(c) is Buffer:
        c = c.array
    if type(old) is Buffer:
        if isinstance(c, Tracer) or np.result_type(old.array, c) != old.array.dtype:
            return arithmetic.add(old.array, c)
        add_to(old.array, c)
        return old
    total = sum_of(old, c)
    if total is None:
        total = arithmetic.add(old, c)
    if type(total) is np.ndarray and total.size >= IN_PLACE_FROM:
        return Buffer(total)
    return total


def dense(c: Any) -> Any:
    """A cotangent as an array."""
    if type(c) is Buffer:
        return c.array
    if type(c) is Scatter:
        full = zeros(c.aval.shape, c.aval.dtype)
        full[c.index] = c.g
        return full
    return c


algebra.scatter = Scatter
