"""The loop that a run of steps is, and what stands around it.

Rows that the steps read are sliced off before it, what is read of a step later is stacked, and
cotangents that the steps add up row by row (`sums`) are stacked and put in their places after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core.primitive import Primitive
from funcgrad.core.types import ArrayType
from funcgrad.graph.ir import Atom, Equation, Graph, Literal, Var
from funcgrad.graph.loop import Loop
from funcgrad.ops import records
from funcgrad.ops.index import GETITEM, PLACE
from funcgrad.ops.shape import TRANSPOSE
from funcgrad.transforms.call import batched_graph
from funcgrad.transforms.loop import LOOP
from funcgrad.transforms.rolling.periods import places
from funcgrad.transforms.rolling.program import Program
from funcgrad.transforms.rolling.steps import (
    Before,
    Numbers,
    Operand,
    Refused,
    Same,
    Steps,
    Within,
)
from funcgrad.transforms.rolling.sums import Sum, sums_of

__all__ = ["loop_of"]


def loop_of(program: Program, steps: Steps) -> list[Equation]:
    """The equations that take the place of the steps."""
    return _Builder(program, steps).equations()


class _Builder:
    def __init__(self, program: Program, steps: Steps) -> None:
        self.program, self.steps = program, steps
        self.count, self.period = steps.number, steps.period
        self.sums = sums_of(program, steps)
        self.skipped = {q for s in self.sums for q in (*s.places, *s.adds)}
        self.source = steps.equation(program, 0, 0)
        self.before: list[Equation] = []
        self.after: list[Equation] = []
        self.read: set[Var] = set()  # rows that are read outside of the loop too
        self.reverse = self._goes_back()
        # of the body: its inputs, and what stands for the values of a step
        self.consts: dict[Var, Var] = {}
        self.rows: list[tuple[Var, Var]] = []  # outside, inside
        self.chains: dict[tuple[int, int], list[tuple[list[Atom], list[Var]]]] = {}
        self.local: dict[tuple[int, int], Var] = {}
        self.body: list[Equation] = []

    def equations(self) -> list[Equation]:
        for q in range(self.period):
            e = self.steps.equation(self.program, 0, q)
            if q not in self.skipped and self._is_row(q, e):
                self.local[q, 0] = self._row_read(q, e)
        for q in range(self.period):
            e = self.steps.equation(self.program, 0, q)
            if q not in self.skipped and (q, 0) not in self.local:
                self._step(q, e)
        if not self.body:
            raise Refused("nothing but rows is read")
        self._loop()
        return [*self.before, *self.after]

    # ------------------------------------------------------------------------ one step

    def _goes_back(self) -> bool:
        moves = [m for q in range(self.period) for m in self.steps.moves[q]]
        return sum(m < 0 for m in moves) > sum(m > 0 for m in moves)

    def _is_row(self, q: int, e: Equation) -> bool:
        if not any(self.steps.moves[q]):
            return False
        (operand,) = self.steps.operands[q]
        if e.prim is not GETITEM or not isinstance(operand, Same):
            raise Refused(f"{e.prim.name} at places that move, of a value that changes")
        return True

    def _row_read(self, q: int, e: Equation) -> Var:
        """The row that an equation reads in each step, as an input of the body."""
        index, axis = self._sliced(q, e)
        (made,) = self._emit(self.before, GETITEM, e.inputs, {"index": index})
        if axis:
            rest = [a for a in range(made.type.ndim) if a != axis]
            (made,) = self._emit(self.before, TRANSPOSE, (made,), {"axes": (axis, *rest)})
        return self._input_row(made)

    def _sliced(self, q: int, e: Equation) -> tuple[Any, int]:
        """The index of all steps at once, and the axis along which they lie."""
        moves = self.steps.moves[q]
        if sum(m != 0 for m in moves) > 1:
            raise Refused(f"{e.prim.name} moves along several axes at once")
        at = next(k for k, m in enumerate(moves) if m)
        step = moves[at]
        start = places(e)[at][1]
        if self.reverse:
            start, step = start + (self.count - 1) * step, -step
        stop = start + self.count * step
        index: list[Any] = []
        ints, axis, found = 0, 0, 0
        for i in e.params["index"]:
            if type(i) is int:
                if ints == at:
                    found = axis
                    index.append((start, stop if stop >= 0 else None, step))
                    axis += 1
                else:
                    index.append(i)
                ints += 1
                continue
            if i is Ellipsis:
                whole = e.inputs[0].type if e.prim is GETITEM else e.outputs[0].type
                used = sum(j is not None and j is not Ellipsis for j in e.params["index"])
                axis += whole.ndim - used
            else:
                axis += 1
            index.append(i)
        return tuple(index), found

    def _input_row(self, outside: Var) -> Var:
        kind = outside.type
        inside = self.program.var(ArrayType(kind.shape[1:], kind.dtype))
        self.rows.append((outside, inside))
        return inside

    def _step(self, q: int, e: Equation) -> None:
        inputs = [self._atom(e, x) for x in self.steps.operands[q]]
        outputs = tuple([self.program.var(v.type) for v in e.outputs])
        self.body.append(e._replace(inputs=tuple(inputs), outputs=outputs))
        for w, v in enumerate(outputs):
            self.local[q, w] = v

    def _atom(self, e: Equation, x: Operand) -> Atom:
        if isinstance(x, Within):
            return self.local[x.offset, x.which]
        if isinstance(x, Before):
            return self._carried(x)
        if isinstance(x, Numbers):
            return self._table(e, x)
        if isinstance(x.atom, Literal):
            return x.atom
        return self._const(x.atom)

    def _const(self, v: Var) -> Var:
        if v not in self.consts:
            self.consts[v] = self.program.var(_strong(v.type))
        return self.consts[v]

    def _table(self, e: Equation, x: Numbers) -> Var:
        """The numbers of all steps; Python's are rounded as NumPy rounds them beside arrays."""
        kind = x.values[0].type
        dtype = kind.dtype
        if kind.weak:
            dtype = e.outputs[0].type.dtype
            others = [a.type.dtype for a in e.inputs if isinstance(a, Var)]
            if dtype.kind != "f" or any(d != dtype for d in others):
                raise Refused(f"{e.prim.name} with a number that differs from step to step")
        arrays = self.program.arrays
        rows = [a.value if isinstance(a, Literal) else arrays[a] for a in x.values]
        values = np.stack(rows[::-1] if self.reverse else rows).astype(dtype)
        return self._input_row(self.program.constant(values, ArrayType(values.shape, dtype)))

    def _carried(self, x: Before) -> Var:
        """The value of an earlier step, handed on from one to the next."""
        known = self.chains.setdefault((x.offset, x.which), [])
        wanted = list(reversed(x.first))  # of one step before, of two ...
        for first, chain in known:
            short = min(len(first), len(wanted))
            if all(a is b for a, b in zip(first[:short], wanted[:short], strict=True)):
                for a in wanted[short:]:
                    first.append(a)
                    chain.append(self.program.var(_strong(a.type)))
                return chain[x.lag - 1]
        for a in wanted:
            if a.type != wanted[0].type or not isinstance(a, Var):
                raise Refused("what is handed from step to step changes its type")
            self._needed_before(a)
        known.append((wanted, [self.program.var(_strong(a.type)) for a in wanted]))
        return known[-1][1][x.lag - 1]

    def _needed_before(self, v: Var) -> None:
        """See to it that a value is there before the loop: rows can be read there as well."""
        steps, at = self.steps, self.program.made.get(v, -1)
        if not steps.start <= at < steps.stop:
            return
        q = (at - steps.start) % self.period
        if not self._is_row(q, self._equation(q)):
            raise Refused("what the first step is handed is computed within the steps")
        self._read_again(self.before, self.program.equations[at])

    def _read_again(self, where: list[Equation], e: Equation) -> None:
        """The read of one row, outside of the loop."""
        if e.outputs[0] not in self.read:
            self.read.add(e.outputs[0])
            where.append(e)

    # -------------------------------------------------------------------- the whole loop

    def _loop(self) -> None:
        stacked, last = self._read_outside()
        ends: dict[int, Var] = {}  # the values that stand after the loop, by carry
        first: list[Atom] = []
        inside: list[Var] = []
        following: list[Atom] = []
        for key, chains in self.chains.items():
            for values, chain in chains:
                if key in last:
                    ends[len(first)] = last.pop(key)
                first += values
                inside += chain
                following += [self.local[key], *chain[:-1]]
        for key, v in last.items():  # carried for its last value alone
            ends[len(first)] = v
            zero = np.zeros(v.type.shape, v.type.dtype)
            first.append(self.program.constant(zero, _strong(v.type)))
            inside.append(self.program.var(_strong(v.type)))
            following.append(self.local[key])
        ys = [self.local[key] for key in stacked]
        for s in self.sums:
            if isinstance(s.first, Var):
                self._needed_before(s.first)
        placed = [q for s in self.sums for q in s.places]
        terms = [self._atom(self._equation(q), self.steps.operands[q][0]) for q in placed]
        body = Graph(
            (*self.consts.values(), *inside, *(v for _, v in self.rows)),
            tuple(self.body),
            (*following, *ys, *terms),
        )
        _check_types([*inside, *following, *ys, *terms, *self.consts], self.body)
        inputs = [*self.consts, *first, *(v for v, _ in self.rows)]
        if first:
            loop = Loop(body, None, len(self.consts), len(first), self.count, self.reverse)
            rows = self._emit(self.before, LOOP, inputs, loop.params, ends)[len(first) :]
        else:
            rows = self._mapped(body, inputs)
        for (q, w), all_ in zip(stacked, rows, strict=False):
            self._reads(q, w, all_)
        terms_of = dict(zip(placed, rows[len(stacked) :], strict=True))
        for s in self.sums:
            self._total(s, terms_of)

    def _mapped(self, body: Graph, inputs: Sequence[Atom]) -> tuple[Var, ...]:
        """The stacked outputs of steps that hand nothing on: all of them at once."""
        mask = (*[False] * len(self.consts), *[True] * len(self.rows))
        graph = batched_graph(body, self.count, mask)
        known: dict[Var, Atom] = dict(zip(graph.inputs, inputs, strict=True))
        known |= {v: self.program.constant(x, v.type) for v, x in graph.constants}
        for e in graph.equations:
            atoms = tuple([known[a] if isinstance(a, Var) else a for a in e.inputs])
            outputs = tuple([self.program.var(v.type) for v in e.outputs])
            known.update(zip(e.outputs, outputs, strict=True))
            self.before.append(e._replace(inputs=atoms, outputs=outputs))
        found = [known[v] if isinstance(v, Var) else v for v in graph.outputs]
        assert all(isinstance(v, Var) for v in found)  # they have the axis of the steps
        return tuple(v for v in found if isinstance(v, Var))

    def _equation(self, q: int) -> Equation:
        return self.steps.equation(self.program, 0, q)

    def _read_outside(self) -> tuple[list[tuple[int, int]], dict[tuple[int, int], Var]]:
        """What is read of all steps, or only of the last one."""
        stacked, last = [], {}
        for q in range(self.period):
            if q in self.skipped:
                continue
            for w in range(len(self._equation(q).outputs)):
                where = [k for k in range(self.count) if self._is_read(k, q, w)]
                if not where:
                    continue
                if self._is_row(q, self._equation(q)):
                    for k in where:
                        self._read_again(self.after, self.steps.equation(self.program, k, q))
                elif where == [self.count - 1]:
                    last[q, w] = self.steps.equation(self.program, self.count - 1, q).outputs[w]
                else:
                    stacked.append((q, w))
        return stacked, last

    def _is_read(self, k: int, q: int, w: int) -> bool:
        """Whether a value is read outside of the steps."""
        v = self.steps.equation(self.program, k, q).outputs[w]
        if v in self.program.returned:
            return True
        start, stop = self.steps.start, self.steps.stop
        return any(not start <= user < stop for user in self.program.users.get(v, ()))

    def _reads(self, q: int, w: int, rows: Var) -> None:
        for k in range(self.count):
            if self._is_read(k, q, w):
                v = self.steps.equation(self.program, k, q).outputs[w]
                row = self.count - 1 - k if self.reverse else k
                e = self.source._replace(
                    prim=GETITEM, inputs=(rows,), params={"index": (row,)}, outputs=(v,)
                )
                self.after.append(e)

    def _total(self, s: Sum, terms: dict[int, Var]) -> None:
        """What was there before the steps, and what they have put to it, each in its place."""
        total = s.first
        final = self.steps.equation(self.program, self.count - 1, s.adds[-1]).outputs[0]
        for q in s.places:
            e, rows = self._equation(q), terms[q]
            index, axis = self._sliced(q, e)
            if axis:
                order = list(range(1, rows.type.ndim))
                order.insert(axis, 0)
                (rows,) = self._emit(self.after, TRANSPOSE, (rows,), {"axes": tuple(order)})
            params = {"shape": e.params["shape"], "index": index}
            (placed,) = self._emit(self.after, PLACE, (rows,), params)
            ends = {0: final} if q == s.places[-1] else None
            (total,) = self._emit(self.after, records.ADD, (total, placed), {}, ends)

    def _emit(
        self,
        where: list[Equation],
        prim: Primitive,
        inputs: Sequence[Atom],
        params: Any,
        outputs: dict[int, Var] | None = None,
    ) -> tuple[Var, ...]:
        """One more equation; some of its outputs may be variables that are there."""
        found: Any = prim.type_rule([a.type for a in inputs], params)
        types = tuple(found) if prim.multiple else (found,)
        given = outputs or {}
        made = tuple(given.get(k) or self.program.var(t) for k, t in enumerate(types))
        e = self.source
        where.append(Equation(prim, tuple(inputs), params, made, e.scope, e.source))
        return made


def _strong(kind: ArrayType) -> ArrayType:
    return ArrayType(kind.shape, kind.dtype)


def _check_types(values: Sequence[Atom], body: Sequence[Equation]) -> None:
    """Refuse a loop in which it matters that a number is one of Python's."""
    if any(a.type.weak for a in values):
        raise Refused("a Python number is handed from step to step; pass it as a NumPy number")
