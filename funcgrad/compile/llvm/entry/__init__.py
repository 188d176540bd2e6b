"""Entry points: callables that check their arguments, make the results and run kernels.

A `Program` says what a call has to do, for arguments of one kind; an `Entry` holds several, the
newest first, and returns NotImplemented where none is meant. `native` does that in some 100 ns;
`python` does the same where native entry points cannot be had.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad.compile.guards import Guard
from funcgrad.compile.llvm.entry import native, python
from funcgrad.compile.llvm.entry.program import (
    Apart,
    At,
    Buffer,
    Copy,
    Fixed,
    Given,
    Held,
    Leaf,
    Made,
    Number,
    Program,
    Same,
    Step,
    Stride,
    View,
    is_known,
)
from funcgrad.errors import CompilerError

__all__ = [
    "Apart",
    "At",
    "Buffer",
    "Copy",
    "Entry",
    "Fixed",
    "Given",
    "Held",
    "Leaf",
    "Made",
    "Number",
    "Program",
    "Same",
    "Step",
    "Stride",
    "View",
    "is_known",
    "guard_check",
]

_MOST = 16


def guard_check(guards: Sequence[Guard]) -> Callable[[], bool]:
    """A function that says whether all of these hold."""
    code = native.native()
    if code is not None:
        return code.guard_check(guards)
    return lambda: all(guard.holds() for guard in guards)


class Entry:
    """A callable that carries out the first of its programs that fits the arguments.

    Attributes
    ----------
    call : callable
        ``call(*args, **named)``: the result, or NotImplemented if no program is for these
        arguments, if a kernel has set its flag, or if one of the `guards` does not hold. Read it
        anew for each call: `add` may replace it. It keeps all alive that it needs.
    """

    __slots__ = ("_chain", "_programs", "_guards", "call")

    def __init__(self, guards: Sequence[Guard] = ()) -> None:
        self._programs: list[Program] = []
        self._guards = tuple(guards)
        self._renew()

    def add(self, program: Program) -> None:
        """Have `program` tried first; of more than 16 the oldest are dropped."""
        self._programs.append(program)
        if len(self._programs) > _MOST:
            # A chain never forgets a program, for another thread may be running it.
            del self._programs[: _MOST // 2]
            self._renew()
        else:
            self._extend(program)

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self.call(*args, **named)

    def _renew(self) -> None:
        code = native.native()
        self._chain: python.Chain | native.Chain = (
            python.Chain(self._guards) if code is None else code.chain(self._guards)
        )
        self.call: Callable[..., Any] = self._chain.call
        for program in self._programs:
            self._extend(program)

    def _extend(self, program: Program) -> None:
        try:
            self._chain.add(program)
        except CompilerError:  # more arguments than a native call has room for
            self._chain = python.Chain(self._guards)
            for each in self._programs:
                self._chain.add(each)
            self.call = self._chain.call
