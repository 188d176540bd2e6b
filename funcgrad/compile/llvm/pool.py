"""The threads of the library: they run the chunks of a kernel, and pieces of work in Python.

A kernel is `void kernel(ptr arguments, i64 first, i64 last, i64 thread)`; the threads of a run are
numbered, so that each finds scratch memory of its own. The caller takes chunks as well, so a core
that something else keeps busy delays nothing but the chunk it has, and where no thread can be made
the caller does all of it. Workers are native threads that touch Python only for pieces in Python;
they look for the next job before they sleep, for long only where the last ones came soon. Several
callers may run kernels at once: each puts its job on a list, and workers help whom they find there.
A child of fork has no workers and makes its own. It imports config and the cache.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Protocol

from funcgrad.compile import cache
from funcgrad.compile.imports import importing
from funcgrad.compile.llvm.target import known, lock
from funcgrad.config import config, shared_threads
from funcgrad.errors import CompilerError

__all__ = ["KERNEL", "NativePool", "Pool", "PythonPool", "pool", "share", "started"]

KERNEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
STACK = 4 << 20  # bytes of a thread of ours, whatever the system or a limit says; untouched, free
JOB = 256  # bytes of a job of the native pool
_Job = ctypes.c_char * JOB  # once: from Python 3.13 on each such class is a new one
Work = Callable[[int], None]


class Pool(Protocol):
    """Something that runs work in `config.threads` threads, or in as many as there can be."""

    def run(self, kernel: int, arguments: int, chunks: int, most: int | None = None) -> None:
        """Run `kernel(arguments, first, last, thread)` for ranges that are 0 … chunks (≥ 1).

        The ranges are disjoint and run in any order. At most `most` threads take part; their
        numbers are 0, 1 …, each its own. The GIL is released. In the main thread a signal whose
        handler raises (Ctrl-C) ends the run between chunks; some have not run then.
        """
        ...

    def share(self, work: Work, pieces: int) -> None:
        """Call `work(piece)` for 0 … `pieces`, in any order.

        What one call raises ends the run between pieces and is raised. NumPy's error state is the
        caller's everywhere.
        """
        ...


def pool() -> Pool:
    """The pool of this process."""
    with lock:  # a second one would start with the memory of the first
        return _pool()


@functools.cache
def _pool() -> Pool:
    if sys.platform in ("linux", "darwin"):
        try:
            return NativePool()
        except CompilerError:  # a C library without the functions that it is made of
            pass
    return PythonPool()


_asked: list[None] = []


def share(work: Work, pieces: int) -> None:
    """See `Pool.share`. No call waits for the pool to be compiled: it is, in another thread."""
    if pieces > 1 and config.threads > 1:
        if _pool.cache_info().currsize or "llvmlite" in sys.modules or known():
            return pool().share(work, pieces)
        if not _asked:
            with importing:
                from funcgrad.compile.llvm.tiering import later

            _asked.append(None)
            later(pool)
    for piece in range(pieces):
        work(piece)
    return None


def started(thread: threading.Thread, stack: int = STACK) -> bool:
    """Start a thread of ours; False if the process may have no more."""
    before = threading.stack_size(stack)
    try:
        thread.start()
    except RuntimeError:
        return False
    finally:
        threading.stack_size(before)
    return True


class _Shared:
    """Pieces that several threads take, each with a number of its own."""

    def __init__(self, work: Callable[[int, int], None], pieces: int) -> None:
        self.work, self.pieces = work, iter(range(pieces))
        self.context = copy_context()
        self.failed: list[BaseException] = []

    def take(self, thread: int) -> None:
        """What the caller does, whose number is 0."""
        for piece in self.pieces:
            self.work(piece, thread)
            if self.failed:
                raise self.failed[0]

    def help(self, arguments: int, first: int, last: int, thread: int) -> None:
        """What a helper does, as a kernel."""
        try:
            self.context.copy().run(self.take, thread)
        except BaseException as error:
            self.failed.append(error)

    def stop(self, error: BaseException) -> None:
        """Let helpers end with the pieces that they have."""
        self.failed.append(error)
        self.pieces = iter(())

    def check(self) -> None:
        """Raise what happened first."""
        if self.failed:
            raise self.failed[0]


def _text() -> str:
    with importing:  # what is on disk is not written
        from funcgrad.compile.llvm.pool_ir import text

    return text(STACK)


class NativePool:
    """Native threads. There is one such pool in a process, and its code is never released.

    Attributes
    ----------
    address : int
        Of ``i32 funcgrad_run(ptr kernel, ptr arguments, i64 chunks, i64 most, ptr saved)`` for
        callers that released the GIL and have their thread state where `saved` points; -1 if the
        handler of a signal raised.
    """

    def __init__(self) -> None:
        symbols = {"funcgrad_threads": ctypes.addressof(shared_threads)}
        self._library = cache.written(_text, "pool", symbols=symbols)
        find, pointer = self._library.address, ctypes.c_void_p
        self.address = find("funcgrad_run")
        run = ctypes.PYFUNCTYPE(ctypes.c_int, pointer, pointer, ctypes.c_int64, ctypes.c_int64)
        self._run = run(find("funcgrad_run_holding"))
        self._begin = ctypes.PYFUNCTYPE(None, pointer, KERNEL, ctypes.c_int64)(
            find("funcgrad_begin")
        )
        self._end = ctypes.CFUNCTYPE(None, pointer)(find("funcgrad_end"))
        reset = ctypes.CFUNCTYPE(None, pointer)
        self._reset = reset(find("funcgrad_reset"))
        self._reset(threading.main_thread().ident)
        os.register_at_fork(after_in_child=lambda: self._reset(threading.get_ident()))

    def run(self, kernel: int, arguments: int, chunks: int, most: int | None = None) -> None:
        """See `Pool.run`."""
        most = chunks if most is None else most
        self._run(kernel, arguments, chunks, most)  # raises what the handler of a signal raised

    def share(self, work: Work, pieces: int) -> None:
        """See `Pool.share`."""
        shared = _Shared(lambda piece, thread: work(piece), pieces)
        memory, helper, end = _Job(), KERNEL(shared.help), self._end
        try:
            self._begin(memory, helper, min(config.threads, pieces) - 1)
            shared.take(0)
        except BaseException as error:
            shared.stop(error)
        finally:  # native, so no signal gets between: helpers write to memory of the caller
            end(memory)
        shared.check()


class PythonPool:
    """The same with Python's threads, where there are no POSIX threads: slower to start."""

    def run(self, kernel: int, arguments: int, chunks: int, most: int | None = None) -> None:
        """See `Pool.run`."""
        call = KERNEL(kernel)
        # Not one at a time: what Python needs between two calls is to be little against them.
        some = -(-chunks // 1024)

        def work(piece: int, thread: int) -> None:
            call(arguments, piece * some, min((piece + 1) * some, chunks), thread)

        self._spread(work, -(-chunks // some), chunks if most is None else most)

    def share(self, work: Work, pieces: int) -> None:
        """See `Pool.share`."""
        self._spread(lambda piece, thread: work(piece), pieces, pieces)

    def _spread(self, work: Callable[[int, int], None], pieces: int, most: int) -> None:
        shared = _Shared(work, pieces)
        helpers: list[threading.Thread] = []
        try:
            for number in range(1, min(config.threads, pieces, most)):
                arguments = (0, 0, 0, number)
                helper = threading.Thread(target=shared.help, args=arguments, daemon=True)
                if not started(helper):
                    break
                helpers.append(helper)
            shared.take(0)
        except BaseException as error:
            shared.stop(error)
        _join(helpers)
        shared.check()


def _join(helpers: list[threading.Thread]) -> None:
    """Wait for all, and only then let an interrupt through."""
    interrupt: BaseException | None = None
    for helper in helpers:
        while helper.is_alive():
            try:
                helper.join()
            except BaseException as error:
                interrupt = error
    if interrupt is not None:
        raise interrupt
