"""A graph run through fusion and lowering with the plain Python runner of loop nests."""

import numpy as np

from funcgrad.compile.eligible import moves, reduces
from funcgrad.compile.loops import run
from funcgrad.compile.lower import lower
from funcgrad.compile.scalars import MATHEMATICS, resolve
from funcgrad.graph.ir import Literal, Var
from funcgrad.passes.fuse import fuse
from funcgrad.passes.region import Region

FUNCTIONS = frozenset(n for n in MATHEMATICS if hasattr(np, n)) | {"power"}


def plan_of(graph):
    def elementwise(e):
        return moves(e) or resolve(e, FUNCTIONS) is not None

    return fuse(graph, elementwise, reduces)


def read(view, arrays):
    base = arrays[view.base].reshape(-1)
    item = base.itemsize
    return np.lib.stride_tricks.as_strided(
        base[view.offset :], view.shape, tuple(s * item for s in view.strides)
    )


def evaluate(graph, *args, plan=None):
    plan = plan or plan_of(graph)
    arrays = {
        v: np.array(a, v.type.dtype, order="C").reshape(v.type.shape)
        for v, a in (*zip(graph.inputs, args, strict=True), *graph.constants)
    }

    def value(a):
        if isinstance(a, Literal):
            return a.value
        if a in plan.uniform:
            return np.full(a.type.shape, plan.uniform[a].value, a.type.dtype)
        return read(plan.views[a], arrays)

    held = True
    for step in plan.steps:
        if isinstance(step, Region):
            held &= run_region(plan, step, arrays)
        else:
            made = step.prim.impl(*map(value, step.inputs), **step.params)
            for v, m in zip(step.outputs, made if step.prim.multiple else (made,), strict=True):
                arrays[v] = np.array(m, v.type.dtype, order="C")
    return [np.asarray(value(o)) for o in graph.outputs], held


def run_region(plan, region, arrays):
    low = lower(plan, region, FUNCTIONS, "k")
    partial = {}

    def buffer(a):
        if a.role == "partial":
            if a.name in low.direct:
                return arrays.setdefault(a.var, np.full(a.var.type.shape, 9, a.dtype)).reshape(-1)
            return partial.setdefault(a.var, np.full(a.size, 9, a.dtype))
        if a.role == "output" and a.var not in arrays:
            arrays[a.var] = np.full(a.var.type.shape, 9, a.dtype)
        return arrays[a.var].reshape(-1)

    def call(kernel, arguments, integers, numbers, chunks):
        return run(kernel, {a.name: buffer(a) for a in arguments}, integers, numbers, chunks)

    chunks = low.layout.chunks
    held = True
    for k in reversed(range(chunks)):  # in any order
        held &= call(*low.main, range(k, k + 1))
    if low.end is not None and not low.direct:
        call(*low.end, range(1))
    return held


def regions(plan):
    return [s for s in plan.steps if isinstance(s, Region)]


def is_escaping(plan, v):
    return isinstance(v, Var) and v in plan.escaping


__all__ = ["evaluate", "plan_of", "regions"]
