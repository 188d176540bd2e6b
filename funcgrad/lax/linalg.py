"""`lax.linalg`: factorisations and solves with JAX's arguments and order of results."""

from __future__ import annotations

from typing import Any

import numpy as np

import funcgrad.numpy as fnp
from funcgrad.core.tracer import operand as content
from funcgrad.core.tracer import type_of
from funcgrad.core.types import Array
from funcgrad.errors import located

__all__ = ["cholesky", "eigh", "qr", "svd", "symmetric_product", "triangular_solve"]


def _adjoint(x: Any) -> Any:
    return fnp.conj(fnp.swapaxes(x, -1, -2))


def _symmetrised(x: Any) -> Any:
    return (x + _adjoint(x)) / 2


def cholesky(x: Any, *, symmetrize_input: bool = True) -> Array:
    """The lower factor L of positive definite matrices, x = L Lᴴ.

    Parameters
    ----------
    x : array (…, n, n)
    symmetrize_input : bool, optional
        Whether the mean of the matrix and its adjoint is factorised; else its lower half is read.

    Raises
    ------
    numpy.linalg.LinAlgError
        A matrix is not positive definite.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.linalg.cholesky(np.array([[4.0, 2.0], [2.0, 2.0]]))
    array([[2., 0.],
           [1., 1.]])
    """
    return fnp.linalg.cholesky(_symmetrised(x) if symmetrize_input else x)


def eigh(
    x: Any,
    *,
    lower: bool = True,
    symmetrize_input: bool = True,
    sort_eigenvalues: bool = True,
) -> tuple[Array, Array]:
    """Eigenvectors (in columns) and eigenvalues of Hermitian matrices, the smallest first.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> vectors, values = lax.linalg.eigh(np.diag([2.0, 1.0]))
    >>> values
    array([1., 2.])
    """
    found = fnp.linalg.eigh(_symmetrised(x) if symmetrize_input else x, "L" if lower else "U")
    return found.eigenvectors, found.eigenvalues


def qr(x: Any, *, full_matrices: bool = True) -> tuple[Array, Array]:
    """An orthogonal and an upper triangular factor.

    With `full_matrices` the first one is square; of matrices with more rows than columns that one
    has no derivative.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> q, r = lax.linalg.qr(np.ones((3, 2)), full_matrices=False)
    >>> q.shape, r.shape
    ((3, 2), (2, 2))
    """
    found = fnp.linalg.qr(x, "complete" if full_matrices else "reduced")
    return found.Q, found.R


def svd(x: Any, *, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """Left singular vectors, singular values and adjoint right ones; or the values alone.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.linalg.svd(np.diag([1.0, 2.0]), compute_uv=False)
    array([2., 1.])
    """
    if not compute_uv:
        return fnp.linalg.svdvals(x)
    found = fnp.linalg.svd(x, full_matrices)
    return found.U, found.S, found.Vh


def triangular_solve(
    a: Any,
    b: Any,
    *,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Array:
    """The solution of ``x a = b``, with `left_side` of ``a x = b``, for triangular `a`.

    Parameters
    ----------
    a : array (…, n, n)
        Its other half is not read.
    b : array (…, m, n), or (…, n, m) with `left_side`
    lower, transpose_a, conjugate_a, unit_diagonal : bool, optional
        Whether `a` is a lower triangle, is to be transposed and conjugated, and has ones in its
        diagonal, whatever stands there.

    Returns
    -------
    array
        Of the shape of `b`. Linear in `b`.

    Raises
    ------
    ValueError
        The shapes do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> a = np.array([[2.0, 0.0], [1.0, 1.0]])
    >>> lax.linalg.triangular_solve(a, np.array([[2.0], [3.0]]), left_side=True, lower=True)
    array([[1.],
           [2.]])
    """
    one, two = type_of(content(a)).shape, type_of(content(b)).shape
    axis = -2 if left_side else -1
    if len(one) < 2 or len(two) < 2 or one[-1] != one[-2] or two[axis] != one[-1]:
        raise ValueError(
            located(f"triangular_solve: shapes {one} and {two} do not fit (left_side={left_side})")
        )
    half = fnp.tril(a) if lower else fnp.triu(a)
    if unit_diagonal:
        half = fnp.where(np.eye(one[-1], dtype=bool), type_of(content(a)).dtype.type(1), half)
    if conjugate_a:
        half = fnp.conj(half)
    if transpose_a:
        half = fnp.swapaxes(half, -1, -2)
    if left_side:
        return fnp.linalg.solve(half, b)
    found = fnp.linalg.solve(fnp.swapaxes(half, -1, -2), fnp.swapaxes(b, -1, -2))
    return fnp.swapaxes(found, -1, -2)


def symmetric_product(
    a_matrix: Any,
    c_matrix: Any,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    symmetrize_output: bool = False,
) -> Array:
    """``alpha a aᵀ + beta c``.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.linalg.symmetric_product(np.ones((2, 3)), np.zeros((2, 2)))
    array([[3., 3.],
           [3., 3.]])
    """
    product = fnp.matmul(a_matrix, fnp.swapaxes(a_matrix, -1, -2))
    return alpha * product + beta * c_matrix
