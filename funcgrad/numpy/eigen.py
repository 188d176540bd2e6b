"""Eigenvalues and eigenvectors of matrices that need not be symmetric."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from funcgrad.core.tracer import concrete, type_of, value
from funcgrad.core.types import Array
from funcgrad.numpy.function_calls import as_array, numpy_function
from funcgrad.ops import eigen
from funcgrad.ops.arithmetic import real

__all__ = ["EigResult", "eig", "eigvals"]


class EigResult(NamedTuple):
    """Eigenvalues in LAPACK's order, and eigenvectors as columns."""

    eigenvalues: Array
    eigenvectors: Array


GIVES_REAL = np.linalg.eigvals(np.eye(1)).dtype.kind == "f"


def _are_real(a: Array, w: Array) -> bool:
    """Whether NumPy gives real numbers: up to 2.4 of a real matrix with real eigenvalues."""
    if not GIVES_REAL or type_of(a).dtype.kind == "c" or not concrete(w):
        return False
    return bool(np.all(np.imag(value(w)) == 0))


@numpy_function(np.linalg.eig)
def eig(a: Any) -> EigResult:
    """Eigenvalues and eigenvectors of a square matrix.

    Parameters
    ----------
    a : array of shape (…, n, n)

    Returns
    -------
    EigResult
        ``eigenvalues`` of shape (…, n) in no certain order, ``eigenvectors`` of shape (…, n, n) as
        columns of norm 1 whose largest component is real. They are complex unless `a` is real and
        so are all eigenvalues; under `jit` and `vmap`, where that is not known, always.

    Notes
    -----
    The derivative of the vectors keeps the norm and the phase that LAPACK gives them. Where
    eigenvalues coincide, nothing determines the vectors: a function that uses them has the gradient
    NaN, one that uses the values alone that of a function that is symmetric in them. A matrix
    without a basis of eigenvectors has no derivative: its gradient is infinite, NaN, or a
    LinAlgError.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda a: np.linalg.eig(a).eigenvalues[0])(np.array([[2.0, 1.0], [0.0, 1.0]]))
    array([[1., 0.],
           [1., 0.]])
    """
    x = as_array(a)
    w, v = eigen.eig(x)
    return EigResult(real(w), real(v)) if _are_real(x, w) else EigResult(w, v)


@numpy_function(np.linalg.eigvals)
def eigvals(a: Any) -> Array:
    """Eigenvalues of a square matrix in no certain order.

    Parameters
    ----------
    a : array of shape (…, n, n)

    Returns
    -------
    array of shape (…, n)
        Complex unless `a` is real and so are all eigenvalues; under `jit` and `vmap` always.

    Notes
    -----
    At equal eigenvalues as `eig`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> turn = np.array([[0.0, -1.0], [1.0, 0.0]])
    >>> fg.grad(lambda a: np.abs(np.linalg.eigvals(a)).prod())(turn)
    array([[ 0., -1.],
           [ 1.,  0.]])
    """
    x = as_array(a)
    w = eigen.eigvals(x)
    return real(w) if _are_real(x, w) else w
