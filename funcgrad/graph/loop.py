"""The parameters of a loop: what the equation `loop` repeats, and how often.

The operation itself is that of `transforms/loop.py`; passes and the compiler read its equations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from funcgrad.core.primitive import Params
from funcgrad.core.types import Array
from funcgrad.graph.ir import Graph

__all__ = ["Loop"]


class Loop(NamedTuple):
    """The parameters of a loop.

    Attributes
    ----------
    body : Graph
        (constants, carries, rows of the xs) → (carries, rows of the ys).
    condition : Graph or None
        (constants, carries) → whether to go on.
    consts, carries : int
    length : int or None
        The number of steps, or the most of them; None where nobody knows, which takes a condition.
    reverse : bool
        From the last row to the first.
    counted : bool
        Whether the first operand is the number of steps.
    strict : int or None
        Of how many steps an error tells if the condition still holds after `length` of them: a
        loop over segments has fewer steps than the program's. None where it is no error.
    segments : tuple of int
        How far apart carries are kept for the backward pass, in loops in loops, the largest
        distance first; those of all steps where there is none (`transforms/segments.py`).
    finite : bool
        Whether what it gives means nothing where a carry is not finite: its kernel says so then.
    """

    body: Graph
    condition: Graph | None
    consts: int
    carries: int
    length: int | None
    reverse: bool = False
    counted: bool = False
    strict: int | None = None
    segments: tuple[int, ...] = ()
    finite: bool = False

    @property
    def params(self) -> Params:
        return self._asdict()

    def parts(self, operands: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
        """Of the operands, or what belongs to each: the count, constants, carries and xs."""
        first = int(self.counted)
        second = first + self.consts
        third = second + self.carries
        return (
            list(operands[:first]),
            list(operands[first:second]),
            list(operands[second:third]),
            list(operands[third:]),
        )

    def split(self, each: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        """What belongs to constants, carries and xs, of what the body has for each."""
        second = self.consts + self.carries
        return list(each[: self.consts]), list(each[self.consts : second]), list(each[second:])

    def stopped(self, found: Sequence[Array], counts: Sequence[Array]) -> list[Array]:
        """The number of steps that were run, where it is not `length`."""
        return [found[-1]] if self.condition is not None else list(counts)
