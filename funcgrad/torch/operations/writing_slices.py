"""Writing slices along a dimension: index_add, index_copy, index_fill.

Repeated positions add up under `index_add`; where a write replaces, the last one wins.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core.tracer import concrete, value
from funcgrad.core.types import Array
from funcgrad.ops import arithmetic as a
from funcgrad.ops import index as core
from funcgrad.ops.shape import broadcast_to, reshape
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.memory_formats import dense
from funcgrad.torch.operations.common import axis_of, boxed, computed, shape_of, widened
from funcgrad.torch.operations.comparison import known
from funcgrad.torch.operations.dense import dense_composite
from funcgrad.torch.operations.gathering import check_bounds, positions_along
from funcgrad.torch.operations.promotion import dtype_of, kind_of, number
from funcgrad.torch.operations.record import node, operation
from funcgrad.torch.operations.requirements import requires
from funcgrad.torch.operations.scattering import TO
from funcgrad.torch.staged import bounded

__all__ = [
    "index_add", "index_copy", "index_fill",
]  # fmt: skip


def index_along(
    function: str, input: Tensor, dim: int, index: Tensor, source: Tensor | None,
    wrong_count: Any = RuntimeError,
) -> tuple[Array, Array, int]:  # fmt: skip
    """The content, the positions along a dimension, the axis; of a vector of positions."""
    x, at = input.content(), index.content()
    shape = shape_of(x)
    axis = axis_of(dim, len(shape))
    if len(shape_of(at)) > 1:
        raise IndexError(f"{function}_(): Index should have dimension 1 or 0 (got "
                         f"{len(shape_of(at))})")  # fmt: skip
    if dtype_of(at) not in (np.int64, np.int32):
        raise RuntimeError(f"{function}_(): Expected dtype int32/int64 for index")
    if source is not None:
        count = math.prod(shape_of(at))
        extent = shape_of(source)[axis] if shape_of(source) else 1
        if count != extent:
            if wrong_count is IndexError:
                raise IndexError(
                    f"{function}_(): Number of indices ({count}) should be equal to "
                    f"source.size(dim) ({extent})"
                )
            raise RuntimeError(
                f"{function}_(): Number of indices ({count}) should be equal to source.size(dim): "
                f"({extent}), for dim: {axis}"
            )
    return x, at, axis


def flat_positions(shape: tuple[int, ...], at: Array, axis: int) -> Array:
    """The flat positions of whole slices at a vector of positions along an axis."""
    count = math.prod(shape_of(at))
    if len(shape) == 1 and shape_of(at):
        return at
    if not shape:
        return a.multiply(reshape(at, (count,)), 0)
    wide = reshape(at, tuple(count if k == axis else 1 for k in range(len(shape))))
    full = tuple(count if k == axis else n for k, n in enumerate(shape))
    return positions_along(shape, broadcast_to(wide, full), axis)


def _wrapped(at: Array, extent: int, error: Exception) -> Array:
    """Positions with negative ones counted from the end."""
    bounded(at, -extent, extent - 1)
    if concrete(at):
        array = np.asarray(value(at))
        if ((array < -extent) | (array >= extent)).any():
            raise error
    return a.where(a.less(at, 0), a.add(at, extent), at)


def _written(x: Array, v: Array, at: Array, axis: int, adding: bool) -> Array:
    shape = shape_of(x)
    if not shape:
        found = _written(reshape(x, (1,)), reshape(v, (1,)), at, 0, adding)
        return reshape(found, ())
    positions = flat_positions(shape, at, axis)
    return (core.add_at if adding else core.set_positions)(x, positions, v)


ALONG = dense_composite("index_write", _written, linear=True, fixed=1)


class Adding(Composite):
    """Slices that are added: their cotangent is what arrived at their places, times `alpha`."""

    transposed_alike = True

    def vjp(self, node: Any, g: Any, quick: bool = False) -> Sequence[Array | None]:
        p, q, *_ = node.parents
        return [None if p is None else g, None if q is None else self.taken(node, g), None]

    def taken(self, node: Any, g: Any) -> Array:
        """The cotangent of what was added."""
        shape, (at, axis) = node.avals[1].shape, (node.saved[3], node.params["axis"])
        if shape:
            at = reshape(at, (math.prod(shape_of(at)),))
            grid = [
                (at if k == axis else np.arange(n)).reshape(-1, *(1,) * (len(shape) - k - 1))
                for k, n in enumerate(shape)
            ]
            g = core.gather(g, *grid)
        alpha = node.params["alpha"]
        return g if alpha == 1 else a.multiply(g, alpha)


def _added(x: Array, v: Array, at: Array, axis: int, alpha: Any) -> Array:
    return _written(x, v if alpha == 1 else a.multiply(v, alpha), at, axis, True)


ADDED_ALONG = Adding("index_add", lambda *xs, **p: dense(widened(_added)(*xs, **p)), True, 1)


# the operands are the tensor, what is written, and where
INDEX_ADD = node("IndexAdd", "_ source index", (0, 1), "alpha dim source_dim")
INDEX_COPY = node("IndexCopy", "_ source index", (0, 1), "dim source_dim")
INDEX_FILL_NUMBER = node("IndexFill", "_ _ index", (0,), "dim")
INDEX_FILL_TENSOR = node("IndexFillBackward1", "_ _ index", (0, 1), "dim")


@operation(
    "index_add", f"{TO}, Tensor source, *, Number alpha=1, out", overlap="none", remembers=True,
    positions="unsigned",
)  # fmt: skip
def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, alpha: Any) -> Tensor:
    """A copy to which slices of `source` are added at positions along a dimension."""
    x, at, axis = index_along("index_add", input, dim, index, source)
    v = source.content()
    if dtype_of(v) != dtype_of(x):
        names = [dtypes.scalar_name(kind_of(c)) for c in (x, v)]
        raise RuntimeError(
            f"index_add_(): self ({names[0]}) and source ({names[1]}) must have the same scalar "
            "type"
        )
    mine, other = (list(s[:axis] + s[axis + 1 :]) for s in (shape_of(x), shape_of(v)))
    if mine != other or len(shape_of(x)) != len(shape_of(v)):
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. "
            f"Got self.shape = {list(shape_of(x))} source.shape = {list(shape_of(v))}"
        )
    extent = shape_of(x)[axis] if shape_of(x) else 1
    check_bounds(at, extent, axis, IndexError)
    factor = 1 if alpha == 1 else number(alpha, dtype_of(x))
    return boxed(computed(ADDED_ALONG, x, v, at, axis=axis, alpha=factor), INDEX_ADD)


@requires("""
    not shape or not source or len(shape) == len(source): IndexError: index_copy_(): When source and
        destination are not scalars, their dimensionality must match. Source dimensionality
        ({len(source)}), destination dimensionality ({len(shape)})
""")
def _check_slices(shape: tuple[int, ...], source: tuple[int, ...], axis: int) -> None:
    """Raise where the slices of the source of `index_copy` are not those of the destination."""
    mine, other = (s[:axis] + s[axis + 1 :] for s in (shape, source))
    if mine != other:
        at = next((k for k, (n, m) in enumerate(zip(mine, other, strict=False)) if n != m), 0)
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination "
            f"slice shape: {' '.join(map(str, mine))} at dimension {axis} and source slice shape: "
            f"{' '.join(map(str, other))} at dimension {at}."
        )


@operation("index_copy", f"{TO}, Tensor source, *, out", overlap="none")
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """A copy in which slices of `source` are written at positions along a dimension."""
    x, at, axis = index_along("index_copy", input, dim, index, source, IndexError)
    v = source.content()
    if dtype_of(v) != dtype_of(x):
        names = [dtypes.scalar_name(kind_of(c)) for c in (x, v)]
        raise RuntimeError(
            "index_copy_(): self and source expected to have the same dtype, but got (self) "
            f"{names[0]} and (source) {names[1]}"
        )
    _check_slices(shape_of(x), shape_of(v), axis)
    extent = shape_of(x)[axis] if shape_of(x) else 1
    bounded(at, 0, extent - 1)
    if concrete(at):
        array = np.asarray(value(at))
        bad = (array < 0) | (array >= extent)
        if bad.any():
            raise IndexError(
                f"index_copy_(): index {array[bad].flat[0]} is out of bounds for dimension {axis} "
                f"with size {extent}"
            )
    return boxed(computed(ALONG, x, v, at, axis=axis, adding=False), INDEX_COPY)


def _filled(x: Array, v: Array, at: Array, axis: int) -> Array:
    shape = shape_of(x)
    if not shape:
        return reshape(_filled(reshape(x, (1,)), v, at, 0), ())
    positions = flat_positions(shape, at, axis)
    return core.set_positions(x, positions, broadcast_to(v, shape_of(positions)))


INDEX_FILL = Composite("index_fill", _filled, linear=True, fixed=1)


@operation("index_fill", f"{TO}, Tensor value | {TO}, Number value")
def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """A copy in which slices at positions along a dimension are a number."""
    x, at, axis = index_along("index_fill", input, dim, index, None)
    extent = shape_of(x)[axis] if shape_of(x) else 1
    array = np.asarray(at if isinstance(at, np.ndarray) else known(at, "index_fill()"))
    bad = array[(array < -extent) | (array >= extent)]
    first = bad.flat[0] if bad.size else 0
    at = _wrapped(
        at, extent,
        IndexError(f"index {first} is out of bounds for dimension {axis} with size {extent}"),
    )  # fmt: skip
    if isinstance(value, Tensor):
        if value.ndim:
            raise RuntimeError(
                "index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                f"{value.ndim} dimension(s)."
            )
        v = a.cast(value.content(), dtype_of(x))
        kind = INDEX_FILL_TENSOR
    else:
        if isinstance(value, complex) and dtype_of(x).kind != "c":
            raise RuntimeError(
                "index_fill_(): Converting complex Scalar to non-complex type is not supported"
            )
        v = number(value, dtype_of(x))
        kind = INDEX_FILL_NUMBER
    return boxed(computed(INDEX_FILL, x, v, at, axis=axis), kind)
