"""Programs on disk: what an entry point does for a graph, for the next process.

A program is kept under the digest of its graph and of all that made it (our sources, versions, the
processor); it names its object code by the key under which that is kept. What is read was sealed by
the store; an entry whose code is gone is no entry.
"""

from __future__ import annotations

import hashlib
import marshal
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad import tree
from funcgrad.compile import store
from funcgrad.compile.llvm.entry import (
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
    Step,
    View,
)
from funcgrad.compile.llvm.origin import Origin, restore
from funcgrad.compile.llvm.target import host
from funcgrad.compile.memory import address_of
from funcgrad.compile.sources import sources
from funcgrad.graph.identity import identity
from funcgrad.graph.ir import Graph, Var

__all__ = [
    "NoProgram", "Record", "key_of", "kept_call", "numbered", "read", "readable", "write",
]  # fmt: skip

LARGEST = 1 << 20  # bytes of constants in a program; with more it is made anew


def key_of(graph: Graph, donated: tuple[int, ...], captured: int) -> str | None:
    """The name of the program of a graph; None if none can be kept."""
    found = sources()
    own = None if found is None else identity(graph)
    if own is None:
        return None
    versions = (store.FORMAT, sys.version, np.__version__, found)
    parts = (versions, host().description, own, donated, captured)
    return hashlib.blake2b(repr(parts).encode(), digest_size=24).hexdigest()


class _Foreign(Exception):
    """Something that is not kept."""


def write(
    key: str,
    program: Program,
    origin: Origin | None,
    names: dict[int, str],
    shared: tuple[int, ...],
) -> None:
    """Keep a program; `names` are those of the kernels at these addresses, if it has any."""
    encoder = _Encoder(names)
    try:
        entry = [encoder(getattr(program, name)) for name in KEPT]
    except _Foreign:
        return
    if sum(x.nbytes for x in encoder.arrays) > LARGEST:
        return
    arrays = [(x.dtype.str, x.shape, x.tobytes()) for x in encoder.arrays]
    kept = None if origin is None else _plain(origin)
    store.write(key, marshal.dumps((kept, shared, entry, arrays), 4))


def _plain(origin: Origin) -> tuple[Any, ...]:
    return origin.key, tuple((name, _plain(each)) for name, each in origin.calls)


def _origin(plain: tuple[Any, ...]) -> Origin:
    key, calls = plain
    return Origin(key, tuple((name, _origin(each)) for name, each in calls))


# What of a program is kept: all but what belongs to a call of this process.
KEPT = ("leaves", "buffers", "steps", "outputs", "workspace", "release", "apart")
PARTS = {
    each.__name__: each
    for each in (Apart, At, Buffer, Copy, Fixed, Given, Leaf, Made, Number, Step, View)
}


class _Encoder:
    """Makes what `marshal` takes: a list of a sequence, a tuple that begins with its kind of all
    that is no number or text.
    """

    def __init__(self, names: dict[int, str]) -> None:
        self.names = names
        self.arrays: list[np.ndarray[Any, Any]] = []

    def __call__(self, x: Any) -> Any:
        if isinstance(x, Held):  # a captured array, or one that we keep
            own = not isinstance(x.source, int)
            return ("held", self.array(x.source)) if own else ("captured", x.source)
        if isinstance(x, np.integer):
            return int(x)
        if x is None or type(x) in (bool, int, float, complex, str):
            return x
        if isinstance(x, Step):
            return ("Step", self.names[x.kernel], *map(self, x[1:]))
        if type(x).__name__ in PARTS:
            number = isinstance(x, Fixed) and isinstance(x.value, np.generic)
            return (type(x).__name__, *([self.number(x.value)] if number else map(self, x)))
        if type(x) in (tuple, list):
            return list(map(self, x))
        if isinstance(x, np.dtype):
            return "dtype", x.str
        if type(x) is np.ndarray:
            return "array", self.array(x)
        raise _Foreign

    def number(self, x: np.generic) -> Any:
        return "number", x.dtype.str, x.tobytes()

    def array(self, x: np.ndarray[Any, Any]) -> int:
        for k, known in enumerate(self.arrays):
            if known is x:
                return k
        self.arrays.append(x)
        return len(self.arrays) - 1


class _Decoder:
    def __init__(self, library: Any, held: Sequence[Any], captured: Sequence[Any]) -> None:
        self.library, self.held, self.captured = library, held, captured

    def __call__(self, x: Any) -> Any:
        if type(x) is list:
            return tuple(map(self, x))
        if type(x) is not tuple:
            return x
        kind, *rest = x
        if kind == "Step":
            return Step(self.library.address(rest[0]), *map(self, rest[1:]))
        if kind in PARTS:
            return PARTS[kind](*map(self, rest))
        if kind == "dtype":
            return np.dtype(rest[0])
        if kind == "number":
            return np.frombuffer(rest[1], rest[0])[0]
        if kind == "array":
            return self.held[rest[0]]
        return address_of()((self.held if kind == "held" else self.captured)[rest[0]])


class Record(NamedTuple):
    """A program that was kept, with its code in the process.

    `shared` are the outputs that are inputs, or show the memory of an earlier output.
    """

    library: Any
    shared: tuple[int, ...]
    entry: list[Any]
    arrays: list[tuple[str, tuple[int, ...], bytes]]

    def program(
        self,
        arguments: Sequence[Any],
        names: tuple[str, ...],
        captured: Sequence[np.ndarray[Any, Any]],
        result: Any,
    ) -> Program:
        """The program for arguments, captured arrays and results like these."""
        held = [
            np.frombuffer(data, dtype).reshape(shape).copy() for dtype, shape, data in self.arrays
        ]
        decode = _Decoder(self.library, held, captured)
        return Program(
            **dict(zip(KEPT, map(decode, self.entry), strict=True)),
            arguments=arguments,
            result=result,
            names=names,
            keep=(self.library, held, captured),
        )


def read(key: str) -> Record | None:
    """The program that was kept under a key, with its code; None if either is not there."""
    data = store.read(key)
    if data is None:
        return None
    origin, shared, entry, arrays = marshal.loads(data)
    library = None if origin is None else restore(_origin(origin))
    if library is None and origin is not None:
        return None
    return Record(library, shared, entry, arrays)


class NoProgram(Exception):
    """Something has to be done in Python."""


def kept_call(
    kept: Record,
    graph: Graph,
    arguments: Sequence[Any],
    names: tuple[str, ...],
    captured: Sequence[Any],
    result: tree.TreeDef,
) -> Program | None:
    """The program that was kept for calls like these (see `native_call`); None if there is none."""
    own = graph.inputs[len(graph.inputs) - len(captured) :]
    try:
        return kept.program(arguments, names, readable(own, captured), numbered(result))
    except NoProgram:
        return None


def numbered(definition: tree.TreeDef) -> Any:
    """The tree with the number of each leaf in its place."""
    waiting = [definition]
    while waiting:
        each = waiting.pop()
        if each.kind not in (None, type(None), tuple, list, dict):
            raise NoProgram
        waiting += each.parts
    return tree.unflatten(definition, range(definition.size))


def readable(variables: Sequence[Var], captured: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
    """Captured arrays as kernels read them."""
    return [_readable(v, x) for v, x in zip(variables, captured, strict=True)]


def _readable(v: Var, x: Any) -> np.ndarray[Any, Any]:
    """A captured array as kernels read it: itself, or a copy, which stays right as it does."""
    if not isinstance(x, np.ndarray):
        x = np.array(x, v.type.dtype)
    if type(x) is not np.ndarray or x.dtype != v.type.dtype or x.shape != v.type.shape:
        raise NoProgram
    return x if x.flags.c_contiguous and x.flags.aligned else x.copy("C")
