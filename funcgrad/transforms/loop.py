"""`loop`: a graph that runs once for each step, as one operation.

A step is given constants, carries and one row of each of the `xs`, and gives the next carries and
one row of each of the `ys`. A loop has a fixed number of steps (`scan`), runs while a condition of
its carries holds (`while_loop`), or both; one that is `counted` runs as many steps as its first
operand says, of `length` at the most. Rows of steps that were not run are zeros. What every
transform makes of a loop is a loop again, so loops nest, and derivatives are taken to any order.

Reverse mode makes two loops of one (`loop_reverse.py`), tangents and masks stand in a loop beside
its values (`loop_beside.py`), and examples share one (`loop_of_examples.py`). A loop of unknown
length, and one that is to keep few carries, is first written as loops in loops (`segments.py`).
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
from funcgrad.errors import GraphError, LoopLimitError, located, repeated, user_line
from funcgrad.graph.interpret import evaluate
from funcgrad.graph.ir import Graph
from funcgrad.graph.linearity import Flow, either, linear_flow
from funcgrad.graph.loop import Loop
from funcgrad.transforms.batch import BatchTracer
from funcgrad.transforms.call import (
    as_linear,
    bare_tangent_graph,
    marked_graph,
    marks_of,
    tangent_graph,
)
from funcgrad.transforms.loop_beside import known_mask, loop_beside, mask_type, no_tangent
from funcgrad.transforms.loop_graphs import (
    INTEGER,
    closed_over_carries,
    staged_graph,
    strong_type,
    types_of_variables,
)
from funcgrad.transforms.loop_of_examples import of_examples
from funcgrad.transforms.loop_reverse import Backward, reversed_loop
from funcgrad.transforms.segments import segmented

__all__ = ["LOOP", "run_loop"]


def run_loop(p: Loop, operands: Sequence[Array]) -> tuple[Array, ...]:
    """The final carries, the ys, and where there is a condition the number of steps."""
    if any(isinstance(x, Tracer) for x in operands):
        made: tuple[Array, ...] = bind(LOOP, operands, p.params)
        return made
    return execute(_alone(p, list(map(strong_type, operands))), *operands)


def _alone(p: Loop, types: Sequence[ArrayType]) -> Graph:
    """A program that is nothing but this loop."""
    key = ("alone", p._replace(body=None))  # type: ignore[arg-type]
    if key not in p.body.derived:
        p.body.derived[key] = staged_graph(lambda *xs: bind(LOOP, xs, p.params), types)
    found: Graph = p.body.derived[key]
    return found


def _run(*operands: Any, **params: Any) -> tuple[Any, ...]:
    """Step by step, each in native code."""
    p = Loop(**params)
    counts, constants, state, xs = p.parts(operands)
    steps = p.length if not counts else min(int(counts[0]), p.length or 0)
    rows = p.body.outputs[p.carries :]
    fill = np.empty if steps == p.length and p.condition is None else np.zeros
    ys = [fill((p.length or 0, *o.type.shape), o.type.dtype) for o in rows]
    done = 0
    while steps is None or done < steps:
        if p.condition is not None and not _holds(p.condition, constants, state):
            break
        row = steps - 1 - done if p.reverse and steps is not None else done
        found = execute(p.body, *constants, *state, *(x[row] for x in xs))
        state = list(found[: p.carries])
        for y, o in zip(ys, found[p.carries :], strict=True):
            y[row] = o
        done += 1
    else:
        if (
            p.strict is not None
            and p.condition is not None
            and _holds(p.condition, constants, state)
        ):
            raise LoopLimitError(
                located(
                    f"while_loop has run {p.strict} steps, its max_steps, and its condition still "
                    "holds"
                )
            )
    made = [_owned(s, x) for s, x in zip(state, p.parts(operands)[2], strict=True)]
    stopped = [np.int64(done)] if p.condition is not None else []
    return (*made, *ys, *stopped)


def _owned(x: Any, given: Any) -> Any:
    """A final carry, which is no operand: that may be written over."""
    return x.copy() if x is given and isinstance(x, np.ndarray) else x


def _holds(condition: Graph, constants: Sequence[Any], state: Sequence[Any]) -> bool:
    return bool(execute(condition, *constants, *state)[0])


def _check(p: Loop, types: Sequence[ArrayType]) -> None:
    """Raise unless a loop takes operands of these types, and hands on what it takes."""
    _, *given, xs = p.parts(types)
    wanted = [(v.type.shape, v.type.dtype) for v in p.body.inputs]
    rows = [ArrayType(x.shape[1:], x.dtype) for x in xs]
    if wanted != [(t.shape, t.dtype) for t in (*given[0], *given[1], *rows)]:
        raise GraphError("the operands of a loop are not those of its body")
    carried = wanted[p.consts : p.consts + p.carries]
    if carried != [(t.shape, t.dtype) for t in types_of_variables(p.body.outputs[: p.carries])]:
        raise GraphError("a loop gives carries of other types than it takes")


class LoopPullback(Primitive):
    """The node of a loop: the loop that goes back, and its operands but for the cotangents."""

    chooses = True

    def is_linear(self, mask: Sequence[bool], params: Params) -> bool:
        return True  # where it is asked, the operation has been

    def vjp(self, node: Any, g: Any) -> Sequence[Array | None]:
        back: Backward = node.params["back"]
        found = iter(back.run(run_loop, node.saved, filled(g, node.outputs)))
        return [None if p is None else next(found) for p in node.parents]


class LoopPrimitive(HigherOrder):
    """A count where the loop is counted, then constants, initial carries, and xs."""

    loops = True

    def type_rule(self, types: Sequence[ArrayType], params: Params) -> Any:
        p = Loop(**params)
        _check(p, types)
        outputs = types_of_variables(p.body.outputs)
        rows = [ArrayType((p.length or 0, *t.shape), t.dtype) for t in outputs[p.carries :]]
        stopped = [INTEGER] if p.condition is not None else []
        return (*outputs[: p.carries], *rows, *stopped)

    def linear_flow(self, mask: Sequence[Flow], params: Params) -> tuple[str, list[Flow]]:
        p = Loop(**params)
        first = int(p.counted)
        moving, before = list(mask[first:]), None
        own = slice(p.consts, p.consts + p.carries)
        while moving != before:  # carries that come to depend on others
            before = list(moving)
            name, reached = linear_flow(p.body, moving)
            moving[own] = map(either, moving[own], reached)
        asked, steps = list(mask[:first]), []
        if p.condition is not None:
            asked += linear_flow(p.condition, moving[: p.consts + p.carries])[1]
            steps = [False]
        return self.name if any(asked) else name, [*moving[own], *reached[p.carries :], *steps]

    def tape(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        p = Loop(**params)
        if p.length is None or p.segments:
            return evaluate(segmented(self, p), *args)
        nodes, xs, _ = trace.split(args)
        first = int(p.counted)
        inexact = (is_inexact(type_of(x).dtype) for x in xs)
        given = [n is not None and i for n, i in zip(nodes, inexact, strict=True)][first:]
        moving = closed_over_carries(p, given, lambda v: is_inexact(v.type.dtype))
        forward, back = reversed_loop(p, moving, trace.marks)
        results = run_loop(forward, xs)
        count = len(p.body.outputs)
        outputs = [*results[:count], *results[count + back.stacks :]]
        stacks = results[count : count + back.stacks]
        saved = back.saved(p.stopped(results, xs[:first]), xs[first:], stacks)
        raw = {id(x) for x, n in zip(xs, nodes, strict=True) if n is None}
        kept = [trace.keep(r) if id(r) in raw else r for r in saved]
        parents = (
            *(None for _ in range(first)),
            *(n if m else None for n, m in zip(nodes[first:], given, strict=True)),
        )
        back = back._replace(wanted=tuple(given), line=repeated.line or user_line())
        found = trace.record_multiple(LOOP_PULLBACK, parents, {"back": back}, kept, outputs)
        mask = (*(False for _ in range(first)), *given)
        return as_linear(self, trace, mask, params, found, outputs)

    def forward(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        p = Loop(**params)
        xs, ts = trace.split_marked(args)
        first = int(p.counted)
        marks = [t is not None for t in ts[first:]]
        make = tangent_graph if trace.marks else bare_tangent_graph
        loop = loop_beside(p, marks, make, lambda t: t, no_tangent)

        def tangent(k: int) -> Array:
            t = ts[first + k]
            return zeros(strong_type(xs[first + k])) if t is None else trace.whole(t)

        outs, moved, steps = loop.run(run_loop, xs[:first], xs[first:], tangent)
        return (*(trace.dual(o, t) for o, t in zip(outs, moved, strict=True)), *steps)

    def mark(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        p = Loop(**params)
        first = int(p.counted)
        given = args[first:]
        loop = loop_beside(p, marks_of(trace, given), marked_graph, mask_type, known_mask)
        values = [trace.dense(x) for x in given]
        outs, masks, steps = loop.run(
            run_loop, args[:first], values, lambda k: trace.mask_of(given[k])
        )
        found = [
            o if h is None else trace.part(o, m)
            for o, m, h in zip(outs, masks, loop.has, strict=True)
        ]
        return (*found, *steps)

    def map(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        xs, batched = trace.split(args)
        p = Loop(**params)
        found, flags = of_examples(run_loop, p, trace.size, xs, batched)
        return tuple(BatchTracer(o, trace) if f else o for o, f in zip(found, flags, strict=True))


LOOP = LoopPrimitive("loop", _run)
LOOP_PULLBACK = LoopPullback("loop_pullback", lambda *_: ())
