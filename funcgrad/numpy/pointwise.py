"""Elementwise functions of NumPy that are no ufuncs: clip, round, sinc, nan_to_num, isclose …"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.core.tracer import Operand, bind, concrete, operand, type_of, value
from funcgrad.core.types import Array
from funcgrad.errors import located
from funcgrad.numpy.complex_parts import real
from funcgrad.numpy.creation import asarray
from funcgrad.numpy.function_calls import (
    as_array,
    as_zero_dim,
    fresh,
    into,
    numpy_function,
    order_of,
)
from funcgrad.ops import arithmetic as ops
from funcgrad.ops import bessel, index, pointwise, transcendental
from funcgrad.ops import shape as shapes
from funcgrad.ops.arithmetic import from_parts

__all__ = [
    "allclose",
    "angle",
    "around",
    "array_equal",
    "array_equiv",
    "clip",
    "fix",
    "i0",
    "isclose",
    "iscomplex",
    "isneginf",
    "isposinf",
    "isreal",
    "nan_to_num",
    "real_if_close",
    "round",
    "sinc",
]


def _clip(*args: Any, **keywords: Any) -> Any:
    """NumPy's `clip`, with the upper bound left out or named, as the standard has it."""
    if len(args) == 2 and not {"a_max", "min"} & keywords.keys():
        args = (*args, keywords.pop("max", None))
    plain: Any = np.clip
    return plain(*args, **keywords)


@numpy_function(np.clip, run=_clip)
def clip(
    a: Any,
    a_min: Any = None,
    a_max: Any = None,
    out: Any = None,
    *,
    min: Any = None,
    max: Any = None,
) -> Array:
    """`a` limited to an interval; at a bound the value and the bound share the derivative.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.vmap(fg.grad(lambda x: fnp.clip(x, 0.0, 1.0)))(np.array([-1.0, 0.0, 0.5, 2.0]))
    array([0. , 0.5, 1. , 0. ])
    """
    lo = min if a_min is None else a_min
    hi = max if a_max is None else a_max
    x = as_array(a)
    if lo is None and hi is None:
        return ops.positive(x)
    if lo is None:
        return ops.minimum(x, hi)
    if hi is None:
        return ops.maximum(x, lo)
    return pointwise.clip(x, lo, hi)


# ---------------------------------------------------------------------------------- rounding


@numpy_function(np.round, np.around, constant=True)
def round(a: Any, decimals: int = 0, out: Any = None) -> Array:
    """`a` rounded to a number of decimals; locally constant.

    Examples
    --------
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.value_and_grad(lambda x: fnp.round(x, 1))(0.26)
    (np.float64(0.3), np.float64(0.0))
    """
    x = as_array(a)
    dtype = type_of(x).dtype
    if dtype.kind in "iu" and decimals >= 0:
        return x
    if decimals == 0:
        return ops.rint(x)
    if dtype.kind == "b":
        np.round(np.zeros(1, bool), decimals)  # NumPy refuses it
    factor = 10.0 ** math.fabs(decimals)
    if decimals > 0:
        rounded = ops.divide(ops.rint(ops.multiply(x, factor)), factor)
    else:
        rounded = ops.multiply(ops.rint(ops.divide(x, factor)), factor)
    if dtype.kind in "iu":
        rounded = ops.cast(rounded, dtype)
    if type_of(x).ndim < 2:
        return rounded
    return shapes.lying_as(rounded, np.empty(type_of(x).shape, order=order_of(a)))


around = round


def round_number(x: Any, decimals: int) -> Any:
    """Python's ``round(x, decimals)`` of a traced Python number.

    It is exact: half of the last decimal goes to the even one, and nothing else is taken for half.
    """
    factor = 10 ** abs(decimals)
    if type_of(x).dtype.kind != "f":
        if decimals >= 0:
            return x
        if factor > 2**62:
            return x * 0
        tens, rest = x // factor, x % factor
        return (tens + (2 * rest + tens % 2 + factor - 1) // (2 * factor)) * factor
    if abs(decimals) > 22:  # the factor is no exact number
        raise ValueError(located("round: more than 22 decimals are not known of a traced number"))
    scale = float(factor)
    units = x * scale if decimals >= 0 else x / scale
    rest = _rounded_off(x, scale, units) if decimals >= 0 else x - units * scale
    whole = ops.rint(units)
    half = ops.logical_and(ops.equal(abs(units - whole), 0.5), ops.not_equal(rest, 0.0))
    whole = ops.where(half, units + 0.5 * ops.sign(rest), whole)
    made = whole / scale if decimals >= 0 else whole * scale
    found = ops.where(ops.less(abs(units), 2.0**52), made, x)  # else it has no further decimals
    return bind(ops.WEAKEN, (found,))


def _rounded_off(x: Any, y: float, product: Any) -> Any:
    """``x * y - product`` exactly, of a product that is rounded (Dekker 1971)."""
    (a, b), (c, d) = _halves(x), _halves(y)
    return a * c - product + a * d + b * c + b * d


def _halves(x: Any) -> tuple[Any, Any]:
    moved = x * (2.0**27 + 1)
    high = moved - (moved - x)
    return high, x - high


@numpy_function(np.fix, constant=True)
def fix(x: Any, out: Any = None) -> Array:
    """`x` rounded towards zero; locally constant.

    Examples
    --------
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.value_and_grad(fnp.fix)(-1.5)
    (np.float64(-1.0), np.float64(0.0))
    """
    return ops.trunc(x)


# -------------------------------------------------------------------------------------- sinc


@numpy_function(np.sinc)
def sinc(x: Any) -> Array:
    """sin(πx) / (πx), with all its derivatives at 0.

    Examples
    --------
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(fg.grad(fnp.sinc))(0.0)
    np.float64(-3.2898681336964524)
    """
    return pointwise.sinc(as_array(x))


@numpy_function(np.i0)
def i0(x: Any) -> Array:
    """The modified Bessel function of order 0; its derivative is that of order 1.

    Examples
    --------
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(fnp.i0)(0.0)
    np.float64(0.0)
    """
    x = as_array(x)
    if type_of(x).dtype.kind == "c":
        raise TypeError(located("i0 not supported for complex values"))
    return as_zero_dim(bessel.i0_of_numpy(x))


# ------------------------------------------------------------------------- special numbers


@numpy_function(np.nan_to_num, views=True, converts=True)
def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    """`x` with NaN and infinities replaced; what is replaced has derivative 0.

    With ``copy=False`` they are replaced in `x`, which is returned.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.nan_to_num(x)))(np.array([1.0, np.nan]))
    array([1., 0.])
    """
    if not copy and isinstance(x, Operand):
        return into(x, nan_to_num(x, True, nan, posinf, neginf), "nan_to_num")
    y = as_array(x)
    kind = type_of(y).dtype.kind
    if kind not in "fc":
        return fresh(y, y)
    if kind == "c":
        parts = (nan_to_num(p, True, nan, posinf, neginf) for p in (ops.real(y), ops.imag(y)))
        re, im = parts
        return from_parts(re, im)
    limits = np.finfo(type_of(y).dtype)
    high = limits.max if posinf is None else posinf
    low = limits.min if neginf is None else neginf
    plus = ops.logical_and(ops.isinf(y), ops.greater(y, 0))
    minus = ops.logical_and(ops.isinf(y), ops.less(y, 0))
    out = ops.where(ops.isnan(y), ops.cast(operand(nan), type_of(y).dtype), y)
    out = ops.where(plus, ops.cast(operand(high), type_of(y).dtype), out)
    out = ops.where(minus, ops.cast(operand(low), type_of(y).dtype), out)
    return ops.cast(out, type_of(y).dtype)  # the order of its bytes, too


@numpy_function(np.isposinf, constant=True)
def isposinf(x: Any, out: Any = None) -> Array:
    """Whether each element is positive infinity.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad.numpy as fnp
    >>> fnp.isposinf(np.array([1.0, np.inf]))
    array([False,  True])
    """
    return ops.logical_and(ops.isinf(x), ops.logical_not(ops.signbit(x)))


@numpy_function(np.isneginf, constant=True)
def isneginf(x: Any, out: Any = None) -> Array:
    """Whether each element is negative infinity.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad.numpy as fnp
    >>> fnp.isneginf(np.array([1.0, -np.inf]))
    array([False,  True])
    """
    return ops.logical_and(ops.isinf(x), ops.signbit(x))


# ---------------------------------------------------------------------------------- complex


@numpy_function(np.angle)
def angle(z: Any, deg: bool = False) -> Array:
    """The angle of complex numbers, in radians unless `deg`; its derivative at 0 is 0.

    Examples
    --------
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(fnp.angle)(2.0j)
    np.complex128(-0.5+0j)
    """
    x = as_array(z)
    if type_of(x).dtype.kind == "c":
        out = transcendental.arctan2(ops.imag(x), ops.real(x))
    else:
        out = transcendental.arctan2(0, x)
    return ops.multiply(out, 180 / math.pi) if deg else out


@numpy_function(np.isreal, constant=True)
def isreal(x: Any) -> Array:
    """Whether each element has the imaginary part 0.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad.numpy as fnp
    >>> fnp.isreal(np.array([1.0, 1.0j]))
    array([ True, False])
    """
    return ops.equal(ops.imag(x), 0)


@numpy_function(np.iscomplex, constant=True)
def iscomplex(x: Any) -> Array:
    """Whether each element has an imaginary part other than 0.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad.numpy as fnp
    >>> fnp.iscomplex(np.array([1.0, 1.0j]))
    array([False,  True])
    """
    return ops.not_equal(ops.imag(x), 0)


@numpy_function(np.real_if_close, views=True)
def real_if_close(a: Any, tol: float = 100) -> Array:
    """The real part, if all imaginary parts are close to 0, else `a`.

    Under `jit` that is settled for the values at hand, and looked at again on every call; under
    `vmap` for all examples together.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad.numpy as fnp
    >>> fnp.real_if_close(np.array([1.0 + 1e-20j]))
    array([1.])
    """
    x = asarray(a)
    kind = type_of(operand(x))
    if kind.dtype.kind != "c":
        return x
    limit = tol * np.finfo(kind.dtype).eps if tol > 1 else tol
    far = ops.logical_not(ops.less(ops.absolute(ops.imag(operand(x))), limit))
    return x if index.anywhere(far, "the dtype of what numpy.real_if_close gives") else real(x)


# --------------------------------------------------------------------------------- equality


@numpy_function(np.isclose, constant=True)
def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Array:
    """Whether the elements of two arrays are close; locally constant.

    Examples
    --------
    >>> import funcgrad.numpy as fnp
    >>> fnp.isclose(1.0, 1.0 + 1e-9)
    np.True_
    """
    x, y = operand(a), operand(b)
    y = ops.cast(y, np.result_type(type_of(y).promotable(), 1.0)) if not type_of(y).weak else y
    with np.errstate(invalid="ignore"):
        distance = ops.absolute(ops.subtract(x, y))
        limit = ops.add(operand(atol), ops.multiply(operand(rtol), ops.absolute(y)))
        close = ops.logical_and(ops.less_equal(distance, limit), ops.isfinite(y))
        close = ops.logical_or(close, ops.equal(x, y))
        if equal_nan:
            close = ops.logical_or(close, ops.logical_and(ops.isnan(x), ops.isnan(y)))
    return close


def _all(x: Any) -> Any:
    from funcgrad.numpy.reductions import all as all_  # reductions stand on this file

    out = all_(x)
    return bool(value(out)) if concrete(out) else out


@numpy_function(np.allclose, constant=True)
def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> bool:
    """Whether all elements of two arrays are close.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad.numpy as fnp
    >>> fnp.allclose(np.ones(2), 1.0)
    True
    """
    return _all(isclose(a, b, rtol, atol, equal_nan))  # type: ignore[no-any-return]


@numpy_function(np.array_equal, constant=True)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    """Whether two arrays have the same shape and elements.

    Examples
    --------
    >>> import funcgrad.numpy as fnp
    >>> fnp.array_equal([1.0, 2.0], [1.0, 2.0])
    True
    """
    x, y = operand(a1), operand(a2)
    if type_of(x).shape != type_of(y).shape:
        return False
    same = ops.equal(x, y)
    if equal_nan:
        same = ops.logical_or(same, ops.logical_and(ops.isnan(x), ops.isnan(y)))
    return _all(same)  # type: ignore[no-any-return]


@numpy_function(np.array_equiv, constant=True)
def array_equiv(a1: Any, a2: Any) -> bool:
    """Whether two arrays are equal after broadcasting.

    Examples
    --------
    >>> import funcgrad.numpy as fnp
    >>> fnp.array_equiv([1.0, 1.0], 1.0)
    True
    """
    x, y = operand(a1), operand(a2)
    try:
        np.broadcast_shapes(type_of(x).shape, type_of(y).shape)
    except ValueError:
        return False
    return _all(ops.equal(x, y))  # type: ignore[no-any-return]
