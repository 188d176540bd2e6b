"""Contractions of two operands: dot, inner, vdot, outer, tensordot.

Each keeps NumPy's own function, so that values agree bit for bit. What is derived from them goes
through `dot` where the operands are matrices and through `tensordot` and `matmul` otherwise, hence
to BLAS.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from funcgrad.core.forms import Multilinear, align, multilinear
from funcgrad.core.layout import never_scalar
from funcgrad.core.primitive import Params, Sample
from funcgrad.core.tracer import Tracer, bind, operand, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.errors import located
from funcgrad.ops.arithmetic import cast, conjugate, multiply
from funcgrad.ops.product import as_column, as_row, common_dtype, matmul, pairs
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import (
    flat,
    lies_in_c_order,
    moveaxis,
    reshape,
    swap_last,
    transpose,
    unbroadcast,
)

Axes = tuple[tuple[int, ...], tuple[int, ...]]


def _free(rank: int, axes: Sequence[int]) -> tuple[int, ...]:
    return tuple(i for i in range(rank) if i not in axes)


def _sent_to(x: Array, places: Sequence[int]) -> Array:
    """`x` with its axis `i` moved to `places[i]`."""
    order = sorted(range(len(places)), key=places.__getitem__)
    return x if order == list(range(len(places))) else transpose(x, order)


def _contract_x(g: Array, x: ArrayType, y: Array, axes: Axes) -> Array:
    left, right = axes
    mine, others = _free(x.ndim, left), _free(type_of(y).ndim, right)
    over = tuple(range(len(mine), len(mine) + len(others)))
    c = bind(TENSORDOT, (g, y), {"axes": (over, others)})
    places = [*mine, *(left[right.index(b)] for b in sorted(right))]
    return unbroadcast(_sent_to(c, places), x)


def _contract_y(g: Array, x: Array, y: ArrayType, axes: Axes) -> Array:
    left, right = axes
    mine, others = _free(y.ndim, right), _free(type_of(x).ndim, left)
    c = bind(TENSORDOT, (x, g), {"axes": (others, tuple(range(len(others))))})
    places = [*(right[left.index(a)] for a in sorted(left)), *mine]
    return unbroadcast(_sent_to(c, places), y)


def _contract_lanes(size: int, x: Array, y: Array, axes: Axes) -> Array:
    """The contraction of two operands that both carry a batch axis: one matmul."""
    left, right = axes
    xs, ys = type_of(x).shape[1:], type_of(y).shape[1:]
    mine, others = _free(len(xs), left), _free(len(ys), right)
    x = transpose(x, (0, *(i + 1 for i in (*mine, *left))))
    y = transpose(y, (0, *(i + 1 for i in (*right, *others))))
    m, n = (tuple(s[i] for i in free) for s, free in ((xs, mine), (ys, others)))
    k = math.prod(xs[a] for a in left)
    out = matmul(reshape(x, (size, math.prod(m), k)), reshape(y, (size, k, math.prod(n))))
    return reshape(out, (size, *m, *n))


def _contraction(
    name: str,
    impl: Callable[..., Any],
    axes: Callable[..., Axes],
    samples: Callable[[], list[Sample]],
    transposes: tuple[Callable[..., Any], Callable[..., Any]] | None = None,
) -> Multilinear:
    """A product of two operands that is a `tensordot` over ``axes(rank, rank, **params)``."""

    def cotangent_x(g: Array, x: ArrayType, y: Array, **params: Any) -> Array:
        return _contract_x(g, x, y, axes(x.ndim, type_of(y).ndim, **params))

    def cotangent_y(g: Array, x: Array, y: ArrayType, **params: Any) -> Array:
        return _contract_y(g, x, y, axes(type_of(x).ndim, y.ndim, **params))

    def type_rule(x: ArrayType, y: ArrayType, **params: Any) -> ArrayType:
        left, right = axes(x.ndim, y.ndim, **params)
        shape = tuple(x.shape[i] for i in _free(x.ndim, left))
        shape += tuple(y.shape[i] for i in _free(y.ndim, right))
        return ArrayType(shape, common_dtype(x, y))

    def batch(size: int, xs: Sequence[Array], batched: Sequence[bool], params: Params) -> Any:
        x, y = xs
        ranks = [type_of(v).ndim - b for v, b in zip(xs, batched, strict=True)]
        left, right = axes(*ranks, **params)
        if all(batched):
            return _contract_lanes(size, x, y, (left, right))
        if batched[0]:
            return bind(TENSORDOT, xs, {"axes": (tuple(a + 1 for a in left), right)})
        out = bind(TENSORDOT, xs, {"axes": (left, tuple(b + 1 for b in right))})
        return moveaxis(out, ranks[0] - len(left), 0)

    rules = transposes or (cotangent_x, cotangent_y)
    return multilinear(name, impl, rules, type_rule, batch, samples)


def _dot_axes(m: int, n: int) -> Axes:
    return (m - 1,), (max(n - 2, 0),)


def _outer(x: Array, y: Array) -> Array:
    return multiply(as_column(x), as_row(y))


def _dot_x(g: Array, x: ArrayType, y: Array) -> Array:
    ranks = x.ndim, type_of(y).ndim
    if max(ranks) > 2:
        return _contract_x(g, x, y, _dot_axes(*ranks))
    if ranks[1] == 1:
        c = multiply(g, y) if ranks[0] == 1 else _outer(g, y)
    else:
        c = bind(DOT, (y, g) if ranks[0] == 1 else (g, swap_last(y)))
    return unbroadcast(c, x)


def _dot_y(g: Array, x: Array, y: ArrayType) -> Array:
    ranks = type_of(x).ndim, y.ndim
    if max(ranks) > 2:
        return _contract_y(g, x, y, _dot_axes(*ranks))
    if ranks[0] == 1:
        c = multiply(g, x) if ranks[1] == 1 else _outer(x, g)
    else:
        c = bind(DOT, (swap_last(x), g))
    return unbroadcast(c, y)


DOT = _contraction(
    "dot",
    np.dot,
    _dot_axes,
    lambda: pairs(
        ((2, 3), (3, 2)),
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 2)),
        ((2, 3), (2, 3, 2)),
        ((2, 2, 3), (3,)),
        ((0, 3), (3, 2)),
    ),
    (_dot_x, _dot_y),
)
INNER = _contraction(
    "inner",
    np.inner,
    lambda m, n: ((m - 1,), (n - 1,)),
    lambda: pairs(((2, 3), (2, 3)), ((3,), (3,)), ((2, 2, 3), (3,)), ((2, 3), (1, 2, 3))),
)
TENSORDOT = _contraction(
    "tensordot",
    lambda x, y, axes: np.tensordot(x, y, axes),
    lambda m, n, axes: axes,
    lambda: [
        Sample((draw((2, 3)), draw((3, 2), seed=1)), {"axes": ((1,), (0,))}),
        Sample((draw((2, 3, 2)), draw((2, 3), seed=1)), {"axes": ((0, 1), (0, 1))}),
        Sample((draw((2, 3, 4)), draw((4, 1, 2), seed=1)), {"axes": ((2, 0), (0, 2))}),
        Sample((draw((2,)), draw((3,), seed=1)), {"axes": ((), ())}),
        Sample((draw((2, 3)).astype(np.float32), draw((3,), seed=1)), {"axes": ((1,), (0,))}),
        Sample((draw((2, 3)) + 1j, draw((3, 2), seed=1)), {"axes": ((0, 1), (1, 0))}),
    ],
)


def _strong(x: Any) -> Array:
    """An operand that is no Python number: products make arrays of those, as NumPy's do."""
    x = operand(x)
    if isinstance(x, Tracer):
        return cast(x, x.type.dtype) if x.type.weak else x
    return np.asarray(x)[()] if type_of(x).weak else x


def _scaled_type(x: ArrayType, y: ArrayType) -> ArrayType:
    return ArrayType(np.broadcast_shapes(x.shape, y.shape), common_dtype(x, y))


# a product that BLAS computes, which rounds complex numbers otherwise than `multiply`
DOT_SCALAR: Multilinear = multilinear(
    "dot_scalar",
    np.dot,
    (
        lambda g, x, y: unbroadcast(multiply(g, y), x),
        lambda g, x, y: unbroadcast(multiply(g, x), y),
    ),
    _scaled_type,
    lambda size, xs, batched, params: multiply(*align(xs, batched)),
    sample=lambda: [
        Sample((draw((2, 3)), np.float64(1.5))),
        Sample((np.float64(1.5), draw((3,)).astype(np.float32))),
        Sample((np.complex128(1.5 - 1j), draw((3,)))),
        Sample((np.array(0.5), np.array(0.25))),
    ],
)


# `vdot` of reversed arrays and of arrays with gaps, which NumPy does not hand to BLAS as `dot` does
VDOT: Multilinear = multilinear(
    "vdot",
    np.vdot,
    (
        lambda g, x, y: unbroadcast(conjugate(multiply(g, y)), x),
        lambda g, x, y: unbroadcast(multiply(g, conjugate(x)), y),
    ),
    lambda x, y: ArrayType((), common_dtype(x, y)),
    lambda size, xs, batched, params: DOT.batch(size, (conjugate(xs[0]), xs[1]), batched, params),
    sample=lambda: [
        Sample((draw((3,)), draw((3,), seed=1)[::-1])),
        Sample((draw((3,)) - 0.5j, draw((3,), seed=1) + 1j)),
        Sample((draw((3,)), draw((3,), seed=1).astype(np.complex64))),
        Sample((draw((0,)), draw((0,)))),
    ],
)


def _by_scalar(x: Array, y: Array) -> Array:
    kinds = type_of(x).dtype.kind + type_of(y).dtype.kind
    return bind(DOT_SCALAR, (x, y)) if "c" in kinds else multiply(x, y)


def dot(x: Any, y: Any) -> Array:
    """NumPy's `dot`: the last axis of x with the last but one of y."""
    x, y = _strong(x), _strong(y)
    if not type_of(x).shape or not type_of(y).shape:
        return _by_scalar(x, y)
    _check_contracted("dot", x, y, -1, -2 if type_of(y).ndim > 1 else -1)
    return bind(DOT, (x, y))


def inner(x: Any, y: Any) -> Array:
    """The sum over the last axes of both."""
    x, y = _strong(x), _strong(y)
    if not type_of(x).shape or not type_of(y).shape:
        return _by_scalar(x, y)
    _check_contracted("inner", x, y, -1, -1)
    vectors = type_of(x).ndim == type_of(y).ndim == 1  # the product is the same, to the bit
    return bind(DOT if vectors else INNER, (x, y))


def _check_contracted(name: str, x: Array, y: Array, a: int, b: int) -> None:
    if type_of(x).shape[a] != type_of(y).shape[b]:
        raise ValueError(
            located(f"{name}: shapes {type_of(x).shape} and {type_of(y).shape} are not aligned")
        )


def vdot(x: Any, y: Any) -> Array:
    """The inner product of the flat arrays, the first one conjugated."""
    x, y = _strong(x), _strong(y)
    x, y = reshape(x, (type_of(x).size,)), reshape(y, (type_of(y).size,))
    if lies_in_c_order(x) and lies_in_c_order(y):
        return dot(conjugate(x), y)
    return bind(VDOT, (x, y))


def outer(x: Any, y: Any) -> Array:
    """All products of an element of x and one of y."""
    x, y = _strong(x), _strong(y)
    return multiply(reshape(flat(x), (type_of(x).size, 1)), reshape(flat(y), (1, type_of(y).size)))


def tensordot(x: Any, y: Any, axes: Any = 2) -> Array:
    """NumPy's `tensordot`."""
    x, y = operand(x), operand(y)
    m, n = type_of(x).ndim, type_of(y).ndim
    if isinstance(axes, (int, np.integer)):
        left, right = tuple(range(m - axes, m)), tuple(range(axes))
    else:
        left, right = (tuple(np.atleast_1d(a).tolist()) for a in axes)
    left, right = normalize_axis_tuple(left, m), normalize_axis_tuple(right, n)
    if len(left) != len(right) or any(
        type_of(x).shape[a] != type_of(y).shape[b] for a, b in zip(left, right, strict=True)
    ):
        raise ValueError(
            located(
                f"tensordot: axes {axes} of shapes {type_of(x).shape} and {type_of(y).shape} do "
                "not match"
            )
        )
    return bind(TENSORDOT, (x, y), {"axes": (left, right)})


TENSORDOT.lies = never_scalar
