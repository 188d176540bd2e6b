"""Arithmetic: the four operations, powers, extrema, products by a partial (`scale`), and casts.

Subgradients: |x| has 0 at 0; the larger or smaller of two equal operands is shared equally.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core.algebra import algebra
from funcgrad.core.forms import Elementwise, Linear, align, bind2, elementwise, left, linear, right
from funcgrad.core.primitive import Params, Sample
from funcgrad.core.tracer import Tracer, bind, operand, type_of
from funcgrad.core.types import Array, ArrayType, promote
from funcgrad.ops.samples import binary, draw, unary

ndarray = np.ndarray
Op = Any  # a function of operands, with its record in `primitive`


def has_nan(x: Any) -> bool:
    """Whether a raw array holds a NaN (it may say yes for an array that holds none)."""
    if type(x) is ndarray:
        flat = x if x.ndim == 1 else x.ravel()
        x = flat.dot(flat)  # squares do not cancel: the sum is NaN only if an element is
    answer: Any = x != x
    return bool(answer)


def _scale(g: Any, d: Any) -> Any:
    """g * d in the dtype of g, but 0 where g is exactly 0, past infinite and NaN partials."""
    r = g * d
    if r.dtype is not g.dtype and r.dtype.kind == g.dtype.kind:
        r = r.astype(g.dtype)
    if has_nan(r):
        r = np.where(g == 0, r.dtype.type(0), r)[()]
    return r


class Scale(Elementwise):
    """A cotangent or tangent times a partial derivative: the only place where the two meet.

    It is bilinear for every transform; only the value masks. A mask on the value itself,
    ``where(g == 0, …)``, would make the second derivative of sin² at 0 vanish.
    """

    def __init__(self) -> None:
        partials = (lambda _, __, d: d, lambda _, g, __: g)
        super().__init__("scale", np.multiply, _scale, partials)
        self.keeps_weak = False

    def type_rule(self, types: Any, params: Params) -> ArrayType:
        g, d = types
        shape = np.broadcast_shapes(g.shape, d.shape)
        promoted = promote(g, d)
        return ArrayType(shape, g.dtype if promoted.kind == g.dtype.kind else promoted)

    def is_linear(self, mask: Sequence[bool], params: Params) -> bool:
        return sum(mask) == 1


SCALE = Scale()
SCALE.sample = lambda: [
    Sample((draw((3,)), draw((3,), seed=1))),
    Sample((draw((2, 1)), draw((3,), seed=1))),
    Sample((np.array([0.0, 1.0, 0.0]), np.array([np.inf, 2.0, np.nan])), smooth=False),
    Sample((np.zeros(3), draw((3,), seed=1))),
]


def scale(g: Array, d: Array) -> Array:
    """The cotangent or tangent `g` times the partial derivative `d`; 0 where `g` is exactly 0."""
    if isinstance(g, Tracer) or isinstance(d, Tracer):
        return bind2(SCALE, g, d)
    if not isinstance(g, (np.ndarray, np.generic)):
        g = np.float64(g) if not isinstance(g, complex) else np.complex128(g)
    return _scale(g, d)


# ------------------------------------------------------------------------------- the four

add: Op = elementwise(np.add, 1, 1, operator=operator.add, sample=binary(complex_=True))
subtract: Op = elementwise(np.subtract, 1, -1, operator=operator.sub, sample=binary(complex_=True))
multiply: Op = elementwise(
    np.multiply,
    right,
    left,
    operator=operator.mul,
    sample=binary(complex_=True),
)
divide: Op = elementwise(
    np.divide,
    lambda _, __, y: divide(1.0, y),
    lambda z, _, y: negative(divide(z, y)),  # not x / y²: y² may overflow
    operator=operator.truediv,
    sample=binary(-2, 2, 0.5, 2, complex_=True, kinks=((1e300, 1e200),)),
)
negative: Op = elementwise(np.negative, -1, operator=operator.neg, sample=unary(complex_=True))
positive: Op = elementwise(np.positive, 1, operator=operator.pos, sample=unary(complex_=True))
reciprocal: Op = elementwise(
    np.reciprocal, lambda y, _: negative(multiply(y, y)), sample=unary(0.5, 2, complex_=True)
)
square: Op = elementwise(np.square, lambda _, x: multiply(2.0, x), sample=unary(complex_=True))


# --------------------------------------------------------------------------------- powers


def _less_one(p: Any) -> Any:
    """p - 1, where a Python number stays one."""
    return p - 1


def _power_base(_: Any, x: Any, p: Any) -> Any:
    if not isinstance(p, Tracer) and isinstance(p, (int, float)):
        return (
            0.0 if p == 0 else multiply(p, power(x, _less_one(p))) if p != 2 else multiply(2.0, x)
        )
    # x**0 is constant, also at x = 0, where p * x**(p-1) is 0 * inf
    return where(equal(p, 0), 0.0, multiply(p, power(x, _less_one(p))))


def _power_exponent(z: Any, x: Any, _: Any) -> Any:
    # 0**p is 0 for all p > 0; NumPy's log has the NaN for x < 0
    return where(equal(x, 0), 0.0, multiply(z, log_of(x)))


def log_of(x: Any) -> Any:
    from funcgrad.ops.transcendental import log  # the two files need each other's operations

    return log(where(equal(x, 0), 1.0, x))


def _power_samples() -> list[Sample]:
    positive_base = binary(0.5, 2, -2, 2)()
    return [
        *positive_base,
        Sample((draw((3,)), 2)),
        Sample((draw((3,), 0.5, 2.0), 3.0)),
        Sample((np.array([0.0, 1.5]), 2.0), smooth=False),
        Sample((np.array([0.0, 1.5]), np.array([2.0, 0.0])), smooth=False),
        Sample((np.array([-2.0, 0.0]), np.array([3.0, 1.0])), smooth=False),
    ]


power: Op = elementwise(
    np.power, _power_base, _power_exponent, operator=operator.pow, sample=_power_samples
)
float_power: Op = elementwise(
    np.float_power, _power_base, _power_exponent, sample=binary(0.5, 2, -2, 2)
)
sqrt: Op = elementwise(
    np.sqrt,
    lambda y, _: divide(0.5, y),
    sample=unary(0.5, 3, kinks=(0.0,), complex_=False),
)
cbrt: Op = elementwise(
    np.cbrt, lambda y, _: divide(1.0 / 3.0, multiply(y, y)), sample=unary(0.5, 3, kinks=(0.0,))
)


# -------------------------------------------------------------------------------- extrema

equal: Op = elementwise(np.equal, operator=operator.eq, sample=binary())
not_equal: Op = elementwise(np.not_equal, operator=operator.ne, sample=binary())
less: Op = elementwise(np.less, operator=operator.lt, sample=binary())
less_equal: Op = elementwise(np.less_equal, operator=operator.le, sample=binary())
greater: Op = elementwise(np.greater, operator=operator.gt, sample=binary())
greater_equal: Op = elementwise(np.greater_equal, operator=operator.ge, sample=binary())


def _share(z: Any, x: Any, y: Any) -> Any:
    """1 where `x` is the chosen one, ½ where both are; NaN counts as chosen (it propagates)."""
    chosen = logical_or(equal(x, z), isnan(x))
    both = logical_and(chosen, logical_or(equal(y, z), isnan(y)))
    return where(chosen, where(both, 0.5, 1.0), 0.0)


def _bools(count: int) -> Any:
    values: Any = (np.array([True, False, True]), np.array([[False], [True]]))
    return lambda: [Sample(values[:count])]


def _extremum(ufunc: np.ufunc) -> Any:
    return elementwise(
        ufunc,
        lambda z, x, y: _share(z, x, y),
        lambda z, x, y: _share(z, y, x),
        sample=binary(kinks=((1.0, 1.0), (0.0, 0.0))),
    )


maximum, minimum, fmax, fmin = map(_extremum, (np.maximum, np.minimum, np.fmax, np.fmin))
logical_and: Op = elementwise(np.logical_and, sample=binary())
logical_or: Op = elementwise(np.logical_or, sample=binary())
logical_xor: Op = elementwise(np.logical_xor, sample=binary())
logical_not: Op = elementwise(np.logical_not, sample=unary())
bitwise_and: Op = elementwise(np.bitwise_and, operator=operator.and_, sample=_bools(2))
bitwise_or: Op = elementwise(np.bitwise_or, operator=operator.or_, sample=_bools(2))
bitwise_xor: Op = elementwise(np.bitwise_xor, operator=operator.xor, sample=_bools(2))
invert: Op = elementwise(np.invert, operator=operator.invert, sample=_bools(1))
isnan: Op = elementwise(np.isnan, sample=unary())
isinf: Op = elementwise(np.isinf, sample=unary())
isfinite: Op = elementwise(np.isfinite, sample=unary())
signbit: Op = elementwise(np.signbit, sample=unary())
sign: Op = elementwise(np.sign, sample=unary(0.1, 2))
floor: Op = elementwise(np.floor, sample=unary(0.1, 0.9))
ceil: Op = elementwise(np.ceil, sample=unary(0.1, 0.9))
trunc: Op = elementwise(np.trunc, sample=unary(0.1, 0.9))
rint: Op = elementwise(np.rint, sample=unary(0.1, 0.4))


def _absolute_partial(y: Any, x: Any) -> Any:
    if type_of(x).dtype.kind == "c":  # |z| is real: dz enters through Re(conj(z)/|z| dz)
        return where(equal(y, 0), 0.0, divide(conjugate(x), where(equal(y, 0), 1.0, y)))
    return sign(x)


absolute: Op = elementwise(
    np.absolute,
    _absolute_partial,
    operator=operator.abs,
    sample=unary(0.1, 2, kinks=(0.0,), complex_=True),
)
fabs: Op = elementwise(np.fabs, lambda _, x: sign(x), sample=unary(0.1, 2, kinks=(0.0,)))
floor_divide: Op = elementwise(
    np.floor_divide, operator=operator.floordiv, sample=binary(0.1, 0.4, 0.5, 2)
)
remainder: Op = elementwise(
    np.remainder,
    1,
    lambda _, x, y: negative(floor_divide(x, y)),
    operator=operator.mod,
    sample=binary(0.6, 0.9, 0.4, 0.5),
)
fmod: Op = elementwise(
    np.fmod, 1, lambda _, x, y: negative(trunc(divide(x, y))), sample=binary(0.6, 0.9, 0.4, 0.5)
)
copysign: Op = elementwise(
    np.copysign, lambda y, x, _: multiply(sign(x), sign(y)), 0, sample=binary(0.1, 2)
)
heaviside: Op = elementwise(
    np.heaviside, 0, lambda _, x, __: where(equal(x, 0), 1.0, 0.0), sample=binary(0.1, 2)
)
hypot: Op = elementwise(
    np.hypot,
    lambda z, x, _: where(equal(z, 0), 0.0, divide(x, where(equal(z, 0), 1.0, z))),
    lambda z, _, y: where(equal(z, 0), 0.0, divide(y, where(equal(z, 0), 1.0, z))),
    sample=binary(kinks=((0.0, 0.0),)),
)


# --------------------------------------------------------------- selection, casts, complex


def _where_batch(size: int, xs: Any, batched: Any, params: Params) -> Any:
    return bind(WHERE, align(xs, batched), params)


def cast_scalar(x: Any) -> Any:
    """A NumPy scalar instead of an array without axes, as ufuncs give."""
    return x[()]


def _where_type(c: ArrayType, x: ArrayType, y: ArrayType) -> ArrayType:
    dtype = promote(x, y)
    return ArrayType(np.broadcast_shapes(c.shape, x.shape, y.shape), dtype)


WHERE: Linear = linear(
    "where",
    lambda c, x, y: cast_scalar(np.where(c, x, y)),
    (
        None,
        lambda g, c, x, y: algebra.conform(where(c, g, 0.0), x),
        lambda g, c, x, y: algebra.conform(where(c, 0.0, g), y),
    ),
    _where_type,
    _where_batch,
    sample=lambda: [
        Sample((np.array([True, False, True]), draw((3,)), draw((3,), seed=1))),
        Sample((np.array([True, False, True]), draw((2, 1)), 1.5)),
        Sample((np.array([[True], [False]]), draw((3,)).astype(np.float32), draw((2, 3)))),
    ],
)


def where(condition: Any, x: Any, y: Any) -> Array:
    """`x` where `condition` holds, else `y`."""
    return bind(WHERE, (operand(condition), operand(x), operand(y)))


def _to_dtype(x: Any, dtype: Any) -> Any:
    if not isinstance(x, (np.ndarray, np.generic)):
        return np.asarray(x)[()].astype(dtype)
    if x.dtype.kind == "c" and np.dtype(dtype).kind == "f":
        x = x.real
    return x.astype(dtype)


CAST: Linear = linear(
    "cast",
    _to_dtype,
    lambda g, x, *, dtype: cast(g, x.dtype),
    lambda x, *, dtype: ArrayType(x.shape, np.dtype(dtype)),
    lambda size, xs, batched, params: bind(CAST, xs, params),
    sample=lambda: [
        Sample((draw((3,)),), {"dtype": np.dtype(np.float32)}, smooth=False),
        Sample((draw((3,)).astype(np.float32),), {"dtype": np.dtype(np.float64)}),
    ],
)


def cast(x: Array, dtype: Any) -> Array:
    """`x` with another dtype; from complex to real it takes the real part."""
    dtype = np.dtype(dtype)
    kind = type_of(x)
    if kind.dtype == dtype and not kind.weak:
        return x
    if dtype.kind not in "fc":
        # an integer or a bool has no tangent: the result is locally constant
        return bind(ROUND_CAST, (x,), {"dtype": dtype})
    return bind(CAST, (x,), {"dtype": dtype})


class RoundCast(Elementwise):
    """A cast to integers or bools."""

    def __init__(self) -> None:
        super().__init__("round_cast", np.rint, lambda x, dtype: _to_dtype(x, dtype), ())
        self.sample = lambda: [Sample((draw((3,)),), {"dtype": np.dtype(np.int64)})]

    def type_rule(self, types: Any, params: Params) -> ArrayType:
        return ArrayType(types[0].shape, params["dtype"])


ROUND_CAST = RoundCast()


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
)
REAL: Linear = linear(
    "real",
    np.real,
    lambda g, x: cast(g, x.dtype),
    _real_type,
    lambda size, xs, batched, params: bind(REAL, xs),
    sample=_complex_sample,
)
IMAG: Linear = linear(
    "imag",
    np.imag,
    lambda g, x: multiply(-1j, cast(g, x.dtype)) if x.dtype.kind == "c" else multiply(g, 0.0),
    _real_type,
    lambda size, xs, batched, params: bind(IMAG, xs),
    sample=_complex_sample,
)


def conjugate(x: Any, /) -> Array:
    """The complex conjugate."""
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
    out = np.empty(np.broadcast_shapes(np.shape(re), np.shape(im)), dtype)
    out.real, out.imag = re, im
    return out[()]


def _from_parts_type(re: ArrayType, im: ArrayType) -> ArrayType:
    dtype = np.result_type(re.dtype, im.dtype, np.complex64)
    return ArrayType(np.broadcast_shapes(re.shape, im.shape), dtype)


def _from_parts_batch(size: int, xs: Any, batched: Any, params: Params) -> Any:
    return bind(COMPLEX, xs)  # both parts have one shape, and a part without the axis broadcasts


COMPLEX: Linear = linear(
    "complex",
    _from_parts,
    (
        lambda g, re, im: algebra.conform(cast(g, re.dtype), re),
        lambda g, re, im: algebra.conform(cast(multiply(1j, g), im.dtype), im),
    ),
    _from_parts_type,
    _from_parts_batch,
    sample=lambda: [
        Sample((draw((2, 3)), draw((2, 3), seed=1))),
        Sample((draw((3,)).astype(np.float32), draw((3,), seed=1).astype(np.float32))),
    ],
)


def from_parts(re: Array, im: Array) -> Array:
    """The complex array with these parts, which have the same shape."""
    return bind(COMPLEX, (re, im))


algebra.add, algebra.negative, algebra.scale = add, negative, scale
