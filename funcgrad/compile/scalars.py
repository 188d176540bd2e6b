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

from funcgrad.compile.foreign import Foreign
from funcgrad.compile.loops import Const
from funcgrad.core.primitive import Primitive
from funcgrad.core.types import ArrayType
from funcgrad.graph.ir import Equation

__all__ = [
    "COSTS",
    "NATIVE",
    "Scalar",
    "Writer",
    "apply",
    "cost",
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


def _times(factor: float) -> Body:
    return lambda w, x: w("mul", x, w.number(factor, x))


FLOATS: dict[str, Body] = {
    "add": _op("add"),
    "subtract": _op("sub"),
    "multiply": _op("mul"),
    "divide": _op("div"),
    "negative": _op("neg"),
    "positive": lambda w, x: x,
    "reciprocal": lambda w, x: w("div", w.number(1, x), x),
    "square": lambda w, x: w("mul", x, x),
    "absolute": _op("abs"),
    "fabs": _op("abs"),
    "sqrt": _op("sqrt"),
    "floor": _op("floor"),
    "ceil": _op("ceil"),
    "trunc": _op("trunc"),
    "rint": _op("rint"),
    "copysign": _op("copysign"),
    "maximum": _extremum("gt", False),
    "minimum": _extremum("lt", False),
    "fmax": _extremum("gt", True),
    "fmin": _extremum("lt", True),
    "equal": _comparison("eq"),
    "not_equal": _comparison("ne"),
    "less": _comparison("lt"),
    "less_equal": _comparison("le"),
    "greater": _comparison("gt"),
    "greater_equal": _comparison("ge"),
    "isnan": lambda w, x: w.is_nan(x),
    "isinf": lambda w, x: w.compare("eq", w("abs", x), w.number(np.inf, x)),
    "isfinite": _finite,
    "signbit": _signbit,
    "sign": _sign,
    "heaviside": _heaviside,
    "degrees": _times(180.0 / np.pi),
    "radians": _times(np.pi / 180.0),
    "deg2rad": _times(np.pi / 180.0),
    "rad2deg": _times(180.0 / np.pi),
    "logical_and": lambda w, x, y: w("and", w.cast(x, "bool"), w.cast(y, "bool")),
    "logical_or": lambda w, x, y: w("or", w.cast(x, "bool"), w.cast(y, "bool")),
    "logical_xor": lambda w, x, y: w("xor", w.cast(x, "bool"), w.cast(y, "bool")),
    "logical_not": lambda w, x: w("not", w.cast(x, "bool")),
}
INTEGERS: dict[str, Body] = {
    "add": _op("add"),
    "subtract": _op("sub"),
    "multiply": _op("mul"),
    "negative": _op("neg"),
    "positive": lambda w, x: x,
    "square": lambda w, x: w("mul", x, x),
    "maximum": _integer_extremum("gt"),
    "minimum": _integer_extremum("lt"),
    **{n: FLOATS[n] for n in ("equal", "not_equal", "less", "less_equal", "greater")},
    **{n: FLOATS[n] for n in ("greater_equal", "logical_and", "logical_or", "logical_xor")},
    "logical_not": FLOATS["logical_not"],
}
BOOLS: dict[str, Body] = {
    "add": _op("or"),
    "multiply": _op("and"),
    "maximum": _op("or"),
    "minimum": _op("and"),
    "equal": lambda w, x, y: w("not", w("xor", x, y)),
    "not_equal": _op("xor"),
    "logical_and": _op("and"),
    "logical_or": _op("or"),
    "logical_xor": _op("xor"),
    "logical_not": _op("not"),
    "bitwise_and": _op("and"),
    "bitwise_or": _op("or"),
    "bitwise_xor": _op("xor"),
    "invert": _op("not"),
}
# Named functions of one float, if the backend has them; the names are NumPy's.
MATHEMATICS = frozenset(
    [
        *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan"),
        *("arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh"),
        *("cbrt", "erf", "erfc", "sigmoid", "lgamma", "digamma"),
    ]
)
TWO_OPERANDS = ("power", "arctan2", "hypot", "logaddexp")
# How much more than an addition an operation takes, for the choice between keeping a value and
# computing it again.
COSTS = {"divide": 4, "reciprocal": 4, "sqrt": 5, "where": 1, "scale": 2, "power": 40, "matmul": 40}


def cost(name: str) -> int:
    """What an operation costs, in additions."""
    return COSTS.get(name, 15 if name in MATHEMATICS or name in TWO_OPERANDS else 1)


# ---------------------------------------------------------------------------- resolution


class Resolved(NamedTuple):
    """How an equation computes: the dtypes of its operands inside, and the body."""

    dtypes: tuple[str, ...]
    body: Body


def resolve(e: Equation, functions: frozenset[str]) -> Resolved | None:
    """The scalar body of an equation; None where it has none for these dtypes.

    `functions` are the named functions that the backend has.
    """
    (out, *_), types = e.outputs, [a.type for a in e.inputs]
    if any(_python_int(o.type) for o in e.outputs):
        return None  # Python's integers do not wrap
    if out.type.dtype not in NATIVE or any(t.dtype not in NATIVE for t in types):
        return None
    special = SPECIAL.get(e.prim.name)
    if special is not None:
        return special(e)
    if getattr(e.prim, "ufunc", None) is None or e.prim.name == "round_cast":
        return None
    kinds = tuple((t.dtype, t.weak) for t in types)
    return _resolved(e.prim, kinds, out.type.weak, functions)


@functools.lru_cache(4096)
def _resolved(
    prim: Primitive,
    kinds: tuple[tuple[np.dtype[Any], bool], ...],
    weak: bool,
    functions: frozenset[str],
) -> Resolved | None:
    """The same for a ufunc, given the dtypes of its operands and which of them are weak."""
    ufunc = prim.ufunc  # type: ignore[attr-defined]
    loop = _loop(ufunc, [ArrayType((), *kind) for kind in kinds], weak)
    if loop is None:
        return None
    if hasattr(ufunc, "foreign"):
        return _foreign(ufunc.foreign(loop))
    body = _table(loop[0]).get(prim.name)
    if body is None and loop[0].startswith("float") and prim.name in functions:
        body = _op(prim.name)
    return None if body is None else Resolved(loop, body)


def _foreign(f: Foreign | None) -> Resolved | None:
    """A function that somebody else compiled."""
    if f is None:
        return None
    return Resolved(f.operands, lambda w, *xs: w(f.symbol, *xs, dtype=f.result))


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


def _table(dtype: str) -> dict[str, Body]:
    return BOOLS if dtype == "bool" else FLOATS if dtype.startswith("float") else INTEGERS


def _scale(e: Equation) -> Resolved | None:
    g, d = (a.type for a in e.inputs)
    out = e.outputs[0].type
    if out.dtype.kind != "f" or g.dtype != out.dtype or d.dtype.kind not in "fib":
        return None
    wide = NATIVE[np.result_type(g.dtype, d.dtype) if not d.weak else g.dtype]
    narrow = NATIVE[out.dtype]

    return Resolved((wide, wide), lambda w, g, d: w.cast(w("scale", g, d), narrow))


def _where(e: Equation) -> Resolved:
    dtype = NATIVE[e.outputs[0].type.dtype]
    return Resolved(("bool", dtype, dtype), lambda w, c, x, y: w.select(c, x, y))


def _cast(e: Equation) -> Resolved | None:
    source, target = NATIVE[e.inputs[0].type.dtype], NATIVE[e.outputs[0].type.dtype]
    if source.startswith("float") and target.startswith("int"):
        return None  # what NumPy makes of a NaN depends on the processor
    return Resolved((source,), lambda w, x: w.cast(x, target))


def _relu(e: Equation) -> Resolved | None:
    dtype = NATIVE[e.outputs[0].type.dtype]
    if not dtype.startswith("float"):
        return None

    def body(w: Writer, x: Scalar) -> Scalar:  # -0 and NaN stay
        zero = w.number(0, x)
        return w.select(w.compare("lt", x, zero), zero, x)

    return Resolved((dtype,), body)


def _clip(e: Equation) -> Resolved | None:
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


SPECIAL: dict[str, Callable[[Equation], Resolved | None]] = {
    "clip": _clip,
    "scale": _scale,
    "relu": _relu,
    "where": _where,
    "cast": _cast,
    "round_cast": _cast,
}


def apply(w: Writer, e: Equation, resolved: Resolved, xs: Sequence[Scalar]) -> Scalar:
    """Write the body of an equation; the result has the dtype of its output."""
    given = [w.cast(x, d) for x, d in zip(xs, resolved.dtypes, strict=True)]
    return w.cast(resolved.body(w, *given), NATIVE[e.outputs[0].type.dtype])
