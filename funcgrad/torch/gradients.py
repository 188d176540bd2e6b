"""What becomes of cotangents at the border: conjugation, and adding up in leaves."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from funcgrad.core.bfloat16 import BFLOAT16
from funcgrad.core.tracer import Tracer, type_of
from funcgrad.core.types import Array
from funcgrad.ops.arithmetic import cast, conjugate
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.modes import enable_grad, modes
from funcgrad.torch.narrow import is_narrow, settle
from funcgrad.torch.nodes import AccumulateGrad
from funcgrad.torch.root import RootTracer
from funcgrad.transforms.node import add, dense

__all__ = ["accumulate_grad", "add_contents", "conjugated", "in_dtype_of"]

ndarray = np.ndarray
# One for all leaves: threads may share a leaf. A signal's handler may run a pass in the middle.
accumulating = threading.RLock()


def conjugated(g: Any) -> Any:
    """PyTorch's gradients of complex tensors are the conjugates of the core's."""
    dtype = g.dtype if type(g) is ndarray else type_of(g).dtype
    return conjugate(g) if dtype.kind == "c" else g


def in_dtype_of(edge: tuple[Any, int], g: Array) -> Array:
    """A cotangent in bfloat16, if that is the dtype of the leaf or of an output of a node.

    Sums of cotangents are of float32, as all sums of numbers of bfloat16 are.
    """
    return cast(dense(g), BFLOAT16) if g is not None and _is_narrow_output(*edge) else g


def _is_narrow_output(node: Any, k: int) -> bool:
    if type(node) is AccumulateGrad:
        return not node.avals[0].dtype.isnative
    if hasattr(node, "outputs"):
        return not node.outputs[k].dtype.isnative
    target = (node.params or {}).get("dtype")
    if isinstance(target, np.dtype):
        return not target.isnative
    casts = (node.params or {}).get("dtypes", ())
    operands = [t.dtype for t in node.avals or () if t is not None]
    return any(d is not None and not d.isnative for d in (*operands, *casts))


def accumulate_grad(leaf: AccumulateGrad, g: Array, create_graph: bool) -> None:
    """Add `g`, which nobody else holds, to the gradient of a leaf."""
    if not leaf.avals[0].dtype.isnative:
        g = in_dtype_of((leaf, 0), g)
    with accumulating:
        while True:
            old = leaf.grad
            if old is None:
                new = box(g if type(g) is ndarray and g.ndim < 2 else _laid(leaf, g))
            else:
                new = _sum(old, g, create_graph)
            if leaf.grad is old:  # no handler of a signal has added to it meanwhile
                leaf.grad = new
                return


def _laid(leaf: AccumulateGrad, g: Array) -> Array:
    """A first gradient as PyTorch lays it: as the leaf if that has no gaps, else in C order."""
    x = leaf.value
    if type(g) is not ndarray or type(x) is not ndarray or g.ndim < 2:
        return g
    if x.flags.c_contiguous and g.flags.c_contiguous:
        return g
    order = np.argsort([-s for s in x.strides], kind="stable")
    if x.shape != g.shape or not x.transpose(order).flags.c_contiguous:
        return np.ascontiguousarray(g)
    return np.ascontiguousarray(g.transpose(order)).transpose(np.argsort(order))


def _sum(old: Tensor, g: Array, create_graph: bool) -> Tensor:
    """`old`, with `g` added to it; another tensor where a graph is recorded."""
    if modes.stage is not None and not create_graph:
        memory = old._t.value
        memory.assign(memory + g)
        old._t.version.count += 1
    elif create_graph or isinstance(g, Tracer) or type(old._t) is not RootTracer:
        with enable_grad():
            return box(add_contents(old.content(), g))
    else:
        t = old._t
        if type(t.value) is np.ndarray:
            t.value += g  # views of the gradient see the change
            if is_narrow(t.value):
                settle(t.value)
        else:
            t.value = t.value + g
        t.version.count += 1
    return old


def add_contents(x: Array, y: Array) -> Array:
    """The sum of two cotangents."""
    return dense(add(x, y))
