"""One graph for all that differ in their numbers alone.

A function that is traced again because a number or an array that it brings along has changed gives
the same equations, with other numbers in them. Those that differ become inputs, once, and what was
made of that graph (its executables, its derivatives) serves every later trace. Every graph is still
staged before it is compared, so what is run is never an old one.

Numbers by which passes go (0, ±½, ±1, ±2, ±3, ±4, what is not finite) stay where they are: what a
graph computes does not depend on which came before it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from funcgrad.core.types import ArrayType
from funcgrad.graph.build import holds
from funcgrad.graph.identity import Writer, bits_of
from funcgrad.graph.ir import Equation, Graph, Literal, Var
from funcgrad.passes.constants import uniform

__all__ = ["Templates"]

MOST = 64  # numbers of a graph that become inputs
KEPT = 64  # templates of a function
_FOLDED = (0.0, 0.5, 1.0, 2.0, 3.0, 4.0)


class _Outline(Writer):
    """A graph without its numbers, and those, in the order in which they are met.

    The numbers of graphs within equations stay. Functions and rules of the user's may depend on
    what has changed, so a graph that holds one has no outline.
    """

    def __init__(self) -> None:
        self.numbers: list[Any] = []
        self.constants: set[Var] = set()  # those among the numbers
        self.mixed: set[Any] = set()  # operands of other than elementwise equations
        self.depth = 0

    def graph(self, graph: Graph) -> Hashable:
        if not self.depth:
            self.mixed.update(a for e in graph.equations if not e.prim.aligned for a in e.inputs)
        self.depth += 1
        found = super().graph(graph)
        self.depth -= 1
        return found

    def literal(self, a: Literal, e: Equation | None = None) -> Hashable:
        if self.depth > 1 or not _may_differ(a, e):
            return super().literal(a, e)
        self.numbers.append(a.value)
        return "number", type(a.value)

    def constant(self, v: Var, x: Any) -> Hashable:
        if self.depth > 1 or not self.is_loose(v, x):
            return super().constant(v, x)
        self.constants.add(v)
        self.numbers.append(x)
        return "array", x.strides

    def is_loose(self, v: Var, x: np.ndarray[Any, Any]) -> bool:
        """Whether an array may be an input: not where a pass knows that it is one number."""
        number = uniform(x)
        return number is None or (v not in self.mixed and _is_free(number))


def _may_differ(a: Literal, e: Equation | None) -> bool:
    """Whether a number is one that may be an input: not of Python's integers where NumPy looks
    whether they fit.
    """
    if e is None:
        return False
    if a.type.weak and a.type.dtype.kind == "i":
        others = (x.type.dtype for x in e.inputs if x is not a)
        if any(d.kind not in "fb" and d != np.int64 for d in others):
            return False
    return _is_free(a.value)


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

    def fit(self, graph: Graph) -> tuple[Graph, tuple[Any, ...]]:
        """The graph to run for `graph`, and the numbers that its last inputs take."""
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

    These are numbers in equations, and before them `constants`.
    """
    made: dict[int, Var] = {}
    kept: list[tuple[Var, Any]] = []
    equations: list[Equation] = []
    fresh, places = _fresh(graph), count()

    def input_of(kind: ArrayType) -> Var | None:
        """The input in the place of the next number, if it is one."""
        first = inputs.get(next(places))
        if first is not None and first not in made:
            made[first] = Var(kind, next(fresh))
        return None if first is None else made[first]

    for v, x in graph.constants:
        place = next(places) if v in constants else -1
        if place in inputs:
            made[place] = v
        else:
            kept.append((v, x))
    for e in graph.equations:
        operands = [
            (isinstance(a, Literal) and _may_differ(a, e) and input_of(a.type)) or a
            for a in e.inputs
        ]
        equations.append(e._replace(inputs=tuple(operands)))
    own = [made[k] for k, first in inputs.items() if k == first]
    return Graph((*graph.inputs, *own), tuple(equations), graph.outputs, tuple(kept))


def _fresh(graph: Graph) -> Iterator[int]:
    """Numbers that no variable of a graph has."""
    used = [v.id for e in graph.equations for v in e.outputs]
    used += [v.id for v in (*graph.inputs, *(v for v, _ in graph.constants))]
    yield from range(max(used, default=-1) + 1, 1 << 62)
