"""What Python makes of a tensor: numbers, lists, truth, and what a loop goes through."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from funcgrad.core.boundary import hide_frames
from funcgrad.core.tracer import Operand, concrete
from funcgrad.torch.root import RootTracer
from funcgrad.torch.tensor_arrays import concrete_array, unknown

if TYPE_CHECKING:
    from funcgrad.torch._tensor import Tensor

__all__ = ["UNBIND", "PythonValues"]


UNBIND: list[Any] = []  # tensor -> its rows; put in by the file that has the operation


class PythonValues(Operand):
    """Conversions to Python's types, which `Tensor` inherits."""

    __slots__ = ()
    _t: Any

    if TYPE_CHECKING:  # what `Tensor` has

        def numel(self) -> int: ...
        @property
        def dtype(self) -> Any: ...
        @property
        def ndim(self) -> int: ...

    def item(self) -> Any:
        """The only element, as a Python number."""
        try:
            found = concrete_array(self, "item()")
            if found.size != 1:
                raise RuntimeError(
                    f"a Tensor with {found.size} elements cannot be converted to Scalar"
                )
            return found.item()
        except Exception as error:
            hide_frames(error)
            raise

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        return concrete_array(self, "tolist()").tolist()

    def __bool__(self) -> bool:
        try:
            if type(self._t) is not RootTracer:
                if not concrete(self._t):
                    raise unknown(self._t, "the truth")
                return bool(self._t)
            array = np.asarray(self._t.value)
            if array.size != 1:
                what = "no values" if array.size == 0 else "more than one value"
                raise RuntimeError(f"Boolean value of Tensor with {what} is ambiguous")
            return bool(array.item())
        except Exception as error:
            hide_frames(error)
            raise

    def _number(self, kind: str) -> Any:
        if self.numel() != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        found = self.item()
        if isinstance(found, complex) and kind:
            if found.imag:
                raise RuntimeError(f"value cannot be converted to type {kind} without overflow")
            return found.real
        return found

    def __float__(self) -> float:
        try:
            return float(self._number("double"))
        except Exception as error:
            hide_frames(error)
            raise

    def __int__(self) -> int:
        try:
            return int(self._number("int64_t"))
        except Exception as error:
            hide_frames(error)
            raise

    def __complex__(self) -> complex:
        try:
            return complex(self._number(""))
        except Exception as error:
            hide_frames(error)
            raise

    def __index__(self) -> int:
        try:
            if self.dtype.is_floating_point or self.dtype.is_complex or self.numel() != 1:
                raise TypeError(
                    "only integer tensors of a single element can be converted to an index"
                )
            return int(self.item())
        except Exception as error:
            hide_frames(error)
            raise

    def __iter__(self) -> Iterator[Tensor]:
        if self.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(UNBIND[0](self))

    def __contains__(self, item: Any) -> bool:
        if not isinstance(item, (PythonValues, bool, int, float, complex, np.number)):
            raise RuntimeError(
                "Tensor.__contains__ only supports Tensor or scalar, but you passed in a "
                f"{type(item)}."
            )
        return bool(operator.eq(self, item).any())
