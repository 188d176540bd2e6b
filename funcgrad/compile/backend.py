"""What a backend has to offer: named functions of one element, and code for loop nests.

The host program does the rest; what a backend has no function for runs in NumPy.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from funcgrad.compile.loops import Kernel

__all__ = ["Backend", "Code", "Making"]


class Code(Protocol):
    """The compiled kernels of one graph; their addresses are valid while it lives."""

    def address(self, kernel: str) -> int:
        """Where ``void kernel(int64 *arguments, int64 first, int64 last)`` begins."""
        ...

    @property
    def origin(self) -> Any:
        """Where the code is kept for the next process; None if it is not."""
        ...

    @property
    def batch(self) -> Any:
        """A callable that runs a table of kernels: (code, arguments, chunks) …, 0."""
        ...


class Making(Protocol):
    """Kernels that become code, while it is open."""

    def __enter__(self) -> Making: ...

    def __exit__(self, *_: object) -> None: ...

    def add(self, kernels: Iterable[Kernel], work: float = 0.0) -> None:
        """Further kernels, which nobody changes from now on. `work` is that of a call, in
        additions: with little it matters more when the code is there than how good it is.
        """
        ...

    def code(self) -> Code:
        """Code for all of them."""
        ...


class Backend(Protocol):
    """A printer of loop nests and what builds its text."""

    functions: frozenset[str]
    vector_bytes: int  # of one register
    signals: bool  # whether a long loop may ask Python whether a signal has come

    def text(self, kernels: Sequence[Kernel]) -> str:
        """The text of a module of these kernels."""
        ...

    def making(self) -> Making:
        """What makes code of kernels; the same text is built once."""
        ...

    def compile(self, kernels: Sequence[Kernel], work: float = 0.0) -> Code:
        """Code for kernels that are all known."""
        ...

    def run(self, address: int, arguments: int, chunks: int, most: int) -> None:
        """Run a kernel in all threads, `most` of them."""
        ...
