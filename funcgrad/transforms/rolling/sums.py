"""Cotangents of rows that the steps add up: ``total = total + place(g, row)``, once for each step.

That is how the derivative of ``x[i]`` comes to the one of `x`. Each step would touch all of it; the
loop stacks the `g` instead, and they are put into their rows afterwards. Every row is met once, so
the sums are the same numbers.
"""

from __future__ import annotations

from typing import NamedTuple

from funcgrad.graph.ir import Atom
from funcgrad.ops import records
from funcgrad.ops.index import PLACE
from funcgrad.transforms.rolling.program import Program
from funcgrad.transforms.rolling.steps import Before, Steps, Within

__all__ = ["Sum", "sums_of"]


class Sum(NamedTuple):
    """The offsets of what a step places and of the equations that add it, in order."""

    places: tuple[int, ...]
    adds: tuple[int, ...]
    first: Atom  # the total before the first step


def sums_of(program: Program, steps: Steps) -> list[Sum]:
    """The totals that every step adds rows to, of which nothing else is read but the last."""
    found = []
    for q, operands in enumerate(steps.operands):
        for x in operands:
            if isinstance(x, Before) and x.lag == 1 and _is_add(program, steps, q):
                s = _sum(program, steps, q, x)
                if s is not None and _alone(program, steps, s):
                    found.append(s)
    return found


def _is_add(program: Program, steps: Steps, q: int) -> bool:
    return steps.equation(program, 0, q).prim is records.ADD


def _sum(program: Program, steps: Steps, q: int, before: Before) -> Sum | None:
    """The sum that begins at the equation `q` of a step, which takes the total of the last one."""
    places: list[int] = []
    adds: list[int] = []
    total: object = before
    while True:
        terms = [x for x in steps.operands[q] if x != total]
        if not _is_add(program, steps, q) or len(terms) != 1:
            return None
        (term,) = terms
        if not isinstance(term, Within) or not _is_place(program, steps, term.offset):
            return None
        places.append(term.offset)
        adds.append(q)
        if q == before.offset:
            return Sum(tuple(places), tuple(adds), before.first[0])
        total = Within(q, 0)
        q = next((k for k in range(q + 1, steps.period) if total in steps.operands[k]), -1)
        if q < 0:
            return None


def _is_place(program: Program, steps: Steps, q: int) -> bool:
    return steps.equation(program, 0, q).prim is PLACE and any(steps.moves[q])


def _alone(program: Program, steps: Steps, s: Sum) -> bool:
    """Whether nothing else reads what is placed, or the totals but for the last."""
    readers = [*s.adds[1:], s.adds[0] + steps.period]
    for k in range(steps.number):
        at = steps.start + k * steps.period
        read = list(zip(s.places, s.adds, strict=True))
        read += list(zip(s.adds, readers, strict=True))
        if k == steps.number - 1:
            read.pop()
        for q, reader in read:
            v = steps.equation(program, k, q).outputs[0]
            if program.users.get(v) != [at + reader] or v in program.returned:
                return False
    return True
