"""The bits of an array, read in another dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import bind, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.errors import located
from funcgrad.ops.constant import Constant, constant

__all__ = ["BITS", "bits"]


def _bits(x: Any, dtype: np.dtype[Any]) -> Any:
    x = np.asarray(x)
    if dtype.itemsize < x.dtype.itemsize:
        x = x[..., None]
    found = np.ascontiguousarray(x).reshape(x.shape).view(dtype)
    return (found[..., 0] if dtype.itemsize > x.dtype.itemsize else found)[()]


def _type(x: ArrayType, *, dtype: np.dtype[Any]) -> ArrayType:
    have, wanted = x.dtype.itemsize, dtype.itemsize
    if have == wanted:
        return ArrayType(x.shape, dtype)
    if wanted < have:
        return ArrayType((*x.shape, have // wanted), dtype)
    return ArrayType(x.shape[:-1], dtype)


BITS: Constant = constant(
    "bits",
    _bits,
    _type,
    lambda size, xs, batched, params: bind(BITS, xs, params),
    lambda: [
        Sample((np.array([1.0, -2.5, 0.0]),), {"dtype": np.dtype(np.int64)}),
        Sample((np.array([[1.0, -2.5]]),), {"dtype": np.dtype(np.uint16)}),
        Sample((np.array([[1, 2], [3, 4]], np.int32),), {"dtype": np.dtype(np.int64)}),
        Sample((np.float32(1.5),), {"dtype": np.dtype(np.int32)}),
    ],
)


def bits(x: Array, dtype: Any) -> Array:
    """The bits of `x` in another dtype: one axis more of smaller numbers, one less of larger ones.

    Raises
    ------
    ValueError
        There is no whole number of the other ones.
    """
    aval, wanted = type_of(x), np.dtype(dtype)
    have = aval.dtype.itemsize
    if wanted.itemsize > have and aval.shape[-1:] != (wanted.itemsize // have,):
        raise ValueError(
            located(
                f"the bits of {aval} are no numbers of {wanted}: that needs a last axis of "
                f"{wanted.itemsize // have}"
            )
        )
    return bind(BITS, (x,), {"dtype": wanted})
