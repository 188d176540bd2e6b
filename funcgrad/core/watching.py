"""Looking for NaN and infinities at each operation, while `funcgrad.debug` asks for it."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from funcgrad.core.tracer import Operand, Tracer, running
from funcgrad.errors import Place, SourceLine, line_at, repeated, user_place

__all__ = ["LINES", "found_in", "line_of", "note_place", "numbers", "place_of", "refuse"]

_TESTS: dict[str, Any] = {"NaN": np.isnan, "an infinity": np.isinf}
LINES = "lines"  # in the place of what is looked for: nothing, but lines are kept
_places: WeakKeyDictionary[Any, Place | SourceLine] = WeakKeyDictionary()  # of what a tape recorded


def numbers(x: Any) -> Any:
    """The array or number behind `x`, of all examples of `vmap`; None where there is none."""
    while isinstance(x, Operand):
        x = x.content()
        if isinstance(x, Tracer):
            if x.owner.stages:
                return None
            x = x.below()
    return x if isinstance(x, (np.ndarray, np.generic, float, complex)) else None


def found_in(*xs: Any) -> str:
    """The first of what is looked for that is in arrays, numbers or what is behind traced ones."""
    for what in running.watching:
        if what == LINES:
            continue
        for x in map(numbers, xs):
            if x is not None and np.asarray(x).dtype.kind in "fc" and _TESTS[what](x).any():
                return what
    return ""


def note_place(recorded: Any) -> None:
    """Keep the line of the program at which something was recorded."""
    _places[recorded] = repeated.line or user_place()


def line_of(recorded: Any) -> SourceLine | None:
    """The line at which something was recorded."""
    place = _places.get(recorded)
    return place if place is None or isinstance(place, SourceLine) else line_at(place)


def place_of(recorded: Any) -> str:
    """The same for a message."""
    line = line_of(recorded)
    return "" if line is None else f"\n  at {line}"


def refuse(what: str, made_by: str, place: str) -> FloatingPointError:
    """The error where something has made `what`."""
    return FloatingPointError(f"{made_by} has made {what}{place}")
