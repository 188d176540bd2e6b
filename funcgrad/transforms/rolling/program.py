"""A program that is edited: its equations in order, and where each value is made and read.

Reads of one row (``x[i]``) stand where they are first needed, so that they belong to the step that
needs them, wherever the program took them from; so do their reshapings. Where several steps read
the same row, each does so by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from funcgrad.graph.ir import Atom, Equation, Graph, Literal, Var
from funcgrad.ops.arithmetic import WEAKEN
from funcgrad.ops.index import GETITEM
from funcgrad.ops.shape import CONCATENATE, RESHAPE
from funcgrad.transforms.rolling.stacks import joined_rows, row_of_slice

__all__ = ["Program"]

MANY = 48  # uses of a row, which belongs to all steps then
ROWS = 16  # of an array, of which loops may be made


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

    def var(self, aval: Any) -> Var:
        self.next += 1
        return Var(aval, self.next)

    def constant(self, array: Any, aval: Any) -> Var:
        v = self.var(aval)
        self.arrays[v] = array
        return v

    def arrange(self, equations: Iterable[Equation]) -> None:
        """Take these equations, reads where they are first needed; note where all is."""
        equations = list(equations)
        shared = _shared(equations)
        waiting: dict[Var, Equation] = {}
        placed: list[Equation] = []

        def place(atoms: Sequence[Atom]) -> tuple[Atom, ...]:
            """Put the reads that are waiting here; what is read now may have another name."""
            if not waiting or waiting.keys().isdisjoint(atoms):
                return tuple(atoms)
            here: dict[Atom, Var] = {}
            for a in atoms:
                e = waiting.get(a) if isinstance(a, Var) and a not in here else None
                if e is None:
                    continue
                v = e.outputs[0]
                if v in shared:
                    v = self.var(v.type)
                else:
                    del waiting[v]
                placed.append(e._replace(inputs=place(e.inputs), outputs=(v,)))
                here[a] = v
            return tuple([here.get(a, a) for a in atoms])

        for e in equations:
            if e.prim is RESHAPE:
                e = row_of_slice(e, waiting)
            follows = e.prim is RESHAPE or e.prim is WEAKEN
            if e.prim is GETITEM or (follows and e.inputs[0] in waiting):
                waiting[e.outputs[0]] = e
                continue
            if e.prim is CONCATENATE:
                *made, e = joined_rows(e, waiting, self.var)
                placed += [row._replace(inputs=place(row.inputs)) for row in made]
            inputs = place(e.inputs)
            placed.append(e if inputs == e.inputs else e._replace(inputs=inputs))
        shared.difference_update(a for a in self.graph.outputs if isinstance(a, Var))
        place(self.graph.outputs)
        self.equations = placed
        self._index()

    @staticmethod
    def moves(e: Equation) -> bool:
        """Whether an equation computes nothing."""
        return e.prim is GETITEM or e.prim is RESHAPE

    def work(self) -> int:
        """The number of equations that compute something."""
        return sum(not self.moves(e) for e in self.equations)

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


def _shared(equations: Sequence[Equation]) -> set[Var]:
    """Rows of arrays of which many are read, that are read several times, but not in all steps."""
    uses = Counter(a for e in equations for a in e.inputs)
    rows = [e for e in equations if e.prim is GETITEM]
    arrays = Counter(e.inputs[0] for e in rows)
    return {
        e.outputs[0] for e in rows if 1 < uses[e.outputs[0]] < MANY and arrays[e.inputs[0]] >= ROWS
    }
