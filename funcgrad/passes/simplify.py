"""Algebra that no value notices: not a NaN, an infinity or the sign of a zero.

x * 1 is x and x - 0 is x, but x * 0 is not 0 and x + 0 is not x (at -0). `scale`, the product of a
cotangent and a partial that is 0 where the cotangent is exactly 0, is a plain product where the
partial is a finite number or the cotangent a number other than 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core.primitive import Primitive
from funcgrad.core.types import ArrayType
from funcgrad.graph.ir import Atom, Equation, Graph, Literal, Var
from funcgrad.ops import records
from funcgrad.ops.arithmetic import CAST
from funcgrad.ops.index import PLACE
from funcgrad.ops.shape import BROADCAST, RESHAPE, TRANSPOSE
from funcgrad.passes.rewrite import Rewriter, rewrite

__all__ = ["number_of", "simplify"]

Found = tuple[Atom, ...] | None
Rule = Callable[[Rewriter, Equation], Found]
RULES: dict[Primitive, Rule] = {}


def simplify(graph: Graph) -> Graph:
    """The graph with every rule of this file applied, in one sweep."""

    def rule(r: Rewriter, e: Equation) -> Found:
        known = RULES.get(e.prim)
        return None if known is None else known(r, e)

    return rewrite(graph, rule)


def _of(prim: Primitive) -> Callable[[Rule], Rule]:
    def register(rule: Rule) -> Rule:
        RULES[prim] = rule
        return rule

    return register


def number_of(r: Rewriter, a: Atom) -> Any:
    """The number that an atom is in all its elements, or None."""
    while isinstance(a, Var):
        e = r.made.get(a)
        if e is None or e.prim not in (records.BROADCAST, records.RESHAPE):
            return None
        a = e.inputs[0]
    return a.value


def _is(value: Any, wanted: float) -> bool:
    """Whether a number is `wanted`, with the sign of a zero."""
    if value is None or isinstance(value, complex) or np.iscomplexobj(value):
        return False
    return bool(value == wanted) and math.copysign(1.0, float(value)) == math.copysign(1.0, wanted)


def _as(r: Rewriter, a: Atom, aval: ArrayType) -> Atom:
    """An atom brought to a type: cast and spread where it has another one."""
    if a.type == aval:
        return a
    if a.type.dtype != aval.dtype or a.type.weak != aval.weak:
        a = r.append(CAST, (a,), {"dtype": aval.dtype})[0]
    if a.type.shape != aval.shape:
        a = r.append(BROADCAST, (a,), {"shape": aval.shape})[0]
    return a


def _floating(e: Equation) -> bool:
    return all(a.type.dtype.kind == "f" for a in (*e.inputs, *e.outputs))


# ------------------------------------------------------------------------------ products


@_of(records.SCALE)
def _scale(r: Rewriter, e: Equation) -> Found:
    g, d = e.inputs
    aval = e.outputs[0].type
    counts = d.type.weak and d.type.dtype.kind == "i"  # a factor written as a Python integer
    if aval.dtype.kind != "f" or g.type.dtype.kind != "f" or aval.weak:
        return None
    if d.type.dtype.kind != "f" and not counts:
        return None
    if _is(number_of(r, g), 1.0) and d.type.dtype == aval.dtype:
        return (_as(r, d, aval),)
    if g.type.weak:
        return None
    if d.type.dtype != aval.dtype and not d.type.weak:
        return None  # the product is taken in the wider dtype
    (made,) = r.append(records.MULTIPLY, (g, d))
    return (_as(r, made, aval),)


@_of(records.MULTIPLY)
def _multiply(r: Rewriter, e: Equation) -> Found:
    if not _floating(e):
        return None
    aval = e.outputs[0].type
    for one, other in (e.inputs, reversed(e.inputs)):
        c = number_of(r, one)
        if _is(c, 1.0) and other.type.dtype == aval.dtype and other.type.weak == aval.weak:
            return (_as(r, other, aval),)
        if _is(c, -1.0) and other.type == aval:
            return r.append(records.NEGATIVE, (other,))
    return None


@_of(records.DIVIDE)
def _divide(r: Rewriter, e: Equation) -> Found:
    x, y = e.inputs
    aval = e.outputs[0].type
    c = number_of(r, y)
    if not _floating(e) or c is None or c == 0 or not math.isfinite(c):
        return None
    if _is(c, 1.0) and x.type.dtype == aval.dtype and x.type.weak == aval.weak:
        return (_as(r, x, aval),)
    if abs(float(c)) in (0.5, 2.0) and not _is_total(r, x):
        # the reciprocal is exact, so the product rounds as the quotient; other powers of two stay,
        # and so do means, or that of 2 or 16 elements would need another kernel than one of 17
        inverse = type(c)(1.0 / c)
        if x.type.weak != aval.weak and isinstance(c, float) and not isinstance(c, np.generic):
            return None
        made = r.append(records.MULTIPLY, (x, r.literal(inverse)))
        return made if made[0].type == aval else None
    return None


def _is_total(r: Rewriter, x: Atom) -> bool:
    """Whether a number is a sum, or alone: to divide it takes no time."""
    made = r.made.get(x) if isinstance(x, Var) else None
    return x.type.size == 1 or (made is not None and made.prim is records.SUM)


@_of(records.SUBTRACT)
def _subtract(r: Rewriter, e: Equation) -> Found:
    x, y = e.inputs
    if _floating(e) and _is(number_of(r, y), 0.0) and _keeps(x, e):
        return (_as(r, x, e.outputs[0].type),)
    return None


@_of(records.ADD)
def _add(r: Rewriter, e: Equation) -> Found:
    if not _floating(e):
        return None
    for one, other in (e.inputs, tuple(reversed(e.inputs))):
        if _is(number_of(r, one), -0.0) and _keeps(other, e):
            return (_as(r, other, e.outputs[0].type),)
        made = _made(r, e, one)
        if made is not None and made.prim is records.NEGATIVE:
            found = r.append(records.SUBTRACT, (other, made.inputs[0]))
            return found if found[0].type == e.outputs[0].type else None
    return _add_places(r, e)


def _made(r: Rewriter, e: Equation, a: Atom) -> Equation | None:
    """The equation of an operand, if it is of the same scope."""
    found = r.made.get(a) if isinstance(a, Var) else None
    return found if found is not None and found.scope == e.scope else None


def _add_places(r: Rewriter, e: Equation) -> Found:
    """Two values at one place are added there: 0 + 0 is 0 everywhere else."""
    one, other = (_made(r, e, a) for a in e.inputs)
    if one is None or other is None or one.prim is not PLACE or other.prim is not PLACE:
        return None
    (x,), (y,) = one.inputs, other.inputs
    if one.params != other.params or x.type != y.type or x.type.weak:
        return None
    return r.append(PLACE, r.append(e.prim, (x, y)), one.params)


def _keeps(x: Atom, e: Equation) -> bool:
    aval = e.outputs[0].type
    return x.type.dtype == aval.dtype and x.type.weak == aval.weak


@_of(records.NEGATIVE)
def _negative(r: Rewriter, e: Equation) -> Found:
    (x,) = e.inputs
    made = r.made.get(x) if isinstance(x, Var) else None
    if made is None or made.scope != e.scope or not _floating(e):
        return None
    if made.prim is records.NEGATIVE:
        return (made.inputs[0],)
    return None


@_of(records.POWER)
def _power(r: Rewriter, e: Equation) -> Found:
    """The powers for which NumPy itself takes a shorter way, and the cube."""
    x, p = e.inputs
    aval = e.outputs[0].type
    c = number_of(r, p)
    if x.type.dtype != aval.dtype or aval.dtype.kind != "f" or aval.weak or c is None:
        return None
    if x.type.shape != aval.shape or isinstance(c, complex):
        return None
    multiply = records.MULTIPLY
    if c == 1:
        return (x,)
    if c == 2:
        return r.append(multiply, (x, x))
    if c == 3:
        return r.append(multiply, (r.append(multiply, (x, x))[0], x))
    if c == 4:
        (square,) = r.append(multiply, (x, x))
        return r.append(multiply, (square, square))
    if c == 0.5:
        return r.append(records.SQRT, (x,))
    if c == -1:
        return r.append(records.RECIPROCAL, (x,))
    return None


@_of(records.WHERE)
def _where(r: Rewriter, e: Equation) -> Found:
    chosen = number_of(r, e.inputs[0])
    if chosen is None:
        return None
    x = e.inputs[1] if chosen else e.inputs[2]
    aval = e.outputs[0].type
    if isinstance(x, Literal) and x.type.weak and not aval.weak and aval.dtype.kind == "f":
        x = r.literal(aval.dtype.type(x.value))  # as the program would have it
    return (_as(r, x, aval),) if x.type.dtype == aval.dtype and x.type.weak == aval.weak else None


# -------------------------------------------------------------------------------- shapes


@_of(records.RESHAPE)
def _reshape(r: Rewriter, e: Equation) -> Found:
    (x,) = e.inputs
    if x.type == e.outputs[0].type:
        return (x,)
    made = r.made.get(x) if isinstance(x, Var) else None
    if made is not None and made.prim is records.RESHAPE:
        inner = made.inputs[0]
        if inner.type == e.outputs[0].type:
            return (inner,)
        return r.append(RESHAPE, (inner,), e.params)
    if isinstance(x, Literal) or number_of(r, x) is not None:
        value = number_of(r, x)
        return (_as(r, r.literal(value), e.outputs[0].type),)
    return None


@_of(records.BROADCAST)
def _broadcast(r: Rewriter, e: Equation) -> Found:
    (x,) = e.inputs
    if x.type == e.outputs[0].type:
        return (x,)
    made = r.made.get(x) if isinstance(x, Var) else None
    if made is not None and made.prim is records.BROADCAST:
        return r.append(BROADCAST, made.inputs, e.params)
    return None


@_of(records.TRANSPOSE)
def _transpose(r: Rewriter, e: Equation) -> Found:
    (x,) = e.inputs
    axes = e.params["axes"]
    if tuple(axes) == tuple(range(len(axes))):
        return (x,)
    made = r.made.get(x) if isinstance(x, Var) else None
    if made is not None and made.prim is records.TRANSPOSE:
        inner = made.params["axes"]
        return r.append(TRANSPOSE, made.inputs, {"axes": tuple(inner[a] for a in axes)})
    return None


@_of(records.STOP_GRADIENT)
def _stop_gradient(r: Rewriter, e: Equation) -> Found:
    """Derivatives have been taken when a graph is compiled."""
    return e.inputs


@_of(records.POWER_LOG)
@_of(records.POWER_SLOPE)
def _stated(r: Rewriter, e: Equation) -> Found:
    """So have those that are stated beside a value."""
    value = e.inputs[0]
    return (value,) if value.type == e.outputs[0].type else None


@_of(records.CAST)
def _cast(r: Rewriter, e: Equation) -> Found:
    (x,) = e.inputs
    return (x,) if x.type == e.outputs[0].type else None


@_of(records.PLACE)
def _place(r: Rewriter, e: Equation) -> Found:
    """The transpose of an index that took every element in order is a reshape."""
    (x,) = e.inputs
    aval, index = e.outputs[0].type, e.params["index"]
    forward = all(not isinstance(i, tuple) or i[2] in (None, 1) for i in index)
    if not forward or x.type.size != aval.size or x.type.dtype != aval.dtype or x.type.weak:
        return None
    return r.append(RESHAPE, (x,), {"shape": aval.shape})
