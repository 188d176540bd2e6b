"""The hot path of a linear layer: ``addmm`` of a bias, rows and a transposed weight.

As in `recorders`, what the general path does for such tensors is written out: it makes the same two
nodes (of the transposition, and of the sum), and decides nothing while it runs. Views, special
modes, other dtypes and shapes, and what is to be refused take the general path. A recipe has one
node, so this has none; it takes half the time of the general path forward.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from funcgrad.config import config
from funcgrad.core.types import ArrayType
from funcgrad.ops.affine import ADDMM
from funcgrad.ops.shape import TRANSPOSE
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.matrix_products import affine, affine_pull
from funcgrad.torch.modes import modes
from funcgrad.torch.nodes import node_class
from funcgrad.torch.root import ROOT, RootTracer
from funcgrad.transforms.node import Cotangents, add, new, seq

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


class Turned(T_NODE):  # type: ignore[misc, valid-type]
    """The node of the transposition, of which nothing is saved."""

    __slots__ = ()
    hot, keeps = True, False
    prim, params, line, extra, made = TRANSPOSE, TURN, None, None, None
    saved, origins, counts = (None, None), (None,), (0,)

    def pull_quick(self, cts: Cotangents, g: Any) -> None:
        (p,) = self.parents
        old, c = cts.get(p), g.T
        cts[p] = c if old is None else add(old, c)

    pull_owned = pull_quick


class Affine(ADDMM_NODE):  # type: ignore[misc, valid-type]
    """The node of the sum."""

    __slots__ = ()
    hot, keeps = True, True
    prim, params, line, extra, made = ADDMM, PLAIN, None, None, None

    def pull_quick(self, cts: Cotangents, g: Any) -> None:
        found = affine_pull(self, g) if config.kernels else None
        if found is None:
            super().pull_quick(cts, g)
            return
        for p, c in zip(self.parents, found, strict=True):
            if c is not None:  # arrays, of parents that are there
                old = cts.get(p)
                cts[p] = c if old is None else add(old, c)

    pull_owned = pull_quick


Turned.__name__, Affine.__name__ = T_NODE.__name__, ADDMM_NODE.__name__


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
    y = affine(ADDMM, (b, x, w_t), PLAIN) if config.kernels else None
    if y is None:
        y = modes.silent.copy().run(ADDMM.impl, b, x, w_t, 1, 1)
    of_weight, of_sum = _types(x.shape, w.shape, x.dtype)
    turned = new(RootTracer)
    turned.value, turned.node, turned.kind, turned.held_version = w_t, None, None, u.version
    if u.node is not None:
        turned.node = below = new(Turned)
        below.parents, below.avals, below.seq = (u.node,), of_weight, next(seq)
    node = new(Affine)
    left, right = turned.node is not None, t.node is not None  # which factors its rules need
    node.parents, node.avals, node.seq = (v.node, t.node, turned.node), of_sum, next(seq)
    node.saved = (None, None, x if left else None, w_t if right else None)
    node.origins = (None, t if left else None, turned if right else None)
    held = t.held_version
    node.counts = (
        0,
        held.so_far if left and held is not None else 0,
        turned.held_version.so_far if right else 0,
    )
    return box(ROOT.tracer(y, node))


@functools.lru_cache(1 << 10)
def _types(x: Any, w: Any, dtype: Any) -> tuple[tuple[ArrayType, ...], tuple[ArrayType, ...]]:
    """The types of what is turned round, and of what is multiplied and added."""
    weight = ArrayType(w, dtype)
    return (weight,), (ArrayType(w[:1], dtype), ArrayType(x, dtype), ArrayType(w[::-1], dtype))


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
