"""The exception classes of funcgrad and the search for the user's line.

Each class derives from the standard exception that fits, so that `except TypeError` keeps working.
A message says what happened, where (the user's file and line, never ours) and what to do instead.
This file imports NumPy only.
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
import threading
import types
import warnings
from collections.abc import Iterable
from typing import NamedTuple

import numpy

__all__ = [
    "AbstractValueError",
    "AxisNameError",
    "BatchSizeError",
    "CallbackError",
    "CaptureError",
    "CaptureWarning",
    "CompilerError",
    "ConvergenceError",
    "CotangentError",
    "CustomRuleError",
    "EffectError",
    "FuncgradError",
    "GraphError",
    "InputTypeError",
    "KeyReuseError",
    "LaterTransformError",
    "LeakedTracerError",
    "LoopLimitError",
    "LoopTypeError",
    "MutatedCaptureError",
    "NativeCodeError",
    "NonScalarOutputError",
    "NotDifferentiableError",
    "ObjectArrayWarning",
    "OperandError",
    "RandomnessError",
    "TracerConversionError",
    "TreeError",
    "UnhashableTracerError",
    "UnsupportedCallError",
]


PAGE = "docs/errors.md"  # of the manual
# Sections for errors and warnings of Python's own classes
ARGUMENTS = f"\n  see {PAGE}#wrong-arguments"
EFFECTS = "\n  see docs/sharp_bits.md#side-effects-and-random-numbers"


class _Explained(Exception):
    """An error or a warning whose text ends with the section of the manual that explains it."""

    def __str__(self) -> str:
        text = super().__str__().replace(ARGUMENTS, "")
        section = next(c.__name__ for c in type(self).__mro__ if c.__module__ == __name__)
        where = PAGE if section == "FuncgradError" else f"{PAGE}#{section.lower()}"
        return text if not text or text.endswith(where) else f"{text}\n  see {where}"


class FuncgradError(_Explained):
    """The base of all errors that funcgrad raises on its own behalf.

    The text of each ends with the section of the manual that explains it.

    Examples
    --------
    >>> import funcgrad as fg
    >>> try:
    ...     fg.grad(float)(1.0)
    ... except fg.errors.FuncgradError as error:
    ...     print(str(error).splitlines()[-1])
      see docs/errors.md#tracerconversionerror
    """


class LeakedTracerError(FuncgradError, RuntimeError):
    """A traced value was used after the transform that made it had ended."""


class TracerConversionError(FuncgradError, TypeError):
    """A traced value was to become a plain number or array, which would cut its gradient."""


class UnhashableTracerError(FuncgradError, TypeError):
    """A traced value was to be a key of a dictionary, a member of a set, or a cached argument."""


class AbstractValueError(FuncgradError, TypeError):
    """Python asked for the concrete value of something that is abstract under `jit` or `vmap`."""


class NotDifferentiableError(FuncgradError, TypeError):
    """A derivative was asked of an operation that has none, or states none."""


class NonScalarOutputError(FuncgradError, TypeError):
    """`grad` was applied to a function whose output is not a real scalar."""


class InputTypeError(FuncgradError, TypeError):
    """An argument to be differentiated is not floating point or complex."""


class TreeError(FuncgradError, TypeError, ValueError):
    """Two trees do not match, or a leaf of a tree is nothing that can be traced."""


class CotangentError(FuncgradError, TypeError, ValueError):
    """A cotangent or tangent has not the tree, shape or dtype of the value it belongs to."""


class CustomRuleError(FuncgradError, TypeError, ValueError):
    """A custom derivative rule is missing, or returned the wrong number, tree or shape."""


class OperandError(FuncgradError, TypeError):
    """An operand is neither an array nor a number (a ragged list, an object array, a string)."""


class UnsupportedCallError(FuncgradError, TypeError):
    """A NumPy call, or one of its keywords, is not supported on traced values."""


class MutatedCaptureError(FuncgradError, RuntimeError):
    """An array that the backward pass needs was changed in place after it had been recorded."""


class CaptureError(FuncgradError, RuntimeError):
    """A compiled function reaches what cannot be followed, and ``config.captures`` is "error"."""


class CaptureWarning(_Explained, UserWarning):
    """A compiled function reaches what cannot be followed: a change of it would not be seen.

    It is given once, with the user's line, and stands in `jit(f).report()`.

    Examples
    --------
    >>> import funcgrad as fg
    >>> fg.config.captures  # "error" refuses such functions, "ignore" says nothing
    'warn'
    """


class ObjectArrayWarning(_Explained, UserWarning):
    """NumPy has made an array of Python objects of traced values, which is slow.

    It is given at the line that made the array.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", fg.errors.ObjectArrayWarning)
    ...     fg.grad(lambda x: np.array([x, 1.0])[0])(2.0)
    Traceback (most recent call last):
    funcgrad.errors.ObjectArrayWarning: numpy has made an array of Python objects ...
    """


class LaterTransformError(FuncgradError, RuntimeError):
    """A value of a later transform was written into an array that is older than the transform.

    Or anything was, by the body of a loop or branch, which is traced once and runs any number of
    times.
    """


class BatchSizeError(FuncgradError, ValueError):
    """The mapped axes of `vmap` are missing or differ in size."""


class AxisNameError(FuncgradError, NameError):
    """A collective operation names an axis that no running `vmap` has."""


class ConvergenceError(FuncgradError, RuntimeError):
    """An iteration that a derivative needs has not come to its tolerance."""


class LoopLimitError(FuncgradError, RuntimeError):
    """A `while_loop` would run more than its `max_steps`."""


class LoopTypeError(FuncgradError, TypeError, ValueError):
    """The carry of a loop changes its type between steps, or a condition is no scalar bool."""


class CallbackError(FuncgradError, RuntimeError):
    """A function called by `pure_callback` returned something else than it was said to."""


class EffectError(FuncgradError, RuntimeError):
    """An effect, as a call of `debug.callback`, cannot happen as often as the program says."""


class RandomnessError(FuncgradError, RuntimeError):
    """Random numbers were drawn once for all examples of `vmap`, or all steps of a staged loop."""


class KeyReuseError(FuncgradError, RuntimeError):
    """A key of random numbers is used twice, so that both draws have the same numbers."""


class GraphError(FuncgradError, RuntimeError):
    """A graph breaks one of the invariants that `graph.check` holds (a defect of funcgrad)."""


class CompilerError(FuncgradError, RuntimeError):
    """LLVM is missing, or rejected code that funcgrad generated (a defect of funcgrad)."""


class NativeCodeError(FuncgradError, TypeError):
    """A function was to run without Python, but something in it has no native form."""


def nearest(name: str, names: Iterable[str]) -> str:
    """The end of a message about a name that there is not: the one that was probably meant."""
    from difflib import get_close_matches  # needed by few programs

    found = get_close_matches(name, names, 1)
    return f"; did you mean {found[0]!r}?" if found else ""


class SourceLine(NamedTuple):
    """A place in the user's program."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        place = _cell(self.file) or f'File "{self.file}"'
        return f"{place}, line {self.line}, in {self.function}"


def _cell(file: str) -> str | None:
    """What IPython calls a cell of a notebook, whose code it gives a file's name of its own."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    named = getattr(getattr(shell, "compile", None), "format_code_name", lambda _: None)(file)
    return None if named is None else " ".join(named)


_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_NUMPY = os.path.dirname(os.path.abspath(numpy.__file__)) + os.sep
_FUNCTOOLS = functools.__file__  # of our cached properties
# SciPy calls our functions, and Numba traces them while it compiles; neither is imported to be
# asked where it lies.
_BESIDE = os.path.dirname(_NUMPY.rstrip(os.sep))
_SCIPY, _NUMBA = (os.path.join(_BESIDE, name) + os.sep for name in ("scipy", "numba"))


class _Repeated(threading.local):
    """The line of the equation that a thread binds again, which is not the one that it is at, and
    its scope; and the names that the program has given to what it is in."""

    line: SourceLine | None = None
    scope = 0
    names: tuple[str, ...] = ()


repeated = _Repeated()


def user_line() -> SourceLine:
    """The innermost line of the call stack that is not funcgrad's, NumPy's, SciPy's or Numba's.

    Examples
    --------
    >>> from funcgrad.errors import user_line
    >>> user_line().function
    '<module>'
    """
    frame = _program_frame(sys._getframe(1))
    code, last = frame.f_code, frame.f_lasti
    found = _lines.get((id(code), last))
    if found is not None and found[0] is code:
        line = found[1]
    else:  # Python looks for a line in a table, which takes longer than all the rest
        line = SourceLine(code.co_filename, frame.f_lineno, code.co_name)
        if len(_lines) >= LINES:
            _lines.clear()
        _lines[id(code), last] = code, line
    if repeated.names:
        return line._replace(function="/".join((*repeated.names, line.function)))
    return line


LINES = 4096  # that are remembered: each step of a loop in Python comes by the same ones
# by the identity of the code, which is kept: equal code may stand in two files
_lines: dict[tuple[int, int], tuple[types.CodeType, SourceLine]] = {}
Place = tuple[types.CodeType, int]


def user_place() -> Place:
    """What `line_at` makes the user's line of, where it is seldom asked for."""
    frame = _program_frame(sys._getframe(1))
    return frame.f_code, frame.f_lasti


def _program_frame(frame: types.FrameType) -> types.FrameType:
    """The first frame from `frame` on that is the program's."""
    while (below := frame.f_back or _awaiting(frame)) is not None:
        name = frame.f_code.co_filename
        ours = _known.get(name)
        if ours is None:
            ours = _known[name] = _is_ours(name)
        if not ours:
            break
        frame = below
    return frame


class _Caller(threading.local):
    """Of a thread that runs for another one: where that one stands meanwhile, else None."""

    frame: types.FrameType | None = None


caller = _Caller()


def _awaiting(frame: types.FrameType) -> types.FrameType | None:
    """Behind the first frame of a thread that runs for another one: where that one stands."""
    other = caller.frame
    return None if other is None or frame is _bottom(other) else other


def _bottom(frame: types.FrameType) -> types.FrameType:
    while frame.f_back is not None:
        frame = frame.f_back
    return frame


def is_ours(frame: types.FrameType) -> bool:
    """Whether a frame runs code of funcgrad, written by hand or while the program runs."""
    return frame.f_code.co_filename.startswith((_PACKAGE, *_WRITTEN))


def is_of_numpy(frame: types.FrameType) -> bool:
    """Whether a frame runs code of funcgrad, NumPy or Numba, which takes NumPy as it is."""
    name = frame.f_code.co_filename
    found = _of_numpy.get(name)
    if found is None:
        found = _of_numpy[name] = name.startswith((_PACKAGE, _NUMPY, _NUMBA, *_WRITTEN))
    return found


_of_numpy: dict[str, bool] = {}


def warn_at_line(
    text: str | Warning, category: type[Warning], below: types.FrameType | None = None
) -> bool:
    """Warn as the user's line would: Python's filters see that module and that line.

    The line is that under the frame `below`, by default the caller's; False if there is none.
    """
    frame = _program_frame(sys._getframe(1)) if below is None else _program_frame(below)
    space = frame.f_globals
    if below is not None and is_ours(frame):
        return False
    warnings.warn_explicit(
        text,
        category,
        frame.f_code.co_filename,
        frame.f_lineno,
        module=space.get("__name__") or "<unknown>",
        registry=space.setdefault("__warningregistry__", {}),
    )
    return True


def outside() -> int:
    """The `stacklevel` of the innermost line of the program, for a warning in others' words."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and (name := _package(frame)) in ("funcgrad", "importlib"):
        level, frame = level + (name == "funcgrad"), frame.f_back  # Python does not count imports
    return level


def _package(frame: types.FrameType) -> str:
    return str(frame.f_globals.get("__name__")).partition(".")[0]


def line_at(place: Place) -> SourceLine:
    """The line of an instruction."""
    code, offset = place
    lines = (line for start, end, line in code.co_lines() if start <= offset < end)
    return SourceLine(code.co_filename, next(lines) or code.co_firstlineno, code.co_name)


# Code that we have written while the program runs, and NumPy's dispatcher.
_WRITTEN = ("<funcgrad", "<program of graph", "<__array_function__")


_OURS = (_PACKAGE, _NUMPY, _SCIPY, _NUMBA, _FUNCTOOLS, *_WRITTEN)
_known: dict[str, bool] = {}  # files, of which a program has so many: asked for every equation


def _is_ours(filename: str) -> bool:
    return filename.startswith(_OURS)


def program_line(error: BaseException) -> SourceLine:
    """The line of the program that led to an error."""
    trace = error.__traceback__
    frames = []
    while trace is not None:
        frames.append((trace.tb_frame, trace.tb_lineno))
        trace = trace.tb_next
    program = [
        f for f in frames if not _is_ours(f[0].f_code.co_filename) and not _is_compiled(f[0])
    ] or frames
    frame, line = program[-1]
    return SourceLine(frame.f_code.co_filename, line, frame.f_code.co_name)


def located(what: str, section: str = ARGUMENTS) -> str:
    """`what` with the user's line: the form of every message that names a place.

    Where a graph runs again, that is the line of the equation, not of the call that runs it.
    It ends with the section that explains it; a class of ours names its own instead.
    """
    return f"{what}\n  at {repeated.line or user_line()}{section}"


def failed_in_scipy(error: BaseException) -> str:
    """The name of the function of SciPy in which, or in NumPy below it, `error` was raised, or "".

    An error of what SciPy calls back is another thing.
    """
    name, trace = "", error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename.startswith(_SCIPY) or _is_compiled(trace.tb_frame) == "scipy":
            module = trace.tb_frame.f_globals.get("__name__", "scipy")
            called = code.co_name  # of Cython with its module, and its class
            full = called if called.startswith("scipy.") else f"{module}.{called}"
            parts = full.split(".")
            public = [p for p in parts[:-1] if not p.startswith("_")]
            # what is defined within a function is a decorator's
            if "<locals>" not in code.co_qualname:
                name = name or ".".join((*public, parts[-1]))
        elif not _is_ours(code.co_filename) and not _is_compiled(trace.tb_frame):
            name = ""
        trace = trace.tb_next
    return name


def ours_for(name: str) -> str:
    """Our public name for a function of SciPy's, or a method of a class; "" where there is none."""
    module, _, called = name.removesuffix(".__init__").removesuffix(".__call__").rpartition(".")
    try:
        found = hasattr(importlib.import_module(f"funcgrad.{module}"), called)
    except ImportError:
        found = False
    return f"funcgrad.{module}.{called}" if found else ""


def _is_compiled(frame: types.FrameType) -> str:
    """NumPy or SciPy, where a frame of a traceback is of their compiled code; else "".

    It names no file that is there, but the sources of Cython's, so the module tells it.
    """
    if frame.f_code.co_filename.startswith(_WRITTEN):
        return ""
    package = _package(frame)
    return package if package in ("numpy", "scipy") else ""
