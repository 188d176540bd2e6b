"""Units of a program, kernels and single operations, and which of them run before others."""

from __future__ import annotations

from funcgrad.graph.ir import Equation
from funcgrad.passes.region import Region

__all__ = ["Units", "bits"]


class Units:
    """Numbered units; sets of them are integers with a bit for each.

    `before` holds for each unit all that run before it, so that a cycle is seen at once.
    """

    def __init__(self) -> None:
        self.units: list[Region | Equation | None] = []
        self.before: list[int] = []

    def add(self, what: Region | Equation, producers: int) -> int:
        """The number of a new unit, which reads from `producers`."""
        number = len(self.units)
        self.units.append(what)
        self.before.append(0)
        self.extend(number, producers)
        return number

    def extend(self, number: int, producers: int) -> None:
        """Say that `producers` run before a unit, and so before what runs after it."""
        more = producers
        for k in bits(producers):
            more |= self.before[k]
        self.before[number] |= more
        more |= 1 << number
        for k, seen in enumerate(self.before):
            if seen >> number & 1:
                self.before[k] |= more

    def legal(self, merged: int, producers: int) -> bool:
        """Whether units can be one, reading from `producers`, without a cycle between units."""
        ahead = producers
        for k in bits(merged | producers):
            ahead |= self.before[k]
        return all(not self.before[k] & merged for k in bits(ahead & ~merged))

    def merge(self, target: int, other: int) -> None:
        """Make one unit of two."""
        self.units[other] = None
        self.extend(target, self.before[other] & ~(1 << target))
        for k, seen in enumerate(self.before):
            if seen >> other & 1:
                self.before[k] = seen & ~(1 << other) | 1 << target

    def settle(self, number: int) -> None:
        """What runs before a unit runs before all that come after it."""
        for k in bits(self.before[number]):
            assert not self.before[k] >> number & 1
        for k, seen in enumerate(self.before):
            if seen >> number & 1:
                self.before[k] |= self.before[number]

    def ordered(self) -> list[Region | Equation]:
        """The units in an order in which each runs after those that it reads from."""
        alive = [(k, u) for k, u in enumerate(self.units) if u is not None]
        alive.sort(key=lambda pair: (self.before[pair[0]].bit_count(), pair[0]))
        return [u for _, u in alive]


def bits(mask: int) -> list[int]:
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found
