"""The reference backend: run a graph one equation after the other.

Each equation is bound anew, so that a graph runs on arrays as well as on traced values of any
transform. A value is dropped after its last use.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from funcgrad.core.tracer import bind, running
from funcgrad.core.types import Array
from funcgrad.core.watching import found_in, refuse
from funcgrad.errors import FuncgradError, repeated
from funcgrad.graph.ir import Atom, Equation, Graph, Literal

__all__ = ["blame", "evaluate", "unwarned", "was_running"]


def blame(error: Exception, e: Equation) -> None:
    """Note the operation and the user's line with an error that arises while a graph runs."""
    if not isinstance(error, FuncgradError) and not getattr(error, "__notes__", None):
        error.add_note(f"in {e.prim.name} of a traced function\n  at {e.source}")


def was_running(error: Exception) -> bool:
    """Whether an error arose while a graph ran, not while it was made."""
    return any(" of a traced function\n" in note for note in getattr(error, "__notes__", ()))


Places = tuple[int, ...]


class _Plan(NamedTuple):
    """A graph as places of its values: inputs, what is fixed, and what equations make, in order."""

    fixed: tuple[Any, ...]  # constants and literals
    steps: tuple[tuple[Equation, Places, Places, Places], ...]  # read, written, and dead then
    made: int  # how many values equations make
    outputs: Places


def _plan(graph: Graph) -> _Plan:
    """For each equation the places that it reads and writes, and those that nobody reads later."""
    fixed: list[tuple[Atom, Any]] = list(graph.constants)
    for atoms in (*(e.inputs for e in graph.equations), graph.outputs):
        fixed += [(a, a.value) for a in atoms if isinstance(a, Literal)]
    made = [v for e in graph.equations for v in e.outputs]
    whole = (*graph.inputs, *(a for a, _ in fixed), *made)
    places: dict[Atom, int] = {a: k for k, a in enumerate(whole)}
    outputs = tuple(places[a] for a in graph.outputs)
    kept = {*outputs, *(places[a] for a, _ in fixed)}
    steps: list[Any] = []
    for e in reversed(graph.equations):
        reads, writes = (tuple(places[a] for a in atoms) for atoms in (e.inputs, e.outputs))
        dead = {*reads, *writes} - kept
        kept |= dead
        steps.append((e, reads, writes, tuple(dead)))
    return _Plan(tuple(value for _, value in fixed), tuple(steps[::-1]), len(made), outputs)


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
    plan: _Plan | None = graph.derived.get("plan")
    if plan is None:
        plan = graph.derived["plan"] = _plan(graph)
    if len(args) != len(graph.inputs):
        raise ValueError(f"a graph of {len(graph.inputs)} inputs is given {len(args)}")
    values: list[Any] = [*args, *plan.fixed, *(None,) * plan.made]
    around, scope = repeated.line, repeated.scope
    e: Any = None
    given: Any
    try:
        for e, reads, writes, dead in plan.steps:
            repeated.line, repeated.scope = None if _runs_code(e) else e.source, e.scope or scope
            given = [values[k] for k in reads]
            made = bind(e.prim, given, e.params)
            if e.prim.multiple:
                for k, part in zip(writes, made, strict=True):
                    values[k] = part
            else:
                values[writes[0]] = made
            if running.watching:
                repeated.line, repeated.scope = around, scope
                _look(e, given, made)
            given = made = part = None  # which would keep what is dead
            for k in dead:
                values[k] = None
    except Exception as error:
        blame(error, e)
        raise
    finally:
        repeated.line, repeated.scope = around, scope
    return tuple([values[k] for k in plan.outputs])
