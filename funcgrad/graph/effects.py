"""Effects: which equations are seen from outside, and what that means for a graph.

An operation whose record has an `effect` (a line that it prints, a function that it calls) runs as
often as the program says and in its order; so does an equation that holds a graph with one. Such
equations are never left out, merged, computed again, taken out of a loop or moved past each other.

- `guarded` gives a graph one more operand, whether its effects happen at all: for examples of a
  batch that take another branch, or whose loop has ended.
- `quiet` is a graph without its effects, for what is computed again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core.primitive import Params, Primitive
from funcgrad.core.types import ArrayType
from funcgrad.errors import EffectError
from funcgrad.graph.ir import Equation, Graph, Var, last_number
from funcgrad.ops import records

__all__ = [
    "acts",
    "effects_of",
    "first_effect",
    "guarded",
    "has_effect",
    "quiet",
    "quieted",
    "silenced",
]

HELD = ArrayType((), np.dtype(bool))


def acts(prim: Primitive, params: Params) -> bool:
    """Whether an operation with these parameters has an effect."""
    if prim.effect is None:  # of its graphs, or of a function of the user's that was staged
        graphs = (p for p in params.values() if isinstance(p, Graph))
        return bool(params.get("effect")) or any(map(effects_of, graphs))
    return prim.effect


def has_effect(e: Equation) -> bool:
    """Whether an equation is seen from outside."""
    return e.prim.effect is not False and acts(e.prim, e.params)


def effects_of(graph: Graph) -> bool:
    """Whether a graph has an equation that is seen from outside."""
    found: bool | None = graph.derived.get("effects")
    if found is None:
        found = graph.derived["effects"] = any(map(has_effect, graph.equations))
    return found


def first_effect(e: Equation) -> tuple[str, Equation] | None:
    """The first effect in an equation and its graphs, as a text and the equation that has it."""
    if not has_effect(e):
        return None
    graphs = (p for p in e.params.values() if isinstance(p, Graph))
    found = (first_effect(each) for g in graphs for each in g.equations)
    call = e.params.get("call")
    own = e.prim.name if call is None else call.described
    return next((each for each in found if each is not None), (own, e))


def guarded(graph: Graph) -> Graph:
    """The graph with a first operand more, a bool: its effects happen where that holds."""
    if "guarded" not in graph.derived:
        graph.derived["guarded"] = _Guarding(graph).made()
    found: Graph = graph.derived["guarded"]
    return found


class _Guarding:
    """Writes a graph of which all effects have a condition."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.next = graph, last_number(graph) + 1
        self.held = self.var()
        self.equations: list[Equation] = []

    def var(self) -> Var:
        self.next += 1
        return Var(HELD, self.next)

    def made(self) -> Graph:
        for e in self.graph.equations:
            self.equations.append(self.guard(e) if has_effect(e) else e)
        g = self.graph
        return Graph((self.held, *g.inputs), tuple(self.equations), g.outputs, g.constants)

    def guard(self, e: Equation) -> Equation:
        inputs = list(e.inputs)
        if e.prim.effect:
            if e.params["guarded"]:
                inputs[0] = self.both(e)
            else:
                inputs.insert(0, self.held)
            return e._replace(inputs=tuple(inputs), params={**e.params, "guarded": True})
        if not e.prim.opens:
            raise EffectError(
                f"{e.prim.name} has an effect, and a transform asks that it happens for some "
                "examples only, which is not known of a function with a custom rule; put it "
                f"outside of that function\n  at {e.source}"
            )
        inputs.insert(e.prim.place_of_consts(e.params), self.held)
        params = _with_graphs(e.params, guarded)
        if e.prim.loops:
            params["consts"] += 1
        return e._replace(inputs=tuple(inputs), params=params)

    def both(self, e: Equation) -> Var:
        v = self.var()
        atoms = (self.held, e.inputs[0])
        self.equations.append(Equation(records.BITWISE_AND, atoms, {}, (v,), e.scope, e.source))
        return v


def _with_graphs(params: Params, make: Callable[[Graph], Graph]) -> dict[str, Any]:
    return {n: make(p) if isinstance(p, Graph) else p for n, p in params.items()}


def quieted(params: Params) -> Params:
    """The parameters of an operation over graphs, of which the effects have happened."""
    return _with_graphs(params, quiet)


def quiet(graph: Graph) -> Graph:
    """The graph without its effects, for what is computed again.

    Raises
    ------
    EffectError
        It needs what an effect returns.
    """
    if not effects_of(graph):
        return graph
    if "quiet" not in graph.derived:
        read = {a for e in graph.equations for a in e.inputs} | set(graph.outputs)
        kept = [silenced(e, read) for e in graph.equations]
        equations = tuple(e for e in kept if e is not None)
        graph.derived["quiet"] = Graph(graph.inputs, equations, graph.outputs, graph.constants)
    found: Graph = graph.derived["quiet"]
    return found


def silenced(e: Equation, read: set[Any]) -> Equation | None:
    """The equation without effects, of which some of the variables `read` may be results."""
    if not has_effect(e):
        return e
    if e.prim.opens:
        return e._replace(params=quieted(e.params))
    if not e.prim.effect:
        return e._replace(params={"rule": e.params["rule"].silenced()})
    if not read.isdisjoint(e.outputs):
        raise EffectError(
            f"what {e.prim.name} returns would have to be computed again for a derivative, by "
            "checkpoint or a while_loop without max_steps, and it is called once; call it outside "
            f"of that function, and pass what it returns as an argument\n  at {e.source}"
        )
    return None
