"""What fusion knows of each value so far: the unit that makes it, its axes, how memory is read."""

from __future__ import annotations

from collections.abc import Iterable

from funcgrad.graph.ir import Atom, Equation, Graph, Var
from funcgrad.passes.dependencies import Dependencies
from funcgrad.passes.operands import held, spread
from funcgrad.passes.plan import Plan
from funcgrad.passes.region import Axis, Region
from funcgrad.passes.views import View, view_of, whole

__all__ = ["FusionState", "is_cheap"]

CHEAP = 1  # addition: what takes no more is done again rather than kept in memory


def is_cheap(e: Equation) -> bool:
    return e.prim.aligned and e.prim.cost <= CHEAP


class FusionState:
    """The values of the equations that were taken, and where they are."""

    def __init__(self, graph: Graph) -> None:
        self.plan = Plan(graph)
        self.dependencies = Dependencies()
        self.unit: dict[Var, int] = {}  # the unit that computes or holds a value
        self.held: dict[int, list[Var]] = {}  # the values of each unit
        self.region: dict[Var, Region] = {}  # of values that are computed in a region
        self.reduced: dict[Var, frozenset[Var]] = {}  # inner reductions a value depends on
        self.definition: dict[Var, Equation] = {}

    def define(self, e: Equation) -> None:
        for v in e.outputs:
            self.definition[v] = e

    def hold(self, v: Var, number: int) -> None:
        """Say which unit computes or holds a value."""
        self.unit[v] = number
        self.held.setdefault(number, []).append(v)

    def place(self, e: Equation, region: Region) -> None:
        region.equations.append(e)
        for v in e.outputs:
            self.region[v] = region
            self.hold(v, region.number)
        self.define(e)

    def note(self, e: Equation, why: str) -> None:
        self.plan.notes.append(f"{e.prim.name} {e.outputs[0].type} {why}")

    def producers_of(self, atoms: Iterable[Atom]) -> int:
        found = 0
        for a in atoms:
            if isinstance(a, Var) and a in self.unit:
                found |= 1 << self.unit[a]
        return found

    def is_stored(self, a: Atom) -> bool:
        return isinstance(a, Var) and a not in self.plan.uniform

    def escape(self, a: Atom) -> None:
        """Have the value written to memory, if a region computes it."""
        if not isinstance(a, Var) or a in self.plan.uniform:
            return
        if a in self.region:
            base = self.plan.same.get(a, a)
            self.plan.escaping.add(base)
            self.memory(a)
        elif a in self.plan.views:
            base = self.plan.views[a].base
            if base in self.region:
                self.plan.escaping.add(base)

    def memory(self, a: Var) -> View | None:
        """How to read a value from memory; None where that takes a copy."""
        known = self.plan.views.get(a)
        if known is not None:
            return known
        view: View | None
        if a in self.plan.same:
            source = self.memory(self.definition[a].inputs[0])  # type: ignore[arg-type]
            assert source is not None
            view = view_of(self.definition[a], source)
        else:
            view = whole(a)
        if view is not None:
            self.plan.views[a] = view
        return view

    def source(self, x: Atom) -> View | None:
        """How to read an operand from memory, which is then written there."""
        if not isinstance(x, Var) or x in self.plan.uniform:
            return None
        view = self.memory(x)
        if view is not None:
            self.escape(x)
        return view

    def read(self, region: Region, e: Equation, a: Var, labels: list[Axis | None]) -> None:
        """Note along which axes an array in memory is walked."""
        region.external.add(a)
        k = e.inputs.index(a)
        if k not in held(e):
            own = (None if p is None else labels[p] for p in spread(e, k))
            region.reads.setdefault(a, tuple(own))
