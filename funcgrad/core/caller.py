"""What the user's code was doing when C asked for the number of a traced value.

A function written in C has no frame: the frame above ours is that of the program, and its
instruction tells what was called, ``math.sin`` or an item assignment, which the error can then name
together with what to write instead. It is read only where an error or a warning is on its way.
"""

from __future__ import annotations

import dis
import types
from typing import Any

import numpy as np

__all__ = ["callee", "instead_of", "is_storing"]

_LOADS = frozenset(("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FAST", "LOAD_DEREF", "LOAD_FAST_BORROW"))
_ATTRIBUTES = frozenset(("LOAD_ATTR", "LOAD_METHOD"))

# functions of `math` that NumPy has by another name, or not at all
_ELSEWHERE = {
    "dist": "np.linalg.norm",
    "erf": "scipy.special.erf",
    "erfc": "scipy.special.erfc",
    "fsum": "np.sum",
    "gamma": "scipy.special.gamma",
    "lgamma": "scipy.special.gammaln",
    "phase": "np.angle",
}


def is_storing(frame: types.FrameType) -> bool:
    """Whether `frame` is at an item assignment, ``y[i] = t``."""
    code = frame.f_code.co_code
    return dis.opname[code[frame.f_lasti]] in ("STORE_SUBSCR", "STORE_SLICE")


def calls(frame: types.FrameType) -> bool:
    """Whether `frame` is in a call, of a function in C where the frame itself is asked."""
    opname = dis.opname[frame.f_code.co_code[frame.f_lasti]]
    return opname.startswith(("CALL", "PRECALL"))  # the latter of hot code, in Python 3.11


def callee(frame: types.FrameType) -> Any:
    """The function that `frame` calls by a name or an attribute of a module; else None."""
    instructions = list(dis.get_instructions(frame.f_code))
    at = next((k for k, i in enumerate(instructions) if i.offset == frame.f_lasti), None)
    if at is None or not calls(frame):
        return None
    whole: Any = instructions[at].positions
    if whole is None or whole.col_offset is None:
        return None
    found: Any = None
    for each in instructions[:at]:
        place: Any = each.positions
        if place is None or (place.lineno, place.col_offset) != (whole.lineno, whole.col_offset):
            continue
        if each.opname in _LOADS:
            found = _named(frame, each.argval)
        elif each.opname in _ATTRIBUTES:
            found = getattr(found, each.argval, None) if type(found) is types.ModuleType else None
    return found


def _named(frame: types.FrameType, name: str) -> Any:
    for space in (frame.f_locals, frame.f_globals, frame.f_builtins):
        if name in space:
            return space[name]
    return None


def instead_of(function: Any) -> str | None:
    """What to call in the place of a function of `math` or `cmath`."""
    if getattr(function, "__module__", None) not in ("math", "cmath"):
        return None
    name = function.__name__
    return _ELSEWHERE.get(name) or (f"np.{name}" if hasattr(np, name) else None)
