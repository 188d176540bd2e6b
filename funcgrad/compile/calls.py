"""The calls of kernels that carry out a step: one plan, from which three programs are written.

The host program, the native entry point and programs for Numba differ in where memory comes from,
not in what is called with what. A word of a call is a number or a piece of memory; whoever writes a
program says where that lies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypeGuard

import numpy as np

from funcgrad.compile.code import Written
from funcgrad.compile.lower import Lowered
from funcgrad.graph.ir import Var

__all__ = ["FLAG", "Call", "Memory", "Partial", "Scratch", "Word", "bytes_of", "call", "calls_of"]

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


def call(kernel: Any, words: Sequence[Word], chunks: int = 1, parallel: int = 0) -> Call:
    """The call of a kernel, with the address of the flag if it may set it."""
    return Call(kernel, [*words, FLAG] if kernel.requires else [*words], chunks, parallel)


def calls_of(step: int, low: Lowered) -> list[Call]:
    """The calls of step number `step`."""
    words = _words(step, low.main, low.direct)
    if low.scratch:
        words.append(Scratch(step, low.scratch * low.threads))
    parallel = low.threads if low.parallel else 0
    found = [call(low.kernel, words, low.layout.chunks, parallel)]
    if low.end is not None and not low.direct:
        found.append(call(low.end.kernel, _words(step, low.end, {})))
    return found


def _words(step: int, written: Written, direct: dict[str, Var]) -> list[Word]:
    words: list[Word] = []
    for a in written.arguments:
        if a.role == "partial" and a.name not in direct:
            words.append(Partial(step, a.var, a.size * np.dtype(a.dtype).itemsize))
        else:
            words.append(a.var)
    return [*words, *map(int, written.integers), *map(_bits, written.numbers)]


def _bits(number: np.generic) -> int:
    """The word that holds a NumPy number of at most 8 bytes at its lower end."""
    return int.from_bytes(number.tobytes().ljust(8, b"\0"), "little", signed=True)
