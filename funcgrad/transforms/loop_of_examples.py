"""Loops of several examples at once: the step mapped, for all as many steps as one of them takes.

Where the condition or the number of steps differs between examples, those that have ended repeat
their last step, which is known to raise nothing, and keep what they had; the choice keeps NaN out
of their gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core.tracer import type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.graph.effects import effects_of, guarded
from funcgrad.graph.interpret import evaluate
from funcgrad.graph.ir import Graph, Literal, Var
from funcgrad.graph.loop import Loop
from funcgrad.ops import constant
from funcgrad.ops.arithmetic import add, cast, less, where
from funcgrad.ops.shape import broadcast_as, moveaxis, reshape
from funcgrad.ops.sums import sum as sum_
from funcgrad.transforms.arguments import lower
from funcgrad.transforms.batch import HIDDEN, Batch, BatchTracer, whole
from funcgrad.transforms.loop_graphs import (
    INTEGER,
    Run,
    closed_over_carries,
    reached_outputs,
    staged_graph,
    types_of_variables,
)
from funcgrad.transforms.segments import check_condition

__all__ = ["each_chosen", "of_examples"]


def of_examples(
    run: Run, p: Loop, size: int, xs: Sequence[Array], batched: Sequence[bool]
) -> tuple[Sequence[Array], list[bool]]:
    """The outputs of a loop for all examples, and which of them have the axis of the examples."""
    counts, *operands = p.parts(xs)
    several, *flags = p.parts(batched)
    given = [f for each in flags for f in each]
    mask = closed_over_carries(p, given, lambda v: True)
    chosen = any(several)
    if p.condition is not None:
        inputs = mask[: p.consts + p.carries]
        chosen = chosen or reached_outputs(p.condition, inputs, lambda v: True)[0]
    key = ("loop", size, mask, chosen, any(several), p._replace(body=None))  # type: ignore[arg-type]
    if chosen:
        second = p.consts + p.carries
        mask = (*mask[: p.consts], *(True,) * p.carries, *mask[second:])
    make = _masked_loop if chosen else _plain_loop
    made: Loop = p.body.batched(key, lambda: make(p, size, mask, any(several)))
    given_ = _with_axes(p, size, operands, flags, mask)
    if not chosen:
        found = run(made, [*counts, *given_])
        rows = reached_outputs(p.body, mask, lambda v: True)[p.carries :]
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
    found = run(
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
        for t, m in zip(types_of_variables(p.body.inputs), mask, strict=True)
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
    own = reached_outputs(graph, mask, lambda v: True)
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
        reached = reached_outputs(p.body, mask, lambda v: True)
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
