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
from funcgrad.graph.ir import Graph

__all__ = ["Record", "key_of", "read", "write"]

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
    try:
        entry = _Encoder(names).program(program)
    except _Foreign:
        return
    kept = None if origin is None else _plain(origin)
    store.write(key, marshal.dumps((kept, shared, entry), 4))


def _plain(origin: Origin) -> tuple[Any, ...]:
    return origin.key, tuple((name, _plain(each)) for name, each in origin.calls)


def _origin(plain: tuple[Any, ...]) -> Origin:
    key, calls = plain
    return Origin(key, tuple((name, _origin(each)) for name, each in calls))


class _Encoder:
    def __init__(self, names: dict[int, str]) -> None:
        self.names = names
        self.arrays: list[np.ndarray[Any, Any]] = []

    def program(self, p: Program) -> tuple[Any, ...]:
        leaves = tuple((x.shape, x.dtype.str, x.weak, x.order, x.writeable) for x in p.leaves)
        buffers = tuple(map(self.buffer, p.buffers))
        steps = tuple(map(self.step, p.steps))
        outputs = tuple(map(self.output, p.outputs))
        apart = tuple(
            (self.word(a.at), a.bytes, tuple((self.word(w), n) for w, n in a.others))
            for a in p.apart
        )
        if sum(x.nbytes for x in self.arrays) > LARGEST:
            raise _Foreign
        arrays = tuple((x.dtype.str, x.shape, x.tobytes()) for x in self.arrays)
        return leaves, buffers, steps, outputs, p.workspace, p.release, apart, arrays

    def buffer(self, b: Buffer) -> tuple[Any, ...]:
        content = None if b.content is None else self.array(b.content)
        return b.shape, b.dtype.str, b.order, content

    def array(self, x: np.ndarray[Any, Any]) -> int:
        for k, known in enumerate(self.arrays):
            if known is x:
                return k
        self.arrays.append(x)
        return len(self.arrays) - 1

    def step(self, s: Step | Copy) -> tuple[Any, ...]:
        if isinstance(s, Copy):
            return self.word(s.to), self.word(s.source), s.bytes
        return self.names[s.kernel], tuple(map(self.word, s.words)), s.chunks, s.parallel

    def word(self, w: Any) -> Any:
        if isinstance(w, At):
            return tuple(w)
        if isinstance(w, Held):  # a captured array, or one that we keep
            return (w.source,) if isinstance(w.source, int) else (self.array(w.source), "array")
        if not isinstance(w, (int, np.integer)):
            raise _Foreign
        return int(w)

    def output(self, o: Any) -> tuple[Any, ...]:
        if isinstance(o, Fixed):
            if isinstance(o.value, np.generic):
                return "Fixed", o.value.dtype.str, o.value.tobytes()
            if type(o.value) not in (int, float, complex, bool):
                raise _Foreign
            return "Fixed", None, o.value
        if isinstance(o, Number):
            return "Number", o.dtype.str, tuple(o.at), o.weak
        if isinstance(o, View):
            return "View", o.buffer, o.shape, o.dtype.str, o.strides, o.offset
        return ("Made", o.buffer) if isinstance(o, Made) else ("Given", o.leaf)


class Record(NamedTuple):
    """A program that was kept, with its code in the process.

    `shared` are the outputs that are inputs, or show the memory of an earlier output.
    """

    library: Any
    shared: tuple[int, ...]
    entry: tuple[Any, ...]

    def program(
        self,
        arguments: Sequence[Any],
        names: tuple[str, ...],
        captured: Sequence[np.ndarray[Any, Any]],
        result: Any,
    ) -> Program:
        """The program for arguments, captured arrays and results like these."""
        leaves, buffers, steps, outputs, workspace, release, apart, arrays = self.entry
        held = [np.frombuffer(data, dtype).reshape(shape).copy() for dtype, shape, data in arrays]
        words = _Words([address_of()(x) for x in held], [address_of()(x) for x in captured])
        library = self.library

        def step(s: tuple[Any, ...]) -> Step | Copy:
            if len(s) == 3:
                return Copy(words(s[0]), words(s[1]), s[2])
            kernel, given, chunks, parallel = s
            return Step(library.address(kernel), list(map(words, given)), chunks, parallel)

        return Program(
            [Leaf(s, np.dtype(d), *rest) for s, d, *rest in leaves],
            [
                Buffer(s, np.dtype(d), order, None if k is None else held[k])
                for s, d, order, k in buffers
            ],
            list(map(step, steps)),
            list(map(_output, outputs)),
            workspace,
            arguments,
            result,
            names,
            release,
            (library, held, captured),
            tuple(
                Apart(words(at), size, [(words(w), n) for w, n in others])
                for at, size, others in apart
            ),
        )


class _Words:
    def __init__(self, arrays: list[int], captured: list[int]) -> None:
        self.arrays, self.captured = arrays, captured

    def __call__(self, w: Any) -> Any:
        if isinstance(w, int):
            return w
        if len(w) == 1:
            return self.captured[w[0]]
        return self.arrays[w[0]] if len(w) == 2 else At(*w)


def _output(o: tuple[Any, ...]) -> Any:
    kind, *rest = o
    if kind == "Fixed":
        dtype, value = rest
        return Fixed(value if dtype is None else np.frombuffer(value, dtype)[0])
    if kind == "Number":
        return Number(np.dtype(rest[0]), At(*rest[1]), rest[2])
    if kind == "View":
        buffer, shape, dtype, strides, offset = rest
        return View(buffer, shape, np.dtype(dtype), strides, offset)
    return (Made if kind == "Made" else Given)(rest[0])


def read(key: str) -> Record | None:
    """The program that was kept under a key, with its code; None if either is not there."""
    data = store.read(key)
    if data is None:
        return None
    origin, shared, entry = marshal.loads(data)
    library = None if origin is None else restore(_origin(origin))
    return None if library is None and origin is not None else Record(library, shared, entry)
