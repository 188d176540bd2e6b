"""Distances between the rows of one matrix, or of two: `cdist`, `pdist`."""

from __future__ import annotations

import math

import numpy as np

from funcgrad.core.tracer import bind
from funcgrad.core.types import Array
from funcgrad.ops import arithmetic as a
from funcgrad.ops import norms
from funcgrad.ops.constant import STOP_GRADIENT
from funcgrad.ops.index import gather
from funcgrad.ops.matrices import drop, row
from funcgrad.ops.nonlinear_reductions import max as maximum
from funcgrad.ops.product import matmul
from funcgrad.ops.shape import reshape, swap_last
from funcgrad.ops.sums import sum as total
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.narrow import is_half
from funcgrad.torch.operations.common import boxed, computed, mismatch, shape_of
from funcgrad.torch.operations.promotion import dtype_of, kind_of
from funcgrad.torch.operations.record import node, operation
from funcgrad.torch.operations.recorded import elementwise_refusal
from funcgrad.torch.operations.requirements import requires

__all__ = ["cdist", "pdist"]

CDIST, PDIST = node("Cdist", "result x1 x2"), node("Pdist", "result self")
# With more rows than these PyTorch computes Euclidean distances by a product of matrices.
FEW = 25
BY_PRODUCT = {
    "use_mm_for_euclid_dist_if_necessary": None,
    "use_mm_for_euclid_dist": True,
    "donot_use_mm_for_euclid_dist": False,
}


def _directly(x: Array, y: Array, p: float) -> Array:
    *lead, rows, columns = shape_of(y)
    return _length(a.subtract(row(x), reshape(y, (*lead, 1, rows, columns))), p)


def _length(gap: Array, p: float) -> Array:
    if not shape_of(gap)[-1]:
        return total(gap, -1)
    if not math.isinf(p):
        return norms.norm(gap, p, -1)
    # Of equal elements PyTorch gives each the whole cotangent here, where norms share it.
    sizes = a.absolute(gap)
    largest = bind(STOP_GRADIENT, (maximum(sizes, -1, True),))
    over = a.where(a.equal(sizes, largest), a.subtract(sizes, largest), a.multiply(0.0, largest))
    return a.add(drop(largest), total(over, -1))


def _by_product(x: Array, y: Array) -> Array:
    """The root of |x|² - 2 x·y + |y|², without a derivative where it is zero."""
    zero, one = (np.asarray(v, dtype_of(x))[()] for v in (0, 1))
    squares = a.add(total(a.multiply(x, x), -1, True), swap_last(total(a.multiply(y, y), -1, True)))
    found = a.subtract(squares, a.multiply(2, matmul(x, swap_last(y))))
    apart = a.greater(found, zero)
    return a.where(apart, a.sqrt(a.where(apart, found, one)), zero)


def _of_pairs(x: Array, p: float) -> Array:
    rows, columns = np.triu_indices(shape_of(x)[0], 1)
    return _length(a.subtract(gather(x, rows), gather(x, columns)), p)


DIRECTLY, BETWEEN = Composite("cdist", _directly), Composite("euclid_dist", _by_product)
OF_PAIRS = Composite("pdist", _of_pairs)


def _check(name: str, x: Array, shown: str) -> None:
    if dtype_of(x).kind != "f":
        told = f", {shown} got: {dtypes.scalar_name(kind_of(x))}" if shown else ""
        raise RuntimeError(f"{name} only supports floating-point dtypes{told}")


@operation(
    "cdist",
    "x1, Tensor x2, float p=2, str compute_mode='use_mm_for_euclid_dist_if_necessary'",
    variants="",
)
def cdist(x1: Tensor, x2: Tensor, p: float, compute_mode: str) -> Tensor:
    """The `p`-norm of the difference of each row of `x1` and each of `x2`.

    The leading dimensions are broadcast. Where two rows are equal the gradient is 0.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.cdist(torch.eye(2), torch.zeros(1, 2))
    tensor([[1.],
            [1.]])
    """
    if compute_mode not in BY_PRODUCT:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    xs = x1.content(), x2.content()
    for k, x in enumerate(xs, 1):
        if len(shape_of(x)) < 2:
            raise RuntimeError(
                f"cdist only supports at least 2D tensors, X{k} got: {len(shape_of(x))}D"
            )
    (*lead1, rows, n), (*lead2, others, m) = map(shape_of, xs)
    if n != m:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {n} X2: {m}")
    for k, x in enumerate(xs, 1):
        _check("cdist", x, f"X{k}")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    if dtype_of(xs[0]) != dtype_of(xs[1]):
        first, second = (dtypes.scalar_name(kind_of(x)) for x in xs)
        raise RuntimeError(f"expected scalar type {first} but found {second}")
    if is_half(dtype_of(xs[0])):
        raise elementwise_refusal("cdist", xs[0])
    try:
        np.broadcast_shapes(tuple(lead1), tuple(lead2))
    except ValueError:
        raise RuntimeError(mismatch([tuple(lead1), tuple(lead2)])) from None
    by_product = BY_PRODUCT[compute_mode]
    if by_product is None:
        by_product = rows > FEW or others > FEW
    if by_product and p == 2:
        return boxed(computed(BETWEEN, *xs), CDIST)
    return boxed(computed(DIRECTLY, *xs, p=float(p)), CDIST)


@operation("pdist", "input, float p=2", variants="")
@requires("rank(input) == 2: pdist only supports 2D tensors, got: {rank(input)}D")
def pdist(input: Tensor, p: float) -> Tensor:
    """The `p`-norm of the difference of each pair of rows: (0, 1), (0, 2), … (1, 2), …"""
    x = input.content()
    _check("pdist", x, "")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    if is_half(dtype_of(x)):
        raise elementwise_refusal("pdist", x)
    return boxed(computed(OF_PAIRS, x, p=math.inf if math.isinf(p) else float(p)), PDIST)
