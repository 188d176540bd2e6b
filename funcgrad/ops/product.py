"""The matrix product. It keeps NumPy's own function, so that values agree bit for bit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core.forms import explicit, multilinear
from funcgrad.core.memory import empty
from funcgrad.core.primitive import Params, Sample
from funcgrad.core.tracer import bind, operand, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.errors import located
from funcgrad.ops.arithmetic import multiply
from funcgrad.ops.matrices import column, row
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import broadcast_to, reshape, swap_last, unbroadcast

ndarray = np.ndarray
LARGE = 1 << 13  # elements of a product: below it fits into memory that the C library keeps


def common_dtype(*types: ArrayType) -> Any:
    """The dtype that a product of operands of these types has."""
    return np.result_type(*(t.dtype for t in types))


def as_row(x: Array) -> Array:
    """A vector as a matrix of one row; anything else as it is."""
    shape = type_of(x).shape
    return reshape(x, (1, *shape)) if len(shape) == 1 else x


def as_column(y: Array) -> Array:
    """A vector as a matrix of one column; anything else as it is."""
    shape = type_of(y).shape
    return reshape(y, (*shape, 1)) if len(shape) == 1 else y


def _full_cotangent(g: Array, x_rank: int, y_rank: int) -> Array:
    """The cotangent as if both operands had been matrices."""
    shape = type_of(g).shape
    if y_rank == 1:
        shape = (*shape, 1)
    if x_rank == 1:
        shape = (*shape[:-1], 1, shape[-1])
    return reshape(g, shape)


def matmul_left(g: Array, x: ArrayType, y: Array) -> Array:
    """The cotangent of the left operand, of which only the type counts."""
    if x.ndim == type_of(y).ndim == 1:
        return unbroadcast(multiply(g, y), x)
    wide = _full_cotangent(g, x.ndim, type_of(y).ndim)
    c = matmul(wide, swap_last(as_column(y)))
    if x.ndim == 1:
        return reshape(unbroadcast(c, ArrayType((1, *x.shape), x.dtype)), x.shape)
    return unbroadcast(c, x)


def matmul_right(g: Array, x: Array, y: ArrayType) -> Array:
    """The cotangent of the right operand, of which only the type counts."""
    if type_of(x).ndim == y.ndim == 1:
        return unbroadcast(multiply(g, x), y)
    wide = _full_cotangent(g, type_of(x).ndim, y.ndim)
    c = matmul(swap_last(as_row(x)), wide)
    if y.ndim == 1:
        return reshape(unbroadcast(c, ArrayType((*y.shape, 1), y.dtype)), y.shape)
    return unbroadcast(c, y)


def _matmul_type(x: ArrayType, y: ArrayType) -> ArrayType:
    if not x.ndim or not y.ndim:
        raise ValueError(located("matmul: an operand has no axes; use multiply for scalars"))
    a = x.shape if x.ndim > 1 else (1, *x.shape)
    b = y.shape if y.ndim > 1 else (*y.shape, 1)
    if a[-1] != b[-2]:
        raise ValueError(located(f"matmul: shapes {x.shape} and {y.shape} do not fit together"))
    lead = np.broadcast_shapes(a[:-2], b[:-2])
    tail = (() if x.ndim == 1 else (a[-2],)) + (() if y.ndim == 1 else (b[-1],))
    return ArrayType(lead + tail, common_dtype(x, y))


def _matmul_batch(size: int, xs: Sequence[Array], batched: Sequence[bool], params: Params) -> Any:
    ranks = [type_of(x).ndim - b for x, b in zip(xs, batched, strict=True)]
    x, y = xs
    if ranks[0] == 1:
        shape = type_of(x).shape
        x = reshape(x, (*shape[:-1], 1, shape[-1]))
    if ranks[1] == 1:
        y = reshape(y, (*type_of(y).shape, 1))
    deepest = max(2, *ranks)
    lifted = []
    for z, b in zip((x, y), batched, strict=True):
        shape = type_of(z).shape
        if b:
            z = reshape(z, shape[:1] + (1,) * (deepest + 1 - len(shape)) + shape[1:])
        lifted.append(z)
    out = matmul(*lifted)
    shape = type_of(out).shape
    if ranks[1] == 1:
        shape = shape[:-1]
    if ranks[0] == 1:
        shape = (*shape[:-2], shape[-1]) if ranks[1] != 1 else shape[:-1]
    return reshape(out, shape)


def pairs(*shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> list[Sample]:
    """Samples of two operands of these shapes; the first also in float32 and complex."""
    out = [Sample((draw(a), draw(b, seed=1))) for a, b in shapes]
    a, b = shapes[0]
    out.append(Sample((draw(a).astype(np.float32), draw(b, seed=1))))
    out.append(Sample((draw(a) + 1j * draw(a, seed=2), draw(b, seed=1))))
    return out


def _matmul(x: Any, y: Any, out: Any = None) -> Any:
    """NumPy's product, whose large results lie in memory that has been used before."""
    if (
        out is None
        and type(x) is type(y) is ndarray
        and x.ndim == y.ndim == 2
        and x.dtype is y.dtype
        and x.shape[0] * y.shape[1] >= LARGE
    ):
        memory = empty((x.shape[0], y.shape[1]), x.dtype)
        if x.shape[1] != 1 or x.dtype.kind != "f":
            return np.matmul(x, y, out=memory)
        # NumPy takes several times as long; it adds to 0, which makes +0 of -0
        return np.add(np.multiply(x, y, out=memory), 0.0, out=memory)
    if out is None and type(x) is type(y) is ndarray and x.ndim == y.ndim == 3:
        count, rows, columns = len(x), x.shape[1], y.shape[2]
        plain = x.dtype is y.dtype and count == len(y) and x.strides[0] > 0 < y.strides[0]
        if plain and count * rows * columns >= LARGE:
            out = empty((count, rows, columns), x.dtype)
    return np.matmul(x, y, out=out)


MATMUL = multilinear(
    "matmul",
    _matmul,
    (matmul_left, matmul_right),
    _matmul_type,
    _matmul_batch,
    sample=lambda: pairs(
        ((2, 3), (3, 2)),
        ((3,), (3, 2)),
        ((2, 3), (3,)),
        ((3,), (3,)),
        ((2, 1, 2, 3), (3, 3, 2)),
        ((4, 2, 3), (3,)),
        ((3,), (2, 3, 2)),
        ((0, 3), (3, 2)),
    ),
)


def _vecmat(v: Any, m: Any) -> Any:
    if not hasattr(np, "vecmat"):  # NumPy 2.0 and 2.1
        return np.matmul(v[..., None, :], m)[..., 0, :]
    return np.vecmat(np.conjugate(v), m)  # it conjugates


# NumPy adds up the terms of `vecmat` in another order than those of `matmul`.
VECMAT = explicit(
    "vecmat",
    _vecmat,
    signature="(n),(n,k)->(k)",
    type_rule=lambda v, m: ArrayType((*v.shape[:-1], m.shape[-1]), common_dtype(v, m)),
    vjp=(
        lambda g, _, _v, m: reshape(matmul(row(g), swap_last(m)), _v.shape),
        lambda g, _, v, _m: matmul(column(v), row(g)),
    ),
    sample=lambda: pairs(((3,), (3, 2)), ((2, 3), (2, 3, 2))),
)


def vecmat(v: Array, m: Array) -> Array:
    """Vectors times matrices, the vectors not conjugated; leading axes broadcast."""
    (*lead, n), (*others, _, k) = type_of(v).shape, type_of(m).shape
    whole = np.broadcast_shapes(tuple(lead), tuple(others))
    return bind(VECMAT, (broadcast_to(v, (*whole, n)), broadcast_to(m, (*whole, n, k))))


def matmul(x: Any, y: Any) -> Array:
    """The matrix product over the last two axes; the others broadcast."""
    x, y = operand(x), operand(y)
    return bind(MATMUL, (x, y))
