"""The outputs of a custom function: their histories, and what is refused of them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from funcgrad.core.tracer import type_of
from funcgrad.core.types import is_inexact
from funcgrad.errors import outside
from funcgrad.torch._tensor import Link, Tensor
from funcgrad.torch.modes import no_grad
from funcgrad.torch.nodes import AccumulateGrad, pick
from funcgrad.torch.root import ROOT, RootTracer
from funcgrad.torch.views import make_view
from funcgrad.torch.writing import rebase

__all__ = ["wrapped"]


def wrapped(
    ctx: Any,
    raw: Sequence[Any],
    inputs: Sequence[Any],
    recording: bool,
    name: str,
    has_setup: bool,
) -> list[Any]:
    """The outputs `raw` of a call with their histories; `ctx` is its node."""
    _check_marks(ctx, raw)
    for x in ctx.dirty_tensors:
        x._t.version.count += 1
    ctx.outputs = tuple(type_of(o._t) if isinstance(o, Tensor) else None for o in raw)
    outputs: list[Any] = []
    saved = list(ctx.to_save)
    for k, o in enumerate(raw):
        if not isinstance(o, Tensor):
            outputs.append(o)
            continue
        given = any(o is x for x in inputs)
        if given and has_setup and any(o is s for s in saved) and not _in(o, ctx.dirty_tensors):
            raise RuntimeError(
                "A input that has been returned as-is as output is being saved for backward. This "
                "is not supported if you override setup_context. You should return and save a "
                "view of the input instead, e.g. with x.view_as(x) or setup ctx inside the forward "
                "function itself."
            )
        outputs.append(_with_history(ctx, o, k, given, recording, len(raw)))
    _forbid_writing(ctx, outputs, inputs)
    if recording:
        ctx.keep(outputs)
    else:
        ctx.keep_nothing()
    return outputs


def _in(x: Any, xs: Sequence[Any]) -> bool:
    return any(x is y for y in xs)


def _check_marks(ctx: Any, raw: Sequence[Any]) -> None:
    for i, x in enumerate(ctx.dirty_tensors):
        if not isinstance(x, Tensor):
            raise RuntimeError(f"mark_dirty can only accept variables, but argument {i} is of type "
                               f"{type(x).__name__}")  # fmt: skip
        if not _in(x, raw):
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not returned as "
                "output. The inputs that are modified inplace must all be outputs of the Function."
            )
    for x in ctx.non_differentiable:
        if not isinstance(x, Tensor):
            raise RuntimeError("mark_non_differentiable only accepts variable arguments, but got "
                               f"{type(x).__name__}")  # fmt: skip


def _with_history(ctx: Any, o: Tensor, k: int, given: bool, recording: bool, count: int) -> Tensor:
    """Output `k`, made by the node `ctx`; `given`: it is an input."""
    dirty = _in(o, ctx.dirty_tensors)
    differentiable = (
        recording and not _in(o, ctx.non_differentiable) and is_inexact(ctx.outputs[k].dtype)
    )
    if not differentiable:
        if given and not dirty:
            return o.detach() if o.requires_grad else _alias(o)
        return o
    if dirty:
        _check_dirty(o, given, count)
        rebase(o, _made(o, ctx, k))
        return o
    if given:
        o = _alias(o)
    o._t = _made(o, ctx, k)
    return o


def _made(o: Tensor, ctx: Any, k: int) -> RootTracer:
    t = ROOT.tracer(o._t.value, pick(ctx, k))
    t.version = o._t.version
    return t


def _alias(o: Tensor) -> Tensor:
    """A view of all of a tensor, without history."""
    with no_grad():
        return make_view(o, lambda v: v.view(), lambda c: c, "AliasBackward0")


def _check_dirty(o: Tensor, given: bool, count: int) -> None:
    if type(o._t.node) is AccumulateGrad:
        raise RuntimeError(
            "a leaf Variable that requires grad has been used in an in-place operation."
        )
    if not given:
        warnings.warn(
            "Only input Tensors should be given to ctx.mark_dirty(). If a Tensor is not an input, "
            "there is no need to pass it to mark_dirty().",
            UserWarning,
            stacklevel=outside(),
        )
    if o._link is not None and count > 1:
        raise RuntimeError(
            "If your Function modifies inplace an input that is a view of another Tensor, your "
            "Function cannot return more than one Tensor. This is not supported by the current "
            "autograd engine. You should either make sure the input is not a view (using .clone() "
            "for example) or make your Function only return one Tensor (potentially splitting it "
            "into two Functions: one doing the inplace that returns a single Tensor and a second "
            "one that does the other operations). You can ask on the forum "
            "https://discuss.pytorch.org/ if you need help to do this change."
        )


def _forbid_writing(ctx: Any, outputs: Sequence[Any], inputs: Sequence[Any]) -> None:
    """Views that come out of a function must not be written: its rule would be passed over."""
    moving = [o for o in outputs if isinstance(o, Tensor) and o.requires_grad]
    refusal = "several" if len(moving) > 1 else "function"
    for o in outputs:
        if isinstance(o, Tensor) and o._link is not None:
            if _in(o, inputs) and _in(o, ctx.dirty_tensors) and len(moving) <= 1:
                continue
            old: Link = o._link
            o._link = Link(old.base, old.read, refusal, old.seen)
