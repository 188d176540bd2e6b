"""Products of matrices and vectors.

`matmul` takes the way of PyTorch, so that its graph is PyTorch's: the larger operand is folded to a
matrix where the other has at most two dimensions, else both are expanded to batches. Where nothing
is recorded it is NumPy's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core.types import Array
from funcgrad.ops import arithmetic as a
from funcgrad.ops import product
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.operations import arithmetic, axes, reshaping
from funcgrad.torch.operations.common import boxed, computed, mismatch, shape_of, traced
from funcgrad.torch.operations.converting import contiguous
from funcgrad.torch.operations.promotion import dtype_of, kind_of
from funcgrad.torch.operations.record import Promote, alias, apart, node, op, operation, refuse
from funcgrad.torch.operations.requirements import requirements

__all__ = ["bmm", "dot", "ger", "inner", "matmul", "mm", "mv", "outer", "vdot"]

Shape = tuple[int, ...]

# -------------------------------------------------------------------------------- what may meet


def _names(names: Any, x: Array, y: Array) -> list[str]:
    return [names(kind_of(c)) for c in (x, y)]


def _same_dtype(x: Array, y: Array) -> None:
    if dtype_of(x) != dtype_of(y):
        first, second = _names(dtypes.c_name, x, y)
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {first} != {second}"
        )


def _check_vectors(x: Array, y: Array) -> None:
    left, right = shape_of(x), shape_of(y)
    if len(left) != 1 or len(right) != 1:
        raise RuntimeError(f"1D tensors expected, but got {len(left)}D and {len(right)}D tensors")
    if dtype_of(x) != dtype_of(y):
        first, second = _names(dtypes.scalar_name, x, y)
        raise RuntimeError(
            f"dot : expected both vectors to have same dtype, but found {first} and {second}"
        )
    if left != right:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{left[0]}] and src [{right[0]}] to have "
            f"the same number of elements, but got {left[0]} and {right[0]} elements respectively"
        )


check_matrix = requirements("x, what", """
    rank(x) == 2: {what} must be a matrix
""")  # fmt: skip


check_inner = requirements("left, right", """
    left[1] == right[0]: mat1 and mat2 shapes cannot be multiplied ({left[0]}x{left[1]} and
        {right[0]}x{right[1]})
""")  # fmt: skip


def _check_matrices(x: Array, y: Array) -> None:
    check_matrix(x, "self")
    check_matrix(y, "mat2")
    check_inner(shape_of(x), shape_of(y))
    _same_dtype(x, y)


check_matrix_vector = requirements("mat, vec, added", """
    vec: IndexError: Dimension specified as 0 but tensor has no dimensions
    len(mat) == 2 and len(vec) == 1: vector + matrix @ vector expected, got {added}, {len(mat)},
        {len(vec)}
    mat[1] == vec[0]: size mismatch, got input ({mat[0]}), mat ({mat[0]}x{mat[1]}), vec ({vec[0]})
""")  # fmt: skip


def _check_matrix_and_vector(x: Array, y: Array) -> None:
    check_matrix_vector(shape_of(x), shape_of(y), 1)
    _same_dtype(x, y)


def check_batches(x: Array, y: Array) -> None:
    for c, name in ((x, "batch1"), (y, "batch2")):
        if len(shape_of(c)) != 3:
            raise RuntimeError(f"{name} must be a 3D tensor")
    left, right = shape_of(x), shape_of(y)
    if (left[0], left[2]) != right[:2]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{left[0]}, "
            f"{left[2]}] but got: [{right[0]}, {right[1]}]."
        )
    if dtype_of(x) != dtype_of(y):
        first, second = _names(dtypes.scalar_name, x, y)
        raise RuntimeError(f"expected scalar type {first} but found {second}")


def _checked(check: Any, kernel: str = "") -> Promote:
    """Two operands that `check` has nothing against; `kernel` has no booleans."""

    def promote(name: str, x: Any, y: Any, out_dtype: Any = None) -> Sequence[Array]:
        if out_dtype is not None:
            raise NotImplementedError(
                f"Could not run 'aten::{name}.dtype' with arguments from the 'CPU' backend."
            )
        x, y = apart(name, x, y)
        check(x, y)
        if kernel:
            refuse({"b": kernel}, x)
        return x, y

    return promote


# ------------------------------------------------------------------------------ the four kernels

PAIR = "input, mat2, *, out"
WIDENING = f"{PAIR} | input, mat2, dtype out_dtype, *, out"

dot = op(
    "dot", "input, tensor, *, out", core=product.matmul, promote=_checked(_check_vectors, "dot"),
    node=node("Dot", "self tensor"), variants="method", lies="",
    doc="The inner product of two vectors.",
)  # fmt: skip
vdot = op(
    "vdot", "input, other, *, out", promote=_checked(_check_vectors),
    core=Composite("vdot", lambda x, y: product.matmul(a.conjugate(x), y)),
    node=node("Vdot", "self other"), variants="method", remembers=False, lies="",
    doc="The inner product of two vectors, the first one conjugated.",
)  # fmt: skip
MM = node("Mm", "self mat2", tells="self_sym_sizes mat2_sym_sizes", of="matmul")
mm = op(
    "mm", WIDENING, method_signature=PAIR, core=product.matmul,
    promote=_checked(_check_matrices, "addmm_impl_cpu_"), node=MM,
    variants="method", lies="", doc="The product of two matrices.",
)  # fmt: skip
mv = op(
    "mv", "input, vec, *, out", core=product.matmul,
    promote=_checked(_check_matrix_and_vector, "addmm_impl_cpu_"), node=node("Mv", "self vec"),
    variants="method", lies="", doc="The product of a matrix and a vector.",
)  # fmt: skip
bmm = op(
    "bmm", WIDENING, method_signature=PAIR, core=product.matmul,
    promote=_checked(check_batches, "baddbmm_with_gemm"), node=node("Bmm", "self mat2"),
    variants="method", lies="", doc="The products of two batches of matrices.",
)  # fmt: skip


# ------------------------------------------------------------------------------------ matmul


@operation("matmul", "input, other, *, out", variants="method", remembers=True, operator="matmul")
def matmul(input: Tensor, other: Tensor) -> Tensor:
    """The matrix product, broadcast over leading dimensions."""
    ranks = len(shape_of(input)), len(shape_of(other))
    if 0 in ranks:
        raise RuntimeError(
            "both arguments to matmul need to be at least 1D, but they are "
            f"{ranks[0]}D and {ranks[1]}D"
        )
    return _product(input, other, ranks)


def _product(x: Tensor, y: Tensor, ranks: tuple[int, int]) -> Tensor:
    if ranks == (1, 1):
        return dot(x, y)
    if ranks == (2, 1):
        return mv(x, y)
    if ranks == (1, 2):
        row = mm(axes.unsqueeze(x, 0), y)
        return row.squeeze_(0)
    if ranks == (2, 2):
        return mm(x, y)
    if traced(x.content()) or traced(y.content()):
        _same_dtype(x.content(), y.content())
        return boxed(computed(product.matmul, x.content(), y.content()))
    if _folds(x, y):
        return _folded(x, y)
    return _batched(x, y)


def _folds(x: Tensor, y: Tensor) -> bool:
    """Whether the larger operand becomes a matrix: no copy of it, or of a large gradient."""
    larger = x.ndim >= y.ndim
    big, small = (x, y) if larger else (y, x)
    if big.ndim < 3 or small.ndim > 2:
        return False
    if small.requires_grad:
        return True
    if x.ndim == 2:
        return False
    if not big.numel():
        return True
    shape, steps = list(big.shape), list(big.stride())
    if not larger:
        shape[-2:], steps[-2:] = shape[:-3:-1], steps[:-3:-1]
    return all(steps[k] == steps[k + 1] * shape[k + 1] for k in range(len(shape) - 2))


def _folded(x: Tensor, y: Tensor) -> Tensor:
    larger = x.ndim >= y.ndim
    big = x if larger else axes.transpose(y, -2, -1)
    small = y if larger else (axes.t(x) if x.ndim == 2 else x)
    shape = shape_of(big)
    flat = reshaping.reshape(big, (math.prod(shape[:-1]), shape[-1]))
    if small.ndim == 1:
        return reshaping.unsafe_viewed(mv(flat, small), shape[:-1])
    out = mm(flat, small)
    out = reshaping.unsafe_viewed(out, (*shape[:-1], shape_of(out)[1]))
    return out if larger else contiguous(axes.transpose(out, -2, -1))


def _batched(x: Tensor, y: Tensor) -> Tensor:
    left, right = shape_of(x), shape_of(y)
    if len(left) == len(right) == 3 and left[0] != right[0]:
        # a batch of one is folded instead, so that its gradient needs no sum over copies
        if left[0] == 1 and x.requires_grad:
            return matmul(axes.squeeze(x, 0), y)
        if right[0] == 1 and y.requires_grad:
            return matmul(x, axes.squeeze(y, 0))
    rows = left[-2:] if len(left) > 1 else (1, left[0])
    columns = right[-2:] if len(right) > 1 else right
    message = mismatch([left[:-2], right[:-2]])
    if message is not None:
        raise RuntimeError(message)
    lead = np.broadcast_shapes(left[:-2], right[:-2])
    count = math.prod(lead)
    first = reshaping.reshape(axes.expand(x, (*lead, *rows)), (count, *rows))
    wide = axes.expand(y, (*lead, *columns))
    second = reshaping.reshape(wide, (count, *columns))
    shape = (*lead, *(rows[:1] if len(left) > 1 else ()))
    if len(right) == 1:
        out = axes.squeeze(bmm(first, axes.unsqueeze(second, 2)), -1)
        return reshaping.unsafe_viewed(out, shape)
    final = (*shape, right[-1])
    return reshaping.unsafe_viewed(bmm(first, second), final)


# ------------------------------------------------------------------------------- outer, inner


@operation("outer", "input, vec2, *, out", variants="method", remembers=True)
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """All products of an element of one vector and one of another."""
    for x, name in ((input, "self"), (vec2, "vec2")):
        if len(shape_of(x)) != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {len(shape_of(x))}-D")
    return arithmetic.mul(reshaping.reshape(input, (input.numel(), 1)), vec2)


ger = alias("ger", outer)


@operation("inner", "input, other, *, out", variants="method")
def inner(input: Tensor, other: Tensor) -> Tensor:
    """The sum of products over the last dimensions of both; a product with a number."""
    from funcgrad.torch.operations.contraction import tensordot

    left, right = shape_of(input), shape_of(other)
    if not left or not right:
        return arithmetic.mul(input, other)
    if left[-1] != right[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(left)} and {list(right)}"
        )
    return tensordot(input, other, ([-1], [-1]))
