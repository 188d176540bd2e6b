"""Loops in staged programs: a Python loop that was traced step by step becomes one operation again.

What users write as ``for i in range(2000)`` is staged as 2000 copies of its body. `rolled` finds
blocks of equations that repeat and puts a loop (`transforms/loop.py`) in their place, so that
passes, code and time to compile are those of one step, and derivatives those of a `scan`.

- `program`: the equations as a list that is edited, and where each value is made and read;
- `periods`: where the kinds of the equations repeat, and after how many;
- `steps`: whether such blocks are the steps of one loop: what is local, carried, or the
  same;
- `sums`: cotangents of rows that are added up one by one, which the loop stacks;
- `build`: the loop and what stands around it.
"""

from funcgrad.transforms.rolling.roll import Rolled, rolled

__all__ = ["Rolled", "rolled"]
