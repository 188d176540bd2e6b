"""The trace of reverse mode.

A `Tape` handles each operation on its tracers one level down and records one `Node`. While it runs
it has a list of them, which is the order of the backward pass, so nothing is searched or sorted.
A program may drop most of what it computes, so from time to time a tape forgets what it alone has.
"""

from __future__ import annotations

from collections.abc import Sequence
from sys import getrefcount
from typing import Any, ClassVar, cast

import numpy as np

from funcgrad.config import config
from funcgrad.core.primitive import Params, Primitive
from funcgrad.core.tracer import (
    EMPTY,
    Trace,
    Tracer,
    bind,
    running,
    twin,
    type_of,
    uncompiled,
)
from funcgrad.core.types import Array, is_inexact, type_of_raw
from funcgrad.core.watching import note_place
from funcgrad.errors import repeated, user_line
from funcgrad.kernels import FEWEST
from funcgrad.kernels.forward import apply
from funcgrad.transforms.guard import Watches, argument_copy, hold, watch
from funcgrad.transforms.node import (
    IN_PLACE_FROM,
    Node,
    OpNode,
    StagedNode,
    TapeTracer,
    leaf_node,
    pick_node,
    seq,
)
from funcgrad.transforms.recorders import FLOAT64, recorder

__all__ = ["Tape"]

ndarray = np.ndarray
float64 = np.float64
FORGOTTEN_AFTER = 256  # operations, after which a tape lets go of what nothing depends on
PER_NODE = 1 << 13  # elements that count as much as an operation
ALONE = 2  # references to what only a variable and the argument of the function refer to
PLAIN = frozenset((ndarray, float, float64, np.float32))


class Tape(Trace):
    """The trace of reverse mode."""

    __slots__ = ("kinds", "limit", "linear", "marks", "nodes", "watches")
    what: ClassVar[str] = "a gradient"

    def __init__(self, linear: bool = False, marks: bool = True) -> None:
        super().__init__()
        self.marks = marks  # whether its backward pass follows which elements are there
        self.linear = linear  # to be transposed: graphs are taken apart, so that nodes tell
        self.watches: Watches = {}
        self.nodes: list[Node] = []  # while it runs, those of operations in their order
        self.limit = self.level + FORGOTTEN_AFTER  # the serial number at which some are forgotten
        self.kinds: dict[tuple[int, ...], object] = {}

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        self.nodes = []  # what is still to be used is reached from its results
        super().__exit__(kind, error, traceback)

    def forget(self) -> None:
        """Drop the nodes on which nothing depends that the program has."""
        nodes, self.nodes = self.nodes, []
        kept = []
        while nodes:  # the latest first, so that those that it alone has needed follow
            node = nodes.pop()
            if getrefcount(node) > ALONE:
                kept.append(node)
        kept.reverse()
        self.nodes[:0] = kept
        self.limit = next(seq) + max(FORGOTTEN_AFTER, len(kept))

    def input(self, x: Array) -> TapeTracer:
        """A leaf with the value `x`: a copy that the caller cannot change, or `x`, watched."""
        if type(x) is not ndarray:
            aval = type_of(x)
            return self.tracer(self.as_it_is(x) if isinstance(x, Tracer) else x, leaf_node(aval))
        node = leaf_node(type_of_raw(x))
        if uncompiled and running.locks is not None:
            return self.tracer(hold(self, self.watches, x), node)
        copy = argument_copy(x)
        if copy is None:
            watch(self.watches, x)
        return self.tracer(x if copy is None else copy, node)

    def inputs(self, xs: Sequence[Array], nodes: list[Node]) -> list[TapeTracer]:
        """Leaves with these values; their nodes are added to `nodes`."""
        made = []
        for x in xs:
            t = self.input(x)
            nodes.append(t.node)
            made.append(t)
        return made

    def tracer(self, x: Array, node: Node) -> TapeTracer:
        t = TapeTracer()
        t.value, t.owner, t.node, t.kind = x, self, node, self.kind_of(x)
        return t

    def kind_of(self, x: Array) -> object:
        """The `kind` of a tracer of the value `x`; None keeps it out of the hot path.

        So does a 0-d array, which becomes a scalar.
        """
        if running.watching:
            return None
        if type(x) is ndarray:
            if x.dtype is not FLOAT64:
                return None
            shape = x.shape
            kind = self.kinds.get(shape)
            if kind is None and shape and x.size < IN_PLACE_FROM:
                kind = self.kinds[shape] = object()
            return kind
        return self if type(x) is float64 or type(x) is float else None

    def keep(self, x: Array) -> Array:
        """`x` as it can be kept for backward, whatever the caller does to it."""
        if type(x) is ndarray:
            if uncompiled and running.locks is not None:
                return hold(self, self.watches, x)
            if x.nbytes <= config.copy_limit:
                return x.copy("K")
            watch(self.watches, x)
        elif isinstance(x, Tracer):
            return self.as_it_is(x)
        return x

    def age(self, t: Any) -> int:
        made: int = t.node.seq
        return made

    def as_it_is(self, x: Tracer) -> Tracer:
        """A tracer of an outer transform, which the program may write into later."""
        if x.owner.watch(x) is None:
            return cast(Tracer, twin(x))
        watch(self.watches, x)
        return x

    def process1(self, prim: Primitive, x: Array) -> Any:
        if x.kind is not None:
            return (prim.recorders[1] or recorder(prim, 1))(x)
        return self.process(prim, (x,), EMPTY)

    def process2(self, prim: Primitive, x: Array, y: Array) -> Any:
        mine, other = type(x), type(y)
        if mine is TapeTracer:
            if x.kind is not None:
                if other is TapeTracer:
                    if x.kind is y.kind:
                        return (prim.recorders[3] or recorder(prim, 3))(x, y)
                elif other is float or other is int:
                    return (prim.recorders[1] or recorder(prim, 1))(x, y)
        elif (mine is float or mine is int) and y.kind is not None:
            return (prim.recorders[2] or recorder(prim, 2))(x, y)
        return self.process(prim, (x, y), EMPTY)

    def process(self, prim: Primitive, args: Sequence[Array], params: Params) -> Any:
        if self.closed:
            raise self.leaked()
        return prim.tape(self, args, params)

    def record(self, prim: Primitive, args: Sequence[Array], params: Params) -> Any:
        """Apply `prim` one level down and record it: the default action on a tape."""
        if len(args) == 1:
            return self.record_one(prim, args[0], params)
        nodes, xs, mask = self.split(args)
        y = apply(prim, xs)
        if y is None:
            y = bind(prim, xs, params)
        if not prim.differentiable:
            return y
        flags = prim.saved_flags(mask, len(xs))
        kept = [
            None if not flag else x if node is not None else self.keep(x)
            for x, node, flag in zip(xs, nodes, flags[1:], strict=True)
        ]
        saved = (y if flags[0] else None, *kept)
        return self.record_node(prim, nodes, params, saved, tuple(map(type_of, xs)), y)

    def record_one(self, prim: Primitive, x: Array, params: Params) -> Any:
        """`record` for one operand, which then is mine."""
        v = x.value
        if isinstance(v, Tracer):
            y = v.owner.process(prim, (v,), params)
        else:
            small = type(v) is not ndarray or v.size < FEWEST
            y = None if small else apply(prim, (v,))
            if y is None:
                y = prim.impl(v, **params)
        if not prim.differentiable:
            return y
        out, first = prim.saved_flags(1, 1)
        saved = (y if out else None, v if first else None)
        return self.record_node(prim, (x.node,), params, saved, (type_of(v),), y)

    def split(self, args: Sequence[Array]) -> tuple[tuple[Node | None, ...], list[Array], int]:
        """The nodes of the operands that are mine, all values one level down, and the mask."""
        nodes: list[Node | None] = []
        xs, mask = [], 0
        for i, a in enumerate(args):
            if isinstance(a, Tracer) and a.owner is self:
                nodes.append(a.node)
                xs.append(a.value)
                mask |= 1 << i
            else:
                nodes.append(None)
                xs.append(a)
        return tuple(nodes), xs, mask

    def record_node(
        self,
        prim: Primitive,
        parents: tuple[Node | None, ...],
        params: Params,
        saved: Any,
        types: Any,
        y: Any,
    ) -> Any:
        """One node for the output(s) `y`; outputs that are not floating point come back raw."""
        node: OpNode
        if isinstance(y, Tracer | tuple) and _is_staged(y):
            node = StagedNode()
            node.line = repeated.line or user_line()
        else:
            node = OpNode()
        node.prim, node.params, node.parents = prim, params, parents
        node.saved, node.avals, node.seq = saved, types, next(seq)
        if running.watching:
            note_place(node)
        self.nodes.append(node)
        if type(y) is ndarray:
            self.limit -= y.size // PER_NODE
        if node.seq > self.limit:
            self.forget()
        if not isinstance(y, tuple):
            if type(y) is float or (y.dtype if type(y) in PLAIN else type_of(y).dtype).kind in "fc":
                return self.tracer(y, node)
            return y
        node.outputs = tuple(map(type_of, y))
        return tuple(
            self._picked(node, k, o) if is_inexact(aval.dtype) else o
            for k, (o, aval) in enumerate(zip(y, node.outputs, strict=True))
        )

    def _picked(self, node: Node, k: int, y: Any) -> TapeTracer:
        pick = pick_node(node, k)
        self.nodes.append(pick)
        return self.tracer(y, pick)

    def record_multiple(
        self,
        prim: Primitive,
        parents: tuple[Node | None, ...],
        params: Params,
        saved: Any,
        outputs: Sequence[Any],
    ) -> tuple[Any, ...]:
        """Record a node of several outputs that the caller has computed already."""
        result: tuple[Any, ...] = self.record_node(
            prim, parents, params, saved, None, tuple(outputs)
        )
        return result


def _is_staged(y: Any) -> bool:
    """Whether a result, or one of several, stands for a value of a graph."""
    if isinstance(y, tuple):
        return any(map(_is_staged, y))
    while isinstance(y, Tracer):
        if y.owner.stages:
            return True
        y = y.value
    return False
