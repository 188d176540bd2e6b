"""Linear recurrences: a step that adds up multiples of what it is handed is a small matrix.

The backward half of every loop is such a one: its step is linear in the cotangents of the state,
however long the chain of operations is through which it takes them. A loop waits for that chain in
each step. Here the matrices and vectors of all steps are computed without it, as rows (`fission`
makes them a pass in lanes), and the loop that is left multiplies and adds: of two numbers it waits
for a product and two additions. It hands on the carries of all steps as rows, too, so that all else
that the step computes of them leaves it, in the form that the program gave it.

Products of factors are taken before they meet the carries, which rounds otherwise, and may be
infinite where each product with a carry is not. So the carries are looked at: where one is not
finite, the loop as it was runs in the place of the short one. That is a second loop of the program,
or another program, which is made where it is first needed (`Form`). Masks of cotangents, which
settle within a step or two, are known when these steps run by themselves (`settled`).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from funcgrad.core.primitive import Primitive
from funcgrad.core.tracer import bind, operand
from funcgrad.core.types import Array, ArrayType
from funcgrad.graph.build import stage
from funcgrad.graph.effects import has_effect
from funcgrad.graph.interpret import evaluate
from funcgrad.graph.ir import Atom, Equation, Graph, Literal
from funcgrad.graph.live import needed
from funcgrad.graph.loop import Loop
from funcgrad.ops import arithmetic as ops
from funcgrad.ops import records
from funcgrad.ops.index import getitem
from funcgrad.ops.shape import concatenate, reshape
from funcgrad.ops.sums import sum as sum_
from funcgrad.passes.linear_step import (
    NUMBER,
    Chain,
    LinearStep,
    chain_of,
    joined,
    of_numbers,
    summands,
    taken_apart,
)
from funcgrad.passes.loop_parts import IDLE, LANES, Parts, moves
from funcgrad.passes.rewrite import Rewriter, rewrite
from funcgrad.passes.settled import Settled, settled

__all__ = ["Form", "recurrences"]

SHORTEST = 32  # steps
LARGEST = 4  # numbers that a step hands on
LONGEST = 1000  # equations of a step
FUNCTION = 10  # the cost of an operation that no pass makes a linear one
LATENCY = 3.5  # cycles until an operation can read what another one made


class Form(Enum):
    """What stands in the program for the loop as it was."""

    PLAIN = "the loop alone"
    FINITE = "nothing: the short loop says where its numbers are not finite"
    EITHER = "a loop that runs where the numbers of the short one are not finite"


def recurrences(graph: Graph, form: Form = Form.EITHER) -> Graph:
    """The graph with loops that are linear in a few numbers as short loops over matrices."""
    if form is Form.PLAIN or not any(e.prim.loops for e in graph.equations):
        return graph

    def rule(r: Rewriter, e: Equation) -> list[Atom] | None:
        p = Loop(**e.params) if e.prim.loops else None
        if p is None or p.condition is not None or p.counted or (p.length or 0) < SHORTEST:
            return None
        kinds = None if has_effect(e) else _kinds(p, e, r)
        small = None if kinds is None else _rewritten(kinds, e, form)
        return None if small is None else r.inline(small, e.inputs)

    return rewrite(graph, rule)


class _Kinds(NamedTuple):
    """A loop, and which of its carries are what: by their numbers."""

    p: Loop
    numbers: tuple[int, ...]  # float carries of a few numbers
    totals: tuple[int, ...]  # to which a step only adds
    known: Settled


def _kinds(p: Loop, e: Equation, r: Rewriter) -> _Kinds | None:
    body = p.body
    if len(body.equations) > LONGEST or not all(map(moves, body.equations)):
        return None
    parts = Parts(p)
    totals = tuple(t.carry for t in parts.totals)
    kept = [k for k in range(p.carries) if k not in totals]
    numbers = tuple(k for k in kept if parts.carried[k].type.dtype == NUMBER)
    if any(parts.carried[k].type.weak for k in numbers):
        return None
    sizes = [parts.carried[k].type.size for k in numbers]
    if not 0 < sum(sizes) <= LARGEST or 8 * parts.steps > parts.room:
        return None
    masks = tuple(k for k in kept if k not in numbers)
    if any(parts.carried[k].type.dtype != np.dtype(bool) for k in masks):
        return None
    if not masks and _bends(p, numbers):
        return None
    known = settled(p, masks, [_value(a, r) for a in e.inputs])
    if known is None or known.steps >= parts.steps:
        return None
    return _Kinds(p, numbers, totals, known)


def _bends(p: Loop, numbers: Sequence[int]) -> bool:
    """Whether a step surely is not linear in these carries, as no forward half is: seen at once."""
    moving: set[Atom] = {p.body.inputs[p.consts + k] for k in numbers}
    for e in needed(p.body.equations, [p.body.outputs[k] for k in numbers]):
        flags = [a in moving for a in e.inputs]
        if any(flags):
            function = e.prim.aligned and e.prim.cost >= FUNCTION
            if (function or e.prim is records.MULTIPLY) and summands(e, flags) is None:
                return True
            moving.update(e.outputs)
    return False


def _value(a: Atom, r: Rewriter) -> Any:
    """The array of an operand, if it is known."""
    return a.value if isinstance(a, Literal) else r.arrays.get(a)


def _rewritten(kinds: _Kinds, e: Equation, form: Form) -> Graph | None:
    """The operands of the loop → its results; None if it is best as it is."""
    program = _Program(kinds, e.prim, form)
    if program.waits is None or not program.pays(program.waits):
        return None
    made, consts = stage(program, [a.type for a in e.inputs])
    assert not consts
    if [o.type for o in made.outputs] != [o.type for o in e.outputs]:
        return None
    return made


class _Program:
    """The loop as a function of its operands.

    Its step is one of numbers: of constants, numbers that are carried, totals, and rows, giving the
    next numbers, the totals and the rows of results.
    """

    def __init__(self, kinds: _Kinds, prim: Primitive, form: Form) -> None:
        self.kinds, self.p, self.prim, self.form = kinds, kinds.p, prim, form
        p, known = kinds.p, kinds.known
        held, carried, rows = p.split([v.type for v in p.body.inputs])
        self.shapes = [carried[k].shape for k in kinds.numbers]
        self.count = sum(carried[k].size for k in kinds.numbers)
        self.rows = [k for k in range(len(rows)) if k not in known.rows]
        moving = [ArrayType((), NUMBER)] * self.count
        totals = [carried[k] for k in kinds.totals]
        own = [rows[k] for k in self.rows]
        self.step = of_numbers(self.numbered, [*held, *moving, *totals, *own])
        self.numbers = range(p.consts, p.consts + self.count)
        self.steps = (p.length or 0) - known.steps
        ends = self.step.outputs[: self.count]
        kept = [v for k, v in enumerate(self.step.inputs) if self.is_row(k)]
        equations = tuple(needed(self.step.equations, ends))
        self.chain = Graph(tuple(kept), equations, ends, self.step.constants)
        changing = {self.step.inputs[k] for k in self.numbers}
        self.waits = chain_of(equations, changing, ends)

    def is_row(self, k: int) -> bool:
        """Whether an input of the step is none of the totals."""
        return not 0 <= k - self.numbers.stop < len(self.kinds.totals)

    def numbered(self, *given: Array) -> list[Array]:
        """The step on numbers."""
        p, kinds = self.p, self.kinds
        held, left = list(given[: p.consts]), iter(given[p.consts :])
        carried: list[Any] = [None] * p.carries
        for k, shape in zip(kinds.numbers, self.shapes, strict=True):
            numbers = [next(left) for _ in range(int(np.prod(shape, dtype=int)))]
            carried[k] = joined(numbers, shape)
        for k in kinds.totals:
            carried[k] = next(left)
        for k, mask in kinds.known.carries.items():
            carried[k] = mask
        count = len(p.body.inputs) - p.consts - p.carries
        rows = [kinds.known.rows[k] if k in kinds.known.rows else next(left) for k in range(count)]
        found = evaluate(p.body, *held, *carried, *rows)
        ends = [x for k in kinds.numbers for x in taken_apart(found[k])]
        return [*ends, *(found[k] for k in kinds.totals), *found[p.carries :]]

    # ---------------------------------------------------------------------------------- costs

    def pays(self, chain: Chain) -> bool:
        """Whether the chain that a step waits for is so long that all else is less."""
        left = 1 + int(np.ceil(np.log2(self.count + 1)))
        elements = self.count * (self.count + 3)
        lanes = (chain.operations * (self.count + 2) + 2 * elements) / (LANES * IDLE)
        return bool(LATENCY * (chain.length - left) > lanes + elements / IDLE)

    # -------------------------------------------------------------------------------- program

    def __call__(self, *operands: Array) -> list[Array]:
        p, kinds = self.p, self.kinds
        _, constants, state, xs = p.parts(operands)
        state, first, xs = self.begun(constants, state, xs)
        rows = [xs[k] for k in self.rows]
        numbers = [x for k in kinds.numbers for x in taken_apart(state[k])]
        ends, stacks = self.chained(constants, numbers, rows)
        totals, ys = self.rest(constants, [state[k] for k in kinds.totals], rows, stacks)
        left = iter(ends)
        for k, shape in zip(kinds.numbers, self.shapes, strict=True):
            state[k] = joined([next(left) for _ in range(int(np.prod(shape, dtype=int)))], shape)
        for k, total in zip(kinds.totals, totals, strict=True):
            state[k] = total
        for k, mask in kinds.known.carries.items():
            state[k] = operand(mask)
        return [*state, *(self.whole([y[k] for y in first], x) for k, x in enumerate(ys))]

    def begun(
        self, constants: Sequence[Array], state: list[Array], xs: Sequence[Array]
    ) -> tuple[list[Array], list[Sequence[Array]], list[Array]]:
        """The steps until masks have settled: carries, rows of results, and what is left of xs."""
        p, known, first = self.p, self.kinds.known, list[Sequence[Array]]()
        length, begin = p.length or 0, known.steps
        for k, mask in known.starts.items():
            state[k] = mask
        for step in range(begin):
            row = length - 1 - step if p.reverse else step
            rows = [known.rows.get(k, getitem(x, row)) for k, x in enumerate(xs)]
            found = evaluate(p.body, *constants, *state, *rows)
            state = list(found[: p.carries])
            first.append(found[p.carries :])
        left = slice(0, length - begin) if p.reverse else slice(begin, length)
        return state, first, [getitem(x, left) for x in xs] if begin else list(xs)

    def whole(self, first: Sequence[Array], left: Array) -> Array:
        """Rows of the first steps and of those after them."""
        if not first:
            return left
        rows = [reshape(x, (1, *operand(x).shape)) for x in first]
        return concatenate([left, *rows[::-1]] if self.p.reverse else [*rows, left], 0)

    def loop(
        self,
        body: Graph,
        held: int,
        carries: int,
        given: Sequence[Array],
        counted: bool = False,
        finite: bool = False,
    ) -> list[Array]:
        loop = Loop(body, None, held, carries, self.steps, self.p.reverse, counted, finite=finite)
        return list(bind(self.prim, given, loop.params))

    def chained(
        self, constants: Sequence[Array], numbers: Sequence[Array], rows: Sequence[Array]
    ) -> tuple[list[Array], list[Array]]:
        """The numbers after the last step, and before each of them."""
        n, held = self.count, len(constants)
        linear = LinearStep(self.chain, self.numbers)
        elements = self.loop(linear.graph, held, 0, [*constants, *rows])
        types = [ArrayType((), NUMBER)] * (n + len(elements))
        short, _ = stage(lambda *xs: [*linear.applied(xs[:n], xs[n:]), *xs[:n]], types)
        alone = self.form is Form.FINITE
        fast = self.loop(short, 0, n, [*numbers, *elements], finite=alone)
        if alone:
            return fast[:n], fast[n:]
        finite = _finite(fast[:n], fast[n:])
        inputs = self.chain.inputs
        own = (*self.chain.outputs, *(inputs[k] for k in self.numbers))
        plain = Graph(inputs, self.chain.equations, own, self.chain.constants)
        count = ops.where(finite, np.int64(0), np.int64(self.steps))
        given = [count, *constants, *numbers, *rows]
        slow = self.loop(plain, held, n, given, counted=True)
        chosen = [ops.where(finite, x, y) for x, y in zip(fast, slow, strict=True)]
        return chosen[:n], chosen[n:]

    def rest(
        self,
        constants: Sequence[Array],
        totals: Sequence[Array],
        rows: Sequence[Array],
        stacks: Sequence[Array],
    ) -> tuple[list[Array], list[Array]]:
        """The totals, and the rows of the results."""
        ends = self.step.outputs[self.count :]
        if not ends:
            return [], []
        held, moving, left = np.split(
            np.array(self.step.inputs, object), [self.numbers.start, self.numbers.stop]
        )
        body = Graph((*held, *left, *moving), self.step.equations, ends, self.step.constants)
        given = [*constants, *totals, *rows, *stacks]
        found = self.loop(body, len(constants), len(totals), given)
        return found[: len(totals)], found[len(totals) :]


def _finite(numbers: Sequence[Array], stacks: Sequence[Array]) -> Array:
    """Whether all of them are: 0 times a number is 0 then."""
    nothing = [ops.multiply(x, 0.0) for x in numbers]
    nothing.append(sum_(reduce(ops.add, (ops.multiply(x, 0.0) for x in stacks)), 0))
    return ops.equal(reduce(ops.add, nothing), 0.0)
