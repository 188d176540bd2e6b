"""The nodes of the root tape: the core's with what PyTorch shows of them.

A class named after the operation, hooks, and the tensors that they saved with their versions.
"""

from __future__ import annotations

import functools
import re
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from funcgrad.core.boundary import boundary
from funcgrad.core.primitive import Params, Primitive
from funcgrad.core.types import Array
from funcgrad.torch import flat, lines
from funcgrad.torch.saved_parameters import read_parameter
from funcgrad.torch.versions import FREED, Version
from funcgrad.transforms.node import Cotangents, LeafNode, OpNode, PickNode, new, seq

if TYPE_CHECKING:
    from funcgrad.torch.root import RootTracer

ndarray = np.ndarray

__all__ = [
    "CALL_NODE",
    "FIELDS",
    "LEAF_TENSOR",
    "OF_CORE",
    "SAVED_READERS",
    "AccumulateGrad",
    "Bends",
    "GradNode",
    "Pick",
    "default_class",
    "edge_of",
    "forward_name",
    "keep_quietly",
    "lacking",
    "node_class",
    "output_name",
    "output_types",
    "pick",
]


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

    def of_tensor(self) -> Extra:
        """Those that are a tensor's, not its node's."""
        made = Extra()
        made.tensor_hooks, made.post_hooks = self.tensor_hooks, self.post_hooks
        return made


CALL_NODE: list[Callable[[Any, tuple[Any, ...]], Any]] = []  # put in by `graph_task`

# nodes that PyTorch writes by hand carry their C++ namespace
WITHOUT_FORMULA = frozenset(
    ("AccumulateGrad", "CopyBackwards", "CopySlices", "GraphRoot", "Identity", "NotImplemented")
)


class NodeFace:
    """What user code sees of a node."""

    __slots__ = ()
    hot: ClassVar[bool] = False  # recorded by `recorders`: it has no hooks, `source` and `inner`
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

    @property
    def requires_grad(self) -> bool:
        return True

    @boundary
    def __call__(self, *grads: Any) -> Any:
        """The gradients of the inputs, given those of the outputs; no hook is called."""
        return CALL_NODE[0](self, grads)

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


def output_types(node: Any) -> Any:
    """The types of the outputs of the operation."""
    if hasattr(node, "outputs"):
        return node.outputs
    if type(node) is AccumulateGrad:
        return node.avals
    while node.avals is None:  # where all operands have the type of the output
        node = next(p for p in node.parents if p is not None)
        parent, k = edge_of(node)
        if hasattr(parent, "outputs"):
            return (parent.outputs[k],)
        if type(parent) is AccumulateGrad:
            return parent.avals
    return (node.prim.type_rule(node.avals, node.params),)


FIELDS = (
    "prim",
    "params",
    "avals",
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

    __slots__ = (
        "counts", "extra", "inner", "line", "made", "origins", "source", "tangents", "told",
    )  # fmt: skip
    extra: Extra | None
    origins: tuple[RootTracer | None, ...]
    counts: tuple[int, ...]
    made: tuple[Version, int] | None
    line: Any  # in anomaly mode, where it was made
    tangents: tuple[int, Any]  # level and tangents of what is saved, where there are any
    source: tuple[Primitive, Sequence[Array], Params] | None  # what another primitive's node is for
    told: dict[str, Any]  # what the operation was called with, see `saved_parameters`
    inner: Any  # of a composite: what its own operations have recorded, see `Composite.vjp`
    keeps: ClassVar[bool] = True  # whether there is anything to `release`
    saved_names: ClassVar[tuple[str, ...]] = ()
    shown: ClassVar[tuple[int, ...] | None] = None
    stated: ClassVar[tuple[Any, ...]]  # what `node_class` made it of
    lacks: ClassVar[tuple[Any, tuple[str, ...]]]  # what `lacking` made it of
    bends: ClassVar[Bends | None] = None

    def shown_parents(self) -> Sequence[Any]:
        if self.shown is not None:
            return [None if k < 0 else self.parents[k] for k in self.shown]
        name = type(self).__name__
        if name == "CopySlices":  # the base, and what the operation on the view had but the view
            written = self.parents[1]
            return [self.parents[0], *([] if written is None else written.shown_parents()[1:])]
        if name == "NotImplemented":
            return [p for p in self.parents if p is not None]
        rule = getattr(self.prim, "_rule", None)
        if rule is not None:
            return [p for k, p in enumerate(self.parents) if rule(k) is not None]
        parents: Sequence[Any] = self.parents
        return parents[: len(parents) - getattr(self.prim, "fixed", 0)]

    @property
    def quick(self) -> bool:  # type: ignore[override]
        return getattr(self, "inner", None) is not None

    def cotangents(self, g: Any) -> Sequence[Any]:
        if self.prim in lines.RULES:
            found = lines.pull(self, g)
            return super().cotangents(g) if found is None else found
        found = flat.pull(self, g)
        return super().cotangents(g) if found is None else found

    def pull_owned(self, cts: Cotangents, g: Any) -> None:
        found = None if self.quick else flat.pull(self, g, True)
        if found is None:
            super().pull_owned(cts, g)
        else:
            self.send(cts, found)

    def pull_quick(self, cts: Cotangents, g: Any) -> None:
        inner = getattr(self, "inner", None)
        prim: Any = self.prim
        if inner is None or inner.saved is not self.saved:
            super().pull_quick(cts, g)
        else:
            self.send(cts, prim.vjp(self, g, quick=True))

    def become(self, kind: Any) -> None:
        if not self.hot:
            self.__class__ = kind
            return
        fields = {name: getattr(self, name) for name in FIELDS}  # some of them in the class
        if hasattr(self, "told"):
            fields["told"] = self.told
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
            self.saved, self.origins, self.inner = FREED, (), None
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
            found = LEAF_TENSOR[0](self)
            found._t.version = self.version
            self.tensor = weakref.ref(found)
        return found


# makes a tensor of a leaf; put in by `_tensor`
LEAF_TENSOR: list[Callable[[AccumulateGrad], Any]] = []


# Of a derivative that is zero, and yet defined (see `ties`): the name of the gradient's node, and
# the gradient of which operand bends with which operands.
Bends = tuple[str, tuple[tuple[int, tuple[int, ...]], ...]]


@functools.cache
def node_class(
    name: str,
    saved_names: tuple[str, ...] = (),
    shown: tuple[int, ...] | None = None,
    tells: tuple[str, ...] = (),
    bends: Bends | None = None,
) -> type[GradNode]:
    """The class of the nodes of one operation.

    `saved_names` are PyTorch's names of the output and of each operand that it saves, with "" for
    what it does not save, and several for an output with parts; `shown` are the operands that count
    as its inputs (by default all that can be differentiated), with -1 for an input that PyTorch
    counts and the core does not have; `tells` are PyTorch's names of the parameters that it shows.
    """
    members: dict[str, Any] = {"__slots__": (), "saved_names": saved_names, "shown": shown}
    members["bends"] = bends
    members["stated"] = name, saved_names, shown, tells, bends
    for slot, saved in enumerate(saved_names):
        several = saved.split()
        for k, part in enumerate(several):
            place = (slot, k) if len(several) > 1 else (slot, None)
            members[f"_saved_{part}"] = property(functools.partial(_read_saved, *place))
            if len(several) == 1:
                members[f"_raw_saved_{part}"] = property(functools.partial(_read_raw, slot))
    for parameter in tells:
        members[f"_saved_{parameter}"] = property(functools.partial(read_parameter, parameter))
    return type(name, (GradNode,), members)


@functools.cache
def lacking(node: Any, *operands: str) -> Any:
    """`node` where optional operands are absent: what it would show of them is None."""
    if not operands:
        return node
    members: dict[str, Any] = {f"_saved_{name}": None for name in operands}
    members["lacks"] = node, operands
    return type(node.__name__, (node,), {"__slots__": (), **members})


SAVED_READERS: list[Callable[..., Any]] = []  # of ``_saved_self``, and of the raw one


def _read_saved(slot: int, k: int | None, node: GradNode) -> Any:
    return SAVED_READERS[0](node, slot, k)


def _read_raw(slot: int, node: GradNode) -> Any:
    return SAVED_READERS[1](node, slot)


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


OF_CORE: dict[str, type[GradNode]] = {}  # the nodes of the core's operations that rows are about


@functools.cache
def default_class(prim: Primitive) -> type[GradNode]:
    """The class for an operation that the facade gives no name of its own."""
    if prim.name in OF_CORE:
        return OF_CORE[prim.name]
    camel = "".join(part.capitalize() for part in prim.name.split("_"))
    return node_class(f"{camel}Backward0")


def pick(parent: Any, k: int) -> Pick:
    """The node of output `k` of `parent`."""
    node = new(Pick)
    node.params, node.parents, node.seq, node.extra = {"index": k}, (parent,), next(seq), None
    return node
