"""Cholesky factors, eigenvalues and eigenvectors of symmetric matrices, singular values."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from funcgrad.core.tracer import bind, type_of
from funcgrad.core.types import Array
from funcgrad.numpy.function_calls import as_array, numpy_function
from funcgrad.ops import arithmetic as ops
from funcgrad.ops import factor, index, singular
from funcgrad.ops.matrices import adjoint, as_float, row
from funcgrad.ops.shape import broadcast_to
from funcgrad.ops.sort import argsort, sort
from funcgrad.ops.whole_factors import SVD_WHOLE

__all__ = [
    "EighResult",
    "SVDResult",
    "cholesky",
    "eigh",
    "eigvalsh",
    "svd",
    "svdvals",
]


class EighResult(NamedTuple):
    """Eigenvalues in ascending order, and eigenvectors as columns."""

    eigenvalues: Array
    eigenvectors: Array


class SVDResult(NamedTuple):
    """Left singular vectors as columns, singular values, and right ones as rows (conjugated)."""

    U: Array
    S: Array
    Vh: Array


@numpy_function(np.linalg.cholesky)
def cholesky(a: Any, /, *, upper: bool = False) -> Array:
    """The Cholesky factor of a symmetric or Hermitian positive definite matrix.

    Parameters
    ----------
    a : array of shape (…, n, n)
        Only its lower triangle is read, or the upper one with `upper`.
    upper : bool, optional
        Return the upper factor u with ``uᴴ u = a`` instead of the lower one with ``l lᴴ = a``.

    Raises
    ------
    LinAlgError
        `a` is not positive definite, or not square.

    Notes
    -----
    The gradient is that of a symmetric matrix, spread over both triangles (Murray 2016).

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda a: np.linalg.cholesky(a)[0, 0])(np.diag([4.0, 1.0]))
    array([[0.25, 0.  ],
           [0.  , 0.  ]])
    """
    return factor.cholesky(as_array(a), upper)


@numpy_function(np.linalg.eigh)
def eigh(a: Any, UPLO: str = "L") -> EighResult:
    """Eigenvalues and eigenvectors of a symmetric or Hermitian matrix.

    Parameters
    ----------
    a : array of shape (…, n, n)
    UPLO : {"L", "U"}, optional
        Which triangle is read.

    Returns
    -------
    EighResult
        ``eigenvalues`` of shape (…, n) in ascending order, ``eigenvectors`` of shape (…, n, n) as
        columns.

    Notes
    -----
    The gradient is that of a symmetric matrix, spread over both triangles. Where eigenvalues
    coincide, nothing determines the vectors: a function that uses them has the gradient NaN, one
    that uses the values alone an exact one. The phases of complex vectors are LAPACK's choice:
    derivatives are those of functions that do not depend on it.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda a: np.linalg.eigh(a).eigenvalues[1])(np.diag([1.0, 2.0]))
    array([[0., 0.],
           [0., 1.]])
    """
    return EighResult(*factor.eigh(as_array(a), UPLO))


@numpy_function(np.linalg.eigvalsh)
def eigvalsh(a: Any, UPLO: str = "L") -> Array:
    """Eigenvalues of a symmetric or Hermitian matrix in ascending order.

    Parameters
    ----------
    a : array of shape (…, n, n)
    UPLO : {"L", "U"}, optional
        Which triangle is read.

    Returns
    -------
    array of shape (…, n)

    Notes
    -----
    Where eigenvalues coincide, derivatives are those of functions that are symmetric in them (a
    trace, a sum of squares), to the second order, which is NaN by reverse over reverse mode
    (`hessian` and `hvp` are forward over reverse), as is any third one.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda a: np.max(np.linalg.eigvalsh(a)))(np.diag([1.0, 2.0]))
    array([[0., 0.],
           [0., 1.]])
    """
    return factor.eigvalsh(as_array(a), UPLO)


@numpy_function(np.linalg.svd)
def svd(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    """The singular value decomposition.

    Parameters
    ----------
    a : array of shape (…, m, n)
    full_matrices, compute_uv : bool, optional
        As in NumPy.

    Returns
    -------
    SVDResult
        ``U``, ``S`` in descending order, and ``Vh``; ``S`` alone if not `compute_uv`.

    Notes
    -----
    Where singular values coincide, or are 0 in a matrix that is not square, nothing determines the
    vectors: a function that uses them has the gradient NaN, one that uses the values alone an exact
    one. So it is with the vectors that `full_matrices` adds to those of a matrix that is not
    square; what uses only the first min(m, n) has the derivatives of the thin decomposition.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda a: np.linalg.svd(a).S[0])(np.diag([2.0, 1.0]))
    array([[1., 0.],
           [0., 0.]])
    """
    if hermitian:
        return _of_hermitian(as_array(a), compute_uv)
    if not compute_uv:
        return singular.svdvals(as_array(a))
    x = as_array(a)
    if full_matrices and type_of(x).ndim > 1 and len(set(type_of(x).shape[-2:])) > 1:
        return SVDResult(*bind(SVD_WHOLE, (as_float(x),)))
    return SVDResult(*singular.svd(x, bool(full_matrices)))


def _of_hermitian(a: Array, compute_uv: bool) -> Any:
    """By the eigenvalues, whose signs go into the right vectors, as in NumPy."""
    if not compute_uv:
        s = sort(ops.absolute(factor.eigvalsh(a)), -1)
        return index.getitem(s, (Ellipsis, slice(None, None, -1)))
    w, u = factor.eigh(a)
    last = type_of(w).ndim - 1
    s = ops.absolute(w)
    order = index.getitem(argsort(s, -1, None), (Ellipsis, slice(None, None, -1)))
    sign, s = (index.take_along_axis(x, order, last) for x in (ops.sign(w), s))
    u = index.take_along_axis(u, broadcast_to(row(order), type_of(u).shape), last + 1)
    return SVDResult(u, s, adjoint(ops.multiply(u, row(sign))))


@numpy_function(np.linalg.svdvals)
def svdvals(x: Any, /) -> Array:
    """The singular values in descending order.

    Parameters
    ----------
    x : array of shape (…, m, n)

    Returns
    -------
    array of shape (…, min(m, n))

    Notes
    -----
    A value of 0 is at a kink, and its derivative is taken as 0. Where values coincide, derivatives
    are those of functions that are symmetric in them, to the second order, which is NaN by reverse
    over reverse mode (`hessian` and `hvp` are forward over reverse), as is any third one.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda a: np.sum(np.linalg.svdvals(a)))(np.diag([2.0, -1.0]))
    array([[ 1.,  0.],
           [ 0., -1.]])
    """
    return singular.svdvals(as_array(x))
