"""Products of matrices and vectors.

`matmul` takes the way of PyTorch, so that its graph is PyTorch's: the larger operand is folded to a
matrix where the other has at most two dimensions, else both are expanded to batches. Where nothing
is recorded it is NumPy's.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.core.types import Array
from funcgrad.ops import arithmetic as a
from funcgrad.ops import product
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.operations import arithmetic, axes, reshaping
from funcgrad.torch.operations.common import (
    boxed,
    computed,
    install,
    into,
    method,
    mismatch,
    named,
    shape_of,
    traced,
)
from funcgrad.torch.operations.converting import contiguous
from funcgrad.torch.operations.promotion import content, dtype_of, kind_of
from funcgrad.torch.operations.recorded import refuse_kinds
from funcgrad.torch.remembered import remembered

__all__ = ["bmm", "dot", "ger", "inner", "matmul", "mm", "mv", "outer", "vdot"]

Shape = tuple[int, ...]

# ------------------------------------------------------------------------------ the four kernels

DOT = named("DotBackward0", "", "self", "tensor")
VDOT = named("VdotBackward0", "", "self", "other")
MV = named("MvBackward0", "", "self", "vec")
MM = named("MmBackward0", "", "self", "mat2")
BMM = named("BmmBackward0", "", "self", "mat2")


def _same_dtype(x: Array, y: Array) -> None:
    if dtype_of(x) != dtype_of(y):
        first, second = (dtypes.c_name(kind_of(c)) for c in (x, y))
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {first} != {second}"
        )


def _check_vectors(x: Array, y: Array) -> None:
    left, right = shape_of(x), shape_of(y)
    if len(left) != 1 or len(right) != 1:
        raise RuntimeError(f"1D tensors expected, but got {len(left)}D and {len(right)}D tensors")
    if dtype_of(x) != dtype_of(y):
        first, second = (dtypes.scalar_name(kind_of(c)) for c in (x, y))
        raise RuntimeError(
            f"dot : expected both vectors to have same dtype, but found {first} and {second}"
        )
    if left != right:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{left[0]}] and src [{right[0]}] to have "
            f"the same number of elements, but got {left[0]} and {right[0]} elements respectively"
        )


@method()
@remembered
def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inner product of two vectors."""
    x, y = content(input, "dot"), content(tensor, "dot", "tensor", 2)
    _check_vectors(x, y)
    refuse_kinds("dot", "b", x)
    result = boxed(computed(product.matmul, x, y), DOT)
    return result if out is None else into(out, result, "dot")


@method()
def vdot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inner product of two vectors, the first one conjugated."""
    x, y = content(input, "vdot"), content(other, "vdot", "other", 2)
    _check_vectors(x, y)
    result = boxed(computed(VDOT_OPERATION, x, y), VDOT)
    return result if out is None else into(out, result, "vdot")


VDOT_OPERATION = Composite("vdot", lambda x, y: product.matmul(a.conjugate(x), y))


def check_matrix(x: Array, what: str) -> None:
    if len(shape_of(x)) != 2:
        raise RuntimeError(f"{what} must be a matrix")


def _refuse_bool(x: Array) -> None:
    refuse_kinds("addmm_impl_cpu_", "b", x)


@method()
@remembered
def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of two matrices."""
    x, y = content(input, "mm"), content(mat2, "mm", "mat2", 2)
    check_matrix(x, "self")
    check_matrix(y, "mat2")
    check_inner(shape_of(x), shape_of(y))
    _same_dtype(x, y)
    _refuse_bool(x)
    result = boxed(computed(product.matmul, x, y), MM)
    return result if out is None else into(out, result, "mm")


def check_inner(left: Shape, right: Shape) -> None:
    if left[1] != right[0]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({left[0]}x{left[1]} and "
            f"{right[0]}x{right[1]})"
        )


@method()
@remembered
def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of a matrix and a vector."""
    x, y = content(input, "mv"), content(vec, "mv", "vec", 2)
    check_matrix_vector(shape_of(x), shape_of(y), 1)
    _same_dtype(x, y)
    _refuse_bool(x)
    result = boxed(computed(product.matmul, x, y), MV)
    return result if out is None else into(out, result, "mv")


def check_matrix_vector(mat: Shape, vec: Shape, added: int) -> None:
    if not vec:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    if len(mat) != 2 or len(vec) != 1:
        raise RuntimeError(
            f"vector + matrix @ vector expected, got {added}, {len(mat)}, {len(vec)}"
        )
    if mat[1] != vec[0]:
        raise RuntimeError(
            f"size mismatch, got input ({mat[0]}), mat ({mat[0]}x{mat[1]}), vec ({vec[0]})"
        )


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
        first, second = (dtypes.scalar_name(kind_of(c)) for c in (x, y))
        raise RuntimeError(f"expected scalar type {first} but found {second}")


@method()
@remembered
def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The products of two batches of matrices."""
    x, y = content(input, "bmm"), content(mat2, "bmm", "mat2", 2)
    check_batches(x, y)
    refuse_kinds("baddbmm_with_gemm", "b", x)
    result = boxed(computed(product.matmul, x, y), BMM)
    return result if out is None else into(out, result, "bmm")


# ------------------------------------------------------------------------------------ matmul


@method()
@remembered
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The matrix product, broadcast over leading dimensions."""
    x, y = content(input, "matmul"), content(other, "matmul", "other", 2)
    ranks = len(shape_of(x)), len(shape_of(y))
    if 0 in ranks:
        raise RuntimeError(
            "both arguments to matmul need to be at least 1D, but they are "
            f"{ranks[0]}D and {ranks[1]}D"
        )
    result = _product(input, other, ranks)
    return result if out is None else into(out, result, "matmul")


def _product(x: Tensor, y: Tensor, ranks: tuple[int, int]) -> Tensor:
    if ranks == (1, 1):
        return dot(x, y)
    if ranks == (2, 1):
        return mv(x, y)
    if ranks == (1, 2):
        row = mm(axes.unsqueeze(x, 0), y)
        return row.squeeze_(0)  # type: ignore[no-any-return]
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


def _operator(self: Tensor, other: Any) -> Any:
    if isinstance(other, np.ndarray):
        from funcgrad.torch.operations.creation import as_tensor

        other = as_tensor(other)
    return matmul(self, other) if isinstance(other, Tensor) else NotImplemented


def _swapped_operator(self: Tensor, other: Any) -> Any:
    return matmul(other, self) if isinstance(other, Tensor) else NotImplemented


install(__matmul__=_operator, __rmatmul__=_swapped_operator)


# ------------------------------------------------------------------------------- outer, inner


@method()
@remembered
def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """All products of an element of one vector and one of another."""
    for x, name in ((input, "self"), (vec2, "vec2")):
        if len(shape_of(content(x, "outer"))) != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {len(shape_of(x))}-D")
    column = reshaping.reshape(input, (input.numel(), 1))
    result = arithmetic.mul(column, vec2)
    return result if out is None else into(out, result, "outer")


ger = outer
install(ger=outer)


@method()
def inner(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sum of products over the last dimensions of both; a product with a number."""
    from funcgrad.torch.operations.contraction import tensordot

    x, y = content(input, "inner"), content(other, "inner", "other", 2)
    if not shape_of(x) or not shape_of(y):
        result = arithmetic.mul(input, other)
    else:
        if shape_of(x)[-1] != shape_of(y)[-1]:
            raise RuntimeError(
                "inner() the last dimension must match on both input tensors but got shapes "
                f"{list(shape_of(x))} and {list(shape_of(y))}"
            )
        result = tensordot(input, other, ([-1], [-1]))
    return result if out is None else into(out, result, "inner")
