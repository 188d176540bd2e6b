"""The verifier: what holds of every graph, checked after it was built or changed."""

from __future__ import annotations

from typing import Any

from funcgrad.core.tracer import type_of
from funcgrad.errors import GraphError
from funcgrad.graph.ir import Atom, Equation, Graph, Literal, Var

__all__ = ["check"]


def check(graph: Graph) -> None:
    """Raise `GraphError` unless the graph is sound.

    Every variable is defined once and before its use; the types of an equation are what its
    primitive says; constants have their variable's type; the same holds of sub-graphs.
    """
    defined: set[Var] = set()
    for v in graph.inputs:
        _define(v, defined)
    for v, array in graph.constants:
        _define(v, defined)
        have = type_of(array)
        if (have.shape, have.dtype) != (v.type.shape, v.type.dtype):
            raise GraphError(f"constant {v} of type {v.type} holds an array of type {have}")
    for e in graph.equations:
        _check_equation(e, defined)
    for o in graph.outputs:
        _require(o, defined, "the outputs")


def _define(v: Var, defined: set[Var]) -> None:
    if v in defined:
        raise GraphError(f"{v} is defined twice")
    defined.add(v)


def _require(a: Atom, defined: set[Var], where: str) -> None:
    if isinstance(a, Var) and a not in defined:
        raise GraphError(f"{a} is used in {where} before it is defined")


def _check_equation(e: Equation, defined: set[Var]) -> None:
    for a in e.inputs:
        _require(a, defined, e.prim.name)
        if isinstance(a, Literal) and a.type.shape != ():
            raise GraphError(f"a literal of {e.prim.name} is no scalar")
    for p in e.params.values():
        if isinstance(p, Graph):
            check(p)
    found: Any = e.prim.type_rule([a.type for a in e.inputs], e.params)
    types = tuple(found) if e.prim.multiple else (found,)
    if types != tuple(v.type for v in e.outputs):
        raise GraphError(
            f"{e.prim.name} gives {', '.join(map(str, types))}, the equation says "
            f"{', '.join(str(v.type) for v in e.outputs)}"
        )
    for v in e.outputs:
        _define(v, defined)
