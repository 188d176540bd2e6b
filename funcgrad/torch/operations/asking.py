"""Questions about tensors and dtypes: `is_tensor`, `numel`, `result_type` and their kin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.operations.converting import is_nonzero, is_same_size
from funcgrad.torch.operations.promotion import NUMBERS, category, wrong_type

__all__ = [
    "is_complex", "is_conj", "is_floating_point", "is_inference", "is_neg", "is_nonzero",
    "is_same_size", "is_signed", "is_tensor", "numel", "result_type", "typename",
]  # fmt: skip


def is_tensor(obj: Any) -> bool:
    """Whether an object is a tensor."""
    return isinstance(obj, Tensor)


def _asking(name: str, ask: Callable[[Tensor], Any]) -> Any:
    def function(input: Tensor) -> Any:
        if not isinstance(input, Tensor):
            wrong_type(name, "input", 1, "Tensor", input)
        return ask(input)

    function.__name__ = function.__qualname__ = name
    return function


is_floating_point = _asking("is_floating_point", lambda x: x.dtype.is_floating_point)
is_floating_point.__doc__ = "Whether the elements are floating point numbers."
is_complex = _asking("is_complex", lambda x: x.dtype.is_complex)
is_complex.__doc__ = "Whether the elements are complex numbers."
is_signed = _asking("is_signed", lambda x: x.dtype.is_signed)
is_signed.__doc__ = "Whether the dtype has negative numbers."
is_conj = _asking("is_conj", lambda x: x.is_conj())
is_conj.__doc__ = "Whether conjugation is pending: never here."
is_neg = _asking("is_neg", lambda x: x.is_neg())
is_neg.__doc__ = "Whether negation is pending: never here."
is_inference = _asking("is_inference", lambda x: x.is_inference())
is_inference.__doc__ = "Whether the tensor was made in inference mode."
numel = _asking("numel", lambda x: x.numel())
numel.__doc__ = "The number of elements."


def typename(obj: Any) -> str:
    """The name of the type of an object; of a tensor the older name, by its dtype."""
    if isinstance(obj, Tensor):
        found: str = obj.type()
        return found
    kind = type(obj)
    module = kind.__module__.removeprefix("funcgrad.")
    return kind.__qualname__ if module == "builtins" else f"{module}.{kind.__qualname__}"


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
