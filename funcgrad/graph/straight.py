"""A graph as straight-line Python: one line an equation, applied to raw arrays and numbers.

What `interpret` does with a look at each operand is written down once, for programs that are too
small for a kernel. The values are those of the operations themselves, bit for bit. The quick form
is for inputs of which some may be Python's numbers (see `transforms.recorders`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from math import copysign, isfinite
from typing import Any

import numpy as np

from funcgrad.core.forms import Elementwise
from funcgrad.core.primitive import Primitive
from funcgrad.core.types import promote
from funcgrad.graph.ir import Atom, Equation, Graph, Literal, Var
from funcgrad.ops import records

__all__ = ["Straight", "straight"]

INFIX = {operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/"}


class Straight:
    """The lines of graphs, and the objects that they name, in `scope`."""

    def __init__(self, prefix: str, scope: dict[str, Any]) -> None:
        self.prefix, self.scope, self.count = prefix, scope, 0
        self.names: dict[Var, str] = {}
        self.origins: dict[str, tuple[Primitive, str]] = {}  # names of attributes of operations
        self.numbers: set[Var] = set()  # inputs that may be Python's numbers

    def constant(self, value: Any) -> str:
        """The name of an object, or the number itself."""
        kind = type(value)
        if value is None or kind in (bool, str) or (kind in (int, float) and isfinite(value)):
            return repr(value) if kind is not float or copysign(1.0, value) > 0 else f"({value!r})"
        self.count += 1
        name = f"{self.prefix}{self.count}"
        self.scope[name] = value
        return name

    def attribute(self, prim: Primitive, attribute: str) -> str:
        """The name of an attribute of an operation."""
        name = self.constant(getattr(prim, attribute))
        self.origins[name] = prim, attribute
        return name

    def lines(self, graph: Graph, quick: bool = False) -> list[str]:
        """The equations of `graph`, whose inputs have got `names`."""
        for v, array in graph.constants:
            if v not in self.names:
                self.names[v] = self.constant(array)
        return [self.line(e, quick) for e in graph.equations]

    def atom(self, a: Atom) -> str:
        """How the program names an operand."""
        return self.constant(a.value) if isinstance(a, Literal) else self.names[a]

    def owned(self, a: Atom, others: tuple[Var, ...]) -> str:
        """An output: a copy of what is a constant, or one of `others`, which are not to be changed.

        Numbers come as NumPy's.
        """
        if isinstance(a, Literal):
            return self.constant(np.asarray(a.value, a.type.dtype)[()])
        text = self.names[a]
        return f"{text}.copy()" if a in others or text in self.scope else text

    def line(self, e: Equation, quick: bool) -> str:
        targets = []
        for v in e.outputs:
            self.count += 1
            self.names[v] = f"v{self.prefix}{self.count}"
            targets.append(self.names[v])
        target = f"({', '.join(targets)},)" if e.prim.multiple else targets[0]
        return f"{target} = {self.expression(e, quick)}"

    def expression(self, e: Equation, quick: bool) -> str:
        args = [self.atom(a) for a in e.inputs]
        if e.prim is records.SCALE:
            return self.product(e, args)
        symbol, function = INFIX.get(e.prim.impl), "impl"
        if quick and isinstance(e.prim, Elementwise) and not e.params:
            function = "ufunc"  # as rules call it: Python's own numbers know no infinity
            numbers = all(isinstance(a, Literal) or a in self.numbers for a in e.inputs)
            if numbers or symbol == "/":  # by 0, a traced Python number raises too
                symbol = None
        if symbol is not None:
            return f"{args[0]} {symbol} {args[1]}"
        given = [f"{name}={self.constant(value)}" for name, value in e.params.items()]
        return f"{self.attribute(e.prim, function)}({', '.join([*args, *given])})"

    def product(self, e: Equation, args: list[str]) -> str:
        """The product of a cotangent and a partial derivative, in the dtype of the cotangent."""
        text, made = f"{args[0]} * {args[1]}", e.outputs[0].type.dtype
        if promote(e.inputs[0].type, e.inputs[1].type) == made:
            return text
        return f"({text}).astype({self.constant(made)})"


def straight(graph: Graph) -> Callable[..., tuple[Any, ...]]:
    """A function of raw arrays and NumPy's scalars that gives the outputs of `graph`."""
    scope: dict[str, Any] = {}
    written = Straight("k", scope)
    names = [f"x{k}" for k in range(len(graph.inputs))]
    written.names.update(zip(graph.inputs, names, strict=True))
    lines = written.lines(graph)
    outputs = "".join(f"{written.atom(o)}, " for o in graph.outputs)
    lines.append(f"return ({outputs})")
    exec(f"def run({', '.join(names)}):\n    " + "\n    ".join(lines), scope)
    run: Callable[..., tuple[Any, ...]] = scope["run"]
    return run
