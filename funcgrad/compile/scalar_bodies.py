"""Scalar bodies: what an elementwise operation does to one element, stated once for all printers.

A body is written in the operations of `loops` (arithmetic, comparison, choice, conversion) and in
named functions of mathematics. NaN, infinities and the sign of zero come out as NumPy has them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from funcgrad.compile.scalar_writer import Body, Scalar, Writer
from funcgrad.core.forms import Op
from funcgrad.ops.arithmetic import (
    absolute,
    add,
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    cbrt,
    ceil,
    copysign,
    divide,
    equal,
    fabs,
    floor,
    floor_divide,
    fmax,
    fmin,
    fmod,
    greater,
    greater_equal,
    heaviside,
    hypot,
    invert,
    isfinite,
    isinf,
    isnan,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    multiply,
    negative,
    not_equal,
    positive,
    power,
    reciprocal,
    remainder,
    rint,
    sign,
    signbit,
    sqrt,
    square,
    subtract,
    trunc,
)
from funcgrad.ops.error import erf
from funcgrad.ops.gamma import digamma, lgamma
from funcgrad.ops.logistic import expit, logaddexp
from funcgrad.ops.normal import erfc
from funcgrad.ops.transcendental import (
    arccos,
    arccosh,
    arcsin,
    arcsinh,
    arctan,
    arctan2,
    arctanh,
    cos,
    cosh,
    deg2rad,
    degrees,
    exp,
    exp2,
    expm1,
    log,
    log1p,
    log2,
    log10,
    one_minus_square,
    rad2deg,
    radians,
    sin,
    sinh,
    tan,
    tanh,
)

__all__ = ["BODIES", "MATHEMATICS", "Bodies", "Find", "Resolved"]


def _op(name: str) -> Body:
    return lambda w, *xs: w(name, *xs)


def _comparison(name: str) -> Body:
    return lambda w, x, y: w.compare(name, x, y)


def _extremum(op: str, ignores_nan: bool) -> Body:
    """NumPy's extrema: a NaN wins (maximum, minimum) or loses (fmax, fmin)."""

    def body(w: Writer, x: Scalar, y: Scalar) -> Scalar:
        better = w.compare(op, x, y)
        special = w.is_nan(y if ignores_nan else x)
        return w.select(w("or", better, special), x, y)

    return body


def _integer_extremum(op: str) -> Body:
    return lambda w, x, y: w.select(w.compare(op, x, y), x, y)


def _sign(w: Writer, x: Scalar) -> Scalar:
    one, zero, minus = w.number(1, x), w.number(0, x), w.number(-1, x)
    found = w.select(w.compare("gt", x, zero), one, w.select(w.compare("lt", x, zero), minus, zero))
    return w.select(w.is_nan(x), x, found)


def _heaviside(w: Writer, x: Scalar, y: Scalar) -> Scalar:
    one, zero = w.number(1, x), w.number(0, x)
    found = w.select(w.compare("lt", x, zero), zero, w.select(w.compare("eq", x, zero), y, one))
    return w.select(w.is_nan(x), x, found)


def _signbit(w: Writer, x: Scalar) -> Scalar:
    return w.compare("lt", w("copysign", w.number(1, x), x), w.number(0, x))


def _finite(w: Writer, x: Scalar) -> Scalar:
    return w.compare("lt", w("abs", x), w.number(np.inf, x))


def _remainder(w: Writer, x: Scalar, y: Scalar) -> Scalar:
    """With the sign of the divisor, as Python has it; of 0 as well."""
    rest, turned = _rest(w, x, y)
    zero = w("copysign", w.number(0, x), y)
    found = w.select(turned, w("add", rest, y), rest)
    exact = w.compare("eq", rest, w.number(0, x))
    return w.select(exact, zero, found)  # a NaN is not 0


def _quotient(w: Writer, x: Scalar, y: Scalar) -> Scalar:
    """Rounded down, from what the remainder leaves."""
    zero, one, half = (w.number(k, x) for k in (0.0, 1.0, 0.5))
    rest, turned = _rest(w, x, y)
    ratio = w("div", x, y)
    whole = w("div", w("sub", x, rest), y)
    whole = w.select(turned, w("sub", whole, one), whole)
    down = w("floor", whole)
    low = w.compare("gt", w("sub", whole, down), half)
    found = w.select(low, w("add", down, one), down)
    found = w.select(w.compare("eq", whole, zero), w("copysign", zero, ratio), found)
    return w.select(w.compare("eq", y, zero), ratio, found)


def _rest(w: Writer, x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    """The remainder with the sign of `x`, and whether it has another than the divisor."""
    zero, rest = w.number(0, x), w("rem", x, y)
    signs = (w.compare("lt", v, zero) for v in (y, rest))
    return rest, w("and", w.compare("ne", rest, zero), w("xor", *signs))


def _integer_quotient(w: Writer, x: Scalar, y: Scalar) -> Scalar:
    """Rounded down; by 0 it is 0."""
    quotient, rest, differ = _divided(w, x, y)
    zero, one = w.number(0, x), w.number(1, x)
    more = w("and", differ, w.compare("ne", rest, zero))
    down = w("sub", w("neg", quotient), w.select(more, one, zero))
    return w.select(w.compare("eq", y, zero), zero, w.select(differ, down, quotient))


def _integer_remainder(w: Writer, x: Scalar, y: Scalar) -> Scalar:
    """With the sign of the divisor; by 0 it is 0."""
    _, rest, differ = _divided(w, x, y)
    zero = w.number(0, x)
    same = w.select(w.compare("lt", x, zero), w("neg", rest), rest)
    turned = w.select(w.compare("eq", rest, zero), zero, w("add", same, y))
    found = w.select(differ, turned, same)
    return w.select(w.compare("eq", y, zero), zero, found)


def _divided(w: Writer, x: Scalar, y: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """The quotient and the remainder of the sizes, and whether the signs differ."""
    zero, one = w.number(0, x), w.number(1, x)
    below = [w.compare("lt", v, zero) for v in (x, y)]
    p, q = (w.select(b, w("neg", v), v) for b, v in zip(below, (x, y), strict=True))
    q = w.select(w.compare("eq", y, zero), one, q)  # as an unsigned number the least one is right
    return w("div", p, q), w("rem", p, q), w("xor", *below)


def _times(factor: float) -> Body:
    return lambda w, x: w("mul", x, w.number(factor, x))


def _one_minus_square(w: Writer, x: Scalar) -> Scalar:
    one = w.number(1, x)
    return w("mul", w("sub", one, x), w("add", x, one))


class Resolved(NamedTuple):
    """How an equation computes: the dtypes of its operands inside, and the body."""

    dtypes: tuple[str, ...]
    body: Body


Find = Callable[[tuple[str, ...], frozenset[str]], Resolved | None]


class Bodies(NamedTuple):
    """What a ufunc does to an element, by the dtype of its loop.

    `function` is the name of a function of mathematics, which a backend may have for floats.
    """

    floats: Body | None = None
    integers: Body | None = None
    bools: Body | None = None
    function: str = ""

    def find(self, loop: tuple[str, ...], functions: frozenset[str]) -> Resolved | None:
        floats = loop[0].startswith("float")
        body = self.bools if loop[0] == "bool" else self.floats if floats else self.integers
        if body is None and floats and self.function in functions:
            body = _op(self.function)
        return None if body is None else Resolved(loop, body)


BODIES: tuple[tuple[Op, Bodies], ...] = (
    (add, Bodies(_op("add"), _op("add"), _op("or"))),
    (subtract, Bodies(_op("sub"), _op("sub"))),
    (multiply, Bodies(_op("mul"), _op("mul"), _op("and"))),
    (divide, Bodies(_op("div"))),
    (floor_divide, Bodies(_quotient, _integer_quotient)),
    (remainder, Bodies(_remainder, _integer_remainder)),
    (fmod, Bodies(_op("rem"))),
    (negative, Bodies(_op("neg"), _op("neg"))),
    (positive, Bodies(lambda w, x: x, lambda w, x: x)),
    (reciprocal, Bodies(lambda w, x: w("div", w.number(1, x), x))),
    (square, Bodies(lambda w, x: w("mul", x, x), lambda w, x: w("mul", x, x))),
    (one_minus_square, Bodies(_one_minus_square)),
    (absolute, Bodies(_op("abs"))),
    (fabs, Bodies(_op("abs"))),
    (sqrt, Bodies(_op("sqrt"))),
    (floor, Bodies(_op("floor"))),
    (ceil, Bodies(_op("ceil"))),
    (trunc, Bodies(_op("trunc"))),
    (rint, Bodies(_op("rint"))),
    (copysign, Bodies(_op("copysign"))),
    (maximum, Bodies(_extremum("gt", False), _integer_extremum("gt"), _op("or"))),
    (minimum, Bodies(_extremum("lt", False), _integer_extremum("lt"), _op("and"))),
    (fmax, Bodies(_extremum("gt", True))),
    (fmin, Bodies(_extremum("lt", True))),
    (equal, Bodies(_comparison("eq"), _comparison("eq"), lambda w, x, y: w("not", w("xor", x, y)))),
    (not_equal, Bodies(_comparison("ne"), _comparison("ne"), _op("xor"))),
    (less, Bodies(_comparison("lt"), _comparison("lt"))),
    (less_equal, Bodies(_comparison("le"), _comparison("le"))),
    (greater, Bodies(_comparison("gt"), _comparison("gt"))),
    (greater_equal, Bodies(_comparison("ge"), _comparison("ge"))),
    (isnan, Bodies(lambda w, x: w.is_nan(x))),
    (isinf, Bodies(lambda w, x: w.compare("eq", w("abs", x), w.number(np.inf, x)))),
    (isfinite, Bodies(_finite)),
    (signbit, Bodies(_signbit)),
    (sign, Bodies(_sign)),
    (heaviside, Bodies(_heaviside)),
    (degrees, Bodies(_times(180.0 / np.pi))),
    (radians, Bodies(_times(np.pi / 180.0))),
    (deg2rad, Bodies(_times(np.pi / 180.0))),
    (rad2deg, Bodies(_times(180.0 / np.pi))),
    (
        logical_and,
        Bodies(
            lambda w, x, y: w("and", w.cast(x, "bool"), w.cast(y, "bool")),
            lambda w, x, y: w("and", w.cast(x, "bool"), w.cast(y, "bool")),
            _op("and"),
        ),
    ),
    (
        logical_or,
        Bodies(
            lambda w, x, y: w("or", w.cast(x, "bool"), w.cast(y, "bool")),
            lambda w, x, y: w("or", w.cast(x, "bool"), w.cast(y, "bool")),
            _op("or"),
        ),
    ),
    (
        logical_xor,
        Bodies(
            lambda w, x, y: w("xor", w.cast(x, "bool"), w.cast(y, "bool")),
            lambda w, x, y: w("xor", w.cast(x, "bool"), w.cast(y, "bool")),
            _op("xor"),
        ),
    ),
    (
        logical_not,
        Bodies(
            lambda w, x: w("not", w.cast(x, "bool")),
            lambda w, x: w("not", w.cast(x, "bool")),
            _op("not"),
        ),
    ),
    (bitwise_and, Bodies(integers=_op("and"), bools=_op("and"))),
    (bitwise_or, Bodies(integers=_op("or"), bools=_op("or"))),
    (bitwise_xor, Bodies(integers=_op("xor"), bools=_op("xor"))),
    (invert, Bodies(integers=lambda w, x: w("xor", x, w.number(-1, x)), bools=_op("not"))),
)
# Functions of mathematics, under the names by which loop nests call them.
MATHEMATICS: dict[str, Op] = {
    "exp": exp,
    "exp2": exp2,
    "expm1": expm1,
    "log": log,
    "log2": log2,
    "log10": log10,
    "log1p": log1p,
    "sin": sin,
    "cos": cos,
    "tan": tan,
    "arcsin": arcsin,
    "arccos": arccos,
    "arctan": arctan,
    "sinh": sinh,
    "cosh": cosh,
    "tanh": tanh,
    "arcsinh": arcsinh,
    "arccosh": arccosh,
    "arctanh": arctanh,
    "cbrt": cbrt,
    "erfc": erfc,
    "lgamma": lgamma,
    "digamma": digamma,
    "power": power,
    "arctan2": arctan2,
    "hypot": hypot,
    "logaddexp": logaddexp,
    "erf": erf,
    "sigmoid": expit,
}
