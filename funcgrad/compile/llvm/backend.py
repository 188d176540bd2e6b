"""The LLVM backend: kernels printed, built or found in the cache, and run by the pool."""

from __future__ import annotations

import ctypes
import functools
import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from funcgrad.compile import cache
from funcgrad.compile.llvm import objects, tiering
from funcgrad.compile.llvm.at_once import WORTH, Emissions, shared_out
from funcgrad.compile.llvm.body import External
from funcgrad.compile.llvm.mathematics import FUNCTIONS
from funcgrad.compile.llvm.objects import Library
from funcgrad.compile.llvm.origin import Origin, restore
from funcgrad.compile.llvm.pool import pool
from funcgrad.compile.llvm.printer import (
    Function,
    Printing,
    print_module,
    shared_text,
)
from funcgrad.compile.llvm.target import Target, host
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

    def making(self) -> Making:
        return Making(host())

    def compile(self, kernels: Sequence[Kernel], work: float = 0.0) -> LLVMCode:
        with self.making() as making:
            making.add(kernels, work)
            return making.code()

    def run(self, address: int, arguments: int, chunks: int, most: int) -> None:
        pool().run(address, arguments, chunks, most)


class Making:
    """Kernels that become code. What is made in haste other threads begin with before all kernels
    are known, once it is worth one.
    """

    def __init__(self, target: Target) -> None:
        self.target, self.printing = target, Printing(target)
        self.emissions = Emissions(target)
        self.waiting: list[Function] = []  # that are in no module yet
        self.taken: dict[int, Sequence[Function]] = {}  # the functions of each module that is made
        self.called: dict[External, int] = {}  # the modules of functions that these call
        self.length, self.work = 0, 0.0

    def __enter__(self) -> Making:
        self.emissions.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.emissions.__exit__()

    def add(self, kernels: Iterable[Kernel], work: float = 0.0) -> None:
        self.work += work
        for kernel in kernels:
            if kernel.name not in self.printing.same:
                function = self.printing.add(kernel)
                if function is not None:
                    self.length += len(function.text)
                    self.waiting.append(function)
        # what was printed before was made before, and long modules are few
        new = [each for each in self.waiting if each.new]
        if sum(len(each.text) for each in new) >= WORTH and self.early():
            self.waiting = [each for each in self.waiting if not each.new]
            self.take(new)

    def early(self) -> bool:
        """Whether to begin before all kernels are known: most likely these are made in haste."""
        if config.threads == 1 or self.printing.foreign:
            return False
        return tiering.worth_tiering(self.work, self.length)

    def take(self, functions: Sequence[Function]) -> None:
        names = [each.name for each in functions]
        text = shared_text(functions) + "\n".join([*(each.text for each in functions), ""])
        self.taken[self.emissions.take(tiering.with_slots(text, names))] = functions
        for x in _all(call for each in functions for call in each.externals.items()):
            if x not in self.called and not _first_tier_found(x, self.target):
                self.called[x] = self.emissions.take(x.module)

    def code(self) -> LLVMCode:
        module, target = self.printing.module(), self.target
        called = tuple(module.externals.items())
        if module.foreign:
            symbols = _addresses(called, target)
            symbols |= {name: address for f in module.foreign for name, address in f.symbols}
            linked = [f.module for f in module.foreign]
            return LLVMCode(cache.library(module.text, linked=linked, symbols=symbols), None)
        origin = _origin(module.text, called, target)
        library: Library | Tiered | None = restore(origin)
        if library is None and tiering.worth_tiering(self.work, len(module.text)):
            library = self.tiered(module.text, called)
        if library is None:
            library = cache.library(module.text, symbols=_addresses(called, target))
        return LLVMCode(library, origin)

    def tiered(self, text: str, called: tuple[tuple[str, External], ...]) -> Tiered:
        """Kernels made in haste, while good ones are on their way."""
        found = _tiered_libraries.get((text, self.target))
        if found is None:
            found = _tiered_libraries[text, self.target] = Tiered(self.in_haste(called))
            if config.tiers == "both":
                job = functools.partial(_second_tier, found, text, called, self.target)
                tiering.later(job)
        return found

    def in_haste(self, called: Sequence[tuple[str, External]]) -> dict[str, tuple[Library, str]]:
        """Where each kernel is, in modules that were made at once, with the functions they call."""
        for numbers in shared_out([len(each.text) for each in self.waiting]):
            self.take([self.waiting[k] for k in numbers])
        codes = self.emissions.codes()
        cache.statistics.built += len(codes)
        made = {x: codes[k] for x, k in self.called.items()}
        symbols = _first_tier_addresses(called, made, self.target)
        places = {}
        for k, functions in self.taken.items():
            library = objects.load(codes[k], symbols)
            places.update({each.name: library for each in functions})
        return {name: (places[own], own) for name, own in self.printing.same.items()}


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
