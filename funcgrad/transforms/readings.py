"""What a function reads of the world while it is traced: the time, files, the system's random bits.

What it reads would be a constant of its graph. Where a function can reach what reads, Python is
asked while it is traced which functions written in C are called (``sys.setprofile``), so that one
that is reached and not called costs no trace. A call counts if the program makes it, itself or
through a library; not what an import or a warning reads. A program that is being profiled is left
alone.
"""

from __future__ import annotations

import io
import os
import sys
import time
import types
import warnings
from typing import Any, NamedTuple

import numpy as np

from funcgrad.errors import EFFECTS, SourceLine, is_ours
from funcgrad.transforms.walk import in_library

__all__ = ["Reading", "Readings", "reads", "warn_of_reading"]

# Modules whose functions read, and such functions of others. The methods are those of paths.
_MODULES = frozenset(
    ("datetime", "time", "os", "os.path", "posixpath", "ntpath", "pathlib", "io", "glob", "shutil")
    + ("uuid", "secrets", "tempfile", "linecache", "fileinput")
)
_NAMES = frozenset(("open", "load", "loadtxt", "genfromtxt", "fromfile", "memmap", "DataSource"))
_NAMES |= {"default_rng", "RandomState", "SeedSequence", "SystemRandom", "Random", "imread"}
METHODS = frozenset(("read_text", "read_bytes"))

_CLOCKS = frozenset(
    f"{name}{unit}"
    for name in ("time", "monotonic", "perf_counter", "process_time", "thread_time")
    for unit in ("", "_ns")
)
_TELL_TIME = frozenset(("now", "today", "utcnow"))
_FILES = {
    io.open: "open",
    io.FileIO: "io.FileIO",
    np.fromfile: "numpy.fromfile",
    **{
        getattr(os, name): f"os.{name}"
        for name in ("access", "getcwd", "listdir", "lstat", "open", "readlink", "scandir", "stat")
    },
}
_BITS = {getattr(os, n): f"os.{n}" for n in ("urandom", "getrandom") if hasattr(os, n)}
_IN_PASSING = ("importlib", "linecache", "warnings", "tokenize")  # what reads for Python itself


def reads(module: str, name: str) -> bool:
    """Whether code that takes `name` of a module, or has the module, can read of the world."""
    return module in _MODULES or name in _NAMES


class Reading(NamedTuple):
    """The call that read, and the program's line. `changes` where no two calls read the same."""

    name: str
    line: SourceLine
    changes: bool


class Readings:
    """Whether something is read meanwhile: ``first`` is the first time, ``files`` are all files.

    It looks only if it is `wanted`.
    """

    def __init__(self, wanted: bool) -> None:
        self.wanted = wanted and sys.getprofile() is None
        self.first: Reading | None = None
        self.files: list[Reading] = []

    def __enter__(self) -> Readings:
        if self.wanted:
            sys.setprofile(self._look)
        return self

    def __exit__(self, *_: object) -> None:
        if self.wanted:
            sys.setprofile(None)

    def _look(self, frame: types.FrameType, event: str, called: Any) -> None:
        if event != "c_call" or is_ours(frame):
            return
        changing = _clock(called) or _BITS.get(called, "")
        name = changing or _FILES.get(called, "")
        line = _line_of_program(frame) if name else None
        if line is None:
            return
        found = Reading(name, line, bool(changing))
        if not changing:
            self.files.append(found)
        elif self.first is None:
            self.first = found


def _clock(called: Any) -> str:
    """The name of a function that tells the time, or ""."""
    name = called.__name__
    if name in _CLOCKS and getattr(time, name, None) is called:
        return f"time.{name}"
    holder = called.__self__
    if name in _TELL_TIME and getattr(holder, "__module__", None) == "datetime":
        return f"{getattr(holder, '__name__', 'datetime')}.{name}"
    return ""


def _line_of_program(frame: types.FrameType | None) -> SourceLine | None:
    """The program's line that has led to a call in a library; None where it was not the program."""
    while frame is not None and not is_ours(frame):
        home = str(frame.f_globals.get("__name__"))
        if home.startswith(_IN_PASSING):
            return None
        if not in_library(home, ""):
            return SourceLine(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
        frame = frame.f_back
    return None


def warn_of_reading(name: str, reading: Reading) -> None:
    """Say that what changes is read anew at every call, at the price of tracing anew."""
    line = reading.line
    warnings.warn_explicit(
        f"jit of {name}: {reading.name}() was called while the function was traced; so that every "
        "call reads its own, not that of tracing, the function is traced anew at every call; call "
        "it outside, around the function, and pass what is needed as an argument\n"
        f"  at {line}{EFFECTS}",
        RuntimeWarning,
        line.file,
        line.line,
        registry=_told,
    )


_told: dict[Any, Any] = {}  # so that Python's filters know what was said at a line
