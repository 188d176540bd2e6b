"""Approximations of matrices by few singular vectors, from random products.

Halko, Martinsson and Tropp, "Finding structure with randomness" (2011), algorithm 4.4.
"""

from __future__ import annotations

from funcgrad.torch._tensor import Tensor
from funcgrad.torch.operations.factorizations import linalg_qr
from funcgrad.torch.operations.linear_algebra import linalg_svd
from funcgrad.torch.operations.sampling import randn

__all__ = ["pca_lowrank", "svd_lowrank"]


def _product(a: Tensor, m: Tensor | None, x: Tensor) -> Tensor:
    """``(a - m) x``, of which the difference may be large."""
    found: Tensor = a @ x
    return found if m is None else found - m @ x


def _basis(a: Tensor, q: int, niter: int, m: Tensor | None) -> Tensor:
    """Orthonormal columns that span nearly what those of ``a - m`` do."""
    columns = a.shape[-1]
    made = linalg_qr(_product(a, m, randn(columns, q, dtype=a.dtype))).Q
    for _ in range(niter):
        back = linalg_qr(_product(a.mH, None if m is None else m.mH, made)).Q
        made = linalg_qr(_product(a, m, back)).Q
    basis: Tensor = made
    return basis


def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """The singular value decomposition U, S, V of nearly ``A - M``, with `q` singular values.

    Parameters
    ----------
    A : Tensor of shape (…, m, n)
    q : int, optional
        A little more than the rank that is looked for.
    niter : int, optional
        How often the basis is made better.
    M : Tensor, optional
        What is taken from A, broadcast to its shape.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> U, S, V = torch.svd_lowrank(torch.ones(4, 2), q=1)
    >>> torch.allclose(U @ torch.diag(S) @ V.mH, torch.ones(4, 2))
    True
    """
    q, niter = 6 if q is None else q, 2 if niter is None else niter
    m = None if M is None else M.broadcast_to(A.shape)
    wide = A.shape[-2] < A.shape[-1]
    a = A.mH if wide else A
    m = m.mH if wide and m is not None else m
    basis = _basis(a, q, niter, m)
    inner = basis.mH @ a
    if m is not None:
        inner = inner - basis.mH @ m
    u, s, vh = linalg_svd(inner, full_matrices=False)
    u, v = basis @ u, vh.mH
    return (v, s, u) if wide else (u, s, v)


def pca_lowrank(
    A: Tensor, q: int | None = None, center: bool = True, niter: int = 2
) -> tuple[Tensor, Tensor, Tensor]:
    """The principal components of the rows of A: `svd_lowrank` of what differs from their mean."""
    m, n = A.shape[-2:]
    if q is None:
        q = min(6, m, n)
    elif not 0 <= q <= min(m, n):
        raise ValueError(
            f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}"
        )
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)
