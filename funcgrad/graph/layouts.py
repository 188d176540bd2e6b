"""How the values of a graph lie in memory, derived where somebody asks.

Each stand-in is made from those of the operands by the rule of the operation, and only from those
that the rule asks for: behind a product or a sum of all elements nothing is looked at. Deriving
does not recurse, so long chains are no different from short ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad.core.layout import Ask, derive
from funcgrad.core.types import ArrayType
from funcgrad.graph.ir import Equation, Literal, Var

__all__ = ["Layouts", "through"]


class Layouts:
    """Stand-ins for the variables that `equations`, to which more may be added, compute."""

    def __init__(self, equations: Sequence[Equation]) -> None:
        self.equations = equations
        self.makers: dict[Var, Equation] = {}
        self.read = 0  # how many equations `makers` has
        self.known: dict[Var, Any] = {}

    def of(self, v: Var, source: Callable[[Var], Any]) -> Any:
        """The stand-in of one variable; ``source(v)`` gives those of what comes from outside."""
        for e in self.equations[self.read :]:
            self.makers.update(dict.fromkeys(e.outputs, e))
        self.read = len(self.equations)

        def make(w: Var, of: Callable[[Var], Any]) -> dict[Var, Any]:
            e = self.makers.get(w)
            return {w: source(w)} if e is None else _results(e, of)

        derive(v, self.known, make)
        return self.known[v]


def _results(e: Equation, of: Callable[[Var], Any]) -> dict[Var, Any]:
    """The stand-ins of the outputs of an equation."""

    def ask(i: int) -> Any:
        a = e.inputs[i]
        return a.value if isinstance(a, Literal) else of(a)

    many, avals = e.prim.multiple, [o.type for o in e.outputs]
    types = [a.type for a in e.inputs]
    made = e.prim.lies(e.prim, ask, types, e.params, avals if many else avals[0])
    return dict(zip(e.outputs, made if many else (made,), strict=True))


def through(prim: Any, ask: Ask, types: Sequence[ArrayType], params: Any, out: Any) -> Any:
    """The rule of `core.layout` for an operation that applies the graph in its parameters."""
    graph = params["graph"]
    place = {v: k for k, v in enumerate(graph.inputs)}
    constants = dict(graph.constants)
    layouts = Layouts(graph.equations)

    def source(v: Var) -> Any:
        return ask(place[v]) if v in place else constants[v]

    return tuple(
        o.value if isinstance(o, Literal) else layouts.of(o, source) for o in graph.outputs
    )
