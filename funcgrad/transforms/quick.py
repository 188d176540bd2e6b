"""The short way through `jit`: known arguments, unchanged captures, straight to the executable.

The first call for a kind of arguments goes the long way and leaves an entry here; where no NumPy
is needed between kernels, a program for the function's native entry point as well. Whether the
entry holds is found by looking at the same places again, without a walk; whatever is unusual (a
traced argument, a class of the user's, keywords) is left to the long way.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterator, Sequence
from operator import is_not
from typing import Any, NamedTuple

import numpy as np

from funcgrad import tree
from funcgrad.compile.execute import native_entry, native_program
from funcgrad.config import config
from funcgrad.transforms.captures import Captures

__all__ = ["Quick", "kind_of"]

_SCALARS = (float, int, complex, bool, np.float64, np.float32, np.int64, np.bool_)
SCALARS = frozenset(_SCALARS)
LIMIT = 256
ndarray = np.ndarray


class Entry(NamedTuple):
    run: Callable[..., tuple[Any, ...]]
    captures: Captures
    captured: tuple[Any, ...]
    build: Callable[[tuple[Any, ...]], Any]
    settings: tuple[Any, ...]


def kind_of(args: Sequence[Any], leaves: list[Any]) -> Hashable:
    """A key of the kinds of arguments, and their leaves; None if something is unusual."""
    key: list[Any] = []
    for x in args:
        t = type(x)
        if t is ndarray:
            dtype = x.dtype
            if not dtype.isnative or dtype.char == "O":
                return None
            key.append(dtype.char)
            key.append(x.shape)
            leaves.append(x)
        elif t in SCALARS:
            key.append(t)
            leaves.append(x)
        elif t is tuple or t is list:
            inner = kind_of(x, leaves)
            if inner is None:
                return None
            key.append(t)
            key.append(inner)
        elif t is dict:
            try:
                names = sorted(x)
            except TypeError:
                return None
            inner = kind_of([x[n] for n in names], leaves)
            if inner is None:
                return None
            key += [dict, *names, inner]
        elif x is None:
            key.append(None)
        else:
            return None
    return tuple(key)


def settings() -> tuple[Any, ...]:
    return config.backend, config.avx512


def numbered(args: Sequence[Any], numbers: Iterator[int]) -> list[Any]:
    """The arguments with a number for every leaf, in the order of `kind_of`."""
    found: list[Any] = []
    for x in args:
        if type(x) in (tuple, list):
            found.append(type(x)(numbered(x, numbers)))
        elif type(x) is dict:
            names = sorted(x)
            found.append(dict(zip(names, numbered([x[n] for n in names], numbers), strict=True)))
        else:
            found.append(None if x is None else next(numbers))
    return found


class Native:
    """The entry point of a function, as long as what it brings along stays what it is."""

    def __init__(self, captures: Captures, captured: tuple[Any, ...]) -> None:
        self.captures, self.captured, self.settings = captures, captured, settings()
        self.entry = native_entry()

    def call(self, args: Sequence[Any]) -> Any:
        """The result, or NotImplemented."""
        if not self.captures.unchanged():
            return NotImplemented
        backend, avx512 = self.settings
        if config.backend != backend or config.avx512 is not avx512:
            return NotImplemented
        return self.entry.call(*args, *self.captured)


class Quick:
    """The entries of one jitted function."""

    def __init__(self) -> None:
        self.entries: dict[Hashable, Entry] = {}
        self.native: Native | None = None

    def find(self, args: Sequence[Any]) -> tuple[Entry, list[Any]] | None:
        leaves: list[Any] = []
        entry = self.entries.get(kind_of(args, leaves))
        if entry is None or not entry.captures.unchanged():
            return None
        backend, avx512 = entry.settings
        if config.backend != backend or config.avx512 is not avx512:
            return None
        return entry, leaves

    def add(
        self,
        args: Sequence[Any],
        run: Callable[..., tuple[Any, ...]],
        captures: Captures,
        captured: tuple[Any, ...],
        out: tree.TreeDef,
    ) -> None:
        """Remember what to run for arguments like these."""
        key = kind_of(args, [])
        if key is None or not captures.watched or captures.traced:
            return
        if len(self.entries) >= LIMIT:
            self.entries.clear()
        self.entries[key] = Entry(run, captures, captured, _builder(out), settings())
        self.add_native(args, run, captures, captured, out)

    def add_native(
        self,
        args: Sequence[Any],
        run: Any,
        captures: Captures,
        captured: tuple[Any, ...],
        out: tree.TreeDef,
    ) -> None:
        numbers = itertools.count()
        arguments = [*numbered(args, numbers), *(next(numbers) for _ in captured)]
        program = native_program(run, arguments, out)
        if program is None:
            return
        native = self.native
        if (
            native is None
            or len(native.captured) != len(captured)
            or (any(map(is_not, native.captured, captured)) or not native.captures.unchanged())
        ):
            native = Native(captures, captured)
        native.entry.add(program)
        self.native = native


def _builder(out: tree.TreeDef) -> Callable[[tuple[Any, ...]], Any]:
    """What makes the result of the outputs."""
    if out.kind is None:
        return lambda outputs: outputs[0]
    if out.kind is tuple and all(c.kind is None for c in out.children):
        return lambda outputs: outputs
    if out.kind is tuple and len(out.children) == 2 and out.children[0].kind is None:
        second = out.children[1]
        inner = _builder(second)
        return lambda outputs: (outputs[0], inner(outputs[1:]))
    return lambda outputs: tree.unflatten(out, list(outputs))
