"""Modules made object code by as many threads as there are processors, while others are written.

LLVM works on modules in contexts of their own independently of each other. llvmlite has one lock
around each of its calls; the one that makes code is called without it here, with a code generator
for each thread. Who waits for these threads cannot hold it for them: a collection of garbage in one
of them may meet what llvmlite has to dispose of, which waits for that lock. All else that llvmlite
does, the thread does that asks for the code. It imports config, emission, objects, pool and target.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from funcgrad.compile.llvm.emission import target_machine
from funcgrad.compile.llvm.objects import parsed
from funcgrad.compile.llvm.pool import started
from funcgrad.compile.llvm.target import Target, binding, lock
from funcgrad.config import config

__all__ = ["WORTH", "Emissions", "shared_out"]

WORTH = 16_000  # characters, some 3 ms, for which another thread is begun, in 0.1
STACK = 1 << 26  # bytes, of which few are touched: LLVM may be deep in a function

_machines: dict[Target, list[Any]] = {}  # code generators that no thread has


def shared_out(sizes: Sequence[int]) -> list[list[int]]:
    """The numbers of pieces of these sizes, in lists that take each thread about as long."""
    found: list[list[int]] = [[] for _ in range(min(_threads(sum(sizes)), len(sizes)))]
    loads = [0] * len(found)
    for k in sorted(range(len(sizes)), key=lambda k: -sizes[k]):
        least = loads.index(min(loads))
        found[least].append(k)
        loads[least] += sizes[k]
    return [sorted(each) for each in found]


def _threads(size: int) -> int:
    return max(1, min(config.threads, 1 + size // WORTH))


class Emissions:
    """Object code of modules, made in a third of the time, which runs up to three times as long.

    What is `taken` may be begun by another thread at once; `codes` waits for all of it. While it is
    open nobody else works with LLVM, and no process forks.
    """

    def __init__(self, target: Target) -> None:
        self.target = target
        self.made: list[_Emission] = []
        self.left: list[_Emission] = []  # the last one is next
        self.helpers: list[threading.Thread] = []
        self.held = ExitStack()

    def __enter__(self) -> Emissions:
        lock.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        # A fork and the end of the process wait for the lock: nobody may be at work behind it.
        try:
            self.left.clear()
            self.wait()
        finally:
            for each in self.made:
                each.drop()
            self.held.close()
            lock.release()

    def take(self, text: str) -> int:
        """The number of a module that is to be made, which another thread begins if one is free."""
        self.made.append(_Emission(self.held.enter_context(parsed(text, self.target))))
        self.left.insert(0, self.made[-1])
        self.helpers = [each for each in self.helpers if each.is_alive()]
        if len(self.helpers) < config.threads - 1:
            helper = threading.Thread(
                target=self.run, args=(self.machine(),), name="funcgrad code", daemon=True
            )
            if started(helper, STACK):
                self.helpers.append(helper)
        return len(self.made) - 1

    def machine(self) -> Any:
        """A code generator, which one thread may use."""
        try:
            return _machines.setdefault(self.target, []).pop()
        except IndexError:
            return target_machine(binding(), self.target.processor, 0)

    def run(self, machine: Any) -> None:
        try:
            while True:
                self.left.pop().run(machine)
        except IndexError:  # nothing is left
            _machines[self.target].append(machine)

    def wait(self) -> None:
        interrupt: BaseException | None = None
        for helper in self.helpers:
            while helper.is_alive():
                try:
                    helper.join()
                except BaseException as error:  # that of a signal
                    interrupt = error
        if interrupt is not None:
            raise interrupt

    def codes(self) -> list[bytes]:
        """The object code of all modules."""
        self.run(self.machine())
        self.wait()
        return [each.code() for each in self.made]


def without_lock() -> Any:
    """What makes code, without llvmlite's lock; None where that is not as we know it."""
    return getattr(binding().ffi.lib.LLVMPY_TargetMachineEmitToMemory, "_cfn", None)


class _Emission:
    """A module that becomes object code."""

    def __init__(self, module: Any) -> None:
        self.module, self.emit = module, without_lock()
        self.problem = ctypes.c_char_p(None)
        self.made: Any = None  # a buffer of LLVM's, or the code
        self.failed: BaseException | None = None

    def run(self, machine: Any) -> None:
        try:
            self.made = self.emitted(machine)
        except BaseException as error:
            self.failed = error

    def emitted(self, machine: Any) -> Any:
        if self.emit is None:
            return bytes(machine.emit_object(self.module))
        return self.emit(machine, self.module, 1, ctypes.byref(self.problem))

    def code(self) -> bytes:
        if self.failed is not None:
            raise self.failed
        if self.emit is None:
            return bytes(self.made)
        lib = binding().ffi.lib
        if not self.made:
            text = (self.problem.value or b"").decode()
            lib.LLVMPY_DisposeString(self.problem)
            raise RuntimeError(text)
        start, size = lib.LLVMPY_GetBufferStart(self.made), lib.LLVMPY_GetBufferSize(self.made)
        return ctypes.string_at(start, size)

    def drop(self) -> None:
        """Give back LLVM's memory."""
        if self.emit is not None and self.made:
            binding().ffi.lib.LLVMPY_DisposeMemoryBuffer(self.made)
        self.made = None
