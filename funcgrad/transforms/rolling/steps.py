"""Whether a run of equations is a loop: what each operand of a step is, and in which steps.

An operand is the same in all steps, comes from the same step, from one or a few steps before, or
in each step from elsewhere; a number that is written differs between steps or not; a place that is
read moves evenly or not. What the step in the middle says has to hold in all of them; steps at the
ends where it does not are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from funcgrad.graph.ir import Atom, Equation, Literal, Var
from funcgrad.ops.index import GETITEM
from funcgrad.transforms.rolling.periods import Run, like, places
from funcgrad.transforms.rolling.program import Program

__all__ = [
    "GATHERED",
    "Anywhere",
    "Before",
    "Elsewhere",
    "Numbers",
    "Operand",
    "Refused",
    "Same",
    "Steps",
    "Within",
    "steps_of",
]

LAGS = 8  # steps that a value may be carried on
EVEN = 0.75  # of the steps, for which a place has to move evenly: else it is anywhere
GATHERED = 1 << 22  # elements that are put together for a loop, at the most


class Same(NamedTuple):
    """One value in all steps."""

    atom: Atom


class Within(NamedTuple):
    """A value of the same step: output `which` of its equation `offset`."""

    offset: int
    which: int


class Before(NamedTuple):
    """A value of an earlier step, and what the first steps take instead."""

    offset: int
    which: int
    lag: int
    first: tuple[Atom, ...] = ()


class Numbers(NamedTuple):
    """A number that each step writes otherwise, or an array that belongs to the program."""

    values: tuple[Atom, ...]


class Elsewhere(NamedTuple):
    """A value that was computed before the loop, another one for each step."""

    values: tuple[Atom, ...]


class Rows(NamedTuple):
    """A row of one array, another one for each step: the equations that read them."""

    reads: tuple[Equation, ...]


class Anywhere(NamedTuple):
    """The places of an index where they do not move evenly: the numbers of each step."""

    numbers: tuple[tuple[int, ...], ...]


Operand = Same | Within | Before | Numbers | Elsewhere | Rows
Moves = tuple[int, ...] | Anywhere


class Steps(NamedTuple):
    """A loop: `number` steps of `period` equations from `start` on.

    `operands` has what the equations of a step read; `moves` how the numbers of an index go on
    from step to step, where they do.
    """

    start: int
    period: int
    number: int
    operands: tuple[tuple[Operand, ...], ...]
    moves: tuple[Moves, ...]

    @property
    def stop(self) -> int:
        return self.start + self.number * self.period

    def equation(self, program: Program, step: int, offset: int) -> Equation:
        return program.equations[self.start + step * self.period + offset]


class Refused(Exception):
    """Why a run is no loop."""


def steps_of(program: Program, run: Run, fewest: int) -> Steps:
    """The loop of a run, which may leave out steps at its ends."""
    start = run.start + _best_cut(program, run)
    count = (run.stop - start) // run.period
    if count < fewest:
        raise Refused(f"it has {count} steps")
    return _Reading(program, start, run.period, count).steps(fewest)


def _best_cut(program: Program, run: Run) -> int:
    """Where a step begins so that the least is handed from one to the next."""
    period = run.period
    middle = run.start + (run.stop - run.start) // period // 2 * period
    crossing = [0] * (period + 1)
    always = 0
    for q in range(period):
        for v in program.equations[middle + q].outputs:
            users = [k for k in program.users.get(v, ()) if k < run.stop]
            reach = max(users, default=middle + q) - (middle + q)
            if reach >= period:
                always += 1
                continue
            for a, b in ((q + 1, min(q + reach, period - 1)), (0, q + reach - period)):
                if a <= b:
                    crossing[a] += 1
                    crossing[b + 1] -= 1
    best, least, now = 0, None, always
    for q in range(period):
        now += crossing[q]
        if least is None or now < least:
            best, least = q, now
    return best


class _Reading:
    """The operands of all steps, compared with those of the one in the middle."""

    def __init__(self, program: Program, start: int, period: int, count: int) -> None:
        self.program, self.start, self.period, self.count = program, start, period, count
        self.middle = count // 2
        self.stop = start + period * count
        self.low, self.high = 0, count  # the steps that fit
        self.offset = 0  # of the equation that is looked at, for messages

    def steps(self, fewest: int) -> Steps:
        found, moves = [], []
        for q in range(self.period):
            self.offset = q
            inputs = self._at(self.middle, q).inputs
            found.append([self._operand(q, j) for j in range(len(inputs))])
            moves.append(self._moves(q))
            if self.high - self.low < fewest:
                raise self._refused()
        count = self.high - self.low
        start = self.start + self.low * self.period
        operands = []
        for q, row in enumerate(found):
            operands.append(tuple(self._from_start(q, j, x) for j, x in enumerate(row)))
        moves = [
            Anywhere(m.numbers[self.low : self.high]) if isinstance(m, Anywhere) else m
            for m in moves
        ]
        return Steps(start, self.period, count, tuple(operands), tuple(moves))

    def _at(self, step: int, offset: int) -> Equation:
        return self.program.equations[self.start + step * self.period + offset]

    def _fits(self, step: int, holds: bool, lag: int = 1) -> None:
        """Leave out a step that is not as the one in the middle, and those on its side.

        What a step reads of `lag` steps before may be anything in the first `lag` steps.
        """
        if holds:
            return
        if step < self.middle:
            self.low = max(self.low, step - lag + 1 if lag else step + 1)
        else:
            self.high = min(self.high, step)
        if not self.low <= self.middle < self.high:
            raise self._refused()

    def _refused(self) -> Refused:
        e = self._at(self.middle, self.offset)
        return Refused(f"{e.prim.name} at {e.source} reads otherwise from step to step")

    def _operand(self, q: int, j: int) -> Operand:
        atoms = [self._at(k, q).inputs[j] for k in range(self.count)]
        a = atoms[self.middle]
        if isinstance(a, Literal):
            return self._number(atoms)
        made = self.program.made.get(a, -1)
        if made < 0 and a in self.program.arrays and a is not atoms[self.middle - 1]:
            for k, x in enumerate(atoms):
                self._fits(k, x in self.program.arrays, 0)
            return Numbers(tuple(atoms))
        if self._is_same(atoms, made):
            for k, x in enumerate(atoms):
                self._fits(k, x is a, 0)
            return Same(a)
        rows = self._rows(atoms) if made < self.start or self._wanders(atoms, made) else None
        if rows is not None:
            return rows
        if made < self.start:
            return self._elsewhere(atoms, self.start)
        return self._from_step(q, atoms, made)

    def _is_same(self, atoms: Sequence[Atom], made: int) -> bool:
        """Whether a value of one of the first steps is read by all that follow."""
        a = atoms[self.middle]
        same = a is atoms[self.middle - 1] and a is atoms[min(self.middle + 1, self.count - 1)]
        if same and made >= self.start:
            self._fits((made - self.start) // self.period, False, 0)
        return same

    def _wanders(self, atoms: Sequence[Atom], made: int) -> bool:
        """Whether a value comes from no fixed number of steps before."""
        holds = []
        for k, a in enumerate(atoms):
            at = self.program.made.get(a, -1) if isinstance(a, Var) else -1
            holds.append(at - made == (k - self.middle) * self.period)
        low, high = _around(self.middle, holds)
        return high - low < EVEN * (self.high - self.low)

    def _rows(self, atoms: Sequence[Atom]) -> Rows | None:
        """Values that are read of one array, at any places, wherever the program does so."""
        program = self.program
        reads = [program.equations[program.made.get(a, 0)] for a in atoms if isinstance(a, Var)]
        here = reads[self.middle]
        if len(reads) < len(atoms) or here.prim is not GETITEM:
            return None
        source, aval = here.inputs[0], like(here)
        if program.made.get(source, -1) >= self.start:  # type: ignore[arg-type]
            return None
        alike = [
            e.prim is GETITEM and e.inputs[0] is source and a is e.outputs[0] and like(e) == aval
            for a, e in zip(atoms, reads, strict=True)
        ]
        low, high = _around(self.middle, alike)
        if min(high, self.high) - max(low, self.low) < EVEN * (self.high - self.low):
            return None
        for k, holds in enumerate(alike):
            self._fits(k, holds, 0)
        if here.outputs[0].type.size * (self.high - self.low) > GATHERED:
            return None
        return Rows(tuple(reads))

    def _elsewhere(self, atoms: Sequence[Atom], start: int) -> Operand:
        """Values that were computed before the equation at `start`."""
        for k, x in enumerate(atoms):
            there = not isinstance(x, Literal) and self.program.made.get(x, -1) < start
            self._fits(k, there, 0)
        if atoms[self.middle].type.size * (self.high - self.low) > GATHERED:
            raise self._refused()
        return Elsewhere(tuple(atoms))

    def _number(self, atoms: Sequence[Atom]) -> Operand:
        literals = []
        for k, x in enumerate(atoms):
            self._fits(k, isinstance(x, Literal), 0)
            literals.append(x)
        a = literals[self.middle]
        if all(_equal(a, x) for x in literals[self.low : self.high]):
            return Same(a)
        assert isinstance(a, Literal)
        if isinstance(a.value, bool):
            raise Refused(f"the number {a!r} differs from step to step")
        return Numbers(tuple(literals))

    def _from_step(self, q: int, atoms: Sequence[Atom], made: int) -> Operand:
        step, offset = divmod(made - self.start, self.period)
        lag = self.middle - step
        which = self._at(step, offset).outputs.index(atoms[self.middle])
        if lag < 0 or (lag == 0 and offset >= q):
            raise self._refused()
        if lag > LAGS:  # so many steps at the most, which read what was there before them
            self._fits(self.middle - lag, False, 0)
            self._fits(self.low + lag, False, 0)
            return self._elsewhere(atoms, self.start + self.low * self.period)
        for k, x in enumerate(atoms):
            whence = k - lag
            holds = whence >= 0 and x is self._at(whence, offset).outputs[which]
            self._fits(k, holds, lag)
        return Before(offset, which, lag) if lag else Within(offset, which)

    def _from_start(self, q: int, j: int, x: Operand) -> Operand:
        """The operand of the steps that are left."""
        if isinstance(x, Numbers | Elsewhere):
            return x._replace(values=x.values[self.low : self.high])
        if isinstance(x, Rows):
            return Rows(x.reads[self.low : self.high])
        if not isinstance(x, Before):
            return x
        first = [self._at(self.low + k, q).inputs[j] for k in range(x.lag)]
        return x._replace(first=tuple(first))

    def _moves(self, q: int) -> Moves:
        """How the numbers of an index change from step to step."""
        here = _numbers(self._at(self.middle, q))
        if not here:
            return ()
        after = _numbers(self._at(min(self.middle + 1, self.count - 1), q))
        moves = tuple([b - a for a, b in zip(here, after, strict=True)])
        numbers = tuple([_numbers(self._at(k, q)) for k in range(self.count)])
        even = [
            all(a + (k - self.middle) * m == b for a, m, b in zip(here, moves, row, strict=True))
            for k, row in enumerate(numbers)
        ]
        low, high = _around(self.middle, even)
        fitting = min(high, self.high) - max(low, self.low)
        given = places(self._at(self.middle, q))
        integers = [m for m, p in zip(moves, given, strict=True) if m and p.length is None]
        windows = any(m for m, p in zip(moves, given, strict=True) if p.length is not None)
        if fitting < EVEN * (self.high - self.low) or windows or len(integers) > 1:
            return Anywhere(numbers)
        for k, holds in enumerate(even):
            self._fits(k, holds, 0)
        return moves


def _around(middle: int, holds: Sequence[bool]) -> tuple[int, int]:
    """The steps around the one in the middle for which something holds."""
    low = high = middle
    while low > 0 and holds[low - 1]:
        low -= 1
    while high < len(holds) and holds[high]:
        high += 1
    return low, high


def _numbers(e: Equation) -> tuple[int, ...]:
    return tuple([p.start for p in places(e)])


def _equal(a: Atom, b: Atom) -> bool:
    assert isinstance(a, Literal) and isinstance(b, Literal)
    same = type(a.value) is type(b.value) and repr(a.value) == repr(b.value)
    return same and a.type == b.type
