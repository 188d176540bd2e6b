"""What nodes save: its checks before a rule reads it, and the hooks under which it is saved.

Under `saved_tensors_hooks` a node holds, in the place of a value, what the user's function packed
it into; the value is unpacked when a rule needs it, or when the user looks at it.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from funcgrad.core.primitive import Primitive
from funcgrad.core.tracer import bind, operand, type_of
from funcgrad.core.types import zeros
from funcgrad.errors import outside
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.modes import modes, no_grad
from funcgrad.torch.nodes import FIELDS, AccumulateGrad, GradNode, output_name, pick
from funcgrad.torch.root import PACKING, ROOT, RootTracer, bare
from funcgrad.torch.saved_parameters import READ_INDICES
from funcgrad.torch.versions import FREED
from funcgrad.transforms.api import vjp
from funcgrad.transforms.node import new

__all__ = ["Packed", "SavedTensor", "blamed", "check_saved", "opened", "saved_tensor"]

FREED_TEXT = (
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed). Saved intermediate values of the graph are freed when you call "
    ".backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the "
    "graph a second time or if you need to access saved tensors after calling backward."
)
MODIFIED_TEXT = (
    "one of the variables needed for gradient computation has been modified by an inplace "
    "operation: [{kind} {shape}]{writer} is at version {now}; expected version {then} instead. "
)
HINT = (
    "Hint: enable anomaly detection to find the operation that failed to compute its gradient, "
    "with torch.autograd.set_detect_anomaly(True, check_nan=False)."
)
HINT_ANOMALY = (
    "Hint: the backtrace further above shows the operation that failed to compute its gradient. "
    "The variable in question was changed in there or anywhere later. Good luck!"
)
E = TypeVar("E", bound=Exception)


# ----------------------------------------------------------------------------------- checks


def check_saved(node: GradNode) -> None:
    """Raise when what the node saved has been given back, or changed in place since."""
    node.check()
    if node.saved is FREED:
        raise RuntimeError(FREED_TEXT)
    for origin, count in zip(node.origins, node.counts, strict=True):
        if origin is not None and origin.version.count != count:
            raise modified(node, origin.value, origin.version, count, origin.node)
    if node.made is not None and node.made[0].count != node.made[1]:
        raise modified(node, node.saved[0], *node.made, node)


def modified(node: GradNode, value: Any, version: Any, then: int, made_by: Any) -> RuntimeError:
    """The error for a saved tensor that has been changed in place."""
    array = np.asarray(value)
    writer = version.writer if made_by is not node else None
    if writer is not None and array.base is not None:
        writer = "output 0 of AsStrided"  # what a view of a changed base would be made by
    if writer is None and made_by is not None and not isinstance(made_by, AccumulateGrad):
        writer = output_name(made_by)
    text = MODIFIED_TEXT.format(
        kind=dtypes.type_name(dtypes.from_numpy_dtype(array.dtype)),
        shape=list(array.shape),
        writer="" if writer is None else f", which is {writer},",
        now=version.count,
        then=then,
    )
    error = RuntimeError(text + (HINT_ANOMALY if modes.anomaly else HINT))
    return blamed(error, node)


def blamed(error: E, node: GradNode) -> E:
    """Say, as anomaly mode does, which line of the forward pass the node comes from."""
    if modes.anomaly and not getattr(error, "blamed", False):
        error.blamed = True  # type: ignore[attr-defined]
        for text in _origin_of(node):
            warnings.warn(text, UserWarning, stacklevel=outside())
    return error


def _origin_of(node: GradNode) -> list[str]:
    """The forward calls that made a node, and the node whose backward pass made it, and so on."""
    if node.line is None:
        return [
            f"Error detected in {node.name()}. No forward pass information available. Enable "
            "detect anomaly during forward pass for more information."
        ]
    texts = [
        f"Error detected in {node.name()}. Traceback of forward call that caused the error:\n"
        f"{node.line.stack}"
    ]
    parent = node.line.parent
    while parent is not None:
        if parent.line is None:
            texts.append(
                f"\n\nPrevious calculation was induced by {parent.name()}. No forward pass "
                "information available. Enable detect anomaly during forward pass for more "
                "information."
            )
            break
        texts.append(
            f"\n\nPrevious calculation was induced by {parent.name()}. Traceback of forward call "
            f"that induced the previous calculation:\n{parent.line.stack}"
        )
        parent = parent.line.parent
    return texts


# ---------------------------------------------------------------------------- packed values


class Packed:
    """What a hook made of a saved tensor, and how it is made a tensor again."""

    __slots__ = ("packed", "unpack")

    def __init__(self, pack: Callable[[Tensor], Any], unpack: Any, x: Tensor) -> None:
        t = x._t
        count = t.version.count
        with modes.without_saved_hooks(), no_grad():
            self.packed = pack(x)
        if t.version.count != count:
            raise RuntimeError(
                "A saved tensor pack hook is modifying its input in place. Tensors provided as "
                "input to pack hook cannot be modified by in-place operations as this can lead "
                "to unexpected side-effects. Please open an issue if you need to perform in-place "
                "operations on the input to a pack hook."
            )
        self.unpack: Callable[[Any], Tensor] = unpack

    def open(self) -> Tensor:
        found: Any = self.unpack(self.packed)
        if not isinstance(found, Tensor):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                f"{type(found).__name__}"
            )
        return found


def pack_saved(node: GradNode, args: Sequence[Any], out: Any) -> None:
    """Pack what `node` saved into what the innermost hooks make of it."""
    pack, unpack = modes.saved_hooks[-1]
    saved, origins = list(node.saved), list(node.origins)
    for i in _order_of_saving(node.prim, len(args)):
        a = args[i]
        if saved[i + 1] is not None and type(a) is RootTracer:
            saved[i + 1] = Packed(pack, unpack, _as_tensor(a))
            origins[i] = None
    if saved[0] is not None and type(out) is RootTracer:
        saved[0] = Packed(pack, unpack, box(out))
        node.made = None
    node.saved, node.origins = tuple(saved), tuple(origins)
    node.more  # noqa: B018 (a node with `extra` is visited by hand)


PACKING.append(pack_saved)


@functools.lru_cache(1024)
def _order_of_saving(prim: Any, count: int) -> Sequence[int]:
    """PyTorch saves what the derivative of the first operand needs before all else."""
    flags = [prim.saved_flags(1 << i, count)[1:] for i in range(count)]
    return sorted(range(count), key=lambda k: next((i for i in range(count) if flags[i][k]), count))


def _as_tensor(t: RootTracer) -> Tensor:
    """The tensor of a tracer: the leaf itself, if there is one."""
    if type(t.node) is AccumulateGrad:
        found: Tensor = t.node.variable
        return found
    return box(t)


# ------------------------------------------------------------------- saved values for a rule


def opened(node: Any, parents: tuple[Any, ...], create_graph: bool) -> Any:
    """`node` as its rule shall see it, with `parents` as those whose cotangents are wanted.

    What was packed is unpacked; for `create_graph` the saved values are recorded again, operand
    i as coming from parent i.
    """
    if getattr(node, "source", None) is not None:
        return _computed_again(node, parents) if create_graph else _twin(node, node.saved, parents)
    if node.prim.opaque:
        return node
    saved = _unpacked_all(node, node.saved)
    if create_graph or modes.dual is not None:
        saved = _recorded(node, saved, create_graph)
    if saved is node.saved and parents is node.parents:
        return node
    return _twin(node, saved, parents)


class Again(Primitive):
    """The rule of an operation over functions, if its derivative is to be differentiated.

    The residuals that such an operation has saved are numbers without a history: the operation is
    applied again, to operands that have one.
    """

    def vjp(self, node: Any, g: Any) -> Sequence[Any]:
        prim, args, params = node.source
        wanted = [i for i, p in enumerate(node.parents) if p is not None]

        def moved(*xs: Any) -> Any:
            full = list(args)
            for i, x in zip(wanted, xs, strict=True):
                full[i] = x
            return bind(prim, full, params)

        cts = tuple(zeros(t) if c is None else c for c, t in zip(g, node.outputs, strict=True))
        xs = [ROOT.tracer(args[i].value, node.parents[i]) for i in wanted]
        back = map(operand, vjp(moved, *xs)[1](cts))
        return [None if p is None else next(back) for p in node.parents]


AGAIN = Again("torch.again", lambda *_: ())


def _computed_again(node: Any, parents: tuple[Any, ...]) -> Any:
    _, args, _ = node.source
    for a, count in zip(args, node.counts, strict=True):
        if type(a) is RootTracer and a.version.count != count:
            raise modified(node, a.value, a.version, count, a.node)
    twin = _twin(node, None, parents)
    twin.prim, twin.source = AGAIN, node.source
    return twin


def _unpacked(p: Packed) -> Any:
    return bare(p.open()._t)


def _unpacked_all(node: GradNode, saved: tuple[Any, ...]) -> tuple[Any, ...]:
    """What is packed unpacked, in the order in which it was packed."""
    if all(type(s) is not Packed for s in saved):
        return saved
    found = list(saved)
    for i in (*(k + 1 for k in _order_of_saving(node.prim, len(saved) - 1)), 0):
        if type(found[i]) is Packed:
            found[i] = _unpacked(found[i])
    return tuple(found)


def _twin(node: Any, saved: Any, parents: tuple[Any, ...]) -> Any:
    kind: Any = type(node)
    twin: Any = new(kind.__base__ if node.hot else kind)  # a hot one has fields in its class
    for name in FIELDS:
        setattr(twin, name, getattr(node, name))
    if hasattr(node, "outputs"):
        twin.outputs = node.outputs
    twin.saved, twin.parents = saved, parents
    twin.inner = getattr(node, "inner", None) if saved is node.saved else None
    return twin


def _recorded(node: GradNode, saved: tuple[Any, ...], create_graph: bool) -> tuple[Any, ...]:
    """The saved values as tracers with their nodes and tangents."""
    out, *operands = saved
    level, moved = getattr(node, "tangents", (None, ()))
    tangents = moved if level is not None and level == modes.dual else (None,) * len(saved)
    if isinstance(out, tuple):
        made = tuple(
            _again(o, pick(node, k) if create_graph else None, None) for k, o in enumerate(out)
        )
    else:
        made = _again(out, node if create_graph else None, tangents[0])
    return made, *(
        _again(v, p if create_graph else None, t)
        for v, p, t in zip(operands, node.parents, tangents[1:], strict=True)
    )


def _again(v: Any, node: Any, tangent: Any) -> Any:
    if v is None or (node is None and tangent is None) or type_of(v).dtype.kind not in "fc":
        return v
    made = ROOT.tracer(v, node)
    if tangent is not None:
        made.dual = (modes.dual or 0, tangent)
    return made


# ------------------------------------------------------------------ what user code sees of it


HOOKED = (
    "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one "
    "pair of hooks is allowed at a time."
)


class SavedTensor:
    """A saved tensor of a node, as ``node._raw_saved_self``: hooks can be registered on it."""

    __slots__ = ("node", "slot")

    def __init__(self, node: GradNode, slot: int) -> None:
        self.node, self.slot = node, slot

    def register_hooks(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Any) -> None:
        """Pack the saved tensor now; it is unpacked when it is needed."""
        node, slot = self.node, self.slot
        if node.saved is FREED:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor after it has been freed. Saved "
                "intermediate values of the graph are freed when you call .backward() or "
                "autograd.grad(). Specify retain_graph=True if you need to backward through the "
                "graph a second time or if you need to access saved variables after calling "
                "backward."
            )
        held = node.saved[slot]
        if held is None:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor with value None is forbidden"
            )
        if type(held) is Packed:
            raise RuntimeError(HOOKED)
        packed = Packed(pack_hook, unpack_hook, _without_history(node, slot))
        node.more  # noqa: B018 (a node with `extra` is visited by hand)
        node.saved = (*node.saved[:slot], packed, *node.saved[slot + 1 :])
        if slot:
            node.origins = (*node.origins[: slot - 1], None, *node.origins[slot:])
        else:
            node.made = None


def _without_history(node: GradNode, slot: int) -> Tensor:
    """A saved tensor of the same memory and version."""
    out = box(node.saved[slot])
    origin = node.origins[slot - 1] if slot else None
    if origin is not None:
        out._t.version = origin.version
    return out


def saved_tensor(node: GradNode, slot: int, part: int | None = None) -> Any:
    """What `node` saved of operand ``slot - 1``, or for 0 of its output, as a tensor.

    `part` is which of several outputs.
    """
    check_saved(node)
    held = node.saved[slot] if slot < len(node.saved) else None  # an operand that may be left out
    if isinstance(held, tuple) and part is not None:
        return box(ROOT.tracer(np.asarray(held[part]), pick(node, part)))
    if held is None or (not isinstance(held, (np.ndarray, np.generic, Packed))):
        return held
    parent = node.parents[slot - 1] if slot else node
    if type(held) is Packed:
        held = _unpacked(held)
        return box(held if parent is None else ROOT.tracer(held, parent))
    origin = node.origins[slot - 1] if slot else None
    if type(parent) is AccumulateGrad:
        return parent.variable
    if origin is not None:
        return box(origin)
    return box(held if parent is None else ROOT.tracer(held, parent))


def _saved_indices(node: GradNode) -> tuple[Tensor | None, ...]:
    """The indices of an operation by arrays, with None for dimensions that are taken whole."""
    check_saved(node)
    first = 3 if type(node).__name__.startswith("IndexPut") else 2
    arrays = node.saved[first:]
    places = node.params.get("places", range(len(arrays)))
    by_place = dict(zip(places, arrays, strict=True))
    return tuple(
        box(np.asarray(by_place[k])) if k in by_place else None for k in range(max(places) + 1)
    )


READ_INDICES.append(_saved_indices)
