"""The root tape: what records the operations on tensors.

It is a tape of the core with the lowest level, which never closes, so every transform is inner to
it. Its nodes are those of `nodes`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from funcgrad import tree
from funcgrad.core.primitive import Params, Primitive
from funcgrad.core.tracer import Operand, Tracer, bind, type_of
from funcgrad.core.types import Array, ArrayType, is_inexact, type_of_raw
from funcgrad.kernels.forward import apply
from funcgrad.kernels.threads import PARALLEL
from funcgrad.ops.operators import BINARY
from funcgrad.ops.shape import BROADCAST
from funcgrad.torch import c_order, flat, lines
from funcgrad.torch.modes import modes
from funcgrad.torch.narrow import settle
from funcgrad.torch.nodes import AccumulateGrad, GradNode, default_class, edge_of, pick
from funcgrad.torch.staged import Memory, fresh
from funcgrad.torch.versions import Version
from funcgrad.transforms.node import IN_PLACE_FROM, TapeTracer, new, seq
from funcgrad.transforms.tape import Tape

__all__ = [
    "DUAL",
    "PACKING",
    "ROOT",
    "TRACEBACK",
    "RootTracer",
    "bare",
    "leaf_tracer",
    "plain",
    "tangent_of",
]


class RootTracer(TapeTracer):
    """What a tensor holds: its array, its node (None where nothing requires grad), its version.

    `dual` is set for dual numbers only: the level of `forward_ad` and the tangent, a tensor.
    `hooks` are those of a leaf that requires grad no longer; it has them again once it does.
    """

    __slots__ = ("dual", "held_version", "hooks")
    node: Any
    held_version: Any  # a Version, or None
    dual: tuple[int, Any]
    hooks: Any

    @property
    def type(self) -> ArrayType:
        x = self.value
        return x.type if type(x) is Memory else type_of_raw(x)

    @property
    def version(self) -> Version:
        """Made when it is first asked for; most tensors are never written."""
        found = self.held_version
        if found is None:
            found = self.held_version = Version()
        return found  # type: ignore[no-any-return]

    @version.setter
    def version(self, given: Version) -> None:
        self.held_version = given


for _name in BINARY:  # the hot paths of tapes make tracers of tapes
    for _text in (f"__{_name}__", f"__r{_name}__"):
        setattr(RootTracer, _text, getattr(Tracer, _text))


def plain(x: Array) -> RootTracer:
    """A tracer without a node."""
    if modes.stage is not None:
        x = modes.stage.lift(x)
    t = new(RootTracer)
    t.value, t.node, t.kind = x, None, None
    if modes.inference:
        t.held_version = Version()
        t.held_version.inference = True
    else:
        t.kind, t.held_version = ROOT.kind_of(x), None
    return t


def tangent_of(x: Any) -> Any:
    """The tangent of a tracer, a tensor, at the level of `forward_ad` that holds; else None."""
    if modes.dual is None:
        return None
    held = getattr(x, "dual", None)
    return held[1] if held is not None and held[0] == modes.dual else None


def bare(t: Any) -> Any:
    """The content of a tracer without its node: its array, or what carries its tangent on."""
    if type(t) is not RootTracer:
        return t
    if tangent_of(t) is None:
        return t.value
    made = ROOT.tracer(t.value, None)
    made.held_version, made.dual = t.version, t.dual
    return made


# --------------------------------------------------------------------------------- the tape


FLOATS = frozenset((np.dtype(np.float32).num, np.dtype(np.float64).num))
MANY_KINDS = 10_000


class Kind:
    """The dtype, shape and layout of arrays; `made` is that of what is computed of each element of
    them. Of `large` ones, what is costly is computed by native code and has no hot path. From
    `PARALLEL` elements on, where threads help also what is cheap, there are no kinds."""

    __slots__ = ("large", "made", "of")

    def __init__(self, of: Any, large: bool) -> None:
        self.of, self.large, self.made = of, large, self

    def __repr__(self) -> str:
        return f"Kind{self.of}"


class RootTape(Tape):
    """The tape of tensors: level 0, never closed, the same for all threads."""

    what: ClassVar[str] = "a Tensor"

    def __init__(self) -> None:
        super().__init__(marks=False)  # 0 times infinity is NaN, as in PyTorch
        self.level = 0
        self.kinds: dict[Any, Any] = {}

    def tracer(self, x: Array, node: Any) -> RootTracer:
        t = new(RootTracer)
        t.value, t.node, t.kind = x, node, self.kind_of(x)
        t.held_version = None
        if t.kind is None and isinstance(x, Tracer):
            t.value = fresh(x)
        return t

    def kind_of(self, x: Array) -> Kind | None:
        """One object for each layout and shape, if it is not huge, of floats; see `recorders`."""
        key: tuple[Any, ...]
        if type(x) is np.ndarray:
            dtype = x.dtype
            if not dtype.isnative:
                settle(x)
                return None
            if x.size >= PARALLEL:
                return None
            key = (dtype.num, x.shape)
            if not x.flags.c_contiguous:
                key += x.strides
        elif type(x) is np.float32 or type(x) is np.float64:
            key = (x.dtype.num, ())
        else:
            return None
        found = self.kinds.get(key)
        if found is None and key[0] in FLOATS:
            if len(self.kinds) > MANY_KINDS:
                self.kinds.clear()  # costs the hot path for what is alive, nothing else
            found = self.kinds[key] = Kind(key, x.size >= IN_PLACE_FROM)
            if len(key) > 2 and (made := np.positive(x)).strides != x.strides:
                found.made = self.kind_of(made)  # type: ignore[assignment]
        return found

    def keep(self, x: Array) -> Array:
        return x  # what the caller may change is watched by its version

    def process1(self, prim: Primitive, x: Array) -> Any:
        if modes.dual is not None:
            return self.process(prim, (x,), {})
        return prim.tape(self, (x,), {})

    def process2(self, prim: Primitive, x: Array, y: Array) -> Any:
        if modes.dual is not None:
            return self.process(prim, (x, y), {})
        return prim.tape(self, (x, y), {})

    def process(self, prim: Primitive, args: Sequence[Array], params: Params) -> Any:
        if prim is BROADCAST and params["shape"] == ():
            return _zero_dim(args[0])
        made = prim.tape(self, args, params)
        node = _maker(made)
        if node is not None and node.prim is not prim and isinstance(node, GradNode):
            _remember(node, prim, args, params)
        if modes.dual is not None and any(tangent_of(a) is not None for a in args):
            return DUAL[0](prim, made, args, params)
        return made

    def split(self, args: Sequence[Array]) -> tuple[tuple[Any, ...], list[Array], int]:
        nodes: list[Any] = []
        xs, mask = [], 0
        for i, a in enumerate(args):
            if type(a) is RootTracer:
                nodes.append(a.node)
                xs.append(a.value)
                if a.node is not None:
                    mask |= 1 << i
            else:
                nodes.append(None)
                xs.append(a)
        return tuple(nodes), xs, mask

    def record_one(self, prim: Primitive, x: Array, params: Params) -> Any:
        """`record` for one operand, a tensor's."""
        if modes.watching is not None:
            modes.watching.append((prim, (x,), params))
        parent, held = x.node, x.held_version
        staging = isinstance(x.value, Memory)
        y = bind(prim, (x.value,), params) if staging else _computed(prim, (x.value,), params)
        if y is None:
            y = prim.impl(x.value, **params)
        if parent is None or not prim.differentiable:
            return y
        keeps_output, keeps = prim.saved_flags(1, 1)
        if keeps and held is not None and held.inference:
            raise RuntimeError(INFERENCE_SAVED)
        saved = (y if keeps_output else None, x.value if keeps else None)
        out = self.record_node(prim, (parent,), params, saved, (type_of(x.value),), y)
        if type(out) is RootTracer:
            node = out.node
            if keeps_output:
                node.made = (out.version, 0)
        elif type(out) is tuple and (tracers := [o for o in out if type(o) is RootTracer]):
            node = tracers[0].node.parents[0]
        else:
            return out
        node.origins = (x if keeps else None,)
        node.counts = (0 if held is None or not keeps else held.so_far,)
        if modes.saved_hooks:
            PACKING[0](node, (x,), out)
        return out

    def record(self, prim: Primitive, args: Sequence[Array], params: Params) -> Any:
        if len(args) == 1 and type(args[0]) is RootTracer and type(args[0].value) is not Memory:
            return self.record_one(prim, args[0], params)
        if modes.watching is not None:
            modes.watching.append((prim, args, params))
        nodes, xs, mask = self.split(args)
        y = _computed(prim, xs, params)
        if y is None:
            y = bind(prim, xs, params)
        if not mask or not prim.differentiable:
            return y
        return self.record_applied(prim, args, params, nodes, xs, mask, y)

    def record_applied(
        self,
        prim: Primitive,
        args: Sequence[Array],
        params: Params,
        nodes: tuple[Any, ...],
        xs: Sequence[Array],
        mask: int,
        y: Any,
    ) -> Any:
        """Record that `prim` of `args`, which `split` has taken apart, gave `y`."""
        flags = prim.saved_flags(mask, len(xs))
        saved = (y if flags[0] else None,) + tuple(
            x if flag else None for x, flag in zip(xs, flags[1:], strict=True)
        )
        out = self.record_node(prim, nodes, params, saved, tuple(map(type_of, xs)), y)
        if type(out) is RootTracer:
            node = out.node
            if flags[0]:
                node.made = (out.version, 0)
        elif type(out) is tuple:
            found = next((o for o in out if type(o) is RootTracer), None)
            if found is None:
                return out
            node = found.node.parents[0]
        else:
            return out
        origins, counts = [], []
        for a, flag in zip(args, flags[1:], strict=True):
            watched = flag and type(a) is RootTracer
            held = a.held_version if watched else None
            if held is not None and held.inference:
                raise RuntimeError(INFERENCE_SAVED)
            origins.append(a if watched else None)
            counts.append(0 if held is None else held.count)
        node.origins, node.counts = tuple(origins), tuple(counts)
        if modes.saved_hooks:
            PACKING[0](node, args, out)
        return out

    def record_node(
        self,
        prim: Primitive,
        parents: tuple[Any, ...],
        params: Params,
        saved: Any,
        types: Any,
        y: Any,
    ) -> Any:
        if parents.count(None) == len(parents):
            return y
        node: Any = new(default_class(prim))
        node.prim, node.params, node.parents = prim, params, parents
        node.saved, node.avals, node.seq = saved, types, next(seq)
        node.extra = node.made = node.source = node.inner = None
        node.origins, node.counts = (), ()
        node.line = TRACEBACK[0]() if modes.anomaly else None
        if not isinstance(y, tuple):
            return self.tracer(y, node) if is_inexact(type_of(y).dtype) else y
        node.outputs = tuple(map(type_of, y))
        return tuple(
            self.tracer(o, pick(node, k)) if is_inexact(kind.dtype) else o
            for k, (o, kind) in enumerate(zip(y, node.outputs, strict=True))
        )


INFERENCE_SAVED = (
    "Inference tensors cannot be saved for backward. Please do not use Tensors created in "
    "inference mode in computation tracked by autograd. To work around this, you can make a clone "
    "to get a normal tensor and use it in autograd, or use `torch.no_grad()` instead of "
    "`torch.inference_mode()`."
)


# functions of files that build on this one
PACKING: list[Callable[[GradNode, Sequence[Any], Any], None]] = []  # under `saved_tensors_hooks`
DUAL: list[Callable[..., Any]] = []  # the tangents of an operation on dual numbers
TRACEBACK: list[Callable[[], Any]] = []  # where the program is, for anomaly mode


def _computed(prim: Primitive, xs: Sequence[Any], params: Params) -> Any:
    """The value for large raw operands; None where it is computed the general way."""
    y = lines.value(prim, xs, params) if prim in lines.VALUES else flat.value(prim, xs, params)
    if y is None and prim in c_order.LAID:
        return c_order.value(prim, xs, params)
    return apply(prim, xs) if y is None else y


def _zero_dim(t: Any) -> RootTracer:
    """The same tensor, of which the value surely is an array: no operation of the user's."""
    if type(t.value) is np.ndarray:
        return t  # type: ignore[no-any-return]
    made = ROOT.tracer(np.asarray(t.value), t.node)
    made.held_version = t.version
    if hasattr(t, "dual"):
        made.dual = t.dual
    return made


def _maker(made: Any) -> Any:
    """The node that made a result."""
    found = made[0] if type(made) is tuple and made else made
    return edge_of(found.node)[0] if type(found) is RootTracer and found.node is not None else None


def _remember(node: GradNode, prim: Primitive, args: Sequence[Array], params: Params) -> None:
    """Of a node that another primitive has recorded: where it comes from, and what it has saved.

    Its residuals are arrays of any origin, so an operand counts as saved if it shares their memory.
    """
    node.source = prim, args, params
    node.become(default_class(prim))
    held = _arrays(node.saved)
    node.origins = tuple(
        a if type(a) is RootTracer and any(np.may_share_memory(a.value, r) for r in held) else None
        for a in args
    )
    node.counts = tuple(a.version.count if type(a) is RootTracer else 0 for a in args)


def _arrays(saved: Any) -> list[Any]:
    """The arrays in a tree of residuals."""
    found = [r.content() if isinstance(r, Operand) else r for r in tree.leaves(saved)]
    values = [r.value if type(r) is RootTracer else r for r in found]
    return [v for v in values if isinstance(v, np.ndarray)]


ROOT = RootTape()
RootTracer.owner = ROOT  # type: ignore[misc]  # of all of them: no slot has to be filled


def leaf_tracer(tensor: Any, t: RootTracer) -> None:
    """Make the tracer `t` of `tensor` a leaf that requires grad."""
    node = new(AccumulateGrad)
    node.avals, node.seq, node.extra, node.grad = (type_of(t.value),), next(seq), None, None
    node.tensor, node.value, node.version = weakref.ref(tensor), t.value, t.version
    t.node = node
