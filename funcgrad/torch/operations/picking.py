"""Elements that reductions pick: by positions along a dimension, which they return as well."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core.types import Array
from funcgrad.ops import index
from funcgrad.ops.shape import reshape
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.operations.common import NodeClass, boxed, copied, into, named, shape_of, told

__all__ = ["delivered", "node_of_picks", "picked"]


def node_of_picks(name: str, axis: int | None) -> NodeClass:
    """The node of an operation that picks along an axis: it saves the indices."""
    return named(name, "", "", *(() if axis is None else ("",) * axis + ("indices",)), shown=(0,))


def picked(
    x: Array, positions: Array, axis: int, keepdim: bool, name: str
) -> tuple[Tensor, Tensor]:
    """The elements at `positions` along an axis, and the positions.

    `positions` lack the axis if one element of each line is picked, and `keepdim` gives it back.
    """
    shape, given = shape_of(x), shape_of(positions)
    if not shape:
        alone = told(boxed(copied(x), node_of_picks(name, None)), dim=0, keepdim=keepdim)
        return alone, box(np.zeros((), np.int64))
    if keepdim and len(given) < len(shape):
        given = (*given[:axis], 1, *given[axis:])
        positions = reshape(positions, given)
    at = box(_int64(positions))
    single = len(given) < len(shape)
    grid = []
    for k, n in enumerate(shape):
        place = k - 1 if single and k > axis else k
        ones = (1,) * (len(given) - place - 1)
        grid.append(at._t if k == axis else np.arange(n).reshape(-1, *ones))
    made = boxed(index.gather(x, *grid), node_of_picks(name, axis))
    return told(made, dim=axis, keepdim=keepdim), at


def _int64(positions: Array) -> Array:
    if isinstance(positions, (np.ndarray, np.generic)):
        return np.asarray(positions).astype(np.int64)
    return positions


def delivered(
    made: Callable[..., Any], results: tuple[Tensor, ...], out: Any, function: str
) -> Any:
    """A named tuple of results, written into the tensors of ``out=`` where they are given."""
    if out is None:
        return made(*results)
    return made(*(into(o, r, function) for o, r in zip(out, results, strict=True)))
