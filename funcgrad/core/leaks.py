"""Traced values that live on when their transform has ended, while `funcgrad.debug.leaks` looks.

A public function that ends asks, of the traces that have ended in it, whether any of their values
is still there: the garbage collector knows all objects, and who refers to them.
"""

from __future__ import annotations

import gc
import types
import weakref
from typing import Any

from funcgrad.core.tracer import Operand, Trace, Tracer, running
from funcgrad.core.watching import place_of
from funcgrad.errors import LeakedTracerError, Place, line_at, user_place

__all__ = ["Leaks", "look", "noted"]


DEPTH = 8  # containers in containers


class Leaks:
    """The traces that have ended, and the lines at which values were made that have no other."""

    def __init__(self) -> None:
        self.ended: list[Trace] = []
        self.places: dict[int, tuple[weakref.ref[Any], Place]] = {}


def noted(made: Any) -> Any:
    """Keep the line at which an operation has made traced values."""
    leaks: Leaks | None = running.leaks
    if leaks is not None:
        place = user_place()
        for t in made if isinstance(made, (tuple, list)) else (made,):
            if isinstance(t, Tracer):
                leaks.places[id(t)] = weakref.ref(t), place
    return made


def look() -> None:
    """Raise if a value of a trace that has ended is still there."""
    leaks: Leaks | None = running.leaks
    if leaks is None or not leaks.ended:
        return
    ended, leaks.ended = set(map(id, leaks.ended)), []
    gc.collect()
    alive = [o for o in gc.get_objects() if issubclass(type(o), Tracer)]
    found = [t for t in alive if id(getattr(t, "owner", None)) in ended]
    del alive
    own = {id(found)}
    for t in found:
        holder = _holder(t, own)
        if holder:
            trace = t.owner
            raise LeakedTracerError(
                f"a value traced by {trace.what} (started at {trace.origin}) is still held by "
                f"{holder} when that transform has ended; return it from the function instead of "
                f"storing it, or store funcgrad.value(t){_made_at(t, leaks)}"
            )


def _made_at(t: Any, leaks: Leaks) -> str:
    """The line at which a value was made, for a message; "" for an argument."""
    if hasattr(t, "variable"):
        made = (e for e in t.owner.equations if any(v is t.variable for v in e.outputs))
        lines = [f"\n  at {e.source}" for e in made]
        return lines[0] if lines else ""
    if getattr(t, "node", None) is not None and place_of(t.node):
        return place_of(t.node)
    known = leaks.places.get(id(t))
    return f"\n  at {line_at(known[1])}" if known is not None and known[0]() is t else ""


def _holder(t: Any, own: set[int]) -> str:
    """Who refers to a value; "" if nobody but us. The lists of `own` are those of this search."""
    for holder in _referrers(t, own):
        if _is_of_program(holder, own, DEPTH):
            return _described(holder, t)
    return ""


def _referrers(x: Any, own: set[int]) -> list[Any]:
    found = gc.get_referrers(x)
    own.add(id(found))
    others = [r for r in found if id(r) not in own and not isinstance(r, types.FrameType)]
    own.add(id(others))
    return others


def _is_of_program(x: Any, own: set[int], depth: int) -> bool:
    """Whether the program refers to `x`, by containers; what objects of ours hold is not its."""
    if isinstance(x, types.FunctionType):
        return not (x.__module__ or "").startswith("funcgrad.")
    if isinstance(x, dict) and "__builtins__" in x:
        return not str(x.get("__name__")).startswith("funcgrad.")
    box = isinstance(x, Operand) and not isinstance(x, Tracer)
    if isinstance(x, (list, tuple, dict, set, types.CellType)) or box:
        referrers = _referrers(x, own)
        if not referrers or not depth:
            return True  # a variable of a function that is running
        # No generator: it would be one more that refers to what it looks at
        for r in referrers:  # noqa: SIM110
            if _is_of_program(r, own, depth - 1):
                return True
        return False
    return not type(x).__module__.startswith(("funcgrad.", "builtins"))


def _described(holder: Any, t: Any) -> str:
    if isinstance(holder, types.CellType):
        return "a variable of an enclosing function"
    if isinstance(holder, dict):
        name = next((k for k, v in holder.items() if v is t), None)
        if "__builtins__" in holder:
            return f"the global variable {name}"
        return f"an attribute, or an entry of a dictionary, by the name {name!r}"
    if isinstance(holder, (list, tuple, set)):
        return f"a {type(holder).__name__}"
    if isinstance(holder, Operand):
        return "an array that was made in it"
    return f"an object of {type(holder).__module__}.{type(holder).__name__}"
