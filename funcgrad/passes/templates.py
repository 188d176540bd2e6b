"""One graph for all that differ in their numbers alone.

A function that is traced again because a number or an array that it brings along has changed gives
the same equations, with other numbers in them. Those that differ become inputs, once, and what was
made of that graph (its executables, its derivatives) serves every later trace. Every graph is still
staged before it is compared, so what is run is never an old one.

Numbers by which passes go (0, ±½, ±1, ±2, ±3, ±4, what is not finite) stay where they are: what a
graph computes does not depend on which came before it.
"""

from __future__ import annotations

from collections.abc import Hashable
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from funcgrad.core.primitive import Params
from funcgrad.core.tracer import type_of
from funcgrad.core.types import ArrayType
from funcgrad.graph.build import holds
from funcgrad.graph.identity import Writer, bits_of
from funcgrad.graph.ir import Atom, Equation, Graph, Literal, Var, last_number
from funcgrad.passes.constants import uniform

__all__ = ["Templates"]

MOST = 64  # numbers of a graph that become inputs
KEPT = 64  # templates of a function
_FOLDED = (0.0, 0.5, 1.0, 2.0, 3.0, 4.0)


class _Outline(Writer):
    """A graph without its numbers, and those, in the order in which they are met.

    Also without those of the bodies of loops, of both branches of a `cond`, and of what
    `checkpoint` computes again; the numbers of all other graphs within equations stay. Functions
    and rules of the user's may depend on what has changed, so a graph that holds one has no
    outline.
    """

    def __init__(self) -> None:
        self.numbers: list[Any] = []
        self.constants: set[Var] = set()  # those among the numbers
        self.mixed: set[Any] = set()  # operands of what is no `_keeps_apart`
        self.open, self.inside = True, False  # whether numbers leave; whether it is in a loop

    def graph(self, graph: Graph) -> Hashable:
        if self.open:
            mixing = (e for e in graph.equations if not _keeps_apart(e))
            self.mixed.update(a for e in mixing for a in e.inputs)
        return super().graph(graph)

    def params(self, e: Equation) -> Hashable:
        before = self.open, self.inside
        self.open, self.inside = self.open and e.prim.opens, True
        found = super().params(e)
        self.open, self.inside = before
        return found

    def literal(self, a: Literal, e: Equation | None = None) -> Hashable:
        number = _number(a, e, self.inside) if self.open and e is not None else None
        if number is None:
            return super().literal(a, e)
        self.numbers.append(number)
        return "number", type(number)

    def constant(self, v: Var, x: Any) -> Hashable:
        if not self.open or not self.is_loose(v, x):
            return super().constant(v, x)
        self.constants.add(v)
        self.numbers.append(x)
        return "array", x.strides

    def is_loose(self, v: Var, x: np.ndarray[Any, Any]) -> bool:
        """Whether an array may be an input: not where a pass knows that it is one number."""
        number = uniform(x)
        return number is None or (v not in self.mixed and _is_free(number))


def _keeps_apart(e: Equation) -> bool:
    """Whether an operand that is one number, repeated, is nothing that a pass goes by."""
    return e.prim.aligned or e.prim.loops or e.prim.branches


def _number(a: Literal, e: Equation, inside: bool) -> Any:
    """The number to be given to an input in the place of a literal; None where it stays.

    Of Python's integers those stay of which NumPy looks whether they fit. Inputs of the bodies of
    loops are never weak, so they take the dtype of the operands beside them.
    """
    if not _is_free(a.value):
        return None
    dtypes = {x.type.dtype for x in e.inputs if x is not a and x.type.dtype.kind != "b"}
    integer = a.type.dtype.kind == "i"
    if not a.type.weak:
        return a.value
    if integer and any(d.kind != "f" and d != np.int64 for d in dtypes):
        return None
    if not inside:
        return a.value
    weak = any(x.type.weak for x in e.inputs if x is not a)
    if weak or len(dtypes) != 1 or not (integer or {d.kind for d in dtypes} == {"f"}):
        return None
    with np.errstate(all="ignore"):
        return dtypes.pop().type(a.value)


def _is_free(x: Any) -> bool:
    """Whether no pass goes by a number."""
    if isinstance(x, (bool, np.bool_)) or not isinstance(x, (int, float, np.number)):
        return False
    return bool(np.isfinite(x)) and abs(x) not in _FOLDED


class _Known(NamedTuple):
    """A graph, the numbers of the first one like it, and which of them are its last inputs.

    `inputs` has the place of each, with the first place where the same number has to be.
    """

    graph: Graph
    numbers: list[Any]
    inputs: dict[int, int]

    def fits(self, numbers: list[Any]) -> bool:
        first = self.inputs
        return all(
            _agree(x, numbers[first[k]] if k in first else self.numbers[k])
            for k, x in enumerate(numbers)
        )

    def apart(self, numbers: list[Any]) -> dict[int, int]:
        """The inputs of a graph that fits both the numbers so far and these."""
        first: dict[Hashable, int] = {}
        inputs = {}
        for k, (old, new) in enumerate(zip(self.numbers, numbers, strict=True)):
            if k in self.inputs or not _agree(old, new):
                alone = isinstance(new, np.ndarray)
                which = k if alone else (self.inputs.get(k), bits_of(old), bits_of(new))
                inputs[k] = first.setdefault(which, k)
        return inputs


def _agree(a: Any, b: Any) -> bool:
    return a is b or (holds(a, b) if isinstance(a, np.ndarray) else bits_of(a) == bits_of(b))


class Templates:
    """The graphs that one function was staged to."""

    def __init__(self) -> None:
        self.known: dict[Hashable, _Known] = {}
        self.first: list[Graph] | None = None  # not compared with another one yet

    def fit(self, graph: Graph) -> tuple[Graph, tuple[Any, ...]]:
        """The graph to run for `graph`, and the numbers that its last inputs take."""
        if self.first is None:  # many functions are traced once
            self.first = [graph]
            return graph, ()
        waiting, self.first = self.first, []
        for first in waiting:
            self._fit(first)
        return self._fit(graph)

    def _fit(self, graph: Graph) -> tuple[Graph, tuple[Any, ...]]:
        outline = _Outline()
        key, numbers = outline.key(graph), outline.numbers
        if key is None:
            return graph, ()
        found = self.known.pop(key, None)
        if found is None:
            found = _Known(graph, numbers, {})
        elif not found.fits(numbers):
            inputs = found.apart(numbers)
            if len({*inputs.values()}) > MOST:
                return graph, ()
            found = _Known(_lifted(graph, inputs, outline.constants), found.numbers, inputs)
        self.known[key] = found  # as the last one
        for oldest in list(self.known)[: max(0, len(self.known) - KEPT)]:
            self.known.pop(oldest, None)
        return found.graph, tuple(numbers[k] for k, first in found.inputs.items() if k == first)


def _lifted(graph: Graph, inputs: dict[int, int], constants: set[Var]) -> Graph:
    """The graph with some of its numbers, by their places, as its last inputs.

    These are numbers in equations, and `constants`.
    """
    made = _Lifter(inputs, constants, graph)
    found, own = made.graph(graph, False)
    order = [own[k] for k, first in inputs.items() if k == first]
    return Graph((*graph.inputs, *order), found.equations, found.outputs, found.constants)


class _Lifter:
    """Makes inputs of numbers, which it meets in the order of `_Outline`."""

    def __init__(self, inputs: dict[int, int], constants: set[Var], graph: Graph) -> None:
        self.inputs, self.constants = inputs, constants
        self.places, self.fresh = count(), count(last_number(graph) + 1)

    def graph(self, graph: Graph, inside: bool) -> tuple[Graph, dict[int, Var]]:
        """The graph, and the variables in it that have to be inputs, by the place of a number."""
        made: dict[int, Var] = {}
        kept: list[tuple[Var, Any]] = []
        for v, x in graph.constants:
            place = next(self.places) if v in self.constants else -1
            if place in self.inputs:
                made[place] = v
            else:
                kept.append((v, x))
        equations = []
        for e in graph.equations:
            given, params = self.within(e, made) if e.prim.opens else ([], e.params)
            operands = [
                self.operand(a, e, made, inside) if isinstance(a, Literal) else a for a in e.inputs
            ]
            at = e.prim.place_of_consts(params) if given else 0
            operands[at:at] = given
            equations.append(e._replace(inputs=tuple(operands), params=params))
        return Graph(graph.inputs, tuple(equations), graph.outputs, tuple(kept)), made

    def operand(self, a: Literal, e: Equation, made: dict[int, Var], inside: bool) -> Atom:
        number = _number(a, e, inside)
        first = None if number is None else self.inputs.get(next(self.places))
        return a if first is None else self.variable(first, type_of(number), made)

    def variable(self, first: int, aval: ArrayType, made: dict[int, Var]) -> Var:
        if first not in made:
            made[first] = Var(aval, next(self.fresh))
        return made[first]

    def within(self, e: Equation, made: dict[int, Var]) -> tuple[list[Var], Params]:
        """More operands for an equation, which its graphs take first, and its parameters."""
        names = [name for name, p in e.params.items() if isinstance(p, Graph)]
        parts = [self.graph(e.params[name], True) for name in names]
        avals = {first: v.type for _, each in parts for first, v in each.items()}
        graphs = [
            Graph(
                (*(self.variable(k, avals[k], each) for k in avals), *g.inputs),
                g.equations, g.outputs, g.constants,
            )
            for g, each in parts
        ]  # fmt: skip
        given = [self.variable(k, aval, made) for k, aval in avals.items()]
        params = {**e.params, **dict(zip(names, graphs, strict=True))}
        if e.prim.loops:
            params["consts"] += len(given)
        return given, params
