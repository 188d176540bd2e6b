"""Steps of a few elements as kernels, for programs that then need no NumPy at all.

A call of NumPy takes longer than what it does with a few hundred elements, and a program with one
runs in Python. So what has loops of its own, the branches of a `cond` among them, is native where
it is small; larger ones NumPy does as well, or better.
"""

from __future__ import annotations

import numpy as np

from funcgrad.compile.code import Written
from funcgrad.compile.layout import Layout
from funcgrad.compile.lower import Lowered
from funcgrad.compile.small_matrices import small_matrix_step
from funcgrad.compile.steps import step_of
from funcgrad.graph.effects import has_effect
from funcgrad.graph.ir import Equation, Graph, Literal, Var
from funcgrad.graph.loop import Loop
from funcgrad.ops import records
from funcgrad.passes.plan import Plan

__all__ = ["as_kernel", "is_small", "once", "small_step"]

# which of several right orders NumPy gives depends on the processor, and is the value of a program
ANY_ORDER = (records.ARGSORT, records.PARTITION, records.ARGPARTITION)
STABLE = ("stable", "mergesort")
SMALL = 2048  # elements that are read and written


def small_step(plan: Plan, e: Equation, name: str) -> Lowered | None:
    """The kernel of an equation of few elements; None where it has no loops, or too many."""
    if has_effect(e) or not is_small(e) or any(v.type.weak or not v.type.size for v in e.outputs):
        return None
    if e.prim is records.CONVOLVE and np.prod([a.type.size for a in e.inputs]) > 2 * SMALL:
        return None  # which takes as many multiplications
    if e.prim in ANY_ORDER and e.params.get("kind") not in STABLE:
        return None
    written = small_matrix_step(e, plan, name) or step_of(e, plan, name)
    return None if written is None else as_kernel(written, float(elements(e)))


def as_kernel(written: Written, work: float) -> Lowered:
    """A kernel that runs in one piece."""
    return Lowered(Layout([], [], None, None, 1, 1), written, work)


def is_small(e: Equation) -> bool:
    return elements(e) <= SMALL


def elements(e: Equation) -> int:
    """How many an equation reads and writes, or those of its graphs do. Loops count as many."""
    if e.prim.loops:
        return SMALL + 1
    graphs = [g for g in e.params.values() if isinstance(g, Graph)]
    inner = sum(elements(each) for g in graphs for each in g.equations)
    return inner + sum(a.type.size for a in (*e.inputs, *e.outputs))


def once(e: Equation) -> Equation:
    """An equation as a loop of one step, the form in which branches are native."""
    inputs = tuple(Var(a.type, k) for k, a in enumerate(e.inputs))
    outputs = tuple(Var(v.type, len(inputs) + k) for k, v in enumerate(e.outputs))
    first = len(inputs) + len(outputs)
    carries = tuple(Var(v.type, first + k) for k, v in enumerate(e.outputs))
    body = Graph((*inputs, *carries), (e._replace(inputs=inputs, outputs=outputs),), outputs)
    start = (Literal(v.type.dtype.type(0), v.type) for v in e.outputs)
    loop = Loop(body, None, len(inputs), len(carries), 1)
    return e._replace(inputs=(*e.inputs, *start), params=loop.params)
