"""Operations of PyTorch that are several of the core, and yet one node."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from funcgrad.core.primitive import Params, Primitive
from funcgrad.core.tracer import Tracer, bind, operand, type_of
from funcgrad.core.types import Array, ArrayType, zeros
from funcgrad.torch import flat, lines
from funcgrad.torch.modes import modes
from funcgrad.torch.narrow import in_single, is_narrow
from funcgrad.torch.nodes import edge_of
from funcgrad.torch.root import ROOT, RootTracer
from funcgrad.torch.staged import order_of_copy
from funcgrad.torch.versions import ONLY_INNER
from funcgrad.transforms.api import jvp
from funcgrad.transforms.node import TapeTracer, leaf_node
from funcgrad.transforms.reverse import transposed, within
from funcgrad.transforms.tape import Tape

__all__ = ["Composite", "Inside", "inside", "spread_over"]

Recorder = Callable[[Sequence[Any], Params], "tuple[Any, Inside] | None"]


class Composite(Primitive):
    """An operation of PyTorch that is several of the core, and yet one node.

    On the root tape it is recorded as a whole; its vjp is that of the function, run again on what
    was saved (where it is linear in all differentiable operands: transposed, with nothing saved).
    Under every other transform it is the function. Its result has memory of its own, also where the
    function gives its operand back, unless it is that of a view and `shows_operand`.
    """

    form = "composite"
    transposed_alike = False  # whether a `vjp` of its own gives the bits of the function's

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        linear: bool = False,
        fixed: int = 0,
        multiple: bool = False,
        recorded: Recorder | None = None,
        shows_operand: bool = False,
        keeps_dtype: bool = False,
        adds: bool = False,
    ) -> None:
        super().__init__(f"torch.{name}", function)
        self.plain = function  # `impl` without a kernel
        self.linear, self.multiple, self.shows_operand = linear, multiple, shows_operand
        self.recorded = recorded  # the value and an `Inside`, of code that does both passes itself
        # a view, or a cast: what it gives is no number that was computed
        self.keeps_dtype = shows_operand or keeps_dtype
        self.adds = adds  # the function of each element, added up as its `reduction` says
        self.narrow: Composite | None = None
        self.fixed = fixed  # how many operands at the end are never differentiated (indices)
        self.derived: dict[Any, Any] = {}  # the transposes that have come again, as graphs

    def __call__(self, *args: Any, **params: Any) -> Any:
        if not self.keeps_dtype and any(map(is_narrow, args)):
            return bind(self._narrow(), args, params)
        return bind(self, args, params)

    def _narrow(self) -> Composite:
        """The same operation on bfloat16."""
        if self.narrow is None:
            self.narrow = made = copy.copy(self)
            made.impl = made.plain = in_single(self.plain)
            made.kernel = made.recorded = None
        return self.narrow

    def saved_flags(self, mask: int, count: int) -> tuple[bool, ...]:
        moving = count - self.fixed
        return (False, *(not self.linear,) * moving, *(True,) * self.fixed)

    def type_rule(self, types: Sequence[ArrayType], params: Params) -> Any:
        return type_of(self.impl(*(np.zeros(t.shape, t.dtype) for t in types), **params))

    def tape(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        if trace is not ROOT:
            return self.impl(*args, **params)
        if modes.watching is not None:
            modes.watching.append((self, args, params))
        nodes, xs, mask = ROOT.split(args)
        computed = lines.value if self in lines.VALUES else flat.value
        y, inner = computed(self, xs, params), None
        recording = mask and self.differentiable
        if y is None:
            y, inner = (
                self.applied(xs, params, mask) if recording else (bind(self, xs, params), None)
            )
            y = y if self.shows_operand else apart_from(xs, y)
        if not recording:
            return y
        out = ROOT.record_applied(self, args, params, nodes, xs, mask, y)
        if inner is not None:
            _attach(inner, out)
        return out

    def forward(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        return self.impl(*args, **params)

    map = stage = forward

    def jvp(self, y: Any, xs: Sequence[Array], ts: Sequence[Array | None], params: Params) -> Any:
        moving = [i for i, t in enumerate(ts) if t is not None]
        if self.linear:
            last = len(xs) - self.fixed
            full = [zeros(type_of(x)) if t is None else t
                    for x, t in zip(xs[:last], ts, strict=False)]  # fmt: skip
            return self.impl(*full, *xs[last:], **params)

        def moved(*some: Array) -> Any:
            full = list(xs)
            for i, x in zip(moving, some, strict=True):
                full[i] = x
            return self.impl(*full, **params)

        found = jvp(moved, tuple(xs[i] for i in moving), tuple(ts[i] for i in moving))[1]
        return tuple(map(operand, found)) if isinstance(found, tuple) else operand(found)

    def applied(self, xs: Sequence[Array], params: Params, mask: int) -> tuple[Any, Any]:
        """The result for raw operands, and what `vjp` needs in order not to compute it again.

        Where hooks stand between what is saved and what a rule reads, nothing else is kept.
        """
        if self.linear or modes.saved_hooks or modes.dual is not None:
            return self.impl(*xs, **params), None
        found = None if self.recorded is None else self.recorded(xs, params)
        if found is not None:
            return found
        moving = [i for i in range(len(xs)) if mask >> i & 1]
        if self.kernel is None:
            return inside(self.plain, xs, params, moving)

        def record(*xs: Array, **params: Any) -> tuple[Any, Inside]:
            return inside(self.plain, xs, params, moving)

        found = self.kernel(record, *xs, **params)
        return found if type(found) is tuple else (found, None)

    def vjp(self, node: Any, g: Any, quick: bool = False) -> Sequence[Array | None]:
        wanted = [i for i, p in enumerate(node.parents) if p is not None]
        cts = tuple(g) if hasattr(node, "outputs") else (g,)
        held = node.saved[1:]
        inner = getattr(node, "inner", None)
        if isinstance(inner, Inside) and inner.saved is node.saved:
            return inner.pull(cts, wanted, len(held), quick)
        if not self.linear:
            return inside(self.impl, held, node.params, wanted)[1].pull(cts, wanted, len(held))
        return spread_over(wanted, self._transposed(node, cts, wanted), len(held))

    def _transposed(self, node: Any, cts: Any, wanted: Sequence[int]) -> Sequence[Array]:
        """The cotangents of the operands `wanted` of a linear function."""
        held, moving = node.saved[1:], len(node.saved) - 1 - self.fixed
        cts = tuple(
            zeros(t) if c is None else c
            for c, t in zip(cts, getattr(node, "outputs", (None,)), strict=True)
        )

        def moved(fixed: Sequence[Array], xs: Sequence[Array]) -> Any:
            filled = [None if k in wanted else zeros(t) for k, t in enumerate(node.avals[:moving])]
            for k, x in zip(wanted, xs, strict=True):
                filled[k] = x
            return self.impl(*filled, *fixed, **node.params)

        types = [node.avals[k] for k in wanted]
        key = None if any(isinstance(c, Tracer) for c in cts) else self._key(node, wanted)
        return transposed(moved, held[moving:], types, cts, self.derived, key, known=True)

    def _key(self, node: Any, wanted: Sequence[int]) -> Any:
        """All that a transpose depends on but for numbers in arrays."""
        told = node.params.items()
        known = tuple((k, type(p), repr(p) if type(p) is float else p) for k, p in told)
        return known, node.avals, tuple(wanted)


def apart_from(xs: Sequence[Any], y: Any) -> Any:
    """`y`, in memory of its own where it shows that of one of `xs`."""
    if type(y) is tuple:
        return tuple(apart_from(xs, part) for part in y)
    if type(y) is not np.ndarray or (y.base is None and not any(y is x for x in xs)):
        return y
    shown = any(type(x) is np.ndarray and np.may_share_memory(x, y) for x in xs)
    return np.array(y, order=order_of_copy(y)) if shown else y


class InnerTape(Tape):
    """The tape of the operations within one: what they save is watched by the node around them."""

    what: ClassVar[str] = "a Tensor"
    located: ClassVar[bool] = False

    def input(self, x: Array) -> TapeTracer:
        return self.tracer(x, leaf_node(type_of(x)))

    def keep(self, x: Array) -> Array:
        return x


class Inside:
    """What the operations within a composite have recorded; good for as long as the node around
    them has the same `saved`, which is replaced when a copy, or something unpacked, is put there.
    """

    __slots__ = ("inputs", "outputs", "saved")

    def __init__(self, tape: InnerTape, inputs: dict[int, Any], outputs: Sequence[Any]) -> None:
        # nodes, not tracers: the values of these would live as long as the node around them
        self.inputs = {i: x.node for i, x in inputs.items()}
        self.outputs = [
            o.node if isinstance(o, Tracer) and o.owner is tape else None for o in outputs
        ]
        self.saved: Any = None

    def pull(
        self, cts: Sequence[Any], wanted: Sequence[int], count: int, quick: bool = False
    ) -> list[Array | None]:
        """The cotangents of the operands `wanted` among `count`, given those of the outputs."""
        roots = [
            (node, c)
            for node, c in zip(self.outputs, cts, strict=True)
            if c is not None and node is not None
        ]
        found = within(roots, [self.inputs[i] for i in wanted], traced=not quick)
        return spread_over(wanted, found, count)


def _attach(inner: Inside, out: Any) -> None:
    """Let the node of the result(s) `out` have what was recorded within it."""
    made = [o for o in (out if type(out) is tuple else (out,)) if type(o) is RootTracer]
    if not made:
        return
    node = edge_of(made[0].node)[0]
    node.inner, inner.saved = inner, node.saved
    for o in made:  # its residuals may lie in the memory of the results
        o.version.kept_by(node, ONLY_INNER)


def inside(
    function: Callable[..., Any], xs: Sequence[Array], params: Params, moving: Sequence[int]
) -> tuple[Any, Inside]:
    """The result of `function`, with a record of the way from the operands `moving` to it."""
    with InnerTape() as tape:
        operands = list(xs)
        inputs = {}
        for i in moving:
            operands[i] = inputs[i] = tape.input(xs[i])
        out = function(*operands, **params)
    several = isinstance(out, tuple)
    outputs = out if several else (out,)
    values = tuple(o.value if isinstance(o, Tracer) and o.owner is tape else o for o in outputs)
    return values if several else values[0], Inside(tape, inputs, outputs)


def spread_over(places: Sequence[int], values: Sequence[Any], count: int) -> list[Any]:
    """`values` at their places, None elsewhere."""
    out: list[Any] = [None] * count
    for i, v in zip(places, values, strict=True):
        out[i] = v
    return out
