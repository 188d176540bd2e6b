"""When a kernel is taken instead of the rule in NumPy: where that cannot make a program wait.

Starting Numba takes three quarters of a second, compiling a kernel for new types a quarter, reading
one from disk some milliseconds. So small arrays stay with NumPy for good, and for large ones a
kernel is taken once it is loaded; when it lies on disk, the array is very large and Numba is there;
or when NumPy has spent on the operation what the kernel costs. A program is so never twice as slow
as with the better choice. The figures come from ``benchmarks/kernels.py``. It imports config and
`load`.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from time import perf_counter
from typing import Any

from funcgrad.compile.llvm.target import lock
from funcgrad.config import config
from funcgrad.kernels import load
from funcgrad.kernels.interrupts import later

__all__ = ["FEWEST", "Entry", "entries", "entry_of", "explain"]

FEWEST = 1 << 15  # elements: below, NumPy is as fast
LARGE = 1 << 19  # elements from which on a kernel on disk is read at once, where Numba is there
IMPORT = 0.75  # seconds for Numba
COMPILE = 0.25  # seconds for a kernel
READ = 0.01  # seconds for one that lies on disk


class Entry:
    """One kernel for one combination of types, and what is known of its use."""

    __slots__ = ("calls", "codes", "failed", "function", "name", "on_disk", "seconds", "types")

    def __init__(self, name: str, types: str) -> None:
        self.name, self.types = name, types
        self.function: Callable[..., None] | None = None
        self.on_disk: bool | None = None  # None is not looked yet
        self.failed = False
        self.calls = 0
        self.seconds = 0.0  # that NumPy has spent
        self.codes: dict[Any, Any] = {}  # how threads call it: see `native`

    def taken(self, size: int) -> bool:
        """Whether the kernel is to be used for arrays of `size` elements; loads it if so."""
        if self.function is not None:
            return bool(config.kernels)
        if self.failed or not config.kernels:
            return False
        if self.on_disk is None:
            self.on_disk = load.known(self.key)
        return (config.kernels == "always" or self._due(size)) and self._load()

    def _due(self, size: int) -> bool:
        at_once = bool(self.on_disk) and size >= LARGE and "numba" in sys.modules
        return at_once or self._paid()

    def _paid(self) -> bool:
        price = READ if self.on_disk else COMPILE
        if "numba" not in sys.modules:
            # All kernels need it, so what NumPy spent on any of them counts.
            return sum(e.seconds for e in entries.values()) >= IMPORT + price
        return self.seconds >= price

    def _load(self) -> bool:
        try:
            with later():
                self.function = load.dispatcher(self.name)
        except Exception as error:
            self._fail(error)
        return not self.failed

    def run(self, *arguments: Any) -> bool:
        """Call the kernel; False if that is not possible."""
        assert self.function is not None
        if self.calls:
            self.calls += 1
            self.function(*arguments)
            return True
        try:
            with later(), lock:  # it is compiled now, or read: no fork meanwhile
                self.function(*arguments)
        except Exception as error:
            self._fail(error)
            return False
        self.calls += 1
        if not self.on_disk:
            load.note(self.key)
        return True

    def _fail(self, error: Exception) -> None:
        self.failed, self.function = True, None
        reason = (str(error).splitlines() or [repr(error)])[0]
        warnings.warn(
            f"the kernel {self.key} cannot be used, NumPy runs instead: {reason}",
            RuntimeWarning,
            stacklevel=2,
        )

    @property
    def key(self) -> str:
        return f"{self.name}:{self.types}"

    def spent(self, since: float) -> None:
        """Note that NumPy did the work from `since` until now."""
        self.seconds += perf_counter() - since

    def __str__(self) -> str:
        if self.function is not None:
            return f"{self.name} ({self.types}): numba, {self.calls} calls"
        why = "it cannot be compiled" if self.failed else "it has not paid yet"
        return f"{self.name} ({self.types}): NumPy, {self.seconds:.3f} s; {why}"


entries: dict[tuple[str, str], Entry] = {}


def entry_of(name: str, types: str) -> Entry:
    """The entry of a kernel for types, made on first use."""
    found = entries.get((name, types))
    if found is None:
        found = entries[name, types] = Entry(name, types)
    return found


def explain() -> str:
    """Which kernels large arrays have met in the backward pass, what ran, and why.

    Returns
    -------
    str
        A line for each kernel and combination of types: a letter for the dtype, then one for each
        argument: f whole, r repeated for every row, c for every column, s a single element, n a
        number, g written to where the first lies, - nothing; upper case if it is read-only.
    """
    return "\n".join(map(str, entries.values()))
