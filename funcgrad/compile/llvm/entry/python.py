"""Entry points in Python: what the native ones do, said plainly, and used where these fail."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.compile.guards import Guard
from funcgrad.compile.llvm.entry.program import (
    Apart,
    At,
    Buffer,
    Copy,
    Fixed,
    Given,
    Leaf,
    Made,
    Number,
    Output,
    Program,
    Same,
    Step,
    View,
    Word,
)
from funcgrad.compile.llvm.pool import KERNEL, pool

__all__ = ["Chain"]

_PYTHON = {"f": float, "i": int, "c": complex}


class Chain:
    """Programs that are tried one after the other, the newest first; none unless all of
    `guards` hold.
    """

    def __init__(self, guards: Sequence[Guard] = ()) -> None:
        self._programs: list[Program] = []
        self._guards = guards

    def add(self, program: Program) -> None:
        self._programs = [program, *self._programs]

    def call(self, *args: Any, **named: Any) -> Any:
        if not all(guard.holds() for guard in self._guards):
            return NotImplemented
        for program in self._programs:
            if program.names != tuple(named):
                continue
            result = _Call(program).run((*args, *named.values()))
            if result is not NotImplemented:
                return result
        return NotImplemented


class _Miss(Exception):
    """The arguments are not those of the program."""


class _Call:
    """The memory of one call."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.given: list[Any] = [None] * len(program.leaves)
        self.arrays: list[np.ndarray[Any, Any]] = [np.empty(0)] * len(program.leaves)

    def run(self, args: Sequence[Any]) -> Any:
        program = self.program
        trees = program.argument_trees
        if len(args) != len(trees):
            return NotImplemented
        try:
            for tree, arg in zip(trees, args, strict=True):
                self.match(tree, arg)
            for apart in program.apart:
                self.check(apart)
        except _Miss:
            return NotImplemented
        self.workspace = np.empty(program.workspace + 64, np.uint8)
        self.flag = np.zeros(1, np.int64)
        self.buffers = [_make(b) for b in program.buffers]
        for step in program.steps:
            self.step(step)
            if self.flag[0]:
                return NotImplemented
        return _build(program.result_tree, [self.output(o) for o in program.outputs])

    def match(self, tree: Any, x: Any) -> None:
        if isinstance(tree, int):
            self.given[tree] = x
            self.arrays[tree] = _checked(self.program.leaves[tree], x)
        elif tree is None or type(tree) is Same:
            _expect(x is (None if tree is None else tree.value))
        elif isinstance(tree, dict):
            _expect(type(x) is dict and tuple(x) == tuple(tree))
            _expect(tuple(map(type, x)) == tuple(map(type, tree)))
            for key, child in tree.items():
                self.match(child, x[key])
        else:
            _expect(type(x) is type(tree) and len(x) == len(tree))
            for child, item in zip(tree, x, strict=True):
                self.match(child, item)

    def check(self, apart: Apart) -> None:
        first, last = self.address(apart.at), self.address(apart.at) + apart.bytes
        for other, size in apart.others:
            at = self.word(other)
            _expect(last <= at or at + size <= first)

    def step(self, step: Step | Copy) -> None:
        if isinstance(step, Copy):
            ctypes.memmove(self.word(step.to), self.word(step.source), step.bytes)
            return
        words = np.array([self.word(w) & 0xFFFF_FFFF_FFFF_FFFF for w in step.words], np.uint64)
        if step.parallel:
            pool().run(step.kernel, words.ctypes.data, step.chunks, step.parallel)
        else:
            run = KERNEL if self.program.releases else _HOLDING
            run(step.kernel)(words.ctypes.data, 0, step.chunks, 0)

    def word(self, word: Word) -> int:
        if isinstance(word, int):
            return word
        if isinstance(word, At):
            return self.address(word)
        x = self.arrays[word.leaf]
        return x.strides[word.axis] // x.itemsize

    def address(self, at: At) -> int:
        if at.base == "workspace":
            start = self.workspace.ctypes.data
            return start + -start % 64 + at.offset
        arrays = {"leaf": self.arrays, "buffer": self.buffers, "flag": [self.flag]}[at.base]
        return arrays[at.number].ctypes.data + at.offset

    def output(self, output: Output) -> Any:
        if isinstance(output, Made):
            return self.buffers[output.buffer]
        if isinstance(output, View):
            base: Any = self.buffers[output.buffer]
            if output.strides and base.flags.f_contiguous:
                base = base.T
            return np.ndarray(output.shape, output.dtype, base, output.offset, output.strides)
        if isinstance(output, Given):
            return self.given[output.leaf]
        if isinstance(output, Fixed):
            return output.value
        return _number(output, ctypes.string_at(self.address(output.at), output.dtype.itemsize))


_HOLDING = ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)


def _expect(holds: bool) -> None:
    if not holds:
        raise _Miss


def _checked(leaf: Leaf, x: Any) -> np.ndarray[Any, Any]:
    """The argument as an array; _Miss if it is none of the leaf's kind."""
    if leaf.weak:
        _expect(type(x) is _PYTHON[leaf.dtype.kind])
        try:
            return np.array(x, leaf.dtype)
        except OverflowError:
            raise _Miss from None
    if not leaf.shape:
        is_bool = leaf.dtype.kind == "b" and type(x) is bool
        if is_bool or type(x) is leaf.dtype.type:
            return np.array(x)
    _expect(type(x) is np.ndarray and x.dtype == leaf.dtype and x.shape == leaf.shape)
    flags = x.flags
    _expect(flags.aligned and (flags.writeable or not leaf.writeable))
    if leaf.order == "any":
        _expect(all(s % x.itemsize == 0 for s in x.strides))
    else:
        _expect(flags.c_contiguous if leaf.order == "C" else flags.f_contiguous)
    array: np.ndarray[Any, Any] = x
    return array


def _make(buffer: Buffer) -> np.ndarray[Any, Any]:
    order: Any = buffer.order
    made = np.empty(buffer.shape, buffer.dtype, order)
    if buffer.content is not None:
        made[...] = buffer.content
    return made


def _number(output: Number, data: bytes) -> Any:
    scalar = np.frombuffer(data, output.dtype)[0]
    return scalar.item() if output.weak else scalar


def _build(tree: Any, outputs: Sequence[Any]) -> Any:
    if isinstance(tree, int):
        return outputs[tree]
    if tree is None:
        return None
    if isinstance(tree, dict):
        return {key: _build(child, outputs) for key, child in tree.items()}
    make: Callable[[Any], Any] = type(tree)
    return make([_build(child, outputs) for child in tree])
