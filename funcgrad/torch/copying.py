"""Copying and pickling tensors by PyTorch's rules.

A tensor is rebuilt from an `UntypedStorage`, the memory that all views of one allocation share, and
from where it lies in it. Because a storage is one object, `copy.deepcopy` keeps sharing: of a
tensor and its view copied together, the copies share memory too (the copy of the view is no view
for autograd, as in PyTorch); `pickle` separates them. `copy.copy` shares the memory with the
original. A deep copy keeps ``.grad`` (of a tensor, not of a `Parameter`), a pickle does not, hooks
are left behind.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core.bfloat16 import BFLOAT16
from funcgrad.errors import outside
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.nodes import AccumulateGrad
from funcgrad.torch.root import plain
from funcgrad.torch.storage import UntypedStorage, place_of
from funcgrad.torch.tensor_arrays import as_array
from funcgrad.transforms.node import new

__all__ = ["deep_copy", "rebuild", "reduce"]

NO_LEAF = (
    "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at "
    "the moment.  If you were attempting to deepcopy a module, this may be because of a "
    "torch.nn.utils.weight_norm usage, see https://github.com/pytorch/pytorch/pull/103001"
)


Place = tuple[str, int, tuple[int, ...], tuple[int, ...]]


def _located(x: Tensor) -> tuple[UntypedStorage, Place]:
    """The storage of a tensor, and what `rebuild` has to know of its place there."""
    array = as_array(x)
    storage, offset = place_of(x)
    return storage, (array.dtype.str, offset, array.shape, array.strides)


def rebuild(
    cls: type[Tensor],
    storage: UntypedStorage,
    dtype: Any,
    offset: int,
    shape: Sequence[int],
    strides: Sequence[int],
    requires_grad: bool,
) -> Any:
    """A leaf of the class `cls` in the memory of `storage`, which NumPy holds to its bounds."""
    dtype = BFLOAT16 if dtype == BFLOAT16 else np.dtype(dtype)  # a pickle has its text
    if 0 in shape:  # NumPy loses the strides of an empty view
        array = np.empty(tuple(shape), dtype)
    else:
        array = np.ndarray(tuple(shape), dtype, storage.memory, offset, tuple(strides))
    made = new(cls)
    made._t, made._grad, made._link = plain(array), None, None
    made._root = storage.memory
    made._t.version.count = 1  # as if an empty tensor had been given the memory
    return made.requires_grad_() if requires_grad else made


def reduce(x: Tensor) -> Any:
    """What `pickle` and `copy.copy` make of a tensor."""
    _warn_of_hooks(x)
    storage, place = _located(x)
    # a pickle shares no memory, as in PyTorch
    alone = UntypedStorage(storage.memory, storage.owner)
    return rebuild, (type(x), alone, *place, x.requires_grad), dict(x.__dict__)


def _warn_of_hooks(x: Tensor) -> None:
    node = x._t.node
    if type(node) is not AccumulateGrad or node.extra is None:
        return
    for hook in node.extra.tensor_hooks.get(0, {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, "
                "you can decorate the function with @torch.utils.hooks.unserializable_hook to "
                "suppress this warning",
                stacklevel=outside(),
            )


def deep_copy(x: Tensor, memo: dict[int, Any]) -> Tensor:
    """A leaf with memory of its own, shared as the original shares it with what `memo` has seen."""
    if not x.is_leaf:
        raise RuntimeError(NO_LEAF)
    if id(x) in memo:
        found: Tensor = memo[id(x)]
        return found
    storage, place = _located(x)
    made: Tensor = rebuild(type(x), copy.deepcopy(storage, memo), *place, x.requires_grad)
    memo[id(x)] = made
    if x.grad is not None:
        made.grad = copy.deepcopy(x.grad, memo)
    made.__dict__.update(copy.deepcopy(x.__dict__, memo))
    return made
