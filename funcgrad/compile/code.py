"""A kernel while it is written: its parameters and fresh names.

Sizes, strides and odd numbers are parameters, found again by a key, so that one kernel serves every
length.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from funcgrad.compile.foreign import may_fail
from funcgrad.compile.loops import Buffer, Const, Kernel, Let, Term, statements
from funcgrad.graph.ir import Var

__all__ = ["Argument", "Code", "Written"]


@dataclass
class Argument:
    """An array argument of a kernel: a variable of the graph, or a partial result for one."""

    name: str
    var: Var
    role: str  # "input", "output", "partial"
    dtype: str
    size: int


class Written(NamedTuple):
    """A kernel, with the values of its parameters for the shapes at hand."""

    kernel: Kernel
    arguments: list[Argument]
    integers: list[int]
    numbers: list[Any]


class Code:
    """What has been asked for so far, by key; `written` makes the kernel of it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.count = 0
        self.integers: dict[Any, tuple[str, int]] = {}
        self.numbers: dict[Any, tuple[str, Any, str]] = {}
        self.arguments: dict[Any, Argument] = {}
        self.locals: list[Buffer] = []
        self.requires = False

    def fresh(self, letter: str = "v") -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def integer(self, key: Any, value: int) -> Term:
        """A size or stride as a parameter; the same key is the same parameter."""
        if key not in self.integers:
            self.integers[key] = (f"n{len(self.integers)}", value)
        return self.integers[key][0]

    def stride(self, key: Any, value: int) -> Term:
        """As `integer`, but gaps of nothing and of one belong to the code."""
        return value if value in (0, 1) else self.integer(key, value)

    def number(self, value: Any, dtype: str) -> str | Const:
        """A number: the usual ones are written out, others are parameters."""
        x = np.dtype(dtype).type(value)
        if dtype == "bool" or not np.isfinite(x) or float(x) in (0.0, 1.0, -1.0):
            return Const(x, dtype)
        key = (dtype, x.tobytes())
        if key not in self.numbers:
            self.numbers[key] = (f"c{len(self.numbers)}", x, dtype)
        return self.numbers[key][0]

    def argument(self, key: Any, var: Var, role: str, dtype: str, size: int) -> str:
        if key not in self.arguments:
            name = f"{role[0]}{len(self.arguments)}"
            self.arguments[key] = Argument(name, var, role, dtype, size)
        return self.arguments[key].name

    def written(self, body: list[Any]) -> Written:
        """The kernel with this body."""
        fails = any(isinstance(s, Let) and may_fail(s.op) for s in statements(body))
        arguments = list(self.arguments.values())
        buffers = [
            Buffer(a.name, a.dtype, "input" if a.role == "input" else "output") for a in arguments
        ]
        kernel = Kernel(
            self.name,
            buffers + self.locals,
            [n for n, _ in self.integers.values()],
            [(n, d) for n, _, d in self.numbers.values()],
            body,
            self.requires or fails,
        )
        integers = [v for _, v in self.integers.values()]
        return Written(kernel, arguments, integers, [v for _, v, _ in self.numbers.values()])
