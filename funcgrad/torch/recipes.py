"""Operations on tensors written out: what a call did, as a function that does it again.

As `recorders` does for single ufuncs, for any operation that records one node. The values come from
the graph of the operation, run line by line; the quick backward pass from the graph of its
derivative. A recipe is made of a call that has just gone the general way, and holds if it gives the
same values, cotangents and bookkeeping for the same operands. The next process finds it on disk,
with all that it needs to know of the operation (see `kept_code`), and follows it from the first
call on. Tensors that have a kind are not huge; for large ones a recipe calls the native code (see
`flat`, `lines`), for huge ones it makes views.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.core.primitive import Params, Primitive
from funcgrad.core.tracer import Operand, Tracer, bind
from funcgrad.core.types import type_of_raw
from funcgrad.graph.build import stage
from funcgrad.graph.ir import Graph, Var
from funcgrad.graph.straight import Straight
from funcgrad.kernels.copies import SHARED
from funcgrad.kernels.threads import PARALLEL
from funcgrad.ops.product import MATMUL
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.kept_code import compiled, keep
from funcgrad.torch.modes import modes
from funcgrad.torch.nodes import GradNode
from funcgrad.torch.recipe_parts import (
    COMMON,
    COMPUTED,
    NATIVE_PULL,
    TEMPLATE,
    VIEWED,
    OtherLayout,
    Recipe,
    Unsuitable,
    laying,
    lies,
    native_code,
    order_of,
)
from funcgrad.torch.recorders import bookkeeping
from funcgrad.torch.root import RootTracer
from funcgrad.torch.versions import ONLY_INNER
from funcgrad.torch.views import Held
from funcgrad.transforms.call import reverse_graphs
from funcgrad.transforms.node import dense

__all__ = ["Applied", "recipe"]

Applied = tuple[Primitive, Sequence[Any], Params]  # an operation that the root tape was given
NOTHING = Primitive("torch.nothing", lambda x: x)  # what views without a node apply


def recipe(
    applied: Sequence[Any], tensors: Sequence[Tensor], made: Any, key: str | None
) -> Recipe | None:
    """What gives `made` again for tensors of the kinds of `tensors`; None if there is no such.

    Of views it gives None where the general way has to be gone. It is kept on disk under `key`.
    """
    for plainly in (True, False):
        try:
            writer = _Writer(applied, tensors, made, plainly)
        except Unsuitable:
            return None
        try:
            found = writer.write()
            modes.unrecorded(writer.check, found)
            writer.keep(key)
            return found
        except OtherLayout:
            writer.scope.clear()
        except (Unsuitable, NotImplementedError, TypeError, ValueError, RuntimeError):
            writer.scope.clear()
            return None
    return None


class _Writer:
    """Writes the recipe of one call.

    Not `plainly`: the result is laid as that of the call.
    """

    def __init__(
        self, applied: Sequence[Any], tensors: Sequence[Tensor], made: Any, plainly: bool
    ) -> None:
        if type(made) is not Tensor or any(made is x or not x.numel() for x in tensors):
            raise Unsuitable
        self.boxes, self.made = tensors, made._t
        self.tensors = [x._t for x in tensors]
        # A value without axes may be a scalar, whose memory nobody can write into; the next is not
        self.arrays = [np.asarray(t.value) for t in self.tensors]
        if type(self.made) is not RootTracer:
            raise Unsuitable
        self.node: Any = self.made.node
        self.plainly, self.order = plainly, order_of(self.made.value)
        self.scope: dict[str, Any] = COMMON | {"kind": self.made.kind, "laid": laying(self.order)}
        self.view = made._link is not None
        if self.view:
            applied = self._view(applied, made)
        elif self.made.held_version is not None and self.made.held_version.so_far:
            raise Unsuitable
        self.prim, self.args, self.params = self._operation(applied)
        large = any(a.size >= PARALLEL for a in self.arrays) and self.prim is not MATMUL
        if not self.view and (self.made.kind is None or large):
            raise Unsuitable  # of what is huge there are recipes of views and of small products
        self.places = [self._place(a) for a in self.args]
        xs = [
            a if k is None else self.arrays[k] for a, k in zip(self.args, self.places, strict=True)
        ]
        self.native, objects = native_code(self.prim, xs, self.params, self.arrays)
        self.plan = objects.get("plan")  # calls that are prepared
        self.scope |= objects
        self.moving = [t.node is not None and k in self.places for k, t in enumerate(self.tensors)]
        self._check_node()
        self.straight = Straight("k", {})
        self.code: Any = None
        self.values = [f"a{k}" for k in range(len(tensors))]
        self.tracers = [f"t{k}" for k in range(len(tensors))]

    def _view(self, applied: Sequence[Any], made: Tensor) -> Sequence[Any]:
        """Look at how a view is read; what is left was applied for its node."""
        link = self.boxes[0]._link
        if not applied or not callable(applied[0]) or len(self.boxes) > 1 or made._link is None:
            raise Unsuitable
        if link is not None and link.refusal is not None:
            raise Unsuitable
        self.scope |= {"read": applied[0], "refusal": made._link.refusal}
        return applied[1:]

    def _operation(self, applied: Sequence[Any]) -> Applied:
        if self.view and self.node is None and not applied:
            return NOTHING, self.tensors, {}
        if len(applied) != 1 or type(applied[0]) is not tuple:
            raise Unsuitable
        prim, _, params = applied[0]
        own = isinstance(prim, Composite) and type(prim).vjp is not Composite.vjp
        if (own and not prim.transposed_alike) or prim.multiple or prim.opaque or prim.checks:
            raise Unsuitable
        if any(isinstance(p, (Held, np.ndarray, Tracer)) for p in params.values()):
            raise Unsuitable  # of the positions of a view, which are its memory's
        self.scope |= {"prim": prim, "params": params}
        if self.node is not None:
            self.scope |= {"Base": type(self.node), "avals": self.node.avals}
            self.scope["told"] = getattr(self.node, "told", None)
        operation: Applied = applied[0]
        return operation

    def _place(self, a: Any) -> int | None:
        """Which of the tensors an operand is; None for a number."""
        for k, t in enumerate(self.tensors):
            if a is t:
                return k
        if not isinstance(a, (bool, int, float, np.generic)):
            raise Unsuitable
        return None

    def _check_node(self) -> None:
        """Raise unless the call left a node of this operation with nothing special about it."""
        nodes = [t.node for t in self.tensors if t.node is not None]
        node = self.node
        if (node is None) == any(self.moving) or len(set(nodes)) < len(nodes):
            raise Unsuitable
        if node is None:
            return
        parents = tuple(None if k is None else self.tensors[k].node for k in self.places)
        if node.hot or not isinstance(node, GradNode) or node.source is not None:
            raise Unsuitable
        if node.extra is not None or node.prim is not self.prim or node.parents != parents:
            raise Unsuitable

    # ------------------------------------------------------------------------------- writing

    def write(self) -> Recipe:
        if self.native:
            text = self._of_native_code()
        elif self.node is not None:
            text = self._recording(self._graph())
        elif self.view:
            text = VIEWED.format(node="r.node = None")
        else:
            text = self._computed(self._forward(self._graph(), ()), (), "r.node = None")
        self.code = compiled(text, self.prim.name)
        self.scope |= self.straight.scope
        exec(self.code, self.scope)
        if self.node is not None:
            self.scope["HotNode"].__name__ = type(self.node).__name__
        made: Recipe = self.scope["record"]
        return made

    def keep(self, key: str | None) -> None:
        """Let the next process have the recipe, with all that it names."""
        names = {"avals", "Base", "told", "refusal", "read"} & self.scope.keys()
        scope = self.straight.scope | {name: self.scope[name] for name in names}
        scope |= {
            "prim": self.prim, "params": self.params,
            "args": tuple(a if k is None else None
                          for a, k in zip(self.args, self.places, strict=True)),
            "places": tuple(self.places), "native": (self.native, self.plan is not None),
            "order": self.order, "lies": lies(self.made.value),
        }  # fmt: skip
        keep(key, self.code, scope, self.straight.origins)

    def _of_native_code(self) -> str:
        """Both passes by calls of native code."""
        xs = [
            self.straight.constant(a) if k is None else self.values[k]
            for a, k in zip(self.args, self.places, strict=True)
        ]
        call = f"value_of(prim, ({', '.join(xs)},), params)"
        forward = [f"return {call}"]
        if self.plan is not None:
            read = ", ".join(self.values[k] for k in self.places if k is not None)
            forward = [f"out = plan({read})", f"return {call} if out is None else out"]
        if self.node is None:
            return self._computed(forward, (), "r.node = None")
        fields, constant = self._bookkeeping([s is not None for s in self.node.saved])
        filling = self._filling(fields, constant)
        text = TEMPLATE.format(
            pull="\n        ".join(NATIVE_PULL),
            constant="\n    ".join(constant),
            keeps=any(s is not None for s in self.node.saved),
        )
        return text + self._computed(forward, (), filling)

    def _filling(self, fields: Sequence[str], constant: list[str]) -> str:
        """What makes the node; what all nodes of the class have comes to `constant`."""
        if hasattr(self.node, "told"):
            self._tell(constant)
        return "\n    ".join(
            ["node = r.node = HotNode()", f"node.parents = {self._parents()}", *fields,
             "node.seq = next(seq)"]
        )  # fmt: skip

    def _graph(self) -> Graph:
        """The operation as a graph of the tensors."""

        def applied(*xs: Any) -> Any:
            args = [a if k is None else xs[k] for a, k in zip(self.args, self.places, strict=True)]
            return (bind(self.prim, args, self.params),)

        graph, consts = stage(applied, [type_of_raw(t.value) for t in self.tensors])
        if consts or not isinstance(graph.outputs[0], Var):
            raise Unsuitable
        return graph

    def _recording(self, graph: Graph) -> str:
        one, two = reverse_graphs(graph, tuple(self.moving))
        saved: Sequence[Any] = self.node.saved
        flags = [s is not None for s in saved]
        out, *way = (v for v in one.outputs if isinstance(v, Var))
        if 1 + len(way) < len(one.outputs):
            raise Unsuitable
        held: dict[Var, str] = {out: "o"} if flags[0] else {}
        for slot, k in enumerate(self.places):
            if k is not None and flags[slot + 1]:
                held.setdefault(one.inputs[k], f"s{slot}")
        inner = [v for v in way if v not in held]
        if any(v in one.inputs for v in inner):
            raise Unsuitable
        if self.view and inner:
            raise Unsuitable
        forward = self._forward(one, inner)
        fields, constant = self._bookkeeping(flags)
        if inner:
            fields.append(f"node.inner = ({', '.join(self.straight.names[v] for v in inner)},)")
            if self._shared(forward):
                fields.append(f"r.version.kept_by(node, {ONLY_INNER})")
        pull = self._pull(two, held, inner, len(saved))
        filling = self._filling(fields, constant)
        text = TEMPLATE.format(
            pull="\n        ".join(pull), constant="\n    ".join(constant), keeps=any(flags)
        )
        if self.view:
            return text + VIEWED.format(node=filling)
        return text + self._computed(forward, inner, filling)

    def _computed(self, forward: list[str], inner: Sequence[Var], node: str) -> str:
        names = ["out", *(self.straight.names[v] for v in inner)]
        boxes = [f"x{k}" for k in range(len(self.tensors))]
        read = [f"{t} = {x}._t" for t, x in zip(self.tracers, boxes, strict=True)]
        read += [f"{a} = {t}.value" for a, t in zip(self.values, self.tracers, strict=True)]
        return COMPUTED.format(
            shown="out" if self.plainly else "laid(out)",
            values=", ".join(self.values),
            tensors=", ".join(boxes),
            read="; ".join(read),
            forward="\n    ".join(forward),
            results=", ".join(names),
            node=node,
        )

    def _forward(self, graph: Graph, inner: Sequence[Var]) -> list[str]:
        """The lines of the forward function: it returns the output and what is kept of the way.

        Where the operation gave memory of its own, so does the function.
        """
        names = self.straight.names
        names.update(zip(graph.inputs, self.values, strict=True))
        lines = self.straight.lines(graph)
        out, *others = [names[v] for v in (graph.outputs[0], *inner) if isinstance(v, Var)]
        if not self.view:
            value = self._run([*lines, f"return {out}"])
            if any(np.may_share_memory(value, x) for x in self.arrays):
                order = '"K"' if graph.outputs[0] in graph.inputs else ""  # clones keep the layout
                lines.append(f"{out} = {out}.copy({order})")
                if value.size >= SHARED and value.flags.c_contiguous:
                    lines[-1] = f"{out} = copy_of({out})"
        return [*lines, f"return {', '.join([out, *others])}"]

    def _run(self, lines: list[str]) -> Any:
        """What the lines of a function give for the tensors of the call."""
        scope = self.scope | self.straight.scope
        body = "\n    ".join(lines)
        exec(f"def run({', '.join(self.values)}):\n    {body}", scope)
        run = scope.pop("run")  # a function in its own globals is left to the cycle collector
        return modes.unrecorded(run, *self.arrays)

    def _bookkeeping(self, flags: list[bool]) -> tuple[list[str], list[str]]:
        """What fills the node, as on the hot path."""
        tracers = [None if k is None else self.tracers[k] for k in self.places]
        values = [
            self.straight.constant(a) if k is None else self.values[k]
            for a, k in zip(self.args, self.places, strict=True)
        ]
        return bookkeeping(type(self.node), tracers, values, flags)

    def _tell(self, constant: list[str]) -> None:
        """What the operation was called with is the same for all nodes of the class."""
        held = tree.leaves(self.node.told)
        if any(isinstance(value, (Operand, np.ndarray)) for value in held):
            raise Unsuitable
        constant.append("told = told")

    def _parents(self) -> str:
        tracers = ("None" if k is None else f"{self.tracers[k]}.node" for k in self.places)
        return f"({', '.join(tracers)},)"

    def _shared(self, forward: list[str]) -> bool:
        """Whether what is kept of the way lies in the memory of the output.

        What lies in that of an operand is good as long as the operand, which is saved, is.
        """
        out, *inner = self._run(forward)
        for k in range(len(self.tensors)):
            saved = self.node.saved[1 + self.places.index(k)] if k in self.places else None
            if saved is None and any(np.may_share_memory(self.arrays[k], c) for c in inner):
                raise Unsuitable
        return any(np.may_share_memory(out, c) for c in inner)

    def _pull(
        self, two: Graph, held: dict[Var, str], inner: Sequence[Var], count: int
    ) -> list[str]:
        """The quick backward pass: from what is saved to the cotangents of the parents."""
        lines = []
        names = self.straight.names
        if inner:
            lines = ["inner = self.inner", "if inner is None:",
                     "    return Base.pull_quick(self, cts, g)"]  # fmt: skip
            lines.append(f"({', '.join(names[v] for v in inner)},) = inner")
        if held:
            slots = [f"s{slot}" for slot in range(count - 1)]
            lines.append(f"({', '.join(['o', *slots])},) = self.saved")
        names.update(held)
        names[two.inputs[-1]] = "g"
        lines.append(f"({', '.join(f'p{k}' for k in range(len(self.places)))},) = self.parents")
        lines += self.straight.lines(two, quick=True)
        wanted = [k for k, m in enumerate(self.moving) if m]
        for k, output in zip(wanted, two.outputs, strict=True):
            p = f"p{self.places.index(k)}"
            lines.append(f"c = {self.straight.owned(output, two.inputs[:-1])}")
            lines.append(f"cts[{p}] = cts[{p}] + c if {p} in cts else c")
        return lines

    # ------------------------------------------------------------------------------ checking

    def check(self, found: Recipe) -> None:
        """Raise unless the recipe does what the call has done."""
        again = found(*self.boxes)._t
        if not _same(again.value, self.made.value):
            raise Unsuitable
        if np.shape(again.value) and again.value.strides != self.made.value.strides:
            raise Unsuitable if self.view else OtherLayout
        if not self.view and any(np.may_share_memory(again.value, t.value) for t in self.tensors):
            raise Unsuitable
        if self.node is None:
            return
        node = again.node
        saved = zip(node.saved, self.node.saved, strict=True)
        if not all(_same(x, y) for x, y in saved) or node.origins != self.node.origins:
            raise Unsuitable
        if (node.made is None) != (self.node.made is None):
            raise Unsuitable
        g = np.linspace(0.5, 1.5, self.made.value.size, dtype=self.made.value.dtype)
        g = g.reshape(self.made.value.shape)[()]
        pulled: dict[Any, Any] = {}
        node.pull_quick(pulled, g)
        for p, c in zip(self.node.parents, self.node.cotangents(g), strict=True):
            if p is not None and not _same(dense(pulled.get(p)), dense(c), True):
                raise Unsuitable


def _same(x: Any, y: Any, strict: bool = False) -> bool:
    """Whether two values are the same, bit for bit (but for NaN)."""
    if x is None or y is None:
        return x is y
    a, b = np.asarray(x), np.asarray(y)
    if a.dtype != b.dtype or a.shape != b.shape or (type(x) is not type(y) and not strict):
        return False
    return bool(np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"))
