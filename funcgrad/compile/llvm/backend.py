"""The LLVM backend: kernels printed, built or found in the cache, and run by the pool."""

from __future__ import annotations

import ctypes
import functools
import weakref
from collections.abc import Iterable, Sequence
from typing import Any

from funcgrad.compile import cache
from funcgrad.compile.llvm import tiering
from funcgrad.compile.llvm.body import External
from funcgrad.compile.llvm.mathematics import FUNCTIONS
from funcgrad.compile.llvm.objects import Library
from funcgrad.compile.llvm.origin import Origin, restore
from funcgrad.compile.llvm.pool import pool
from funcgrad.compile.llvm.printer import print_module
from funcgrad.compile.llvm.target import Target, host, lock
from funcgrad.compile.llvm.tiering import Tiered
from funcgrad.compile.loops import Kernel
from funcgrad.compile.scalars import MATHEMATICS
from funcgrad.config import config

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
  call void %kernel(ptr %arguments, i64 0, i64 %chunks, i64 0)
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

    def __init__(self, library: Library | Tiered, origin: Origin | None) -> None:
        self.library, self.origin = library, origin

    @property
    def batch(self) -> Any:
        return _batch(host())[1]

    def address(self, kernel: str) -> int:
        return self.library.address(kernel)


class LLVM:
    """See `backend.Backend`."""

    signals = True

    def __init__(self) -> None:
        self.functions = frozenset(FUNCTIONS) & set(MATHEMATICS)
        self.vector_bytes = host().vector_bits // 8

    def text(self, kernels: Sequence[Kernel]) -> str:
        return print_module(kernels, host()).text

    def compile(self, kernels: Sequence[Kernel], work: float = 0.0) -> LLVMCode:
        module = print_module(kernels, host())
        called, target = tuple(module.externals.items()), host()
        if module.foreign:
            symbols = _addresses(called, target)
            symbols |= {name: address for f in module.foreign for name, address in f.symbols}
            linked = [f.module for f in module.foreign]
            return LLVMCode(cache.library(module.text, linked=linked, symbols=symbols), None)
        origin = _origin(module.text, called, target)
        library: Library | Tiered | None = restore(origin)
        if library is None and tiering.worth_tiering(work, module.text):
            library = _tiered(module.text, called, tuple(k.name for k in kernels), target)
        if library is None:
            library = cache.library(module.text, symbols=_addresses(called, target))
        return LLVMCode(library, origin)

    def run(self, address: int, arguments: int, chunks: int, most: int) -> None:
        pool().run(address, arguments, chunks, most)


def _addresses(called: Iterable[tuple[str, External]], target: Target) -> dict[str, int]:
    return {name: _shared(x, target).address(name) for name, x in called}


@functools.cache
def _shared(x: External, target: Target) -> Library:
    """A function that others call: it stays for the life of the process."""
    return cache.library(x.module, symbols=_addresses(x.calls, target), target=target)


_tiered_libraries: weakref.WeakValueDictionary[tuple[Any, ...], Tiered] = (
    weakref.WeakValueDictionary()
)


def _tiered(
    text: str, called: tuple[tuple[str, External], ...], names: tuple[str, ...], target: Target
) -> Tiered:
    """Kernels made in haste, while good ones are on their way."""
    with lock:
        found = _tiered_libraries.get((text, target))
        if found is None:
            symbols = {name: _first_tier_shared(x, target).address(name) for name, x in called}
            library = cache.first_tier(tiering.with_slots(text, names), symbols, target)
            found = _tiered_libraries[text, target] = Tiered(library, names)
            if config.tiers == "both":
                tiering.later(functools.partial(_second_tier, found, text, called, target))
    return found


@functools.cache
def _first_tier_shared(x: External, target: Target) -> Library:
    """A function that kernels made in haste call, itself made so if it is not there yet."""
    found = restore(_origin(x.module, x.calls, target))
    if found is None:
        symbols = {name: _first_tier_shared(y, target).address(name) for name, y in x.calls}
        found = cache.first_tier(x.module, symbols, target)
    return found


def _second_tier(
    first_tier: Tiered, text: str, called: Iterable[tuple[str, External]], target: Target
) -> None:
    for module in (*(x.module for x in _all(called)), text):
        if not cache.prepare(module, target, tiering.good_code):
            return
    first_tier.promote(cache.library(text, symbols=_addresses(called, target), target=target))


def _all(called: Iterable[tuple[str, External]]) -> list[External]:
    """The functions that are called, and those that they call."""
    found: dict[External, None] = {}
    waiting = [x for _, x in called]
    while waiting:
        x = waiting.pop()
        found[x] = None
        waiting += [y for _, y in x.calls]
    return list(found)


@functools.cache
def _batch(target: Target) -> tuple[Library, Any]:
    library = cache.library(BATCH, target=target)
    return library, ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(library.address("batch"))


def _origin(text: str, called: Iterable[tuple[str, External]], target: Target) -> Origin:
    calls = tuple((name, _origin(x.module, x.calls, target)) for name, x in called)
    return Origin(cache.key_of(text, False, (), target), calls)
