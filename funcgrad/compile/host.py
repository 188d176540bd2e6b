"""The host program: straight-line Python that runs kernels, and NumPy for everything else.

It fills in the addresses of arguments and results and runs the steps of a plan.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from funcgrad.compile.buffer_assignment import is_spread, takes_out
from funcgrad.compile.kernel_calls import Call, Memory
from funcgrad.compile.memory import address_of
from funcgrad.graph.ir import Atom, Equation, Literal, Var
from funcgrad.ops.index import PLACE, decode
from funcgrad.ops.shape import CONCATENATE

if TYPE_CHECKING:
    from funcgrad.compile.executable import Executable

__all__ = ["write_program"]


class HostProgram(NamedTuple):
    """The text of a function of a workspace and the inputs, what it names, and the equations that
    NumPy runs in some of its lines.
    """

    text: str
    names: dict[str, Any]
    equations: dict[int, Equation]


def write_program(executable: Executable) -> HostProgram:
    """The program of an executable."""
    return _Writer(executable).write()


class _Writer:
    """Writes the program of an executable."""

    def __init__(self, executable: Executable) -> None:
        self.executable = executable
        self.plan, self.layout, self.places = (
            executable.plan,
            executable.layout,
            executable.places,
        )
        self.graph = executable.plan.graph
        self.lines: list[str] = []
        self.equations: dict[int, Equation] = {}  # by line
        self.names: dict[str, Any] = {
            "ndarray": np.ndarray,
            "empty": np.empty,
            "asarray": np.asarray,
            "contiguous": np.ascontiguousarray,
            "address": address_of(),
            "run": executable.backend.run,
            "batch": None if executable.code is None else executable.code.batch,
            "fail": executable.fail,
            "interpret": executable.interpret,
            "own": _own,
        }
        self.text: dict[Var, str] = {}  # how the program names a value
        self.count = 0

    def constant(self, value: Any) -> str:
        """An object that the program reads as a global."""
        self.count += 1
        name = f"c{self.count}"
        self.names[name] = value
        return name

    def write(self) -> HostProgram:
        self.leaves = {v: f"x{k}" for k, v in enumerate(self.graph.inputs)}
        self.lines.append(f"def program(w, {', '.join(self.leaves.values())}):")
        self.enter()
        self.steps()
        if any(k.requires for k in self.executable.kernels):
            self.leave_if_failed()
        outputs = "".join(f"{self.output(o)}, " for o in self.graph.outputs)
        self.add(f"return ({outputs})")
        return HostProgram("\n".join(self.lines) + "\n", self.names, self.equations)

    def add(self, line: str) -> None:
        self.lines.append("    " + line)

    def leave_if_failed(self) -> None:
        everything = "".join(f"{x}, " for x in self.leaves.values())
        self.add(f"if w.flag[0]: return fail(({everything}), w.flag)")

    # ------------------------------------------------------------------------------- values

    def enter(self) -> None:
        """Arguments that kernels read, as arrays in C order."""
        wanted: set[Memory] = {m for step in self.plan.steps for m in self.places.memory(step)}
        wanted |= set(self.places.reused.values())
        for o in self.graph.outputs:
            if isinstance(o, Var) and o not in self.plan.uniform:
                wanted.add(self.plan.views[o].base)
        for v, x in self.leaves.items():
            if v in wanted:
                self.text[v] = name = f"a{x[1:]}"
                self.enter_array(name, x, v) if v.type.shape else self.enter_scalar(name, x, v)
        for v, array in self.layout.constants.items():
            if v in wanted:
                self.text[v] = self.constant(array)

    def enter_array(self, name: str, x: str, v: Var) -> None:
        shape, dtype = self.constant(v.type.shape), self.constant(v.type.dtype)
        self.add(f"if type({x}) is not ndarray or {x}.dtype != {dtype} or {x}.shape != {shape}:")
        self.add(f"    return interpret({', '.join(self.leaves.values())})")
        self.add(f"{name} = {x}")
        flags = f"{x}.flags.c_contiguous and {x}.flags.aligned"
        if v in self.places.reused.values():  # what others read must not change with it
            self.names["overlap"] = _overlap
            others = "".join(f"{other}, " for other in self.leaves.values() if other != x)
            flags += f" and {x}.flags.writeable and not overlap({x}, ({others}))"
        self.add(f"if not ({flags}):")
        self.add(f"    {name} = {x}.copy('C')")

    def enter_scalar(self, name: str, x: str, v: Var) -> None:
        self.add(f"{name} = asarray({x})")
        self.add(f"if {name}.dtype != {self.constant(v.type.dtype)} or {name}.ndim:")
        self.add(f"    return interpret({', '.join(self.leaves.values())})")

    def name_of(self, v: Var) -> str:
        """The array of a base in the program, which makes it where that is due."""
        if v in self.text:
            return self.text[v]
        self.count += 1
        if v in self.places.offsets:
            name = f"t{self.count}"
            self.layout.values[v] = name
            self.text[v] = f"w.{name}"
        elif v in self.places.reused:
            self.text[v] = self.name_of(self.places.reused[v])
        else:
            self.text[v] = f"r{self.count}"
            shape, dtype = self.constant(v.type.shape), self.constant(v.type.dtype)
            self.add(f"{self.text[v]} = empty({shape}, {dtype})")
        return self.text[v]

    def value(self, a: Atom) -> str:
        """An operand of an operation of NumPy."""
        if isinstance(a, Literal):
            return self.constant(a.value)
        if a in self.plan.uniform:
            value = np.full(a.type.shape, self.plan.uniform[a].value, a.type.dtype)
            value.flags.writeable = False
            alone = a.type.shape == () and a.type.dtype.isnative
            return self.constant(value[()] if alone else value)
        if a in self.leaves:
            return self.leaves[a]  # as it was given: a Python number stays one
        view = self.plan.views[a]
        base = self.name_of(view.base)
        if view.base is a:
            if a.type.weak:
                return f"asarray({base}).item()"
            return base if a.type.shape else _scalar(f"asarray({base})", a)
        item = a.type.dtype.itemsize
        shape = self.constant(view.shape)
        dtype = self.constant(a.type.dtype)
        strides = self.constant(tuple(s * item for s in view.strides))
        return f"ndarray({shape}, {dtype}, {base}, {view.offset * item}, {strides})"

    def output(self, o: Atom) -> str:
        """An output: a NumPy scalar, a Python number, or an array that nobody else holds."""
        if isinstance(o, Literal):
            return self.constant(o.value)
        weak = o.type.weak
        if o in self.plan.uniform:
            value = np.full(o.type.shape, self.plan.uniform[o].value, o.type.dtype)
            name = self.constant(value)
            return (
                f"{name}.item()"
                if weak
                else f"{name}[()]"
                if not o.type.shape
                else f"{name}.copy()"
            )
        if o in self.leaves:
            x = self.leaves[o]
            return x if o.type.shape or weak else _scalar(f"asarray({x})", o)
        view = self.plan.views[o]
        if not o.type.shape:
            base = self.name_of(view.base)
            if view.base is not o:
                base = self.value(o)
            return f"asarray({base}).item()" if weak else _scalar(f"asarray({base})", o)
        text = self.value(o)
        owned = view.base in self.places.handed_out and not is_spread(view.strides, view.shape)
        return text if owned else f"{text}.copy()"

    # -------------------------------------------------------------------------------- steps

    def steps(self) -> None:
        waiting: list[int] = []
        for step in self.plan.steps:
            if id(step) in self.executable.calls:
                for call in self.executable.calls[id(step)]:
                    self.kernel(call, waiting)
            else:
                assert isinstance(step, Equation)
                self.flush(waiting)
                self.host_step(step)
        self.flush(waiting)

    def flush(self, waiting: list[int]) -> None:
        """Run the kernels that have gathered: small ones in one call."""
        if waiting:
            self.count += 1
            name = f"b{self.count}"
            self.layout.tables[name] = list(waiting)
            self.add(f"batch(w.{name})")
            waiting.clear()

    def kernel(self, call: Call, waiting: list[int]) -> None:
        """Fill in the addresses that change from one run to the next, and call a kernel."""
        number = len(self.layout.calls)
        self.layout.calls.append(call)
        for k, w in enumerate(call.words):
            if isinstance(w, Var) and not (w in self.places.offsets or w in self.layout.constants):
                self.add(f"w.k{number}[{k}] = address({self.name_of(w)})")
        if not call.parallel:
            waiting.append(number)
            if call.kernel.polls:  # a signal that has ended it ends what comes behind it, too
                self.flush(waiting)
                self.leave_if_failed()
            return
        self.flush(waiting)
        assert self.executable.code is not None
        code = self.constant(self.executable.code.address(call.kernel.name))
        self.add(f"run({code}, w.k{number}_at, {call.chunks}, {call.parallel})")

    def host_step(self, e: Equation) -> None:
        """An operation in NumPy, into planned memory where it takes `out`."""
        if self.executable.runs_again:  # it may raise where numbers mean nothing
            self.leave_if_failed()
        args = [self.value(a) for a in e.inputs]
        if takes_out(e):
            (v,) = e.outputs
            self.add(f"{self.out_call(e, args, self.name_of(v))}")
            self.equations[len(self.lines)] = e
            return
        impl = self.constant(e.prim.impl)
        params = f", **{self.constant(dict(e.params))}" if e.params else ""
        params = params if args else params.removeprefix(", ")
        made = []
        for v in e.outputs:
            self.count += 1
            self.text[v] = f"h{self.count}"
            made.append(self.text[v])
        target = f"({', '.join(made)},) = " if e.prim.multiple else f"{made[0]} = "
        self.add(f"{target if made else ''}{impl}({', '.join(args)}{params})")
        self.equations[len(self.lines)] = e
        for v, name in zip(e.outputs, made, strict=True):
            self.add(f"{name} = own({name}, ({''.join(f'{a}, ' for a in args)}))")
            if v in self.read_as_memory:
                order = "contiguous" if v.type.shape else "asarray"
                self.add(f"{name} = {order}({name}, {self.constant(v.type.dtype)})")

    @functools.cached_property
    def read_as_memory(self) -> set[Memory]:
        """Values whose memory a kernel reads, or a view shows: where NumPy made them, it matters.

        Once for the program: one pass for each of its steps would be as many passes as steps.
        """
        read: set[Memory] = set()
        shown: list[Atom] = [*self.graph.outputs]
        for step in self.plan.steps:
            if id(step) in self.executable.lowered:
                read.update(self.places.memory(step))
            elif isinstance(step, Equation):
                shown += step.inputs
        for a in shown:
            if isinstance(a, Var) and a in self.plan.views and self.plan.views[a].base is not a:
                read.add(self.plan.views[a].base)
        return read

    def out_call(self, e: Equation, args: list[str], out: str) -> str:
        if e.prim is CONCATENATE:
            self.names["concatenate"] = np.concatenate
            return f"concatenate(({', '.join(args)},), {e.params['axis']}, out={out})"
        if e.prim is PLACE:
            index = self.constant(decode(e.params["index"]))
            self.add(f"{out}.fill(0)")
            return f"{out}[{index}] = {args[0]}"
        return f"{self.constant(e.prim.impl)}({', '.join(args)}, out={out})"


def _scalar(array: str, a: Atom) -> str:
    """The text of an array without axes as a NumPy scalar, which has this machine's byte order."""
    return f"{array}[()]" if a.type.dtype.isnative else array


def _overlap(x: np.ndarray[Any, Any], others: Sequence[Any]) -> bool:
    return any(type(y) is np.ndarray and np.may_share_memory(x, y) for y in others)


def _own(x: Any, given: Sequence[Any]) -> Any:
    """What an operation returned, but no view of what it was given: that may be overwritten."""
    shows = type(x) is np.ndarray and x.base is not None and _overlap(x, given)
    return x.copy() if shows else x
