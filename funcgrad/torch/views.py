"""Views and writing: what in-place operations do to values, versions and histories.

A view shares the memory and the version of its base and knows how it is read from the base's
array. Writing changes the memory and counts the version; where something is recorded, the base
gets the node ``CopySlices`` (old base, written values), and every view of it makes its node anew
from that when it is looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core.tracer import Tracer, type_of
from funcgrad.core.types import Array
from funcgrad.ops.arithmetic import cast
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import REGENERATE, Link, Tensor, as_array, box
from funcgrad.torch.modes import modes
from funcgrad.torch.places import places_of, read_places, write_places
from funcgrad.torch.root import (
    ROOT,
    AccumulateGrad,
    Composite,
    GradNode,
    RootTracer,
    edge_of,
    node_class,
    output_name,
    tangent_of,
)
from funcgrad.torch.staged import memory_copy, staged
from funcgrad.transforms.node import new

__all__ = [
    "Held",
    "check_mode",
    "check_overlap",
    "check_writable",
    "make_view",
    "rebase",
    "rename",
    "strided",
    "view_like",
    "write",
]

Read = Callable[[Any], Any]


def rename(x: Any, name: str, saved_names: tuple[str, ...] = ()) -> Any:
    """Give the node of the tracer `x` PyTorch's name of the operation that was applied."""
    if type(x) is RootTracer and isinstance(x.node, GradNode):
        x.node.become(node_class(name, saved_names))
    return x


# ---------------------------------------------------------------------------------- views


class Held:
    """An array as a parameter of an operation: compared by identity, and nothing that is saved."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array


AS_STRIDED = Composite("as_strided", lambda x, places: read_places(x, *places.array), linear=True)
COPY_SLICES = Composite("copy_slices", write_places, linear=True, fixed=1)


def strided(x: Array, array: Any, read: Read) -> Array:
    """What a view reads of a content, of which `array` is the array."""
    return AS_STRIDED(x, places=Held(places_of(type_of(array), read, array)))


def make_view(
    x: Tensor, read: Read, core: Callable[[Array], Array], name: str, refusal: str | None = None
) -> Tensor:
    """A view of `x`: `read` gives it from an array, `core` from an operand.

    `refusal` is why the view must not be written while operations are recorded (`FORBIDDEN`).
    """
    t = x._renewed()
    if type(t) is not RootTracer:
        return _view_traced(x, t, read, core)
    array = as_array(x)
    view = new(RootTracer)
    shown = modes.stage.view(array, read, core(array)) if staged(array) else read(array)
    view.value, view.node, view.kind = shown, None, None
    view.version = t.version
    base = x if x._link is None else x._link.base
    if modes.dual is not None:
        _view_dual(view, t, read, core, name)
    elif t.node is not None and modes.grad:
        view.node = _node_of_view(t, core, name)
    out = box(view)
    if t.version.inference:  # of what nothing keeps track: it shares the memory only
        return out
    if x._link is not None:
        read = _chained(x._link.read, read)
        refusal = refusal or x._link.refusal
    if not modes.grad:
        refusal = refusal or ("inference" if modes.inference else "no_grad")
    out._link = Link(base, read, refusal, t.version.count)
    return out


ALIAS = Composite("alias", lambda x: x, linear=True)


def _node_of_view(t: RootTracer, core: Callable[[Array], Array], name: str) -> Any:
    """The node of a view; also of one that shows all as it is, for which the core records none."""
    made = core(t)
    return rename(ALIAS(t) if made is t else made, name).node


def _view_dual(
    view: RootTracer, t: RootTracer, read: Read, core: Callable[[Array], Array], name: str
) -> None:
    """`view` of `t` while there are tangents: its tangent is a view of that of `t`."""
    tangent, level = tangent_of(t), modes.dual
    modes.dual = None
    try:
        if t.node is not None and modes.grad:
            view.node = _node_of_view(t, core, name)
        if tangent is not None and modes.forward_grad and not modes.inference:
            view.dual = (level or 0, make_view(tangent, read, core, name))
    finally:
        modes.dual = level


def view_like(x: Tensor, read: Read) -> Tensor:
    """A view of `x` that is read by `read`."""

    def core(c: Array) -> Array:
        return strided(c, as_array(x), read)

    return make_view(x, read, core, "AsStridedBackward0")


# Why a view must not be written: where it was made. The first part of the message says what
# happened, these how it is to be avoided.
FORBIDDEN = {
    "several": (
        "This view is the output of a function that returns multiple views. Such functions do not "
        "allow the output views to be modified inplace. You should replace the inplace operation "
        "by an out-of-place one."
    ),
    "no_grad": (
        "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify "
        "your code by moving both the view and the inplace either both inside the no_grad block "
        "(if you don't want the inplace to be tracked) or both outside (if you want the inplace to "
        "be tracked)."
    ),
    "inference": (
        "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify "
        "your code by moving both the view and the inplace either both inside the inference_mode "
        "block (if you don't want the inplace to be tracked) or both outside (if you want the "
        "inplace to be tracked)."
    ),
    "function": (
        "This view was created inside a custom Function (or because an input was returned as-is) "
        "and the autograd logic to handle view+inplace would override the custom backward "
        "associated with the custom Function, leading to incorrect gradients. This behavior is "
        "forbidden. You can fix this by cloning the output of the custom Function."
    ),
}
MODES = {
    "no_grad": ("no_grad mode", "with grad mode enabled"),
    "inference": ("inference mode", "in normal mode"),
}


def forbidden(refusal: str, node: Any, indirect: bool) -> RuntimeError:
    """The error for writing a view with the node `node`; `indirect`ly, its base or another one."""
    what = "its base or another view of its base has been" if indirect else "is being"
    place = None if node is None else f"O{output_name(node)[1:]}"
    if refusal in MODES:
        mode, now = MODES[refusal]
        start = "A view was created in" if place is None else (
            f"{place} is a view of a view which was created in"
        )  # fmt: skip
        said = f"{start} {mode} and {what} modified inplace {now}."
    else:
        said = f"{place or 'This view'} is a view and {what} modified inplace."
    return RuntimeError(f"{said} {FORBIDDEN[refusal]}")


def _chained(first: Read, second: Read) -> Read:
    return lambda array: second(first(array))


def _regenerate(
    base: RootTracer, read: Read, old: RootTracer, x: Tensor | None = None
) -> RootTracer:
    """The tracer of a view `x` of a base that has got another history."""
    if x is not None and x._link is not None and x._link.refusal is not None:
        raise forbidden(x._link.refusal, old.node, True)
    fresh = new(RootTracer)
    fresh.value, fresh.kind, fresh.version = old.value, None, old.version
    made = strided(base, base.value, read)
    name = "AsStridedBackward0"
    if type_of(base).dtype.kind != type_of(old).dtype.kind and old.node is not None:
        name = type(edge_of(old.node)[0]).__name__  # as such a view can only be made
    fresh.node = rename(made, name).node if isinstance(made, Tracer) else None
    if hasattr(old, "dual"):
        fresh.dual = old.dual
    if x is not None and old.node is not None and fresh.node is not None:
        _move_retained(old.node, fresh.node, x)
    return fresh


REGENERATE.append(_regenerate)


# -------------------------------------------------------------------------------- writing


def check_writable(x: Tensor) -> None:
    """Raise where PyTorch refuses an in-place operation on `x`."""
    t = x._renewed() if modes.grad else x._t
    if type(t) is not RootTracer:
        return
    check_mode(t)
    if modes.grad:
        _check_leaf(x, t)
    array = t.value
    if type(array) is np.ndarray and array.size:
        _check_memory(array)


def check_mode(t: RootTracer) -> None:
    """Raise where what was made in inference mode is to be written outside of it."""
    if t.version.inference and not modes.inference:
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed.You can make "
            "a clone to get a normal tensor before doing inplace update.See "
            "https://github.com/pytorch/rfcs/pull/17 for more details."
        )


OVERLAP = (
    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a "
    "single memory location. Please clone() the tensor before performing the operation."
)


def check_overlap(x: Tensor, operand: Tensor, entire: bool = False) -> None:
    """Raise if an operand shares part of the memory of `x`, which is to be written.

    All of it may be the same, unless `entire`. As in PyTorch, only of memory without gaps is it
    known where it lies.
    """
    a, b = getattr(x._t, "value", None), getattr(operand._t, "value", None)
    if type(a) is not np.ndarray or type(b) is not np.ndarray or not (a.size and b.size):
        return
    if a.base is None and b.base is None and a is not b:
        return
    if not np.may_share_memory(a, b) or not (_is_dense(a) and _is_dense(b)):
        return
    same = a.size == b.size and a.strides == b.strides
    if entire or not same or a.__array_interface__["data"] != b.__array_interface__["data"]:
        raise RuntimeError(OVERLAP)


def _is_dense(x: np.ndarray[Any, Any]) -> bool:
    """Whether the elements lie next to one another, in some order of the dimensions."""
    step = x.itemsize
    for stride, n in sorted((s, n) for s, n in zip(x.strides, x.shape, strict=True) if n > 1):
        if stride != step:
            return False
        step *= n
    return True


def _check_memory(array: np.ndarray[Any, Any]) -> None:
    if any(s == 0 and n > 1 for s, n in zip(array.strides, array.shape, strict=True)):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a "
            "single memory location. Please clone() the tensor before performing the operation."
        )
    if not array.flags.writeable:
        raise RuntimeError(
            "the tensor has the memory of a NumPy array or a buffer that is read-only. Please "
            "clone() the tensor before performing the operation."
        )


def _check_leaf(x: Tensor, t: RootTracer) -> None:
    link = x._link
    if link is None:
        if type(t.node) is AccumulateGrad:
            raise RuntimeError(
                "a leaf Variable that requires grad is being used in an in-place operation."
            )
        return
    if link.refusal is not None and (t.node is not None or link.base._t.node is not None):
        raise forbidden(link.refusal, t.node, False)
    if type(link.base._t.node) is AccumulateGrad:
        raise RuntimeError(
            "a view of a leaf Variable that requires grad is being used in an in-place operation."
        )


def write(x: Tensor, new_content: Array) -> Tensor:
    """Make `new_content` the content of `x`, in place; the caller has checked `check_writable`."""
    t = x._t
    if type(t) is not RootTracer or (
        isinstance(new_content, Tracer) and type(new_content) is not RootTracer
    ):
        return _write_traced(x, new_content)
    array = as_array(x)
    node = new_content.node if type(new_content) is RootTracer else None
    values = new_content.value if type(new_content) is RootTracer else new_content
    if node is not None and x._link is not None and x._link.refusal is not None:
        raise forbidden(x._link.refusal, t.node, False)
    kind = type_of(values)
    if kind.shape != array.shape:
        raise RuntimeError(
            f"output with shape {list(array.shape)} doesn't match the broadcast shape "
            f"{list(kind.shape)}"
        )
    _check_cast(kind.dtype, array.dtype)
    if node is not None:
        _keep_operand(edge_of(node)[0], x, t)
    if modes.dual is not None:
        _keep_operands_of_tangent(new_content, x, t)
    t.version.before_write()
    if staged(array):
        modes.stage.write(array, values)
    else:
        np.copyto(array, values, casting="unsafe")
    t.version.count += 1
    if modes.dual is not None:
        return _write_dual(x, new_content, node)
    return _rewritten(x, new_content, node)


def _write_dual(x: Tensor, new_content: Array, node: Any) -> Tensor:
    """The rest of writing while there are tangents: that of `x` is written, too."""
    tangent = tangent_of(new_content)
    level, modes.dual = modes.dual, None
    try:
        _rewritten(x, new_content, node)
    finally:
        modes.dual = level
    if modes.forward_grad:
        WRITE_TANGENT[0](x, tangent)
    return x


WRITE_TANGENT: list[Any] = []


def _rewritten(x: Tensor, new_content: Array, node: Any) -> Tensor:
    """Give `x`, whose memory has been written, the history of its new content."""
    t, array = x._t, as_array(x)
    values = new_content.value if type(new_content) is RootTracer else new_content
    if not modes.grad:
        return x
    if type_of(values).dtype != array.dtype and node is not None:
        new_content = cast(new_content, array.dtype)
        node = new_content.node
    if x._link is None:
        if node is not t.node:
            _set_history(x, node)
    else:
        _write_view(x, new_content, array.shape)
    return x


def _keep_operand(made: Any, x: Tensor, t: RootTracer) -> None:
    """What an operation in place took as its first operand is what that was before.

    Its value is kept as a copy; and where it is a view with hooks, these see the gradient of the
    view as it was, which no longer is a tensor of its own.
    """
    if not isinstance(made, GradNode):
        return
    if made.origins and made.origins[0] is t:
        out, first, *others = made.saved
        made.saved = (out, memory_copy(first), *others)
        made.origins = (None, *made.origins[1:])
    link, old = x._link, t.node
    if link is not None and old is not None and old is made.parents[0] and old.extra is not None:
        fresh = _regenerate(link.base._t, link.read, t).node
        fresh.seq = old.seq  # it takes the place of the old one, before `made`
        made.parents = (fresh, *made.parents[1:])


def _keep_operands_of_tangent(new_content: Array, x: Tensor, t: RootTracer) -> None:
    """As `_keep_operand`, for the operations that made the tangent of the new content."""
    tangent, old = tangent_of(new_content), tangent_of(t)
    made = None if getattr(new_content, "node", None) is None else edge_of(new_content.node)[0]
    if old is not None and made is not None and hasattr(made, "tangents"):
        level, held = made.tangents
        copy = box(ROOT.tracer(np.array(old._t.value)[()], old._t.node))
        made.tangents = (level, tuple(copy if h is old else h for h in held))
    written = [t.version] if old is None else [t.version, old._t.version]
    stack = [] if tangent is None else [tangent._t.node]
    seen: set[Any] = set()
    while stack:
        node = stack.pop()
        if node is None or node in seen or node.seq < modes.pushed_from:
            continue
        seen.add(node)
        for i, origin in enumerate(getattr(node, "origins", ())):
            if origin is not None and any(origin.held_version is v for v in written):
                kept = list(node.saved)
                kept[i + 1] = np.array(kept[i + 1])[()]
                node.saved = tuple(kept)
                node.origins = (*node.origins[:i], None, *node.origins[i + 1 :])
        stack.extend(node.parents)


def _check_cast(made: np.dtype[Any], target: np.dtype[Any]) -> None:
    category = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}
    if category[made.kind] > category[target.kind]:
        names = (dtypes.scalar_name(dtypes.from_numpy_dtype(d)) for d in (made, target))
        result, output = names
        raise RuntimeError(
            f"result type {result} can't be cast to the desired output type {output}"
        )


def _set_history(x: Tensor, node: Any) -> None:
    """A fresh tracer, so that what the old one is saved for keeps its node."""
    old = x._t
    fresh = new(RootTracer)
    fresh.value, fresh.kind, fresh.version = old.value, old.kind, old.version
    fresh.node = node
    if hasattr(old, "dual"):
        fresh.dual = old.dual
    x._t = fresh
    if node is None:
        return
    old.version.writer = output_name(node)
    made = edge_of(node)[0]
    if isinstance(made, GradNode) and made.made is not None:
        made.made = (old.version, old.version.count)
    if old.node is not None and old.node is not node:
        _move_retained(old.node, node, x)


def _move_retained(old: Any, node: Any, x: Tensor) -> None:
    """`retain_grad` follows the tensor to its new node."""
    before, k = edge_of(old)
    if getattr(before, "extra", None) is not None and k in before.extra.retained:
        held = before.extra.retained
        if held[k]() is x:
            after, j = edge_of(node)
            after.more.retained[j] = held.pop(k)


def _write_view(x: Tensor, new_content: Array, shape: tuple[int, ...]) -> None:
    link = x._link
    assert link is not None
    base = link.base
    if base._t.node is None and not (
        type(new_content) is RootTracer and new_content.node is not None
    ):
        return
    positions, parts = places_of(type_of(base._t), link.read, as_array(base))
    made = COPY_SLICES(base._t, new_content, positions, parts=parts)
    _set_history(base, rename(made, "CopySlices").node)


def rebase(x: Tensor, new_content: RootTracer) -> None:
    """Say that `x`, whose memory has been written, now has the history of `new_content`."""
    if x._link is None:
        _set_history(x, new_content.node)
    else:
        _write_view(x, new_content, type_of(new_content).shape)


def _write_traced(x: Tensor, new_content: Array) -> Tensor:
    """Inside a transform the content is replaced, and of a view that of its base."""
    made, target = type_of(new_content), type_of(x._t)
    _check_cast(made.dtype, target.dtype)
    if made.shape != target.shape:
        raise RuntimeError(
            f"output with shape {list(target.shape)} doesn't match the broadcast shape "
            f"{list(made.shape)}"
        )
    content = cast(new_content, target.dtype)  # the memory stays what it was: so does its version
    if x._link is not None:
        _write_base_traced(x._link, content)
    x._t = content
    return x


def _write_base_traced(link: Link, content: Array) -> None:
    """Put what a view becomes into its base; other views look at it when they are used."""
    base = link.base._t
    kind = type_of(base)
    link.base._t = link.seen = write_places(base, content, *places_of(kind, link.read))


def _view_traced(x: Tensor, t: Tracer, read: Read, core: Callable[[Array], Array]) -> Tensor:
    """A view inside a transform: it knows how it is read, and the content of the base it saw."""
    out = box(core(t))
    base = x if x._link is None else x._link.base
    if x._link is not None:
        read = _chained(x._link.read, read)
    out._link = Link(base, read, None, base._t)
    return out


def _look_again(base: Array, read: Read) -> Array:
    """What a view shows of a base whose content has been replaced."""
    return read_places(base, *places_of(type_of(base), read))


REGENERATE.append(_look_again)
