"""Views: a view shares the memory and the version of its base.

It knows how it is read from the array of the base (a function that can be named, as part of which
a recipe is kept), and makes its node anew where the base got
another history (see `writing`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcgrad.core.tracer import Tracer, type_of
from funcgrad.core.types import Array
from funcgrad.torch._tensor import REGENERATE, Link, Tensor, box
from funcgrad.torch.base_positions import places_of, read_places
from funcgrad.torch.composite import Composite
from funcgrad.torch.modes import modes
from funcgrad.torch.nodes import GradNode, edge_of, node_class, output_name
from funcgrad.torch.root import ROOT, RootTracer, tangent_of
from funcgrad.torch.staged import staged
from funcgrad.torch.storage import in_storage
from funcgrad.torch.tensor_arrays import as_array
from funcgrad.transforms.node import new

__all__ = [
    "AS_STRIDED_NODE",
    "chained",
    "Held",
    "forbidden",
    "make_view",
    "move_retained",
    "regenerate",
    "rename",
    "strided",
    "view_like",
]

Read = Callable[[Any], Any]


NodeKind = str | type[GradNode]
AS_STRIDED_NODE = node_class("AsStridedBackward0", tells=("size", "stride", "storage_offset"))


def rename(x: Any, node: NodeKind) -> Any:
    """Let the node of the tracer `x` be PyTorch's of the operation that was applied."""
    if type(x) is RootTracer and isinstance(x.node, GradNode):
        x.node.become(node_class(node) if isinstance(node, str) else node)
    return x


# ---------------------------------------------------------------------------------- views


class Held:
    """An array as a parameter of an operation: compared by identity, and nothing that is saved."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array


AS_STRIDED = Composite(
    "as_strided", lambda x, places: read_places(x, *places.array), linear=True, shows_operand=True
)


def strided(x: Array, array: Any, read: Read) -> Array:
    """What a view reads of a content, of which `array` is the array."""
    at, parts = places_of(type_of(array), read, array)
    if at.size and at.min() < 0:
        raise RuntimeError(GAPS)
    return AS_STRIDED(x, places=Held((at, parts)))


GAPS = (
    "as_strided: the view shows memory between the elements of a tensor whose memory has gaps, "
    "through which no gradient can go; clone() the tensor before"
)


def make_view(
    x: Tensor, read: Read, core: Callable[[Array], Array], node: NodeKind,
    refusal: str | None = None,
) -> Tensor:  # fmt: skip
    """A view of `x`: `read` gives it from an array, `core` from an operand.

    `refusal` is why the view must not be written while operations are recorded (`FORBIDDEN`).
    """
    t = x._renewed()
    if type(t) is not RootTracer:
        return _view_traced(x, t, read, core)
    if modes.watching is not None:
        modes.watching.append(read)
    array = as_array(x)
    view = new(RootTracer)
    shown = modes.stage.view(array, read, core(array)) if staged(array) else read(array)
    view.value, view.node, view.kind = shown, None, ROOT.kind_of(shown)
    view.version = t.version
    base = x if x._link is None else x._link.base
    if modes.dual is not None:
        _view_dual(view, t, read, core, node)
    elif t.node is not None and modes.grad:
        view.node = _node_of_view(t, core, node)
    out = box(view)
    if t.version.inference:  # of what nothing keeps track: it shares the memory only
        return in_storage(out, x, whole=False)
    if x._link is not None:
        read = chained(x._link.read, read)
        refusal = refusal or x._link.refusal
    if not modes.grad:
        refusal = refusal or ("inference" if modes.inference else "no_grad")
    out._link = Link(base, read, refusal, t.version.count)
    return out


ALIAS = Composite("alias", lambda x: x, linear=True, shows_operand=True)


def _node_of_view(t: RootTracer, core: Callable[[Array], Array], node: NodeKind) -> Any:
    """The node of a view; also of one that shows all as it is, for which the core records none."""
    made = core(t)
    return rename(ALIAS(t) if made is t else made, node).node


def _view_dual(
    view: RootTracer, t: RootTracer, read: Read, core: Callable[[Array], Array], node: NodeKind
) -> None:
    """`view` of `t` while there are tangents: its tangent is a view of that of `t`."""
    tangent, level = tangent_of(t), modes.dual
    modes.dual = None
    try:
        if t.node is not None and modes.grad:
            view.node = _node_of_view(t, core, node)
        if tangent is not None and modes.forward_grad and not modes.inference:
            view.dual = (level or 0, make_view(tangent, read, core, node))
    finally:
        modes.dual = level


def view_like(x: Tensor, read: Read) -> Tensor:
    """A view of `x` that is read by `read`."""

    def core(c: Array) -> Array:
        return strided(c, as_array(x), read)

    return make_view(x, read, core, AS_STRIDED_NODE)


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


def chained(first: Read, second: Read) -> Read:
    return lambda array: second(first(array))


def regenerate(
    base: RootTracer, read: Read, old: RootTracer, x: Tensor | None = None
) -> RootTracer:
    """The tracer of a view `x` of a base that has got another history."""
    if x is not None and x._link is not None and x._link.refusal is not None:
        raise forbidden(x._link.refusal, old.node, True)
    fresh = new(RootTracer)
    fresh.value, fresh.kind, fresh.version = old.value, old.kind, old.version
    made = strided(base, base.value, read)
    node: type[GradNode] = AS_STRIDED_NODE
    if type_of(base).dtype.kind != type_of(old).dtype.kind and old.node is not None:
        node = type(edge_of(old.node)[0])  # as such a view can only be made
        node = node.__base__ if node.hot else node  # type: ignore[assignment]
    fresh.node = rename(made, node).node if isinstance(made, Tracer) else None
    if hasattr(old, "dual"):
        fresh.dual = old.dual
    if x is not None and old.node is not None and fresh.node is not None:
        move_retained(old.node, fresh.node, x)
    return fresh


REGENERATE.append(regenerate)


def move_retained(old: Any, node: Any, x: Tensor) -> None:
    """`retain_grad` follows the tensor to its new node."""
    before, k = edge_of(old)
    if getattr(before, "extra", None) is not None and k in before.extra.retained:
        held = before.extra.retained
        if held[k]() is x:
            after, j = edge_of(node)
            after.more.retained[j] = held.pop(k)


def _view_traced(x: Tensor, t: Tracer, read: Read, core: Callable[[Array], Array]) -> Tensor:
    """A view inside a transform: it knows how it is read, and the content of the base it saw."""
    out = box(core(t))
    base = x if x._link is None else x._link.base
    if x._link is not None:
        read = chained(x._link.read, read)
    out._link = Link(base, read, None, base._t)
    return out


def _look_again(base: Array, read: Read) -> Array:
    """What a view shows of a base whose content has been replaced."""
    return read_places(base, *places_of(type_of(base), read))


REGENERATE.append(_look_again)
