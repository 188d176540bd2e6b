"""Reverse mode of loops: one loop that also stacks residuals, and one that goes back.

What the backward steps read is the minimum cut of one step (`passes/partition.py`): constants are
not kept for each step, rows of `xs` are read again, all else is stacked. Cotangents of constants
are added up in carries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from funcgrad.core.types import Array, is_inexact, zeros
from funcgrad.errors import SourceLine, repeated
from funcgrad.graph.interpret import evaluate
from funcgrad.graph.ir import Graph, Var
from funcgrad.graph.loop import Loop
from funcgrad.ops.arithmetic import add
from funcgrad.transforms.call import reverse_graphs
from funcgrad.transforms.loop_graphs import Run, staged_graph, types_of_variables

__all__ = ["Backward", "reversed_loop"]


class Backward(NamedTuple):
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
    line: SourceLine | None = None  # of the loop, which the one that goes back has too

    def saved(
        self, counts: Sequence[Array], operands: Sequence[Array], stacks: Sequence[Array]
    ) -> list[Array]:
        p = self.forward
        held = {"const": operands, "x": operands[p.consts + p.carries :], "stack": stacks}
        found = [held[kind][k] for kind, k in _in_order(self.sources)]
        return [*counts, *found]

    def run(self, run: Run, saved: Sequence[Array], cts: Sequence[Array]) -> list[Array]:
        """The cotangents of the wanted operands."""
        p = self.forward
        consts, carries, xs = p.split(self.moving)
        first = int(self.loop.counted)
        held = first + sum(kind == "const" for kind, _ in self.sources)
        ends = [c for c, m in zip(cts, carries, strict=False) if m]
        types = types_of_variables(p.body.inputs[: p.consts])
        sums = [zeros(t) for t, m in zip(types, consts, strict=True) if m]
        rows = [
            c
            for c, o in zip(cts[p.carries :], p.body.outputs[p.carries :], strict=False)
            if is_inexact(o.type.dtype)
        ]
        around, repeated.line = repeated.line, self.line or repeated.line
        try:
            found = iter(run(self.loop, [*saved[:held], *ends, *sums, *saved[held:], *rows]))
        finally:
            repeated.line = around
        begins = [next(found) if m else None for m in carries]
        totals = [next(found) if m else None for m in consts]
        each = [next(found) if m else None for m in xs]
        whole_ = [*totals, *begins, *each]
        return [c for c, w in zip(whole_, self.wanted, strict=True) if w and c is not None]


def _in_order(sources: Sequence[tuple[str, int]]) -> Iterator[tuple[str, int]]:
    """Constants first, as a loop takes them."""
    yield from (s for s in sources if s[0] == "const")
    yield from (s for s in sources if s[0] != "const")


def reversed_loop(p: Loop, moving: tuple[bool, ...], marks: bool) -> tuple[Loop, Backward]:
    """The loop that also gives stacks of residuals, and the one that goes back."""
    key = ("loop", moving, marks, p._replace(body=None))  # type: ignore[arg-type]
    if key not in p.body.derived:
        p.body.derived[key] = _cut(p, moving, marks)
    found: tuple[Loop, Backward] = p.body.derived[key]
    return found


def _cut(p: Loop, moving: tuple[bool, ...], marks: bool) -> tuple[Loop, Backward]:
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
    return forward, Backward(loop, p, tuple(sources), moving, len(stacked))


def _back_body(
    p: Loop, moving: tuple[bool, ...], two: Graph, sources: Sequence[tuple[str, int]]
) -> Graph:
    """(constants, cotangents of carries, sums, stacks and xs, cotangents of rows) → the next."""
    consts, carries, _ = p.split(moving)
    outputs = p.body.outputs
    types = types_of_variables(two.inputs)
    order = [sources.index(s) for s in dict.fromkeys(_in_order(sources))]
    held = sum(kind == "const" for kind, _ in sources)
    cts = types[len(sources) :]
    flags = [*carries, *(is_inexact(o.type.dtype) for o in outputs[p.carries :])]
    ends = [t for t, m in zip(cts[: p.carries], carries, strict=True) if m]
    rows = [t for t, m in zip(cts[p.carries :], flags[p.carries :], strict=True) if m]
    sums = [
        t for t, m in zip(types_of_variables(p.body.inputs[: p.consts]), consts, strict=True) if m
    ]
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
