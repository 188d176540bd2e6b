"""What is to be known of tensors and dtypes: `is_tensor`, `numel`, `result_type` and their kin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.device import CPU, strided
from funcgrad.torch.operations.common import install
from funcgrad.torch.operations.promotion import category
from funcgrad.torch.operations.record import operation

__all__ = [
    "is_complex", "is_conj", "is_floating_point", "is_inference", "is_neg", "is_nonzero",
    "is_same_size", "is_signed", "is_tensor", "numel", "result_type", "typename",
]  # fmt: skip


def is_tensor(obj: Any) -> bool:
    """Whether an object is a tensor."""
    return isinstance(obj, Tensor)


def _property(name: str, read: Callable[[Tensor], Any], doc: str, variants: str = "") -> Any:
    return operation(name, "input", variants=variants, doc=doc)(read)


def _no(self: Tensor) -> bool:
    """No: funcgrad has strided tensors on the CPU."""
    return False


is_floating_point = _property(
    "is_floating_point", lambda x: x.dtype.is_floating_point,
    "Whether the elements are floating point numbers.",
)  # fmt: skip
is_complex = _property(
    "is_complex", lambda x: x.dtype.is_complex, "Whether the elements are complex numbers."
)
is_signed = _property(
    "is_signed", lambda x: x.dtype.is_signed, "Whether the dtype has negative numbers.", "method"
)
is_conj = _property("is_conj", _no, "Whether conjugation is pending: never here.", "method")
is_neg = _property("is_neg", _no, "Whether negation is pending: never here.", "method")
is_nonzero = _property("is_nonzero", bool, "Whether the only element is not 0.", "method")
is_inference = _property(
    "is_inference", lambda x: x.is_inference(), "Whether the tensor was made in inference mode."
)
numel = _property("numel", lambda x: x.numel(), "The number of elements.")


@operation("is_same_size", "input, other", variants="method")
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether the shapes are equal."""
    return input.shape == other.shape


install(
    device=property(lambda self: CPU),
    layout=property(lambda self: strided),
    is_cuda=property(_no),
    is_cpu=property(lambda self: True),
    is_sparse=property(_no),
    is_quantized=property(_no),
    is_meta=property(_no),
    is_mps=property(_no),
    get_device=lambda self: -1,
    itemsize=property(lambda self: self.element_size()),
    nbytes=property(lambda self: self.numel() * self.element_size()),
)


def typename(obj: Any) -> str:
    """The name of the type of an object; of a tensor the older name, by its dtype."""
    if isinstance(obj, Tensor):
        found: str = obj.type()
        return found
    kind = type(obj)
    module = kind.__module__.removeprefix("funcgrad.")
    return kind.__qualname__ if module == "builtins" else f"{module}.{kind.__qualname__}"


@operation(
    "result_type",
    "tensor, other | Number scalar, tensor | tensor, Number other | Number scalar1, Number scalar2",
    variants="",
)  # fmt: skip
def result_type(*operands: Any) -> dtypes.dtype:
    """The dtype that an operation on the two, tensors or numbers, gives.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.result_type(torch.ones(2, dtype=torch.int32), 1.0)
    torch.float32
    """
    given = [x for x in operands if x is not None]
    return dtypes.result_dtype([category(x, getattr(x, "_t", x)) for x in given])
