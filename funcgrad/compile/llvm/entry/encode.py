"""A program written into memory: tables of 8-byte words that the native entry point reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from funcgrad.compile.llvm.entry.program import (
    At,
    Buffer,
    Copy,
    Fixed,
    Given,
    Leaf,
    Made,
    Output,
    Program,
    Same,
    Step,
    Stride,
    View,
)
from funcgrad.compile.llvm.entry.records import (
    ALIGNED,
    BUILD,
    C_ORDER,
    F_ORDER,
    LEAF,
    RECORDS,
    UNPACK,
    WRITEABLE,
)
from funcgrad.compile.llvm.entry.words import Memory, Table
from funcgrad.errors import CompilerError

__all__ = ["encode"]

_SMALL = 8192  # bytes of a workspace, with the arguments of the kernels, that lies on the stack
_LARGEST_FRAME = 64 * 1024


def encode(program: Program, copy: int, following: int) -> np.ndarray[Any, Any]:
    """The plan of `program`; `copy` is the address of the kernel that copies, `following` that of
    the plan to be tried after it. CompilerError if a call would need too much of the stack.
    """
    return _Encoder(program, copy).plan(following)


class _Encoder(Memory):
    """Writes a program as a plan."""

    def __init__(self, program: Program, copy: int) -> None:
        super().__init__(len(RECORDS["plan"]))
        self.program = program
        self.steps = [
            Step(copy, each) if isinstance(each, Copy) else each
            for each in (*_contents(program.buffers), *program.steps)
        ]
        self.unpacks: list[int | Table] = []
        self.object_of = [0] * len(program.leaves)
        self.stack = 1

    def plan(self, following: int) -> np.ndarray[Any, Any]:
        """The words of the plan, which begins with the address of the one to be tried after it."""
        program = self.program
        arguments = len(program.argument_trees)
        self.objects = arguments
        for k, tree in enumerate(program.argument_trees):
            self.match(tree, k)
        words, patches, strides, steps = self.arguments()
        builds: list[int | Table] = []
        self.build(program.result_tree, builds, 0)
        leaves, buffers = len(program.leaves), len(program.buffers)
        at_words = program.workspace + -program.workspace % 8
        scratch = at_words + 8 * len(words)
        slot, heap = _size_class(scratch) if scratch > _SMALL else (0, 0)
        frame = _Frame()
        frame.add(self.objects + buffers)
        fields = {
            "next": following,
            "arguments": arguments,
            "positional": arguments - len(program.names),
            **self.counted("name", [id(name) for name in program.names]),
            **self.counted("unpack", self.unpacks),
            **self.counted("leaf", [w for k in range(leaves) for w in self.leaf(k)]),
            **self.counted("apart", self.aparts()),
            **self.counted("buffer", [w for b in program.buffers for w in self.buffer(b)]),
            "words": len(words),
            "template": self.table(words),
            **self.counted("patch", patches),
            **self.counted("stride", strides),
            **self.counted("step", steps),
            **self.counted("build", builds),
            "heap_slot": slot,
            "heap_bytes": heap,
            "release": int(program.releases),
            "first_buffer": self.objects,
            "at_bases": frame.add(leaves + buffers + 2),
            "at_slots": frame.add(leaves),
            "at_flag": frame.add(1),
            "at_words": at_words,
            "at_stack": frame.add(self.stack),
            "at_scratch": frame.align(),
            "frame": frame.bytes + (0 if heap else scratch),
        }
        if frame.bytes > _LARGEST_FRAME:
            raise CompilerError(f"the arguments and results of a call take {frame.bytes} bytes")
        for k, name in enumerate(RECORDS["plan"]):
            self.memory[k] = fields[name]
        return self.written()

    def counted(self, record: str, words: Sequence[Any]) -> dict[str, Any]:
        plural = {"leaf": "leaves", "patch": "patches"}.get(record, record + "s")
        return {plural: len(words) // len(RECORDS[record]), record: self.table(words)}

    # ---------------------------------------------------------------------------- arguments

    def match(self, tree: Any, number: int) -> None:
        if isinstance(tree, int):
            self.object_of[tree] = number
        elif tree is None:
            self.unpacks += [UNPACK["same"], number, id(None), 0, 0, 0]
        elif type(tree) is Same:
            self.unpacks += [UNPACK["same"], number, id(tree.value), 0, 0, 0]
        else:
            kind = type(tree)
            first, keys = self.objects, self.table(map(id, tree) if kind is dict else ())
            self.unpacks += [UNPACK[kind.__name__], number, id(kind), len(tree), first, keys]
            self.objects += len(tree)
            for k, child in enumerate(tree.values() if kind is dict else tree):
                self.match(child, first + k)

    def leaf(self, k: int) -> list[int | Table]:
        leaf = self.program.leaves[k]
        flags = ALIGNED | (WRITEABLE if leaf.writeable else 0)
        flags |= {"C": C_ORDER, "F": F_ORDER, "any": 0}[leaf.order]
        kind, type_ = _kind_of(leaf)
        return [
            LEAF[kind],
            self.object_of[k],
            id(type_),
            id(leaf.dtype),
            leaf.dtype.num,
            len(leaf.shape),
            self.table(leaf.shape),
            flags,
            leaf.dtype.itemsize - 1 if leaf.order == "any" else 0,
        ]

    def buffer(self, buffer: Buffer) -> list[int | Table]:
        order = 1 if buffer.order == "F" else 0
        return [id(buffer.dtype), len(buffer.shape), self.table(buffer.shape), order]

    def aparts(self) -> list[int]:
        """A base of -1 stands for none: the address is the whole of it."""
        found: list[int] = []
        for x in self.program.apart:
            for other, size in x.others:
                base, address = (
                    (-1, other) if isinstance(other, int) else (self.base(other), other.offset)
                )
                found += [self.base(x.at), x.bytes, base, address, size]
        return found

    def base(self, at: At) -> int:
        leaves, buffers = len(self.program.leaves), len(self.program.buffers)
        start = {
            "leaf": 0,
            "buffer": leaves,
            "workspace": leaves + buffers,
            "flag": leaves + buffers + 1,
        }
        return start[at.base] + at.number

    def arguments(self) -> tuple[list[int], list[int], list[int], list[int]]:
        """The words of all steps, where addresses and strides go into them, and the steps."""
        words: list[int] = []
        patches: list[int] = []
        strides: list[int] = []
        steps: list[int] = []
        for step in self.steps:
            steps += [step.kernel, len(words), step.chunks, step.parallel]
            for word in step.words:
                if isinstance(word, At):
                    patches += [len(words), self.base(word), word.offset]
                elif isinstance(word, Stride):
                    shift = self.program.leaves[word.leaf].dtype.itemsize.bit_length() - 1
                    strides += [len(words), self.object_of[word.leaf], word.axis, shift]
                words.append(word if isinstance(word, int) else 0)
        return words, patches, strides, steps

    # ------------------------------------------------------------------------------ results

    def build(self, tree: Any, builds: list[int | Table], depth: int) -> None:
        """Push the object of `tree` onto the stack, which is so deep."""
        self.stack = max(self.stack, depth + 1)
        if isinstance(tree, int):
            builds += self.output(self.program.outputs[tree])
        elif tree is None:
            builds += [BUILD["object"], 0, 0, id(None)]
        else:
            kind = type(tree)
            for k, child in enumerate(tree.values() if kind is dict else tree):
                self.build(child, builds, depth + k)
            keys = self.table(map(id, tree) if kind is dict else ())
            builds += [BUILD[kind.__name__], len(tree), 0, keys]

    def output(self, output: Output) -> list[int | Table]:
        if isinstance(output, Made):
            return [BUILD["held"], self.objects + output.buffer, 0, 0]
        if isinstance(output, Given):
            return [BUILD["held"], self.object_of[output.leaf], 0, 0]
        if isinstance(output, Fixed):
            return [BUILD["object"], 0, 0, id(output.value)]
        if isinstance(output, View):
            return [BUILD["view"], 0, 0, self.view(output)]
        python = {"f": "float", "i": "integer", "c": "complex"}
        kind = python[output.dtype.kind] if output.weak else "scalar"
        return [BUILD[kind], self.base(output.at), output.at.offset, id(output.dtype)]

    def view(self, view: View) -> Table:
        shape, strides = self.table(view.shape), self.table(view.strides)
        base = self.base(At("buffer", view.buffer))
        owner = self.objects + view.buffer
        return self.table(
            [id(view.dtype), len(view.shape), shape, strides, view.offset, base, owner]
        )


class _Frame:
    """The layout of the memory of a call: where in it the tables lie."""

    def __init__(self) -> None:
        self.bytes = 0

    def add(self, words: int) -> int:
        start = self.bytes
        self.bytes += 8 * words
        return start

    def align(self) -> int:
        self.bytes += -self.bytes % 64
        return self.bytes


def _contents(buffers: Sequence[Buffer]) -> Iterable[Copy]:
    for k, buffer in enumerate(buffers):
        if buffer.content is not None:
            yield Copy(At("buffer", k), buffer.content.ctypes.data, buffer.content.nbytes)


def _kind_of(leaf: Leaf) -> tuple[str, type | None]:
    if leaf.weak:
        python = {"f": ("number", float), "c": ("number", complex), "i": ("integer", int)}
        return python[leaf.dtype.kind]
    if leaf.shape:
        return "array", None
    return "boolean" if leaf.dtype.kind == "b" else "scalar", leaf.dtype.type


def _size_class(size: int) -> tuple[int, int]:
    """Four sizes between powers of two, so that workspaces can be used again: (number, size)."""
    quarter = 1 << (size.bit_length() - 3)
    rounded = -(-size // quarter) * quarter
    power = rounded.bit_length() - 1
    return 4 * power + (rounded >> (power - 2)) % 4, rounded
