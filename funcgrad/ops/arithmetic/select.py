"""Selection by a condition, casts, and complex numbers and their parts: linear operations."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.algebra import algebra
from funcgrad.core.bfloat16 import BFLOAT16, rounded
from funcgrad.core.forms import Elementwise, Linear, align, linear
from funcgrad.core.layout import moved, ordered
from funcgrad.core.memory import empty
from funcgrad.core.primitive import Params, Sample
from funcgrad.core.tracer import Tracer, bind, operand, type_of
from funcgrad.core.types import Array, ArrayType, broadcast_shapes, promote
from funcgrad.errors import UnsupportedCallError, located
from funcgrad.ops.arithmetic.basic import multiply
from funcgrad.ops.samples import draw

__all__ = [
    "CAST",
    "COMPLEX",
    "CONJUGATE",
    "IMAG",
    "REAL",
    "WEAKEN",
    "WHERE",
    "cast",
    "check_numbers",
    "conjugate",
    "from_parts",
    "imag",
    "real",
    "where",
]


BLOCK = 1 << 15  # elements: so many stay in the cache; with fewer, `np.where` learns the pattern
BITS = {np.dtype(np.float64).num: np.dtype(np.int64), np.dtype(np.float32).num: np.dtype(np.int32)}


def _where(c: Any, x: Any, y: Any) -> Any:
    dtype = _dtype_of_bits(c, x, y)
    if dtype is not None:
        return _where_by_bits(c, x, y, dtype)
    found: Any = np.where(c, x, y)
    return found[()]  # a NumPy scalar instead of an array without axes, as ufuncs give


def _dtype_of_bits(c: Any, x: Any, y: Any) -> Any:
    """The dtype of a choice between large arrays of one shape, or one and a Python float."""
    if type(c) is not np.ndarray or c.size < BLOCK or c.dtype.char != "?":
        return None
    dtype = None
    for v in (x, y):
        if type(v) is np.ndarray:
            if v.shape != c.shape or v.dtype is not (dtype or v.dtype) or not v.flags.c_contiguous:
                return None
            dtype = v.dtype
        elif type(v) is not float:
            return None
    usable = dtype is not None and dtype.num in BITS and dtype.isnative and c.flags.c_contiguous
    return dtype if usable else None


def _where_by_bits(c: Any, x: Any, y: Any, dtype: Any) -> Any:
    """The same bits without a branch: `np.where` takes five times as long where `c` varies."""
    bits: Any = BITS[dtype.num]
    whole = empty(c.shape, dtype)
    out, c = whole.reshape(-1).view(bits), c.reshape(-1).view(np.int8)
    x, y = (np.asarray(v, dtype).reshape(-1).view(bits) for v in (x, y))
    buffer = np.empty(BLOCK, bits)
    for first in range(0, out.size, BLOCK):
        part = slice(first, first + BLOCK)
        a, b = (v if v.size == 1 else v[part] for v in (x, y))
        found = out[part]
        mask = np.negative(c[part], out=buffer[: found.size])  # all bits, or none
        np.bitwise_xor(a, b, out=found)
        np.bitwise_and(found, mask, out=found)
        np.bitwise_xor(found, b, out=found)
    return whole


def _where_batch(size: int, xs: Any, batched: Any, params: Params) -> Any:
    return bind(WHERE, align(xs, batched), params)


def _where_type(c: ArrayType, x: ArrayType, y: ArrayType) -> ArrayType:
    dtype = promote(x, y)
    return ArrayType(broadcast_shapes(c.shape, x.shape, y.shape), dtype)


WHERE: Linear = linear(
    "where",
    _where,
    (
        None,
        lambda g, c, x, y: algebra.unbroadcast(where(c, g, 0.0), x),
        lambda g, c, x, y: algebra.unbroadcast(where(c, 0.0, g), y),
    ),
    _where_type,
    _where_batch,
    sample=lambda: [
        Sample((np.array([True, False, True]), draw((3,)), draw((3,), seed=1))),
        Sample((np.array([True, False, True]), draw((2, 1)), 1.5)),
        Sample((np.array([[True], [False]]), draw((3,)).astype(np.float32), draw((2, 3)))),
    ],
    moves="chooses",
)


def where(condition: Any, x: Any, y: Any) -> Array:
    """`x` where `condition` holds, else `y`."""
    return bind(WHERE, (operand(condition), operand(x), operand(y)))


def _to_dtype(x: Any, dtype: Any) -> Any:
    if dtype is BFLOAT16:
        return rounded(x.real if np.iscomplexobj(x) else x)
    if not isinstance(x, (np.ndarray, np.generic)):
        return np.asarray(x)[()].astype(dtype)
    if x.dtype.kind == "c" and np.dtype(dtype).kind == "f":
        x = x.real
    return x.astype(dtype)


CAST: Linear = linear(
    "cast",
    _to_dtype,
    lambda g, x, *, dtype: cast(cast(g, dtype) if dtype is BFLOAT16 else g, x.dtype),
    lambda x, *, dtype: ArrayType(x.shape, np.dtype(dtype)),
    lambda size, xs, batched, params: bind(CAST, xs, params),
    sample=lambda: [
        Sample((draw((3,)),), {"dtype": np.dtype(np.float32)}, smooth=False),
        Sample((draw((3,)).astype(np.float32),), {"dtype": np.dtype(np.float64)}),
    ],
    moves="stays",
)


_OTHERS = {"O": "Python's objects", "V": "records", "S": "text", "U": "text"}


def check_numbers(x: Array, dtype: np.dtype[Any]) -> None:
    """Raise where a traced value would become what is no number, and its derivative 0."""
    if dtype.kind in _OTHERS and isinstance(x, Tracer):
        raise UnsupportedCallError(
            located(
                f"a traced value does not become {_OTHERS[dtype.kind]} (dtype={dtype}), which have "
                "no derivative; leave the dtype out, or convert funcgrad.value(x) if it is a "
                "constant"
            )
        )


def cast(x: Array, dtype: Any) -> Array:
    """`x` with another dtype; from complex to real it takes the real part."""
    dtype = np.dtype(dtype)
    aval = type_of(x)
    if aval.dtype == dtype and not aval.weak:
        return x
    if dtype.kind not in "fc":
        # an integer or a bool has no tangent: the result is locally constant
        check_numbers(x, dtype)
        return bind(ROUND_CAST, (x,), {"dtype": dtype})
    return bind(CAST, (x,), {"dtype": dtype})


class RoundCast(Elementwise):
    """A cast to integers or bools."""

    def __init__(self) -> None:
        super().__init__("round_cast", np.rint, lambda x, dtype: _to_dtype(x, dtype), ())
        self.cost = 1
        self.sample = lambda: [Sample((draw((3,)),), {"dtype": np.dtype(np.int64)})]

    def type_rule(self, types: Any, params: Params) -> ArrayType:
        return ArrayType(types[0].shape, params["dtype"])


ROUND_CAST = RoundCast()


class Weaken(Elementwise):
    """A value without axes as a Python number, which takes the dtype of the arrays beside it.

    Loops hand on arrays; where a program that was found to be one hands on Python numbers, this
    makes them of what the loop gives. Of several examples at once there is no such number: it
    stays an array.
    """

    def __init__(self) -> None:
        super().__init__("weaken", np.positive, _as_number, (1,))
        self.cost = 0
        self.sample = lambda: [Sample((np.float64(1.5),)), Sample((np.array(-0.5),))]

    def type_rule(self, types: Any, params: Params) -> ArrayType:
        (x,) = types
        return ArrayType(x.shape, x.dtype, not x.shape)


def _as_number(x: Any) -> Any:
    return x if np.ndim(x) else np.asarray(x).item()


WEAKEN = Weaken()


def _complex_sample() -> list[Sample]:
    return [Sample((draw((2, 3)) + 1j * draw((2, 3), seed=1),)), Sample((draw((3,)),))]


def _real_type(x: ArrayType) -> ArrayType:
    return ArrayType(x.shape, np.zeros((), x.dtype).real.dtype)


def _same_type(x: ArrayType) -> ArrayType:
    return ArrayType(x.shape, x.dtype)


CONJUGATE: Linear = linear(
    "conjugate",
    np.conjugate,
    lambda g, x: conjugate(g),
    _same_type,
    lambda size, xs, batched, params: bind(CONJUGATE, xs),
    sample=_complex_sample,
    moves="stays",
)
REAL: Linear = linear(
    "real",
    np.real,
    lambda g, x: cast(g, x.dtype),
    _real_type,
    lambda size, xs, batched, params: bind(REAL, xs),
    sample=_complex_sample,
    moves="stays",
)
IMAG: Linear = linear(
    "imag",
    np.imag,
    lambda g, x: multiply(-1j, cast(g, x.dtype)) if x.dtype.kind == "c" else multiply(g, 0.0),
    _real_type,
    lambda size, xs, batched, params: bind(IMAG, xs),
    sample=_complex_sample,
    moves="stays",
)


def conjugate(x: Any, /) -> Array:
    """The complex conjugate; a real `x` itself."""
    x = operand(x)
    return bind(CONJUGATE, (x,)) if type_of(x).dtype.kind == "c" else x


def real(x: Any) -> Array:
    """The real part."""
    x = operand(x)
    return bind(REAL, (x,)) if type_of(x).dtype.kind == "c" else x


def imag(x: Any) -> Array:
    """The imaginary part."""
    return bind(IMAG, (operand(x),))


def _from_parts(re: Any, im: Any) -> Any:
    dtype = np.result_type(re, im, np.complex64)
    out = np.empty(broadcast_shapes(np.shape(re), np.shape(im)), dtype)
    out.real, out.imag = re, im
    return out[()]


def _from_parts_type(re: ArrayType, im: ArrayType) -> ArrayType:
    dtype = np.result_type(re.dtype, im.dtype, np.complex64)
    return ArrayType(broadcast_shapes(re.shape, im.shape), dtype)


def _from_parts_batch(size: int, xs: Any, batched: Any, params: Params) -> Any:
    return bind(COMPLEX, xs)  # both parts have one shape, and a part without the axis broadcasts


COMPLEX: Linear = linear(
    "complex",
    _from_parts,
    (
        lambda g, re, im: algebra.unbroadcast(cast(g, re.dtype), re),
        lambda g, re, im: algebra.unbroadcast(cast(multiply(1j, g), im.dtype), im),
    ),
    _from_parts_type,
    _from_parts_batch,
    sample=lambda: [
        Sample((draw((2, 3)), draw((2, 3), seed=1))),
        Sample((draw((3,)).astype(np.float32), draw((3,), seed=1).astype(np.float32))),
    ],
    moves="adds",
)


def from_parts(re: Array, im: Array) -> Array:
    """The complex array with these parts, which have the same shape."""
    return bind(COMPLEX, (re, im))


CAST.aligned = WHERE.aligned = True
algebra.cast, algebra.where = cast, where


def _part(*of: Any) -> Any:
    """As of what gives views; the elements are others."""
    return moved(*of)


REAL.lies = IMAG.lies = _part
for _prim in (WHERE, CAST, CONJUGATE, COMPLEX, ROUND_CAST):
    _prim.lies = ordered
