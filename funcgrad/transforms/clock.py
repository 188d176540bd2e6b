"""The clock that a function reads while it is traced: its time would be a constant of the graph.

Where a function can reach a clock, Python is asked while it is traced which functions written in C
are called (``sys.setprofile``), so that one that is reached and not read costs no trace. A program
that is being profiled is left alone.
"""

from __future__ import annotations

import sys
import time
import types
import warnings
from typing import Any

from funcgrad.errors import EFFECTS, SourceLine, is_ours

__all__ = ["CLOCKS", "Readings", "warn_of_time"]

CLOCKS = ("datetime", "time")  # the modules
_FUNCTIONS = frozenset(
    f"{name}{unit}"
    for name in ("time", "monotonic", "perf_counter", "process_time", "thread_time")
    for unit in ("", "_ns")
)
_METHODS = frozenset(("now", "today", "utcnow"))


class Readings:
    """Whether the clock is read meanwhile: ``first`` is the call, and the line, that did so first.

    It looks only if it is `wanted`.
    """

    def __init__(self, wanted: bool) -> None:
        self.wanted = wanted and sys.getprofile() is None
        self.first: tuple[str, SourceLine] | None = None

    def __enter__(self) -> Readings:
        if self.wanted:
            sys.setprofile(self._look)
        return self

    def __exit__(self, *_: object) -> None:
        if self.wanted:
            sys.setprofile(None)

    def _look(self, frame: types.FrameType, event: str, called: Any) -> None:
        if event != "c_call" or self.first is not None or is_ours(frame):
            return
        name = _clock(called)
        if name:
            code = frame.f_code
            self.first = name, SourceLine(code.co_filename, frame.f_lineno, code.co_name)


def _clock(called: Any) -> str:
    """The name of a function that tells the time, or ""."""
    name = called.__name__
    if name in _FUNCTIONS and getattr(time, name, None) is called:
        return f"time.{name}"
    holder = called.__self__
    if name in _METHODS and getattr(holder, "__module__", None) == "datetime":
        return f"{getattr(holder, '__name__', 'datetime')}.{name}"
    return ""


def warn_of_time(name: str, reading: tuple[str, SourceLine]) -> None:
    """Say that the time is taken anew at every call, at the price of tracing anew."""
    function, line = reading
    warnings.warn_explicit(
        f"jit of {name}: {function}() was called while the function was traced; so that every "
        "call reads its own time, which is that of tracing, the function is traced anew at every "
        "call; read the clock outside, around the call, and pass a number that is needed as an "
        f"argument\n  at {line}{EFFECTS}",
        RuntimeWarning,
        line.file,
        line.line,
        registry=_told,
    )


_told: dict[Any, Any] = {}  # so that Python's filters know what was said at a line
