"""An executable that needs no NumPy between its kernels, as a program for a native entry point.

The entry point checks the arguments, makes the results and runs the kernels without any Python in
between. Executables with steps in NumPy, or results that only Python can make, have none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.compile.host import PARALLEL_WORK, Executable
from funcgrad.compile.llvm.entry import (
    At,
    Buffer,
    Fixed,
    Leaf,
    Made,
    Number,
    Program,
    Step,
    View,
    bits,
    is_known,
)
from funcgrad.compile.loops import Kernel
from funcgrad.compile.lower import Argument
from funcgrad.compile.memory import address_of
from funcgrad.graph.ir import Atom, Literal, Var
from funcgrad.passes.region import Region

__all__ = ["native_call"]

LONG_WORK = 50_000  # additions: from there on other Python threads may run meanwhile
NUMBERS = ("float64", "int64", "complex128")


def native_call(
    executable: Executable, arguments: Sequence[Any], result: tree.TreeDef
) -> Program | None:
    """The program of an executable whose calls have these arguments; None if it has none.

    Parameters
    ----------
    executable : Executable
    arguments : sequence of trees
        Of numbers of inputs of the graph, one for each argument.
    result : TreeDef
        The structure of the result.
    """
    try:
        return _Writer(executable).program(arguments, _numbered(result, iter(range(10**6))))
    except _NoProgram:
        return None


class _NoProgram(Exception):
    """Something has to be done in Python."""


def _numbered(definition: tree.TreeDef, numbers: Any) -> Any:
    if definition.kind is None:
        return next(numbers)
    children = [_numbered(c, numbers) for c in definition.children]
    if definition.kind is type(None):
        return None
    if definition.kind in (tuple, list):
        return definition.kind(children)
    if definition.kind is dict:
        return dict(zip(definition.meta, children, strict=True))
    raise _NoProgram


class _Writer:
    def __init__(self, executable: Executable) -> None:
        self.executable = executable
        self.layout, self.plan = executable.layout, executable.plan
        self.leaves = {v: k for k, v in enumerate(self.plan.graph.inputs)}
        self.buffers: list[Buffer] = []
        self.made: dict[Var, int] = {}

    def program(self, arguments: Sequence[Any], result: Any) -> Program:
        executable = self.executable
        if executable.uses_numpy or executable.code is None:
            raise _NoProgram
        types = [v.type for v in self.plan.graph.inputs]
        if any(t.weak and t.dtype.name not in NUMBERS for t in types):
            raise _NoProgram
        if not all(is_known(t.dtype) for t in types):
            raise _NoProgram
        steps = self.steps()
        outputs = [self.output(o) for o in self.plan.graph.outputs]
        work = sum(low.work for low in executable.lowered.values())
        return Program(
            [Leaf(t.shape, t.dtype, t.weak) for t in types],
            self.buffers,
            steps,
            outputs,
            self.layout.total,
            arguments,
            result,
            work > LONG_WORK,
            executable,
        )

    def steps(self) -> list[Step]:
        found: list[Step] = []
        calls = iter(self.layout.calls)
        code = self.executable.code
        assert code is not None
        for step in self.plan.steps:
            assert isinstance(step, Region)
            low = self.executable.lowered[id(step)]
            chunks = low.layout.chunks
            parallel = chunks > 1 and low.work > PARALLEL_WORK
            words = self.words(*next(calls))
            found.append(Step(code.address(low.kernel.name), words, chunks, parallel))
            if low.finish is not None:
                words = self.words(*next(calls))
                found.append(Step(code.address(low.finish.name), words))
        return found

    def words(
        self,
        kernel: Kernel,
        arguments: Sequence[Argument],
        integers: Sequence[int],
        numbers: Sequence[Any],
        partials: dict[str, int],
        direct: dict[str, Var],
    ) -> list[Any]:
        found: list[Any] = []
        for a in arguments:
            if a.role == "partial" and a.name not in direct:
                found.append(At("workspace", 0, partials[str(a.var)]))
            else:
                assert a.var is not None
                found.append(self.place(a.var))
        found += [*integers, *map(bits, numbers)]
        return [*found, At("flag")] if kernel.requires else found

    def place(self, v: Var) -> At | int:
        """Where the memory of a base is."""
        if v in self.leaves:
            return At("leaf", self.leaves[v])
        if v in self.layout.constants:
            return address_of()(self.layout.constants[v])
        if v in self.layout.places:
            return At("workspace", 0, self.layout.places[v])
        return At("buffer", self.buffer(v))

    def buffer(self, v: Var) -> int:
        if v not in self.made:
            self.made[v] = len(self.buffers)
            self.buffers.append(Buffer(v.type.shape, v.type.dtype))
        return self.made[v]

    def output(self, o: Atom) -> Any:
        if isinstance(o, Literal):
            return Fixed(o.value)
        if o in self.plan.uniform:
            value = np.full(o.type.shape, self.plan.uniform[o].value, o.type.dtype)
            if o.type.shape:
                raise _NoProgram
            return Fixed(value.item() if o.type.weak else value[()])
        view = self.plan.views[o]
        base, item = view.base, o.type.dtype.itemsize
        if o in self.leaves or not is_known(o.type.dtype):
            raise _NoProgram
        if not o.type.shape:
            at = self.place(base)
            if isinstance(at, int) or (o.type.weak and o.type.dtype.name not in NUMBERS):
                raise _NoProgram
            moved = at._replace(offset=at.offset + view.offset * item)
            return Number(o.type.dtype, moved, o.type.weak)
        if base not in self.made:
            raise _NoProgram  # a copy of something else
        if base is o:
            return Made(self.made[base])
        if any(s == 0 and n > 1 for s, n in zip(view.strides, view.shape, strict=True)):
            raise _NoProgram
        strides = tuple(s * item for s in view.strides)
        return View(self.made[base], view.shape, o.type.dtype, strides, view.offset * item)
