"""Dual numbers on the root tape: a tensor has a node and a tangent at once.

The tangent is a tensor of its own. Each operation on tensors with tangents is applied and recorded
as always, and then gives the tangent of its result by the derivative rule of the core, which is
recorded as well; what the node has saved keeps its tangent, so a backward pass propagates them.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from funcgrad.core.primitive import Params, Primitive
from funcgrad.core.tracer import type_of
from funcgrad.core.types import Array, is_inexact
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.composite import Composite
from funcgrad.torch.modes import modes, no_grad
from funcgrad.torch.nodes import GradNode, edge_of
from funcgrad.torch.root import DUAL, ROOT, RootTracer, tangent_of
from funcgrad.torch.views import view_like
from funcgrad.torch.writing import WRITE_TANGENT
from funcgrad.transforms.forward import DualTracer, Forward
from funcgrad.transforms.node import seq

__all__ = ["check_tangent", "forget_tangents", "set_tangent", "without_tangents", "write_tangent"]


@contextmanager
def without_tangents() -> Iterator[int]:
    """While it holds, tensors are seen without their tangents; gives the level that held."""
    level, modes.dual = modes.dual, None
    try:
        yield -1 if level is None else level
    finally:
        modes.dual = level


def push(prim: Primitive, made: Any, args: Sequence[Array], params: Params) -> Any:
    """`made`, the result(s) of `prim`, with tangents."""
    tangents = [tangent_of(a) for a in args]
    if not modes.forward_grad or modes.inference:
        return made
    modes.pushed_from = next(seq)
    with without_tangents() as level:
        ts = [None if t is None else t.content() for t in tangents]
        moved = _moved(prim, made, args, ts, params)
    outs = made if isinstance(made, tuple) else (made,)
    found = moved if isinstance(made, tuple) else (moved,)
    if found is None or moved is None:
        return made
    duals = tuple(
        o if t is None else _dual(o, _apart(t, ts), level) for o, t in zip(outs, found, strict=True)
    )
    _keep(duals, tangents, level)
    return duals if isinstance(made, tuple) else duals[0]


DUAL.append(push)


def _moved(
    prim: Primitive, made: Any, args: Sequence[Array], ts: Sequence[Array | None], params: Params
) -> Any:
    """The tangent(s) of the result(s)."""
    if not prim.differentiable:
        return None
    with np.errstate(all="ignore"):
        if isinstance(prim, Composite) or type(prim).forward is Primitive.forward:
            return prim.jvp(made, args, ts, params)
        with Forward(marks=False) as trace:  # an operation over functions states its own action
            duals = [
                a if t is None else DualTracer(a, trace, t) for a, t in zip(args, ts, strict=True)
            ]
            outs = prim.forward(trace, duals, params)
    return tuple(map(trace.tangent, outs))


def _apart(t: Array, given: Sequence[Array | None]) -> Array:
    """A tangent in memory of its own: the result may be written."""
    value = t.value if type(t) is RootTracer else t
    if not isinstance(value, np.ndarray):  # numbers, and values of a transform, are not written
        return t
    for g in given:
        held = g.value if type(g) is RootTracer else g
        if isinstance(held, np.ndarray) and np.may_share_memory(value, held):
            copy = value.copy()
            return ROOT.tracer(copy, t.node) if type(t) is RootTracer else copy
    return t


def _dual(o: Array, t: Array, level: int) -> Any:
    if not is_inexact(type_of(o).dtype):
        return o
    out = o if type(o) is RootTracer else ROOT.tracer(o, None)
    out.dual = (level, box(t))
    return out


def _keep(outs: Sequence[Any], tangents: Sequence[Any], level: int) -> None:
    """Let the node know the tangents of what it has saved."""
    made = next((o for o in outs if type(o) is RootTracer and o.node is not None), None)
    if made is None:
        return
    node, k = edge_of(made.node)
    if isinstance(node, GradNode):
        of_output = made.dual[1] if hasattr(made, "dual") and k == 0 else None
        node.tangents = (level, (of_output, *tangents))
        modes.dual_nodes.append(weakref.ref(node))


def forget_tangents() -> None:
    """At the end of a level: a tangent of an output may hold the node, which holds the tangent."""
    for reference in modes.dual_nodes:
        node = reference()
        if node is not None and hasattr(node, "tangents"):
            del node.tangents
    modes.dual_nodes = []


# --------------------------------------------------------------------------------- by hand


def check_tangent(x: Tensor, t: Tensor) -> None:
    """Raise unless `t` can be the tangent of `x`."""
    if x.shape != t.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original "
            f"Tensor, this is not supported. Tensor is of size {list(x.shape)} while the given "
            f"forward gradient is of size {list(t.shape)}."
        )


def set_tangent(x: Tensor, t: Tensor) -> None:
    """Make `t` the tangent of `x`."""
    check_tangent(x, t)
    x._renewed().dual = (modes.dual, t)


def write_tangent(x: Tensor, new: Any) -> None:
    """After `x` has been written: its tangent becomes `new`, a tensor (None is zero), in place."""
    old = tangent_of(x._t)
    if old is None and new is None:
        return
    if old is None:
        old = _zero_tangent(x)
    with without_tangents():
        if new is None:
            old.zero_()
        else:
            old.copy_(new)


WRITE_TANGENT.append(write_tangent)


def _zero_tangent(x: Tensor) -> Tensor:
    """A tangent of zeros; of a view, a view of that of its base."""
    if x._link is None:
        with no_grad():
            made = box(np.zeros(x.shape, x._t.value.dtype))
        x._t.dual = (modes.dual, made)
        return made
    base = x._link.base
    whole = tangent_of(base._t)
    if whole is None:
        whole = _zero_tangent(base)
    with without_tangents():
        made = view_like(whole, x._link.read)
    x._t.dual = (modes.dual, made)
    return made
