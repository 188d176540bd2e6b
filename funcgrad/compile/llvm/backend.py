"""The LLVM backend: kernels printed, built or found in the cache, and run by the pool."""

from __future__ import annotations

import ctypes
import functools
import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from funcgrad.compile import cache
from funcgrad.compile.llvm import objects, tiering
from funcgrad.compile.llvm.at_once import build_at_once, shared_out
from funcgrad.compile.llvm.body import External
from funcgrad.compile.llvm.mathematics import FUNCTIONS
from funcgrad.compile.llvm.objects import Library
from funcgrad.compile.llvm.origin import Origin, restore
from funcgrad.compile.llvm.pool import pool
from funcgrad.compile.llvm.printer import Module, print_module
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
            library = _tiered(module, called, target)
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
_first_tier_shared: dict[tuple[External, Target], Library] = {}


def _tiered(module: Module, called: tuple[tuple[str, External], ...], target: Target) -> Tiered:
    """Kernels made in haste, while good ones are on their way."""
    text = module.text
    with lock:
        found = _tiered_libraries.get((text, target))
        if found is None:
            found = _tiered_libraries[text, target] = Tiered(_in_haste(module, called, target))
            if config.tiers == "both":
                tiering.later(functools.partial(_second_tier, found, text, called, target))
    return found


def _in_haste(
    module: Module, called: Sequence[tuple[str, External]], target: Target
) -> dict[str, Library]:
    """Where each kernel is, in modules that were made at once, with the functions they call."""
    pieces = [
        [module.functions[k] for k in numbers]
        for numbers in shared_out([len(each.text) for each in module.functions])
    ]
    names = [[name for each in piece for name in each.names] for piece in pieces]
    texts = [
        tiering.with_slots(module.shared + "\n".join(each.text for each in piece) + "\n", own)
        for piece, own in zip(pieces, names, strict=True)
    ]
    missing = [x for x in _all(called) if not _first_tier_found(x, target)]
    codes = build_at_once([*texts, *(x.module for x in missing)], target)
    cache.statistics.built += len(codes)
    made = dict(zip(missing, codes[len(texts) :], strict=True))
    symbols = _first_tier_addresses(called, made, target)
    found = {}
    for own, code in zip(names, codes, strict=False):
        found.update(dict.fromkeys(own, objects.load(code, symbols)))
    return found


def _first_tier_found(x: External, target: Target) -> bool:
    """Whether there is code of a function that others call, of this tier or better."""
    if (x, target) not in _first_tier_shared:
        found = restore(_origin(x.module, x.calls, target))
        if found is None:
            return False
        _first_tier_shared[x, target] = found
    return True


def _first_tier_addresses(
    called: Iterable[tuple[str, External]], made: Mapping[External, bytes], target: Target
) -> dict[str, int]:
    """The addresses of functions, of which some were `made` just now."""
    found = {}
    for name, x in called:
        library = _first_tier_shared.get((x, target))
        if library is None:
            symbols = _first_tier_addresses(x.calls, made, target)
            library = _first_tier_shared[x, target] = objects.load(made[x], symbols)
        found[name] = library.address(name)
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
