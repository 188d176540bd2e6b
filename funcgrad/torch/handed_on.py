"""Gradients in the memory of the cotangent that the user gave, as PyTorch has them.

PyTorch's leaf keeps the tensor that arrives as its gradient if nobody else holds that tensor object
and it lies as the leaf does. A view of the cotangent given is such an object: so after
``x.view(-1, 1).backward(g)`` the gradient shows the memory of `g` and counts the same version. Here
this is so where every node of the graph hands on views of what it gets (`Primitive.hands_on`); one
that hands on the object itself (a clone, a sum with a constant) leaves it to its owner, and the
leaf a copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core.types import Array
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.nodes import AccumulateGrad
from funcgrad.torch.root import RootTracer
from funcgrad.torch.storage import in_storage

__all__ = ["may_keep", "owner_of", "shown"]

ndarray = np.ndarray


def owner_of(g: Array, given: Sequence[Any]) -> Any:
    """Which of the tensors `given` shows the memory of `g`; None if none does that may be kept."""
    if type(g) is not ndarray:
        return None
    for tensor in given:
        t = None if type(tensor) is not Tensor else tensor._t
        if type(t) is RootTracer and t.node is None and type(t.value) is ndarray:
            known = t.value if t.value.base is None else t.value.base
            if (g is t.value or g.base is known) and not t.version.inference:
                return tensor
    return None


def may_keep(leaf: AccumulateGrad, g: Array) -> bool:
    """Whether `g` can be the first gradient of a leaf as it is."""
    x = leaf.value
    fits = type(x) is ndarray and g.dtype is x.dtype and g.dtype.kind == "f"
    return fits and bool(g.flags.writeable) and _lies_as(g, x)


def _lies_as(g: Array, x: Array) -> bool:
    """Whether `g` has the steps of `x`, if that has no gaps; else those of C order."""
    if g.shape != x.shape:
        return False
    if g.flags.c_contiguous and x.flags.c_contiguous:
        return True
    order = np.argsort([-s for s in x.strides], kind="stable")
    if not x.transpose(order).flags.c_contiguous:
        return bool(g.flags.c_contiguous)
    return bool(g.transpose(order).flags.c_contiguous)


def shown(g: Array, owner: Tensor) -> Tensor:
    """A gradient in the memory of `owner`: detached from it, it counts the same changes."""
    made = box(g.view())
    made._t.version = owner._t.version
    return in_storage(made, owner, whole=False)
