"""Tracing a step: run it once on memory without numbers, and write down what it did.

Every tensor that the step can reach is given memory of the stage, the step runs as in eager mode
(the tape records, backward passes run, optimizers write), and everything is put back. What differs
afterwards, contents, gradients and results, are the outputs of the program; any other change is a
reason not to compile.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.core.primitive import Primitive
from funcgrad.core.types import ArrayType, type_of_raw
from funcgrad.errors import UnsupportedCallError
from funcgrad.graph.build import finish
from funcgrad.graph.ir import Atom, Graph
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.compiling.captures import PLAIN, Reached, gradient_of
from funcgrad.torch.compiling.program import Made, Program, Rates, Scalar, Slot, Write
from funcgrad.torch.compiling.schedules import Schedules
from funcgrad.torch.modes import modes
from funcgrad.torch.nodes import AccumulateGrad, node_class
from funcgrad.torch.root import ROOT, RootTracer
from funcgrad.torch.staged import Memory, Number, StepStage
from funcgrad.torch.versions import FREED
from funcgrad.transforms.node import new, seq
from funcgrad.transforms.readings import Readings
from funcgrad.transforms.reverse import reachable

__all__ = ["CannotCompile", "trace"]

MODES = ("grad", "inference", "anomaly", "check_nan", "saved_hooks", "dual", "off_since")


class CannotCompile(Exception):
    """Why a step is not compiled; `later` if another call may be."""

    def __init__(self, reason: str, later: bool = False) -> None:
        super().__init__(reason)
        self.later = later


class Outside(Primitive):
    """What made a tensor that comes from outside and requires grad."""

    def vjp(self, node: Any, g: Any) -> Sequence[Any]:
        raise UnsupportedCallError(
            modes.stage.refuse("backward() goes on into the graph of a Tensor from outside")
        )


OUTSIDE = Outside("torch.outside", lambda *xs: xs)
OUTSIDE_NODE = node_class("OutsideBackward")


class Held:
    """A tensor as it was before the trace, and what the trace made of it."""

    def __init__(self, x: Tensor, stage: StepStage) -> None:
        self.tensor, self.tracer, self.link, self.held = x, x._t, x._link, x._grad
        self.memory = stage.input(type_of_raw(self.tracer.value))
        self.variable = self.memory.variable
        value = self.tracer.value
        stage.known[id(self.memory)] = self.memory
        shadow = value if isinstance(value, np.ndarray) else np.empty((), value.dtype)
        stage.shadows[id(self.memory)] = stage.layouts.known[self.variable] = shadow
        t = ROOT.tracer(self.memory, None)
        t.value, t.version.inference = self.memory, self.tracer.version.inference
        self.version, self.node = t.version, self._node(t)
        t.node = self.node
        x._t, x._link = t, None

    def _node(self, t: RootTracer) -> Any:
        node = self.tracer.node
        if node is None:
            return None
        if type(node) is not AccumulateGrad:
            return _outside_node(self.memory.type)
        twin = new(AccumulateGrad)
        twin.avals, twin.seq, twin.extra, twin.grad = node.avals, node.seq, node.extra, node.grad
        twin.tensor, twin.value, twin.version = weakref.ref(self.tensor), t.value, t.version
        return twin

    def restore(self) -> None:
        """Put the tensor back, and remember what it had become."""
        x = self.tensor
        self.after, self.grad, self.after_link = x._t, gradient_of(x), x._link
        x._t, x._link, x._grad = self.tracer, self.link, self.held


def _outside_node(kind: ArrayType) -> Any:
    node: Any = new(OUTSIDE_NODE)
    node.prim, node.params, node.parents, node.avals = OUTSIDE, {}, (), (kind,)
    node.saved, node.seq, node.extra, node.made = None, next(seq), None, None
    node.source = node.inner = node.line = None
    node.origins, node.counts = (), ()
    return node


class Trace:
    """One run of a step on memory without numbers."""

    def __init__(self, reached: Reached) -> None:
        self.reached = reached
        self.stage = StepStage()
        self.schedules = Schedules(self.stage, reached.rates, [x for x, _ in reached.schedules])
        self.held: list[Held] = []
        self.error: Exception | None = None
        self.readings = Readings(reached.reads)
        self.changed: list[str] = []
        self.out: Any = None

    def run(self, function: Callable[..., Any], args: Any, kwargs: Any) -> None:
        """Run the step, and put everything back."""
        reached = self.reached
        state = [getattr(modes, name) for name in MODES]
        kind = dtypes.get_default_dtype()
        with self.stage:
            try:
                for x in reached.tensors:
                    self.held.append(Held(x, self.stage))
                modes.stage = self.stage
                with self.schedules.running(), self.readings:
                    self.out = function(*args, **kwargs)
            except Exception as problem:
                self.error = problem
            finally:
                modes.stage = None
                for h in self.held:
                    h.restore()
                self.changed = reached.restore()
                if not reached.unchanged():
                    self.changed.append("an attribute or a global")
                if [getattr(modes, name) for name in MODES] != state:
                    self.changed.append("a mode of the thread")
                for name, value in zip(MODES, state, strict=True):
                    setattr(modes, name, value)
                if dtypes.get_default_dtype() is not kind:
                    self.changed.append("the default dtype")
                    dtypes.set_default_dtype(kind)

    def check(self) -> None:
        """Raise for what a program could not do."""
        if self.stage.refused is not None:
            raise CannotCompile(self.stage.refused)
        if self.error is not None:
            raise CannotCompile(f"{type(self.error).__name__}: {self.error}") from self.error
        for reading in (self.readings.first, *self.readings.files):
            if reading is not None:
                raise CannotCompile(f"{reading.name}() was called at {reading.line}")
        if self.changed:
            raise CannotCompile(f"the call changes {_listed(self.changed)}", later=True)
        if self.stage.consts:
            raise CannotCompile("the call uses a value of a transform around it")
        for h, name in zip(self.held, self.reached.tensor_names, strict=True):
            _check_after(h, name)


def _listed(names: Sequence[str]) -> str:
    shown = list(dict.fromkeys(names))
    more = f" and {len(shown) - 3} more" if len(shown) > 3 else ""
    return ", ".join(shown[:3]) + more


def _check_after(h: Held, name: str) -> None:
    t = h.after
    if type(t) is not RootTracer or type(t.value) is not Memory or h.after_link is not None:
        raise CannotCompile(f"the call makes {name} another kind of Tensor")
    if t.node is not h.node:
        raise CannotCompile(f"the call changes whether, or through what, {name} requires grad")
    if t.version is not h.version:
        raise CannotCompile(f"the call makes {name} share the memory of another Tensor")
    if t.value.type != h.memory.type:
        raise CannotCompile(f"the call changes the shape or dtype of {name}")
    if h.link is not None and (t.value is not h.memory or h.memory.variable is not h.variable):
        raise CannotCompile(f"the call writes into {name}, a view from outside")


# ------------------------------------------------------------------------------- the program


class Outputs:
    """The outputs of the graph, each once."""

    def __init__(self) -> None:
        self.values: list[Memory] = []
        self.numbers: dict[Any, int] = {}

    def add(self, m: Memory) -> int:
        v = m.variable
        known = self.numbers.get(v) if not hasattr(v, "value") else None
        if known is None:
            known = len(self.values)
            self.values.append(Memory(v, m.owner))
            if not hasattr(v, "value"):
                self.numbers[v] = known
        return known


class Writer:
    """Makes a program of a trace."""

    def __init__(self, trace: Trace) -> None:
        self.trace, self.outputs = trace, Outputs()
        self.tensors = {id(h.tensor): k for k, h in enumerate(trace.held)}
        self.memories = {id(h.memory): k for k, h in enumerate(trace.held)}
        self.inputs = {h.variable for h in trace.held}
        self.given: set[int] = set()  # outputs that a new tensor has got
        self.made: list[Made] = []
        self.slots: dict[int, Slot] = {}  # of new tensors, by identity
        self.kept: dict[int, Tensor] = {}  # memory that leaves, and the first tensor of it
        self.writes: list[Write] = []
        for k, h in enumerate(trace.held):
            self.write(k, h)

    def write(self, place: int, h: Held) -> None:
        replaced = h.after.value is not h.memory
        if replaced and id(h.after.value) in self.memories:
            raise CannotCompile("the call makes two Tensors share memory")
        if replaced or h.memory.variable is not h.variable:
            k = self.outputs.add(h.after.value)
            self.writes.append(Write(place, k, h.version.count, replaced))
            if replaced:
                self.kept[id(h.after.value)] = h.tensor
        elif h.version.count:
            self.writes.append(Write(place, None, h.version.count))

    def slot(self, x: Tensor, what: str) -> Slot:
        """How a later call gets the tensor `x`, which this one has given."""
        place = self.tensors.get(id(x))
        if place is not None:
            return Slot(place, None)
        if id(x) not in self.slots:
            self.slots[id(x)] = self._new(x, what)
        return self.slots[id(x)]

    def _new(self, x: Tensor, what: str) -> Slot:
        t = x._t
        if type(t) is not RootTracer or type(t.value) is not Memory or type(x) is not Tensor:
            raise CannotCompile(f"{what} is a {type(x).__name__} of another kind")
        if gradient_of(x) is not None or x.__dict__:
            raise CannotCompile(f"{what} is a new Tensor with a gradient or attributes")
        m = t.value
        place = self.memories.get(id(m))
        if place is not None:
            if t.node is not None:
                raise CannotCompile(f"{what} shares the memory of a Tensor from outside")
            return Slot(place, None, "detach" if t.version is self.trace.held[place].version
                        else "data")  # fmt: skip
        base = self.trace.stage.bases.get(id(m))
        if base is not None and (id(base[0]) in self.memories or id(base[0]) in self.kept):
            raise CannotCompile(f"{what} is a view of another Tensor")
        if id(m) in self.kept:
            first = self.slots.get(id(self.kept[id(m)]))
            if first is None or first.made is None or t.node is not None:
                raise CannotCompile(f"{what} shares the memory of another Tensor")
            same = t.version is self.kept[id(m)]._t.version
            return Slot(None, first.made, "detach" if same else "data")
        self.kept[id(m)] = x
        if base is not None:
            self.kept[id(base[0])] = x
        k = self.outputs.add(m)
        variable = m.variable
        copy = k in self.given or variable in self.inputs or any(k == w.output for w in self.writes)
        self.given.add(k)
        self.made.append(Made(k, copy, self._node(x, what)))
        return Slot(None, len(self.made) - 1)

    def _node(self, x: Tensor, what: str) -> str:
        node = x._t.node
        if node is None:
            return ""
        if type(node) is AccumulateGrad:
            raise CannotCompile(f"{what} is a new leaf that requires grad")
        own = {id(h.node): h for h in self.trace.held if h.node is not None}
        nodes: list[Any] = list(reachable([node]))
        if any(n.saved is FREED for n in nodes):
            return "freed"
        for n in nodes:
            h = own.get(id(n))
            if h is not None and (h.version.count or h.after.value is not h.memory):
                raise CannotCompile(f"{what} depends on a Tensor that the call changes afterwards")
            if h is None and type(n) is AccumulateGrad:
                raise CannotCompile(f"{what} depends on a leaf that the call has made")
            if h is None and n.extra is not None:
                raise CannotCompile(f"hooks wait for the backward pass of {what}")
        return "live"

    def grad(self, place: int, h: Held) -> tuple[int, Slot | None] | None:
        """What becomes of the gradient of a tensor; None if it stays."""
        old, g = gradient_of(h.tensor), h.grad
        if g is old:
            return None
        if g is None:
            return place, None
        name = f"the gradient of {self.trace.reached.tensor_names[place]}"
        if g._t.node is not None:
            raise CannotCompile(f"{name} is itself differentiable")
        return place, self.slot(g, name)

    def result(self, x: Any) -> Any:
        """The result with slots in the place of tensors."""
        if isinstance(x, Tensor):
            return self.slot(x, "the result")
        if type(x) is Number:
            return Scalar(self.outputs.add(x))
        if isinstance(x, PLAIN):
            return x
        if type(x) in (list, tuple):
            return type(x)(map(self.result, x))
        if isinstance(x, tuple) and hasattr(x, "_make"):
            return type(x)._make(map(self.result, x))
        if type(x) is dict:
            return {k: self.result(v) for k, v in x.items()}
        raise CannotCompile(f"the call returns a {type(x).__name__}")

    def rate(self, x: Any) -> Scalar | float:
        """The learning rate that the call leaves."""
        if type(x) is Number:
            return Scalar(self.outputs.add(x))
        if type(x) not in (float, int):
            raise CannotCompile("the call sets a learning rate to what is no number")
        return x  # type: ignore[no-any-return]

    def program(self) -> Program:
        """The program, with a graph of what it needs."""
        trace = self.trace
        grads = [g for k, h in enumerate(trace.held) if (g := self.grad(k, h)) is not None]
        result = self.result(trace.out)
        set_ = [(k, self.rate(x)) for k, x in trace.schedules.set_rates()]
        requirements = [self.outputs.add(m) for m in trace.stage.requirements]
        draws = trace.stage.draws
        variables: list[Any] = [
            *(h.variable for h in trace.held),
            *(r.variable for r in trace.schedules.numbers),
            *(m.variable for m, _, _ in draws),
        ]
        whole, consts = finish(trace.stage, variables, self.outputs.values)
        if consts:
            raise CannotCompile("the call uses a value of a transform around it")
        used = _used(whole)
        kept = [k for k, v in enumerate(variables) if v in used]
        graph = Graph(
            tuple(variables[k] for k in kept), whole.equations, whole.outputs, whole.constants
        )
        n, m = len(trace.held), len(trace.schedules.numbers)
        moments = [trace.schedules.moments[k - n] for k in kept if n <= k < n + m]
        made = Program(
            graph,
            [k for k in kept if k < n],
            Rates(moments, trace.schedules.steps, set_),
            [(draw, source, m.variable in used) for m, draw, source in draws],
            requirements,
        )
        written = {w.place for w in self.writes}
        made.watched = tuple(sorted(written.union(made.places)))
        made.writes, made.grads, made.made, made.result = self.writes, grads, self.made, result
        return made


def _used(graph: Graph) -> set[Atom]:
    return {a for e in graph.equations for a in e.inputs} | set(graph.outputs)


def trace(function: Callable[..., Any], args: Any, kwargs: Any, reached: Reached) -> Program:
    """The program of a call.

    Raises
    ------
    CannotCompile
        With the reason.
    """
    run = Trace(reached)
    run.run(function, args, kwargs)
    run.check()
    return Writer(run).program()
