"""Scalar code for Numba: the equations of an elementwise graph as lines of Python.

What an operation does to one element stands in `compile.scalars`, as for the LLVM printer. The text
holds for every floating dtype: it is printed from a graph of float64, and each number in it is made
one of `real`, the type in which the function computes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from funcgrad.compile.llvm.mathematics import FUNCTIONS
from funcgrad.compile.loops import Const
from funcgrad.compile.scalars import (
    MATHEMATICS,
    NATIVE,
    Scalar,
    Writer,
    apply,
    resolve,
)
from funcgrad.errors import CompilerError
from funcgrad.graph.ir import Atom, Equation, Graph, Literal

__all__ = ["print_graph"]

BINARY = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "and": "&",
    "or": "|",
    "xor": "^",
}
AVAILABLE = frozenset(FUNCTIONS) & set(MATHEMATICS)


def print_graph(graph: Graph, names: Sequence[str]) -> tuple[list[str], list[str], set[str]]:
    """The lines, an expression for each output, and the functions of mathematics in them.

    `names` are those of the inputs. Raises CompilerError for what has no scalar body.
    """
    printer = _Printer()
    values = {v: Scalar(n, NATIVE[v.type.dtype]) for v, n in zip(graph.inputs, names, strict=True)}

    def read(a: Atom) -> Scalar:
        if isinstance(a, Literal):
            dtype = NATIVE[a.type.dtype]
            return Scalar(Const(a.value, dtype), dtype)
        return values[a]

    for e in graph.equations:
        values[e.outputs[0]] = printer.equation(e, [read(a) for a in e.inputs])
    results = [_text(read(o).operand) for o in graph.outputs]
    return printer.lines, results, printer.functions


class _Printer:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.functions: set[str] = set()
        self.known: dict[str, str] = {}
        self.writer = Writer(self.let)

    def let(self, op: str, dtype: str, args: tuple[str | Const, ...]) -> str:
        if op == "select" and args[1] == args[2]:
            return _text(args[1])
        return self.line(self.expression(op, dtype, list(map(_text, args))))

    def line(self, code: str) -> str:
        """The name of a value, computed once."""
        if code not in self.known:
            self.known[code] = f"t{len(self.known)}"
            self.lines.append(f"{self.known[code]} = {code}")
        return self.known[code]

    def expression(self, op: str, dtype: str, args: list[str]) -> str:
        if op in BINARY:
            return f"{args[0]} {BINARY[op]} {args[1]}"
        if op == "select":
            return f"{args[1]} if {args[0]} else {args[2]}"
        if op == "neg":
            return f"-{args[0]}"
        if op == "abs":
            return f"abs({args[0]})"
        if op == "not":
            return f"not {args[0]}"
        if op == "cast" and dtype.startswith("float"):
            return f"real({args[0]})"
        if op in FUNCTIONS:
            self.functions.add(op)
            return f"{op}({', '.join(args)})"
        raise CompilerError(f"the Numba printer does not know the operation {op!r}")

    def equation(self, e: Equation, xs: list[Scalar]) -> Scalar:
        resolved = resolve(e, AVAILABLE)
        if resolved is None:
            raise CompilerError(f"{e.prim.name} has no scalar body to print for Numba")
        return apply(self.writer, e, resolved, xs)


def _text(x: str | Const) -> str:
    if isinstance(x, str):
        return x
    if x.dtype == "bool":
        return str(bool(x.value))
    value = float(x.value)
    return f"real({value!r})" if math.isfinite(value) else f'real(float("{value}"))'
