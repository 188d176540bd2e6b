"""The reference backend: run a graph one equation after the other.

Each equation is bound anew, so that a graph runs on arrays as well as on traced values of any
transform. A value is dropped after its last use.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.tracer import bind, running
from funcgrad.core.types import Array
from funcgrad.core.watching import found_in, refuse
from funcgrad.errors import FuncgradError, repeated
from funcgrad.graph.ir import Atom, Equation, Graph, Literal, Var

__all__ = ["blame", "evaluate", "unwarned"]


def blame(error: Exception, e: Equation) -> None:
    """Note the operation and the user's line with an error that arises while a graph runs."""
    if not isinstance(error, FuncgradError) and not getattr(error, "__notes__", None):
        error.add_note(f"in {e.prim.name} of a traced function\n  at {e.source}")


def _last_uses(graph: Graph) -> list[tuple[Var, ...]]:
    """For each equation the variables that nobody reads after it."""
    plan: list[tuple[Var, ...]] | None = graph.derived.get("last_uses")
    if plan is None:
        kept = {o for o in graph.outputs if isinstance(o, Var)}
        plan = []
        for e in reversed(graph.equations):
            touched = [*e.inputs, *e.outputs]
            last = {v for v in touched if isinstance(v, Var) and v not in kept}
            kept |= last
            plan.append(tuple(last))
        plan.reverse()
        graph.derived["last_uses"] = plan
    return plan


def unwarned() -> np.errstate:
    """No warnings: equations of a backward pass meet inf and NaN that are masked later.

    What the caller wants to be raised is raised.
    """
    kept = ("raise", "call")
    settings: Any = {k: v if v in kept else "ignore" for k, v in np.geterr().items()}
    return np.errstate(**settings)


def _runs_code(e: Equation) -> bool:
    """Whether it calls functions of the user, whose operations have lines of their own."""
    return e.prim.opaque or (e.prim.form == "higher_order" and e.prim.composed is not None)


def _look(e: Equation, args: Any, made: Any) -> None:
    """Raise where an equation has made what is looked for, of operands without it."""
    what = found_in(*(made if e.prim.multiple else (made,)))
    if what and not found_in(*args):
        raise refuse(what, f"{e.prim.name} in a traced function", f"\n  at {e.source}")


def evaluate(graph: Graph, *args: Array) -> tuple[Array, ...]:
    """The outputs of `graph` for these inputs."""
    values: dict[Var, Any] = dict(zip(graph.inputs, args, strict=True))
    values.update(graph.constants)

    def read(a: Atom) -> Any:
        return a.value if isinstance(a, Literal) else values[a]

    around, scope = repeated.line, repeated.scope
    for e, dead in zip(graph.equations, _last_uses(graph), strict=True):
        repeated.line, repeated.scope = None if _runs_code(e) else e.source, e.scope or scope
        try:
            given = [read(a) for a in e.inputs]
            made = bind(e.prim, given, e.params)
        except Exception as error:
            blame(error, e)
            raise
        finally:
            repeated.line, repeated.scope = around, scope
        if running.watching:
            _look(e, given, made)
        del given  # which would keep what is dead
        if e.prim.multiple:
            values.update(zip(e.outputs, made, strict=True))
        else:
            values[e.outputs[0]] = made
        for v in dead:
            del values[v]
    return tuple(map(read, graph.outputs))
