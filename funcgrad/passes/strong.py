"""A graph without weak values: arrays in the place of Python numbers, rounded where these would be.

Weakness decides dtypes while a function is traced; what is handed from step to step of a loop, and
what its native code computes with, are arrays. Each operation gives what it gave: a weak operand
beside arrays is cast to the dtype in which NumPy computes, one among its like stays as it is. What
cannot be said so keeps its Python number. Integers then wrap as those of arrays do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from funcgrad.core.primitive import Params
from funcgrad.core.types import ArrayType
from funcgrad.graph.ir import Atom, Equation, Graph, Var
from funcgrad.ops.arithmetic import CAST, WEAKEN
from funcgrad.ops.arithmetic.select import ROUND_CAST
from funcgrad.passes.rewrite import Rewriter

__all__ = ["strong"]


def strong(graph: Graph) -> Graph:
    """The graph on arrays alone; its outputs that were weak are arrays of their dtypes."""
    writer = _Strong(graph)
    for e in graph.equations:
        writer.equation(e)
    found = writer.r.finish()
    return Graph(writer.inputs, found.equations, found.outputs, found.constants)


def _array(aval: ArrayType) -> ArrayType:
    return ArrayType(aval.shape, aval.dtype)


class _Strong:
    def __init__(self, graph: Graph) -> None:
        self.r = Rewriter(graph)
        self.inputs = tuple(self.r.var(_array(v.type)) if v.type.weak else v for v in graph.inputs)
        pairs = zip(graph.inputs, self.inputs, strict=True)
        self.r.known.update((v, w) for v, w in pairs if v is not w)

    def equation(self, e: Equation) -> None:
        self.r.here = e
        weak = [isinstance(a, Var) and a.type.weak for a in e.inputs]
        if not any(weak) and not any(v.type.weak for v in e.outputs):
            self.r.keep(e)
            return
        given = [self.r.read(a) for a in e.inputs]
        if e.prim is WEAKEN or (e.prim in (CAST, ROUND_CAST) and _same(given[0], e.outputs[0])):
            self.r.known[e.outputs[0]] = given[0]
            return
        params = e.params
        if e.prim.branches:
            params = {k: strong(p) if isinstance(p, Graph) else p for k, p in params.items()}
        found = self.on_arrays(e, given, weak, params)
        if found is None:  # and not none: an effect has no results
            found = self.on_numbers(e, given, weak)
        self.r.known.update(zip(e.outputs, found, strict=True))

    def on_arrays(
        self, e: Equation, given: list[Atom], weak: Sequence[bool], params: Params
    ) -> Sequence[Atom] | None:
        """The equation on arrays, its weak operands cast where others decide; None where not."""
        wanted = [_array(v.type) for v in e.outputs]
        given = self.cast(given, _loop(e, weak))
        if _types(e, given, params) != wanted:
            given = self.cast(given, [wanted[0].dtype if w else None for w in weak])
            if _types(e, given, params) != wanted:
                return None
        return self.r.append(e.prim, given, params)

    def cast(self, given: Sequence[Atom], dtypes: Sequence[Any]) -> list[Atom]:
        """The operands, those for which a dtype is given as arrays of it."""
        return [
            a if d is None or d == a.type.dtype else self.r.append(*_cast(a, d))[0]
            for a, d in zip(given, dtypes, strict=True)
        ]

    def on_numbers(self, e: Equation, given: Sequence[Atom], weak: Sequence[bool]) -> list[Atom]:
        """The equation on Python numbers, as it was, and its results as arrays."""
        numbers = [
            self.r.append(WEAKEN, (a,))[0] if w else a for a, w in zip(given, weak, strict=True)
        ]
        found = self.r.append(e.prim, numbers, e.params)
        return [self.r.append(*_cast(v, v.type.dtype))[0] if v.type.weak else v for v in found]


def _same(a: Atom, b: Var) -> bool:
    return a.type == _array(b.type)


def _cast(a: Atom, dtype: Any) -> tuple[Any, tuple[Atom], Params]:
    return CAST if dtype.kind in "fc" else ROUND_CAST, (a,), {"dtype": dtype}


def _types(e: Equation, given: Sequence[Atom], params: Params) -> list[ArrayType] | None:
    try:
        found: Any = e.prim.type_rule([a.type for a in given], params)
    except TypeError:
        return None  # a ufunc that has no loop for the arrays
    return list(found) if e.prim.multiple else [found]


def _loop(e: Equation, weak: Sequence[bool]) -> list[Any]:
    """The dtypes in which a ufunc computes with its weak operands beside arrays."""
    nothing = [None] * len(weak)
    ufunc = getattr(e.prim, "ufunc", None)
    types = [a.type for a in e.inputs]
    if ufunc is None or ufunc.nin != len(types) or all(t.weak for t in types):
        return nothing
    if e.outputs[0].type.dtype.kind == "b" and all(t.dtype.kind in "iub" for t in types):
        return nothing  # integers are compared by their values
    found = ufunc.resolve_dtypes((*(t.promotable() for t in types), *[None] * ufunc.nout))
    return [d if w else None for d, w in zip(found, weak, strict=False)]
