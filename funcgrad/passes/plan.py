"""What fusion finds: the steps of a program, and where each value of a region lives."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from funcgrad.core.tracer import type_of
from funcgrad.graph.ir import Equation, Graph, Literal, Var
from funcgrad.passes.region import Labels, Region
from funcgrad.passes.views import View, whole

__all__ = ["Plan"]


@dataclass
class Plan:
    """What fusion found: the steps in an order in which they can run.

    Attributes
    ----------
    steps : list
        Regions, and equations for the host program.
    views : dict
        Variables that are views of what lies in memory.
    labels : dict
        The axes of every value of a region.
    domains : dict
        For the result of a reduction the axes of its operand.
    same : dict
        Variables of regions that are another one, on other axes.
    uniform : dict
        Variables all of whose elements are one number.
    escaping : set
        Variables of regions that have to be written to memory.
    notes : list of str
        Why something was not fused.
    """

    graph: Graph
    steps: list[Region | Equation] = field(default_factory=list)
    views: dict[Var, View] = field(default_factory=dict)
    labels: dict[Var, Labels] = field(default_factory=dict)
    domains: dict[Var, Labels] = field(default_factory=dict)
    same: dict[Var, Var] = field(default_factory=dict)
    uniform: dict[Var, Literal] = field(default_factory=dict)
    escaping: set[Var] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)

    def constant(self, array: Any) -> Var:
        """An array that the program holds, as a variable that lies in memory."""
        v = Var(type_of(array), min((w.id for w, _ in self.graph.constants), default=0) - 1)
        self.graph.constants = (*self.graph.constants, (v, array))
        self.views[v] = whole(v)
        return v
