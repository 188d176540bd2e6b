"""The bits of an array, read in another dtype, or fewer of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.forms import Linear, linear
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import bind, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.errors import located
from funcgrad.ops.constant import Constant, constant

__all__ = ["BITS", "FEWER_BITS", "bits", "fewer_bits"]


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


def _fewer(x: Any, exponent: int, mantissa: int) -> Any:
    """As XLA's `ReducePrecision`: to the nearest, in the middle to even; what is too small is 0."""
    x = np.asarray(x)
    kind, info = np.dtype(f"u{x.dtype.itemsize}"), np.finfo(x.dtype)
    word = kind.type
    found = np.ascontiguousarray(x.astype(info.dtype)).reshape(x.shape).view(kind)
    exponents, sign = (
        word((1 << info.nexp) - 1) << word(info.nmant),
        found & word(1 << 8 * kind.itemsize - 1),
    )
    if mantissa < info.nmant:
        cut = word(info.nmant - mantissa)
        last = word(1) << cut
        found = found + ((found >> cut & word(1)) + (last >> word(1)) - word(1)) & ~(last - word(1))
    if exponent < info.nexp:
        middle, reach = (1 << info.nexp - 1) - 1, (1 << exponent - 1) - 1
        size = found & exponents
        found = np.where(size > word(middle + reach << info.nmant), sign | exponents, found)
        found = np.where(size <= word(middle - reach << info.nmant), sign, found)
    return np.where(np.isnan(x), x, found.view(info.dtype)).astype(x.dtype)[()]


FEWER_BITS: Linear = linear(
    "reduce_precision",
    _fewer,
    (lambda g, x, **formats: bind(FEWER_BITS, (g,), formats),),
    lambda x, **_: ArrayType(x.shape, x.dtype),
    lambda size, xs, batched, params: bind(FEWER_BITS, xs, params),
    lambda: [  # without rounding, by which it would not be linear
        Sample((np.array([0.3, -1.7, 70000.0]),), {"exponent": 10, "mantissa": 52}),
        Sample((np.array([[0.3, -1e7]], np.float32),), {"exponent": 7, "mantissa": 30}),
    ],
    moves="stays",
)


def fewer_bits(x: Array, exponent: int, mantissa: int) -> Array:
    """`x` rounded to a format of so many bits, its dtype kept; so are cotangents."""
    return bind(FEWER_BITS, (x,), {"exponent": exponent, "mantissa": mantissa})
