"""Fission: what a step does not hand on leaves its loop, as one pass over the rows of all steps.

What depends on no carry can be computed before the loop, what no carry depends on after it, from
rows that the loop reads or writes anyway or from values that it is made to stack for that. A carry
that is only added to becomes a sum over a stack, and where products of matrices are added up, one
product. A step of what is left does less, one after the other; what leaves runs in lanes.

What to move is a minimum cut between what an operation costs more in a step than in lanes, and what
it costs to stack a value. A value is stacked only where all its rows take no more memory than what
the loop reads and writes for its steps anyway, or a few megabytes, which a cache holds: so memory
grows by a factor that is fixed. Loops that may end before their last row stay as they are: behind
it rows are zeros.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.core.primitive import Primitive
from funcgrad.core.tracer import bind, plain
from funcgrad.core.types import Array
from funcgrad.graph.build import stage
from funcgrad.graph.effects import has_effect
from funcgrad.graph.ir import Atom, Equation, Graph, Literal, Var
from funcgrad.graph.live import needed
from funcgrad.graph.loop import Loop
from funcgrad.ops import arithmetic as ops
from funcgrad.ops import records
from funcgrad.ops.einsum import einsum_letters
from funcgrad.ops.shape import broadcast_to
from funcgrad.ops.sums import sum as sum_
from funcgrad.passes.cut import UNLIMITED, Network
from funcgrad.passes.rewrite import Rewriter, rewrite

__all__ = ["fission"]

SHORTEST = 16  # steps
MEMORY = 4 << 20  # bytes of the rows of one value: what a cache holds
LANES = 8
IDLE = 2  # additions that a processor does at a time, while a step waits for the one before
WRITTEN_OUT = 1024  # multiplications of a product that is no loop
SHORT = 64  # elements of a row for which a loop in each step costs much
UNIT = 16  # costs are counted in such parts of an addition, as whole numbers
STACK = "abcdefgh"  # letters of the axes before those of a matrix
MOVED = (
    records.MATMUL,
    records.SUM,
    records.PLACE,
    records.CONCATENATE,
    records.BROADCAST,
    records.GATHER,
    records.SCATTER_ADD,
)


def fission(graph: Graph) -> Graph:
    """The graph with what its loops need not do step by step before and behind them."""
    if not any(e.prim.loops for e in graph.equations):
        return graph

    def rule(r: Rewriter, e: Equation) -> list[Atom] | None:
        p = Loop(**e.params) if e.prim.loops else None
        if p is None or p.condition is not None or p.counted or (p.length or 0) < SHORTEST:
            return None
        if has_effect(e):  # its steps run one after the other, all of them
            return None
        small = _Parts(p).divided(e)
        return None if small is None else r.inline(small, e.inputs)

    return rewrite(graph, rule)


class Total(NamedTuple):
    """A carry to which a step only adds: its number, what is added, and the additions."""

    carry: int
    terms: tuple[Atom, ...]
    adds: tuple[Equation, ...]


class _Parts:
    """A loop with what is known of the equations of its step."""

    def __init__(self, p: Loop) -> None:
        self.p, body = p, p.body
        assert p.length is not None
        self.steps: int = p.length
        second = p.consts + p.carries
        self.constants = {*body.inputs[: p.consts], *(v for v, _ in body.constants)}
        self.carried = body.inputs[p.consts : second]
        self.rows = body.inputs[second:]
        self.made = {v: e for e in body.equations for v in e.outputs}
        self.uses = Counter(a for e in body.equations for a in e.inputs)
        self.uses.update(body.outputs)
        given = sum(map(_bytes, (*self.rows, *body.outputs[p.carries :])))
        self.room = max(MEMORY, self.steps * given)
        self.delays = self.delayed()
        self.totals = [t for k in range(p.carries) if (t := self.total(k)) is not None]
        self.added = {id(e) for t in self.totals for e in t.adds}
        self.joint = {id(e) for t in self.totals for e in self.together(t)}
        self.fixed = self.independent()

    # ------------------------------------------------------------------- what is known of values

    def delayed(self) -> dict[Var, Any]:
        """The carries that have one number in all steps but the first."""
        arrays = dict(self.p.body.constants)
        found = {}
        for v, o in zip(self.carried, self.p.body.outputs, strict=False):
            if self.has_room(v) and (
                isinstance(o, Literal) or (o in arrays and v.type.shape == ())
            ):
                found[v] = o.value if isinstance(o, Literal) else arrays[o][()]
        return found

    def total(self, k: int) -> Total | None:
        """The carry as a total, if it is one."""
        v = self.carried[k]
        end: Atom = self.p.body.outputs[k]
        if v.type.dtype.kind != "f" or not isinstance(end, Var):
            return None
        terms: list[Atom] = []
        adds: list[Equation] = []
        while end is not v:
            e = self.made.get(end) if isinstance(end, Var) else None
            if e is None or e.prim is not records.ADD or self.uses[end] > 1 or len(adds) > 64:
                return None
            if any(a.type != v.type for a in e.inputs):
                return None
            one, other = e.inputs
            if not self.leads(v, one):
                one, other = other, one
            adds.append(e)
            terms.append(other)
            end = one
        return Total(k, tuple(terms), tuple(adds)) if adds and self.uses[v] == 1 else None

    def leads(self, v: Var, a: Atom) -> bool:
        """Whether `a` is the carry, or an addition that leads to it."""
        while a is not v:
            e = self.made.get(a) if isinstance(a, Var) else None
            if e is None or e.prim is not records.ADD or self.uses[a] > 1:
                return False
            a = next((b for b in e.inputs if b is v), e.inputs[0])
        return True

    def independent(self) -> set[Var]:
        """What depends on no carry, and may be computed for all rows."""
        found = {*self.constants, *self.rows}
        for e in self.p.body.equations:
            if _moves(e) and all(isinstance(a, Literal) or a in found for a in e.inputs):
                found.update(e.outputs)
        return found

    def has_room(self, v: Var) -> bool:
        return self.steps * _bytes(v) <= self.room

    def gain(self, e: Equation) -> int:
        """What an equation costs in a step more than in lanes."""
        if not all(map(self.has_room, e.outputs)):
            return 0
        out = e.outputs[0].type
        if e.prim is records.SCATTER_ADD:
            return UNIT * out.size * 2 // LANES
        if e.prim is records.MATMUL:
            work = out.size * (e.inputs[0].type.shape or (1,))[-1]
            return UNIT * work * 3 // 16 if work > WRITTEN_OUT else UNIT * work // 16
        if not e.prim.aligned or not e.prim.cost:
            return 0
        if out.size < LANES:
            return self.alone(e.prim.cost * out.size)
        return UNIT // 2 if out.size <= SHORT else 0

    def alone(self, work: int) -> int:
        """What single additions cost more than lanes of them."""
        return UNIT * work * (LANES - 1) // (LANES * IDLE)

    def stack(self, v: Var) -> int:
        """What it costs to write a value for each step, and to read it again."""
        if not self.has_room(v):
            return UNLIMITED
        size = v.type.size
        return UNIT * (2 * size if size < LANES else size // 4 + 2)

    # ---------------------------------------------------------------------------- what leaves

    def later(self) -> tuple[list[Equation], list[Total]]:
        """The equations that no other carry depends on and that leave, and the totals that do."""
        own = {self.p.body.outputs[t.carry] for t in self.totals}
        stays = {a for o in self.p.body.outputs[: self.p.carries] if o not in own for a in (o,)}
        late: list[Equation] = []
        for e in reversed(self.p.body.equations):
            if id(e) in self.added:
                continue
            if stays.isdisjoint(e.outputs):
                late.append(e)
            else:
                stays.update(e.inputs)
        late.reverse()
        gains = {id(e): self.gain(e) for e in late}
        sums = [self.worth(t) for t in self.totals]
        if sum(gains.values()) + sum(sums) <= 2 * UNIT:
            return [], []
        number = {v: k for k, e in enumerate(late) for v in e.outputs}
        n = len(late) + len(self.totals)
        net = _Cut(2 + n)
        for k, e in enumerate(late):
            fits = id(e) in self.joint or all(map(self.has_room, e.outputs))
            if not _moves(e) or not fits:
                net.edge(0, 2 + k, UNLIMITED)
            net.edge(2 + k, 1, gains[id(e)])
            self.needs(net, 2 + k, e.inputs, number)
        for k, t in enumerate(self.totals):
            net.edge(2 + len(late) + k, 1, sums[k])
            self.needs(net, 2 + len(late) + k, t.terms, number)
        side = net.late()
        return (
            [e for k, e in enumerate(late) if side[2 + k]],
            [t for k, t in enumerate(self.totals) if side[2 + len(late) + k]],
        )

    def needs(self, net: _Cut, node: int, operands: Iterable[Atom], number: dict[Var, int]) -> None:
        """What leaves reads rows: what computes these leaves, too, or stays and stacks them."""
        for a in operands:
            if isinstance(a, Literal) or a in self.delays:
                continue
            k = number.get(a)
            if a in self.fixed:
                if k is None and a in self.made:
                    net.edge(self.once_more(net, a, number), node, UNLIMITED)
                continue
            at = net.value(a)
            if at is None:
                at = net.add(a)
                written = any(a is o for o in self.p.body.outputs[self.p.carries :])
                net.edge(0 if k is None else 2 + k, at, 0 if written else self.stack(a))
            net.edge(at, node, UNLIMITED)
        for a in operands:  # whoever leaves takes all that read it along
            k = number.get(a) if isinstance(a, Var) else None
            if k is not None:
                net.edge(node, 2 + k, UNLIMITED)

    def once_more(self, net: _Cut, a: Var, number: dict[Var, int]) -> int:
        """What depends on no carry is computed again in lanes, for those that leave."""
        new: list[Var] = []
        waiting = [a]
        while waiting:
            b = waiting.pop()
            if net.value(b) is None:
                net.add(b)
                new.append(b)
                waiting += [c for c in self.sources(b) if c not in number]
        for b in new:
            at, cost = net.values[b], self.made[b].prim.cost
            fits = self.has_room(b)
            net.edge(0, at, UNIT * cost * b.type.size // LANES if fits else UNLIMITED)
            for c in self.sources(b):
                k = number.get(c)
                net.edge(net.values[c] if k is None else 2 + k, at, UNLIMITED)
        return net.values[a]

    def sources(self, v: Var) -> list[Var]:
        """The operands that the step computes of what computes a value."""
        return [a for a in self.made[v].inputs if isinstance(a, Var) and a in self.made]

    def worth(self, t: Total) -> int:
        """What it costs more to add up in each step than to do so in lanes."""
        size = t.adds[0].outputs[0].type.size
        return self.alone(size * len(t.adds)) if size < LANES else UNIT * size // LANES

    def together(self, t: Total) -> list[Equation]:
        """Terms that nothing else needs, and that one operation adds up for all steps."""
        made = [self.made.get(a) for a in t.terms if isinstance(a, Var) and self.uses[a] == 1]
        return [e for e in made if e is not None and self.is_joint(e)]

    def is_joint(self, e: Equation) -> bool:
        x, y = e.inputs[0].type, e.inputs[-1].type
        aval = e.outputs[0].type
        if e.prim is records.SCATTER_ADD:
            return len(e.inputs) == 2 and x.dtype == aval.dtype and not y.ndim
        same = x.dtype == y.dtype and x.shape[:-2] == y.shape[:-2]
        return e.prim is records.MATMUL and 2 <= x.ndim == y.ndim <= 2 + len(STACK) and same

    def earlier(self, core: Sequence[Equation], ends: set[Atom]) -> list[Equation]:
        """The equations of the rest of the step that depend on no carry, and leave."""
        early = [e for e in core if e.outputs[0] in self.fixed]
        gains = [self.gain(e) for e in early]
        if sum(gains) <= 2 * UNIT:
            return []
        number = {v: k for k, e in enumerate(early) for v in e.outputs}
        net = _Cut(2 + len(early))
        for k, e in enumerate(early):
            net.edge(0, 2 + k, gains[k])
            if not all(map(self.has_room, e.outputs)):
                net.edge(2 + k, 1, UNLIMITED)
            for a in e.inputs:
                if (j := number.get(a) if isinstance(a, Var) else None) is not None:
                    net.edge(2 + k, 2 + j, UNLIMITED)  # what it is made of leaves, too
        for e in core:
            k_ = number.get(e.outputs[0])
            for a in e.inputs:
                if isinstance(a, Var) and a in number:
                    self.reads(net, a, number[a], 1 if k_ is None else 2 + k_)
        for a in ends:
            if isinstance(a, Var) and a in number:
                self.reads(net, a, number[a], 1)
        side = net.late()
        return [e for k, e in enumerate(early) if not side[2 + k]]

    def reads(self, net: _Cut, a: Var, maker: int, reader: int) -> None:
        at = net.value(a)
        if at is None:
            at = net.add(a)
            net.edge(2 + maker, at, self.stack(a))
        net.edge(at, reader, UNLIMITED)

    # ---------------------------------------------------------------------------- the program

    def divided(self, e: Equation) -> Graph | None:
        """The operands of the loop → its results, in parts; None if it is best as it is."""
        late, totals = self.later()
        gone = {id(x) for x in late} | {id(x) for t in totals for x in t.adds}
        rest = [x for x in self.p.body.equations if id(x) not in gone]
        kept = [k for k in range(self.p.carries) if k not in {t.carry for t in totals}]
        ends: set[Atom] = {self.p.body.outputs[k] for k in kept}
        early = self.earlier(rest, ends)
        if not late and not totals and not early:
            return None
        made, consts = stage(_Program(self, e.prim, late, totals, early), _types(e))
        assert not consts
        if [o.type for o in made.outputs] != [o.type for o in e.outputs]:
            return None
        return made


class _Program:
    """The loop in parts, as a function of its operands."""

    def __init__(
        self,
        parts: _Parts,
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


class _Cut:
    """A network in which nodes for values are added as they are met."""

    def __init__(self, nodes: int) -> None:
        self.count, self.edges = nodes, list[tuple[int, int, int]]()
        self.values: dict[Var, int] = {}

    def value(self, v: Var) -> int | None:
        return self.values.get(v)

    def add(self, v: Var) -> int:
        self.values[v] = self.count
        self.count += 1
        return self.values[v]

    def edge(self, a: int, b: int, capacity: int) -> None:
        if capacity:
            self.edges.append((a, b, capacity))

    def late(self) -> list[bool]:
        network = Network(self.count)
        for edge in self.edges:
            network.connect(*edge)
        return network.late()


def _bytes(a: Atom) -> int:
    return a.type.size * a.type.dtype.itemsize


def _types(e: Equation) -> list[Any]:
    return [a.type for a in e.inputs]


def _moves(e: Equation) -> bool:
    """Whether an operation may be applied to all rows at once."""
    known = e.prim.aligned or e.prim.view or e.prim in MOVED
    kinds = all(a.type.dtype.kind in "bif" for a in (*e.inputs, *e.outputs))
    return known and kinds and not e.prim.multiple and not e.scope and not e.prim.checks
