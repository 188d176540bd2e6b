"""Factors of matrices, pseudoinverses, eigenvalues, and systems between tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.core.tracer import bind
from funcgrad.core.types import Array
from funcgrad.ops import eigen, least_squares
from funcgrad.torch import return_types
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.operations.common import boxed, boxed_all, computed, shape_of
from funcgrad.torch.operations.comparison import known
from funcgrad.torch.operations.linear_algebra import (
    check_matrix,
    check_square,
    inv,
    solve,
    tolerances,
)
from funcgrad.torch.operations.norms import matrix_norm
from funcgrad.torch.operations.promotion import dtype_of
from funcgrad.torch.operations.record import node, operation
from funcgrad.torch.operations.recorded import Underivable
from funcgrad.torch.operations.requirements import requires

__all__ = ["linalg_eig", "linalg_eigvals", "linalg_qr", "pinverse"]

QR, PINV = node("LinalgQr", "Q R;"), node("LinalgPinv", "result A")
EIG = node("LinalgEig", "eigenvalues eigenvectors;")


def _qr(x: Array) -> Any:
    return bind(least_squares.QR, (x,))


def _whole_qr(x: Array) -> Any:
    factors: Any = np.linalg.qr
    return tuple(factors(known(x, "linalg.qr(mode='complete')"), "complete"))


ONLY_R = Underivable(
    "qr_r",
    lambda x: (np.zeros(0, dtype_of(x)), _qr(x)[1]),
    said="The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please "
    "use linalg.qr(A, mode='reduced') if you are going to differentiate through linalg.qr.",
    multiple=True,
)
COMPLETE = Underivable(
    "qr_complete",
    _whole_qr,
    said="The QR decomposition is not differentiable when mode='complete' and nrows > ncols.",
    multiple=True,
)


def _pinv(x: Array, cutoff: float, hermitian: bool) -> Any:
    more = {"hermitian": True} if hermitian else {}
    return bind(least_squares.PINV, (x,), {"rcond": cutoff, **more})


@operation("linalg_qr", "A, str mode='reduced', *, Tensors out", variants="", lies="columns")
def linalg_qr(A: Tensor, mode: str) -> Any:
    """Orthonormal columns times an upper triangle.

    Without a derivative for ``mode="complete"`` of tall matrices, and for ``mode="r"``: to go back
    through them raises.
    """
    x = check_matrix("linalg.qr", A.content())
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', "
            "or 'complete'"
        )
    m, n = shape_of(x)[-2:]
    if mode == "r":
        core: Any = ONLY_R
    else:
        core = COMPLETE if mode == "complete" and m > n else _qr
    return return_types.linalg_qr(*boxed_all(computed(core, x), QR))


@operation("linalg_eig", "A, *, Tensors out", variants="", lies="columns")
def linalg_eig(A: Tensor) -> Any:
    """Complex eigenvalues and eigenvectors of square matrices.

    Eigenvectors are determined but for a phase: a gradient that depends on it means nothing.
    """
    x = check_square("linalg.eig", A.content())
    return return_types.linalg_eig(*boxed_all(computed(eigen.eig, x), EIG))


@operation("linalg_eigvals", "A, *, out", variants="")
def linalg_eigvals(A: Tensor) -> Tensor:
    """The complex eigenvalues of square matrices."""
    return boxed(computed(eigen.eigvals, check_square("linalg.eig", A.content())), EIG)


@operation("linalg_pinv", tolerances("rcond"), variants="")
def pinv(input: Tensor, atol: Any, rtol: Any, hermitian: bool, rcond: Any) -> Tensor:
    """The pseudoinverse of matrices.

    Parameters
    ----------
    atol, rtol : float, optional
        Which singular values count as zero: below `atol`, or below `rtol` times the largest one.
    hermitian : bool, optional
        Whether the matrices are Hermitian.
    """
    x = check_matrix("linalg.pinv", input.content())
    rtol = rtol if rcond is None else rcond
    rows, columns = shape_of(x)[-2:]
    usual = max(rows, columns) * float(np.finfo(dtype_of(x)).eps)
    relative = float(rtol) if rtol is not None else (usual if not atol else 0.0)
    if atol:
        largest = float(matrix_norm(input.detach(), 2).max())
        relative = max(relative, float(atol) / largest if largest else 0.0)
    return boxed(computed(_pinv, x, cutoff=relative, hermitian=hermitian), PINV)


@operation("pinverse", "input, float rcond=1e-15", variants="method")
def pinverse(input: Tensor, rcond: float) -> Tensor:
    """The pseudoinverse of matrices."""
    return pinv(input, rtol=rcond)


@operation("linalg_tensorinv", "input, int ind=2, *, out", variants="")
@requires("ind > 0: Expected a strictly positive integer for 'ind', but got {ind}")
def tensorinv(A: Tensor, ind: int) -> Tensor:
    """The inverse of a tensor as a map of its last dimensions to its first `ind`."""
    first, last = A.shape[:ind], A.shape[ind:]
    if math.prod(first) != math.prod(last):
        raise RuntimeError(
            f"Expected self to satisfy the requirement prod(self.shape[ind:]) == "
            f"prod(self.shape[:ind]), but got {math.prod(last)} != {math.prod(first)}"
        )
    found: Tensor = inv(A.reshape(math.prod(first), math.prod(last))).reshape(*last, *first)
    return found


@operation("linalg_tensorsolve", "input, other, dims dims=None, *, out", variants="")
def tensorsolve(A: Tensor, B: Tensor, dims: Any) -> Tensor:
    """The X for which ``tensordot(A, X, X.ndim)`` is B."""
    if dims is not None:
        places = [d % A.dim() for d in dims]
        A = A.permute(*(d for d in range(A.dim()) if d not in places), *places)
    last = A.shape[B.dim() :]
    if B.numel() != math.prod(last):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
            f"prod(self.shape[:other.ndim]), but got {math.prod(last)} != {B.numel()}"
        )
    found: Tensor = solve(A.reshape(B.numel(), B.numel()), B.reshape(-1)).reshape(*last)
    return found


@operation("linalg_vander", "x, *, int N=None", variants="")
def vander(x: Tensor, N: int | None) -> Tensor:
    """The powers 0 to N - 1 of the elements of vectors."""
    import funcgrad.torch as torch

    x = x if x.ndim else x.unsqueeze(-1)
    count = x.size(-1) if N is None else N
    if count <= 0:
        raise RuntimeError("N must be greater than 1.")
    return torch.stack([torch.ones_like(x), *(x**k for k in range(1, count))], -1)


@operation("linalg_cond", "input, Number p=None, *, out | input, str p, *, out", variants="")
def cond(A: Tensor, p: Any) -> Tensor:
    """The condition number of matrices: by singular values, or the norm times that of the inverse.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.linalg.cond(torch.tensor([[2.0, 0.0], [0.0, 1.0]]))
    tensor(2.)
    """
    if p in (None, 2, -2):
        large, small = matrix_norm(A, 2), matrix_norm(A, -2)
        ratio: Tensor = small / large if p == -2 else large / small
        return ratio
    if A.size(-1) != A.size(-2):
        raise RuntimeError(
            "linalg.cond(ord="
            f"{p!r}): A must be batches of square matrices, but they are "
            f"{A.size(-2)} by {A.size(-1)} matrices"
        )
    found: Tensor = matrix_norm(A, p) * matrix_norm(inv(A), p)
    return found
