"""The step of a loop whose carries are a few numbers, and what of it is linear in them.

A step that adds up multiples of its carries, by factors that do not depend on these, is a small
matrix and a vector. They are found by pushing the numbers of the carries through it one by one, and
what is added to them by itself: equation by equation, each value is a constant part and one factor
for each number. A part that is not there is None, so that no 0 meets an infinity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.core.tracer import bind, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.graph.build import stage
from funcgrad.graph.ir import Atom, Equation, Graph, Literal, Var
from funcgrad.ops import arithmetic as ops
from funcgrad.ops import records
from funcgrad.ops.index import getitem
from funcgrad.ops.shape import concatenate, reshape
from funcgrad.passes.common import common_subexpressions
from funcgrad.passes.components import components
from funcgrad.passes.constants import constants
from funcgrad.passes.dead_code import dead_code
from funcgrad.passes.expand import expand
from funcgrad.passes.identities import identities
from funcgrad.passes.short_axes import short_axes
from funcgrad.passes.simplify import simplify
from funcgrad.passes.slices import slices

__all__ = [
    "NUMBER",
    "Chain",
    "LinearStep",
    "chain_of",
    "joined",
    "of_numbers",
    "summands",
    "taken_apart",
]

NUMBER = np.dtype(np.float64)  # of which products of factors hardly leave the range
Part = Any  # of a value: an array, or None where there is nothing

TO_NUMBERS = (
    expand,
    slices,
    components,
    identities,
    constants,
    simplify,
    short_axes,
    constants,
    common_subexpressions,
    dead_code,
)


def taken_apart(x: Array) -> list[Array]:
    """The numbers of a small array."""
    return [getitem(x, place) if place else x for place in np.ndindex(type_of(x).shape)]


def joined(numbers: Sequence[Array], shape: tuple[int, ...]) -> Array:
    """The array of these numbers."""
    if not shape:
        return numbers[0]
    return reshape(concatenate([reshape(x, (1,)) for x in numbers], 0), shape)


def of_numbers(function: Callable[..., Sequence[Array]], types: Sequence[ArrayType]) -> Graph:
    """The graph of a function, on numbers where it makes small arrays of them."""
    graph, consts = stage(function, types)
    assert not consts
    for apply in TO_NUMBERS:
        graph = apply(graph)
    return graph


def summands(e: Equation, moving: Sequence[bool]) -> list[bool] | None:
    """The operands in which an equation is linear taken together with the `moving` ones.

    The others are factors of these. None if it is not linear in them.
    """
    together = [
        m or e.prim.is_linear([n or j == k for j, n in enumerate(moving)], e.params)
        for k, m in enumerate(moving)
    ]
    return together if e.prim.is_linear(together, e.params) else None


def _is_number(v: Var) -> bool:
    return v.type.size == 1 and v.type.dtype == NUMBER


class Chain(NamedTuple):
    """What a loop waits for in a step: the longest chain of operations, and how many there are."""

    length: int
    operations: int


def chain_of(equations: Iterable[Equation], moving: set[Var], ends: Iterable[Atom]) -> Chain | None:
    """The operations between `moving` inputs and the results.

    None if what they make is not linear in them, or no number.
    """
    found: dict[Atom, int] = dict.fromkeys(moving, 0)
    operations = 0
    for e in equations:
        flags = [a in found for a in e.inputs]
        if any(flags):
            if not all(map(_is_number, e.outputs)) or summands(e, flags) is None:
                return None
            longest = max(found[a] for a in e.inputs if a in found)
            found[e.outputs[0]] = longest + (1 if e.prim.cost else 0)
            operations += e.prim.cost
    return Chain(max((found.get(o, 0) for o in ends), default=0), operations)


class LinearStep:
    """The matrix and the vector of a step.

    The step is a graph of constants, numbers and rows, of which `numbers` are the places of those
    that it is linear in; its outputs are their next values. `entries` says which elements there
    are: (row, column), of which the last column is the vector. `graph` gives them, of constants and
    rows.
    """

    def __init__(self, step: Graph, numbers: range) -> None:
        self.step, self.numbers = step, numbers
        self.entries: list[tuple[int, int]] = []
        given = [v.type for k, v in enumerate(step.inputs) if k not in numbers]
        self.graph = of_numbers(self.elements, given)

    def elements(self, *given: Array) -> list[Array]:
        """The elements of the matrix and the vector that are there."""
        values: dict[Var, list[Part]] = {}
        fixed: dict[Atom, Any] = dict(self.step.constants)
        count, others = len(self.numbers), iter(given)
        for k, v in enumerate(self.step.inputs):
            if k in self.numbers:
                parts: list[Part] = [None] * (count + 1)
                parts[k - self.numbers.start] = np.float64(1.0)
                values[v] = parts
            else:
                fixed[v] = next(others)
        for e in self.step.equations:
            (v,) = e.outputs
            if any(a in values for a in e.inputs):
                values[v] = self.pushed(e, values, fixed)
            else:
                fixed[v] = bind(e.prim, [_read(a, fixed) for a in e.inputs], e.params)
        rows = [
            values[o] if isinstance(o, Var) and o in values else [None] * count + [_read(o, fixed)]
            for o in self.step.outputs
        ]
        self.entries = [
            (i, j) for i, row in enumerate(rows) for j, x in enumerate(row) if x is not None
        ]
        return [rows[i][j] for i, j in self.entries]

    def pushed(
        self, e: Equation, values: dict[Var, list[Part]], fixed: dict[Atom, Any]
    ) -> list[Part]:
        """The parts of what an equation makes."""
        moving = [a in values for a in e.inputs]
        together = summands(e, moving)
        assert together is not None
        last = len(self.numbers)
        return [self.part(e, k, k == last, together, values, fixed) for k in range(last + 1)]

    def part(
        self,
        e: Equation,
        k: int,
        whole: bool,
        together: Sequence[bool],
        values: dict[Var, list[Part]],
        fixed: dict[Atom, Any],
    ) -> Part:
        """One of the parts: `whole` with what is added to the multiples, others without it."""
        given: list[Part] = []
        for a, summand in zip(e.inputs, together, strict=True):
            if isinstance(a, Var) and a in values:
                given.append(values[a][k])
            else:
                given.append(_read(a, fixed) if whole or not summand else None)
        there = [x for x, summand in zip(given, together, strict=True) if summand and x is not None]
        if not there:
            return None
        if e.prim is records.ADD and len(there) == 1 and type_of(there[0]) == e.outputs[0].type:
            return there[0]
        zeros = (a.type.dtype.type(0) for a in e.inputs)
        operands = [zero if x is None else x for x, zero in zip(given, zeros, strict=True)]
        return bind(e.prim, operands, e.params)

    def applied(self, numbers: Sequence[Array], elements: Sequence[Array]) -> list[Array]:
        """The next numbers, the products side by side and their sum in a short chain."""
        terms: list[list[Array]] = [[] for _ in self.numbers]
        for (i, j), x in sorted(zip(self.entries, elements, strict=True), key=lambda t: -t[0][1]):
            terms[i].append(x if j == len(self.numbers) else ops.multiply(x, numbers[j]))
        return [_sum(each) if each else np.float64(0.0) for each in terms]


def _read(a: Atom, fixed: dict[Atom, Any]) -> Any:
    return a.value if isinstance(a, Literal) else fixed[a]


def _sum(terms: list[Array]) -> Array:
    while len(terms) > 1:
        pairs = [ops.add(a, b) for a, b in zip(terms[::2], terms[1::2])]
        terms = [*pairs, *terms[2 * len(pairs) :]]
    return terms[0]
