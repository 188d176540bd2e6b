"""The factors of symmetric and Hermitian matrices that need not be definite: LAPACK's, by SciPy.

PyTorch has no derivative of them either, which is said on the way back.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.types import Array
from funcgrad.torch import return_types
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.narrow import is_half
from funcgrad.torch.operations.common import boxed, boxed_all, computed, shape_of
from funcgrad.torch.operations.comparison import known
from funcgrad.torch.operations.linear_algebra import check_square, element_of_batch
from funcgrad.torch.operations.promotion import dtype_of, kind_of
from funcgrad.torch.operations.record import node, operation
from funcgrad.torch.operations.recorded import Underivable, elementwise_refusal

__all__ = ["ldl_factor", "ldl_factor_ex", "ldl_solve"]

NODE = node("NotImplemented")


def _lapack() -> Any:
    from funcgrad.scipy.linalg import symmetric

    return symmetric


def _factors(a: Array, *, hermitian: bool) -> Any:
    return _lapack().factors(known(a, "linalg.ldl_factor()"), hermitian)


def _solution(packed: Array, pivots: Array, b: Array, *, hermitian: bool) -> Any:
    held = (np.asarray(known(v, "linalg.ldl_solve()")) for v in (packed, pivots, b))
    return _lapack().solution(*held, hermitian)


FACTOR = Underivable("linalg_ldl_factor_ex", _factors, multiple=True)
SOLVE = Underivable("linalg_ldl_solve", _solution)


@operation(
    "linalg_ldl_factor_ex", "A, *, bool hermitian=False, bool check_errors=False, Tensors out",
    variants="",
)  # fmt: skip
def ldl_factor_ex(A: Tensor, hermitian: bool, check_errors: bool) -> Any:
    """As `ldl_factor`, and for each matrix 0, or which diagonal element of D is zero."""
    x = check_square("torch.linalg.ldl_factor_ex", A.content(), low=True)
    if is_half(dtype_of(x)):
        raise elementwise_refusal("ldl_factor_kernel_cpu", x)
    found = boxed_all(computed(FACTOR, x, hermitian=hermitian), NODE)
    if check_errors:
        _check(found[2], x)
    return return_types.linalg_ldl_factor_ex(*found)


@operation("linalg_ldl_factor", "A, *, bool hermitian=False, Tensors out", variants="")
def ldl_factor(A: Tensor, hermitian: bool) -> Any:
    """L and D of ``A = L D L^T``, packed in one matrix as LAPACK has them, and the pivots.

    A may be indefinite; of complex matrices it is symmetric, or with `hermitian` Hermitian. Only
    the lower triangle is read. SciPy is needed, and PyTorch has no derivative.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> A = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    >>> packed, pivots = torch.linalg.ldl_factor(A)
    >>> torch.linalg.ldl_solve(packed, pivots, torch.tensor([[2.0], [3.0]]))
    tensor([[3.],
            [2.]])
    """
    packed, pivots, info = ldl_factor_ex(A, hermitian=hermitian)
    _check(info, A.content())
    return return_types.linalg_ldl_factor(packed, pivots)


def _check(info: Tensor, x: Array) -> None:
    for k, i in enumerate(np.ravel(known(info.content(), "linalg.ldl_factor()"))):
        if i:
            raise RuntimeError(
                f"torch.linalg.ldl_factor: {element_of_batch(shape_of(x), k)}the diagonal block "
                f"{i} of D is zero, and D has no inverse: the matrix is singular."
            )


@operation(
    "linalg_ldl_solve", "LD, Tensor pivots, Tensor B, *, bool hermitian=False, out", variants=""
)
def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, hermitian: bool) -> Tensor:
    """The solution X of ``A X = B``, given what `ldl_factor` made of A.

    Shapes ``(*, n, n)``, ``(*, n)`` and ``(*, n, k)``.
    """
    x, y = check_square("torch.linalg.ldl_solve", LD.content()), B.content()
    if len(shape_of(y)) < 2:
        raise RuntimeError(
            "torch.linalg.ldl_solve: Expected B to have at least 2 dimensions, but it has "
            f"{len(shape_of(y))} dimensions instead"
        )
    if shape_of(x)[-1] != shape_of(y)[-2]:
        raise RuntimeError(
            "torch.linalg.ldl_solve: Incompatible shapes of A and B for the equation AX = B "
            f"({shape_of(x)[-2]}x{shape_of(x)[-1]} and {shape_of(y)[-2]}x{shape_of(y)[-1]})"
        )
    if kind_of(pivots.content()).numpy.kind not in "iu":
        raise RuntimeError("torch.linalg.ldl_solve: Expected pivots to be integers.")
    return boxed(computed(SOLVE, x, pivots.content(), y, hermitian=hermitian), NODE)
