"""The old constructors ``FloatTensor`` and its kin, and ``Tensor(...)`` itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.torch import dtypes
from funcgrad.torch._tensor import LEGACY, Tensor, box
from funcgrad.torch.operations.common import install
from funcgrad.torch.operations.data import infer
from funcgrad.torch.operations.promotion import NUMBERS
from funcgrad.torch.tensor_arrays import as_array

__all__ = [
    "BFloat16Tensor", "BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor",
    "HalfTensor", "IntTensor", "LongTensor", "ShortTensor",
]  # fmt: skip


def _legacy(args: tuple[Any, ...], kind: dtypes.dtype | None = None) -> Any:
    """The array of ``Tensor(2, 3)`` (undefined elements) or ``Tensor([1.0, 2.0])``."""
    target = kind or dtypes.get_default_dtype()
    if not args:
        return np.empty(0, target.numpy)
    if all(isinstance(a, (int, np.integer)) and not isinstance(a, bool) for a in args):
        return np.empty(args, target.numpy)
    data, *more = args
    if more:
        kinds = ", ".join(type(a).__name__ for a in args)
        raise TypeError(f"new() received an invalid combination of arguments - got ({kinds})")
    if isinstance(data, tuple) and type(data).__name__ == "Size":
        return np.empty(data, target.numpy)
    if isinstance(data, NUMBERS):
        raise TypeError(f"new(): data must be a sequence (got {type(data).__name__})")
    if isinstance(data, Tensor):
        if kind is None:  # ``Tensor(x)`` takes x of any dtype
            return as_array(data)
        if data.dtype is not target:
            raise TypeError(
                f"expected {dtypes.scalar_name(target)} (got {dtypes.type_name(data.dtype)})"
            )
        return as_array(data)
    return infer(data, target)


LEGACY.append(_legacy)


class LegacyType:
    """``FloatTensor`` and its kin: a constructor, and a class for `isinstance`.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.LongTensor([1, 2])
    tensor([1, 2])
    >>> isinstance(torch.ones(2), torch.FloatTensor)
    True
    """

    def __init__(self, kind: dtypes.dtype) -> None:
        self.dtype = kind
        self.__name__ = dtypes.type_name(kind).removeprefix("torch.")

    def __call__(self, *args: Any) -> Tensor:
        return box(_legacy(args, self.dtype))

    def __instancecheck__(self, x: Any) -> bool:
        return isinstance(x, Tensor) and x.dtype is self.dtype

    def __repr__(self) -> str:
        return f"<class 'torch.{self.__name__}'>"


BFloat16Tensor = LegacyType(dtypes.bfloat16)
FloatTensor = LegacyType(dtypes.float32)
DoubleTensor = LegacyType(dtypes.float64)
HalfTensor = LegacyType(dtypes.float16)
LongTensor = LegacyType(dtypes.int64)
IntTensor = LegacyType(dtypes.int32)
ShortTensor = LegacyType(dtypes.int16)
ByteTensor = LegacyType(dtypes.uint8)
CharTensor = LegacyType(dtypes.int8)
BoolTensor = LegacyType(dtypes.bool)


def _new(self: Tensor, *args: Any) -> Tensor:
    """The old constructor in the dtype of the tensor."""
    return box(_legacy(args, self.dtype))


install(new=_new)
