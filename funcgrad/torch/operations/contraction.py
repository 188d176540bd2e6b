"""Products over dimensions by number: tensordot, kron, cross, vecdot.

Contractions take PyTorch's way through permutations and matrix products, so that their graphs are
PyTorch's and the work is done by BLAS.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.core.types import Array
from funcgrad.ops import arithmetic as a
from funcgrad.ops.index import getitem
from funcgrad.ops.shape import stack
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.operations import arithmetic, axes, complexes, products, reshaping
from funcgrad.torch.operations.common import axis_of, boxed, computed, mismatch, shape_of
from funcgrad.torch.operations.promotion import promoted
from funcgrad.torch.operations.record import node, operation
from funcgrad.torch.operations.reductions import sum as sum_

__all__ = ["cross", "kron", "tensordot"]


def _dims_of(dims: Any, x: Tensor, y: Tensor) -> tuple[list[int], list[int]]:
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, (int, np.integer)):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(x.ndim, y.ndim):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        return list(range(-dims, 0)), list(range(dims))
    first, second = (list(d) if isinstance(d, (tuple, list)) else [d] for d in dims)
    return first, second


@operation("tensordot", "a, b, object dims=2, out", variants="")
def tensordot(a: Tensor, b: Tensor, dims: Any) -> Tensor:
    """The sum of products over dimensions of both, by number from the end or as two lists."""
    left, right = _dims_of(dims, a, b)
    if len(left) != len(right):
        raise RuntimeError("both dimension lists should have same length")
    for i, j in zip(left, right, strict=True):
        n, m = shape_of(a)[axis_of(i, a.ndim)], shape_of(b)[axis_of(j, b.ndim)]
        if n != m and 1 not in (n, m):
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {n} in dim {i} and "
                f"second has size {m} in dim {j}"
            )
        if n != m:
            a = sum_(a, i, True) if m == 1 else a
            b = sum_(b, j, True) if n == 1 else b
    left, right = [axis_of(i, a.ndim) for i in left], [axis_of(j, b.ndim) for j in right]
    return _contracted(a, b, left, right)


def _contracted(x: Tensor, y: Tensor, left: list[int], right: list[int]) -> Tensor:
    mine = [k for k in range(x.ndim) if k not in left]
    others = [k for k in range(y.ndim) if k not in right]
    shape = tuple(shape_of(x)[k] for k in mine) + tuple(shape_of(y)[k] for k in others)
    p, q = axes.permute(x, (*mine, *left)), axes.permute(y, (*right, *others))
    if not mine and not others:
        out = products.dot(reshaping.flatten(p), reshaping.flatten(q))
    else:
        count = math.prod(shape_of(x)[k] for k in left)
        rows = math.prod(shape_of(x)[k] for k in mine)
        columns = math.prod(shape_of(y)[k] for k in others)
        out = products.mm(
            reshaping.reshape(p, (rows, count)), reshaping.reshape(q, (count, columns))
        )
    return reshaping.reshape(out, shape)


@operation("kron", "input, other, *, out", variants="method")
def kron(input: Tensor, other: Tensor) -> Tensor:
    """The Kronecker product."""
    n = max(input.ndim, other.ndim)
    left = (1,) * (n - input.ndim) + shape_of(input)
    right = (1,) * (n - other.ndim) + shape_of(other)
    first = tuple(size for s in left for size in (s, 1))
    second = tuple(size for s in right for size in (1, s))
    made = arithmetic.mul(_spaced(input, first), _spaced(other, second))
    shape = tuple(p * q for p, q in zip(left, right, strict=True))
    return reshaping.unsafe_viewed(made, shape)


def _spaced(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A view of `x` in a shape with more dimensions of extent 1."""
    return reshaping.viewed(x, shape, reshaping.UNSAFE_VIEW)


def _cross(x: Array, y: Array, axis: int) -> Array:
    def component(c: Array, k: int) -> Array:
        return getitem(c, (slice(None),) * axis + (k,))

    return stack(
        [
            a.subtract(
                a.multiply(component(x, i), component(y, j)),
                a.multiply(component(x, j), component(y, i)),
            )
            for i, j in ((1, 2), (2, 0), (0, 1))
        ],
        axis,
    )


CROSS = Composite("cross", _cross)


CROSS_NODE = node("LinalgCross", "self other", tells="dim")


@operation("linalg_cross", "input, other, *, int dim=-1, out", variants="", lies="contiguous")
def linalg_cross(input: Tensor, other: Tensor, dim: int) -> Tensor:
    """The cross product along a dimension of extent 3."""
    shapes = shape_of(input), shape_of(other)
    if len(shapes[0]) != len(shapes[1]):
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    axis = axis_of(dim, len(shapes[0]))
    extents = [s[axis] for s in shapes]
    if extents != [3, 3]:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {extents[0]} and "
            f"{extents[1]}"
        )
    message = mismatch(shapes)
    if message is not None:
        raise RuntimeError(message)
    x, y = promoted("cross", input, other)
    return boxed(computed(CROSS, x, y, axis=axis), CROSS_NODE)


@operation("cross", "input, other, int? dim=None, *, out", variants="method")
def cross(input: Tensor, other: Tensor, dim: int | None) -> Tensor:
    """The cross product; by default along the first dimension of extent 3."""
    if dim is None:
        shape = np.broadcast_shapes(shape_of(input), shape_of(other))
        if 3 not in shape:
            raise RuntimeError("no dimension of size 3 in input")
        dim = shape.index(3)
    return linalg_cross(input, other, dim=dim)


@operation("linalg_vecdot", "x, y, *, int dim=-1, out", variants="")
def vecdot(x: Tensor, y: Tensor, dim: int) -> Tensor:
    """The inner products along a dimension, `x` conjugated."""
    if x.ndim == y.ndim == 1:
        return products.vdot(x, y)
    return sum_(arithmetic.mul(complexes.conj(x), y), dim)
