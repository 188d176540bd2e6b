"""What becomes of cotangents at the border: conjugation, and adding up in leaves."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from funcgrad.core.tracer import Tracer, type_of
from funcgrad.core.types import Array
from funcgrad.ops.arithmetic import conjugate
from funcgrad.torch._tensor import box
from funcgrad.torch.modes import enable_grad, modes
from funcgrad.torch.nodes import AccumulateGrad
from funcgrad.torch.root import RootTracer
from funcgrad.transforms.node import add, dense

__all__ = ["accumulate_grad", "add_contents", "conjugated"]

ndarray = np.ndarray
accumulating = threading.Lock()  # one for all leaves: threads may share a leaf


def conjugated(g: Any) -> Any:
    """PyTorch's gradients of complex tensors are the conjugates of the core's."""
    dtype = g.dtype if type(g) is ndarray else type_of(g).dtype
    return conjugate(g) if dtype.kind == "c" else g


def accumulate_grad(leaf: AccumulateGrad, g: Array, create_graph: bool) -> None:
    """Add `g`, which nobody else holds, to the gradient of a leaf."""
    with accumulating:
        old = leaf.grad
        if old is None:
            leaf.grad = box(g)
        elif modes.stage is not None and not create_graph:
            memory = old._t.value
            memory.assign(memory + g)
            old._t.version.count += 1
        elif create_graph or isinstance(g, Tracer) or type(old._t) is not RootTracer:
            with enable_grad():
                leaf.grad = box(add_contents(old.content(), g))
        else:
            t = old._t
            if type(t.value) is np.ndarray:
                t.value += g  # views of the gradient see the change
            else:
                t.value = t.value + g
            t.version.count += 1


def add_contents(x: Array, y: Array) -> Array:
    """The sum of two cotangents."""
    return dense(add(x, y))
