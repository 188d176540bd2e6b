"""Loops in staged programs: a Python loop that was traced step by step becomes one operation again.

What users write as ``for i in range(2000)`` is staged as 2000 copies of its body. `rolled` finds
blocks of equations that repeat and puts a loop (`transforms/loop.py`) in their place, so that
passes, code and time to compile are those of one step, and derivatives those of a `scan`.

- `program`: the equations as a list that is edited, and where each value is made and read;
- `periods`: where the kinds of the equations repeat, and after how many;
- `steps`: whether such blocks are the steps of one loop: what is local, carried, or the
  same;
- `sums`: cotangents of rows that are added up one by one, which the loop stacks;
- `build`: the loop and what stands around it;
- `broken`: what to say where much repeats and is no loop.

These are imported with the first program that is long enough.
"""

from __future__ import annotations

from typing import NamedTuple

from funcgrad.compile.imports import importing
from funcgrad.graph.ir import Graph

__all__ = ["Rolled", "rolled"]

EQUATIONS = 256  # of a program, at the least


class Rolled(NamedTuple):
    """A program, and what is said of its loops."""

    graph: Graph
    notes: tuple[str, ...] = ()


def rolled(graph: Graph) -> Rolled:
    """The program with a loop wherever blocks of its equations repeat."""
    if len(graph.equations) < EQUATIONS or importing.depth:
        return Rolled(graph)
    with importing:
        from funcgrad.transforms.rolling.roll import roll

    return Rolled(*roll(graph, EQUATIONS))
