"""What a graph computes, in a digest: equal for equal graphs in every process, and only for these.

Printed graphs leave out what people need not see (the bits of a number, most of an array); this
does not. A graph that holds anything whose value we cannot tell, such as a function or a very large
array, has none.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np

from funcgrad.core.types import ArrayType
from funcgrad.graph.build import distinct
from funcgrad.graph.ir import Atom, Graph, Literal, Var

__all__ = ["identity"]


LARGEST = 1 << 20  # bytes of an array: to read more takes longer than it is worth


class _Unknown(Exception):
    """Something whose value we cannot tell."""


def identity(graph: Graph) -> str | None:
    """The digest, or None if the graph has none."""
    key = "identity"
    if key not in graph.derived:
        try:
            text = repr(_graph(graph))
        except _Unknown:
            graph.derived[key] = None
        else:
            graph.derived[key] = blake2b(text.encode(), digest_size=24).hexdigest()
    found: str | None = graph.derived[key]
    return found


def _graph(graph: Graph) -> tuple[Any, ...]:
    numbers: dict[Var, int] = {}
    scopes: dict[int, int] = {}  # their numbers mean nothing but that they differ

    def define(v: Var) -> tuple[Any, ...]:
        numbers[v] = len(numbers)
        return _type(v.type)

    def read(a: Atom) -> Any:
        if isinstance(a, Literal):
            return ("number", _type(a.type), _value(a.value))
        return numbers[a]

    inputs = tuple(map(define, graph.inputs))
    constants = tuple((define(v), _value(x)) for v, x in graph.constants)
    equations = []
    for e in graph.equations:
        if not e.prim.is_ours:
            raise _Unknown
        params = tuple((k, _value(p)) for k, p in e.params.items()) if e.params else ()
        operands = tuple(map(read, e.inputs))
        made = tuple(map(define, e.outputs))
        scope = scopes.setdefault(e.scope, len(scopes)) if e.scope else None
        equations.append((e.prim.name, operands, params, made, scope))
    return inputs, constants, tuple(equations), tuple(map(read, graph.outputs))


def _type(kind: ArrayType) -> tuple[Any, ...]:
    return kind.shape, _dtype(kind.dtype), kind.weak


def _dtype(dtype: np.dtype[Any]) -> str:
    if dtype.hasobject or dtype.fields is not None or dtype.subdtype is not None:
        raise _Unknown
    return dtype.str


_PLAIN = (int, bool, str, bytes, type(None), type(Ellipsis))


def _value(x: Any) -> Any:
    """The value of a parameter or a constant, as something whose `repr` says all of it."""
    kind = type(x)
    if kind in _PLAIN:
        return x
    if kind is float:
        return ("float", x.hex())
    if kind is complex:
        return ("complex", x.real.hex(), x.imag.hex())
    if kind is slice:
        return ("slice", _value(x.start), _value(x.stop), _value(x.step))
    if isinstance(x, tuple):
        return (kind.__module__, kind.__qualname__, *map(_value, x))
    if kind in (list, dict):
        return (kind.__name__, *map(_value, x.items() if kind is dict else x))
    if isinstance(x, np.generic) or kind is np.ndarray:
        own = distinct(np.asarray(x))
        if own.nbytes > LARGEST:
            raise _Unknown
        content = blake2b(own.tobytes(), digest_size=24).hexdigest()
        return (kind.__name__, _dtype(x.dtype), x.shape, own.shape, content)
    if isinstance(x, np.dtype):
        return ("dtype", _dtype(x))
    if isinstance(x, type) and (x.__module__ == "builtins" or issubclass(x, np.generic)):
        return ("type", x.__module__, x.__qualname__)
    if kind is Graph:
        return ("graph", _graph(x))
    raise _Unknown
