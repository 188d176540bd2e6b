"""The hot path of a linear layer: ``addmm`` of a bias, rows and a transposed weight.

As in `recorders`, what the general path does for such tensors is written out: it makes the same two
nodes (of the transposition, and of the sum), and decides nothing while it runs. Views, special
modes, other dtypes and shapes, and what is to be refused take the general path. A recipe has one
node, so this has none; it takes half the time of the general path forward, and 0.8 of that of both
passes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.types import type_of_raw
from funcgrad.ops.affine import ADDMM
from funcgrad.ops.shape import TRANSPOSE
from funcgrad.torch import lines
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.modes import modes
from funcgrad.torch.nodes import node_class
from funcgrad.torch.root import ROOT, RootTracer
from funcgrad.transforms.node import new, seq

__all__ = ["ADDMM_NODE", "linear"]

ndarray = np.ndarray
FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
T_NODE = node_class("TBackward0", ("",))
ADDMM_NODE = node_class(
    "AddmmBackward0", ("", "", "mat1", "mat2"),
    tells=("alpha", "beta", "mat1_sym_sizes", "mat2_sym_sizes"),
)  # fmt: skip
TURN: dict[str, Any] = {"axes": (1, 0)}
PLAIN: dict[str, Any] = {"beta": 1, "alpha": 1}


def linear(input: Tensor, weight: Tensor, bias: Tensor) -> Tensor | None:
    """``input @ weight.T + bias``; None where the general path has to look."""
    if modes.hot is None or input._link is not None:
        return None
    if weight._link is not None or bias._link is not None:
        return None
    t, u, v = input._t, weight._t, bias._t
    if not (type(t) is type(u) is type(v) is RootTracer and _fit(t.value, u.value, v.value)):
        return None
    if t.node is u.node is v.node is None or _refused(t, u, v):
        return None
    x, w, b = t.value, u.value, v.value
    w_t = w.T
    y = lines.value(ADDMM, (b, x, w_t), PLAIN)
    if y is None:
        y = modes.silent.copy().run(ADDMM.impl, b, x, w_t, 1, 1)
    out = ROOT.tracer(y, None)
    turned = new(RootTracer)
    turned.value, turned.kind, turned.held_version = w_t, None, u.version
    turned.node = None if u.node is None else _node(T_NODE, TRANSPOSE, TURN, (u.node,), (w,))
    node = _node(ADDMM_NODE, ADDMM, PLAIN, (v.node, t.node, turned.node), (b, x, turned.value))
    left, right = turned.node is not None, t.node is not None  # which factors its rules need
    node.saved = (None, None, x if left else None, turned.value if right else None)
    node.origins = (None, t if left else None, turned if right else None)
    held = t.held_version
    node.counts = (
        0,
        held.so_far if left and held is not None else 0,
        turned.held_version.so_far if right else 0,
    )
    out.node = node
    return box(out)


def _fit(x: Any, w: Any, b: Any) -> bool:
    return (
        type(x) is type(w) is type(b) is ndarray
        and x.ndim == w.ndim == 2
        and b.ndim == 1
        and x.shape[1] == w.shape[1]
        and b.shape[0] == w.shape[0]
        and x.dtype is w.dtype is b.dtype
        and x.dtype in FLOATS
    )


def _refused(*ts: RootTracer) -> bool:
    """Whether one was made in inference mode, and must not be saved."""
    return any(t.held_version is not None and t.held_version.inference for t in ts)


def _node(kind: Any, prim: Any, params: Any, parents: Any, values: Any) -> Any:
    node = new(kind)
    node.prim, node.params, node.parents, node.seq = prim, params, parents, next(seq)
    node.avals = tuple(map(type_of_raw, values))
    node.saved = (None,) * (len(values) + 1)
    node.origins, node.counts = (None,) * len(values), (0,) * len(values)
    node.extra = node.made = node.source = node.inner = node.line = None
    return node
