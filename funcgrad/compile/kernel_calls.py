"""The calls of kernels that carry out a step: one plan, from which three programs are written.

The host program, the native entry point and programs for Numba differ in where memory comes from,
not in what is called with what. A word of a call is a number or a piece of memory; whoever writes a
program says where that lies.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypeGuard

import numpy as np

from funcgrad.compile.code import Written
from funcgrad.compile.lower import Lowered
from funcgrad.compile.memory import bits
from funcgrad.graph.ir import Var

__all__ = ["FLAG", "Call", "Memory", "Partial", "Scratch", "bytes_of", "call", "calls_of", "words"]

FLAG: Final = "flag"  # where a kernel says that a requirement did not hold


class Partial(NamedTuple):
    """What the chunks of a step found for a reduction, until its last kernel combines it."""

    step: int
    var: Var
    bytes: int


class Scratch(NamedTuple):
    """The scratch memory of all threads of a step."""

    step: int
    bytes: int


Memory: TypeAlias = Var | Partial | Scratch
Word: TypeAlias = int | Memory | Literal["flag"]


class Call(NamedTuple):
    """``kernel(words, 0, chunks, 0)``, or in `parallel` threads at most where that is not 0."""

    kernel: Any  # a Kernel, or something else with a name and `requires`
    words: list[Word]
    chunks: int = 1
    parallel: int = 0

    @property
    def memory(self) -> list[Memory]:
        return [w for w in self.words if is_memory(w)]


def is_memory(word: Word) -> TypeGuard[Memory]:
    return not isinstance(word, int) and word is not FLAG


def bytes_of(memory: Memory) -> int:
    if isinstance(memory, Var):
        return memory.type.size * memory.type.dtype.itemsize
    return memory.bytes


def call(kernel: Any, given: Sequence[Word], chunks: int = 1, parallel: int = 0) -> Call:
    """The call of a kernel, with the address of the flag if it may set it."""
    return Call(kernel, [*given, FLAG] if kernel.requires else [*given], chunks, parallel)


def calls_of(step: int, low: Lowered) -> list[Call]:
    """The calls of step number `step`."""
    main = words(low.main, step, low.direct)
    if low.scratch:
        main.append(Scratch(step, low.scratch * low.threads))
    parallel = low.threads if low.parallel else 0
    found = [call(low.kernel, main, low.layout.chunks, parallel)]
    if low.end is not None and not low.direct:
        found.append(call(low.end.kernel, words(low.end, step)))
    return found


def words(written: Written, step: int = 0, direct: Collection[str] = ()) -> list[Word]:
    """The words of a kernel's parameters; partial results but the `direct` ones are the step's."""
    memory: list[Word] = [
        Partial(step, a.var, a.size * np.dtype(a.dtype).itemsize)
        if a.role == "partial" and a.name not in direct
        else a.var
        for a in written.arguments
    ]
    return [*memory, *map(int, written.integers), *map(bits, written.numbers)]
