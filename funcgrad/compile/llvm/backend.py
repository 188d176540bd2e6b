"""The LLVM backend: kernels printed, built or found in the cache, and run by the pool."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterable, Sequence
from typing import Any

from funcgrad.compile import cache
from funcgrad.compile.llvm.body import External
from funcgrad.compile.llvm.mathematics import FUNCTIONS
from funcgrad.compile.llvm.objects import Library
from funcgrad.compile.llvm.origin import Origin
from funcgrad.compile.llvm.pool import pool
from funcgrad.compile.llvm.printer import print_module
from funcgrad.compile.llvm.target import Target, host
from funcgrad.compile.loops import Kernel
from funcgrad.compile.scalars import MATHEMATICS, TWO_OPERANDS

__all__ = ["LLVM"]

# Runs kernels one after the other, each with all its chunks. A table holds three words for each
# (code, arguments, chunks) and a zero at its end.
BATCH = """define void @batch(ptr %table) nounwind {
entry:
  br label %head
head:
  %place = phi ptr [ %table, %entry ], [ %following, %run ]
  %kernel = load ptr, ptr %place
  %end = icmp eq ptr %kernel, null
  br i1 %end, label %done, label %run
run:
  %at.arguments = getelementptr i64, ptr %place, i64 1
  %at.chunks = getelementptr i64, ptr %place, i64 2
  %arguments = load ptr, ptr %at.arguments
  %chunks = load i64, ptr %at.chunks
  call void %kernel(ptr %arguments, i64 0, i64 %chunks)
  %following = getelementptr i64, ptr %place, i64 3
  br label %head
done:
  ret void
}
"""


class LLVMCode:
    """Kernels in the process. `origin` says where their code is kept; None if it depends on more
    than is kept.
    """

    def __init__(self, library: Library, origin: Origin | None) -> None:
        self.library, self.origin = library, origin

    @property
    def batch(self) -> Any:
        return _batch(host())[1]

    def address(self, kernel: str) -> int:
        return self.library.address(kernel)


class LLVM:
    """See `backend.Backend`."""

    def __init__(self) -> None:
        self.functions = frozenset(FUNCTIONS) & {*MATHEMATICS, *TWO_OPERANDS}
        self.vector_bytes = host().vector_bits // 8

    def text(self, kernels: Sequence[Kernel]) -> str:
        return print_module(kernels, host()).text

    def compile(self, kernels: Sequence[Kernel]) -> LLVMCode:
        module = print_module(kernels, host())
        symbols = _addresses(module.externals.items(), host())
        linked = [f.module for f in module.foreign]
        symbols |= {name: address for f in module.foreign for name, address in f.symbols}
        origin = None if linked else _origin(module.text, module.externals.items(), host())
        return LLVMCode(cache.library(module.text, linked=linked, symbols=symbols), origin)

    def run(self, address: int, arguments: int, chunks: int) -> None:
        pool().run(address, arguments, chunks)


def _addresses(called: Iterable[tuple[str, External]], target: Target) -> dict[str, int]:
    return {name: _shared(x, target).address(name) for name, x in called}


@functools.cache
def _shared(x: External, target: Target) -> Library:
    """A function that others call: it stays for the life of the process."""
    return cache.library(x.module, symbols=_addresses(x.calls, target), target=target)


@functools.cache
def _batch(target: Target) -> tuple[Library, Any]:
    library = cache.library(BATCH, target=target)
    return library, ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(library.address("batch"))


def _origin(text: str, called: Iterable[tuple[str, External]], target: Target) -> Origin:
    calls = tuple((name, _origin(x.module, x.calls, target)) for name, x in called)
    return Origin(cache.key_of(text, False, (), target), calls)
