"""A program that is edited: its equations in order, and where each value is made and read.

Reads of one row (``x[i]``) stand where they are first needed, so that they belong to the step that
needs them, wherever the program took them from; so do their reshapings.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from funcgrad.graph.ir import Atom, Equation, Graph, Literal, Var
from funcgrad.ops.index import GETITEM
from funcgrad.ops.shape import CONCATENATE, RESHAPE
from funcgrad.transforms.rolling.stacks import joined_rows, row_of_slice

__all__ = ["Program"]


class Program:
    """The equations of a graph, in an order that keeps reads beside their first use."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.arrays: dict[Var, Any] = dict(graph.constants)
        ids = [v.id for e in graph.equations for v in e.outputs]
        ids += [v.id for v in graph.inputs] + [v.id for v, _ in graph.constants]
        self.next = max(ids, default=-1)
        self.equations: list[Equation] = []
        self.arrange(graph.equations)

    def var(self, kind: Any) -> Var:
        self.next += 1
        return Var(kind, self.next)

    def constant(self, array: Any, kind: Any) -> Var:
        v = self.var(kind)
        self.arrays[v] = array
        return v

    def arrange(self, equations: Iterable[Equation]) -> None:
        """Take these equations, reads where they are first needed; note where all is."""
        waiting: dict[Var, Equation] = {}
        placed: list[Equation] = []

        def place(atoms: Sequence[Atom]) -> None:
            for a in atoms:
                e = waiting.pop(a, None) if isinstance(a, Var) and waiting else None
                if e is not None:
                    place(e.inputs)
                    placed.append(e)

        for e in equations:
            if e.prim is RESHAPE:
                e = row_of_slice(e, waiting)
            if e.prim is GETITEM or (e.prim is RESHAPE and e.inputs[0] in waiting):
                waiting[e.outputs[0]] = e
                continue
            if e.prim is CONCATENATE:
                *made, e = joined_rows(e, waiting, self.var)
                for row in made:
                    place(row.inputs)
                    placed.append(row)
            place(e.inputs)
            placed.append(e)
        place(self.graph.outputs)
        self.equations = placed
        self._index()

    def work(self) -> int:
        """The number of equations but for reads."""
        return sum(e.prim is not GETITEM for e in self.equations)

    def _index(self) -> None:
        self.made: dict[Var, int] = {}
        self.users: dict[Var, list[int]] = {}
        for k, e in enumerate(self.equations):
            for a in e.inputs:
                if not isinstance(a, Literal):
                    self.users.setdefault(a, []).append(k)
            for v in e.outputs:
                self.made[v] = k
        self.returned = {a for a in self.graph.outputs if isinstance(a, Var)}

    def finish(self) -> Graph:
        read = self.returned | self.users.keys()
        constants = tuple((v, x) for v, x in self.arrays.items() if v in read)
        return Graph(self.graph.inputs, tuple(self.equations), self.graph.outputs, constants)
