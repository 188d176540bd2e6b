"""A compiled step: what goes into its graph, and what becomes of the outputs.

It is bound to places, not to objects: the tensors that a call reaches, in the order of the walk.
Nothing is changed before the graph has run and its requirements hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from funcgrad.compile.execute import executable, execute
from funcgrad.compile.imports import interpreted
from funcgrad.graph.ir import Graph
from funcgrad.passes.templates import Templates
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.compiling.captures import Reached
from funcgrad.torch.compiling.schedules import RATE, Moment, Undo
from funcgrad.torch.composite import Composite
from funcgrad.torch.nodes import AccumulateGrad, GradNode, edge_of, node_class
from funcgrad.torch.root import RootTracer
from funcgrad.torch.versions import FREED
from funcgrad.transforms.call import call_graph
from funcgrad.transforms.node import new, seq

__all__ = ["EagerCall", "Made", "Program", "Rates", "Scalar", "Slot", "Write"]

NODE = node_class("CompiledFunctionBackward")
ENDED = Composite("compiled_function", lambda *xs: xs, multiple=True)


class Slot(NamedTuple):
    """A tensor in a result: one that was reached, or one that the call has made."""

    place: int | None
    made: int | None
    how: str = "same"  # or "detach", "data": a tensor of the same memory


class Write(NamedTuple):
    """What is done to a tensor: output `output` is written into it (or becomes its memory)."""

    place: int
    output: int | None
    versions: int
    replaces: bool = False


class Made(NamedTuple):
    """A new tensor: the output that it holds, and what its node is."""

    output: int
    copy: bool
    node: str = ""  # "live": backward goes on through the program; "freed": it is refused


class Scalar(NamedTuple):
    """A number of Python's that an output is."""

    output: int


class Rates(NamedTuple):
    """The learning rates that go in, which schedulers step, and which rates the step sets.

    A rate is that of a group after so many steps of schedulers; one that is set is a number, or an
    output.
    """

    moments: list[Moment]
    steps: list[int]
    set_: list[tuple[int, Scalar | float]]

    @property
    def early(self) -> bool:
        """Whether the schedulers step before the graph runs: it needs what they set."""
        return bool(self.steps and (self.set_ or any(after for after, _ in self.moments)))


class EagerCall(Exception):
    """A call cannot be run by its program; the text says why."""


class Program:
    """What a step does, for all calls of one kind."""

    def __init__(
        self,
        graph: Graph,
        places: Sequence[int],
        rates: Rates,
        draws: Sequence[tuple[Callable[[], Any], Any, bool]],
        requirements: Sequence[int],
    ) -> None:
        self.graph, self.places, self.rates = graph, tuple(places), rates
        self.draws, self.requirements = tuple(draws), tuple(requirements)
        self.writes: list[Write] = []
        self.grads: list[tuple[int, Slot | None]] = []
        self.made: list[Made] = []
        self.result: Any = None
        self.watched: tuple[Any, ...] = ()
        self.apart: set[int] | None = None  # outputs that need a copy: they share memory
        self.numbers: tuple[Any, ...] = ()  # the last inputs of the graph

    @property
    def live(self) -> bool:
        """Whether backward can go on through the results."""
        return any(m.node == "live" for m in self.made)

    def prepare(self, templates: Templates) -> None:
        """Compile the graph, or one like it."""
        self.graph, self.numbers = templates.fit(self.graph)
        if not interpreted():
            executable(self.graph)

    # ------------------------------------------------------------------------------- running

    def run(self, tensors: Sequence[Tensor], reached: Reached) -> Any:
        """The result of a call with `tensors`, and with the groups and schedulers of `reached`.

        Raises
        ------
        EagerCall
            The call has to run eagerly; nothing has been changed.
        """
        if self.rates.early:
            undo = Undo([x for x, _ in reached.schedules], reached.rates)
            try:
                return self._run(tensors, reached)
            except BaseException:
                undo()
                raise
        out = self._run(tensors, reached)
        for k in self.rates.steps:
            reached.schedules[k][0].step()
        return out

    def _run(self, tensors: Sequence[Tensor], reached: Reached) -> Any:
        rates = self._leaves(reached)
        states = self._states() if self.draws else ()
        drawn = [(x, used) for x, used in ((draw(), used) for draw, _, used in self.draws)]
        leaves = [
            *(tensors[k]._t.value for k in self.places),
            *rates,
            *(x for x, used in drawn if used),
            *self.numbers,
        ]
        try:
            outputs, live = self._outputs(tensors, leaves)
            if not all(outputs[k] for k in self.requirements):
                raise EagerCall("the arguments are not what the program requires")
        except BaseException as error:
            for source, bits, spare in states:
                source.bits.state, source.spare = bits, spare
            if not isinstance(error, MemoryError) and type(error) is not EagerCall:
                self._give_up(error)
            raise
        for k, rate in self.rates.set_:
            new = float(outputs[rate.output]) if type(rate) is Scalar else rate
            reached.rates[k][RATE] = new
        return self._commit(tensors, outputs, live)

    def _leaves(self, reached: Reached) -> list[float]:
        """The learning rates that go in."""
        found = [self._present(reached)]
        if self.rates.early:
            for k in self.rates.steps:
                try:
                    reached.schedules[k][0].step()
                except Exception as error:
                    raise EagerCall(f"a schedule raised {type(error).__name__}") from error
                found.append(self._present(reached))
        return [found[after][k] for after, k in self.rates.moments]

    def _present(self, reached: Reached) -> list[float]:
        found = [group[RATE] for group in reached.rates]
        if any(type(x) not in (float, int) for x in found):
            raise EagerCall("a learning rate is no number any more")
        return [float(x) for x in found]

    @staticmethod
    def _give_up(error: BaseException) -> None:
        """A bad index, a matrix that is not definite: the eager call raises PyTorch's error."""
        if isinstance(error, Exception):
            where = "".join(f", {note}" for note in getattr(error, "__notes__", ()))
            raise EagerCall(f"its program raised {type(error).__name__}{where}") from error

    def _states(self) -> list[tuple[Any, Any, Any]]:
        sources = {id(source): source for _, source, _ in self.draws}.values()
        return [(s, s.bits.state, s.spare) for s in sources]

    def _outputs(self, tensors: Sequence[Tensor], leaves: list[Any]) -> tuple[Any, Any]:
        """The outputs as arrays, and those through which backward goes on as tracers."""
        if not self.live:
            if interpreted():
                return execute(self.graph, *leaves), ()
            return executable(self.graph)(*leaves), ()
        contents = list(leaves)
        for k, place in enumerate(self.places):
            contents[k] = tensors[place].content()
        found = call_graph(self.graph, *contents)
        node = next((edge_of(o.node)[0] for o in found if type(o) is RootTracer), None)
        if isinstance(node, GradNode):
            node.__class__ = NODE
        return [o.value if type(o) is RootTracer else o for o in found], found

    def _commit(self, tensors: Sequence[Tensor], outputs: Sequence[Any], live: Any) -> Any:
        made = self._make(outputs, live)
        for place, k, versions, replaces in self.writes:
            t = tensors[place]._t
            if k is not None:
                _put(t, outputs[k], replaces)
            t.version.count += versions
        for place, slot in self.grads:
            _set_grad(tensors[place], None if slot is None else self._filled(slot, tensors, made))
        return self._built(self.result, outputs, tensors, made)

    def _make(self, outputs: Sequence[Any], live: Any) -> list[Tensor]:
        if self.apart is None:
            self.apart = self._overlaps(outputs)
        made = []
        for n, m in enumerate(self.made):
            x = outputs[m.output]
            if m.node == "live":
                made.append(box(live[m.output]))
                continue
            if m.copy or n in self.apart:
                x = np.array(x)
            t = box(x)
            if m.node == "freed":
                t._t.node = _ended()
            made.append(t)
        return made

    def _overlaps(self, outputs: Sequence[Any]) -> set[int]:
        """Which of the new tensors share memory with an output before them."""
        found: set[int] = set()
        seen: list[Any] = []
        for n, m in enumerate(self.made):
            x = outputs[m.output]
            if any(np.may_share_memory(x, y) for y in seen):
                found.add(n)
            seen.append(x)
        return found

    def _filled(self, slot: Slot, tensors: Sequence[Tensor], made: Sequence[Tensor]) -> Tensor:
        if slot.made is not None:
            x = made[slot.made]
        else:
            assert slot.place is not None
            x = tensors[slot.place]
        if slot.how == "same":
            return x
        return x.detach() if slot.how == "detach" else x.data

    def _built(
        self, spec: Any, outputs: Sequence[Any], tensors: Sequence[Tensor], made: Sequence[Tensor]
    ) -> Any:
        """The result, with tensors in the place of slots, and numbers in that of scalars."""
        if type(spec) is Slot:
            return self._filled(spec, tensors, made)
        if type(spec) is Scalar:
            return float(outputs[spec.output])
        build = partial(self._built, outputs=outputs, tensors=tensors, made=made)
        if type(spec) in (list, tuple):
            return type(spec)(map(build, spec))
        if isinstance(spec, tuple) and hasattr(spec, "_make"):
            return type(spec)._make(map(build, spec))
        if type(spec) is dict:
            return {k: build(s) for k, s in spec.items()}
        return spec


def _put(t: Any, x: Any, replaces: bool) -> None:
    """Write `x` into the memory of a tracer, or make it its memory."""
    if replaces:
        t.value = np.array(x)
    elif type(t.value) is np.ndarray:
        t.version.before_write()
        np.copyto(t.value, x)
        return
    else:
        t.value = np.asarray(x)[()]
    if type(t.node) is AccumulateGrad:
        t.node.value = t.value


def _set_grad(x: Tensor, g: Tensor | None) -> None:
    node = x._t.node
    if type(node) is AccumulateGrad:
        node.grad = g
    else:
        x._grad = g


def _ended() -> Any:
    """A node whose saved values a backward pass in the program has used."""
    node: Any = new(NODE)
    node.prim, node.params, node.parents, node.avals = ENDED, {}, (), ()
    node.saved, node.seq, node.extra, node.made = FREED, next(seq), None, None
    node.source = node.inner = node.line = None
    node.origins, node.counts = (), ()
    return node
