"""What a graph computes, in a digest: equal for equal graphs in every process, and only for these.

Printed graphs leave out what people need not see (the bits of a number, most of an array); this
does not. A graph that holds anything whose value we cannot tell, such as a function or a very large
array, has none.
"""

from __future__ import annotations

from collections.abc import Hashable
from hashlib import blake2b
from typing import Any

import numpy as np

from funcgrad.core.types import ArrayType
from funcgrad.graph.build import distinct
from funcgrad.graph.ir import Equation, Graph, Literal, Var

__all__ = ["Writer", "bits_of", "identity"]


LARGEST = 1 << 20  # bytes of an array: to read more takes longer than it is worth


class _Unknown(Exception):
    """Something whose value we cannot tell."""


def identity(graph: Graph) -> str | None:
    """The digest, or None if the graph has none."""
    key = "identity"
    if key not in graph.derived:
        found = Writer().key(graph)
        digest = blake2b(repr(found).encode(), digest_size=24)
        graph.derived[key] = None if found is None else digest.hexdigest()
    known: str | None = graph.derived[key]
    return known


class Writer:
    """Writes a graph as nested tuples that say all of it."""

    def key(self, graph: Graph) -> Hashable:
        """The tuples of a graph; None if it holds something whose value we cannot tell."""
        try:
            return self.graph(graph)
        except _Unknown:
            return None

    def graph(self, graph: Graph) -> Hashable:
        numbers: dict[Var, int] = {}
        scopes: dict[int, int] = {}  # their numbers mean nothing but that they differ

        def define(v: Var) -> Hashable:
            numbers[v] = len(numbers)
            return _type(v.type)

        inputs = tuple(map(define, graph.inputs))
        constants = tuple((define(v), self.constant(v, x)) for v, x in graph.constants)
        equations = []
        for e in graph.equations:
            params = self.params(e) if e.params else ()
            operands = tuple(
                self.literal(a, e) if isinstance(a, Literal) else numbers[a] for a in e.inputs
            )
            made = tuple(map(define, e.outputs))
            scope = scopes.setdefault(e.scope, len(scopes)) if e.scope else None
            equations.append((self.primitive(e), operands, params, made, scope))
        outputs = tuple(
            self.literal(a) if isinstance(a, Literal) else numbers[a] for a in graph.outputs
        )
        return inputs, constants, tuple(equations), outputs

    def params(self, e: Equation) -> Hashable:
        return tuple((k, self.value(p)) for k, p in e.params.items())

    def primitive(self, e: Equation) -> Hashable:
        if not e.prim.is_ours:
            raise _Unknown
        return e.prim.name

    def literal(self, a: Literal, e: Equation | None = None) -> Hashable:
        """A number that is an operand of an equation, or an output."""
        return "number", _type(a.type), self.value(a.value)

    def constant(self, v: Var, x: Any) -> Hashable:
        return self.value(x)

    def value(self, x: Any) -> Hashable:
        """A parameter or a constant, as something whose `repr` says all of it."""
        kind = type(x)
        if kind in _PLAIN:
            found: Hashable = x
        elif kind in (float, complex):
            found = bits_of(x)
        elif kind is slice:
            found = ("slice", *map(self.value, (x.start, x.stop, x.step)))
        elif isinstance(x, tuple):
            found = (kind.__module__, kind.__qualname__, *map(self.value, x))
        elif kind in (list, dict):
            found = (kind.__name__, *map(self.value, x.items() if kind is dict else x))
        elif isinstance(x, np.generic) or kind is np.ndarray:
            found = _array(x)
        elif isinstance(x, np.dtype):
            found = ("dtype", _dtype(x))
        elif isinstance(x, type) and (x.__module__ == "builtins" or issubclass(x, np.generic)):
            found = ("type", x.__module__, x.__qualname__)
        elif kind is Graph:
            found = ("graph", self.graph(x))
        else:
            raise _Unknown
        return found


def bits_of(x: Any) -> Hashable:
    """A number, so that equal ones have equal bits: -0 is not 0, and a NaN is a NaN."""
    if isinstance(x, float) and type(x) is float:
        return "float", x.hex()
    if type(x) is complex:
        return "complex", x.real.hex(), x.imag.hex()
    return (type(x), x.tobytes()) if isinstance(x, np.generic) else (type(x), x)


def _array(x: Any) -> Hashable:
    own = distinct(np.asarray(x))
    if own.nbytes > LARGEST:
        raise _Unknown
    content = blake2b(own.tobytes(), digest_size=24).hexdigest()
    return type(x).__name__, _dtype(x.dtype), x.shape, own.shape, content


def _type(aval: ArrayType) -> Hashable:
    return aval.shape, _dtype(aval.dtype), aval.weak


def _dtype(dtype: np.dtype[Any]) -> str:
    if dtype.hasobject or dtype.fields is not None or dtype.subdtype is not None:
        raise _Unknown
    return dtype.str


_PLAIN = (int, bool, str, bytes, type(None), type(Ellipsis))
