"""The hot path of a linear layer: ``addmm`` of a bias, rows and a transposed weight.

As in `recorders`, what the general path does for such tensors is written out: it makes the same two
nodes (of the transposition, and of the sum), and decides nothing while it runs. Views, special
modes, other dtypes and shapes, and what is to be refused take the general path. A recipe has one
node, so this has none. The native code of the sum is called as it was for operands of the same
kinds, by an entry point that looks at them and makes the result.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from funcgrad.config import config
from funcgrad.core.types import ArrayType
from funcgrad.ops.affine import ADDMM
from funcgrad.ops.shape import TRANSPOSE
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.matrix_products import affine, affine_pull
from funcgrad.torch.modes import modes
from funcgrad.torch.native_runs import Run
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
MANY = 1 << 10  # kinds of operands; then all are forgotten
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
    if not type(t) is type(u) is type(v) is RootTracer:
        return None
    kinds = t.kind, u.kind, v.kind
    known = _known.get(kinds)
    if known is None:
        if not _fit(t.value, u.value, v.value):
            return None
        known = _look(kinds, t.value, u.value, v.value)
    of_input, of_weight, of_bias = t.node, u.node, v.node
    if of_input is of_weight is of_bias is None or _refused(t, u, v):
        return None
    x, w, b = t.value, u.value, v.value
    w_t = w.T
    y = known.call(x, w, b) if config.kernels else NotImplemented
    if y is NotImplemented:
        y = affine(ADDMM, (b, x, w_t), PLAIN) if config.kernels else None
    if y is None:
        y = modes.silent.copy().run(ADDMM.impl, b, x, w_t, 1, 1)
    node = Affine()
    saved_x = saved_w = turned = below = None
    of_x = of_w = 0
    if of_weight is not None:
        below = Turned()
        below.parents, below.avals, below.seq = (of_weight,), known.of_weight, next(seq)
        saved_x, held = x, t.held_version
        of_x = 0 if held is None else held.so_far
    if of_input is not None:
        version = u.held_version
        if version is None:
            version = u.version
        turned = RootTracer()
        turned.value, turned.node, turned.kind, turned.held_version = w_t, below, None, version
        saved_w, of_w = w_t, version.so_far
    node.parents, node.avals, node.seq = (of_bias, of_input, below), known.of_sum, next(seq)
    node.saved = (None, None, saved_x, saved_w)
    node.origins = (None, None if saved_x is None else t, turned)
    node.counts = (0, of_x, of_w)
    r = RootTracer()
    r.value, r.node, r.held_version = y, node, None
    r.kind = known.kind if known.kind is not None else ROOT.kind_of(y)
    made: Tensor = new(Tensor)
    made._t = r
    made._grad = made._link = None
    return made


class Known(NamedTuple):
    """What is the same for all operands of some kinds."""

    call: Callable[..., Any]  # the native call of the input, the weight and the bias
    kind: Any  # of the result, if it has one
    of_weight: tuple[ArrayType, ...]  # the types of what is turned round
    of_sum: tuple[ArrayType, ...]  # the types of what is multiplied and added


_known: dict[Any, Known] = {}


def _look(kinds: Any, x: Any, w: Any, b: Any) -> Known:
    """Find out what is the same, and keep it where the operands have kinds."""
    types = _types(x.shape, w.shape, x.dtype)
    if None in kinds or not config.kernels:
        return Known(_unprepared, None, *types)
    call = Run.of(lambda x, w, b: affine(ADDMM, (b, x, w.T), PLAIN), x, w, b)
    y = call(x, w, b)
    found = Known(call, None if y is NotImplemented else ROOT.kind_of(y), *types)
    if len(_known) >= MANY:
        _known.clear()
    _known[kinds] = found
    return found


def _unprepared(*_: Any) -> Any:
    return NotImplemented


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
