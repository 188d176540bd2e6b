"""Functions of another library that are written in Python, run with our functions for its own.

Of each of them that library has one statement. We take it as it is, of the release at hand, so
there is none of ours to differ from it: the same code, in a space of names in which ours stand for
what it names. What stands for a name is told by the rooms that use this: `borrowed` for NumPy,
`funcgrad.scipy.programs` for SciPy.
"""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from types import CellType, CodeType, FunctionType, MappingProxyType
from typing import Any

from funcgrad.ops.conversions import PROGRAM

__all__ = ["Loader", "define"]

StandIn = Callable[[Any], Any]


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


class Loader:
    """Makes programs, one by one, each when it is first asked for.

    Parameters
    ----------
    stand_in : callable
        What stands for something that a program names.
    preset : mapping, optional
        Module -> name -> what stands for it in that module.
    closed_over : callable, optional
        ``closed_over(module, cells)`` tells what a program closes over, from what stands for it.
    finish : callable, optional
        ``finish(function, made)`` has the last word on a program.
    """

    def __init__(
        self,
        stand_in: StandIn,
        preset: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
        closed_over: Callable[[str, dict[str, Any]], dict[str, Any]] = lambda _, cells: cells,
        finish: Callable[[FunctionType, Any], Any] = lambda _, made: made,
    ) -> None:
        self._stand_in, self._preset = stand_in, preset
        self._closed_over, self._finish = closed_over, finish
        self._spaces: dict[str, dict[str, Any]] = {}
        self._programs: dict[Any, Any] = {}
        self._lock = threading.RLock()

    def program(self, function: Any) -> Any:
        """`function` with what stands for the names of its code.

        It shares the defaults, and the name, by which errors and tracebacks call it.
        """
        with self._lock:  # another thread waits until all its names are there
            made = self._programs.get(function)
            return self._made(function) if made is None else made

    def forget(self) -> None:
        """Make all programs anew, as in a fresh process."""
        with self._lock:
            self._programs.clear()
            self._spaces.clear()

    def _made(self, function: FunctionType) -> Any:
        known, code = function.__globals__, function.__code__
        module = known["__name__"]
        first = {k: known[k] for k in ("__name__", "__package__", "__builtins__")}
        first |= {PROGRAM: True} | dict(self._preset.get(module, {}))
        space = self._spaces.setdefault(module, first)
        cells = {}
        for name, theirs in zip(code.co_freevars, function.__closure__ or ()):
            with contextlib.suppress(ValueError):  # it is empty
                cells[name] = theirs.cell_contents
        closure = tuple(CellType() for _ in code.co_freevars)
        made = FunctionType(code, space, function.__name__, function.__defaults__, closure or None)
        made.__kwdefaults__, made.__qualname__ = function.__kwdefaults__, function.__qualname__
        made.__dict__.update(function.__dict__)
        self._programs[function] = made  # before its names, among which it may be itself
        cells = self._closed_over(module, {k: self._stand_in(x) for k, x in cells.items()})
        for name, cell in zip(code.co_freevars, closure):
            if name in cells:
                cell.cell_contents = cells[name]
        for name in _names(code):
            if name in known and name not in space:
                space[name] = self._stand_in(known[name])
        made = self._programs[function] = self._finish(function, made)
        return made


def define(space: dict[str, Any], source: str, stand_in: StandIn) -> dict[str, FunctionType]:
    """Define in `space`, the names of a module of ours, what the module `source` defines.

    For a module with classes, whose methods name each other's: it runs anew as a whole. Returns its
    functions; in `space` itself ours stand for them where there is one. Relative imports of the
    source are relative to our module.
    """
    spec = importlib.util.find_spec(source)
    assert spec is not None
    loader: Any = spec.loader
    space[PROGRAM] = True
    exec(loader.get_code(source), space)
    programs: dict[str, FunctionType] = {}
    for name, thing in list(space.items()):
        made = inspect.unwrap(thing) if callable(thing) else thing
        if isinstance(made, FunctionType) and made.__globals__ is space:
            programs[name] = space[name] = made
            thing = getattr(sys.modules[source], name, None)
        if stand_in(thing) is not thing:
            space[name] = stand_in(thing)
    return programs
