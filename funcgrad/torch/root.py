"""The root tape: what records the operations on tensors.

It is a tape of the core with the lowest level, which never closes, so every transform is inner to
it. Its nodes are the core's with what PyTorch shows of them: a class named after the operation,
hooks, and the tensors that they saved with their versions.
"""

from __future__ import annotations

import functools
import re
import weakref
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from funcgrad import tree
from funcgrad.core.algebra import algebra
from funcgrad.core.primitive import Params, Primitive
from funcgrad.core.tracer import Operand, Tracer, bind, operand, type_of
from funcgrad.core.types import Array, ArrayType, is_inexact, type_of_raw
from funcgrad.kernels import FEWEST, ROWS
from funcgrad.kernels.forward import apply
from funcgrad.ops.operators import BINARY
from funcgrad.ops.shape import BROADCAST
from funcgrad.torch.modes import modes
from funcgrad.torch.staged import Memory, fresh, memory_copy
from funcgrad.transforms.api import jvp
from funcgrad.transforms.node import (
    IN_PLACE_FROM,
    Cotangents,
    LeafNode,
    OpNode,
    PickNode,
    TapeTracer,
    leaf_node,
    new,
    seq,
)
from funcgrad.transforms.reverse import backward, transpose_linear
from funcgrad.transforms.tape import Tape

__all__ = [
    "FREED",
    "ROOT",
    "AccumulateGrad",
    "Composite",
    "GradNode",
    "Pick",
    "RootTracer",
    "Version",
    "bare",
    "edge_of",
    "forward_name",
    "leaf_tracer",
    "node_class",
    "output_name",
    "plain",
    "tangent_of",
    "writes",
]


ONLY_INNER = -1  # in the place of a slot: it is the residuals within a composite


class Writes:
    """When a tensor was last written, as a serial number of nodes.

    What a node made later has saved, nobody has changed since.
    """

    __slots__ = ("latest",)

    def __init__(self) -> None:
        self.latest = 0


writes = Writes()


class Version:
    """Counts the in-place changes of a storage; shared by a tensor, its views and detached ones."""

    so_far = 0
    inference = False
    writer: Any = None  # the name of the operation that changed the storage last
    keepers: Any = None  # of nodes that have saved it where PyTorch's do not

    @property
    def count(self) -> int:
        """How many changes there have been; whoever adds to it has changed the storage."""
        return self.so_far

    @count.setter
    def count(self, changes: int) -> None:
        self.so_far = changes
        writes.latest = next(seq)

    def kept_by(self, node: Any, slot: int) -> None:
        """Let `node` have a copy of what it saved in `slot`, should the storage be written."""
        if self.keepers is None:
            self.keepers = []
        elif len(self.keepers) & (len(self.keepers) - 1) == 0:  # at powers of 2
            self.keepers = [k for k in self.keepers if k[0]() is not None]
        self.keepers.append((weakref.ref(node), slot))

    def before_write(self) -> None:
        """Give the nodes that have saved the storage copies of it."""
        if self.keepers is None:
            return
        for reference, slot in self.keepers:
            node = reference()
            if node is None or node.saved is FREED:
                continue
            if slot != ONLY_INNER:
                kept = list(node.saved)
                kept[slot] = memory_copy(kept[slot])
                node.saved = tuple(kept)
            node.inner = None  # its rule computes again, from what was saved
        self.keepers = None


class RootTracer(TapeTracer):
    """What a tensor holds: its array, its node (None where nothing requires grad), its version.

    `dual` is set for dual numbers only: the level of `forward_ad` and the tangent, a tensor.
    """

    __slots__ = ("dual", "held_version")
    node: Any
    held_version: Version | None
    dual: tuple[int, Any]

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
        return found

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


# ---------------------------------------------------------------------------------- nodes


class Freed:
    """In the place of saved values that a backward pass has given back."""

    def __repr__(self) -> str:
        return "<freed>"


FREED = Freed()


class Extra:
    """The hooks of a node and what else few nodes have."""

    __slots__ = ("metadata", "node_hooks", "post_hooks", "pre_hooks", "retained", "tensor_hooks")

    def __init__(self) -> None:
        self.tensor_hooks: dict[int, dict[int, Any]] = {}  # by output, in order of registration
        self.pre_hooks: dict[int, Any] = {}
        self.node_hooks: dict[int, Any] = {}
        self.post_hooks: dict[int, Any] = {}  # after a leaf has accumulated
        self.retained: dict[int, Any] = {}  # output -> weak reference of the tensor
        self.metadata: dict[Any, Any] = {}


# nodes that PyTorch writes by hand carry their C++ namespace
WITHOUT_FORMULA = frozenset(
    ("AccumulateGrad", "CopyBackwards", "CopySlices", "GraphRoot", "Identity")
)


class NodeFace:
    """What user code sees of a node."""

    __slots__ = ()
    hot: ClassVar[bool] = False  # recorded by `hot`: it has no hooks, `source` and `inner`
    parents: Any
    extra: Any
    seq: int

    def become(self, kind: Any) -> None:
        """Be of another class, which shows the same operation by another name."""
        raise NotImplementedError

    def name(self) -> str:
        """The name of the class, such as ``MulBackward0``."""
        found = type(self).__name__
        return f"torch::autograd::{found}" if found in WITHOUT_FORMULA else found

    @property
    def more(self) -> Extra:
        """The hooks, made on first use."""
        if self.extra is None:
            if self.hot:
                self.become(type(self).__base__)
            self.extra = Extra()
        found: Extra = self.extra
        return found

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for the user."""
        return self.more.metadata

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """The nodes that made the inputs, each with the number of its output."""
        return tuple(map(edge_of, self.shown_parents()))

    def shown_parents(self) -> Sequence[Any]:
        """The parents that PyTorch lists: those that could require grad."""
        found: Sequence[Any] = self.parents
        return found

    def _sequence_nr(self) -> int:
        return self.seq

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {hex(id(self))}>"


def forward_name(node: Any) -> str:
    """The name of the operation that a node belongs to, such as ``Mul``."""
    return re.sub(r"Backwards?\d*$", "", edge_of(node)[0].name())


def output_name(node: Any) -> str:
    """A node as PyTorch's messages name it, such as ``output 0 of Mul``."""
    return f"output {edge_of(node)[1]} of {forward_name(node)}"


def edge_of(node: Any) -> tuple[Any, int]:
    """A node as PyTorch shows it: the operation and the number of its output."""
    if type(node) is Pick:
        return node.parents[0], node.params["index"]
    return node, 0


# operands that PyTorch knows to be numbers do not count as inputs of these
SHOWN = {
    "PowBackward0": (0,),
    "PowBackward2": (1,),
    "ZeroBackward0": (0,),
    "FillBackward2": (0,),
    "UniformBackward0": (0,),
    "NormalBackward0": (0,),
}


FIELDS = (
    "prim",
    "params",
    "fix",
    "seq",
    "extra",
    "made",
    "line",
    "origins",
    "counts",
    "saved",
    "parents",
)


class GradNode(NodeFace, OpNode):
    """An operation on tensors; the classes that users see derive from it, one for each name.

    `origins` are the tracers of the saved operands and `counts` their versions when they were
    saved; `made` is the version of the saved output with its count.
    """

    __slots__ = ("counts", "extra", "inner", "line", "made", "origins", "source", "tangents")
    extra: Extra | None
    origins: tuple[RootTracer | None, ...]
    counts: tuple[int, ...]
    made: tuple[Version, int] | None
    line: Any  # in anomaly mode, where it was made
    tangents: tuple[int, Any]  # level and tangents of what is saved, where there are any
    source: tuple[Primitive, Sequence[Array], Params] | None  # what another primitive's node is for
    inner: Any  # of a composite: what its own operations have recorded, see `Composite.vjp`
    keeps: ClassVar[bool] = True  # whether there is anything to `release`
    saved_names: ClassVar[tuple[str, ...]] = ()
    shown: ClassVar[tuple[int, ...] | None] = None

    def shown_parents(self) -> Sequence[Any]:
        if self.shown is not None:
            return [None if k < 0 else self.parents[k] for k in self.shown]
        name = type(self).__name__
        if name == "CopySlices":  # the base, and what the operation on the view had but the view
            written = self.parents[1]
            return [self.parents[0], *([] if written is None else written.shown_parents()[1:])]
        if name == "NotImplemented":
            return [p for p in self.parents if p is not None]
        if name in SHOWN:
            return [self.parents[k] for k in SHOWN[name]]
        rule = getattr(self.prim, "_rule", None)
        if rule is not None:
            return [p for k, p in enumerate(self.parents) if rule(k) is not None]
        parents: Sequence[Any] = self.parents
        return parents[: len(parents) - getattr(self.prim, "fixed", 0)]

    def pull_quick(self, cts: Cotangents, g: Any) -> None:
        inner = getattr(self, "inner", None)
        prim: Any = self.prim
        large = prim.name in ROWS and self.fix[0].size >= FEWEST
        if inner is None or inner.saved is not self.saved or large:
            super().pull_quick(cts, g)
        else:
            self.send(cts, prim.vjp(self, g, quick=True))

    def become(self, kind: Any) -> None:
        if not self.hot:
            self.__class__ = kind
            return
        fields = {name: getattr(self, name) for name in FIELDS}  # some of them in the class
        self.__class__ = kind
        for name, value in fields.items():
            setattr(self, name, value)
        self.source = self.inner = None

    def check(self) -> None:
        """Raise when what a custom function saved has been given back or changed."""

    def release(self) -> None:
        """Give the saved values back. A node that had none can be passed again."""
        saved = self.saved
        if saved is FREED or saved is None:
            return
        if self.hot:
            self.saved, self.origins = FREED, ()
            return
        for s in saved if type(saved) is tuple else (saved,):
            if s is not None:
                self.saved, self.origins, self.counts, self.made = FREED, (), (), None
                self.source = self.inner = None
                return


class Pick(NodeFace, PickNode):
    """Output `index` of a node with several, with the hooks of that tensor."""

    origins, counts, made = (), (), None
    keeps = False

    __slots__ = ("extra",)
    extra: Extra | None


class AccumulateGrad(NodeFace, LeafNode):
    """A leaf: it holds the gradient, and the array of the tensor, but the tensor only weakly."""

    line = None

    __slots__ = ("extra", "grad", "tensor", "value", "version")
    extra: Extra | None
    grad: Any  # a Tensor, or None
    tensor: Any  # a weak reference
    value: Array
    version: Version
    parents = ()

    def pull(self, cts: Cotangents, g: Any) -> None:
        cts[self] = g

    pull_quick = pull

    @property
    def variable(self) -> Any:
        """The tensor; made anew if nobody holds it any more."""
        found = self.tensor()
        if found is None:
            found = BOX[0](ROOT.tracer(self.value, self))
            found._t.version = self.version
            self.tensor = weakref.ref(found)
        return found


BOX: list[Callable[[Any], Any]] = []  # makes a tensor of a tracer; put in by `_tensor`


@functools.cache
def node_class(
    name: str, saved_names: tuple[str, ...] = (), shown: tuple[int, ...] | None = None
) -> type[GradNode]:
    """The class of the nodes of one operation.

    `saved_names` are PyTorch's names of the output and of each operand that it saves, with "" for
    what it does not save; `shown` are the operands that count as its inputs (by default all that
    can be differentiated), with -1 for an input that PyTorch counts and the core does not have.
    """
    members: dict[str, Any] = {"__slots__": (), "saved_names": saved_names, "shown": shown}
    for slot, saved in enumerate(saved_names):
        if saved:
            for prefix, reader in (("_saved_", 0), ("_raw_saved_", 1)):
                members[prefix + saved] = property(functools.partial(_read_saved, reader, slot))
    return type(name, (GradNode,), members)


SAVED_READERS: list[Callable[[Any, int], Any]] = []  # of ``_saved_self``, and of the raw one


def _read_saved(reader: int, slot: int, node: GradNode) -> Any:
    return SAVED_READERS[reader](node, slot)


def keep_quietly(node: GradNode, out: RootTracer | None) -> None:
    """Nobody shall notice that `node` has saved what PyTorch's node does not save.

    It may be changed in place: the node gets a copy then.
    """
    names = type(node).saved_names
    for slot, kept in enumerate(node.saved):
        if kept is None or (slot < len(names) and names[slot]):
            continue
        if slot == 0:
            if out is not None:
                out.version.kept_by(node, 0)
            node.made = None
        elif (origin := node.origins[slot - 1]) is not None:
            origin.version.kept_by(node, slot)
            node.origins = (*node.origins[: slot - 1], None, *node.origins[slot:])


# PyTorch's name of each operation of the core that is recorded under the core's own name
NAMES = {
    "add": "Add", "subtract": "Sub", "multiply": "Mul", "divide": "Div", "negative": "Neg",
    "power": "Pow", "absolute": "Abs", "matmul": "Mm", "cast": "ToCopy", "broadcast": "Expand",
    "reshape": "View", "transpose": "Permute", "getitem": "Slice", "where": "Where",
    "arcsin": "Asin", "arccos": "Acos", "arctan": "Atan", "arctan2": "Atan2",
    "conjugate": "Conj", "concatenate": "Cat", "einsum": "Einsum", "scale": "Mul",
}  # fmt: skip


@functools.cache
def default_class(prim: Primitive) -> type[GradNode]:
    """The class for an operation that the facade gives no name of its own."""
    camel = "".join(part.capitalize() for part in prim.name.split("_"))
    return node_class(f"{NAMES.get(prim.name, camel)}Backward0", SAVED_NAMES.get(prim.name, ()))


SAVED_NAMES: dict[str, tuple[str, ...]] = {
    "multiply": ("result", "self", "other"),
    "divide": ("result", "self", "other"),
    "power": ("result", "self", "exponent"),
    "matmul": ("result", "self", "mat2"),
    "arctan2": ("result", "self", "other"),
    "where": ("result", "condition", "self", "other"),
    "maximum": ("result", "self", "other"),
    "minimum": ("result", "self", "other"),
}


# --------------------------------------------------------------------------------- the tape


FLOATS = frozenset((np.dtype(np.float32).num, np.dtype(np.float64).num))
MANY_KINDS = 10_000


class RootTape(Tape):
    """The tape of tensors: level 0, never closed, the same for all threads."""

    what: ClassVar[str] = "a Tensor"

    def __init__(self) -> None:
        super().__init__()
        self.level = 0
        self.kinds: dict[Any, object] = {}

    def tracer(self, x: Array, node: Any) -> RootTracer:
        t = new(RootTracer)
        t.value, t.node, t.kind = x, node, self.kind_of(x)
        t.held_version = None
        if t.kind is None and isinstance(x, Tracer):
            t.value = fresh(x)
        return t

    def kind_of(self, x: Array) -> object:
        """One object for each small shape of float32 and float64 (see `hot`), else None."""
        if type(x) is np.ndarray:
            if x.size >= IN_PLACE_FROM:
                return None
            key = (x.dtype.num, x.shape)
        elif type(x) is np.float32 or type(x) is np.float64:
            key = (x.dtype.num, ())
        else:
            return None
        found = self.kinds.get(key)
        if found is None and key[0] in FLOATS:
            if len(self.kinds) > MANY_KINDS:
                self.kinds.clear()  # costs the hot path for what is alive, nothing else
            found = self.kinds[key] = object()
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
        parent, held = x.node, x.held_version
        staging = isinstance(x.value, Memory)
        y = bind(prim, (x.value,), params) if staging else apply(prim, (x.value,))
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
        if (
            len(args) == 1
            and type(args[0]) is RootTracer
            and type(args[0].value) is not Memory
            and not isinstance(prim, Composite)
        ):
            return self.record_one(prim, args[0], params)
        nodes, xs, mask = self.split(args)
        if not mask or not prim.differentiable:
            return bind(prim, xs, params)
        y, inner = apply(prim, xs), None
        if type(prim) is Composite:
            y, inner = prim.applied(xs, params, mask)
        elif y is None:
            y = bind(prim, xs, params)
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
        if inner is not None:
            node.inner, inner.saved = inner, node.saved
            # its residuals may lie in the memory of the results
            for o in out if type(out) is tuple else (out,):
                if type(o) is RootTracer:
                    o.version.kept_by(node, ONLY_INNER)
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
        node.saved, node.fix, node.seq = saved, types, next(seq)
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


def pick(parent: Any, k: int) -> Pick:
    """The node of output `k` of `parent`."""
    node = new(Pick)
    node.params, node.parents, node.seq, node.extra = {"index": k}, (parent,), next(seq), None
    return node


ROOT = RootTape()
RootTracer.owner = ROOT  # type: ignore[misc]  # of all of them: no slot has to be filled


def leaf_tracer(tensor: Any, t: RootTracer) -> None:
    """Make the tracer `t` of `tensor` a leaf that requires grad."""
    node = new(AccumulateGrad)
    node.fix, node.seq, node.extra, node.grad = (type_of(t.value),), next(seq), None, None
    node.tensor, node.value, node.version = weakref.ref(tensor), t.value, t.version
    t.node = node


# ------------------------------------------------------------------------------- composites


class Composite(Primitive):
    """An operation of PyTorch that is several of the core, and yet one node.

    On the root tape it is recorded as a whole; its vjp is that of the function, run again on what
    was saved (where it is linear in all differentiable operands: transposed, with nothing saved).
    Under every other transform it is the function.
    """

    form = "composite"

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        linear: bool = False,
        fixed: int = 0,
        multiple: bool = False,
    ) -> None:
        super().__init__(f"torch.{name}", function)
        self.linear, self.multiple = linear, multiple
        self.fixed = fixed  # how many operands at the end are never differentiated (indices)

    def __call__(self, *args: Any, **params: Any) -> Any:
        return bind(self, args, params)

    def saved_flags(self, mask: int, count: int) -> tuple[bool, ...]:
        moving = count - self.fixed
        return (False, *(not self.linear,) * moving, *(True,) * self.fixed)

    def type_rule(self, types: Sequence[ArrayType], params: Params) -> Any:
        return type_of(self.impl(*(np.zeros(t.shape, t.dtype) for t in types), **params))

    def tape(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        if trace is ROOT:
            return trace.record(self, args, params)
        return self.impl(*args, **params)

    def forward(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        return self.impl(*args, **params)

    map = stage = forward

    def jvp(self, y: Any, xs: Sequence[Array], ts: Sequence[Array | None], params: Params) -> Any:
        moving = [i for i, t in enumerate(ts) if t is not None]
        if self.linear:
            last = len(xs) - self.fixed
            full = [algebra.zeros(type_of(x)) if t is None else t
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
        return inside(self.impl, xs, params, [i for i in range(len(xs)) if mask >> i & 1])

    def vjp(self, node: Any, g: Any, quick: bool = False) -> Sequence[Array | None]:
        wanted = [i for i, p in enumerate(node.parents) if p is not None]
        cts = tuple(g) if self.multiple else (g,)
        held = node.saved[1:]
        inner = getattr(node, "inner", None)
        if inner is not None and inner.saved is node.saved:
            return inner.pull(cts, wanted, len(held), quick)  # type: ignore[no-any-return]
        if not self.linear:
            return inside(self.impl, held, node.params, wanted)[1].pull(cts, wanted, len(held))
        cts = tuple(
            algebra.zeros(t) if c is None else c
            for c, t in zip(cts, node.outputs if self.multiple else (None,), strict=True)
        )
        filled = [np.zeros(t.shape, t.dtype) if x is None else x
                  for x, t in zip(held, node.fix, strict=True)]  # fmt: skip

        def moved(*xs: Array) -> Any:
            for i, x in zip(wanted, xs, strict=True):
                filled[i] = x
            return self.impl(*filled, **node.params)

        back = transpose_linear(moved, [node.fix[i] for i in wanted], cts)
        return spread_over(wanted, back, len(held))


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

    __slots__ = ("inputs", "outputs", "saved", "tape")

    def __init__(self, tape: InnerTape, inputs: dict[int, Any], outputs: Sequence[Any]) -> None:
        self.tape, self.inputs, self.outputs = tape, inputs, outputs
        self.saved: Any = None

    def pull(
        self, cts: Sequence[Any], wanted: Sequence[int], count: int, quick: bool = False
    ) -> list[Array | None]:
        """The cotangents of the operands `wanted` among `count`, given those of the outputs."""
        roots = [
            (o.node, c)
            for o, c in zip(self.outputs, cts, strict=True)
            if c is not None and isinstance(o, Tracer) and o.owner is self.tape
        ]
        found = backward(roots, [self.inputs[i].node for i in wanted], quick=quick)
        return spread_over(wanted, found, count)


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
