"""One backward pass in which user code may look at every step: hooks, custom functions.

Nodes are visited in PyTorch's order, each once all its cotangents have arrived: of those that are
ready the one that was made last, and leaves before all others. At a node come the hooks of its
tensors, what `retain_grad` keeps, its pre-hooks, its rule, and its hooks.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.core.tracer import Tracer
from funcgrad.core.types import Array
from funcgrad.ops.arithmetic import cast
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.gradients import accumulate_grad, add_contents, conjugated, in_dtype_of
from funcgrad.torch.hook_results import check_is_tensor, check_replaced, checked_tuple
from funcgrad.torch.modes import enable_grad, modes, no_grad
from funcgrad.torch.nodes import CALL_NODE, AccumulateGrad, edge_of
from funcgrad.torch.root import ROOT, RootTracer, bare
from funcgrad.torch.saved import blamed, check_saved, opened
from funcgrad.torch.ties import TIE, tied, zeros_pulled
from funcgrad.transforms.node import add, dense

__all__ = ["GraphTask", "current_node", "current_task", "queue_callback"]

LAST = 1 << 64  # leaves come first: as if they had been made after all other nodes
serial = itertools.count()


class Current(threading.local):
    """The passes that run in this thread, the innermost last, and the node that is visited."""

    tasks: tuple[GraphTask, ...] = ()
    node: Any = None


current = Current()


def current_task() -> GraphTask | None:
    """The pass that runs in this thread."""
    return current.tasks[-1] if current.tasks else None


def current_node() -> Any:
    """The node that is being visited in this thread."""
    return current.node


def queue_callback(function: Callable[[], Any]) -> None:
    """Call `function` at the end of the pass that runs."""
    task = current_task()
    if task is None:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    task.callbacks.append(function)


class Ready:
    """The nodes that wait for nothing: a heap that breaks ties as that of C++'s library does.

    Leaves tie with each other, and the order of their hooks can be seen.
    """

    __slots__ = ("heap",)

    def __init__(self) -> None:
        self.heap: list[tuple[int, Any]] = []

    def push(self, node: Any) -> None:
        key = LAST if type(node) is AccumulateGrad else node.seq
        self.heap.append((key, node))
        self._rise(len(self.heap) - 1, (key, node))

    def _rise(self, hole: int, item: tuple[int, Any]) -> None:
        heap = self.heap
        while hole > 0 and heap[(hole - 1) // 2][0] < item[0]:
            heap[hole] = heap[(hole - 1) // 2]
            hole = (hole - 1) // 2
        heap[hole] = item

    def pop(self) -> Any:
        heap = self.heap
        top, item = heap[0], heap.pop()
        n, hole, child = len(heap), 0, 0
        while child < (n - 1) // 2:
            child = 2 * (child + 1)
            if heap[child][0] < heap[child - 1][0]:
                child -= 1
            heap[hole], hole = heap[child], child
        if n and n % 2 == 0 and child == (n - 2) // 2:
            child = 2 * child + 1
            heap[hole], hole = heap[child], child
        if n:
            self._rise(hole, item)
        return top[1]


class GraphTask:
    """A backward pass over `order`, the nodes that it may visit (outputs of nodes among them).

    With `inputs`, edges, the way there is taken only: with `accumulate` the leaves among them
    accumulate, else their cotangents are captured.
    """

    def __init__(
        self,
        order: Sequence[Any],
        roots: Sequence[tuple[Any, Array]],
        create_graph: bool,
        inputs: Sequence[tuple[Any, int]] | None,
        accumulate: bool,
    ) -> None:
        self.id = next(serial)
        self.create_graph = create_graph
        self.callbacks: list[Callable[[], Any]] = []
        self.captured: list[Any] = [None] * len(inputs or ())
        self.captures: dict[Any, list[tuple[int, int]]] = {}
        self.everything = inputs is None
        self.needed: set[Any] = set()
        if inputs is not None:
            self._find_needed(order, inputs, accumulate)
        self.buffers: dict[Any, list[Any]] = {}
        self.waiting: dict[Any, int] = {}
        self.ready = Ready()
        self._count(order, roots)
        self._start(roots)

    def executes(self, node: Any) -> bool:
        """Whether this pass visits a node."""
        return self.everything or node in self.needed or node in self.captures

    def will_execute(self, node: Any) -> bool:
        """Whether a node is in the graph of this pass and is visited."""
        return node in self.waiting and self.executes(node)

    def _find_needed(
        self, order: Sequence[Any], inputs: Sequence[tuple[Any, int]], accumulate: bool
    ) -> None:
        for place, (node, k) in enumerate(inputs):
            if accumulate:
                self.needed.add(node)
            else:
                self.captures.setdefault(node, []).append((k, place))
        for node in reversed(order):
            node = edge_of(node)[0]
            if any(p is not None and self.executes(edge_of(p)[0]) for p in node.parents):
                self.needed.add(node)

    def _count(self, order: Sequence[Any], roots: Sequence[tuple[Any, Array]]) -> None:
        """For how many cotangents each node has to wait."""
        waiting = self.waiting
        for node in {edge_of(node)[0]: None for node in order}:
            if self.everything or node in self.needed:
                for p in node.parents:
                    if p is not None:
                        below = edge_of(p)[0]
                        waiting[below] = waiting.get(below, 0) + 1
        for root, _ in roots:
            node = edge_of(root)[0]
            waiting[node] = waiting.get(node, 0) + 1

    def _start(self, roots: Sequence[tuple[Any, Array]]) -> None:
        for root, g in roots:
            self.send(root, g)

    def send(self, target: Any, g: Any) -> None:
        """Hand a cotangent (None for zero) to the node `target`, or to an output of one."""
        node, k = edge_of(target)
        if not self.executes(node):
            return
        buffer = self.buffers.get(node)
        if buffer is None:
            buffer = self.buffers[node] = [None] * count_outputs(node)
        if g is not None:
            buffer[k] = g if buffer[k] is None else add(buffer[k], g)
        self.waiting[node] -= 1
        if not self.waiting[node]:
            self.ready.push(node)

    def run(self) -> list[Array | None]:
        """Visit the nodes; the captured cotangents."""
        mode = enable_grad() if self.create_graph else no_grad()
        before, node_before = current.tasks, current.node
        current.tasks = (*before, self)
        try:
            with mode, np.errstate(all="ignore"):
                while self.ready.heap:
                    current.node = node = self.ready.pop()
                    try:
                        self.visit(node)
                    except Exception as error:
                        raise blamed(error, node) from error.__cause__
                for callback in self.callbacks:
                    callback()
        finally:
            current.tasks, current.node = before, node_before
        return self.captured

    # -- what user code sees

    def shown(self, g: Any) -> Any:
        """A cotangent as hooks see it."""
        return None if g is None else box(conjugated(dense(g)))

    def taken(self, x: Any) -> Any:
        """What user code made of a cotangent."""
        if x is None:
            return None
        t = x.content() if self.create_graph else x._t
        return conjugated(t if self.create_graph else bare(t))

    # -- one node

    def visit(self, node: Any) -> None:
        gs = [in_dtype_of((node, k), g) for k, g in enumerate(self.buffers.pop(node))]
        if not self.everything:
            runs = node in self.needed
            if not runs:
                gs = self.hooked(node, gs)
            for k, place in self.captures.get(node, ()):
                self.captured[place] = self.captive(gs[k])
            if not runs:
                return
        gs = self.before(node, self.hooked(node, gs))
        pulled = self.accumulate(node, gs) if type(node) is AccumulateGrad else self.pull(node, gs)
        pulled = self.after(node, pulled, gs)
        for p, c in zip(node.parents, pulled, strict=True):
            if p is not None:
                self.send(p, c)

    def captive(self, g: Any) -> Any:
        if g is None:
            return None
        kept = conjugated(dense(g))
        return kept if isinstance(kept, Tracer) else np.array(kept)

    def hooked(self, node: Any, gs: list[Any]) -> list[Any]:
        """The cotangents after the hooks of the tensors, and after they have been retained."""
        extra = node.extra
        if extra is None:
            return gs
        gs = list(gs)
        for k, hooks in list(extra.tensor_hooks.items()):
            if hooks:
                shown = self.shown(gs[k])
                for hook in list(hooks.values()):
                    result = hook(shown)
                    if result is not None:
                        check_replaced(hook, result, shown)
                        shown = result
                gs[k] = self.taken(shown)
        for k in sorted(extra.retained):
            tensor = extra.retained[k]()
            if tensor is not None and gs[k] is not None:
                self.retain(tensor, gs[k])
        return gs

    def retain(self, tensor: Tensor, g: Any) -> None:
        """`retain_grad` adds up over passes, out of place."""
        kept, old = conjugated(dense(g)), tensor._grad
        if old is not None:
            kept = cast(add_contents(old.content(), kept), old.dtype.numpy)
        elif not isinstance(kept, Tracer):
            kept = np.array(kept)[()]
        tensor._grad = box(kept)

    def before(self, node: Any, gs: list[Any]) -> list[Any]:
        """The pre-hooks of a node: they see, and may replace, the cotangents of all outputs."""
        if node.extra is None or not node.extra.pre_hooks:
            return gs
        shown = tuple(map(self.shown, gs))
        for hook in list(node.extra.pre_hooks.values()):
            result = hook(shown)
            if result is not None:
                shown = checked_tuple(hook, result, shown)
        return [self.taken(x) for x in shown]

    def after(self, node: Any, pulled: Sequence[Any], gs: Sequence[Any]) -> Sequence[Any]:
        """The hooks of a node: they see both sides and may replace what goes on."""
        if node.extra is None or not node.extra.node_hooks:
            return pulled
        places = shown_places(node)
        inputs = tuple(self.shown(pulled[k]) for k in places)
        outputs = tuple(map(self.shown, gs))
        for hook in list(node.extra.node_hooks.values()):
            result = hook(inputs, outputs)
            if result is not None:
                inputs = checked_tuple(hook, result, inputs)
        out = list(pulled)
        for k, x in zip(places, inputs, strict=True):
            out[k] = self.taken(x)
        return out

    def accumulate(self, node: Any, gs: Sequence[Any]) -> Sequence[Any]:
        (g,) = gs
        if g is not None:
            c = conjugated(dense(g))
            if not isinstance(c, Tracer):
                c = np.array(c)[()]
            elif type(c) is RootTracer:  # without its tangent
                c = np.array(c.value)[()] if c.node is None else ROOT.tracer(c.value, c.node)
            accumulate_grad(node, c, self.create_graph)
        if node.extra is not None:
            for hook in list(node.extra.post_hooks.values()):
                result = hook(node.variable)
                if result is not None:
                    check_is_tensor(result)
        return ()

    def pull(self, node: Any, gs: list[Any]) -> list[Any]:
        """The cotangents of the parents; None where nothing has to go on."""
        opaque = node.prim.opaque
        if not opaque and all(g is None for g in gs):
            return [None] * len(node.parents)
        gs = [None if c is None else dense(c) for c in gs]
        check_saved(node)
        seen = opened(node, self.wanted(node), self.create_graph)
        multiple = hasattr(node, "outputs")
        pulled = list(seen.cotangents(gs if multiple else gs[0]))
        if modes.anomaly and modes.check_nan:
            _check_nan(node, pulled)
        if node.prim is TIE:
            return zeros_pulled(node, pulled)
        return tied(node, pulled) if self.create_graph else pulled

    def wanted(self, node: Any) -> tuple[Any, ...]:
        """The parents whose cotangents this pass asks for."""
        parents: tuple[Any, ...] = node.parents
        if self.everything:
            return parents
        return tuple(p if p is not None and self.executes(edge_of(p)[0]) else None for p in parents)


def call_node(node: Any, grads: tuple[Any, ...]) -> Any:
    """One step of a backward pass: the gradients of the inputs of a node, or a leaf's adding up."""
    if len(grads) != count_outputs(node):
        raise RuntimeError(
            f"{node.name()} expected {count_outputs(node)} gradients, one for each output, but got "
            f"{len(grads)}"
        )
    task = GraphTask((), (), modes.grad, None, False)
    gs = [task.taken(g) for g in grads]
    with np.errstate(all="ignore"):
        if type(node) is AccumulateGrad:
            return task.accumulate(node, gs)
        pulled = task.pull(node, gs)
    shown = tuple(task.shown(pulled[k]) for k in shown_places(node))
    return shown[0] if len(shown) == 1 else shown


CALL_NODE.append(call_node)


def count_outputs(node: Any) -> int:
    """How many outputs a node has."""
    return len(node.outputs) if hasattr(node, "outputs") else 1


def shown_places(node: Any) -> Sequence[int]:
    """Which of the operands count as inputs of the node in PyTorch."""
    shown, parents = node.shown_parents(), node.parents
    if len(shown) == len(parents) or not all(any(s is p for p in parents) for s in shown):
        return range(len(parents))
    places: list[int] = []
    for s in shown:
        places.append(next(k for k, p in enumerate(parents) if p is s and k not in places))
    return places


def _check_nan(node: Any, pulled: Sequence[Any]) -> None:
    for k, c in enumerate(pulled):
        if c is None:
            continue
        c = dense(c)
        array = np.asarray(c.value if type(c) is RootTracer else c)
        if array.dtype.kind in "fc" and np.isnan(array).any():
            text = f"Function '{node.name()}' returned nan values in its {k}th output."
            raise RuntimeError(text)
