"""Whether a run of equations is a loop: what each operand of a step is, and in which steps.

An operand is the same in all steps, comes from the same step, or from one or a few steps before; a
number that is written differs between steps or not; a place that is read moves evenly. What the
step in the middle says has to hold in all of them; steps at the ends where it does not are left
out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from funcgrad.graph.ir import Atom, Equation, Literal
from funcgrad.transforms.rolling.periods import Run, places
from funcgrad.transforms.rolling.program import Program

__all__ = [
    "Before",
    "Numbers",
    "Operand",
    "Refused",
    "Same",
    "Steps",
    "Within",
    "steps_of",
]

LAGS = 8  # steps that a value may be carried on


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


Operand = Same | Within | Before | Numbers


class Steps(NamedTuple):
    """A loop: `number` steps of `period` equations from `start` on.

    `operands` has what the equations of a step read; `moves` how the numbers of an index go on
    from step to step, where they do.
    """

    start: int
    period: int
    number: int
    operands: tuple[tuple[Operand, ...], ...]
    moves: tuple[tuple[int, ...], ...]

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
        if made < self.start or self._is_same(atoms, made):
            for k, x in enumerate(atoms):
                self._fits(k, x is a, 0)
            return Same(a)
        return self._from_step(q, atoms, made)

    def _is_same(self, atoms: Sequence[Atom], made: int) -> bool:
        """Whether a value of one of the first steps is read by all that follow."""
        a = atoms[self.middle]
        same = a is atoms[self.middle - 1] and a is atoms[min(self.middle + 1, self.count - 1)]
        if same:
            self._fits((made - self.start) // self.period, False, 0)
        return same

    def _number(self, atoms: Sequence[Atom]) -> Operand:
        literals = []
        for k, x in enumerate(atoms):
            self._fits(k, isinstance(x, Literal), 0)
            literals.append(x)
        a = literals[self.middle]
        if all(_equal(a, x) for x in literals[self.low : self.high]):
            return Same(a)
        assert isinstance(a, Literal)
        if isinstance(a.value, bool | complex):
            raise Refused(f"the number {a!r} differs from step to step")
        return Numbers(tuple(literals))

    def _from_step(self, q: int, atoms: Sequence[Atom], made: int) -> Operand:
        step, offset = divmod(made - self.start, self.period)
        lag = self.middle - step
        which = self._at(step, offset).outputs.index(atoms[self.middle])
        if not 0 <= lag <= LAGS or (lag == 0 and offset >= q):
            raise self._refused()
        for k, x in enumerate(atoms):
            whence = k - lag
            holds = whence >= 0 and x is self._at(whence, offset).outputs[which]
            self._fits(k, holds, lag)
        return Before(offset, which, lag) if lag else Within(offset, which)

    def _from_start(self, q: int, j: int, x: Operand) -> Operand:
        """The operand of the steps that are left."""
        if isinstance(x, Numbers):
            return Numbers(x.values[self.low : self.high])
        if not isinstance(x, Before):
            return x
        first = [self._at(self.low + k, q).inputs[j] for k in range(x.lag)]
        return x._replace(first=tuple(first))

    def _moves(self, q: int) -> tuple[int, ...]:
        """How the numbers of an index change from step to step."""
        here = _numbers(self._at(self.middle, q))
        if not here:
            return ()
        after = _numbers(self._at(min(self.middle + 1, self.count - 1), q))
        moves = tuple([b - a for a, b in zip(here, after, strict=True)])
        for k in range(self.count):
            want = tuple([a + (k - self.middle) * m for a, m in zip(here, moves, strict=True)])
            self._fits(k, _numbers(self._at(k, q)) == want, 0)
        return moves


def _numbers(e: Equation) -> tuple[int, ...]:
    return tuple([i for _, i in places(e)])


def _equal(a: Atom, b: Atom) -> bool:
    assert isinstance(a, Literal) and isinstance(b, Literal)
    same = type(a.value) is type(b.value) and repr(a.value) == repr(b.value)
    return same and a.type == b.type
