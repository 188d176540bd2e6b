"""A loop in parts: what runs before it, what is left of it, and what runs behind, as a function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core.primitive import Primitive
from funcgrad.core.tracer import bind, plain
from funcgrad.core.types import Array
from funcgrad.graph.ir import Atom, Equation, Graph, Literal, Var
from funcgrad.graph.live import needed
from funcgrad.ops import arithmetic as ops
from funcgrad.ops import records
from funcgrad.ops.einsum import einsum_letters
from funcgrad.ops.shape import broadcast_to
from funcgrad.ops.sums import sum as sum_
from funcgrad.passes.loop_parts import STACK, Parts, Total

__all__ = ["Program"]


class Program:
    """The loop in parts, as a function of its operands."""

    def __init__(
        self,
        parts: Parts,
        prim: Primitive,
        late: Sequence[Equation],
        totals: Sequence[Total],
        early: Sequence[Equation],
    ) -> None:
        self.parts, self.p, self.prim = parts, parts.p, prim
        self.late, self.totals, self.early = late, totals, early
        self.known: dict[Var, tuple[Array, bool]] = {}  # values, of all rows or of none

    def __call__(self, *operands: Array) -> list[Array]:
        p, body = self.p, self.p.body
        _, constants, state, xs = p.parts(operands)
        self.known = {v: (a, False) for v, a in body.constants}
        self.known.update((v, (x, False)) for v, x in zip(body.inputs, constants, strict=False))
        self.known.update((v, (x, True)) for v, x in zip(self.parts.rows, xs, strict=True))
        for e in self.early:
            self.apply(e)
        ends = self.loop(constants, state, xs)
        read = {a for e in self.late for a in e.inputs}
        read.update(a for t in self.totals for a in t.terms)
        for v, x in self.parts.delays.items():
            if v in read and v not in self.known:
                first = state[self.parts.carried.index(v)]
                self.known[v] = (self.delayed(first, x), True)
        wanted = {id(e) for e in (*self.late, *self.again())} - self.parts.joint
        for e in body.equations:
            if id(e) in wanted:
                self.apply(e)
        found = [ends[k] if k in ends else self.total(state[k], k) for k in range(p.carries)]
        return [*found, *(self.row(o) for o in body.outputs[p.carries :])]

    def loop(
        self, constants: Sequence[Array], state: Sequence[Array], xs: Sequence[Array]
    ) -> dict[int, Array]:
        """What is left of the loop: its last carries, by their numbers."""
        parts, p, body = self.parts, self.p, self.p.body
        gone = {id(e) for t in self.totals for e in t.adds}
        gone |= {id(e) for e in (*self.late, *self.early)}
        core = [e for e in body.equations if id(e) not in gone]
        kept = [k for k in range(p.carries) if k not in {t.carry for t in self.totals}]
        stacked = self.stacked(core)
        ends = [body.outputs[k] for k in kept]
        core = list(needed(core, [*ends, *stacked]))
        used = {a for e in core for a in e.inputs} | set(ends) | set(stacked)
        carried = [parts.carried[k] for k in kept]
        if not kept and not stacked:
            return {}
        held = [v for v in body.inputs[: p.consts] if v in used]
        rows = [v for v in parts.rows if v in used]
        early = [v for e in self.early for v in e.outputs if v in used]
        moving = [v for v in early if self.known[v][1]]
        still = [v for v in early if not self.known[v][1]]
        held += still
        own = tuple((v, a) for v, a in body.constants if v in used)
        inputs = (*held, *carried, *rows, *moving)
        graph = Graph(inputs, tuple(core), (*ends, *stacked), own)
        loop = p._replace(body=graph, consts=len(held), carries=len(kept))
        given = [
            *(self.known[v][0] for v in held),
            *(state[k] for k in kept),
            *(self.known[v][0] for v in (*rows, *moving)),
        ]
        found = bind(self.prim, given, loop.params)
        for v, x in zip(stacked, found[len(kept) :], strict=True):
            self.known[v] = (x, True)
        return dict(zip(kept, found, strict=False))

    def stacked(self, core: Sequence[Equation]) -> list[Var]:
        """What of the step has to be there for all rows afterwards."""
        made = {v for e in core for v in e.outputs} | set(self.parts.carried)
        free = self.parts.fixed | set(self.parts.delays) | set(self.known)
        read = [a for e in self.late for a in e.inputs]
        read += [a for t in self.totals for a in t.terms]
        written = self.p.body.outputs[self.p.carries :]
        found = [a for a in read if isinstance(a, Var) and a in made and a not in free]
        found += [o for o in written if isinstance(o, Var) and o in made and o not in self.known]
        return list(dict.fromkeys(found))

    def again(self) -> list[Equation]:
        """What the rest reads that depends on no carry, and is not there for all rows."""
        here = {v for e in self.late for v in e.outputs}
        missing = {a for e in self.late for a in e.inputs if isinstance(a, Var)}
        missing |= {a for t in self.totals for a in t.terms if isinstance(a, Var)}
        found: list[Equation] = []
        missing -= here
        for e in reversed(self.p.body.equations):
            v = e.outputs[0]
            if v in missing and v not in self.known and v not in here:
                found.append(e)
                missing.update(a for a in e.inputs if isinstance(a, Var))
        return found

    # --------------------------------------------------------------------------- in all rows

    def read(self, a: Atom) -> tuple[Array, bool]:
        return (a.value, False) if isinstance(a, Literal) else self.known[a]

    def apply(self, e: Equation) -> None:
        """One operation for all rows; for none where its operands have none."""
        pairs = [self.read(a) for a in e.inputs]
        xs, flags = [x for x, _ in pairs], [f for _, f in pairs]
        if not any(flags):
            made = bind(e.prim, xs, e.params)
        else:
            made = e.prim.batch(self.parts.steps, xs, flags, e.params)
        outs = made if e.prim.multiple else (made,)
        for v, y in zip(e.outputs, outs, strict=True):
            self.known[v] = (plain(y), any(flags))

    def row(self, o: Atom) -> Array:
        """All rows of a result."""
        x, moving = self.read(o)
        if moving:
            return x
        return broadcast_to(x, (self.parts.steps, *o.type.shape))

    def delayed(self, first: Array, then: Any) -> Array:
        """A carry that has one number in all steps but the first."""
        begins = np.zeros(self.parts.steps, bool)
        begins[-1 if self.p.reverse else 0] = True
        return ops.where(begins, first, then)

    def total(self, start: Array, k: int) -> Array:
        (t,) = (t for t in self.totals if t.carry == k)
        leaving = {id(e) for e in self.late} & self.parts.joint
        for a in reversed(t.terms):
            e = self.parts.made.get(a) if isinstance(a, Var) else None
            if e is not None and id(e) in leaving:
                part = self.together(e)
            else:
                x, moving = self.read(a)
                part = sum_(x, 0) if moving else ops.multiply(x, float(self.parts.steps))
            start = ops.add(start, part)
        return start

    def together(self, e: Equation) -> Array:
        """The sum over all rows of products of matrices, or of what is added to rows of a table."""
        (x, one), (y, other) = map(self.read, e.inputs)
        if not one and not other:
            return ops.multiply(bind(e.prim, [x, y], e.params), float(self.parts.steps))
        if e.prim is records.MATMUL:
            lead = STACK[: len(e.outputs[0].type.shape) - 2]
            left, right = "t" * one + lead, "t" * other + lead
            return einsum_letters(f"{left}mk,{right}kn->{lead}mn", [x, y])
        if not other:
            x = sum_(x, 0)
        elif not one:
            x = broadcast_to(x, (self.parts.steps, *e.inputs[0].type.shape))
        return bind(e.prim, [x, y], e.params)
