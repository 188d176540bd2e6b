"""Updates at repeated positions (`ufunc.at`): every repeat counts, in the order of the index."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core.tracer import Operand, operand, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.numpy.function_calls import known
from funcgrad.ops import index as indices
from funcgrad.ops.arithmetic import cast
from funcgrad.ops.segment import segment_reduce
from funcgrad.ops.shape import broadcast_to, reshape

__all__ = ["REDUCTIONS", "add_at", "positions_of", "reduce_at", "update_at"]


def positions_of(kind: ArrayType, index: Any) -> Array:
    """The flat positions that `index` chooses in an array of this type."""
    items = index if isinstance(index, tuple) else (index,)
    items = tuple(i.content() if isinstance(i, Operand) else i for i in items)
    return indices.read(np.arange(kind.size).reshape(kind.shape), items)


def _flat(x: Array, index: Any, v: Array) -> tuple[Array, Array]:
    """Flat positions, and as many values."""
    kind = type_of(x)
    indices.check_storable(kind.dtype, v)
    positions = positions_of(kind, index)
    shape, count = type_of(positions).shape, type_of(positions).size
    v = broadcast_to(v, shape)
    if not shape:
        positions = np.asarray(positions) if isinstance(positions, np.generic) else positions
    return reshape(positions, (count,)), reshape(v, (count,))


def add_at(x: Array, index: Any, v: Array) -> Array:
    """A copy of `x` to which `v` is added at `index`, repeated positions repeatedly."""
    positions, values = _flat(x, index, v)
    return indices.add_at(x, positions, values)


# What a ufunc does at repeated positions, where that is a reduction of segments.
REDUCTIONS = {np.maximum: "max", np.minimum: "min", np.multiply: "prod"}


def reduce_at(x: Array, index: Any, v: Array, reduce: str) -> Array | None:
    """A copy of `x` into which `v` is reduced at `index`; None if their dtypes differ."""
    kind = type_of(x)
    if kind.dtype.kind != "f" or type_of(v).dtype != kind.dtype:
        return None
    positions, values = _flat(x, index, v)
    found = segment_reduce(reshape(x, (kind.size,)), positions, values, reduce)
    return reshape(found, kind.shape)


def update_at(rule: Callable[..., Any], x: Array, index: Any, *values: Array) -> Array:
    """A copy of `x` with ``x[p] = rule(x[p], v)`` for each position in turn.

    Positions are taken in rounds: the k-th repeat of each position belongs to round k.
    """
    kind = type_of(x)
    positions = known(positions_of(kind, index), "the update of repeated positions")
    flat = np.atleast_1d(positions).reshape(-1)
    vs = [reshape(broadcast_to(operand(v), np.shape(positions)), (flat.size,)) for v in values]
    for chosen in _rounds(flat):
        at = flat[chosen]
        old = indices.gather(reshape(x, (kind.size,)), at)
        new = rule(old, *(indices.gather(v, chosen) for v in vs))
        indices.check_storable(kind.dtype, new)
        x = indices.set_positions(x, at, cast(new, kind.dtype))
    return x


def _rounds(flat: Any) -> list[Any]:
    """The indices of the first occurrences in `flat`, of the second ones, and so on."""
    order = np.argsort(flat, kind="stable")
    ordered = flat[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if flat.size else flat
    run = np.arange(flat.size) - np.repeat(starts, np.diff(np.r_[starts, flat.size]))
    return [order[run == k] for k in range(int(run.max()) + 1)] if flat.size else []
