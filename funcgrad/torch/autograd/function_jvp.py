"""The tangents of the outputs of a custom function, by the user's `jvp`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.duals import set_tangent, without_tangents, write_tangent
from funcgrad.torch.modes import modes

__all__ = ["push_tangents", "tangents_of_call"]


def tangents_of_call(
    cls: Any, ctx: Any, tensors: Sequence[Any], tangents: Sequence[Any], count: int
) -> list[Any]:
    """What `jvp` of a function returns, one item for each of its `count` outputs."""
    given = [
        t if t is not None or x is None or not ctx.materialize_grads
        else box(np.zeros(x.shape, x.dtype.numpy)[()])
        for x, t in zip(tensors, tangents, strict=True)
    ]  # fmt: skip
    ctx.in_jvp = True
    try:
        found = cls.jvp(ctx, *given)
    finally:
        ctx.in_jvp = False
    found = found if isinstance(found, tuple) else (found,)
    if len(found) != count:
        raise RuntimeError(
            "Function's jvp returned an invalid number of forward gradients (expected "
            f"{count} but got {len(found)})"
        )
    for k, t in enumerate(found):
        if t is not None and not isinstance(t, Tensor):
            raise RuntimeError(
                f"expected Variable or None (got {type(t).__name__}) for grad output {k}."
            )
    return list(found)


def push_tangents(
    cls: Any, ctx: Any, tensors: Sequence[Any], tangents: Sequence[Any], outputs: Sequence[Any]
) -> None:
    """Give the outputs of a call on dual tensors their tangents."""
    if not modes.forward_grad:
        return
    with without_tangents():
        found = tangents_of_call(cls, ctx, tensors, tangents, len(outputs))
    for o, t in zip(outputs, found, strict=True):
        if not isinstance(o, Tensor) or t is None:
            continue
        written = next((i for i, x in enumerate(tensors) if x is o), None)
        if written is not None:
            _check_written(tangents[written], t)
            if tangents[written] is None:
                write_tangent(o, t)
            continue
        if o._link is not None and any(x is not None and _memory(x, o) for x in tensors):
            _check_view(t, tangents)
        set_tangent(o, t)


def _memory(x: Tensor, y: Tensor) -> bool:
    return bool(np.may_share_memory(x._t.value, y._t.value))


def _check_written(old: Any, new: Tensor) -> None:
    if old is not None and new is not old:
        raise RuntimeError(
            "An inplace custom Function is not modifying the forward mode gradients inplace. If "
            "the forward is modifying an input inplace, then the jvp function must modify the "
            "corresponding gradient inplace."
        )


def _check_view(t: Tensor, tangents: Sequence[Any]) -> None:
    if not any(x is not None and _memory(x, t) for x in tangents):
        raise RuntimeError(
            "A custom Function's forward is returning a view (or an input as-is) but the jvp is "
            "not returning a view."
        )
