"""An executable that needs no NumPy between its kernels, as a program for a native entry point.

The entry point checks the arguments, makes the results and runs the kernels without any Python in
between. Executables with steps in NumPy, or results that only Python can make, have none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.compile import record
from funcgrad.compile.executable import Executable
from funcgrad.compile.kernel_calls import FLAG, bytes_of
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
    is_known,
)
from funcgrad.compile.llvm.entry import View as Window
from funcgrad.compile.memory import address_of
from funcgrad.compile.record import NoProgram, numbered, readable
from funcgrad.graph.ir import Atom, Literal, Var
from funcgrad.passes.views import View

__all__ = ["native_call"]

LONG_WORK = 50_000  # additions: from there on other Python threads may run meanwhile
NUMBERS = ("float64", "int64", "complex128")


def native_call(
    executable: Executable,
    arguments: Sequence[Any],
    names: tuple[str, ...],
    captured: Sequence[Any],
    result: tree.TreeDef,
) -> Program | None:
    """The program of an executable whose calls have these arguments; None if it has none.

    Parameters
    ----------
    executable : Executable
    arguments : sequence of trees
        Of numbers of inputs of the graph, one for each argument.
    names : tuple of str
        The keywords of the last arguments.
    captured : sequence of arrays and numbers
        The last inputs of the graph, which are the same in every call.
    result : TreeDef
        The structure of the result.
    """
    try:
        program = _Writer(executable, captured).program(arguments, names, numbered(result))
    except NoProgram:
        return None
    code = executable.code
    key = record.key_of(executable.graph, executable.donated, len(captured))
    if any(k.polls for k in executable.kernels):
        key = None  # they are given addresses of this process
    if key is not None and (code is None or code.origin is not None):
        kernels = {} if code is None else {code.address(k.name): k.name for k in executable.kernels}
        origin = None if code is None else code.origin
        record.write(key, program, origin, kernels, executable.shared)
    return program


class _Writer:
    def __init__(self, executable: Executable, captured: Sequence[Any]) -> None:
        self.executable = executable
        self.layout, self.plan = executable.layout, executable.plan
        inputs = self.plan.graph.inputs
        self.given = inputs[: len(inputs) - len(captured)]
        self.leaves = {v: k for k, v in enumerate(self.given)}
        own = inputs[len(self.given) :]
        self.captured = {v: k for k, v in enumerate(own)}
        held = dict(zip(own, readable(own, captured), strict=True))
        self.constants = {**self.layout.constants, **held}
        self.buffers: list[Buffer] = []
        self.made: dict[Var, int] = {}
        self.reused = executable.places.reused
        if not self.leaves.keys() >= set(self.reused.values()):
            raise NoProgram
        self.copies: list[Copy] = []
        self.out: set[int] = set()  # buffers that results show

    def program(self, arguments: Sequence[Any], names: tuple[str, ...], result: Any) -> Program:
        executable = self.executable
        if executable.uses_numpy:
            raise NoProgram
        types = [v.type for v in self.given]
        if any(t.weak and t.dtype.name not in NUMBERS for t in types):
            raise NoProgram
        if not all(is_known(t.dtype) for t in types):
            raise NoProgram
        steps = self.steps()
        outputs = [self.output(o) for o in self.plan.graph.outputs]
        work = sum(low.work for low in executable.lowered.values())
        reused = {self.leaves[v] for v in self.reused.values()}
        return Program(
            [Leaf(t.shape, t.dtype, t.weak, "C", k in reused) for k, t in enumerate(types)],
            self.buffers,
            [*steps, *self.copies],
            outputs,
            self.layout.total,
            arguments,
            result,
            names,
            work > LONG_WORK,
            (executable, self.constants),
            tuple(self.apart(v) for v in self.reused.values()),
        )

    def steps(self) -> list[Step]:
        code = self.executable.code
        found = []
        for step in self.plan.steps:
            for call in self.executable.calls[id(step)]:
                assert code is not None
                kernel, words = code.address(call.kernel.name), list(map(self.word, call.words))
                found.append(Step(kernel, words, call.chunks, call.parallel))
        return found

    def word(self, word: Any) -> Any:
        if isinstance(word, int):
            return word
        if word is FLAG:
            return At("flag")
        if word in self.layout.offsets:
            return At("workspace", 0, self.layout.offsets[word])
        return self.place(word)

    def place(self, v: Var) -> At | int:
        """Where the memory of a base is."""
        if v in self.leaves:
            return At("leaf", self.leaves[v])
        if v in self.reused:
            return At("leaf", self.leaves[self.reused[v]])
        if v in self.constants:
            return self.held(v)
        if v in self.layout.offsets:
            return At("workspace", 0, self.layout.offsets[v])
        return At("buffer", self.buffer(v))

    def held(self, v: Var) -> Held:
        array = self.constants[v]
        return Held(address_of()(array), self.captured.get(v, array))

    def buffer(self, v: Var) -> int:
        if v not in self.made:
            self.made[v] = len(self.buffers)
            self.buffers.append(Buffer(v.type.shape, v.type.dtype))
        return self.made[v]

    def apart(self, v: Var) -> Apart:
        """The memory of a donated input, and what must not lie in it."""
        others = [(At("leaf", k), bytes_of(w)) for w, k in self.leaves.items() if w is not v]
        held = [(self.held(w), x.nbytes) for w, x in self.constants.items()]
        return Apart(At("leaf", self.leaves[v]), bytes_of(v), [*others, *held])

    def output(self, o: Atom) -> Any:
        if isinstance(o, Literal):
            return Fixed(o.value)
        kind = o.type
        if not is_known(kind.dtype) or (kind.weak and kind.dtype.name not in NUMBERS):
            raise NoProgram
        if o in self.plan.uniform:
            value = np.full(kind.shape, self.plan.uniform[o].value, kind.dtype)
            if kind.shape:
                self.buffers.append(Buffer(kind.shape, kind.dtype, "C", value))
                return Made(len(self.buffers) - 1)
            return Fixed(value.item() if kind.weak else value[()])
        if o in self.reused:
            return Given(self.leaves[self.reused[o]])
        view = self.plan.views[o]
        at = self.place(view.base)
        if isinstance(at, int):
            raise NoProgram
        if not kind.shape:
            moved = at._replace(offset=at.offset + view.offset * kind.dtype.itemsize)
            return Number(kind.dtype, moved, kind.weak)
        return self.array(o, view, at)

    def array(self, o: Var, view: View, at: At) -> Made | Window:
        """A result in memory that no argument and no other result has."""
        fresh = at.base == "buffer" and at.number not in self.out
        item = o.type.dtype.itemsize
        if fresh and view.base is not o:
            if any(s == 0 and n > 1 for s, n in zip(view.strides, view.shape, strict=True)):
                raise NoProgram
            self.out.add(at.number)
            strides = tuple(s * item for s in view.strides)
            return Window(at.number, view.shape, o.type.dtype, strides, view.offset * item)
        if view.base is not o:
            raise NoProgram  # a copy of part of something
        if not fresh:
            to = len(self.buffers)
            self.buffers.append(Buffer(o.type.shape, o.type.dtype))
            self.copies.append(Copy(At("buffer", to), at, o.type.size * item))
            at = At("buffer", to)
        self.out.add(at.number)
        return Made(at.number)
