"""The host program: straight-line Python that runs kernels, and NumPy for everything else.

A graph is fused, each region lowered and built, intermediate values are given places in one block
of memory, and a Python function is written that fills in the addresses of arguments and results and
runs the steps. An operation without a native form runs as its primitive does, so no graph is
refused. Several threads may run an executable at once: each takes a workspace of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.compile.backend import Backend
from funcgrad.compile.loops import Kernel, show
from funcgrad.compile.lower import Argument, Lowered, lower
from funcgrad.compile.memory import address_of, aligned
from funcgrad.compile.scalars import moves, reduces, resolve
from funcgrad.errors import GraphError
from funcgrad.graph.interpret import evaluate
from funcgrad.graph.ir import Atom, Equation, Graph, Literal, Var
from funcgrad.passes.buffers import Lifetime, place
from funcgrad.passes.fuse import Plan, fuse
from funcgrad.passes.pipeline import optimize
from funcgrad.passes.region import Region

__all__ = ["Executable", "compile_graph"]

PARALLEL_WORK = 600_000  # additions, some 60–100 µs: less does not pay for waking a thread


def compile_graph(graph: Graph, backend: Backend) -> Executable:
    """The executable of a graph."""
    small = optimize(graph)

    def elementwise(e: Equation) -> bool:
        return moves(e) or resolve(e, backend.functions) is not None

    return Executable(graph, fuse(small, elementwise, reduces), backend)


class Executable:
    """A compiled graph: call it with the inputs of the graph, get its outputs.

    Attributes
    ----------
    source : str
        The host program.
    lowered : list
        The regions as loop nests.
    shared : tuple of int
        The outputs that are inputs, or show the memory of an earlier output.
    """

    def __init__(self, graph: Graph, plan: Plan, backend: Backend) -> None:
        self.graph, self.plan, self.backend = graph, plan, backend
        self.lowered = {
            id(step): lower(plan, step, backend.functions, f"k{k}")
            for k, step in enumerate(s for s in plan.steps if isinstance(s, Region))
        }
        self.kernels = [k for low in self.lowered.values() for k in _kernels(low)]
        self.code = backend.compile(self.kernels) if self.kernels else None
        self.idle: list[Workspace] = []
        self.uses_numpy = any(not isinstance(s, Region) for s in plan.steps)
        writer = _Writer(self)
        self.source, self.names = writer.write()
        self.shared = writer.shared()
        self.layout = writer.layout
        exec(compile(self.source, f"<program of graph {graph.digest()[:8]}>", "exec"), self.names)
        self.program: Callable[..., tuple[Any, ...]] = self.names["program"]

    def __call__(self, *leaves: Any) -> tuple[Any, ...]:
        try:
            w = self.idle.pop()
        except IndexError:
            w = Workspace(self)
        if self.uses_numpy:
            with np.errstate(all="ignore"):  # backward equations meet inf and NaN, masked later
                found = self.program(w, *leaves)
        else:
            found = self.program(w, *leaves)
        self.idle.append(w)  # not after an exception: what it left half done goes with it
        return found

    def interpret(self, *leaves: Any) -> tuple[Any, ...]:
        """The reference, for arguments that are not of the types of the graph."""
        with np.errstate(all="ignore"):
            return evaluate(self.graph, *leaves)

    def fail(self, leaves: Sequence[Any]) -> None:
        """An index was out of bounds: let NumPy say which."""
        evaluate(self.graph, *leaves)
        raise GraphError("a kernel found an index out of bounds that NumPy takes")

    def show(self) -> str:
        """The optimised graph, the host program, the loops, and the text of the backend."""
        loops = "\n\n".join(map(show, self.kernels))
        text = self.backend.text(self.kernels) if self.kernels else ""
        return "\n\n".join([str(self.plan.graph), self.source, loops, text])

    def explain(self) -> str:
        """What became one kernel, what runs in NumPy, and why."""
        lines = []
        for step in self.plan.steps:
            if isinstance(step, Region):
                low = self.lowered[id(step)]
                names = " ".join(e.prim.name for e in step.equations)
                lanes = "rows" if low.layout.across else "elements"
                shape = f"{low.layout.rows} rows in {low.layout.chunks} chunks, lanes over {lanes}"
                count = len(step.equations)
                lines.append(
                    f"{low.kernel.name}: {count} operations in one kernel, {shape}: {names}"
                )
            else:
                types = ", ".join(str(a.type) for a in step.inputs)
                lines.append(f"NumPy: {step.prim.name} of {types}")
        return "\n".join([*lines, *self.plan.notes])


def _kernels(low: Lowered) -> list[Kernel]:
    return [low.kernel] if low.finish is None else [low.kernel, low.finish]


class Workspace:
    """The memory of one run: intermediate values, and the arguments of every kernel."""

    def __init__(self, executable: Executable) -> None:
        layout = executable.layout
        self.block = aligned(layout.total)
        self.flag = np.zeros(1, np.int64)
        self.arrays = {
            v: self.block[start : start + _bytes(v)].view(v.type.dtype).reshape(v.type.shape)
            for v, start in layout.places.items()
        }
        self.arguments = [self._fill(executable, *each) for each in layout.calls]
        for name, number in layout.names.items():
            setattr(self, name, self.arguments[number])
        for v, name in layout.values.items():
            setattr(self, name, self.arrays[v])
        self.tables = []
        for name, calls in layout.tables.items():
            table = []
            for number, kernel, chunks in calls:
                assert executable.code is not None
                arguments = address_of()(self.arguments[number])
                table += [executable.code.address(kernel), arguments, chunks]
            self.tables.append(np.array([*table, 0], np.int64))
            setattr(self, name, address_of()(self.tables[-1]))
        for name, number in layout.names.items():
            setattr(self, f"{name}_at", address_of()(self.arguments[number]))

    def _fill(
        self,
        executable: Executable,
        kernel: Kernel,
        arguments: Sequence[Argument],
        integers: Sequence[int],
        numbers: Sequence[Any],
        partials: dict[str, int],
        direct: dict[str, Var],
    ) -> np.ndarray[Any, Any]:
        address = address_of()
        words = [0] * len(arguments) + list(integers)
        for k, a in enumerate(arguments):
            if a.role == "partial" and a.name not in direct:
                words[k] = address(self.block) + partials[str(a.var)]
            elif a.var in self.arrays:
                words[k] = address(self.arrays[a.var])
            elif a.var in executable.layout.constants:
                words[k] = address(executable.layout.constants[a.var])
        for x in numbers:
            word = np.zeros(1, np.int64)
            word.view(x.dtype)[0] = x
            words.append(int(word[0]))
        if kernel.requires:
            words.append(address(self.flag))
        return np.array(words, np.int64)


def _bytes(v: Var) -> int:
    return v.type.size * v.type.dtype.itemsize


class _Layout:
    """Where everything lies in a workspace."""

    def __init__(self) -> None:
        self.places: dict[Var, int] = {}
        self.total = 0
        self.constants: dict[Var, np.ndarray[Any, Any]] = {}
        self.calls: list[Any] = []
        self.names: dict[str, int] = {}
        self.values: dict[Var, str] = {}
        self.tables: dict[str, list[tuple[int, str, int]]] = {}


class _Writer:
    """Writes the program of an executable."""

    def __init__(self, executable: Executable) -> None:
        self.executable = executable
        self.plan = executable.plan
        self.graph = executable.plan.graph
        self.layout = _Layout()
        self.lines: list[str] = []
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

    # ------------------------------------------------------------------------------ planning

    def write(self) -> tuple[str, dict[str, Any]]:
        graph, layout = self.graph, self.layout
        layout.constants = {v: np.ascontiguousarray(a) for v, a in graph.constants}
        self.leaves = {v: f"x{k}" for k, v in enumerate(graph.inputs)}
        self.bases_out = self.output_bases()
        self.plan_memory()
        self.lines.append(f"def program(w, {', '.join(self.leaves.values())}):")
        self.enter()
        self.steps()
        if any(low.kernel.requires for low in self.executable.lowered.values()):
            everything = "".join(f"{x}, " for x in self.leaves.values())
            self.add(f"if w.flag[0]: fail(({everything}))")
        outputs = "".join(f"{self.output(o)}, " for o in self.graph.outputs)
        self.add(f"return ({outputs})")
        return "\n".join(self.lines) + "\n", self.names

    def add(self, line: str) -> None:
        self.lines.append("    " + line)

    def output_bases(self) -> set[Var]:
        """What is handed out, so that every call needs fresh memory for it."""
        found = set()
        for o in self.graph.outputs:
            if isinstance(o, Var) and o not in self.plan.uniform:
                view = self.plan.views[o]
                if _is_spread(view.strides, view.shape) or view.base.type.shape == ():
                    continue  # copied
                found.add(view.base)
        return found - set(self.graph.inputs) - set(self.layout.constants)

    def shared(self) -> tuple[int, ...]:
        seen = set(self.graph.inputs)
        found = []
        for k, o in enumerate(self.graph.outputs):
            if isinstance(o, Var) and o.type.shape and o not in self.plan.uniform:
                base = self.plan.views[o].base
                if base in seen and (o in seen or base not in self.graph.inputs):
                    found.append(k)
                seen.add(base)
        return tuple(found)

    def reads(self, step: Region | Equation) -> list[Var]:
        """What a step reads from memory."""
        if isinstance(step, Region):
            low = self.executable.lowered[id(step)]
            arguments = [*low.arguments, *low.finish_arguments]
            return [a.var for a in arguments if a.var is not None]
        found = []
        for a in step.inputs:
            if isinstance(a, Var) and a not in self.plan.uniform:
                found.append(self.plan.views[a].base)
        return found

    def writes(self, step: Region | Equation) -> list[Var]:
        if isinstance(step, Region):
            return [v for e in step.equations for v in e.outputs if v in self.plan.escaping]
        return list(step.outputs) if _takes_out(step) else []

    def plan_memory(self) -> None:
        """Places for intermediate values and partial results."""
        steps = self.plan.steps
        born: dict[Var, int] = {}
        dies: dict[Var, int] = {}
        for k, step in enumerate(steps):
            for v in self.writes(step):
                if v not in self.bases_out:
                    born[v] = dies[v] = k
            for v in self.reads(step):
                if v in born:
                    dies[v] = k
        for o in self.graph.outputs:
            if isinstance(o, Var) and o not in self.plan.uniform:
                base = self.plan.views[o].base
                if base in born:
                    dies[base] = len(steps)
        keys: list[Any] = list(born)
        lives = [Lifetime(_bytes(v), born[v], dies[v]) for v in born]
        self.partials: dict[tuple[int, str], int] = {}
        for k, step in enumerate(steps):
            if isinstance(step, Region):
                low = self.executable.lowered[id(step)]
                for a in low.arguments:
                    if a.role == "partial" and a.name not in low.direct:
                        keys.append((k, str(a.var)))
                        lives.append(Lifetime(a.size * np.dtype(a.dtype).itemsize, k, k))
        offsets, self.layout.total = place(lives)
        for key, offset in zip(keys, offsets, strict=True):
            if isinstance(key, Var):
                self.layout.places[key] = offset
            else:
                self.partials[key] = offset

    # ------------------------------------------------------------------------------- values

    def enter(self) -> None:
        """Arguments that kernels read, as arrays in C order."""
        wanted = {v for step in self.plan.steps for v in self.reads(step)}
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
        self.add(f"if not ({x}.flags.c_contiguous and {x}.flags.aligned):")
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
        if v in self.layout.places:
            name = f"t{self.count}"
            self.layout.values[v] = name
            self.text[v] = f"w.{name}"
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
            return self.constant(value[()] if a.type.shape == () else value)
        if a in self.leaves:
            return self.leaves[a]  # as it was given: a Python number stays one
        view = self.plan.views[a]
        base = self.name_of(view.base)
        if view.base is a:
            if a.type.weak:
                return f"asarray({base}).item()"
            return base if a.type.shape else f"asarray({base})[()]"
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
            return x if o.type.shape or weak else f"asarray({x})[()]"
        view = self.plan.views[o]
        if not o.type.shape:
            base = self.name_of(view.base)
            if view.base is not o:
                base = self.value(o)
            return f"asarray({base}).item()" if weak else f"asarray({base})[()]"
        text = self.value(o)
        owned = view.base in self.bases_out and not _is_spread(view.strides, view.shape)
        return text if owned else f"{text}.copy()"

    # -------------------------------------------------------------------------------- steps

    def steps(self) -> None:
        waiting: list[tuple[int, str, int]] = []
        for k, step in enumerate(self.plan.steps):
            if isinstance(step, Region):
                self.region(k, step, waiting)
            else:
                self.flush(waiting)
                self.host_step(step)
        self.flush(waiting)

    def flush(self, waiting: list[tuple[int, str, int]]) -> None:
        """Run the kernels that have gathered: small ones in one call."""
        if waiting:
            self.count += 1
            name = f"b{self.count}"
            self.layout.tables[name] = list(waiting)
            self.add(f"batch(w.{name})")
            waiting.clear()

    def region(self, k: int, step: Region, waiting: list[tuple[int, str, int]]) -> None:
        low = self.executable.lowered[id(step)]
        partials = {name: at for (n, name), at in self.partials.items() if n == k}
        main = self.arguments(
            low.kernel, low.arguments, low.integers, low.numbers, partials, low.direct
        )
        chunks = low.layout.chunks
        if chunks > 1 and low.work > PARALLEL_WORK:
            self.flush(waiting)
            assert self.executable.code is not None
            code = self.constant(self.executable.code.address(low.kernel.name))
            self.add(f"run({code}, w.k{main}_at, {chunks})")
        else:
            waiting.append((main, low.kernel.name, chunks))
        if low.finish is not None:
            number = self.arguments(
                low.finish,
                low.finish_arguments,
                low.finish_integers,
                low.finish_numbers,
                partials,
                {},
            )
            waiting.append((number, low.finish.name, 1))

    def arguments(
        self,
        kernel: Kernel,
        arguments: Sequence[Argument],
        integers: Sequence[int],
        numbers: Sequence[Any],
        partials: dict[str, int],
        direct: dict[str, Var],
    ) -> int:
        """Fill in the addresses that change from call to call; the number of the arguments."""
        number = len(self.layout.calls)
        self.layout.calls.append((kernel, arguments, integers, numbers, partials, direct))
        self.layout.names[f"k{number}"] = number
        for k, a in enumerate(arguments):
            fixed = a.var in self.layout.places or a.var in self.layout.constants
            if (a.role == "partial" and a.name not in direct) or fixed:
                continue
            assert a.var is not None
            self.add(f"w.k{number}[{k}] = address({self.name_of(a.var)})")
        return number

    def host_step(self, e: Equation) -> None:
        """An operation in NumPy, into planned memory where it takes `out`."""
        args = [self.value(a) for a in e.inputs]
        if _takes_out(e):
            (v,) = e.outputs
            self.add(f"{self.out_call(e, args, self.name_of(v))}")
            return
        impl = self.constant(e.prim.impl)
        params = f", **{self.constant(dict(e.params))}" if e.params else ""
        made = []
        for v in e.outputs:
            self.count += 1
            self.text[v] = f"h{self.count}"
            made.append(self.text[v])
        target = f"({', '.join(made)},)" if e.prim.multiple else made[0]
        self.add(f"{target} = {impl}({', '.join(args)}{params})")
        for v, name in zip(e.outputs, made, strict=True):
            self.add(f"{name} = own({name})")
            if self.is_read_as_memory(v):
                order = "contiguous" if v.type.shape else "asarray"
                self.add(f"{name} = {order}({name}, {self.constant(v.type.dtype)})")

    def is_read_as_memory(self, v: Var) -> bool:
        """Whether a kernel or a view reads the memory of what NumPy made."""
        for step in self.plan.steps:
            if isinstance(step, Region):
                if v in self.reads(step):
                    return True
            elif any(self.is_view_of(a, v) for a in step.inputs):
                return True
        return any(self.is_view_of(o, v) for o in self.graph.outputs)

    def is_view_of(self, a: Atom, v: Var) -> bool:
        return (
            isinstance(a, Var)
            and a is not v
            and a in self.plan.views
            and (self.plan.views[a].base is v)
        )

    def out_call(self, e: Equation, args: list[str], out: str) -> str:
        name = e.prim.name
        if name == "concatenate":
            self.names["concatenate"] = np.concatenate
            return f"concatenate(({', '.join(args)},), {e.params['axis']}, out={out})"
        if name == "place":
            from funcgrad.ops.index import decode

            index = self.constant(decode(e.params["index"]))
            self.add(f"{out}.fill(0)")
            return f"{out}[{index}] = {args[0]}"
        self.names[name] = e.prim.impl
        return f"{name}({', '.join(args)}, out={out})"


def _own(x: Any) -> Any:
    """What an operation returned, but never a view: its memory may be used for something else."""
    return x.copy() if type(x) is np.ndarray and x.base is not None else x


def _takes_out(e: Equation) -> bool:
    """Whether NumPy can write the result of an equation into memory that is given to it."""
    if e.prim.name == "place":
        return e.outputs[0].type.shape != ()
    if e.prim.name not in ("matmul", "dot", "concatenate"):
        return False
    out = e.outputs[0].type
    return out.ndim > 0 and out.size > 0 and all(a.type.dtype == out.dtype for a in e.inputs)


def _is_spread(strides: Sequence[int], shape: Sequence[int]) -> bool:
    """Whether elements of a view share memory."""
    return any(s == 0 and n > 1 for s, n in zip(strides, shape, strict=True))
