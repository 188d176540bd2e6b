"""Writing: what in-place operations do to values, versions and histories.

Writing changes the memory and counts the version; where something is recorded, the base of a view
gets the node ``CopySlices`` (old base, written values), and every view of it makes its node anew
from that when it is looked at.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from funcgrad.core.tracer import Tracer, type_of
from funcgrad.core.types import Array
from funcgrad.ops.arithmetic import cast, multiply
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Link, Tensor, box
from funcgrad.torch.base_positions import places_of, write_places
from funcgrad.torch.composite import Composite
from funcgrad.torch.modes import modes
from funcgrad.torch.narrow import is_narrow, settle
from funcgrad.torch.nodes import AccumulateGrad, GradNode, edge_of, output_name
from funcgrad.torch.root import ROOT, RootTracer, tangent_of
from funcgrad.torch.staged import memory_copy, staged
from funcgrad.torch.tensor_arrays import as_array
from funcgrad.torch.views import forbidden, move_retained, regenerate, rename
from funcgrad.transforms.node import LeafNode, TapeTracer, new

__all__ = [
    "check_memory",
    "check_mode",
    "check_overlap",
    "check_writable",
    "rebase",
    "write",
]

COPY_SLICES = Composite("copy_slices", write_places, linear=True, fixed=1)


def check_writable(x: Tensor) -> None:
    """Raise where PyTorch refuses an in-place operation on `x`."""
    t = x._renewed() if modes.grad else x._t
    if type(t) is not RootTracer:
        if type(t) is TapeTracer:
            _check_traced_leaf(x, t)
        return
    check_mode(t)
    if modes.grad:
        _check_leaf(x, t)
    array = t.value
    if type(array) is np.ndarray and array.size:
        check_memory(array)


def _check_traced_leaf(x: Tensor, t: TapeTracer) -> None:
    """Inside a transform that takes gradients its arguments are leaves."""
    if x._link is None:
        if type(t.node) is LeafNode:
            raise RuntimeError(
                "a leaf Variable that requires grad is being used in an in-place operation."
            )
    elif type(base := x._link.base._t) is TapeTracer and type(base.node) is LeafNode:
        raise RuntimeError(
            "a view of a leaf Variable that requires grad is being used in an in-place operation."
        )


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


def check_memory(array: np.ndarray[Any, Any]) -> None:
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
    base = link.base._t.node  # None where the view alone was made to require grad
    if type(base) is AccumulateGrad or (base is None and t.node is not None):
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
        _keep_operands_of_tangent(new_content, t)
    t.version.before_write()
    if staged(array):
        modes.stage.write(array, values)
    else:
        np.copyto(array, values, casting="unsafe")
        if is_narrow(array):
            settle(array)
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
        _write_view(x, new_content)
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
        made.inner = None  # what was computed on the way may lie in the memory of the operand
    link, old = x._link, t.node
    if link is not None and old is not None and old is made.parents[0] and old.extra is not None:
        fresh = regenerate(link.base._t, link.read, t).node
        fresh.seq = old.seq  # it takes the place of the old one, before `made`
        made.parents = (fresh, *made.parents[1:])


def _keep_operands_of_tangent(new_content: Array, t: RootTracer) -> None:
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
        move_retained(old.node, node, x)


def _write_view(x: Tensor, new_content: Array) -> None:
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
        _write_view(x, new_content)


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
    if type(content) is TapeTracer and type(content.node) is LeafNode:
        content = multiply(content, 1)  # a copy of an argument is no leaf
    if x._link is not None:
        _watch(x._link.base)
        _write_base_traced(x._link, content)
    _watch(x)
    x._t = content
    return x


def _watch(x: Tensor) -> None:
    """Note that `x`, which does not belong to a transform, gets a content that does."""
    if modes.written is not None and type(x._t) is RootTracer:
        modes.written.append((weakref.ref(x), x._t))


def _write_base_traced(link: Link, content: Array) -> None:
    """Put what a view becomes into its base; other views look at it when they are used."""
    base = link.base._t
    kind = type_of(base)
    link.base._t = link.seen = write_places(base, content, *places_of(kind, link.read))
