"""Running a graph: in native code, or by the interpreter where the settings say so.

The executable of a graph is kept with it; threads that want the same one wait for one compilation.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.compile.backend import Backend
from funcgrad.compile.executable import Executable, compile_graph
from funcgrad.compile.watch import Watch
from funcgrad.config import config
from funcgrad.graph.interpret import evaluate
from funcgrad.graph.ir import Graph
from funcgrad.tree import TreeDef

__all__ = ["executable", "execute", "native_entry", "native_program", "watcher"]

_lock = threading.RLock()
if hasattr(os, "register_at_fork"):  # a child must not inherit it locked
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
    )


@functools.cache
def _llvm() -> Backend:
    from funcgrad.compile.llvm.backend import LLVM  # llvmlite: not before the first compilation

    return LLVM()


def executable(graph: Graph, donated: tuple[int, ...] = ()) -> Executable:
    """The compiled form of a graph, made at the first call; see `compile_graph`."""
    key = ("executable", config.avx512, donated)
    found: Executable | None = graph.derived.get(key)
    if found is None:
        with _lock:
            found = graph.derived.get(key)
            if found is None:
                found = graph.derived[key] = compile_graph(graph, _llvm(), donated)
    return found


def _scalar(x: Any) -> Any:
    """An array without axes as a NumPy scalar, which is what native code makes."""
    return x[()] if isinstance(x, np.ndarray) and not x.ndim else x


def execute(graph: Graph, *args: Any) -> tuple[Any, ...]:
    """The outputs of a graph for raw arguments."""
    if config.backend == "interpreter":
        with np.errstate(all="ignore"):  # backward equations meet inf and NaN, masked later
            return tuple(map(_scalar, evaluate(graph, *args)))
    return executable(graph)(*args)


def watcher(watches: Sequence[Watch]) -> Callable[[], bool]:
    """A function that says whether all of these places hold what they held."""
    from funcgrad.compile.llvm.entry import watcher as made

    return made(watches)


def native_entry(watches: Sequence[Watch]) -> Any:
    """An entry point without programs, for as long as the watches hold."""
    from funcgrad.compile.llvm.entry import Entry

    return Entry(watches)


def native_program(
    made: Executable,
    arguments: Sequence[Any],
    names: tuple[str, ...],
    captured: Sequence[Any],
    result: TreeDef,
) -> Any:
    """What an entry point has to do for an executable; None where that takes Python."""
    from funcgrad.compile.native_call import native_call

    return native_call(made, arguments, names, captured, result)
