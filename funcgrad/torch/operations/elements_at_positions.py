"""Elements that reductions pick: by positions along a dimension, which they return as well."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core.types import Array
from funcgrad.ops import index
from funcgrad.ops.shape import reshape
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.operations.common import NodeClass, boxed, copied, shape_of, told
from funcgrad.torch.operations.record import node
from funcgrad.torch.remembered import remembered
from funcgrad.torch.root import RootTracer

__all__ = ["node_of_picks", "picked", "without_node"]


@functools.cache
def node_of_picks(name: str, axis: int | None, tells: str) -> NodeClass:
    """The node of an operation that picks along an axis: it saves the indices."""
    saves = "" if axis is None else "_ " * (axis + 1) + "indices"
    return node(name, saves, shows=(0,), tells=tells)


def without_node(x: Array) -> Array:
    """A content as positions are computed of it, which have no derivative."""
    return x.value if type(x) is RootTracer and type(x.value) is np.ndarray else x


def picked(
    made: Callable[..., Any], x: Array, positions: Array, axis: int, name: str,
    keepdim: bool | None = None,
) -> Any:  # fmt: skip
    """The elements at `positions` along an axis, and the positions, in a named tuple.

    `positions` lack the axis if one element of each line is picked, and `keepdim` gives it back;
    it is None where positions are as many as elements. `name` is that of the node, and what it
    tells of the operand follows: ``"Sort self_sym_sizes"``.
    """
    name, *others = name.split()
    tells = " ".join(["dim", *([] if keepdim is None else ["keepdim"]), *others])
    shape, given = shape_of(x), shape_of(positions)
    if not shape:
        alone = told(boxed(copied(x), node_of_picks(name, None, tells)), dim=0, keepdim=keepdim)
        return made(alone, box(np.zeros((), np.int64)))
    if keepdim and len(given) < len(shape):
        given = (*given[:axis], 1, *given[axis:])
        positions = reshape(positions, given)
    at = box(_int64(positions))
    found: Tensor = _along(box(x), at, axis, name, tells, keepdim)
    return made(found, at)


def _taken(x: Tensor, at: Tensor, axis: int, name: str, tells: str, keepdim: bool | None) -> Tensor:
    """The elements at positions along an axis, which are inside, as one node."""
    content, positions = x.content(), at.content()
    shape, given = shape_of(content), shape_of(positions)
    single = len(given) < len(shape)
    grid = []
    for k, n in enumerate(shape):
        place = k - 1 if single and k > axis else k
        ones = (1,) * (len(given) - place - 1)
        grid.append(positions if k == axis else np.arange(n).reshape(-1, *ones))
    found = boxed(index.gather(content, *grid), node_of_picks(name, axis, tells))
    return told(found, dim=axis, keepdim=keepdim)


_along = remembered(_taken, "inside")


def _int64(positions: Array) -> Array:
    if isinstance(positions, (np.ndarray, np.generic)):
        return np.asarray(positions).astype(np.int64)
    return positions
