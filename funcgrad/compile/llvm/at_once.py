"""Modules made object code at once, by as many threads as there are processors.

LLVM works on modules in contexts of their own independently of each other. llvmlite has one lock
around each of its calls; the one that makes code is called without it here, with a code generator
for each thread. It imports config, emission, objects, pool and target.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from typing import Any

from funcgrad.compile.llvm.emission import target_machine
from funcgrad.compile.llvm.objects import parsed
from funcgrad.compile.llvm.pool import started
from funcgrad.compile.llvm.target import Target, binding, lock
from funcgrad.config import config

__all__ = ["build_at_once", "shared_out"]

WORTH = 16_000  # characters, some 3 ms, for which another thread is begun, in 0.1

_machines: dict[Target, list[Any]] = {}  # code generators that no thread has


def build_at_once(texts: Sequence[str], target: Target) -> list[bytes]:
    """Object code of each module, in a third of the time, which runs up to three times as long."""
    with lock:
        work = _Work(texts, target)
        helpers = []
        for _ in range(min(_threads(sum(map(len, texts))), len(texts)) - 1):
            helper = threading.Thread(target=work.run, name="funcgrad code", daemon=True)
            if started(helper):
                helpers.append(helper)
        work.run()
        # A fork and the end of the process wait for the lock: nobody may be at work behind it.
        interrupt: BaseException | None = None
        for helper in helpers:
            while helper.is_alive():
                try:
                    helper.join()
                except BaseException as error:  # that of a signal
                    interrupt = error
        if interrupt is not None:
            raise interrupt
        return work.results()


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


class _Work:
    """Modules of which each thread takes the longest one that is left."""

    def __init__(self, texts: Sequence[str], target: Target) -> None:
        self.texts, self.target = texts, target
        self.left = sorted(range(len(texts)), key=lambda k: len(texts[k]))
        self.codes: dict[int, bytes] = {}
        self.errors: list[BaseException] = []

    def run(self) -> None:
        spare, own = _machines.setdefault(self.target, []), list[Any]()
        try:
            while (k := self.next()) is not None:
                with parsed(self.texts[k], self.target) as module:
                    # behind llvmlite's lock, another thread is making code meanwhile
                    own = own or [self.generator(spare)]
                    self.codes[k] = _emitted(own[0], module)
            spare += own
        except BaseException as error:
            self.errors.append(error)
            self.left.clear()

    def generator(self, spare: list[Any]) -> Any:
        try:
            return spare.pop()
        except IndexError:
            return target_machine(binding(), self.target.processor, 0)

    def next(self) -> int | None:
        try:
            return self.left.pop()
        except IndexError:
            return None

    def results(self) -> list[bytes]:
        if self.errors:
            raise self.errors[0]
        return [self.codes[k] for k in range(len(self.texts))]


def _emitted(machine: Any, module: Any) -> bytes:
    """`emit_object` without llvmlite's lock, where that is as we know it."""
    ffi = binding().ffi
    emit = getattr(ffi.lib.LLVMPY_TargetMachineEmitToMemory, "_cfn", None)
    if emit is None:
        return bytes(machine.emit_object(module))
    with ffi.OutputString() as problem:
        memory = emit(machine, module, 1, problem)
        if not memory:
            raise RuntimeError(str(problem))
    try:
        start, size = ffi.lib.LLVMPY_GetBufferStart(memory), ffi.lib.LLVMPY_GetBufferSize(memory)
        return ctypes.string_at(start, size)
    finally:
        ffi.lib.LLVMPY_DisposeMemoryBuffer(memory)
