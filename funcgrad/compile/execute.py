"""Running a graph: in native code, or by the interpreter where the settings say so.

The executable of a graph is kept with it; threads that want the same one wait for one compilation.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from funcgrad.compile.guards import Guard
from funcgrad.compile.imports import importing, interpreted
from funcgrad.compile.llvm.target import lock
from funcgrad.config import config
from funcgrad.graph.interpret import evaluate, unwarned
from funcgrad.graph.ir import Graph
from funcgrad.tree import TreeDef

if TYPE_CHECKING:
    from funcgrad.compile.backend import Backend
    from funcgrad.compile.executable import Executable

__all__ = [
    "Kept",
    "executable",
    "executable_for_program",
    "execute",
    "get_ready",
    "kept_or_compiled",
    "native_entry",
    "native_program",
    "guard_check",
]


def compile_graph(graph: Graph, donated: tuple[int, ...], for_program: bool = False) -> Executable:
    """The executable of a graph; passes, lowering and llvmlite come with the first one."""
    with importing:
        from funcgrad.compile import executable as compiler
        from funcgrad.passes.recurrences import Form

    form = Form.EITHER if for_program else Form.FINITE
    return compiler.compile_graph(graph, _llvm(), donated, form)


@functools.cache
def _llvm() -> Backend:
    with importing:
        from funcgrad.compile.llvm.backend import LLVM

    return LLVM()


def get_ready() -> None:
    """Import what runs a program from disk: whoever makes a function will call it."""
    if not interpreted():
        with importing:
            import funcgrad.compile.record  # noqa: F401


def executable(graph: Graph, donated: tuple[int, ...] = ()) -> Executable:
    """The compiled form of a graph, made at the first call; see `compile_graph`."""
    key = ("executable", config.avx512, donated)
    found: Executable | None = graph.derived.get(key)
    if found is None:
        with lock:
            found = graph.derived.get(key)
            if found is None:
                found = graph.derived[key] = compile_graph(graph, donated)
    return found


def executable_for_program(graph: Graph) -> Executable:
    """The compiled form of a graph as one that a program without Python can be made of."""
    found = executable(graph)
    if not found.runs_again:
        return found
    key = ("executable for a program", config.avx512)
    with lock:
        whole: Executable | None = graph.derived.get(key)
        if whole is None:
            whole = graph.derived[key] = compile_graph(graph, (), for_program=True)
    return whole


class Kept:
    """A graph whose program was found on disk. It is compiled where that does not do."""

    def __init__(self, graph: Graph, donated: tuple[int, ...], record: Any) -> None:
        self.graph, self.donated, self.record = graph, donated, record
        self.shared: tuple[int, ...] = record.shared

    def __call__(self, *leaves: Any) -> tuple[Any, ...]:
        return executable(self.graph, self.donated)(*leaves)


def kept_or_compiled(graph: Graph, donated: tuple[int, ...], captured: int) -> Kept | Executable:
    """What runs a graph, of which the last inputs are `captured` arrays."""
    if config.cache and ("executable", config.avx512, donated) not in graph.derived:
        with importing:
            from funcgrad.compile import record

        key = record.key_of(graph, donated, captured)
        found = None if key is None else record.read(key)
        if found is not None:
            return Kept(graph, donated, found)
    return executable(graph, donated)


def _scalar(x: Any) -> Any:
    """An array without axes as a NumPy scalar, which is what native code makes."""
    return x[()] if isinstance(x, np.ndarray) and not x.ndim and x.dtype.isnative else x


def execute(graph: Graph, *args: Any) -> tuple[Any, ...]:
    """The outputs of a graph for raw arguments."""
    if interpreted():
        with unwarned():
            return tuple(map(_scalar, evaluate(graph, *args)))
    return executable(graph)(*args)


def guard_check(guards: Sequence[Guard]) -> Callable[[], bool]:
    """A function that says whether all of these places hold what they held."""
    with importing:
        from funcgrad.compile.llvm.entry import guard_check as made

    return made(guards)


def native_entry(guards: Sequence[Guard]) -> Any:
    """An entry point without programs, for as long as the guards hold."""
    with importing:
        from funcgrad.compile.llvm.entry import Entry

    return Entry(guards)


def native_program(
    made: Executable | Kept,
    arguments: Sequence[Any],
    names: tuple[str, ...],
    captured: Sequence[Any],
    result: TreeDef,
) -> Any:
    """What an entry point has to do for an executable; None where that takes Python."""
    if isinstance(made, Kept):
        with importing:
            from funcgrad.compile.record import kept_call

        return kept_call(made.record, made.graph, arguments, names, captured, result)
    with importing:
        from funcgrad.compile.native_call import native_call

    return native_call(made, arguments, names, captured, result)
