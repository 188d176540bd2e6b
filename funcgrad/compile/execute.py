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
from funcgrad.tree import TreeDef, flatten

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
    "keep_whole",
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
    """A graph whose program was found on disk. It is compiled where that does not do.

    In `record`, if it is there, captured arrays and numbers are fixed; to `whole` they are given as
    all other inputs are, so that it serves where they change at each call.
    """

    def __init__(self, graph: Graph, donated: tuple[int, ...], captured: int, record: Any) -> None:
        self.graph, self.donated, self.captured, self.record = graph, donated, captured, record
        self.shared: tuple[int, ...] = (record or self.whole).shared

    @functools.cached_property
    def whole(self) -> Any:
        return _read(self.graph, self.donated, 0) if self.captured else self.record

    @functools.cached_property
    def call(self) -> Callable[..., Any]:
        """What runs `whole`; its result is NotImplemented for other kinds of inputs."""
        program = None if self.whole is None else native_program(self, *_given(self.graph))
        entry = native_entry(())
        if program is not None:
            entry.add(program)
        found: Callable[..., Any] = entry.call
        return found

    def __call__(self, *leaves: Any) -> tuple[Any, ...]:
        found: Any = self.call(*leaves)
        return executable(self.graph, self.donated)(*leaves) if found is NotImplemented else found


def _read(graph: Graph, donated: tuple[int, ...], captured: int) -> Any:
    with importing:
        from funcgrad.compile import record

    key = record.key_of(graph, donated, captured)
    return None if key is None else record.read(key)


def _given(graph: Graph) -> tuple[Any, ...]:
    """What `native_program` is told where each input is an argument, and the result a tuple."""
    _, result = flatten(tuple(range(len(graph.outputs))))
    return list(range(len(graph.inputs))), (), (), result


def kept_or_compiled(graph: Graph, donated: tuple[int, ...], captured: int) -> Kept | Executable:
    """What runs a graph, of which the last inputs are `captured` arrays and numbers."""
    if config.cache and ("executable", config.avx512, donated) not in graph.derived:
        found = _read(graph, donated, captured)
        if found is not None or (captured and _read(graph, donated, 0) is not None):
            return Kept(graph, donated, captured, found)
    return executable(graph, donated)


def keep_whole(made: Kept | Executable) -> None:
    """Keep the program to which what is captured is given, for processes in which it changes."""
    known = ("whole", made.donated)
    if config.cache and not isinstance(made, Kept) and known not in made.graph.derived:
        made.graph.derived[known] = native_program(made, *_given(made.graph))


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

        held = made.record if captured else made.whole
        if held is not None:
            return kept_call(held, made.graph, arguments, names, captured, result)
        made = executable(made.graph, made.donated)
    with importing:
        from funcgrad.compile.native_call import native_call

    return native_call(made, arguments, names, captured, result)
