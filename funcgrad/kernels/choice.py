"""When a kernel is taken instead of the rule in NumPy: by the kind of work and its size alone.

Below `FEWEST` elements NumPy's rule is as fast. From there on the kernel is taken, from the first
call on: its code lies on disk. Where it does not yet, a process of its own builds it meanwhile (see
`helper`), and NumPy's rule serves until it is there; then the kernel does, for good. It imports
config, `load` and `helper`.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from funcgrad.config import config
from funcgrad.errors import CompilerError
from funcgrad.kernels import helper, load
from funcgrad.kernels.native import Code, Kernel, Kinds

__all__ = ["FEWEST", "FLOATS", "Entry", "entries", "entry_of", "explain"]

FLOATS: tuple[Any, ...] = (np.dtype(np.float64), np.dtype(np.float32))  # of kernels
FEWEST = 1 << 15  # elements: below, NumPy is as fast


class Entry:
    """One kernel for one combination of types, and what is known of its use.

    `codes` are the codes that are loaded, by the form of the call and the kinds of its arguments;
    `waiting` are those that another process is to build.
    """

    __slots__ = ("calls", "codes", "failed", "name", "types", "waiting")

    def __init__(self, name: str, types: str) -> None:
        self.name, self.types = name, types
        self.codes: dict[tuple[str, Kinds], Code] = {}
        self.waiting: dict[Kernel, None] = {}
        self.failed = False
        self.calls = 0

    def taken(self) -> bool:
        """Whether it pays to prepare arguments: False while the code is being built elsewhere."""
        if self.failed or not config.kernels:
            return False
        if self.codes or not self.waiting or config.kernels == "always":
            return True
        return any(map(load.arrived, self.waiting))

    def code(self, form: str, kinds: Kinds) -> Code | None:
        """The code for such arguments; None if it is not there."""
        found = self.codes.get((form, kinds))
        if found is None and not self.failed:
            found = self._find(Kernel(self.name, form, kinds))
            if found is not None:
                self.codes[form, kinds] = found
        return found

    def _find(self, kernel: Kernel) -> Code | None:
        if kernel in self.waiting and config.kernels != "always" and not load.arrived(kernel):
            return None
        try:
            found = load.stored(kernel)
            if found is None and config.kernels == "always":
                found = load.made(kernel)
        except CompilerError as error:
            self.fail(error)
            return None
        if found is not None:
            self.waiting.pop(kernel, None)
        elif kernel not in self.waiting:
            self.waiting[kernel] = None
            helper.ask(kernel)
        return found

    def fail(self, error: Exception) -> None:
        self.failed = True
        reason = (str(error).splitlines() or [repr(error)])[0]
        warnings.warn(
            f"the kernel {self.name} ({self.types}) cannot be used, NumPy runs instead: {reason}",
            RuntimeWarning,
            stacklevel=2,
        )

    def __str__(self) -> str:
        if self.failed:
            what = "NumPy; it cannot be compiled"
        elif self.codes:
            what = f"native code, {self.calls} calls"
        elif self.waiting:
            what = f"NumPy; {helper.state()}"
        else:
            what = "not needed yet"
        return f"{self.name} ({self.types}): {what}"


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
