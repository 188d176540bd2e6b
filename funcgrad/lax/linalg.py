"""`lax.linalg`: factorisations and solves with JAX's arguments and order of results."""

from __future__ import annotations

from typing import Any

import numpy as np

import funcgrad.numpy as fnp
from funcgrad.core.boundary import publish
from funcgrad.core.tracer import operand as content
from funcgrad.core.tracer import type_of
from funcgrad.core.types import Array
from funcgrad.errors import located
from funcgrad.lax.reflections import (
    cholesky_update,
    hessenberg,
    householder_product,
    ormqr,
    schur,
    tridiagonal,
)
from funcgrad.transforms.vmap import vmap

__all__ = [
    "cholesky",
    "cholesky_update",
    "eig",
    "eigh",
    "hessenberg",
    "householder_product",
    "lu",
    "lu_pivots_to_permutation",
    "ormqr",
    "qdwh",
    "qr",
    "schur",
    "svd",
    "symmetric_product",
    "triangular_solve",
    "tridiagonal",
    "tridiagonal_solve",
]


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


def qr(x: Any, *, pivoting: bool = False, full_matrices: bool = True) -> tuple[Array, ...]:
    """A unitary and an upper triangular factor.

    Parameters
    ----------
    x : array (…, m, n)
    pivoting : bool, optional
        Exchange columns so that the diagonal of the second factor does not grow (needs SciPy).
    full_matrices : bool, optional
        Whether the first factor is square; the gradient of what uses the columns that are added is
        NaN.

    Returns
    -------
    q, r[, p]
        ``q @ r`` is `x`, with `pivoting` ``x[:, p]``.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> q, r = lax.linalg.qr(np.ones((3, 2)), full_matrices=False)
    >>> q.shape, r.shape
    ((3, 2), (2, 2))
    """
    if pivoting:
        from funcgrad.scipy import linalg  # an extra, imported on first use

        mode = "full" if full_matrices else "economic"
        q, r, p = linalg.qr(x, mode=mode, pivoting=True)
        return q, r, fnp.astype(p, np.int32)
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


def eig(
    x: Any,
    *,
    compute_left_eigenvectors: bool = True,
    compute_right_eigenvectors: bool = True,
    enable_eigvec_derivs: bool = True,
    implementation: Any = None,
) -> list[Array]:
    """Complex eigenvalues of square matrices, and left and right eigenvectors, in columns.

    Parameters
    ----------
    x : array (…, n, n)
    compute_left_eigenvectors, compute_right_eigenvectors : bool, optional
        Which vectors to give; left ones l have ``lᴴ x = w lᴴ``.
    enable_eigvec_derivs, implementation : optional
        Accepted; vectors have derivatives, and LAPACK computes.

    Returns
    -------
    list of array
        Values, then the vectors that are asked for, of norm 1 with a real largest component. Where
        values coincide, vectors have the gradient NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.linalg.eig(np.diag([1.0, 2.0]))[0]
    array([1.+0.j, 2.+0.j])
    """
    single = type_of(content(x)).dtype in (np.float32, np.complex64)
    kind = np.complex64 if single else np.complex128
    if not (compute_left_eigenvectors or compute_right_eigenvectors):
        return [fnp.astype(fnp.linalg.eigvals(x), kind)]
    found = fnp.linalg.eig(x)
    values, right = (fnp.astype(part, kind) for part in found)
    left = [_normalised(_adjoint(fnp.linalg.inv(right)))] if compute_left_eigenvectors else []
    return [values, *left, *([right] if compute_right_eigenvectors else [])]


def _normalised(v: Any) -> Any:
    """Columns of norm 1 whose largest component is real, as LAPACK gives them."""
    size = fnp.abs(v)
    at = fnp.argmax(size, axis=-2, keepdims=True)
    turn = fnp.conj(fnp.take_along_axis(v, at, -2)) / fnp.take_along_axis(size, at, -2)
    return v * turn / fnp.linalg.norm(v, axis=-2, keepdims=True)


def lu(x: Any) -> tuple[Array, Array, Array]:
    """The factors of ``x[permutation] = l u``, packed (needs SciPy).

    Returns
    -------
    lu : array (…, m, n)
        `u`, and below its diagonal `l`, whose diagonal is 1.
    pivots : array of int32 (…, min(m, n))
        With which row each row was exchanged, in turn.
    permutation : array of int32 (…, m)
        The order of rows that comes of it.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.linalg.lu(np.array([[1.0, 2.0], [2.0, 2.0]]))
    (array([[2. , 2. ],
           [0.5, 1. ]]), array([1, 1], dtype=int32), array([1, 0], dtype=int32))
    """
    from funcgrad.scipy import linalg  # an extra, imported on first use

    packed, pivots = linalg.lu_factor(x)
    pivots = fnp.astype(pivots, np.dtype(np.int32))
    return packed, pivots, lu_pivots_to_permutation(pivots, type_of(content(x)).shape[-2])


def lu_pivots_to_permutation(pivots: Any, permutation_size: int) -> Array:
    """The order of rows (…, m) after the exchanges (…, k) of `lu` (needs SciPy).

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.linalg.lu_pivots_to_permutation(np.array([2, 1]), 3)
    array([2, 1, 0], dtype=int32)
    """
    from funcgrad.scipy.linalg.solvers import permutation  # an extra, imported on first use

    shape = type_of(content(pivots)).shape
    if shape[-1] > permutation_size:
        raise ValueError(
            located(
                f"lu_pivots_to_permutation: {shape[-1]} exchanges among {permutation_size} rows"
            )
        )
    rest = np.broadcast_to(
        np.arange(shape[-1], permutation_size), (*shape[:-1], permutation_size - shape[-1])
    )
    return fnp.astype(permutation(fnp.concatenate([pivots, rest], -1)), np.dtype(np.int32))


def qdwh(
    x: Any, *, is_hermitian: bool = False, max_iterations: Any = None, eps: Any = None
) -> tuple[Array, Array, int, bool]:
    """The polar factors of ``x = u h``, and that they were found (needs SciPy).

    `u` has orthonormal columns, `h` is positive. They come of singular values, without iterations.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.linalg.qdwh(np.array([[-2.0]]))
    (array([[-1.]]), array([[2.]]), 0, True)
    """
    from funcgrad.scipy import linalg  # an extra, imported on first use

    u, h = linalg.polar(x)
    return u, h, 0, True


def tridiagonal_solve(dl: Any, d: Any, du: Any, b: Any, *, perturb_singular: bool = False) -> Array:
    """The solution of ``a x = b`` for matrices `a` of three diagonals (needs SciPy).

    Parameters
    ----------
    dl, d, du : array (…, n)
        The lower diagonal, of which the first element is not read, the diagonal, and the upper one,
        of which the last is not read.
    b : array (…, n, k)
    perturb_singular : bool, optional
        Accepted; a singular matrix is a LinAlgError.

    Returns
    -------
    array (…, n, k)

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> below, diagonal, above = np.array([0.0, 1.0]), np.array([2.0, 1.0]), np.array([1.0, 0.0])
    >>> lax.linalg.tridiagonal_solve(below, diagonal, above, np.array([[3.0], [2.0]]))
    array([[1.],
           [1.]])
    """
    from funcgrad.scipy import linalg  # an extra, imported on first use

    if type_of(content(d)).ndim > 1:
        return vmap(tridiagonal_solve)(dl, d, du, b)
    bands = fnp.stack([fnp.roll(fnp.asarray(du), 1), fnp.asarray(d), fnp.roll(fnp.asarray(dl), -1)])
    return linalg.solve_banded((1, 1), bands, b)


publish(__name__)
