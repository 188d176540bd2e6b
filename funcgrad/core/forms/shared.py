"""What several forms share: which values a rule needs, and ways to batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from funcgrad.core.algebra import algebra
from funcgrad.core.parameters import names_of
from funcgrad.core.primitive import Params, Primitive
from funcgrad.core.tracer import Tracer, bind, type_of
from funcgrad.core.types import Array, ArrayType, zeros

__all__ = ["align", "each_lane", "filled", "needed", "union"]


def needed(rule: Any, count: int) -> tuple[bool, ...]:
    """Which of the first `count` positional arguments a rule names without an underscore."""
    if not callable(rule):
        return (False,) * count
    names = names_of(rule)
    flags = [not name.startswith("_") for name in names.positional[:count]]
    return tuple(flags) + (names.spread,) * (count - len(flags))


def union(rows: Sequence[tuple[bool, ...]], mask: int, count: int) -> tuple[bool, ...]:
    """The union of the rows of the traced operands."""
    chosen = [row for i, row in enumerate(rows) if mask >> i & 1]
    return (
        tuple(any(column) for column in zip(*chosen, strict=True)) if chosen else (False,) * count
    )


def align(
    xs: Sequence[Array], batched: Sequence[bool], core_ranks: Sequence[int] | None = None
) -> list[Array]:
    """The operands with their batch axes in the same place, counted from the right.

    NumPy broadcasts from the right, so an operand of lower rank gets axes of length 1 after its
    batch axis. `core_ranks` says how many of the last axes do not take part in broadcasting.
    """
    shapes = [type_of(x).shape for x in xs]
    cores = core_ranks or (0,) * len(xs)
    extra = [len(s) - b - c for s, b, c in zip(shapes, batched, cores, strict=True)]
    lead = max(extra)
    if min(extra) == lead:  # the hot case
        return list(xs)
    aligned = []
    for x, s, b, e in zip(xs, shapes, batched, extra, strict=True):
        if b and e < lead:
            x = algebra.reshape(x, s[:1] + (1,) * (lead - e) + s[1:])
        aligned.append(x)
    return aligned


def filled(g: Sequence[Array | None], types: Sequence[ArrayType]) -> tuple[Array, ...]:
    """The cotangents of several outputs, with zeros for those that nobody has read."""
    traces = [c.owner for c in g if isinstance(c, Tracer)]
    nothing = max(traces, key=lambda t: t.level).nothing if traces else zeros
    return tuple(nothing(t) if c is None else c for c, t in zip(g, types, strict=True))


def each_lane(
    prim: Primitive, size: int, xs: Sequence[Array], batched: Sequence[bool], params: Params
) -> Any:
    """Batching of a primitive that is applied to one example at a time."""
    if size == 0:
        lanes = [type_of(x) for x in xs]
        single = [ArrayType(t.shape[b:], t.dtype) for t, b in zip(lanes, batched, strict=True)]
        out = prim.type_rule(single, params)
        types = out if prim.multiple else (out,)
        empty = tuple(zeros(ArrayType((0, *t.shape), t.dtype)) for t in types)
        return empty if prim.multiple else empty[0]
    results = []
    for i in range(size):
        lane = [algebra.getitem(x, (i,)) if b else x for x, b in zip(xs, batched, strict=True)]
        results.append(bind(prim, lane, params))
    if prim.multiple:
        return tuple(algebra.stack(list(column)) for column in zip(*results, strict=True))
    return algebra.stack(results)
