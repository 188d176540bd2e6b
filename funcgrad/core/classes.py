"""Arrays that compute by rules of their own: masked arrays, matrices, units, tables, tensors.

Their numbers alone are not what they mean: a mask, a unit or the labels of a table would be lost
without a word, ``*`` multiplies elements in one class and matrices in another, and ``std`` divides
by another number. Such an array is therefore no operand. It may import errors only.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from funcgrad.errors import OperandError, located

__all__ = ["has_own_rules", "refused"]

# What a subclass may state anew without computing anything else: how it is made, shown and kept.
_HARMLESS = {
    "__array_finalize__",
    "__array_priority__",
    "__array_wrap__",
    "__buffer__",
    "__class_getitem__",
    "__copy__",
    "__deepcopy__",
    "__delitem__",
    "__doc__",
    "__format__",
    "__getitem__",
    "__hash__",
    "__new__",
    "__reduce__",
    "__reduce_ex__",
    "__repr__",
    "__setitem__",
    "__setstate__",
    "__sizeof__",
    "__str__",
    "_set_dtype",
    "tofile",
}
_PROTOCOLS = ("__array_ufunc__", "__array_function__", "__array_namespace__", "__mul__")


def has_own_rules(x: Any) -> bool:
    """Whether `x` is an array that computes otherwise than NumPy's own do."""
    kind: Any = type(x)
    return _computes_otherwise(kind)


@functools.lru_cache(maxsize=1024)
def _computes_otherwise(cls: type) -> bool:
    if issubclass(cls, np.ndarray):
        classes = cls.__mro__[: cls.__mro__.index(np.ndarray)]
        computing = vars(np.ndarray).keys() - _HARMLESS
        return any(vars(c).keys() & computing for c in classes)
    if not hasattr(cls, "__array__") or issubclass(cls, np.generic):
        return False
    return any(getattr(cls, name, None) is not None for name in _PROTOCOLS)


def refused(x: Any) -> OperandError:
    """The error for an array that computes by rules of its own."""
    name = f"an operand of type {type(x).__name__!r}"
    if isinstance(x, np.ma.MaskedArray):
        text = (
            f"{name} has a mask, which would be lost; pass x.filled(0.0), and choose with np.where"
        )
    elif isinstance(x, np.matrix):
        text = f"{name}, whose * is a product of matrices; pass np.asarray(x), and use @ for that"
    else:
        text = f"{name} computes by rules of its own; pass the array in it, np.asarray(x)"
    return OperandError(located(text))
