"""Composite operations written out in simpler ones, which the fusion understands.

Each stands for NumPy's own formula (the mean is the sum divided by the count, the variance the mean
of the squared deviations), so that values agree to the rounding of the sums. What is not listed, or
has a dtype or option of its own, stays as it is and runs in NumPy.
"""

from __future__ import annotations

from builtins import max as larger
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from funcgrad.core.primitive import Primitive
from funcgrad.core.tracer import bind, type_of
from funcgrad.core.types import Array
from funcgrad.graph.build import stage
from funcgrad.graph.ir import Atom, Equation, Graph
from funcgrad.ops import arithmetic as ops
from funcgrad.ops import records
from funcgrad.ops.nonlinear_reductions import MAX, MIN, PROD
from funcgrad.ops.reduction import extent
from funcgrad.ops.shape import broadcast_to, reshape
from funcgrad.ops.sums import SUM
from funcgrad.ops.transcendental import exp, log
from funcgrad.passes.rewrite import Rewriter, rewrite

__all__ = ["expand"]

Body = Callable[..., Any]  # the output, or a tuple of several
REAL = (np.dtype(np.float64), np.dtype(np.float32))


def expand(graph: Graph) -> Graph:
    """The graph in sums, products, extrema and elementwise operations, as far as possible."""

    def rule(r: Rewriter, e: Equation) -> list[Atom] | None:
        own = BODIES.get(e.prim)
        body = own(e) if own is not None else _composed(e)
        if body is None:
            return None
        several = e.prim.multiple
        parts = lambda *xs: list(body(*xs)) if several else [body(*xs)]
        small, consts = stage(parts, [a.type for a in e.inputs])
        assert not consts
        if [a.type for a in small.outputs] != [a.type for a in e.outputs]:
            return None
        return r.inline(small, e.inputs)

    return rewrite(_unwrapped(graph), rule)


def _composed(e: Equation) -> Body | None:
    return e.prim.composed and partial(e.prim.composed, **e.params)


def _unwrapped(graph: Graph) -> Graph:
    """Graphs and functions that are called, whose derivatives have been taken, written out.

    What is computed again was staged in a scope of its own.
    """
    while any(map(_calls, graph.equations)):
        graph = rewrite(graph, lambda r, e: r.inline(_called(e), e.inputs) if _calls(e) else None)
    return graph


def _calls(e: Equation) -> bool:
    return e.prim.wraps or (e.prim.composed is not None and e.prim.form == "higher_order")


def _called(e: Equation) -> Graph:
    if e.prim.wraps:
        found: Graph = e.params["graph"]
        return found
    composed = _composed(e)
    assert composed is not None
    return stage(composed, [a.type for a in e.inputs])[0]


def _reduce(prim: Any, x: Array, axes: Any, keepdims: bool, **params: Any) -> Array:
    return bind(prim, (x,), {"axes": axes, "keepdims": keepdims, **params})


def _chosen(x: Array, mask: tuple[Array, ...], other: float) -> Array:
    """`x` where the mask holds, elsewhere what the reduction does not notice."""
    if not mask:
        return x
    aval = type_of(x)
    return ops.where(broadcast_to(mask[0], aval.shape), x, aval.dtype.type(other))


def _native(e: Equation) -> bool:
    aval, out = e.inputs[0].type, e.outputs[0].type
    return aval.dtype in REAL and out.dtype in REAL and not aval.weak and aval.size > 0


def _sum(e: Equation) -> Body | None:
    p = e.params
    if _native(e) and extent(e.inputs[0].type.shape, p["axes"]) == 1 and len(e.inputs) == 1:
        out = e.outputs[0].type  # NumPy's sum starts from 0, which -0 shows
        return lambda x: ops.add(reshape(ops.cast(x, out.dtype), out.shape), out.dtype.type(0))
    if not _native(e) or (len(e.inputs) == 1 and p["dtype"] is None):
        return None

    def body(x: Array, *mask: Array) -> Array:
        # NumPy adds 0 for what is masked out, and the sum of nothing is 0
        x = _chosen(ops.cast(x, e.outputs[0].type.dtype), mask, 0.0)
        return _reduce(SUM, x, p["axes"], p["keepdims"], dtype=None)

    return body


def _sum_from(e: Equation) -> Body | None:
    if not _native(e):
        return None
    p = e.params

    def body(x: Array, start: Array, *mask: Array) -> Array:
        dtype = e.outputs[0].type.dtype
        x = _chosen(ops.cast(x, dtype), mask, 0.0)
        return ops.add(
            _reduce(SUM, x, p["axes"], p["keepdims"], dtype=None), ops.cast(start, dtype)
        )

    return body


def _mean(e: Equation) -> Body | None:
    if not _native(e) or len(e.inputs) > 1:
        return None
    p = e.params

    def body(x: Array) -> Array:
        dtype = e.outputs[0].type.dtype
        total = _reduce(SUM, ops.cast(x, dtype), p["axes"], p["keepdims"], dtype=None)
        return ops.divide(total, float(extent(type_of(x).shape, p["axes"])))

    return body


def _var(e: Equation) -> Body | None:
    if not _native(e) or len(e.inputs) > 1:
        return None
    p = e.params

    def body(x: Array) -> Array:
        x = ops.cast(x, e.outputs[0].type.dtype)
        count = extent(type_of(x).shape, p["axes"])
        mean = ops.divide(_reduce(SUM, x, p["axes"], True, dtype=None), float(count))
        away = ops.subtract(x, mean)
        total = _reduce(SUM, ops.multiply(away, away), p["axes"], p["keepdims"], dtype=None)
        return ops.divide(total, float(larger(count - p["ddof"], 0.0)))

    return body


def _std(e: Equation) -> Body | None:
    body = _var(e)
    return None if body is None else lambda x: ops.sqrt(body(x))


def _extremum(prim: Any, pair: Body, worst: float) -> Callable[[Equation], Body | None]:
    def expansion(e: Equation) -> Body | None:
        p = e.params
        if not _native(e) or (len(e.inputs) == 1 and p["initial"] is None):
            return None

        def body(x: Array, *mask: Array) -> Array:
            x = _chosen(x, mask, worst)
            found = _reduce(prim, x, p["axes"], p["keepdims"], initial=None)
            initial = p["initial"]
            return found if initial is None else pair(found, type_of(x).dtype.type(initial))

        return body

    return expansion


def _prod(e: Equation) -> Body | None:
    p = e.params
    if not _native(e) or (len(e.inputs) == 1 and p["dtype"] is None and p["initial"] is None):
        return None

    def body(x: Array, *mask: Array) -> Array:
        dtype = e.outputs[0].type.dtype
        x = _chosen(ops.cast(x, dtype), mask, 1.0)
        found = _reduce(PROD, x, p["axes"], p["keepdims"], dtype=None, initial=None)
        initial = p["initial"]
        return found if initial is None else ops.multiply(found, dtype.type(initial))

    return body


def _norm(e: Equation) -> Body | None:
    aval, p = e.inputs[0].type, e.params
    axes = tuple(range(aval.ndim)) if p["axes"] is None else p["axes"]
    order = p.get("ord")
    if not _native(e) or not axes:
        return None
    euclidean = order is None or (order == 2 and len(axes) == 1) or order == "fro"
    if not euclidean:
        return None

    def body(x: Array) -> Array:
        square = ops.multiply(x, x)
        return ops.sqrt(
            _reduce(SUM, square, tuple(sorted(axes)), p.get("keepdims", False), dtype=None)
        )

    return body


def _shifted(x: Array, axis: int) -> Array:
    """`x` less its maximum along an axis."""
    return ops.subtract(x, _reduce(MAX, x, (axis,), True, initial=None))


def _total(x: Array, axis: int) -> Array:
    return _reduce(SUM, x, (axis,), True, dtype=None)


def _softmax(e: Equation) -> Body | None:
    def body(x: Array) -> Array:
        powers = exp(_shifted(x, e.params["axis"]))
        return ops.divide(powers, _total(powers, e.params["axis"]))

    return body if _native(e) else None


def _log_softmax(e: Equation) -> Body | None:
    def body(x: Array) -> Array:
        shifted = _shifted(x, e.params["axis"])
        return ops.subtract(shifted, log(_total(exp(shifted), e.params["axis"])))

    return body if _native(e) else None


BODIES: dict[Primitive, Callable[[Equation], Body | None]] = {
    records.SUM: _sum,
    records.SUM_FROM: _sum_from,
    records.MEAN: _mean,
    records.VAR: _var,
    records.STD: _std,
    records.MAX: _extremum(MAX, ops.maximum, -np.inf),
    records.MIN: _extremum(MIN, ops.minimum, np.inf),
    records.PROD: _prod,
    records.NORM: _norm,
    records.SOFTMAX: _softmax,
    records.LOG_SOFTMAX: _log_softmax,
}
