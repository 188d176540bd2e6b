"""The threads that run the chunks of a kernel.

A kernel is `void kernel(ptr arguments, i64 first, i64 last, i64 thread)`; the threads of a run are
numbered, so that each finds scratch memory of its own. The caller takes chunks as well, so a core
that something else keeps busy delays nothing but the chunk it has. Workers are native threads that
never touch Python; they sleep after a very short spin. Several callers may run kernels at once:
each puts its job on a list, and workers help whom they find there. A child of fork has no workers
and makes its own. It imports config and the cache.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
import threading
import time
from typing import Protocol

from funcgrad.compile import cache
from funcgrad.compile.llvm.target import lock
from funcgrad.config import config, shared_threads
from funcgrad.errors import CompilerError

__all__ = ["KERNEL", "NativePool", "Pool", "PythonPool", "pool"]


class Pool(Protocol):
    """Something that runs kernels in `config.threads` threads."""

    def run(self, kernel: int, arguments: int, chunks: int, most: int | None = None) -> None:
        """Run `kernel(arguments, first, last, thread)` for ranges that are 0 … chunks (≥ 1).

        The ranges are disjoint and run in any order. At most `most` threads take part; their
        numbers are 0, 1 …, each its own. The GIL is released. In the main thread a signal whose
        handler raises (Ctrl-C) ends the run between chunks; some have not run then.
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


def _text() -> str:
    from funcgrad.compile.llvm.pool_ir import text  # what is on disk is not written

    return text()


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
        self.address = self._library.address("funcgrad_run")
        parameters = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64
        run = ctypes.PYFUNCTYPE(ctypes.c_int, *parameters)
        self._run = run(self._library.address("funcgrad_run_holding"))
        reset = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
        self._reset = reset(self._library.address("funcgrad_reset"))
        self._reset(threading.main_thread().ident)
        os.register_at_fork(after_in_child=lambda: self._reset(threading.get_ident()))

    def run(self, kernel: int, arguments: int, chunks: int, most: int | None = None) -> None:
        """See `Pool.run`."""
        most = chunks if most is None else most
        self._run(kernel, arguments, chunks, most)  # raises what the handler of a signal raised


_SLICE = 0.002  # seconds: what Python needs between two calls is little against this
KERNEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)


class PythonPool:
    """The same with Python's threads, where there are no POSIX threads: slower to start."""

    def run(self, kernel: int, arguments: int, chunks: int, most: int | None = None) -> None:
        """See `Pool.run`."""
        call = KERNEL(kernel)
        threads = min(config.threads, chunks if most is None else most, chunks)
        lock = threading.Lock()
        taken = 0

        def work(thread: int) -> None:
            nonlocal taken
            grain = 1
            while True:
                with lock:
                    first, taken = taken, taken + grain
                if first >= chunks:
                    return
                start = time.perf_counter()
                last = min(first + grain, chunks)
                call(arguments, first, last, thread)
                quick = time.perf_counter() - start < _SLICE
                # As the native pool: so many at once that a call takes about a slice.
                wanted = grain * 2 if quick else grain // 2
                grain = max(1, min(wanted, (chunks - last) // (4 * threads)))

        helpers = [threading.Thread(target=work, args=(k,), daemon=True) for k in range(1, threads)]
        for helper in helpers:
            helper.start()
        try:
            work(0)
            _join(helpers)
        except BaseException:
            with lock:
                taken = chunks
            _join(helpers)  # they still write to the caller's memory
            raise


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
