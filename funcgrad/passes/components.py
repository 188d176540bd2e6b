"""Small arrays made of numbers, as these numbers.

A program that computes with the components of a state, ``y = np.array([a, b])`` and later ``y[0]``,
makes arrays only to take them apart again, thousands of them where it steps through time. Numbers
and arrays share no loop, so each step would be some kernels of its own. Here such arrays are
followed element by element, and the program becomes one of numbers. What is needed as a whole is
put together where it is needed. Places of an array in which nothing was put (the cotangent of
``y[0]`` has some) cost nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.types import ArrayType
from funcgrad.graph.ir import Atom, Equation, Graph, Var
from funcgrad.ops import records
from funcgrad.ops.arithmetic import CAST
from funcgrad.ops.index import GETITEM, PLACE
from funcgrad.ops.shape import BROADCAST, CONCATENATE, RESHAPE
from funcgrad.passes.rewrite import Rewriter
from funcgrad.passes.short_axes import fold, is_aligned, is_plain_reduction

__all__ = ["components"]

LARGEST = 64  # elements of an array that is followed
FEW = 16  # operations on numbers that may stand for one on an array
NOTHING = 0  # the number of an element in whose place nothing was put: it is 0

Numbers = np.ndarray[Any, np.dtype[np.int64]]  # for each element the place of its atom in `atoms`


def components(graph: Graph) -> Graph:
    """The graph with small arrays of numbers taken apart."""
    if not any(_begins(e) for e in graph.equations):
        return graph
    return _Components(graph).run()


def _begins(e: Equation) -> bool:
    """Whether an equation puts numbers into a small array."""
    small = e.prim in (CONCATENATE, PLACE) and 0 < e.outputs[0].type.size <= LARGEST
    return small and all(a.type.size == 1 for a in e.inputs)


def _moves(e: Equation) -> bool:
    return e.prim.view or e.prim in (PLACE, CONCATENATE)


def _read_by_element(graph: Graph) -> set[Var]:
    """Arrays of which, perhaps after elementwise operations, single elements are used."""
    read: set[Var] = set()
    for e in reversed(graph.equations):
        if len(e.outputs) != 1:
            continue
        (v,) = e.outputs
        one = v.type.size == 1 and (e.prim is GETITEM or is_plain_reduction(e))
        follows = _moves(e) or is_plain_reduction(e) or is_aligned(e)
        if one or (v in read and follows):
            read.update(a for a in e.inputs if isinstance(a, Var) and a.type.ndim)
    return read


class _Components:
    """The new graph while it is written.

    `found` holds the numbers of each array that is taken apart, `elements` those of arrays that
    are not. A number in `unsigned` is never -0, so that adding 0 does not change it.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph, self.r = graph, Rewriter(graph)
        self.read = _read_by_element(graph)
        self.atoms: list[Atom | None] = [None]
        self.number: dict[Atom, int] = {}
        self.found: dict[Atom, Numbers] = {}
        self.elements: dict[Atom, Numbers] = {}
        self.unsigned: set[int] = set()

    def run(self) -> Graph:
        return self.r.rewritten(self.take, self.whole)

    def take(self, e: Equation) -> bool:
        """Do an equation on numbers; False if it is left to be done on arrays."""
        if len(e.outputs) != 1:
            return False
        (v,) = e.outputs
        largest = max(a.type.size for a in (v, *e.inputs))
        if v.type.weak or v.type.size == 0 or largest > LARGEST:
            return False
        if _moves(e):
            made = self.move(e)
        elif not any(a in self.found for a in e.inputs):
            return False
        elif is_aligned(e):
            made = self.compute(e)
        elif is_plain_reduction(e):
            made = self.reduce(e)
        else:
            return False
        if made is None:
            return False
        if v.type.ndim:
            self.found[v] = made
        else:
            self.r.known[v] = self.atom(int(made), v.type)
        return True

    def move(self, e: Equation) -> Numbers | None:
        """What an operation does that makes no new numbers: done on the numbers' numbers."""
        (v,) = e.outputs
        if any(a.type.dtype != v.type.dtype for a in e.inputs):
            return None
        made = [a for a in e.inputs if a in self.found or a.type.ndim == 0]
        if not made or not all(a in made or a in self.r.arrays for a in e.inputs):
            return None
        strong = [self.strong(a) if a.type.weak else self.numbers(a) for a in e.inputs]
        moved = e.prim.impl(*strong, **e.params)
        return np.asarray(moved).reshape(v.type.shape)

    def compute(self, e: Equation) -> Numbers | None:
        """An elementwise operation, once for each combination of numbers that meet."""
        (v,) = e.outputs
        if v not in self.read and any(a.type.ndim and a not in self.found for a in e.inputs):
            return None  # each element of what lies in memory would be read
        avals = [ArrayType((), a.type.dtype, a.type.weak) for a in e.inputs]
        if e.prim.type_rule(avals, e.params) != ArrayType((), v.type.dtype):
            return None
        adds = e.prim is records.ADD and all(k.dtype == v.type.dtype for k in avals)
        rows = [np.broadcast_to(self.numbers(a), v.type.shape).ravel() for a in e.inputs]
        columns = list(zip(*(row.tolist() for row in rows), strict=True))
        known = {c: self.sum(c) if adds else None for c in columns}
        if not self.allowed(v, sum(k is None for k in known.values())):
            return None
        for c, number in known.items():
            if number is None:
                known[c] = self.new(e, [self.atom(k, t) for k, t in zip(c, avals, strict=True)])
                if adds and (NOTHING in c or not self.unsigned.isdisjoint(c)):
                    self.unsigned.add(known[c])  # type: ignore[arg-type]
        return np.array([known[c] for c in columns]).reshape(v.type.shape)

    def sum(self, c: tuple[int, ...]) -> int | None:
        """The sum of two numbers if it is one of them."""
        one, other = c
        if one == NOTHING and (other == NOTHING or other in self.unsigned):
            return other
        return one if other == NOTHING and one in self.unsigned else None

    def reduce(self, e: Equation) -> Numbers | None:
        (x,), (v,) = e.inputs, e.outputs
        axes = e.params["axes"]
        if not self.allowed(v, x.type.size):
            return None
        last = np.moveaxis(self.found[x], axes, range(-len(axes), 0))
        rows = last.reshape(v.type.size, -1).tolist()
        aval = ArrayType((), v.type.dtype)
        made = [fold(self.r, e, [self.atom(k, aval) for k in row]) for row in rows]
        return np.array([self.numbered(a) for a in made]).reshape(v.type.shape)

    def allowed(self, v: Var, operations: int) -> bool:
        """Whether so many operations on numbers may stand for one that gives `v`."""
        return operations <= (FEW if v in self.read else 2)

    # ------------------------------------------------------------------------------- numbers

    def new(self, e: Equation, inputs: list[Atom]) -> int:
        return self.numbered(self.r.append(e.prim, inputs, e.params)[0])

    def numbered(self, a: Atom) -> int:
        if a not in self.number:
            self.number[a] = len(self.atoms)
            self.atoms.append(a)
        return self.number[a]

    def atom(self, number: int, aval: ArrayType) -> Atom:
        found = self.atoms[number]
        return self.r.literal(aval.dtype.type(0)) if found is None else found

    def numbers(self, a: Atom) -> Numbers:
        """The numbers of an operand, which are read one by one if it is an array in memory."""
        if a in self.found:
            return self.found[a]
        now = self.r.read(a)
        if a.type.ndim == 0:
            return np.array(self.numbered(now))
        if a not in self.elements:
            array = self.r.arrays.get(now) if isinstance(now, Var) else None
            places = np.ndindex(a.type.shape)
            made = [self.element(now, array, p) for p in places]
            self.elements[a] = np.array(made, np.intp).reshape(a.type.shape)  # also of none
        return self.elements[a]

    def strong(self, a: Atom) -> Numbers:
        """A number that Python wrote, as one of an array."""
        made = self.r.append(CAST, (self.r.read(a),), {"dtype": a.type.dtype})
        return np.array(self.numbered(made[0]))

    def element(self, x: Atom, array: Any, place: tuple[int, ...]) -> int:
        if array is not None:
            return self.numbered(self.r.literal(array.dtype.type(array[place])))
        made = self.r.made.get(x) if isinstance(x, Var) else None
        if made is not None and made.prim is BROADCAST and made.inputs[0].type.ndim == 0:
            return self.numbered(made.inputs[0])
        return self.numbered(self.r.append(GETITEM, (x,), {"index": place})[0])

    def whole(self, a: Atom) -> None:
        """Put an array together that was taken apart, once."""
        if not isinstance(a, Var) or a not in self.found or a in self.r.known:
            return
        aval = ArrayType((), a.type.dtype)
        numbers = self.found[a].ravel().tolist()
        pieces = {
            n: self.r.append(RESHAPE, (self.atom(n, aval),), {"shape": (1,)})[0]
            for n in dict.fromkeys(numbers)
        }
        if len(pieces) <= 1:
            number = next(iter(pieces), self.numbered(self.r.literal(aval.dtype.type(0))))
            made = self.r.append(BROADCAST, (self.atom(number, aval),), {"shape": a.type.shape})
        else:
            line = self.r.append(CONCATENATE, [pieces[n] for n in numbers], {"axis": 0})
            made = self.r.append(RESHAPE, line, {"shape": a.type.shape})
        (self.r.known[a],) = made
