"""What is known of a value without looking at its numbers: shape, dtype and weakness.

A Python number is *weak* (NEP 50): next to an array it takes the array's dtype. It may import
NumPy only.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np

__all__ = [
    "Array",
    "ArrayType",
    "broadcast_shapes",
    "dtype_meant",
    "is_inexact",
    "promote",
    "type_of_raw",
    "zeros",
]

# A NumPy array, a NumPy scalar, a Python number or a traced value. Python's type system cannot
# say "whatever behaves as an array", so the operations are typed with this name.
Array: TypeAlias = Any


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """NumPy's, which takes no more than 32 axes, of as many as its arrays may have."""
    rank = max(map(len, shapes), default=0)
    if rank <= 32:
        return np.broadcast_shapes(*shapes)
    whole = [(1,) * (rank - len(s)) + tuple(s) for s in shapes]
    lead = np.broadcast_shapes(*(s[: rank - 32] for s in whole))
    return lead + np.broadcast_shapes(*(s[rank - 32 :] for s in whole))


class ArrayType(NamedTuple):
    """The shape, dtype and weakness of a value; hashable, so that it can be part of a key."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    weak: bool = False

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        size = 1
        for extent in self.shape:
            size *= extent
        return size

    def __str__(self) -> str:
        star = "*" if self.weak else ""
        return f"{self.dtype.name}{star}[{','.join(map(str, self.shape))}]"

    def promotable(self) -> Any:
        """What NumPy's promotion has to be given for this operand: a dtype or a Python type."""
        # NumPy's promotion treats a Python bool as its own
        return _PYTHON_TYPE[kind] if self.weak and (kind := self.dtype.kind) != "b" else self.dtype


def promote(*types: ArrayType) -> np.dtype[Any]:
    """The dtype that NumPy gives operands of these types, weak ones yielding to the others."""
    # `result_type` takes a Python type for a dtype, so a weak operand is shown as a number
    return np.result_type(*(_PYTHON_TYPE[t.dtype.kind]() if t.weak else t.dtype for t in types))


_new = tuple.__new__
_PYTHON_TYPE: dict[str, type] = {"b": bool, "i": int, "f": float, "c": complex}
_WEAK_TYPES: dict[type, ArrayType] = {
    bool: ArrayType((), np.dtype(bool), True),
    int: ArrayType((), np.dtype(int), True),
    float: ArrayType((), np.dtype(float), True),
    complex: ArrayType((), np.dtype(complex), True),
}


def type_of_raw(value: Any) -> ArrayType:
    """The type of an array, a NumPy scalar or a Python number."""
    known = _WEAK_TYPES.get(type(value))
    # `tuple.__new__` spares a call of Python code, which shows in every traced operation
    return _new(ArrayType, (value.shape, value.dtype, False)) if known is None else known


def dtype_meant(dtype: Any) -> np.dtype[Any]:
    """The dtype that `dtype=` means to ufuncs, reductions and conversions of NumPy.

    They take classes (``np.dtypes.Float32DType``), too, of which ``np.dtype`` would make "object".
    """
    of_class = isinstance(dtype, type) and issubclass(dtype, np.dtype)
    meant: np.dtype[Any] = dtype() if of_class else np.dtype(dtype)
    return meant


def is_inexact(dtype: np.dtype[Any]) -> bool:
    """Whether values of this dtype have a derivative: floating point and complex ones do."""
    return dtype.kind in "fc"


def zeros(aval: ArrayType) -> Any:
    """Zeros of a type: a NumPy scalar where it has no axes."""
    dtype = aval.dtype if aval.dtype.kind in "fc" else np.dtype(float)
    return np.zeros(aval.shape, dtype)[()]
