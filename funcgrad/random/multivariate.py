"""Vectors of a normal distribution and orthogonal matrices, made of normal numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import funcgrad.numpy as fnp
from funcgrad.core.types import Array
from funcgrad.errors import located
from funcgrad.random.continuous import normal
from funcgrad.random.keys import Source, size_of
from funcgrad.random.parameters import Shape, broadcast_shape, float_type

__all__ = ["multivariate_normal", "orthogonal"]


def multivariate_normal(
    key: Source,
    mean: Any,
    cov: Any,
    shape: Sequence[int] | None = None,
    dtype: Any = None,
    method: str = "cholesky",
) -> Array:
    """Vectors of a normal distribution, differentiable in its mean and its covariance.

    Parameters
    ----------
    key
        As of `uniform`.
    mean : array_like, shape (..., n)
    cov : array_like, shape (..., n, n)
        Symmetric and positive definite (semidefinite with the other methods).
    shape : tuple of int, optional
        Without the last axis; by default that of the parameters.
    dtype : dtype, optional
        By default that of the mean.
    method : {"cholesky", "eigh", "svd"}
        How the covariance is factorised. Only "cholesky" has derivatives everywhere.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> k = fg.random.key(0)
    >>> fg.grad(lambda c: np.sum(fg.random.multivariate_normal(k, np.zeros(2), c)))(np.eye(2)).shape
    (2, 2)
    """
    if method not in ("cholesky", "eigh", "svd"):
        raise ValueError(
            located(f"multivariate_normal: the method is cholesky, eigh or svd, not {method!r}")
        )
    mean, cov = fnp.asarray(mean), fnp.asarray(cov)
    kind = np.result_type(mean.dtype, cov.dtype, np.float32) if dtype is None else np.dtype(dtype)
    kind = float_type(kind, "multivariate_normal")
    if not mean.ndim or cov.ndim < 2 or cov.shape[-2:] != mean.shape[-1:] * 2:
        raise ValueError(
            located(
                f"multivariate_normal: a mean of shape {mean.shape} and a covariance of shape "
                f"{cov.shape} do not fit; they have to be (..., n) and (..., n, n)"
            )
        )
    own = np.broadcast_shapes(mean.shape[:-1], cov.shape[:-2])
    rows = broadcast_shape(own if shape is None else shape, "multivariate_normal", np.empty(own))
    if method == "cholesky":
        factor = fnp.linalg.cholesky(cov)
    elif method == "eigh":
        sizes, vectors = fnp.linalg.eigh(cov)
        factor = vectors * fnp.sqrt(sizes[..., None, :])
    else:
        left, sizes, _ = fnp.linalg.svd(cov)
        factor = left * fnp.sqrt(sizes[..., None, :])
    drawn = normal(key, (*rows, mean.shape[-1]), kind)
    return fnp.astype(mean + fnp.einsum("...ij,...j->...i", factor, drawn), kind)


def orthogonal(
    key: Source, n: int, shape: Shape = (), dtype: Any = None, m: int | None = None
) -> Array:
    """Orthogonal matrices, uniform over all (n, n), or (n, m) with orthonormal rows or columns.

    Parameters
    ----------
    key
        As of `uniform`.
    n : int
    shape : tuple of int, optional
        Without the last two axes.
    dtype : dtype, optional
    m : int, optional
        The number of columns, if it is not `n`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> q = fg.random.orthogonal(fg.random.key(0), 3)
    >>> bool(np.allclose(q @ q.T, np.eye(3)))
    True
    """
    columns = n if m is None else m
    drawn = normal(key, (*size_of(shape), max(n, columns), min(n, columns)), dtype)
    q, r = fnp.linalg.qr(drawn)
    found = q * fnp.expand_dims(fnp.sign(fnp.diagonal(r, axis1=-2, axis2=-1)), -2)
    return fnp.swapaxes(found, -1, -2) if n < columns else found
