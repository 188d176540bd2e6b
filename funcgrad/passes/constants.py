"""Constants: arrays whose elements are all the same become numbers; numbers are computed now.

Cotangents start as arrays of ones, and masks are filled with zeros: as numbers they cost no memory
and let `simplify` see that a product with them is none. Bits count: -0 is not 0, and a NaN is kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.tracer import type_of
from funcgrad.core.types import ArrayType
from funcgrad.graph.build import distinct
from funcgrad.graph.ir import Atom, Equation, Graph, Literal, Var
from funcgrad.ops.shape import BROADCAST
from funcgrad.passes.rewrite import Rewriter, rewrite

__all__ = ["constants", "uniform"]


def uniform(array: Any) -> Any:
    """The one element of an array that holds nothing else, as a NumPy scalar; None if it does."""
    array = distinct(np.asarray(array))
    if array.size == 0 or array.dtype.hasobject:
        return None
    flat = array.ravel("K")
    first = flat[0]
    if array.size == 1:
        return first
    if flat[1].tobytes() != first.tobytes():
        return None  # nearly always, and nothing was read
    bits = (
        flat.view(f"V{flat.itemsize}")
        if flat.itemsize not in (1, 2, 4, 8)
        else flat.view(f"u{flat.itemsize}")
    )
    return first if bool((bits == bits[0]).all()) else None


def constants(graph: Graph) -> Graph:
    """The graph with uniform arrays written as numbers, and equations of numbers computed."""
    numbers: dict[Var, Any] = {}
    for v, array in graph.constants:
        value = uniform(array)
        if value is not None:
            numbers[v] = value
    spread: dict[Var, Var] = {}

    def number(r: Rewriter, a: Atom) -> Atom:
        """A uniform constant as a literal, spread to the shape that it had."""
        if not isinstance(a, Var) or a not in numbers:
            return a
        literal = r.literal(numbers[a])
        if a.type.shape == ():
            return literal
        if a not in spread:
            spread[a] = r.append(BROADCAST, (literal,), {"shape": a.type.shape})[0]
        return spread[a]

    def rule(r: Rewriter, e: Equation) -> tuple[Atom, ...] | None:
        inputs = tuple(number(r, a) for a in e.inputs) if numbers else e.inputs
        folded = _fold(e, inputs)
        if folded is not None:
            return (folded,)
        return None if inputs == e.inputs else r.append(e.prim, inputs, e.params)

    return rewrite(graph, rule)


def _fold(e: Equation, inputs: tuple[Atom, ...]) -> Literal | None:
    """The value of an elementwise equation of literals."""
    if not e.prim.aligned:
        return None
    if not all(isinstance(a, Literal) for a in inputs):
        return None
    with np.errstate(all="ignore"):
        try:
            value = e.prim.impl(*(a.value for a in inputs if isinstance(a, Literal)), **e.params)
        except ArithmeticError:  # Python's own numbers raise; leave that to the run
            return None
    aval = type_of(value)
    return Literal(value, aval) if _same(aval, e.outputs[0].type) else None


def _same(one: ArrayType, other: ArrayType) -> bool:
    return (one.shape, one.dtype, one.weak) == (other.shape, other.dtype, other.weak)
