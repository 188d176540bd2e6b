"""Scalar bodies: what an elementwise operation does to one element, stated once for all printers.

A body is written in the operations of `loops` (arithmetic, comparison, choice, conversion) and in
named functions of mathematics; the dtypes in which it computes are those that the operation's own
ufunc resolves. What has no body here runs in NumPy. NaN, infinities and the sign of zero come out
as NumPy has them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.compile.loops import Const
from funcgrad.core.forms import Op
from funcgrad.core.types import ArrayType
from funcgrad.graph.ir import Equation
from funcgrad.ops.activation import relu
from funcgrad.ops.arithmetic import (
    CAST,
    SCALE,
    WEAKEN,
    WHERE,
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
from funcgrad.ops.arithmetic.select import ROUND_CAST
from funcgrad.ops.error import erf
from funcgrad.ops.gamma import digamma, lgamma
from funcgrad.ops.logistic import expit, logaddexp
from funcgrad.ops.normal import erfc
from funcgrad.ops.pointwise import clip
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
    rad2deg,
    radians,
    sin,
    sinh,
    tan,
    tanh,
)

__all__ = [
    "MATHEMATICS",
    "NATIVE",
    "Resolved",
    "Scalar",
    "Writer",
    "apply",
    "by_loop",
    "resolve",
]

NATIVE = {np.dtype(n): n for n in ("float64", "float32", "int64", "int32", "bool")}


class Scalar(NamedTuple):
    """A value of the loop: its name, or a constant, and its dtype."""

    operand: str | Const
    dtype: str


class Writer:
    """Appends operations to a block of a loop nest; the same operation is written once."""

    def __init__(self, let: Callable[[str, str, tuple[str | Const, ...]], str]) -> None:
        self.let = let

    def __call__(self, op: str, *xs: Scalar, dtype: str | None = None) -> Scalar:
        dtype = xs[0].dtype if dtype is None else dtype
        return Scalar(self.let(op, dtype, tuple(x.operand for x in xs)), dtype)

    def number(self, value: float, like: Scalar) -> Scalar:
        return Scalar(Const(value, like.dtype), like.dtype)

    def compare(self, op: str, x: Scalar, y: Scalar) -> Scalar:
        return self(op, x, y, dtype="bool")

    def select(self, c: Scalar, x: Scalar, y: Scalar) -> Scalar:
        return self("select", c, x, y, dtype=x.dtype)

    def is_nan(self, x: Scalar) -> Scalar:
        return self.compare("ne", x, x)

    def cast(self, x: Scalar, dtype: str) -> Scalar:
        if x.dtype == dtype:
            return x
        if dtype == "bool":
            return self.compare("ne", x, self.number(0, x))
        if isinstance(x.operand, Const):
            return Scalar(Const(np.dtype(dtype).type(x.operand.value), dtype), dtype)
        return self("cast", x, dtype=dtype)


Body = Callable[..., Scalar]


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


# ---------------------------------------------------------------------------- resolution


def resolve(e: Equation, functions: frozenset[str]) -> Resolved | None:
    """The scalar body of an equation; None where it has none for these dtypes.

    `functions` are the named functions that the backend has.
    """
    rule = e.prim.scalar
    if rule is None or (e.prim is not WEAKEN and any(_python_int(o.type) for o in e.outputs)):
        return None  # Python's integers do not wrap
    if any(a.type.dtype not in NATIVE for a in (e.outputs[0], *e.inputs)):
        return None
    found: Resolved | None = rule(e, functions)
    return found


def by_loop(prim: Any, find: Find) -> None:
    """Let `find` tell how an element is computed, given the dtypes of the loop of its ufunc."""
    prim.scalar = functools.partial(_in_loop, prim.ufunc, find)


def _in_loop(ufunc: Any, find: Find, e: Equation, functions: frozenset[str]) -> Resolved | None:
    kinds = tuple((a.type.dtype, a.type.weak) for a in e.inputs)
    return _resolved(ufunc, find, kinds, e.outputs[0].type.weak, functions)


@functools.lru_cache(4096)
def _resolved(
    ufunc: Any,
    find: Find,
    kinds: tuple[tuple[np.dtype[Any], bool], ...],
    weak: bool,
    functions: frozenset[str],
) -> Resolved | None:
    """The same, given the dtypes of the operands and which of them are weak."""
    loop = _loop(ufunc, [ArrayType((), *kind) for kind in kinds], weak)
    return None if loop is None else find(loop, functions)


def _python_int(kind: ArrayType) -> bool:
    return kind.weak and kind.dtype.kind == "i"


def _loop(ufunc: Any, types: Sequence[ArrayType], weak: bool) -> tuple[str, ...] | None:
    """The dtypes of the ufunc's loop for these operands."""
    weak = weak or all(t.weak for t in types)
    wanted = tuple(t.dtype if weak else t.promotable() for t in types)
    found = ufunc.resolve_dtypes((*wanted, None))[:-1]
    if any(d not in NATIVE for d in found):
        return None
    return tuple(NATIVE[d] for d in found)


def _scale(e: Equation, _: frozenset[str]) -> Resolved | None:
    g, d = (a.type for a in e.inputs)
    out = e.outputs[0].type
    if out.dtype.kind != "f" or g.dtype != out.dtype or d.dtype.kind not in "fib":
        return None
    wide = NATIVE[np.result_type(g.dtype, d.dtype) if not d.weak else g.dtype]
    narrow = NATIVE[out.dtype]

    return Resolved((wide, wide), lambda w, g, d: w.cast(w("mul", g, d), narrow))


def _where(e: Equation, _: frozenset[str]) -> Resolved:
    dtype = NATIVE[e.outputs[0].type.dtype]
    return Resolved(("bool", dtype, dtype), lambda w, c, x, y: w.select(c, x, y))


def _cast(e: Equation, _: frozenset[str]) -> Resolved | None:
    source, target = NATIVE[e.inputs[0].type.dtype], NATIVE[e.outputs[0].type.dtype]
    if source.startswith("float") and target.startswith("int"):
        known = _beyond(source, target)
        return Resolved((source,), functools.partial(_whole_number, target)) if known else None
    return Resolved((source,), lambda w, x: w.cast(x, target))


@functools.cache
def _beyond(source: str, target: str) -> bool:
    """Whether NumPy makes the least integer of what no integer is, here: processors differ."""
    odd = np.repeat(np.array([np.nan, np.inf, -np.inf, 1e30, -1e30], source), 9)
    with np.errstate(all="ignore"):
        found = [odd.astype(target), np.array([x.astype(target) for x in odd])]
    return all((x == np.iinfo(target).min).all() for x in found)


def _whole_number(target: str, w: Writer, x: Scalar) -> Scalar:
    """A float without its fraction; the least integer where there is none for it."""
    limits, whole = np.iinfo(target), w("trunc", x)
    bound = w.number(2.0 ** (limits.bits - 1), x)
    held = w("and", w.compare("ge", whole, w("neg", bound)), w.compare("lt", whole, bound))
    found = w.cast(w.select(held, whole, w.number(0, x)), target)
    return w.select(held, found, w.number(int(limits.min), found))


def _relu(e: Equation, _: frozenset[str]) -> Resolved | None:
    dtype = NATIVE[e.outputs[0].type.dtype]
    if not dtype.startswith("float"):
        return None

    def body(w: Writer, x: Scalar) -> Scalar:  # -0 and NaN stay
        zero = w.number(0, x)
        return w.select(w.compare("lt", x, zero), zero, x)

    return Resolved((dtype,), body)


def _clip(e: Equation, _: frozenset[str]) -> Resolved | None:
    """NumPy's clip: a NaN anywhere is the result; of equal ones a single bound gives way."""
    dtype, bounds = NATIVE[e.outputs[0].type.dtype], [a.type for a in e.inputs[1:]]
    if not dtype.startswith("float"):
        return None
    single = all(t.size == 1 for t in bounds)

    def bounded(w: Writer, x: Scalar, bound: Scalar, inside: str, outside: str) -> Scalar:
        if single:
            return w.select(w("or", w.compare(outside, x, bound), w.is_nan(bound)), bound, x)
        return w.select(w("or", w.compare(inside, x, bound), w.is_nan(x)), x, bound)

    def body(w: Writer, x: Scalar, low: Scalar, high: Scalar) -> Scalar:
        return bounded(w, bounded(w, x, low, "gt", "lt"), high, "lt", "gt")

    return Resolved((dtype, dtype, dtype), body)


for _operation, _bodies in BODIES:
    by_loop(_operation.primitive, _bodies.find)  # type: ignore[attr-defined]
for _name, _operation in MATHEMATICS.items():
    by_loop(_operation.primitive, Bodies(function=_name).find)  # type: ignore[attr-defined]
clip.primitive.scalar = _clip  # type: ignore[attr-defined]
relu.primitive.scalar = _relu  # type: ignore[attr-defined]
SCALE.scalar, WHERE.scalar = _scale, _where
CAST.scalar = ROUND_CAST.scalar = WEAKEN.scalar = _cast


def apply(w: Writer, e: Equation, resolved: Resolved, xs: Sequence[Scalar]) -> Scalar:
    """Write the body of an equation; the result has the dtype of its output."""
    given = [w.cast(x, d) for x, d in zip(xs, resolved.dtypes, strict=True)]
    return w.cast(resolved.body(w, *given), NATIVE[e.outputs[0].type.dtype])
