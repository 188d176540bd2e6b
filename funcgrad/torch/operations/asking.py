"""Questions about tensors and dtypes: `is_tensor`, `numel`, `result_type` and their kin."""

from __future__ import annotations

from typing import Any

from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.operations.converting import is_nonzero, is_same_size
from funcgrad.torch.operations.promotion import NUMBERS, category, wrong_type

__all__ = [
    "is_complex", "is_floating_point", "is_nonzero", "is_same_size",
    "is_tensor", "numel", "result_type",
]  # fmt: skip


def is_tensor(obj: Any) -> bool:
    """Whether an object is a tensor."""
    return isinstance(obj, Tensor)


def is_floating_point(input: Tensor) -> bool:
    """Whether the elements are floating point numbers."""
    if not isinstance(input, Tensor):
        wrong_type("is_floating_point", "input", 1, "Tensor", input)
    return input.dtype.is_floating_point


def is_complex(input: Tensor) -> bool:
    """Whether the elements are complex numbers."""
    if not isinstance(input, Tensor):
        wrong_type("is_complex", "input", 1, "Tensor", input)
    return input.dtype.is_complex


def numel(input: Tensor) -> int:
    """The number of elements."""
    if not isinstance(input, Tensor):
        wrong_type("numel", "input", 1, "Tensor", input)
    return input.numel()


def result_type(tensor1: Any, tensor2: Any) -> dtypes.dtype:
    """The dtype that an operation on the two, tensors or numbers, gives.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.result_type(torch.ones(2, dtype=torch.int32), 1.0)
    torch.float32
    """
    for k, x in enumerate((tensor1, tensor2), 1):
        if not isinstance(x, (Tensor, *NUMBERS)):
            wrong_type("result_type", f"tensor{k}", k, "Tensor", x)
    return dtypes.result_dtype(
        [category(x, x._t if isinstance(x, Tensor) else x) for x in (tensor1, tensor2)]
    )
