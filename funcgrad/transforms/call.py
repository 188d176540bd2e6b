"""`call`: a graph as one operation, with its derivative and its batched form made from the graph.

Under a tape the graph is staged together with its backward pass once, and the joint graph is cut
into a forward part (outputs and residuals) and a backward part, which are kept with the graph; what
is cheap is computed again there (`passes/partition.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.compile.execute import execute
from funcgrad.core.forms import HigherOrder, filled
from funcgrad.core.primitive import Params, Primitive
from funcgrad.core.tracer import Tracer, bind, type_of
from funcgrad.core.types import Array, ArrayType, is_inexact, zeros
from funcgrad.graph.build import Stage, finish, stage
from funcgrad.graph.interpret import evaluate
from funcgrad.graph.ir import Graph
from funcgrad.graph.linearity import Flow, linear_flow
from funcgrad.ops.shape import copied
from funcgrad.passes.partition import Partition, Saves, partition
from funcgrad.transforms.arguments import lower
from funcgrad.transforms.batch import HIDDEN, Batch, BatchTracer, whole
from funcgrad.transforms.forward import DualTracer, Forward
from funcgrad.transforms.presence import Presence
from funcgrad.transforms.reverse import Tape, backward, require_linear

__all__ = [
    "CALL",
    "Marks",
    "as_linear",
    "bare_tangent_graph",
    "batched_graph",
    "call_graph",
    "joined_marks",
    "marked_graph",
    "marks_of",
    "residuals",
    "reverse_graphs",
    "split_marks",
    "tangent_graph",
]


def reverse_graphs(
    graph: Graph, mask: tuple[bool, ...], marks: bool = True, saves: Saves | None = None
) -> tuple[Graph, Graph]:
    """(inputs → outputs and residuals) and (residuals and cotangents → cotangents of `mask`).

    Without `marks` the backward pass does not follow which elements are there. Where it is said
    which equation `saves` its results, these and inputs alone are residuals.
    """
    key = ("reverse", mask, marks, saves)
    if key not in graph.derived:
        graph.derived[key] = _cut(graph, mask, marks, saves)
    found: Partition = graph.derived[key]
    return found.forward, found.backward


def residuals(graph: Graph) -> list[str]:
    """What is kept for the backward passes of a graph that were made so far, as text."""
    return [
        f"differentiated by {', '.join(str(k) for k, m in enumerate(key[1]) if m)}: {p.explain()}"
        for key, p in list(graph.derived.items())
        if isinstance(key, tuple) and key[0] == "reverse"
    ]


def _cut(graph: Graph, mask: tuple[bool, ...], marks: bool, saves: Saves | None) -> Partition:
    with Stage() as trace:
        inputs = [trace.input(v.type) for v in graph.inputs]
        variables = [t.variable for t in inputs]
        with Tape(marks=marks) as tape:
            leaves = [tape.input(x) if m else x for x, m in zip(inputs, mask, strict=True)]
            outs = evaluate(graph, *leaves)
            ends = [o.node if isinstance(o, Tracer) and o.owner is tape else None for o in outs]
            values = [lower(o, tape) for o in outs]
        split = len(trace.equations)
        cts = [trace.input(type_of(zeros(type_of(v)))) for v in values]  # floats, also of integers
        roots = [(n, c) for n, c in zip(ends, cts, strict=True) if n is not None]
        wanted = [x.node for x in leaves if isinstance(x, Tracer) and x.owner is tape]
        found = [
            zeros(aval) if c is None else c
            for c, aval in zip(
                backward(roots, wanted, marks=marks),
                [v.type for v, m in zip(graph.inputs, mask, strict=True) if m],
                strict=True,
            )
        ]
        whole, consts = finish(trace, (*variables, *(c.variable for c in cts)), [*values, *found])
        assert not consts
        first = set(map(id, trace.equations[:split]))
    return partition(whole, len(variables), len(values), first, saves)


def _strong(aval: ArrayType) -> ArrayType:
    return ArrayType(aval.shape, aval.dtype)


def tangent_graph(
    graph: Graph, mask: tuple[bool, ...], marks: bool = True
) -> tuple[Graph, tuple[bool, ...]]:
    """(inputs and tangents of `mask` → outputs and tangents), and which outputs have one.

    Without `marks` it does not follow which elements of the tangents are there.
    """
    key = ("tangent", mask, marks)
    if key not in graph.derived:
        moving = [v.type for v, m in zip(graph.inputs, mask, strict=True) if m]
        has: list[bool] = []

        def push(*args: Array) -> list[Array]:
            xs, ts = args[: len(mask)], iter(args[len(mask) :])
            with Forward(marks=marks) as trace:
                duals = [
                    DualTracer(x, trace, next(ts)) if m else x
                    for x, m in zip(xs, mask, strict=True)
                ]
                outs = evaluate(graph, *duals)
                moved = [trace.tangent(o) for o in outs]
                values = [lower(o, trace) for o in outs]
            has[:] = [t is not None for t in moved]
            return [*values, *(t for t in moved if t is not None)]

        types = [v.type for v in graph.inputs] + [_strong(t) for t in moving]
        made, consts = stage(push, types)
        assert not consts
        graph.derived[key] = made, tuple(has)
    found: tuple[Graph, tuple[bool, ...]] = graph.derived[key]
    return found


def bare_tangent_graph(graph: Graph, mask: tuple[bool, ...]) -> tuple[Graph, tuple[bool, ...]]:
    """`tangent_graph` without marks."""
    return tangent_graph(graph, mask, False)


def batched_graph(graph: Graph, size: int, mask: tuple[bool, ...]) -> Graph:
    """The graph over inputs of which those of `mask` carry a batch axis; all outputs do."""

    def spread(*args: Array) -> list[Array]:
        with Batch(size, HIDDEN) as trace:
            xs = [BatchTracer(x, trace) if m else x for x, m in zip(args, mask, strict=True)]
            outs = evaluate(graph, *xs)
            return [whole(o, trace) for o in outs]

    def make() -> Graph:
        types = [
            ArrayType((size, *v.type.shape), v.type.dtype) if m else v.type
            for v, m in zip(graph.inputs, mask, strict=True)
        ]
        made, consts = stage(spread, types)
        assert not consts
        return made

    found: Graph = graph.batched(("graph", size, mask), make)
    return found


Marks = tuple[bool | None, ...]


def marked_graph(graph: Graph, marks: Marks) -> tuple[Graph, Marks]:
    """The graph over cotangents, and masks of what is there of them; and the marks of the outputs.

    A mark is True for a cotangent with a mask, which follows behind the others in the same order,
    False where every element is there, and None for what is no cotangent.
    """
    key = ("marked", marks)
    if key not in graph.derived:
        has: list[bool | None] = []

        def mark(*args: Array) -> list[Array]:
            masks = iter(args[len(marks) :])
            trace = Presence()
            xs = [
                x if m is None else trace.part(x, next(masks) if m else None)
                for x, m in zip(args, marks, strict=False)
            ]
            outs = evaluate(graph, *xs)
            has[:] = marks_of(trace, outs)
            return [*map(trace.dense, outs), *masks_of(trace, outs, has)]

        types = [v.type for v in graph.inputs]
        boolean = np.dtype(bool)
        masks = [ArrayType(t.shape, boolean) for t, m in zip(types, marks, strict=True) if m]
        made, consts = stage(mark, [*types, *masks])
        assert not consts
        graph.derived[key] = made, tuple(has)
    found: tuple[Graph, Marks] = graph.derived[key]
    return found


def marks_of(trace: Presence, xs: Sequence[Array]) -> Marks:
    return tuple(x.mask is not None if trace.mine(x) else None for x in xs)


def masks_of(trace: Presence, xs: Sequence[Array], marks: Sequence[bool | None]) -> list[Array]:
    return [trace.mask_of(x) for x, m in zip(xs, marks, strict=True) if m]


def split_marks(trace: Presence, args: Sequence[Array]) -> tuple[list[Array], Marks]:
    """The operands of a marked graph, and its marks."""
    marks = marks_of(trace, args)
    return [*map(trace.dense, args), *masks_of(trace, args, marks)], marks


def joined_marks(trace: Presence, outs: Sequence[Array], has: Marks) -> tuple[Array, ...]:
    """The outputs of a marked graph as they were before their masks were split off."""
    masks = iter(outs[len(has) :])
    return tuple(
        o if h is None else trace.part(o, next(masks) if h else None)
        for o, h in zip(outs, has, strict=False)
    )


def as_linear(
    prim: Primitive,
    trace: Any,
    mask: Sequence[bool],
    params: Params,
    found: Sequence[Array],
    results: Sequence[Array],
) -> tuple[Array, ...]:
    """What a tape has recorded of an operation with graphs; where it is to be transposed, of those
    results alone that depend on the traced operands, in which the operation has to be linear.
    """
    if not trace.linear:
        return tuple(found)
    name, reached = prim.linear_flow(mask, params)
    require_linear(name)
    assert reached is not None
    return tuple(f if r else o for f, o, r in zip(found, results, reached, strict=True))


class CallPullback(Primitive):
    """The node of a call: the residuals are saved, the backward graph is in the parameters."""

    chooses = True

    def vjp(self, node: Any, g: Any) -> Sequence[Array | None]:
        cts = filled(g, node.outputs)
        found = iter(call_graph(node.params["graph"], *node.saved, *cts))
        return [None if p is None else next(found) for p in node.parents]


class Call(HigherOrder):
    """A graph applied to operands."""

    def linear_flow(self, mask: Sequence[Flow], params: Params) -> tuple[str, list[Flow]]:
        return linear_flow(params["graph"], mask)

    def tape(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        graph = params["graph"]
        if trace.linear:
            return evaluate(graph, *args)
        nodes, xs, _ = trace.split(args)
        mask = tuple(
            n is not None and is_inexact(v.type.dtype)
            for n, v in zip(nodes, graph.inputs, strict=True)
        )
        one, two = reverse_graphs(graph, mask, trace.marks)
        results = call_graph(one, *xs)
        count = len(graph.outputs)
        raw = {id(x) for x, n in zip(xs, nodes, strict=True) if n is None}
        residuals = [trace.keep(r) if id(r) in raw else r for r in results[count:]]
        return trace.record_multiple(
            CALL_PULLBACK, nodes, {"graph": two}, residuals, results[:count]
        )

    def forward(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        graph = params["graph"]
        xs, ts = trace.split_marked(args)
        mask = tuple(t is not None for t in ts)
        made, has = tangent_graph(graph, mask, trace.marks)
        given = (trace.whole(t) for t in ts if t is not None)
        results = call_graph(made, *xs, *given)
        count = len(graph.outputs)
        moved = iter(results[count:])
        return tuple(
            trace.dual(o, next(moved) if h else None)
            for o, h in zip(results[:count], has, strict=True)
        )

    def map(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        xs, batched = trace.split(args)
        made = batched_graph(params["graph"], trace.size, tuple(batched))
        return tuple(BatchTracer(o, trace) for o in call_graph(made, *xs))

    def mark(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        xs, marks = split_marks(trace, args)
        made, has = marked_graph(params["graph"], marks)
        return joined_marks(trace, call_graph(made, *xs), has)

    def stage(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        # inlined, so that what is around it fuses; results of jit are in C order
        return [
            copied(o, "C") if isinstance(o, Tracer) and type_of(o).shape else o
            for o in evaluate(params["graph"], *args)
        ]


CALL = Call("call", lambda *xs, graph: execute(graph, *xs))
CALL_PULLBACK = CallPullback("call_pullback", lambda *_: ())


def call_graph(graph: Graph, *args: Array) -> tuple[Array, ...]:
    """The outputs of a graph, through the operation `call`."""
    made: tuple[Array, ...] = bind(CALL, args, {"graph": graph})
    return made
