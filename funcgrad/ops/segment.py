"""Reductions of segments: elements that are sent to one place are reduced with what stands there.

Sums are `add_at`; here are extrema and products, in memory for the elements only, however crowded
one place is. Ties of an extremum share the cotangent equally, and a NaN has it all. Nothing is
divided in the derivative of a product, so zeros are exact to every order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core.forms import Explicit, explicit
from funcgrad.core.primitive import Params, Sample
from funcgrad.core.tracer import bind, concrete, type_of, value
from funcgrad.core.types import Array, ArrayType
from funcgrad.ops.arithmetic import (
    add,
    cast,
    divide,
    equal,
    isnan,
    less,
    logical_or,
    multiply,
    scale,
    where,
)
from funcgrad.ops.index import add_at, gather, getitem, set_positions
from funcgrad.ops.index.scatter import flat_lanes
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import concatenate, flip, reshape
from funcgrad.ops.sort import argsort, permute

__all__ = ["SEGMENT", "segment_reduce"]

UFUNCS = {"max": np.maximum, "min": np.minimum, "prod": np.multiply}


def segment_reduce(x: Array, positions: Array, v: Array, reduce: str) -> Array:
    """The vector `x`, into whose places `positions` the elements of the vector `v` are reduced.

    `reduce` is "max", "min" or "prod". All are vectors; `x` and `v` have one dtype.
    """
    return bind(SEGMENT, (v, positions, x), {"reduce": reduce})


def _reduced(v: Any, positions: Any, x: Any, reduce: str) -> Any:
    out = np.array(x)
    UFUNCS[reduce].at(out, positions, v)
    return out


def _vjp(
    g: Any, y: Any, v: Any, positions: Any, x: Any, *, needs: Sequence[bool], reduce: str
) -> list[Any]:
    pull = _product_vjp if reduce == "prod" else _extremum_vjp
    cv, cx = pull(g, y, v, positions, x)
    return [cv if needs[0] else None, None, cx if needs[2] else None]


def _extremum_vjp(g: Array, y: Array, v: Array, at: Array, x: Array) -> tuple[Array, Array]:
    mine = logical_or(equal(x, y), isnan(x))
    theirs = logical_or(equal(v, gather(y, at)), isnan(v))
    count = add_at(cast(mine, float), at, cast(theirs, float))
    each = scale(g, cast(divide(1.0, count), type_of(x).dtype))
    return where(theirs, gather(each, at), 0.0), where(mine, each, 0.0)


def _product_vjp(g: Array, y: Array, v: Array, at: Array, x: Array) -> tuple[Array, Array]:
    """A product of the others: what is ahead in the segment times what is behind."""
    at = where(less(at, 0), add(at, type_of(x).size), at)
    order = argsort(at, 0)
    at, w = gather(at, order), gather(v, order)
    ahead = multiply(gather(x, at), _exclusive(_running(w, at), at))
    back, places = _running(flip(w, (0,)), flip(at, (0,))), flip(at, (0,))
    behind = flip(_exclusive(back, places), (0,))
    cv = permute(scale(gather(g, at), multiply(ahead, behind)), order, 0, back=True)
    # of each place the first of its elements is written last, with the product of them all
    alone = set_positions(np.ones(type_of(x).shape, type_of(x).dtype), places, back)
    return cv, scale(g, alone)


def _running(w: Array, at: Array) -> Array:
    """The running product of each segment of `at`, which is sorted; by doubling what is known.

    A recurrence with a factor of 0 where a segment begins would carry an infinity over.
    """
    count = type_of(w).size
    longest = int(np.bincount(np.asarray(value(at))).max(initial=0)) if concrete(at) else count
    step = 1
    while step < longest:
        together = equal(at, _moved(at, step, -1))
        w = where(together, multiply(_moved(w, step, 1), w), w)
        step *= 2
    return w


def _exclusive(running: Array, at: Array) -> Array:
    """What a running product was before each element."""
    return where(equal(at, _moved(at, 1, -1)), _moved(running, 1, 1), 1.0)


def _moved(x: Array, step: int, first: int) -> Array:
    """`x` moved on by some places, with `first` in front."""
    aval = type_of(x)
    step = min(step, aval.size)
    front = np.full(step, first, aval.dtype)
    return concatenate([front, getitem(x, (slice(0, aval.size - step),))], 0)


def _batch(size: int, xs: Sequence[Array], batched: Sequence[bool], params: Params) -> Any:
    flipped, marks = (xs[2], xs[1], xs[0]), (batched[2], batched[1], batched[0])
    x, positions, v = flat_lanes(size, flipped, marks)
    shape = type_of(x).shape
    found = bind(SEGMENT, (v, positions, reshape(x, (type_of(x).size,))), params)
    return reshape(found, shape)


def _samples() -> list[Sample]:
    v, x, at = draw((5,)), draw((3,), seed=1), np.array([0, 2, 0, -1, 0])
    ties = np.array([1.0, 2.0, 1.0, np.nan, 1.0])
    found = [Sample((v, at, x), {"reduce": r}) for r in UFUNCS]
    zeros = np.array([2.0, 0.0, 0.0, 3.0, 0.5])
    return [
        *found,
        Sample((zeros, at, x), {"reduce": "prod"}),
        Sample((v.astype(np.float32), at, x.astype(np.float32)), {"reduce": "prod"}),
        Sample((v[:0], at[:0], x), {"reduce": "max"}),
        Sample((ties, at, np.array([1.0, 1.0, 2.0])), {"reduce": "max"}, smooth=False),
        Sample((ties, at, np.array([1.0, 1.0, 2.0])), {"reduce": "min"}, smooth=False),
    ]


SEGMENT: Explicit = explicit(
    "segment_reduce",
    _reduced,
    type_rule=lambda v, positions, x, *, reduce: ArrayType(x.shape, x.dtype),
    vjp=_vjp,
    batch=_batch,
    sample=_samples,
)
