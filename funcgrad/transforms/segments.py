"""Loops in loops of segments, of which the carries alone are kept for the backward pass.

A loop that keeps its carries at distances `segments`, the largest first, is a loop over segments of
so many steps each, under `checkpoint`, and each segment is a loop that keeps them at the distances
that follow. Of k distances a step is computed k times again at the most. All of it is made of loops
of known length, so memory is known, and derivatives of every order are those of loops.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from funcgrad.core.primitive import Primitive
from funcgrad.core.tracer import bind, operand, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.errors import EffectError, located
from funcgrad.graph.build import stage
from funcgrad.graph.effects import effects_of, first_effect
from funcgrad.graph.ir import Graph, Var
from funcgrad.graph.loop import Loop
from funcgrad.ops.arithmetic import add
from funcgrad.ops.shape import concatenate, reshape
from funcgrad.transforms.arguments import positions
from funcgrad.transforms.checkpoint import CHECKPOINT

__all__ = ["check_condition", "distances", "joined", "segmented"]

SEGMENT = 256  # steps of the innermost loop where nobody knows how many there are
MOST = SEGMENT**3  # steps of such a loop, at the least
Run = Callable[[Loop, Sequence[Array]], Sequence[Array]]
COUNT = ArrayType((), np.dtype(np.int64))


def distances(checkpoint: bool | int | Sequence[int], n: int | None, what: str) -> tuple[int, ...]:
    """How far apart carries are kept, of a loop of at most `n` steps; none where all are."""
    if checkpoint is False:
        return ()
    if checkpoint is True:
        found: tuple[int, ...] = (SEGMENT if n is None else _root(n),)
    else:
        found = positions(checkpoint, f"{what}: besides True and False, checkpoint")
        if not found or found[-1] < 1 or any(a <= b for a, b in pairwise(found)):
            raise ValueError(
                located(
                    f"{what}: checkpoint is {checkpoint}; a carry is kept every so many steps, one "
                    "or more, and of several numbers each is smaller than the one before"
                )
            )
    if n is None and found[0] * SEGMENT < MOST:
        found = (found[0] * math.isqrt(MOST // found[0]), *found)
    return found


def _root(n: int) -> int:
    """About √n: a divisor, where one is near, so that no steps are left over."""
    root = math.isqrt(max(n, 1))
    near = (d for k in range(root // 2) for d in (root + k, root - k) if not n % d)
    return next(near, root)


def segmented(loop: Primitive, p: Loop) -> Graph:
    """The loop as loops in loops; its operands, and its results."""
    check_condition(p, "is differentiated in reverse mode without max_steps or with checkpoint")
    key = ("segmented", p._replace(body=None))  # type: ignore[arg-type]
    if key not in p.body.derived:

        def run(p: Loop, operands: Sequence[Array]) -> Sequence[Array]:
            made: Sequence[Array] = bind(loop, list(map(operand, operands)), p.params)
            return made

        make = _bounded if p.length is not None else _unbounded
        types = [ArrayType(v.type.shape, v.type.dtype) for v in p.body.inputs]
        second = p.consts + p.carries
        rows = [ArrayType((p.length or 0, *t.shape), t.dtype) for t in types[second:]]
        p.body.derived[key] = stage(lambda *xs: make(run, p, xs), [*types[:second], *rows])[0]
    found: Graph = p.body.derived[key]
    return found


def _unbounded(run: Run, p: Loop, operands: Sequence[Array]) -> Sequence[Array]:
    """A loop that nobody knows the length of.

    Most end soon. So where nothing is said the first steps are kept as they are, and distances
    grow from there. Of a step that holds such a loop itself only the carries are kept: the product
    of what nobody knows would be gigabytes.
    """
    nested = (1,) if _holds_unbounded(p.body) else ()
    bounds = p.segments or (*distances(True, None, ""), *nested)
    most = bounds[0] * max(SEGMENT, -(-MOST // bounds[0]))
    rest = p._replace(length=most, strict=most, segments=bounds)
    if p.segments:
        return run(rest, operands)
    *state, begun = run(p._replace(length=SEGMENT, segments=nested), operands)
    *state, more = run(rest, [*operands[: p.consts], *state])
    return [*state, add(begun, more)]


def _holds_unbounded(graph: Graph) -> bool:
    """Whether a graph has a loop of a length that nobody knows, at any depth."""
    found: bool | None = graph.derived.get("holds unbounded")
    if found is None:
        loops = (e.params["length"] for e in graph.equations if e.prim.loops)
        within = (p for e in graph.equations for p in e.params.values() if isinstance(p, Graph))
        found = None in loops or any(map(_holds_unbounded, within))
        graph.derived["holds unbounded"] = found
    return found


def _bounded(run: Run, p: Loop, operands: Sequence[Array]) -> Sequence[Array]:
    assert p.length is not None
    bounds = tuple(d for d in p.segments if d < p.length)
    if not bounds:
        return run(p._replace(segments=()), operands)
    size = bounds[0]
    _, constants, state, rows = p.parts(operands)
    count, left = divmod(p.length, size)
    start = left if p.reverse else 0  # the rest comes last
    stop = start + count * size
    many = [reshape(x[start:stop], (count, size, *type_of(x).shape[1:])) for x in rows]
    outer = _over_segments(run, p._replace(length=size, strict=None, segments=bounds[1:]), p, count)
    taken = [np.int64(0)] if p.condition is not None else []
    found = list(run(outer, [*constants, *state, *taken, *many]))
    state, found = found[: p.carries], found[p.carries :]
    steps, ys = found[: len(taken)], found[len(taken) : len(found) - len(taken)]
    most = [reshape(y, (count * size, *type_of(y).shape[2:])) for y in ys]
    if not left:
        return [*state, *most, *steps]
    rest = [x[:start] if p.reverse else x[stop:] for x in rows]
    found = list(run(p._replace(length=left, segments=bounds[1:]), [*constants, *state, *rest]))
    state, last = found[: p.carries], found[p.carries : len(found) - len(taken)]
    ends = [add(a, b) for a, b in zip(steps, found[len(found) - len(taken) :], strict=True)]
    pairs = zip(last, most, strict=True) if p.reverse else zip(most, last, strict=True)
    return [*state, *(joined(a, b) for a, b in pairs), *ends]


def _over_segments(run: Run, inner: Loop, p: Loop, count: int) -> Loop:
    """The loop of which a step is a segment. Its last carry is the number of steps, if counted."""
    second = p.consts + p.carries
    types = [ArrayType(v.type.shape, v.type.dtype) for v in p.body.inputs]
    rows = [ArrayType((inner.length or 0, *t.shape), t.dtype) for t in types[second:]]
    graph, _ = stage(lambda *xs: run(inner, xs), [*types[:second], *rows])
    taken = [] if p.condition is None else [COUNT]

    def step(*xs: Array) -> list[Array]:
        given = [*xs[:second], *xs[second + len(taken) :]]
        found = bind(CHECKPOINT, given, {"graph": graph})
        after = [add(xs[second], found[-1])] if taken else []
        return [*found[: p.carries], *after, *found[p.carries : len(found) - len(taken)]]

    body, _ = stage(step, [*types[:second], *taken, *rows])
    condition = p.condition
    if condition is not None:
        inputs = (*condition.inputs, Var(COUNT, -1))
        condition = Graph(inputs, condition.equations, condition.outputs, condition.constants)
    return p._replace(
        body=body,
        condition=condition,
        carries=p.carries + len(taken),
        length=count,
        strict=None if p.length != count * (inner.length or 0) else p.strict,
        segments=(),
    )


def check_condition(p: Loop, why: str) -> None:
    """Raise if a condition that is asked more often than the program says has an effect."""
    if p.condition is not None and effects_of(p.condition):
        what, e = next(filter(None, map(first_effect, p.condition.equations)))
        raise EffectError(
            f"{what} in the condition of a while_loop that {why}, for which it is asked more "
            f"often; put it into the body of the loop\n  at {e.source}"
        )


def joined(a: Array, b: Array) -> Array:
    return concatenate([a, b], 0)
