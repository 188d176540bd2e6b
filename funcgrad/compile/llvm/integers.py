"""Integers of addresses and of loops, computed while they are printed where they are known.

In a loop kernel sizes and strides are numbers, so most of what an address is made of is known, and
much of the rest is the same in many addresses. LLVM's code in haste would compute all of it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

__all__ = ["compared", "computed", "literal"]

LIMIT = 1 << 62  # no result that may wrap around is computed here
ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "and": operator.and_,
    "udiv": operator.floordiv,
    "urem": operator.mod,
    "lshr": operator.rshift,
}
COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "slt": operator.lt,
    "sle": operator.le,
    "sgt": operator.gt,
    "sge": operator.ge,
    "ult": operator.lt,
}
NEUTRAL = {"add": 0, "sub": 0, "mul": 1, "udiv": 1, "lshr": 0}  # as the second operand


def literal(name: str) -> int | None:
    """The integer that the text of an operand is."""
    return int(name) if name[0].isdigit() or name[0] == "-" else None


def computed(operation: str, x: str, y: str) -> str | None:
    """The text of `operation` on two operands, where it is one of them or a number."""
    a, b = literal(x), literal(y)
    if a is not None and b is not None:
        return _of_numbers(operation, a, b)
    if b is not None and NEUTRAL.get(operation) == b:
        return x
    if a is not None and operation in ("add", "mul") and NEUTRAL[operation] == a:
        return y
    return "0" if operation == "mul" and 0 in (a, b) else None


def _of_numbers(operation: str, a: int, b: int) -> str | None:
    signed = operation in ("add", "sub", "mul", "and")
    if operation not in ARITHMETIC or (not signed and (a < 0 or b <= 0)):
        return None
    found = ARITHMETIC[operation](a, b)
    return str(found) if -LIMIT < found < LIMIT else None


def compared(predicate: str, x: str, y: str) -> bool | None:
    """What a comparison of two numbers gives; None where one is not known."""
    a, b = literal(x), literal(y)
    if a is None or b is None or predicate not in COMPARISONS:
        return None
    if predicate == "ult" and (a < 0 or b < 0):
        return None
    return COMPARISONS[predicate](a, b)
