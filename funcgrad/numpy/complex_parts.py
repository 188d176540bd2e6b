"""Real and imaginary parts as views of a complex array."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.tracer import Operand, is_scalar, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.numpy.function_calls import as_array, numpy_function, order_of
from funcgrad.ops import arithmetic as ops
from funcgrad.ops.arithmetic import COMPLEX
from funcgrad.ops.storage import View, write

__all__ = ["COMPLEX", "imag", "real"]


class RealView(View):
    """The real part of a complex array that can be written into."""

    __slots__ = ()

    def write(self, new: Array) -> None:
        write(self.base, ops.from_parts(new, ops.imag(self.base.content())))


class ImagView(View):
    """The imaginary part of a complex array that can be written into."""

    __slots__ = ()

    def write(self, new: Array) -> None:
        write(self.base, ops.from_parts(ops.real(self.base.content()), new))


def _kind(x: Operand) -> ArrayType:
    return type_of(x.content())


@numpy_function(np.real, views=True)
def real(val: Any) -> Array:
    """The real part, as a view; of a real array the array itself.

    Examples
    --------
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda z: fnp.real(z * z))(1.0 + 2.0j)
    np.complex128(2+4j)
    """
    if not isinstance(val, Operand):
        return ops.real(as_array(val))
    if _kind(val).dtype.kind != "c":
        return val
    return ops.real(val) if is_scalar(val) else RealView(val, ops.real)


def _no_imaginary_part(x: Operand) -> Any:
    """Zeros that cannot be written into; of a scalar a scalar."""
    kind = _kind(x)
    if is_scalar(x):
        return ops.imag(x)
    none = np.zeros(kind.shape, kind.dtype, order_of(x))
    none.flags.writeable = False
    return none


@numpy_function(np.imag, views=True)
def imag(val: Any) -> Array:
    """The imaginary part, as a view; of a real array zeros.

    Examples
    --------
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(fnp.imag)(1.0 + 2.0j)
    np.complex128(-1j)
    """
    if not isinstance(val, Operand):
        return ops.imag(as_array(val))
    if _kind(val).dtype.kind != "c":
        return _no_imaginary_part(val)
    return ops.imag(val) if is_scalar(val) else ImagView(val, ops.imag)
