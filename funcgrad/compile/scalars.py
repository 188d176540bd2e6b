"""Which scalar body an equation has: the dtypes in which it computes, and what it does with them.

The dtypes are those that the operation's own ufunc resolves. What has no body runs in NumPy.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.compile.scalar_bodies import BODIES, MATHEMATICS, Bodies, Find, Resolved
from funcgrad.compile.scalar_writer import NATIVE, Scalar, Writer
from funcgrad.core.types import ArrayType
from funcgrad.graph.ir import Equation
from funcgrad.ops.activation import relu
from funcgrad.ops.arithmetic import (
    CAST,
    SCALE,
    WEAKEN,
    WHERE,
)
from funcgrad.ops.arithmetic.select import ROUND_CAST
from funcgrad.ops.pointwise import clip

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


def _python_int(aval: ArrayType) -> bool:
    return aval.weak and aval.dtype.kind == "i"


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
