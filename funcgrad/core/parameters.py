"""The parameters of a function of ours by name.

`inspect.signature` makes an object of each parameter; of the hundreds of functions that are looked
at when the package is imported, the code object says as much in a tenth of the time.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["Names", "names_of"]


class Names(NamedTuple):
    """The names of the positional parameters, and of those by keyword only; whether there is
    one for any number of arguments.
    """

    positional: tuple[str, ...]
    keywords: tuple[str, ...]
    spread: bool


def names_of(function: Callable[..., Any]) -> Names:
    """The parameters of any callable that has a signature."""
    if type(function) is types.FunctionType and not vars(function):  # so it wraps no other one
        code = function.__code__
        count, more = code.co_argcount, code.co_kwonlyargcount
        names = code.co_varnames
        spread = bool(code.co_flags & inspect.CO_VARARGS)
        return Names(names[:count], names[count : count + more], spread)
    found = inspect.signature(function).parameters.values()
    return Names(
        tuple(p.name for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)),
        tuple(p.name for p in found if p.kind is p.KEYWORD_ONLY),
        any(p.kind is p.VAR_POSITIONAL for p in found),
    )
