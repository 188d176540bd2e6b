"""Positions in a flat array and indices along axes, from one to the other; locally constant.

NumPy computes them when the program runs, so that what is out of bounds is its error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core.forms import align
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import bind, type_of
from funcgrad.core.types import Array, ArrayType, broadcast_shapes
from funcgrad.ops.constant import Constant, constant
from funcgrad.ops.index import getitem

__all__ = ["ravel_index", "unravel_index"]

INTEGERS = np.dtype(np.intp)

RAVEL_INDEX: Constant = constant(
    "ravel_multi_index",
    lambda *parts, dims, mode, order: np.ravel_multi_index(parts, dims, mode, order),
    lambda *parts, **_: ArrayType(broadcast_shapes(*(p.shape for p in parts)), INTEGERS),
    lambda size, xs, batched, params: bind(RAVEL_INDEX, align(xs, batched), params),
    sample=lambda: [
        Sample(
            (np.array([0, 1]), np.array([[2], [0]])), {"dims": (2, 3), "mode": "raise", "order": o}
        )
        for o in "CF"
    ],
)

UNRAVEL_INDEX: Constant = constant(
    "unravel_index",
    lambda at, shape, order: np.stack(np.unravel_index(at, shape, order), -1),
    lambda at, *, shape, order: ArrayType((*at.shape, len(shape)), INTEGERS),
    lambda size, xs, batched, params: bind(UNRAVEL_INDEX, xs, params),
    sample=lambda: [
        Sample((np.array([[0, 5], [3, 1]]),), {"shape": (2, 3), "order": o}) for o in "CF"
    ],
)


def ravel_index(parts: Sequence[Array], dims: tuple[int, ...], mode: Any, order: str) -> Array:
    """The position in a flat array of an index along each axis."""
    return bind(RAVEL_INDEX, tuple(parts), {"dims": dims, "mode": mode, "order": order})


def unravel_index(at: Array, shape: tuple[int, ...], order: str) -> tuple[Array, ...]:
    """The index along each axis of positions in a flat array."""
    found = bind(UNRAVEL_INDEX, (at,), {"shape": shape, "order": order})
    last = type_of(found).ndim - 1
    return tuple(getitem(found, (slice(None),) * last + (k,)) for k in range(len(shape)))
