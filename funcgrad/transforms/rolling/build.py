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
from funcgrad.graph.effects import has_effect
from funcgrad.graph.ir import Atom, Equation, Graph, Literal, Var
from funcgrad.graph.loop import Loop
from funcgrad.ops import records
from funcgrad.ops.arithmetic import CAST, WEAKEN
from funcgrad.ops.index import GATHER, GETITEM, PLACE, SCATTER_ADD
from funcgrad.ops.shape import CONCATENATE, RESHAPE, TRANSPOSE
from funcgrad.transforms.call import batched_graph
from funcgrad.transforms.loop import LOOP
from funcgrad.transforms.rolling.periods import places
from funcgrad.transforms.rolling.program import Program
from funcgrad.transforms.rolling.steps import (
    GATHERED,
    Anywhere,
    Before,
    Elsewhere,
    Numbers,
    Operand,
    Refused,
    Rows,
    Same,
    Steps,
    Within,
)
from funcgrad.transforms.rolling.sums import Sum

__all__ = ["loop_of"]

# a Python number beside a float is rounded to its dtype by these, also an integer
ROUNDING = {
    records.ADD,
    records.SUBTRACT,
    records.MULTIPLY,
    records.DIVIDE,
    records.POWER,
    records.SCALE,
}


def loop_of(program: Program, steps: Steps, sums: Sequence[Sum]) -> list[Equation]:
    """The equations that take the place of the steps, of which `sums` become stacks."""
    return _Builder(program, steps, sums).equations()


class _Builder:
    def __init__(self, program: Program, steps: Steps, sums: Sequence[Sum]) -> None:
        self.program, self.steps, self.sums = program, steps, sums
        self.count, self.period = steps.number, steps.period
        self.skipped = {q for s in self.sums for q in (*s.places, *s.adds)}
        self.source = steps.equation(program, 0, 0)
        self.before: list[Equation] = []
        self.after: list[Equation] = []
        self.read: set[Var] = set()  # rows that are read outside of the loop too
        self.reverse = self._goes_back()
        # of the body: its inputs, and what stands for the values of a step
        self.consts: dict[Var, Var] = {}
        self.rows: list[tuple[Var, Var]] = []  # outside, inside
        self.stacks: dict[tuple[Atom, ...], Var] = {}  # rows made of values of their own
        self.reads: dict[tuple[Any, ...], Var] = {}  # rows of arrays, by the array and the index
        self.chains: dict[tuple[int, int], list[tuple[list[Atom], list[Var]]]] = {}
        self.local: dict[tuple[int, int], Var] = {}
        self.weak: dict[Var, Var] = {}  # what Python numbers are within a step
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
        moves = [m for row in self.steps.moves if not isinstance(row, Anywhere) for m in row]
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
        moves = self.steps.moves[q]
        if isinstance(moves, Anywhere):
            return self._input_row(self._gathered(e, moves))
        index, axis = self._sliced(q, e)
        key = (e.inputs[0], index)
        if key not in self.reads:
            self.reads[key] = self._sliced_row(e, index, axis)
        return self.reads[key]

    def _sliced_row(self, e: Equation, index: Any, axis: int) -> Var:
        (made,) = self._emit(self.before, GETITEM, e.inputs, {"index": index})
        if axis:
            rest = [a for a in range(made.type.ndim) if a != axis]
            (made,) = self._emit(self.before, TRANSPOSE, (made,), {"axes": (axis, *rest)})
        return self._input_row(made)

    def _gathered(self, e: Equation, moves: Anywhere) -> Var:
        """The rows that an equation reads at any places, stacked."""
        numbers, rest = self._numbers_of(e, moves)
        (made,) = self._emit(self.before, GATHER, (*e.inputs, *numbers), {})
        if made.type.size > GATHERED:
            raise Refused(f"{e.prim.name} at places anywhere, of {made.type.size} elements")
        if rest:
            whole = (None, None, None)
            index = (*[whole] * len(numbers[0].type.shape), *rest)
            (made,) = self._emit(self.before, GETITEM, (made,), {"index": index})
        return made

    def _numbers_of(self, e: Equation, moves: Anywhere) -> tuple[list[Var], tuple[Any, ...]]:
        """The first items of an index in all steps, as integer arrays, and the items behind.

        The arrays have an axis for the steps, and then one for each slice.
        """
        index, given = e.params["index"], places(e)
        starts = np.array(moves.numbers[::-1] if self.reverse else moves.numbers)
        moving = [k for k in range(len(given)) if np.any(starts[:, k] != starts[0, k])]
        depth = moving[-1] + 1 if moving else 1
        if any(i is None or i is Ellipsis for i in index[: given[depth - 1].item]):
            raise Refused(f"{e.prim.name} at places anywhere, behind a new axis or an ellipsis")
        slices = [p for p in given[:depth] if p.length is not None]
        found = []
        for k, p in enumerate(given[:depth]):
            extents = [1] * len(slices)
            numbers = starts[:, k].reshape(-1, *extents)
            if p.length is not None:
                extents[slices.index(p)] = p.length
                numbers = numbers + (np.arange(p.length) * p.stride).reshape(extents)
            numbers = np.ascontiguousarray(numbers)
            found.append(self.program.constant(numbers, ArrayType(numbers.shape, numbers.dtype)))
        return found, index[depth:]

    def _sliced(self, q: int, e: Equation) -> tuple[Any, int]:
        """The index of all steps at once, and the axis along which they lie."""
        moves = self.steps.moves[q]
        assert not isinstance(moves, Anywhere)
        step, place = next((m, p) for m, p in zip(moves, places(e), strict=True) if m)
        start = place.start
        if self.reverse:
            start, step = start + (self.count - 1) * step, -step
        stop = start + self.count * step
        index: list[Any] = []
        axis, found = 0, 0
        for item, i in enumerate(e.params["index"]):
            if item == place.item:
                found = axis
                i = (start, stop if stop >= 0 else None, step)
            if type(i) is int:
                index.append(i)
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
        aval = outside.type
        inside = self.program.var(ArrayType(aval.shape[1:], aval.dtype))
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
        if isinstance(x, Elsewhere):
            return self._stacked(x)
        if isinstance(x, Rows):
            return self._rows_of(x)
        if isinstance(x.atom, Literal):
            return x.atom
        return self._const(x.atom)

    def _const(self, v: Var) -> Var:
        if v not in self.consts:
            self.consts[v] = self.program.var(_strong(v.type))
        return self._inside(self.consts[v], v.type)

    def _inside(self, v: Var, aval: ArrayType) -> Var:
        """What a step is handed, which is an array, as a value of this type."""
        if not aval.weak:
            return v
        if v not in self.weak:
            (self.weak[v],) = self._emit(self.body, WEAKEN, (v,), {})
        return self.weak[v]

    def _outside(self, where: list[Equation], a: Atom) -> Atom:
        """What a step hands on, or is handed, as an array: a loop knows no Python numbers."""
        if not a.type.weak:
            return a
        return self._emit(where, CAST, (a,), {"dtype": a.type.dtype})[0]

    def _table(self, e: Equation, x: Numbers) -> Var:
        """The numbers of all steps; Python's are rounded as NumPy rounds them beside arrays."""
        aval = x.values[0].type
        dtype = aval.dtype
        if aval.weak:
            others = {a.type.dtype for a in e.inputs if isinstance(a, Var) and not a.type.weak}
            whole = {v.type.dtype for v in e.outputs}
            if others == whole and (e.prim in ROUNDING or dtype.kind == "f"):
                (dtype,) = others
                aval = ArrayType((), dtype) if dtype.kind == "f" else aval
        arrays = self.program.arrays
        rows = [a.value if isinstance(a, Literal) else arrays[a] for a in x.values]
        values = np.stack(rows[::-1] if self.reverse else rows).astype(aval.dtype)
        table = self.program.constant(values, ArrayType(values.shape, aval.dtype))
        return self._inside(self._input_row(table), aval)

    def _stacked(self, x: Elsewhere) -> Var:
        """Values that are there before the loop, one for each step, as rows."""
        aval = x.values[0].type
        if x.values not in self.stacks:
            longer = (1, *aval.shape)
            parts: list[Atom] = []
            for a in x.values[::-1] if self.reverse else x.values:
                assert isinstance(a, Var)
                self._needed_before(a)
                parts += self._emit(self.before, RESHAPE, (a,), {"shape": longer})
            (made,) = self._emit(self.before, CONCATENATE, parts, {"axis": 0})
            self.stacks[x.values] = self._input_row(made)
        return self._inside(self.stacks[x.values], aval)

    def _rows_of(self, x: Rows) -> Var:
        """Rows that are read of one array, by the integers of their indices."""
        key = tuple([e.outputs[0] for e in x.reads])
        if key not in self.stacks:
            numbers = tuple([tuple([p.start for p in places(e)]) for e in x.reads])
            self.stacks[key] = self._input_row(self._gathered(x.reads[0], Anywhere(numbers)))
        return self.stacks[key]

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
                return self._inside(chain[x.lag - 1], wanted[0].type)
        aval = self._equation(x.offset).outputs[x.which].type
        for a in wanted:
            if a.type != aval or not isinstance(a, Var):
                raise Refused("what is handed from step to step changes its type")
            self._needed_before(a)
        known.append((wanted, [self.program.var(_strong(a.type)) for a in wanted]))
        return self._inside(known[-1][1][x.lag - 1], wanted[0].type)

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
        for s in self.sums:
            if isinstance(s.first, Var):
                self._needed_before(s.first)
        placed = [q for s in self.sums for q in s.places]
        terms = [self._atom(self._equation(q), self.steps.operands[q][0]) for q in placed]
        terms = [self._outside(self.body, a) for a in terms]
        ends: dict[int, Var] = {}  # the values that stand after the loop, by carry
        first: list[Atom] = []
        inside: list[Var] = []
        following: list[Atom] = []
        for key, chains in self.chains.items():
            for values, chain in chains:
                if key in last:
                    ends[len(first)] = self._made_of(last.pop(key))
                first += [self._outside(self.before, a) for a in values]
                inside += chain
                following += [self._handed(key), *chain[:-1]]
        for key, v in last.items():  # carried for its last value alone
            ends[len(first)] = self._made_of(v)
            zero = np.zeros(v.type.shape, v.type.dtype)
            first.append(self.program.constant(zero, _strong(v.type)))
            inside.append(self.program.var(_strong(v.type)))
            following.append(self._handed(key))
        ys = [self._handed(key) for key in stacked]
        body = Graph(
            (*self.consts.values(), *inside, *(v for _, v in self.rows)),
            tuple(self.body),
            (*following, *ys, *terms),
        )
        consts = [self._outside(self.before, v) for v in self.consts]
        inputs = [*consts, *first, *(v for v, _ in self.rows)]
        in_order = any(map(has_effect, self.body))
        if first or in_order or any(v.type.weak for e in self.body for v in e.outputs):
            loop = Loop(body, None, len(self.consts), len(first), self.count, self.reverse)
            rows = self._emit(self.before, LOOP, inputs, loop.params, ends)[len(first) :]
        else:
            rows = self._mapped(body, inputs)
        for (q, w), all_ in zip(stacked, rows, strict=False):
            self._reads(q, w, all_)
        terms_of = dict(zip(placed, rows[len(stacked) :], strict=True))
        for s in self.sums:
            self._total(s, terms_of)

    def _handed(self, key: tuple[int, int]) -> Atom:
        return self._outside(self.body, self.local[key])

    def _made_of(self, v: Var) -> Var:
        """An array of which `v` is made after the loop; `v` itself where that is no number."""
        array = self._array_of(v)
        self._number_of(array, v)
        return array

    def _array_of(self, v: Var) -> Var:
        return self.program.var(_strong(v.type)) if v.type.weak else v

    def _number_of(self, array: Var, v: Var) -> None:
        if array is not v:
            self._emit(self.after, WEAKEN, (array,), {}, {0: v})

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
        users = self.program.users.get(v)  # in order, and behind it
        return users is not None and users[-1] >= self.steps.stop

    def _reads(self, q: int, w: int, rows: Var) -> None:
        for k in range(self.count):
            if self._is_read(k, q, w):
                number = self.steps.equation(self.program, k, q).outputs[w]
                v = self._array_of(number)
                row = self.count - 1 - k if self.reverse else k
                e = self.source._replace(
                    prim=GETITEM, inputs=(rows,), params={"index": (row,)}, outputs=(v,)
                )
                self.after.append(e)
                self._number_of(v, number)

    def _total(self, s: Sum, terms: dict[int, Var]) -> None:
        """What was there before the steps, and what they have put to it, each in its place."""
        total = s.first
        final = self.steps.equation(self.program, self.count - 1, s.adds[-1]).outputs[0]
        for q in s.places:
            e, rows = self._equation(q), terms[q]
            ends = {0: final} if q == s.places[-1] else None
            moves = self.steps.moves[q]
            if isinstance(moves, Anywhere):
                placed = self._scattered(e, moves, rows)
                (total,) = self._emit(self.after, records.ADD, (total, placed), {}, ends)
                continue
            index, axis = self._sliced(q, e)
            if axis:
                order = list(range(1, rows.type.ndim))
                order.insert(axis, 0)
                (rows,) = self._emit(self.after, TRANSPOSE, (rows,), {"axes": tuple(order)})
            params = {"shape": e.params["shape"], "index": index}
            (placed,) = self._emit(self.after, PLACE, (rows,), params)
            (total,) = self._emit(self.after, records.ADD, (total, placed), {}, ends)

    def _scattered(self, e: Equation, moves: Anywhere, rows: Var) -> Var:
        """The rows that steps place anywhere, added up where they meet."""
        numbers, rest = self._numbers_of(e, moves)
        shape = e.params["shape"]
        if rest:
            lead = np.broadcast_shapes(*(v.type.shape for v in numbers))
            params = {
                "shape": (*lead, *shape[len(numbers) :]),
                "index": (*[(None, None, None)] * len(lead), *rest),
            }
            (rows,) = self._emit(self.after, PLACE, (rows,), params)
        return self._emit(self.after, SCATTER_ADD, (rows, *numbers), {"shape": shape})[0]

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


def _strong(aval: ArrayType) -> ArrayType:
    return ArrayType(aval.shape, aval.dtype)
