"""`lax`'s arithmetic, comparisons and functions of elements, by name.

Most are NumPy's functions of another name and live in `lax.__init__`; here are those that NumPy
has not, or in which JAX differs from it. Operands broadcast, and dtypes are promoted, as in NumPy.
"""

from __future__ import annotations

import enum
from functools import reduce
from typing import Any

import numpy as np

import funcgrad.numpy as fnp
from funcgrad.core.tracer import operand as content
from funcgrad.core.tracer import type_of
from funcgrad.core.types import Array
from funcgrad.errors import located
from funcgrad.ops import bessel, gamma, normal
from funcgrad.ops import error as error_functions
from funcgrad.ops import logistic as logistic_functions
from funcgrad.ops.bits import fewer_bits

__all__ = [
    "RoundingMethod",
    "bessel_i0e",
    "bessel_i1e",
    "betainc",
    "clamp",
    "clz",
    "complex",
    "digamma",
    "div",
    "erf",
    "erf_inv",
    "erfc",
    "igamma",
    "igamma_grad_a",
    "igammac",
    "integer_pow",
    "lgamma",
    "logistic",
    "mulhi",
    "polygamma",
    "population_count",
    "random_gamma_grad",
    "reduce_precision",
    "rem",
    "round",
    "rsqrt",
    "select",
    "select_n",
    "shift_right_logical",
    "zeta",
]


class RoundingMethod(enum.IntEnum):
    """Where `round` takes what lies in the middle of two integers.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.round(np.array([0.5, 1.5]), lax.RoundingMethod.TO_NEAREST_EVEN)
    array([0., 2.])
    """

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


def _is_whole(*xs: Any) -> bool:
    return all(type_of(content(x)).dtype.kind in "iu" for x in xs)


def div(x: Any, y: Any) -> Array:
    """The quotient; of integers it is cut towards zero, as in C.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.div(np.array([-7, 7]), np.array([2, 2])), lax.div(1.0, 4.0)
    (array([-3,  3]), np.float64(0.25))
    """
    if not _is_whole(x, y):
        return fnp.true_divide(x, y)
    down, left = fnp.floor_divide(x, y), fnp.remainder(x, y)
    return down + ((left != 0) & ((left < 0) != (fnp.fmod(x, y) < 0)))


def rem(x: Any, y: Any) -> Array:
    """The remainder with the sign of `x`, as in C.

    Examples
    --------
    >>> from funcgrad import lax
    >>> lax.rem(-7.0, 2.0)
    np.float64(-1.0)
    """
    return fnp.fmod(x, y)


def round(x: Any, rounding_method: RoundingMethod = RoundingMethod.AWAY_FROM_ZERO) -> Array:
    """The nearest integers; what lies in the middle goes away from zero, or to the even one.

    Its derivative is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.round(np.array([0.5, -2.5])), lax.round(2.5, lax.RoundingMethod.TO_NEAREST_EVEN)
    (array([ 1., -3.]), np.float64(2.0))
    """
    if RoundingMethod(rounding_method) is RoundingMethod.TO_NEAREST_EVEN:
        return fnp.rint(x)
    whole = fnp.trunc(x)
    return fnp.where(fnp.abs(x - whole) >= 0.5, whole + fnp.sign(x), whole)


def integer_pow(x: Any, y: int) -> Array:
    """`x` to the power of a Python integer.

    Examples
    --------
    >>> import funcgrad as fg
    >>> from funcgrad import lax
    >>> fg.grad(lambda x: lax.integer_pow(x, 3))(2.0)
    np.float64(12.0)
    """
    if not isinstance(y, (int, np.integer)) or isinstance(y, bool):
        raise TypeError(located(f"integer_pow: the exponent must be an integer, not {y!r}"))
    return fnp.power(x, int(y)) if y >= 0 else fnp.reciprocal(fnp.power(x, -int(y)))


def mulhi(x: Any, y: Any) -> Array:
    """The upper half of the product of integers, which has twice as many bits as they have.

    Raises
    ------
    TypeError
        An operand is no integer.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.mulhi(np.uint8(200), np.uint8(200)), lax.mulhi(np.int64(2**62), np.int64(-8))
    (np.uint8(156), np.int64(-2))
    """
    if not _is_whole(x, y):
        raise TypeError(located("mulhi: the upper half of a product is that of integers"))
    kind = np.result_type(*(type_of(content(v)).dtype for v in (x, y)))
    bits = kind.itemsize * 8
    if bits < 64:
        wide = np.dtype(f"{kind.kind}{kind.itemsize * 2}")
        product = fnp.multiply(fnp.astype(fnp.asarray(x), wide), fnp.astype(fnp.asarray(y), wide))
        return fnp.astype(fnp.right_shift(product, wide.type(bits)), kind)
    return _upper_half(fnp.astype(fnp.asarray(x), kind), fnp.astype(fnp.asarray(y), kind))


def _upper_half(x: Any, y: Any) -> Any:
    """Of numbers of 64 bits, from the products of their halves (Hacker's Delight, 8-2)."""
    word = type_of(content(x)).dtype.type
    half, low = word(32), word(0xFFFFFFFF)
    (x0, x1), (y0, y1) = ((v & low, fnp.right_shift(v, half)) for v in (x, y))
    carried = x1 * y0 + fnp.right_shift(fnp.astype(x0 * y0, np.uint64), np.uint64(32)).astype(word)
    middle = x0 * y1 + (carried & low)
    return x1 * y1 + fnp.right_shift(carried, half) + fnp.right_shift(middle, half)


def rsqrt(x: Any) -> Array:
    """``1 / sqrt(x)``.

    Examples
    --------
    >>> import funcgrad as fg
    >>> from funcgrad import lax
    >>> lax.rsqrt(4.0), fg.grad(lax.rsqrt)(4.0)
    (np.float64(0.5), np.float64(-0.0625))
    """
    return fnp.true_divide(_one(x), fnp.sqrt(x))


def _one(x: Any) -> Any:
    return type_of(content(x)).dtype.type(1)


def logistic(x: Any) -> Array:
    """``1 / (1 + exp(-x))``.

    Examples
    --------
    >>> import funcgrad as fg
    >>> from funcgrad import lax
    >>> lax.logistic(0.0), fg.grad(lax.logistic)(0.0)
    (np.float64(0.5), np.float64(0.25))
    """
    return logistic_functions.expit(x)


def erf(x: Any) -> Array:
    """The error function.

    Examples
    --------
    >>> import funcgrad as fg
    >>> from funcgrad import lax
    >>> fg.grad(lax.erf)(0.0)
    np.float64(1.1283791670955126)
    """
    return error_functions.erf(x)


def erfc(x: Any) -> Array:
    """``1 - erf(x)``, without cancellation.

    Examples
    --------
    >>> import funcgrad as fg
    >>> from funcgrad import lax
    >>> fg.grad(lax.erfc)(0.0)
    np.float64(-1.1283791670955126)
    """
    return normal.erfc(x)


def erf_inv(x: Any) -> Array:
    """The inverse of `erf`, on [-1, 1].

    Examples
    --------
    >>> import funcgrad as fg
    >>> from funcgrad import lax
    >>> lax.erf_inv(0.0), f"{fg.grad(lax.erf_inv)(0.0):.12f}"
    (np.float64(0.0), '0.886226925453')
    """
    return normal.erfinv(x)


def lgamma(x: Any) -> Array:
    """The logarithm of the absolute value of Γ(x), whose derivative is `digamma`.

    Examples
    --------
    >>> import funcgrad as fg
    >>> from funcgrad import lax
    >>> float(lax.lgamma(1.0)), f"{fg.grad(lax.lgamma)(1.0):.12f}"
    (0.0, '-0.577215664902')
    """
    return gamma.lgamma(x)


def digamma(x: Any) -> Array:
    """Γ'(x) / Γ(x), whose derivative is ``polygamma(1, x)``.

    Examples
    --------
    >>> from funcgrad import lax
    >>> f"{lax.digamma(1.0):.12f}"
    '-0.577215664902'
    """
    return gamma.digamma(x)


def polygamma(m: Any, x: Any) -> Array:
    """The derivative of order `m` of `digamma`, differentiable by `x`.

    Examples
    --------
    >>> from funcgrad import lax
    >>> f"{lax.polygamma(1.0, 1.0):.12f}"
    '1.644934066848'
    """
    return gamma.polygamma(m, x)


def zeta(x: Any, q: Any) -> Array:
    """Σ (q + k)^-x over k = 0, 1, …, differentiable by `q`.

    Examples
    --------
    >>> from funcgrad import lax
    >>> f"{lax.zeta(2.0, 1.0):.12f}"
    '1.644934066848'
    """
    return gamma.zeta(x, q)


def bessel_i0e(x: Any) -> Array:
    """The modified Bessel function of order 0 times exp(-abs(x)).

    Examples
    --------
    >>> from funcgrad import lax
    >>> float(lax.bessel_i0e(0.0))
    1.0
    """
    return bessel.i0e(x)


def bessel_i1e(x: Any) -> Array:
    """The modified Bessel function of order 1 times exp(-abs(x)).

    Examples
    --------
    >>> from funcgrad import lax
    >>> float(lax.bessel_i1e(0.0))
    0.0
    """
    return bessel.i1e(x)


def igamma(a: Any, x: Any) -> Array:
    """The regularised lower incomplete gamma function, differentiable by both (needs SciPy).

    Examples
    --------
    >>> import funcgrad as fg
    >>> from funcgrad import lax
    >>> f"{fg.grad(lax.igamma, 1)(1.0, 2.0):.12f}"
    '0.135335283237'
    """
    from funcgrad.scipy import special  # an extra, imported on first use

    return special.gammainc(a, x)


def igammac(a: Any, x: Any) -> Array:
    """``1 - igamma(a, x)``, differentiable by both (needs SciPy).

    Examples
    --------
    >>> from funcgrad import lax
    >>> f"{lax.igammac(1.0, 2.0):.12f}"
    '0.135335283237'
    """
    from funcgrad.scipy import special  # an extra, imported on first use

    return special.gammaincc(a, x)


def igamma_grad_a(a: Any, x: Any) -> Array:
    """The derivative of `igamma` by `a`, differentiable once more (needs SciPy).

    Examples
    --------
    >>> from funcgrad import lax
    >>> f"{lax.igamma_grad_a(1.0, 2.0):.12f}"
    '-0.220825426212'
    """
    from funcgrad.scipy.special import incomplete  # an extra, imported on first use

    return incomplete.gamma_a(fnp.asarray(a), fnp.asarray(x))


def random_gamma_grad(a: Any, sample: Any) -> Array:
    """How a number of the gamma distribution moves with the shape `a` (needs SciPy).

    It is dx/da where the probability of less than x stays, which `random.gamma` has as derivative.

    Examples
    --------
    >>> from funcgrad import lax
    >>> f"{lax.random_gamma_grad(1.0, 2.0):.12f}"
    '1.631691462350'
    """
    from funcgrad.scipy.special import incomplete  # an extra, imported on first use

    return incomplete.gamma_shift(fnp.asarray(a), fnp.asarray(sample))


def betainc(a: Any, b: Any, x: Any) -> Array:
    """The regularised incomplete beta function, differentiable by all (needs SciPy).

    Examples
    --------
    >>> import funcgrad as fg
    >>> from funcgrad import lax
    >>> f"{fg.grad(lax.betainc, 2)(1.0, 1.0, 0.5):.12f}"
    '1.000000000000'
    """
    from funcgrad.scipy import special  # an extra, imported on first use

    return special.betainc(a, b, x)


def clamp(min: Any, x: Any, max: Any) -> Array:
    """`x` limited to an interval.

    What lies within has the derivative 1 by `x`; what was cut, 1 by the limit that it became.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad import lax
    >>> lax.clamp(0.0, np.array([-1.0, 0.5, 2.0]), 1.0)
    array([0. , 0.5, 1. ])
    >>> fg.grad(lambda x: lax.clamp(0.0, x, 1.0))(2.0)
    np.float64(0.0)
    """
    return fnp.clip(x, min, max)


def select(pred: Any, on_true: Any, on_false: Any) -> Array:
    """`on_true` where the mask holds, elsewhere `on_false`: three arrays of one shape.

    The mask may be a single bool. Nothing of what is not taken reaches the derivatives.

    Raises
    ------
    TypeError
        The shapes differ.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.select(np.array([True, False]), np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    array([1., 4.])
    """
    return select_n(pred, on_false, on_true)


def select_n(which: Any, *cases: Any) -> Array:
    """The elements of the case whose number stands in `which`: False and True of two, or integers.

    Raises
    ------
    TypeError
        There is no case, the cases differ in shape, or `which` is neither a scalar nor of theirs.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.select_n(np.array([2, 0]), np.zeros(2), np.ones(2), np.full(2, 5.0))
    array([5., 0.])
    """
    shapes = [type_of(content(c)).shape for c in cases]
    mark = type_of(content(which))
    if not cases or len(set(shapes)) > 1 or mark.shape not in ((), shapes[0]):
        raise TypeError(
            located(
                f"select_n: the cases have to be arrays of one shape, and so has `which` unless it "
                f"is a scalar; got {mark.shape} for cases {shapes}"
            )
        )
    if mark.dtype.kind == "b":
        if len(cases) > 2:
            raise TypeError(located("select_n: a mask chooses between two cases; give integers"))
        return fnp.where(which, cases[-1], cases[0])
    later = enumerate(cases[1:], 1)
    return reduce(lambda out, case: fnp.where(which >= case[0], case[1], out), later, cases[0])


def complex(x: Any, y: Any) -> Array:
    """The complex number with these parts, of float32 or float64.

    Examples
    --------
    >>> from funcgrad import lax
    >>> lax.complex(1.0, 2.0)
    np.complex128(1+2j)
    """
    unit = fnp.result_type(operand_dtype(x), np.complex64).type(1j)
    return fnp.add(x, unit * y)


def operand_dtype(x: Any) -> np.dtype[Any]:
    return type_of(content(x)).dtype


def reduce_precision(operand: Any, exponent_bits: int, mantissa_bits: int) -> Array:
    """`operand` rounded to a format of so many bits, its dtype kept; linear for derivatives.

    What is too large becomes infinite, and what is too small 0.

    Raises
    ------
    ValueError
        There is no bit of exponent, or a negative number of bits.
    TypeError
        The operand holds no floating point numbers.

    Examples
    --------
    >>> from funcgrad import lax
    >>> lax.reduce_precision(1.0001, 5, 10)
    np.float64(1.0)
    """
    if exponent_bits < 1 or mantissa_bits < 0:
        raise ValueError(
            located(
                f"reduce_precision: no format has {exponent_bits} bits of exponent and "
                f"{mantissa_bits} of mantissa"
            )
        )
    if (kind := operand_dtype(operand)).kind != "f":
        raise TypeError(located(f"reduce_precision: floating point numbers are needed, not {kind}"))
    return fewer_bits(content(operand), int(exponent_bits), int(mantissa_bits))


def shift_right_logical(x: Any, y: Any) -> Array:
    """`x` shifted to the right by `y` bits, with zeros from the left.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.shift_right_logical(np.int8(-1), np.int8(4))
    np.int8(15)
    """
    kind = operand_dtype(x)
    unsigned = np.dtype(f"u{kind.itemsize}")
    moved = fnp.right_shift(fnp.astype(fnp.asarray(x), unsigned), fnp.asarray(y).astype(unsigned))
    return fnp.astype(moved, kind)[()]


def population_count(x: Any) -> Array:
    """How many bits of an integer are one; a negative one is its two's complement.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.population_count(np.int8(-1)), lax.population_count(np.uint8(6))
    (np.int8(8), np.uint8(2))
    """
    kind = operand_dtype(x)
    return fnp.astype(fnp.bitwise_count(_as_unsigned(x, "population_count")), kind)[()]


def _as_unsigned(x: Any, name: str) -> Any:
    kind = operand_dtype(x)
    if kind.kind not in "iu":
        raise TypeError(located(f"{name}: an integer is needed, not {kind}"))
    return fnp.astype(fnp.asarray(x), np.dtype(f"u{kind.itemsize}"))


def clz(x: Any) -> Array:
    """How many bits of an integer are zero before the first that is one.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.clz(np.int32(1)), lax.clz(np.uint8(0))
    (np.int32(31), np.uint8(8))
    """
    kind = operand_dtype(x)
    bits, filled = 8 * kind.itemsize, _as_unsigned(x, "clz")
    for k in (1, 2, 4, 8, 16, 32):  # every bit below the first one becomes one
        if k < bits:
            filled = filled | (filled >> np.array(k, filled.dtype))
    return fnp.astype(bits - fnp.bitwise_count(filled).astype(np.int64), kind)[()]
