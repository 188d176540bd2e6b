"""Loops in which values have others beside them: tangents, or masks of what is there.

Which carries have one is found by going round until nothing changes. A sum that begins with a
constant 0 has no mask if the loop surely runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.core.tracer import type_of
from funcgrad.core.types import Array, ArrayType, zeros
from funcgrad.graph.interpret import evaluate
from funcgrad.graph.ir import Graph
from funcgrad.graph.loop import Loop
from funcgrad.transforms.loop_graphs import Run, staged_graph, strong_type, types_of_variables

__all__ = ["known_mask", "loop_beside", "mask_type", "no_tangent"]


class Beside(NamedTuple):
    """A loop in which some values have another one beside them: a tangent, or a mask.

    Constants, carries and xs, and then carries and ys that come out, are each followed by what
    stands beside those of them that are marked.
    """

    plain: Loop
    loop: Loop
    marks: tuple[Any, ...]  # of constants, carries and xs
    has: tuple[Any, ...]  # of carries that come out, and ys

    def run(
        self,
        run: Run,
        counts: Sequence[Array],
        values: Sequence[Array],
        beside: Callable[[int], Array],
    ) -> tuple[list[Array], list[Array | None], list[Array]]:
        """The outputs, what stands beside them, and the number of steps."""
        given = list(counts)
        for group in self.plain.split(range(len(values))):
            given += [values[k] for k in group]
            given += [beside(k) for k in group if self.marks[k]]
        results = list(run(self.loop, given))
        outs: list[Array] = []
        found: list[Array | None] = []
        for start, stop in ((0, self.plain.carries), (self.plain.carries, len(self.has))):
            outs += results[: stop - start]
            del results[: stop - start]
            found += [results.pop(0) if h else None for h in self.has[start:stop]]
        return outs, found, results


Make = Callable[[Graph, tuple[Any, ...]], tuple[Graph, tuple[Any, ...]]]


def loop_beside(
    p: Loop,
    given: Sequence[Any],
    make: Make,
    kind: Callable[[ArrayType], ArrayType],
    missing: Callable[[Array, Any], Array],
) -> Beside:
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
    return Beside(p, p.body.derived[key], tuple(marks), has)


def _with_others(
    p: Loop,
    marks: Sequence[Any],
    has: Sequence[Any],
    graph: Graph,
    own: Sequence[Any],
    kind: Callable[[ArrayType], ArrayType],
    missing: Callable[[Array, Any], Array],
) -> Loop:
    avals = p.split(types_of_variables(p.body.inputs))
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


def no_tangent(x: Array, _: Any) -> Array:
    return zeros(strong_type(x))


def mask_type(aval: ArrayType) -> ArrayType:
    return ArrayType(aval.shape, np.dtype(bool))


def known_mask(x: Array, mark: Any) -> Array:
    """All of a cotangent is there, nothing of a constant zero."""
    return np.full(type_of(x).shape, mark is False)
