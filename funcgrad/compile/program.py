"""An executable as one function of LLVM IR that needs no Python: kernels called in their order.

``i64 name(ptr inputs, ptr outputs)`` takes arrays of addresses, of every input and output of the
graph in C order, and gives 0, or what went wrong. Intermediate values lie on the stack, or in
memory of the call where there are many, so that any number of threads may run it; on request the
caller gives that memory, ``i64 name(ptr inputs, ptr outputs, ptr workspace)``. A step that NumPy
does in the host program is written as loops. What has none is for whoever takes the program: code
for Numba calls functions of Numba's (`numba.program`), others refuse it with a named error.
"""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

import numpy as np

from funcgrad.compile.code import Written
from funcgrad.compile.executable import Executable
from funcgrad.compile.kernel_calls import FLAG, Call, Memory, Scratch, bytes_of, call, words
from funcgrad.compile.loops import Kernel, scratch_bytes
from funcgrad.compile.nest import Nest
from funcgrad.compile.scalars import NATIVE
from funcgrad.compile.steps import copy_step, fill_step, step_of
from funcgrad.errors import NativeCodeError
from funcgrad.graph.effects import first_effect, has_effect
from funcgrad.graph.ir import Atom, Equation, Literal, Var
from funcgrad.passes.buffers import Lifetime, place
from funcgrad.passes.views import View, whole

__all__ = ["OUT_OF_BOUNDS", "OUT_OF_MEMORY", "NativeProgram", "ProgramWriter", "escaped"]

OUT_OF_BOUNDS, OUT_OF_MEMORY = 1, 2  # what a program returns
STACK = 1 << 15  # bytes of intermediate values; more of them are taken from the heap
SMALL = 4096.0  # additions; a program with less is inlined where it is called


class NativeProgram(NamedTuple):
    """A program: its text, the kernels and the arrays ``@constant0`` … that the text refers to.

    `outside` are other functions that it calls; it needs a `workspace` of so many bytes.
    """

    name: str
    text: str
    kernels: list[Kernel]
    constants: list[np.ndarray[Any, Any]]
    small: bool
    outside: list[Any]
    workspace: int = 0


def escaped(a: np.ndarray[Any, Any]) -> str:
    """The bytes of an array as a constant of LLVM's."""
    return "".join(f"\\{byte:02X}" for byte in a.tobytes())


class ProgramWriter:
    """Writes the program of an executable; `lends`, if the caller gives its memory.

    Raises
    ------
    NativeCodeError
        An operation has no native form; the message names it and the user's line.
    """

    lends = False

    def __init__(self, executable: Executable, name: str) -> None:
        assert not executable.runs_again  # which takes Python
        self.executable, self.plan, self.name = executable, executable.plan, name
        self.graph = self.plan.graph
        self.inputs = {v: k for k, v in enumerate(self.graph.inputs)}
        self.constants = {v: np.asarray(a, order="C") for v, a in self.graph.constants}
        self.outputs: dict[Any, int] = {}  # the memory of which output a base is written to
        self.calls: list[Call] = []
        self.lines: list[str] = []
        self.offsets: dict[Any, int] = {}

    def write(self) -> NativeProgram:
        for a in (*self.graph.inputs, *self.graph.outputs):
            self.check_dtype(a)
        direct = self.direct_outputs()
        for k, step in enumerate(self.plan.steps):
            low = self.executable.lowered.get(id(step))
            # a loop that looks for signals is one of this process
            if low is not None and not any(each.polls for each in low.kernels):
                self.calls += self.executable.calls[id(step)]
            else:
                assert isinstance(step, Equation)
                self.host_step(step, f"s{k}")
        for k, o in enumerate(self.graph.outputs):
            if k not in direct:
                self.write_output(k, o)
        total = self.plan_memory()
        return self.function(total)

    def check_dtype(self, a: Atom) -> None:
        if a.type.dtype not in NATIVE:
            made = [e for e in self.graph.equations if any(a is v for v in e.outputs)]
            raise NativeCodeError(
                f"native code has no arrays of {a.type.dtype}: it takes and returns "
                f"{', '.join(sorted(NATIVE.values()))}"
                + "".join(f"\n  at {e.source}" for e in made)
            )

    # --------------------------------------------------------------------------------- steps

    def direct_outputs(self) -> set[int]:
        """Outputs whose memory their kernel writes itself; the others are copied at the end."""
        found = set()
        for k, o in enumerate(self.graph.outputs):
            if not isinstance(o, Var) or o in self.plan.uniform:
                continue
            view = self.plan.views[o]
            base = view.base
            if base in self.inputs or base in self.constants or base in self.outputs:
                continue
            if _covers(view):
                self.outputs[base] = k
                found.add(k)
        return found

    def host_step(self, e: Equation, name: str) -> None:
        if not has_effect(e) and all(v.type.size == 0 for v in e.outputs):
            return  # nothing to compute
        step = step_of(e, self.plan, name)
        if step is not None:
            self.call_step(step)
            return
        self.other_step(e, name)

    def other_step(self, e: Equation, name: str) -> None:
        """A step that is written by no loops."""
        self.refuse(e)

    @staticmethod
    def refuse(e: Equation) -> NoReturn:
        types = ", ".join(str(a.type) for a in e.inputs)
        acting = first_effect(e)
        if acting is not None:
            raise NativeCodeError(
                f"{acting[0]} has an effect outside of the program, which code without Python "
                f"cannot have\n  at {acting[1].source}"
            )
        raise NativeCodeError(
            f"{e.prim.name} of {types} has no native form; in the host program it runs in "
            f"NumPy, which code without Python cannot call\n  at {e.source}"
        )

    def call_step(self, step: Written) -> None:
        given = words(step)
        room = scratch_bytes(step.kernel, step.integers)
        if room:
            given.append(Scratch(-1 - len(self.calls), room))
        self.calls.append(call(step.kernel, given))

    def dense(self, a: Atom, shape: tuple[int, ...], name: str) -> Var:
        """The base of an operand, broadcast to `shape`, in C order; of a copy if need be."""
        nest = Nest(self.plan, name)
        view = nest.view(a)
        if isinstance(view, View):
            if view.shape == shape and _covers(view):
                return view.base
            more = (0,) * (len(shape) - len(view.shape))
            own = (0 if n == 1 else s for n, s in zip(view.shape, view.strides, strict=True))
            view = View(view.base, view.offset, shape, (*more, *own))
        kind = a.type._replace(shape=shape)
        copy = Var(kind, -1 - len(self.graph.outputs) - len(self.calls))
        nest.copy(view, whole(copy), NATIVE[kind.dtype])
        self.call_step(nest.written())
        return copy

    def write_output(self, k: int, o: Atom) -> None:
        """Fill an output with a number, or with a copy of what lies elsewhere."""
        target = Var(o.type, -1 - k)
        self.outputs[target] = k
        literal = o if isinstance(o, Literal) else self.plan.uniform.get(o)
        if literal is not None:
            value = np.asarray(literal.value).astype(o.type.dtype)[()]
            self.call_step(fill_step(value, target, f"fill{k}"))
        else:
            assert isinstance(o, Var)
            view = self.plan.views[o]
            self.call_step(copy_step(view, target, NATIVE[o.type.dtype], f"copy{k}"))

    # -------------------------------------------------------------------------------- memory

    def plan_memory(self) -> int:
        """Places of intermediate values; the number of bytes that they need."""
        born: dict[Memory, int] = {}
        dies: dict[Memory, int] = {}
        given = {*self.inputs, *self.outputs, *self.constants}
        for k, each in enumerate(self.calls):
            for m in each.memory:
                if m not in given:
                    born.setdefault(m, k)
                    dies[m] = k
        offsets, total = place([Lifetime(bytes_of(m), born[m], dies[m]) for m in born])
        self.offsets = dict(zip(born, offsets, strict=True))
        return total

    def address(self, key: Any) -> str:
        if bytes_of(key) == 0:
            return "null"
        if key in self.inputs:
            return f"%input{self.inputs[key]}"
        if key in self.outputs:
            return f"%output{self.outputs[key]}"
        if key in self.constants:
            return f"@constant{list(self.constants).index(key)}"
        return f"%place{self.offsets[key]}"

    # ---------------------------------------------------------------------------------- text

    def add(self, line: str) -> None:
        self.lines.append("  " + line)

    def function(self, total: int) -> NativeProgram:
        work = sum(low.work for low in self.executable.lowered.values())
        small = work < SMALL and total <= STACK
        self.slots("input", len(self.graph.inputs))
        self.slots("output", len(self.graph.outputs))
        self.add("%flag = alloca i64")
        counts = [max(len(c.words), 1) for c in self.calls]
        apart = 8 * sum(counts) <= STACK  # words of their own, which become registers in small ones
        self.words_of = [f"%a{k if apart else 0}" for k in range(len(counts))]
        for k, count in enumerate(counts if apart else [max(counts)]):
            self.add(f"%a{k} = alloca [{count} x i64], align 8")
        heap = total > STACK and not self.lends
        self.add("store i64 0, ptr %flag")
        self.memory(total, heap)
        for offset in sorted(set(self.offsets.values())):
            self.add(f"%place{offset} = getelementptr i8, ptr %memory, i64 {offset}")
        for k, each in enumerate(self.calls):
            self.call(k, each)
        if heap:
            self.add("call void @free(ptr %given)")
        self.add("%status = load i64, ptr %flag")
        self.add("ret i64 %status")
        used = list(self.constants.values())
        more = ", ptr %workspace" if self.lends else ""
        head = f"define i64 @{self.name}(ptr %inputs, ptr %outputs{more}) nounwind {{"
        text = "\n".join([head, "entry:", *self.lines, "}"])
        if heap:
            text += "\ndeclare ptr @malloc(i64)\ndeclare void @free(ptr)"
        # products of the same kind share their code
        kernels = {c.kernel.name: c.kernel for c in self.calls if isinstance(c.kernel, Kernel)}
        outside = [c.kernel for c in self.calls if not isinstance(c.kernel, Kernel)]
        lent = total + 64 if total > STACK and self.lends else 0
        return NativeProgram(
            self.name, text + "\n", [*kernels.values()], used, small, outside, lent
        )

    def slots(self, what: str, count: int) -> None:
        for k in range(count):
            self.add(f"%{what}{k}.at = getelementptr ptr, ptr %{what}s, i64 {k}")
            self.add(f"%{what}{k} = load ptr, ptr %{what}{k}.at")

    def memory(self, total: int, heap: bool) -> None:
        if not total:
            return
        if total <= STACK:
            self.add(f"%memory = alloca [{total} x i8], align 64")
            return
        given = (
            f"call ptr @malloc(i64 {total + 64})"
            if heap
            else "getelementptr i8, ptr %workspace, i64 0"
        )
        self.add(f"%given = {given}")
        self.add("%none = icmp eq ptr %given, null")
        self.add("br i1 %none, label %failed, label %go")
        self.lines.append("failed:")
        self.add(f"ret i64 {OUT_OF_MEMORY}")
        self.lines.append("go:")
        self.add("%number = ptrtoint ptr %given to i64")
        self.add("%above = add i64 %number, 63")
        self.add("%rounded = and i64 %above, -64")
        self.add("%memory = inttoptr i64 %rounded to ptr")

    def call(self, k: int, call: Call) -> None:
        table = self.words_of[k]
        for n, word in enumerate(call.words):
            self.add(f"%a{k}.{n} = getelementptr i64, ptr {table}, i64 {n}")
            at = "%flag" if word is FLAG else word if isinstance(word, int) else self.address(word)
            kind = "i64" if isinstance(word, int) else "ptr"
            self.add(f"store {kind} {at}, ptr %a{k}.{n}")
        self.add(f"call void @{call.kernel.name}(ptr {table}, i64 0, i64 {call.chunks}, i64 0)")


def _covers(view: View) -> bool:
    """Whether a view is all of its base, in the order in which that lies in memory."""
    like = Var(view.base.type._replace(shape=view.shape), -1)
    whole_size = like.type.size == view.base.type.size
    return view.offset == 0 and whole_size and view.strides == whole(like).strides
