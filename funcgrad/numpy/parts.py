"""Real and imaginary parts as views, and a complex array put together from its parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.algebra import algebra
from funcgrad.core.forms import linear
from funcgrad.core.primitive import Params, Sample
from funcgrad.core.storage import View, write
from funcgrad.core.tracer import Operand, bind, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.numpy.calls import as_array, numpy_function
from funcgrad.ops import arithmetic as ops
from funcgrad.ops.samples import draw

__all__ = ["imag", "real"]


def _join(re: Any, im: Any) -> Any:
    dtype = np.result_type(re, im, np.complex64)
    out = np.empty(np.broadcast_shapes(np.shape(re), np.shape(im)), dtype)
    out.real, out.imag = re, im
    return out[()]


def _join_type(re: ArrayType, im: ArrayType) -> ArrayType:
    dtype = np.result_type(re.dtype, im.dtype, np.complex64)
    return ArrayType(np.broadcast_shapes(re.shape, im.shape), dtype)


def _join_batch(size: int, xs: Any, batched: Any, params: Params) -> Any:
    return bind(COMPLEX, xs)  # both parts have one shape, and a part without the axis broadcasts


COMPLEX = linear(
    "complex",
    _join,
    (
        lambda g, re, im: algebra.conform(ops.cast(g, re.dtype), re),
        lambda g, re, im: algebra.conform(ops.cast(ops.multiply(1j, g), im.dtype), im),
    ),
    _join_type,
    _join_batch,
    sample=lambda: [
        Sample((draw((2, 3)), draw((2, 3), seed=1))),
        Sample((draw((3,)).astype(np.float32), draw((3,), seed=1).astype(np.float32))),
    ],
)


def from_parts(re: Array, im: Array) -> Array:
    """The complex array with these parts, which have the same shape."""
    return bind(COMPLEX, (re, im))


class RealView(View):
    """The real part of a complex array that can be written into."""

    __slots__ = ()

    def write(self, new: Array) -> None:
        write(self.base, from_parts(new, ops.imag(self.base.content())))


class ImagView(View):
    """The imaginary part of a complex array that can be written into."""

    __slots__ = ()

    def write(self, new: Array) -> None:
        write(self.base, from_parts(ops.real(self.base.content()), new))


def _kind(x: Operand) -> ArrayType:
    return type_of(x.content())


@numpy_function(np.real, views=True)
def real(val: Any) -> Array:
    """The real part, as a view; of a real array the array itself."""
    if not isinstance(val, Operand):
        return ops.real(as_array(val))
    if _kind(val).dtype.kind != "c":
        return val
    return RealView(val, ops.real) if _kind(val).ndim else ops.real(val)


@numpy_function(np.imag, views=True)
def imag(val: Any) -> Array:
    """The imaginary part, as a view; of a real array zeros."""
    if not isinstance(val, Operand):
        return ops.imag(as_array(val))
    if _kind(val).dtype.kind != "c":
        return np.zeros(_kind(val).shape, _kind(val).dtype)[()]
    return ImagView(val, ops.imag) if _kind(val).ndim else ops.imag(val)
