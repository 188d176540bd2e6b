"""What of the step of a loop can leave it, and what should: chosen by a minimum cut.

What to move is a cut between what an operation costs more in a step than in lanes, and what it
costs to stack a value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from funcgrad.graph.ir import Atom, Equation, Literal, Var
from funcgrad.graph.loop import Loop
from funcgrad.ops import records
from funcgrad.passes.cut import UNLIMITED, Network

__all__ = ["IDLE", "LANES", "STACK", "Parts", "Total", "moves"]

MEMORY = 4 << 20  # bytes of the rows of one value: what a cache holds
LANES = 8
IDLE = 2  # additions that a processor does at a time, while a step waits for the one before
WRITTEN_OUT = 1024  # multiplications of a product that is no loop
SHORT = 64  # elements of a row for which a loop in each step costs much
STACK = "abcdefgh"  # letters of the axes before those of a matrix
UNIT = 16  # costs are counted in such parts of an addition, as whole numbers
MOVED = (
    records.MATMUL,
    records.SUM,
    records.PLACE,
    records.CONCATENATE,
    records.BROADCAST,
    records.GATHER,
    records.SCATTER_ADD,
)


class Total(NamedTuple):
    """A carry to which a step only adds: its number, what is added, and the additions."""

    carry: int
    terms: tuple[Atom, ...]
    adds: tuple[Equation, ...]


class Parts:
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
            if moves(e) and all(isinstance(a, Literal) or a in found for a in e.inputs):
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
            if not moves(e) or not fits:
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


def moves(e: Equation) -> bool:
    """Whether an operation may be applied to all rows at once."""
    known = e.prim.aligned or e.prim.view or e.prim in MOVED
    kinds = all(a.type.dtype.kind in "bif" for a in (*e.inputs, *e.outputs))
    return known and kinds and not e.prim.multiple and not e.scope and not e.prim.checks
