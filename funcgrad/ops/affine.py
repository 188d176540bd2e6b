"""`addmm`: a matrix product added to an array, both scaled. It stands on products and arithmetic.

As one primitive it is one node of a tape; the compiler takes it apart, so that the sum is fused
with what follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core.forms import Explicit, align, explicit
from funcgrad.core.primitive import Params, Sample
from funcgrad.core.tracer import bind, operand, type_of
from funcgrad.core.types import Array, ArrayType, zeros
from funcgrad.ops.arithmetic import add, multiply
from funcgrad.ops.product import MATMUL, matmul, matmul_left, matmul_right
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import broadcast_as, swap_last, unbroadcast

__all__ = ["ADDMM", "addmm", "combined", "composed"]


def _scaled(x: Array, factor: Any) -> Array:
    return x if factor == 1 else multiply(x, factor)


def combined(x: Array, product: Array, beta: Any, alpha: Any) -> Array:
    """``beta * x + alpha * product``."""
    scaled = _scaled(product, alpha)
    if beta != 0:
        return add(_scaled(x, beta), scaled)
    avals = type_of(x), type_of(scaled)  # a NaN of `x` does not count
    shape = np.broadcast_shapes(*(aval.shape for aval in avals))
    dtype = np.result_type(*(aval.dtype for aval in avals))
    return add(broadcast_as(scaled, shape, dtype), dtype.type(0))


def composed(x: Array, a: Array, b: Array, *, beta: Any, alpha: Any) -> Array:
    """`addmm` in simpler operations, for the compiler."""
    return combined(x, matmul(a, b), beta, alpha)


def _addmm(x: Any, a: Any, b: Any, beta: Any, alpha: Any) -> Any:
    out = MATMUL.impl(a, b)
    if type(out) is np.ndarray and beta == alpha == 1 and x.dtype is out.dtype:
        out += x
        return out
    return combined(x, out, beta, alpha)


def _type(x: ArrayType, a: ArrayType, b: ArrayType, *, beta: Any, alpha: Any) -> ArrayType:
    product = MATMUL.type_rule((a, b), {})
    shape = np.broadcast_shapes(x.shape, product.shape)
    return ArrayType(shape, np.result_type(x.dtype, product.dtype))


def _pull_x(g: Any, _y: Any, _x: Any, _a: Any, _b: Any, *, beta: Any, alpha: Any) -> Array:
    return zeros(_x) if beta == 0 else unbroadcast(_scaled(g, beta), _x)


def _pull_a(g: Any, _y: Any, _x: Any, _a: Any, b: Any, *, beta: Any, alpha: Any) -> Array:
    return matmul_left(_scaled(g, alpha), _a, b)


def _pull_b(g: Any, _y: Any, _x: Any, a: Any, _b: Any, *, beta: Any, alpha: Any) -> Array:
    wide = _scaled(g, alpha)
    if len(_b.shape) != 2 or type_of(a).ndim != 2:
        return matmul_right(wide, a, _b)
    # most often `b` is a transposed weight, whose own cotangent so lies in C order
    return unbroadcast(swap_last(matmul(swap_last(wide), a)), _b)


def _batch(size: int, xs: Sequence[Array], batched: Sequence[bool], params: Params) -> Any:
    x, a, b = xs
    lanes = any(batched[1:])
    product = MATMUL.batch(size, (a, b), batched[1:], {}) if lanes else matmul(a, b)
    x, product = align((x, product), (batched[0], lanes))
    return combined(x, product, params["beta"], params["alpha"])


def _samples() -> list[Sample]:
    def case(x: Any, a: Any, b: Any, beta: Any = 1, alpha: Any = 1) -> Sample:
        return Sample((x, a, b), {"beta": beta, "alpha": alpha})

    x, a, b = draw((2,), seed=2), draw((3, 4)), draw((4, 2), seed=1)
    return [
        case(x, a, b),
        case(draw((3, 2), seed=2), a, draw((2, 4), seed=1).T, 0.5, -2.0),
        case(draw((3, 1), seed=2), a, b, 0.0, 1.0),
        case(np.float64(0.5), a, draw((4,), seed=1)),
        case(x, draw((2, 3, 4)), b),
        case(x.astype(np.float32), a.astype(np.float32), b.astype(np.float32)),
        case(x.astype(np.float32), a, b),
        case(x + 0.5j, a + 1j * draw((3, 4), seed=3), b),
        case(x, draw((0, 4)), b),
        case(x, draw((3, 0)), draw((0, 2))),
    ]


ADDMM: Explicit = explicit(
    "addmm",
    _addmm,
    type_rule=_type,
    vjp=(_pull_x, _pull_a, _pull_b),
    batch=_batch,
    sample=_samples,
)
ADDMM.composed = composed


def addmm(x: Any, a: Any, b: Any, beta: Any = 1, alpha: Any = 1) -> Array:
    """``beta * x + alpha * (a @ b)``."""
    return bind(ADDMM, (operand(x), operand(a), operand(b)), {"beta": beta, "alpha": alpha})
