"""``funcgrad.numpy.linalg``: linear algebra under NumPy's names.

Matrices stand in the last two axes, all others are a stack of them; ``(…, n, n)`` below. Results
have NumPy's shapes and dtypes (integers become float64, single precision stays), and what NumPy
refuses is refused with the same class of error. Derivatives exist to every order
and in every transform.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from funcgrad.core.tracer import type_of
from funcgrad.core.types import Array
from funcgrad.numpy import products
from funcgrad.numpy.axes import diagonal as diagonal_of
from funcgrad.numpy.axes import matrix_transpose
from funcgrad.numpy.chains import matrix_power, multi_dot
from funcgrad.numpy.eigen import EigResult, eig, eigvals
from funcgrad.numpy.elementwise import matmul
from funcgrad.numpy.factorizations import (
    EighResult,
    SVDResult,
    cholesky,
    eigh,
    eigvalsh,
    svd,
    svdvals,
)
from funcgrad.numpy.function_calls import FUNCTIONS, as_array, numpy_function
from funcgrad.numpy.least_squares import (
    QRResult,
    cond,
    lstsq,
    matrix_rank,
    pinv,
    qr,
    tensorinv,
    tensorsolve,
)
from funcgrad.numpy.names import complete
from funcgrad.numpy.norms import matrix_norm, norm, vector_norm
from funcgrad.ops import determinant
from funcgrad.ops import solve as solving

__all__ = [
    "EigResult",
    "EighResult",
    "LinAlgError",
    "QRResult",
    "SVDResult",
    "SlogdetResult",
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "vecdot",
    "vector_norm",
]

LinAlgError = np.linalg.LinAlgError
tensordot = products.tensordot
FUNCTIONS.update(
    {
        np.linalg.matrix_transpose: matrix_transpose,
        np.linalg.tensordot: tensordot,
        np.linalg.matmul: matmul,
    }
)


@numpy_function(np.linalg.vecdot)
def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Array:
    """The product over one axis of both, the first one conjugated.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda x: np.linalg.vecdot(x, np.array([2.0, 3.0])))(np.ones(2))
    array([2., 3.])
    """
    found: Array = products.vecdot(x1, x2, axis=axis)
    return found


class SlogdetResult(NamedTuple):
    """The sign of a determinant and the logarithm of its absolute value."""

    sign: Array
    logabsdet: Array


@numpy_function(np.linalg.solve)
def solve(a: Any, b: Any) -> Array:
    """The solution x of a x = b.

    Parameters
    ----------
    a : array of shape (…, n, n)
    b : array of shape (n,) or (…, n, k)
        A vector only if it has one axis, as in NumPy 2.

    Returns
    -------
    array of the shape of `b`, the stacks broadcast

    Raises
    ------
    LinAlgError
        `a` is singular, or not square.

    Notes
    -----
    Linear in `b`. Both derivatives solve with the same matrix, so they are as well conditioned as
    the value; none goes through the inverse (Giles 2008, §2.3.1).

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> a, b = np.array([[2.0, 0.0], [0.0, 4.0]]), np.array([1.0, 1.0])
    >>> fg.grad(lambda b: np.sum(np.linalg.solve(a, b)))(b)
    array([0.5 , 0.25])
    """
    return solving.solve(as_array(a), as_array(b))


@numpy_function(np.linalg.inv)
def inv(a: Any) -> Array:
    """The inverse of a square matrix.

    Parameters
    ----------
    a : array of shape (…, n, n)

    Raises
    ------
    LinAlgError
        `a` is singular, or not square.

    Notes
    -----
    The derivative along t is -a⁻¹ t a⁻¹. To solve equations use `solve`, which is more accurate.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda a: np.linalg.inv(a)[0, 0])(np.diag([2.0, 1.0]))
    array([[-0.25, -0.  ],
           [-0.  , -0.  ]])
    """
    return solving.inv(as_array(a))


@numpy_function(np.linalg.det)
def det(a: Any) -> Array:
    """The determinant.

    Parameters
    ----------
    a : array of shape (…, n, n)

    Returns
    -------
    array of shape (…)

    Notes
    -----
    The gradient is the matrix of cofactors, for singular matrices too, whatever their rank.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(np.linalg.det)(np.array([[1.0, 2.0], [2.0, 4.0]]))
    array([[ 4., -2.],
           [-2.,  1.]])
    """
    return determinant.det(as_array(a))


@numpy_function(np.linalg.slogdet)
def slogdet(a: Any) -> SlogdetResult:
    """The sign of the determinant, and the logarithm of its absolute value.

    Parameters
    ----------
    a : array of shape (…, n, n)

    Returns
    -------
    SlogdetResult
        ``sign`` and ``logabsdet`` of shape (…).

    Notes
    -----
    The gradient of ``logabsdet`` is the transposed inverse; of a singular matrix it is not finite.
    The sign of a real matrix is locally constant; of a complex one it is a phase with a derivative
    of its own.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda a: np.linalg.slogdet(a).logabsdet)(np.diag([2.0, 4.0]))
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """
    return SlogdetResult(*determinant.slogdet(as_array(a)))


# ------------------------------------------------- functions that differ from those of numpy


@numpy_function(np.linalg.trace)
def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Array:
    """The sum over a diagonal of the last two axes.

    Parameters
    ----------
    x : array of shape (…, m, n)
    offset : int, optional
        Which diagonal: above the main one if positive.
    dtype : dtype, optional
        The dtype of the sum.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(np.linalg.trace)(np.ones((2, 2)))
    array([[1., 0.],
           [0., 1.]])
    """
    return products.trace(x, offset, -2, -1, dtype)


@numpy_function(np.linalg.diagonal, views=True)
def diagonal(x: Any, /, *, offset: int = 0) -> Array:
    """A diagonal of the last two axes, as a view.

    Parameters
    ----------
    x : array of shape (…, m, n)
    offset : int, optional
        Which diagonal: above the main one if positive.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda a: np.prod(np.linalg.diagonal(a)))(np.diag([2.0, 3.0]))
    array([[3., 0.],
           [0., 2.]])
    """
    return diagonal_of(x, offset, -2, -1)


@numpy_function(np.linalg.cross)
def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Array:
    """The cross product of vectors of 3 components.

    Parameters
    ----------
    x1, x2 : array
        Of extent 3 along `axis`; the other axes broadcast.
    axis : int, optional

    Raises
    ------
    ValueError
        The vectors have another number of components.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> z = np.array([0.0, 0.0, 1.0])
    >>> fg.jacobian(lambda x: np.linalg.cross(x, z))(np.ones(3))
    array([[ 0.,  1.,  0.],
           [-1.,  0.,  0.],
           [ 0.,  0.,  0.]])
    """
    if any(type_of(as_array(v)).shape[axis] != 3 for v in (x1, x2)):
        raise ValueError("Both input arrays must be (arrays of) 3-dimensional vectors")
    return products.cross(x1, x2, axis=axis)


@numpy_function(np.linalg.outer)
def outer(x1: Any, x2: Any, /) -> Array:
    """All products of an element of one vector and one of another.

    Parameters
    ----------
    x1, x2 : array of shape (m,), (n,)

    Returns
    -------
    array of shape (m, n)

    Raises
    ------
    ValueError
        An operand has not one axis.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda x: np.sum(np.linalg.outer(x, np.array([2.0, 3.0]))))(np.ones(2))
    array([5., 5.])
    """
    if any(type_of(as_array(v)).ndim != 1 for v in (x1, x2)):
        raise ValueError("Input arrays must be one-dimensional")
    return products.outer(x1, x2)


complete(__name__, np.linalg)
