"""`loop`: a graph that runs once for each step, as one operation.

A step is given constants, carries and one row of each of the `xs`, and gives the next carries and
one row of each of the `ys`. A loop has a fixed number of steps (`scan`), runs while a condition of
its carries holds (`while_loop`), or both; one that is `counted` runs as many steps as its first
operand says, of `length` at the most. Rows of steps that were not run are zeros. What every
transform makes of a loop is a loop again, so loops nest, and derivatives are taken to any order.

Reverse mode makes two loops of one, the second in the other direction. What the backward steps
read is the minimum cut of one step (`passes/partition.py`): constants are not kept for each step,
rows of `xs` are read again, all else is stacked. A loop of unknown length, and one that is to keep
few carries, is first written as loops in loops (`transforms/segments.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.compile.execute import execute
from funcgrad.core.forms import HigherOrder, filled
from funcgrad.core.primitive import Params, Primitive
from funcgrad.core.tracer import Tracer, bind, type_of
from funcgrad.core.types import Array, ArrayType, is_inexact
from funcgrad.errors import GraphError, LoopLimitError, located
from funcgrad.graph.build import stage
from funcgrad.graph.effects import effects_of, guarded
from funcgrad.graph.interpret import evaluate
from funcgrad.graph.ir import Graph, Literal, Var
from funcgrad.graph.linearity import Flow, either, linear_flow
from funcgrad.graph.loop import Loop
from funcgrad.ops import constant
from funcgrad.ops.arithmetic import add, cast, less, where
from funcgrad.ops.shape import broadcast_as, moveaxis, reshape, zeros
from funcgrad.ops.sums import sum as sum_
from funcgrad.transforms.arguments import lower
from funcgrad.transforms.batch import HIDDEN, Batch, BatchTracer, whole
from funcgrad.transforms.call import (
    as_linear,
    bare_tangent_graph,
    marked_graph,
    marks_of,
    reverse_graphs,
    tangent_graph,
)
from funcgrad.transforms.segments import check_condition, segmented

__all__ = ["INTEGER", "LOOP", "each_chosen", "run_loop", "staged_graph"]

INTEGER = ArrayType((), np.dtype(np.int64))


def run_loop(p: Loop, operands: Sequence[Array]) -> tuple[Array, ...]:
    """The final carries, the ys, and where there is a condition the number of steps."""
    if any(isinstance(x, Tracer) for x in operands):
        made: tuple[Array, ...] = bind(LOOP, operands, p.params)
        return made
    return execute(_alone(p, list(map(_strong, operands))), *operands)


def _alone(p: Loop, types: Sequence[ArrayType]) -> Graph:
    """A program that is nothing but this loop."""
    key = ("alone", p._replace(body=None))  # type: ignore[arg-type]
    if key not in p.body.derived:
        p.body.derived[key] = staged_graph(lambda *xs: bind(LOOP, xs, p.params), types)
    found: Graph = p.body.derived[key]
    return found


def staged_graph(run: Callable[..., Sequence[Array]], types: Sequence[ArrayType]) -> Graph:
    """The graph of a function of operands of these types that brings nothing along."""
    graph, consts = stage(run, types)
    assert not consts
    return graph


def _types(variables: Sequence[Any]) -> list[ArrayType]:
    return [ArrayType(v.type.shape, v.type.dtype) for v in variables]


# ---------------------------------------------------------------------------- the operation


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
    if carried != [(t.shape, t.dtype) for t in _types(p.body.outputs[: p.carries])]:
        raise GraphError("a loop gives carries of other types than it takes")


class LoopPullback(Primitive):
    """The node of a loop: the loop that goes back, and its operands but for the cotangents."""

    chooses = True

    def is_linear(self, mask: Sequence[bool], params: Params) -> bool:
        return True  # where it is asked, the operation has been

    def vjp(self, node: Any, g: Any) -> Sequence[Array | None]:
        back: _Backward = node.params["back"]
        found = iter(back.run(node.saved, filled(g, node.outputs)))
        return [None if p is None else next(found) for p in node.parents]


class LoopPrimitive(HigherOrder):
    """A count where the loop is counted, then constants, initial carries, and xs."""

    loops = True

    def type_rule(self, types: Sequence[ArrayType], params: Params) -> Any:
        p = Loop(**params)
        _check(p, types)
        outputs = _types(p.body.outputs)
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
        moving = _closed(p, given, lambda v: is_inexact(v.type.dtype))
        forward, back = _reversed(p, moving, trace.marks)
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
        back = back._replace(wanted=tuple(given))
        found = trace.record_multiple(LOOP_PULLBACK, parents, {"back": back}, kept, outputs)
        mask = (*(False for _ in range(first)), *given)
        return as_linear(self, trace, mask, params, found, outputs)

    def forward(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        p = Loop(**params)
        xs, ts = trace.split_marked(args)
        first = int(p.counted)
        marks = [t is not None for t in ts[first:]]
        make = tangent_graph if trace.marks else bare_tangent_graph
        loop = _beside(p, marks, make, lambda t: t, _no_tangent)

        def tangent(k: int) -> Array:
            t = ts[first + k]
            return zeros(_strong(xs[first + k])) if t is None else trace.whole(t)

        outs, moved, steps = loop.run(xs[:first], xs[first:], tangent)
        return (*(trace.dual(o, t) for o, t in zip(outs, moved, strict=True)), *steps)

    def mark(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        p = Loop(**params)
        first = int(p.counted)
        given = args[first:]
        loop = _beside(p, marks_of(trace, given), marked_graph, _mask_type, _known_mask)
        values = [trace.dense(x) for x in given]
        outs, masks, steps = loop.run(args[:first], values, lambda k: trace.mask_of(given[k]))
        found = [
            o if h is None else trace.part(o, m)
            for o, m, h in zip(outs, masks, loop.has, strict=True)
        ]
        return (*found, *steps)

    def map(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        xs, batched = trace.split(args)
        p = Loop(**params)
        found, flags = _batched(p, trace.size, xs, batched)
        return tuple(BatchTracer(o, trace) if f else o for o, f in zip(found, flags, strict=True))


LOOP = LoopPrimitive("loop", _run)
LOOP_PULLBACK = LoopPullback("loop_pullback", lambda *_: ())


def _strong(x: Array) -> ArrayType:
    aval = type_of(x)
    return ArrayType(aval.shape, aval.dtype)


def _reached(graph: Graph, mask: Sequence[bool], follows: Callable[[Var], bool]) -> list[bool]:
    """Which outputs depend on the inputs of `mask`, by values that are to be followed."""
    known = {v for v, m in zip(graph.inputs, mask, strict=True) if m and follows(v)}
    for e in graph.equations:
        if not known.isdisjoint(a for a in e.inputs if isinstance(a, Var)):
            known.update(v for v in e.outputs if follows(v))
    return [o in known for o in graph.outputs]


def _closed(p: Loop, given: Sequence[bool], follows: Callable[[Var], bool]) -> tuple[bool, ...]:
    """`given`, of constants, carries and xs, with all carries that come to depend on them."""
    mask = list(given)
    while True:
        reached = _reached(p.body, mask, follows)
        more = [
            m or r for m, r in zip(mask[p.consts : p.consts + p.carries], reached, strict=False)
        ]
        if more == mask[p.consts : p.consts + p.carries]:
            return tuple(mask)
        mask[p.consts : p.consts + p.carries] = more


# ---------------------------------------------------------------------------- reverse mode


class _Backward(NamedTuple):
    """The loop that goes back, and where its operands come from.

    `sources` say of each residual whether it is a constant, an x or a stack, and which; `moving`
    are the constants, carries and xs with cotangents, `wanted` those that are asked for.
    """

    loop: Loop
    forward: Loop
    sources: tuple[tuple[str, int], ...]
    moving: tuple[bool, ...]
    stacks: int
    wanted: tuple[bool, ...] = ()

    def saved(
        self, counts: Sequence[Array], operands: Sequence[Array], stacks: Sequence[Array]
    ) -> list[Array]:
        p = self.forward
        held = {"const": operands, "x": operands[p.consts + p.carries :], "stack": stacks}
        found = [held[kind][k] for kind, k in _in_order(self.sources)]
        return [*counts, *found]

    def run(self, saved: Sequence[Array], cts: Sequence[Array]) -> list[Array]:
        """The cotangents of the wanted operands."""
        p = self.forward
        consts, carries, xs = p.split(self.moving)
        first = int(self.loop.counted)
        held = first + sum(kind == "const" for kind, _ in self.sources)
        ends = [c for c, m in zip(cts, carries, strict=False) if m]
        types = _types(p.body.inputs[: p.consts])
        sums = [zeros(t) for t, m in zip(types, consts, strict=True) if m]
        rows = [
            c
            for c, o in zip(cts[p.carries :], p.body.outputs[p.carries :], strict=False)
            if is_inexact(o.type.dtype)
        ]
        found = iter(run_loop(self.loop, [*saved[:held], *ends, *sums, *saved[held:], *rows]))
        begins = [next(found) if m else None for m in carries]
        totals = [next(found) if m else None for m in consts]
        each = [next(found) if m else None for m in xs]
        whole_ = [*totals, *begins, *each]
        return [c for c, w in zip(whole_, self.wanted, strict=True) if w and c is not None]


def _in_order(sources: Sequence[tuple[str, int]]) -> Iterator[tuple[str, int]]:
    """Constants first, as a loop takes them."""
    yield from (s for s in sources if s[0] == "const")
    yield from (s for s in sources if s[0] != "const")


def _reversed(p: Loop, moving: tuple[bool, ...], marks: bool) -> tuple[Loop, _Backward]:
    """The loop that also gives stacks of residuals, and the one that goes back."""
    key = ("loop", moving, marks, p._replace(body=None))  # type: ignore[arg-type]
    if key not in p.body.derived:
        p.body.derived[key] = _cut(p, moving, marks)
    found: tuple[Loop, _Backward] = p.body.derived[key]
    return found


def _cut(p: Loop, moving: tuple[bool, ...], marks: bool) -> tuple[Loop, _Backward]:
    one, two = reverse_graphs(p.body, moving, marks)
    count = len(p.body.outputs)
    residuals = one.outputs[count:]
    place = {v: k for k, v in enumerate(one.inputs)}
    sources: list[tuple[str, int]] = []
    stacked: list[Any] = []
    for r in residuals:
        k = place.get(r) if isinstance(r, Var) else None
        if k is not None and k < p.consts:
            sources.append(("const", k))
        elif k is not None and k >= p.consts + p.carries:
            sources.append(("x", k - p.consts - p.carries))
        else:
            sources.append(("stack", len(stacked)))
            stacked.append(r)
    body = Graph(one.inputs, one.equations, (*one.outputs[:count], *stacked), one.constants)
    forward = p._replace(body=body)
    loop = Loop(
        _back_body(p, moving, two, sources),
        None,
        sum(kind == "const" for kind, _ in sources),
        sum(moving[: p.consts + p.carries]),
        p.length,
        not p.reverse,
        p.counted or p.condition is not None,
    )
    return forward, _Backward(loop, p, tuple(sources), moving, len(stacked))


def _back_body(
    p: Loop, moving: tuple[bool, ...], two: Graph, sources: Sequence[tuple[str, int]]
) -> Graph:
    """(constants, cotangents of carries, sums, stacks and xs, cotangents of rows) → the next."""
    consts, carries, _ = p.split(moving)
    outputs = p.body.outputs
    types = _types(two.inputs)
    order = [sources.index(s) for s in dict.fromkeys(_in_order(sources))]
    held = sum(kind == "const" for kind, _ in sources)
    cts = types[len(sources) :]
    flags = [*carries, *(is_inexact(o.type.dtype) for o in outputs[p.carries :])]
    ends = [t for t, m in zip(cts[: p.carries], carries, strict=True) if m]
    rows = [t for t, m in zip(cts[p.carries :], flags[p.carries :], strict=True) if m]
    sums = [t for t, m in zip(_types(p.body.inputs[: p.consts]), consts, strict=True) if m]
    avals = [types[k] for k in order]

    def back(*xs: Array) -> list[Array]:
        given = iter(xs)
        residuals: list[Any] = [None] * len(sources)
        for k in order[:held]:
            residuals[k] = next(given)
        above = [next(given) for _ in ends]
        totals = [next(given) for _ in sums]
        for k in order[held:]:
            residuals[k] = next(given)
        below = iter([*above, *given])
        whole_ = [next(below) if m else zeros(t) for t, m in zip(cts, flags, strict=True)]
        found = iter(evaluate(two, *residuals, *whole_))
        own = [next(found) for _ in sums]
        begins = [next(found) for _ in ends]
        return [*begins, *(add(t, c) for t, c in zip(totals, own, strict=True)), *found]

    return staged_graph(back, [*avals[:held], *ends, *sums, *avals[held:], *rows])


# ------------------------------------------------- forward mode, and which elements are there


class _Beside(NamedTuple):
    """A loop in which some values have another one beside them: a tangent, or a mask.

    Constants, carries and xs, and then carries and ys that come out, are each followed by what
    stands beside those of them that are marked.
    """

    plain: Loop
    loop: Loop
    marks: tuple[Any, ...]  # of constants, carries and xs
    has: tuple[Any, ...]  # of carries that come out, and ys

    def run(
        self, counts: Sequence[Array], values: Sequence[Array], beside: Callable[[int], Array]
    ) -> tuple[list[Array], list[Array | None], list[Array]]:
        """The outputs, what stands beside them, and the number of steps."""
        given = list(counts)
        for group in self.plain.split(range(len(values))):
            given += [values[k] for k in group]
            given += [beside(k) for k in group if self.marks[k]]
        results = list(run_loop(self.loop, given))
        outs: list[Array] = []
        found: list[Array | None] = []
        for start, stop in ((0, self.plain.carries), (self.plain.carries, len(self.has))):
            outs += results[: stop - start]
            del results[: stop - start]
            found += [results.pop(0) if h else None for h in self.has[start:stop]]
        return outs, found, results


Make = Callable[[Graph, tuple[Any, ...]], tuple[Graph, tuple[Any, ...]]]


def _beside(
    p: Loop,
    given: Sequence[Any],
    make: Make,
    kind: Callable[[ArrayType], ArrayType],
    missing: Callable[[Array, Any], Array],
) -> _Beside:
    """The loop for these marks; carries that come to be marked are so from the start.

    `make` is what makes a graph with values beside its own of one for given marks, `kind` the type
    of what stands beside a value, `missing` what is put there where a step makes nothing.
    """
    marks = list(given)
    second = p.consts + p.carries
    runs = bool(p.length) and p.condition is None and not p.counted

    def joined(mark: Any, after: Any) -> Any:
        if mark is None and after is False and runs:
            return False  # a sum that begins with nothing is there after the first step
        return mark if mark == after or (mark and not after) else True

    while True:
        graph, own = make(p.body, tuple(marks))
        more = list(map(joined, marks[p.consts : second], own))
        if more == marks[p.consts : second]:
            break
        marks[p.consts : second] = more
    has = (*marks[p.consts : second], *own[p.carries :])
    key = ("beside", make, tuple(marks), p._replace(body=None))  # type: ignore[arg-type]
    if key not in p.body.derived:
        p.body.derived[key] = _with_others(p, marks, has, graph, own, kind, missing)
    return _Beside(p, p.body.derived[key], tuple(marks), has)


def _with_others(
    p: Loop,
    marks: Sequence[Any],
    has: Sequence[Any],
    graph: Graph,
    own: Sequence[Any],
    kind: Callable[[ArrayType], ArrayType],
    missing: Callable[[Array, Any], Array],
) -> Loop:
    avals = p.split(_types(p.body.inputs))
    others = [
        [kind(t) for t, m in zip(each, flags, strict=True) if m]
        for each, flags in zip(avals, p.split(marks), strict=True)
    ]
    types = [t for each, more in zip(avals, others, strict=True) for t in (*each, *more)]

    def apart(xs: Sequence[Array], groups: int) -> tuple[list[Array], list[Array]]:
        values: list[Array] = []
        beside: list[Array] = []
        at = 0
        for each, more in zip(avals[:groups], others, strict=False):
            values += xs[at : at + len(each)]
            beside += xs[at + len(each) : at + len(each) + len(more)]
            at += len(each) + len(more)
        return values, beside

    def step(*xs: Array) -> list[Array]:
        values, beside = apart(xs, 3)
        found = evaluate(graph, *values, *beside)
        outs, made = found[: len(has)], iter(found[len(has) :])
        each = [next(made) if m else missing(o, m) for o, m in zip(outs, own, strict=True)]
        result: list[Array] = []
        for start, stop in ((0, p.carries), (p.carries, len(has))):
            result += outs[start:stop]
            result += [t for t, h in zip(each[start:stop], has[start:stop], strict=True) if h]
        return result

    condition = None
    if p.condition is not None:
        goes_on = p.condition
        first = sum(len(avals[k]) + len(others[k]) for k in range(2))
        condition = staged_graph(lambda *xs: evaluate(goes_on, *apart(xs, 2)[0]), types[:first])
    return p._replace(
        body=staged_graph(step, types),
        condition=condition,
        consts=len(avals[0]) + len(others[0]),
        carries=len(avals[1]) + len(others[1]),
    )


def _no_tangent(x: Array, _: Any) -> Array:
    return zeros(_strong(x))


def _mask_type(aval: ArrayType) -> ArrayType:
    return ArrayType(aval.shape, np.dtype(bool))


def _known_mask(x: Array, mark: Any) -> Array:
    """All of a cotangent is there, nothing of a constant zero."""
    return np.full(type_of(x).shape, mark is False)


# ---------------------------------------------------------------------------- batching


def _batched(
    p: Loop, size: int, xs: Sequence[Array], batched: Sequence[bool]
) -> tuple[Sequence[Array], list[bool]]:
    """The outputs of a loop for all examples, and which of them have the axis of the examples."""
    counts, *operands = p.parts(xs)
    several, *flags = p.parts(batched)
    given = [f for each in flags for f in each]
    mask = _closed(p, given, lambda v: True)
    chosen = any(several)
    if p.condition is not None:
        inputs = mask[: p.consts + p.carries]
        chosen = chosen or _reached(p.condition, inputs, lambda v: True)[0]
    key = ("batched", size, mask, chosen, any(several), p._replace(body=None))  # type: ignore[arg-type]
    if chosen:
        second = p.consts + p.carries
        mask = (*mask[: p.consts], *(True,) * p.carries, *mask[second:])
    if key not in p.body.derived:
        make = _masked_loop if chosen else _plain_loop
        p.body.derived[key] = make(p, size, mask, any(several))
    made: Loop = p.body.derived[key]
    given_ = _with_axes(p, size, operands, flags, mask)
    if not chosen:
        found = run_loop(made, [*counts, *given_])
        rows = _reached(p.body, mask, lambda v: True)[p.carries :]
        out = [*p.split(mask)[1], *rows, *([False] if p.condition is not None else [])]
        ys = [
            moveaxis(y, 0, 1) if m else y
            for y, m in zip(found[p.carries : p.carries + len(rows)], rows, strict=True)
        ]
        return [*found[: p.carries], *ys, *found[p.carries + len(rows) :]], out
    second = p.consts + p.carries
    steps = [np.zeros(size, np.int64)] if p.condition is not None else []
    longest = [_longest(c, p) if s else c for c, s in zip(counts, several, strict=True)]
    own = [
        c if s else broadcast_as(c, (size,), np.dtype(np.int64))
        for c, s in zip(counts, several, strict=True)
    ]
    index = [np.arange(p.length or 0)] if counts else []
    found = run_loop(
        made,
        [*longest, *own, *given_[: p.consts], *given_[p.consts : second], *steps]
        + [*(given_[p.consts : second] if steps else []), *given_[second:], *index],
    )
    ys = [moveaxis(y, 0, 1) for y in found[made.carries :][: len(p.body.outputs) - p.carries]]
    out = [True] * (len(p.body.outputs) + len(steps))
    return [*found[: p.carries], *ys, *found[p.carries : p.carries + len(steps)]], out


def _longest(counts: Array, p: Loop) -> Array:
    """The most steps that an example takes: of rows that one of them has, in sums that are native.

    The largest of integers has no native form, and would take a program to NumPy.
    """
    rows = np.arange(p.length or 0)[:, None]
    return sum_(cast(constant.any(less(rows, counts), 1), INTEGER.dtype))


def _with_axes(
    p: Loop, size: int, operands: Any, flags: Any, mask: tuple[bool, ...]
) -> list[Array]:
    """The operands as the batched loop takes them."""
    wanted = p.split(mask)
    found = []
    for k, (each, mine, want) in enumerate(zip(operands, flags, wanted, strict=True)):
        for x, f, w in zip(each, mine, want, strict=True):
            if w and not f:
                aval = type_of(x)
                x = broadcast_as(x, (size, *aval.shape), aval.dtype)
            found.append(moveaxis(x, 0, 1) if k == 2 and f else x)
    return found


def _lanes(p: Loop, size: int, mask: tuple[bool, ...]) -> list[ArrayType]:
    return [
        ArrayType((size, *t.shape), t.dtype) if m else t
        for t, m in zip(_types(p.body.inputs), mask, strict=True)
    ]


def _spread(
    graph: Graph,
    size: int,
    mask: Sequence[bool],
    xs: Sequence[Array],
    held: Array | None = None,
) -> list[Array]:
    """The outputs of a graph for all examples, those that are the same in all without the axis.

    Its effects happen for those examples alone that are `held`.
    """
    own = _reached(graph, mask, lambda v: True)
    with Batch(size, HIDDEN) as trace:
        given = [BatchTracer(x, trace) if m else x for x, m in zip(xs, mask, strict=True)]
        if held is not None and effects_of(graph):
            outs = evaluate(guarded(graph), BatchTracer(held, trace), *given)
        else:
            outs = evaluate(graph, *given)
        return [whole(o, trace) if m else lower(o, trace) for o, m in zip(outs, own, strict=True)]


def _plain_loop(p: Loop, size: int, mask: tuple[bool, ...], _: bool) -> Loop:
    """All examples take the same steps."""
    carries = p.split(mask)[1]

    def step(*xs: Array) -> list[Array]:
        found = _spread(p.body, size, mask, xs)
        reached = _reached(p.body, mask, lambda v: True)
        return [
            broadcast_as(o, (size, *type_of(o).shape), type_of(o).dtype) if m and not r else o
            for o, m, r in zip(found, [*carries, *reached[p.carries :]], reached, strict=True)
        ]

    condition = p.condition
    if condition is not None:
        goes_on = condition
        types = _lanes(p, size, mask)[: p.consts + p.carries]
        flags = mask[: p.consts + p.carries]
        condition = staged_graph(lambda *xs: _spread(goes_on, size, flags, xs), types)
    return p._replace(body=staged_graph(step, _lanes(p, size, mask)), condition=condition)


def _masked_loop(p: Loop, size: int, mask: tuple[bool, ...], several: bool) -> Loop:
    """Each example takes its own steps; one that has ended keeps what it has.

    Operands: the counts of all examples, constants, carries, steps taken, the carries of the last
    step, xs, number of the row. An example that has ended repeats its last step, which has shown
    that it raises nothing, and drops what it gives.
    """
    check_condition(p, "ends at another step for each example of vmap")
    second = p.consts + p.carries
    avals = _lanes(p, size, mask)
    counted, goes_on = p.counted, p.condition
    own = [ArrayType((size,), INTEGER.dtype)] if counted else []
    steps = [ArrayType((size,), INTEGER.dtype)] if goes_on is not None else []
    index = [INTEGER] if counted else []
    before = avals[p.consts : second] if goes_on is not None else []
    types = [*own, *avals[:second], *steps, *before, *avals[second:], *index]

    def running(xs: Sequence[Array]) -> Array:
        assert goes_on is not None
        (held,) = _spread(goes_on, size, mask[:second], xs)
        return held if type_of(held).shape else broadcast_as(held, (size,), np.dtype(bool))

    def step(*xs: Array) -> list[Array]:
        at = len(own) + second
        rest = at + len(steps) + len(before)
        inputs = [*xs[len(own) : at], *xs[rest : len(xs) - len(index)]]
        held = less(xs[-1], xs[0]) if counted else running(inputs[:second])
        old = inputs[p.consts : second]
        last = xs[at + len(steps) : rest]
        taken_from = list(map(each_chosen, [held] * len(last), old, last)) if before else old
        given = [*inputs[: p.consts], *taken_from, *inputs[second:]]
        found = _spread(p.body, size, mask, given, held)
        new = [_every(o, o_, size) for o, o_ in zip(found, p.body.outputs, strict=True)]
        state = [each_chosen(held, n, o) for n, o in zip(new, old, strict=False)]
        # Of examples that have ended they are those of their last step: nobody takes them, but
        # what is computed of them on the way back must not fail, as a matrix of zeros would.
        rows = new[p.carries :]
        taken = [add(xs[at], cast(held, INTEGER.dtype))] if steps else []
        return [*state, *taken, *taken_from[: len(before)], *rows]

    condition = None
    if goes_on is not None:

        def any_running(*xs: Array) -> list[Array]:
            return [constant.any(running(xs[len(own) : len(own) + second]))]

        condition = staged_graph(any_running, types[: len(own) + second + len(steps) + len(before)])
    return p._replace(
        body=staged_graph(step, types),
        condition=condition,
        consts=p.consts + len(own),
        carries=p.carries + len(steps) + len(before),
    )


def _every(o: Array, inner: Var | Literal, size: int) -> Array:
    """An output with the axis of the examples."""
    if type_of(o).ndim > inner.type.ndim:
        return o
    return broadcast_as(o, (size, *inner.type.shape), inner.type.dtype)


def each_chosen(held: Array, new: Array, old: Array) -> Array:
    """For each example one of two, whatever their further axes."""
    lanes = type_of(held).shape
    return where(reshape(held, lanes + (1,) * (type_of(new).ndim - 1)), new, old)
