"""Writes at flat positions: `put`, where the last of equal positions wins, and `add_at`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core.forms import Linear, each_lane, linear
from funcgrad.core.layout import kept
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import bind, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.ops.arithmetic import cast, where
from funcgrad.ops.index.gather import gather
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import broadcast_to, every_lane, reshape

__all__ = ["ADD_AT", "PUT", "WINNERS", "add_at", "flat_lanes", "set_positions", "winners"]


def set_positions(x: Array, positions: Array, v: Array) -> Array:
    """A copy of `x` with `v` written at the flat `positions`."""
    shape = type_of(positions).shape
    if not shape and not isinstance(positions, np.ndarray):
        positions = reshape(positions, (1,))
        v = reshape(v, (1,)) if type_of(v).ndim == 0 else reshape(v, (type_of(v).size,))
    else:
        lead = type_of(v).shape
        while len(lead) > len(shape) and lead[0] == 1:  # NumPy drops leading axes of extent 1
            lead = lead[1:]
        v = broadcast_to(reshape(v, lead), shape)
        count = type_of(positions).size
        positions, v = reshape(positions, (count,)), reshape(v, (count,))
    return bind(PUT, (x, positions, v))


def _put(x: Any, positions: Any, v: Any) -> Any:
    out = np.array(x)  # in the layout of x: NumPy rounds sums by the order in memory
    if out.flags.c_contiguous:
        out.reshape(-1)[positions] = v
    else:
        np.put(out, positions, v)
    return out


def winners(positions: Array, size: int) -> Array:
    """Which of the writes at flat `positions` is the last one at its place."""
    return bind(WINNERS, (positions,), {"size": size})


def _winners(positions: Any, size: int) -> Any:
    owner = np.empty(size, np.intp)
    order = np.arange(len(positions))
    owner[positions] = order
    return owner[positions] == order


WINNERS: Linear = linear(
    "winners",
    _winners,
    (None,),
    lambda p, *, size: ArrayType(p.shape, np.dtype(bool)),
    lambda size, xs, batched, params: each_lane(WINNERS, size, xs, batched, params),
    sample=lambda: [Sample((np.array([0, 2, 0]),), {"size": 3})],
)


def _put_x(g: Any, x: Any, positions: Any, v: Any) -> Any:
    return bind(PUT, (g, positions, np.zeros(type_of(positions).shape, type_of(g).dtype)))


def _put_v(g: Any, x: Any, positions: Any, v: Any) -> Any:
    flat = reshape(g, (type_of(g).size,))
    return where(winners(positions, type_of(g).size), gather(flat, positions), 0.0)


def flat_lanes(size: int, xs: Sequence[Array], batched: Sequence[bool]) -> list[Array]:
    """(array, positions, values) of all examples as one: each has its own range of positions."""
    x, positions, v = every_lane(size, xs, batched)
    extent = ArrayType(type_of(x).shape[1:], type_of(x).dtype).size
    counted = where(positions < 0, positions + extent, positions)  # negative ones from the end
    flat = counted + (np.arange(size) * extent)[:, None]
    count = type_of(v).size
    return [x, reshape(flat, (count,)), reshape(v, (count,))]


PUT: Linear = linear(
    "put",
    _put,
    (_put_x, None, _put_v),
    lambda x, positions, v: ArrayType(x.shape, x.dtype),
    lambda size, xs, batched, params: bind(PUT, flat_lanes(size, xs, batched)),
    sample=lambda: [
        Sample((draw((2, 3)), np.array([0, 5]), draw((2,)))),
        Sample((draw((4,)), np.array([1, 3, 1]), draw((3,)))),
    ],
    moves="adds",
)


def _add_at(x: Any, positions: Any, v: Any) -> Any:
    out = np.array(x)
    if out.flags.c_contiguous:
        np.add.at(out.reshape(-1), positions, v)
    else:
        np.add.at(out, np.unravel_index(np.asarray(positions) % out.size, out.shape), v)
    return out


ADD_AT: Linear = linear(
    "add_at",
    _add_at,
    (
        lambda g, x, positions, v: g,
        None,
        lambda g, x, positions, v: cast(gather(reshape(g, (type_of(g).size,)), positions), v.dtype),
    ),
    lambda x, positions, v: ArrayType(x.shape, x.dtype),
    lambda size, xs, batched, params: bind(ADD_AT, flat_lanes(size, xs, batched)),
    sample=lambda: [
        Sample((draw((2, 3)), np.array([0, 5, 0]), draw((3,)))),
        Sample((draw((4,)), np.array([1, 3, 1]), draw((3,)))),
        Sample((draw((4,)), np.array([1, 3, 1]), draw((3,)).astype(np.float32))),
    ],
    moves="adds",
)


def add_at(x: Array, positions: Array, v: Array) -> Array:
    """A copy of `x` to which `v` is added at flat positions, repeated ones repeatedly.

    Each addition is made in the common dtype of the two, as NumPy makes it.
    """
    return bind(ADD_AT, (x, positions, v))


PUT.lies = ADD_AT.lies = kept
