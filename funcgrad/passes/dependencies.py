"""Dependencies of a program, kernels and single operations, and which of them run before others."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from funcgrad.graph.ir import Equation
from funcgrad.passes.region import Region

__all__ = ["Dependencies"]


class Dependencies:
    """Numbered units; sets of them are integers with a bit for each.

    `before` holds for each unit all that run before it, `after` all that run after it, so that a
    cycle is seen at once. The number of a unit that became a part of another one is given again,
    for the sets are as long as the largest number; `age` says which unit came first.
    """

    def __init__(self) -> None:
        self.units: list[Region | Equation | None] = []
        self.before: list[int] = []
        self.after: list[int] = []
        self.age: list[int] = []
        self.free: list[int] = []
        self.count = itertools.count()

    def add(self, what: Region | Equation, producers: int) -> int:
        """The number of a new unit, which reads from `producers`."""
        if self.free:
            number = self.free.pop()
            self.units[number] = what
        else:
            number = len(self.units)
            self.units.append(what)
            self.before.append(0)
            self.after.append(0)
            self.age.append(0)
        self.age[number] = next(self.count)
        self.extend(number, producers)
        return number

    def extend(self, number: int, producers: int) -> None:
        """Say that `producers` run before a unit, and so before what runs after it."""
        ahead = producers
        for k in bits(producers & ~self.before[number]):
            ahead |= self.before[k]
        self._link(number, ahead & ~self.before[number], self.after[number])

    def legal(self, merged: int, producers: int) -> bool:
        """Whether units can be one, reading from `producers`, without a cycle between units."""
        ahead, behind = producers, 0
        for k in bits(producers & ~merged):
            ahead |= self.before[k]
        for k in bits(merged):
            ahead |= self.before[k]
            behind |= self.after[k]
        return not ahead & behind & ~merged

    def merge(self, target: int, other: int) -> None:
        """Make one unit of two."""
        pair = 1 << target | 1 << other
        ahead = (self.before[target] | self.before[other]) & ~pair
        behind = (self.after[target] | self.after[other]) & ~pair
        for k in bits(self.before[other]):
            self.after[k] &= ~(1 << other)
        for k in bits(self.after[other]):
            self.before[k] &= ~(1 << other)
        self.before[target], self.after[target] = 0, behind
        self._link(target, ahead, behind)
        self.units[other] = None
        self.before[other] = self.after[other] = 0
        self.free.append(other)

    def _link(self, number: int, ahead: int, behind: int) -> None:
        """Note that `ahead` run before a unit and what is `behind` it."""
        self.before[number] |= ahead
        before, after = ahead | 1 << number, behind | 1 << number
        for k in bits(ahead):
            self.after[k] |= after
        for k in bits(behind):
            self.before[k] |= before

    def ordered(self) -> list[Region | Equation]:
        """The units in an order in which each runs after those that it reads from."""
        alive = [(k, u) for k, u in enumerate(self.units) if u is not None]
        alive.sort(key=lambda pair: (self.before[pair[0]].bit_count(), self.age[pair[0]]))
        return [u for _, u in alive]


def bits(mask: int) -> Iterator[int]:
    """The numbers of a set."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
