"""Building a graph from another one: substitute values, append equations, inline small graphs.

Variables that do not change are kept, so that a pass that changes nothing costs little. Equations
keep the scope and the source line of what they stand for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad.core.primitive import Params, Primitive
from funcgrad.core.tracer import type_of
from funcgrad.core.types import ArrayType
from funcgrad.graph.ir import Atom, Equation, Graph, Literal, Var

__all__ = ["Rewriter", "rewrite"]

Rule = Callable[["Rewriter", Equation], Sequence[Atom] | None]


class Rewriter:
    """The new graph while it is written."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.known: dict[Var, Atom] = {}
        self.equations: list[Equation] = []
        self.constants = list(graph.constants)
        self.arrays: dict[Var, Any] = dict(graph.constants)
        self.made: dict[Var, Equation] = {}
        self.here: Equation | None = None
        last = [v.id for e in graph.equations for v in e.outputs]
        last += [v.id for v in graph.inputs] + [v.id for v, _ in graph.constants]
        self.next = max(last, default=-1) + 1

    def read(self, a: Atom) -> Atom:
        """What stands for an atom of the old graph."""
        return self.known.get(a, a) if isinstance(a, Var) else a

    def var(self, aval: ArrayType) -> Var:
        self.next += 1
        return Var(aval, self.next)

    def append(
        self, prim: Primitive, inputs: Sequence[Atom], params: Params | None = None
    ) -> tuple[Var, ...]:
        """A new equation in the place of the one at hand."""
        params = {} if params is None else params
        found: Any = prim.type_rule([a.type for a in inputs], params)
        types: tuple[ArrayType, ...] = tuple(found) if prim.multiple else (found,)
        assert self.here is not None
        e = Equation(
            prim,
            tuple(inputs),
            params,
            tuple(map(self.var, types)),
            self.here.scope,
            self.here.source,
        )
        self.add(e)
        return e.outputs

    def replaced(self, e: Equation) -> Equation:
        """The equation on the values that stand for its operands."""
        known = self.known
        if known and any(a in known for a in e.inputs):
            return e._replace(inputs=tuple(map(self.read, e.inputs)))
        return e

    def keep(self, e: Equation) -> None:
        """The equation as it is, on the values that stand for its operands."""
        self.add(self.replaced(e))

    def add(self, e: Equation) -> None:
        """An equation on atoms of the new graph."""
        self.equations.append(e)
        for v in e.outputs:
            self.made[v] = e

    def constant(self, array: Any) -> Var:
        """An array that belongs to the graph."""
        v = self.var(type_of(array))
        self.constants.append((v, array))
        self.arrays[v] = array
        return v

    def literal(self, value: Any) -> Literal:
        return Literal(value, type_of(value))

    def inline(self, graph: Graph, inputs: Sequence[Atom]) -> list[Atom]:
        """The equations of a small graph, applied to atoms of this one."""
        local: dict[Var, Atom] = dict(zip(graph.inputs, inputs, strict=True))
        for v, array in graph.constants:
            local[v] = self.constant(array)

        def read(a: Atom) -> Atom:
            return local[a] if isinstance(a, Var) else a

        for e in graph.equations:
            made = self.append(e.prim, [read(a) for a in e.inputs], e.params)
            local.update(zip(e.outputs, made, strict=True))
        return [read(a) for a in graph.outputs]

    def rewritten(self, take: Callable[[Equation], bool], whole: Callable[[Atom], object]) -> Graph:
        """The graph of which `take` writes some equations in a form of its own.

        The others, for which it says False, are kept, on operands that are made `whole` again.
        """
        for e in self.graph.equations:
            self.here = e
            if not take(e):
                for a in e.inputs:
                    whole(a)
                self.keep(e)
        for o in self.graph.outputs:
            whole(o)
        return self.finish()

    def finish(self) -> Graph:
        outputs = tuple(map(self.read, self.graph.outputs))
        return Graph(self.graph.inputs, tuple(self.equations), outputs, tuple(self.constants))


def rewrite(graph: Graph, rule: Rule) -> Graph:
    """The graph with each equation replaced by what `rule` returns; None keeps it.

    The rule is given the equation with its operands already replaced.
    """
    r = Rewriter(graph)
    known, equations, made = r.known, r.equations, r.made
    for e in graph.equations:
        if known:
            e = r.replaced(e)
        r.here = e
        found = rule(r, e)
        if found is None:  # nearly always, so `keep` is written out
            equations.append(e)
            for v in e.outputs:
                made[v] = e
        else:
            r.known.update(zip(e.outputs, found, strict=True))
    return r.finish()
