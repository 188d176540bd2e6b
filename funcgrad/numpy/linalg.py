"""``funcgrad.numpy.linalg``: linear algebra under NumPy's names.

Matrices stand in the last two axes, all others are a stack of them; ``(…, n, n)`` below. Results
have NumPy's shapes and dtypes (integers become float64, single precision stays), and what NumPy
refuses is refused with the same class of error. Derivatives exist to every order and in every
transform. A function of `numpy.linalg` that is not here (qr, eig, lstsq, pinv …) works on plain
arrays through NumPy and is a named error on traced values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.core.tracer import type_of
from funcgrad.core.types import Array
from funcgrad.numpy import products
from funcgrad.numpy import reshaping as shape
from funcgrad.numpy.calls import FUNCTIONS, as_array, numpy_function, refuse
from funcgrad.numpy.elementwise import matmul
from funcgrad.ops import determinant, factor, norms, product
from funcgrad.ops import shape as shapes
from funcgrad.ops import solve as solving

__all__ = [
    "EighResult",
    "LinAlgError",
    "SVDResult",
    "SlogdetResult",
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]

LinAlgError = np.linalg.LinAlgError
matrix_transpose = shape.matrix_transpose
tensordot, vecdot = products.tensordot, products.vecdot
FUNCTIONS.update(
    {
        np.linalg.matrix_transpose: matrix_transpose,
        np.linalg.tensordot: tensordot,
        np.linalg.vecdot: vecdot,
        np.linalg.matmul: matmul,
    }
)


class SlogdetResult(NamedTuple):
    """The sign of a determinant and the logarithm of its absolute value."""

    sign: Array
    logabsdet: Array


class EighResult(NamedTuple):
    """Eigenvalues in ascending order, and eigenvectors as columns."""

    eigenvalues: Array
    eigenvectors: Array


class SVDResult(NamedTuple):
    """Left singular vectors as columns, singular values, and right ones as rows (conjugated)."""

    U: Array
    S: Array
    Vh: Array


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
    coincide, vectors within their eigenspace are anybody's choice: first derivatives are those of
    functions that do not depend on it. The same is so for the phases of complex vectors.

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
    trace, a sum of squares); see `eigh`.

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

    Raises
    ------
    UnsupportedCallError
        Of traced values with ``hermitian=True``, or full matrices of one that is not square.

    Notes
    -----
    Traced matrices that are not square need ``full_matrices=False``, and ``hermitian=True`` is
    not supported (use `eigh`). Where singular values coincide, or are 0, first derivatives are
    those of functions that do not depend on the choice of the vectors.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda a: np.linalg.svd(a).S[0])(np.diag([2.0, 1.0]))
    array([[1., 0.],
           [0., 0.]])
    """
    refuse("linalg.svd", hermitian=hermitian or None)
    if not compute_uv:
        return factor.svdvals(as_array(a))
    return SVDResult(*factor.svd(as_array(a), bool(full_matrices)))


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
    are those of functions that are symmetric in them.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda a: np.sum(np.linalg.svdvals(a)))(np.diag([2.0, -1.0]))
    array([[ 1.,  0.],
           [ 0., -1.]])
    """
    return factor.svdvals(as_array(x))


@numpy_function(np.linalg.matrix_power, views=True)
def matrix_power(a: Any, n: int) -> Array:
    """A square matrix to an integer power; the first power is the matrix itself.

    Parameters
    ----------
    a : array of shape (…, n, n)
    n : int
        A negative power is one of the inverse.

    Raises
    ------
    LinAlgError
        `a` is not square, or singular and `n` negative.

    Notes
    -----
    Made of products by repeated squaring, as in NumPy, and differentiated through them.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda a: np.linalg.matrix_power(a, 3)[0, 0])(np.diag([2.0, 1.0]))
    array([[12.,  0.],
           [ 0.,  0.]])
    """
    x = as_array(a)
    out = solving.matrix_power(x, n)
    return a if out is x else out


# ----------------------------------------------------------------------------------- norms


@numpy_function(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Array:
    """A vector or matrix norm.

    Parameters
    ----------
    x : array
    ord : number, inf, -inf, "fro" or "nuc", optional
        The order: by default the root of the sum of squares.
    axis : int or pair of int, optional
        One axis: a vector norm; two: a matrix norm. By default all of `x`, a vector or a matrix.
    keepdims : bool, optional

    Raises
    ------
    ValueError
        The order does not exist for vectors, or for matrices.

    Notes
    -----
    At the zero vector, where a norm has a kink, the derivative is 0. Elements that share the
    largest or smallest absolute value (orders inf and -inf) share the derivative equally; orders
    2, -2 and "nuc" of matrices are differentiated by the singular vectors.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(np.linalg.norm)(np.array([3.0, 4.0]))
    array([0.6, 0.8])
    >>> fg.grad(np.linalg.norm)(np.zeros(2))
    array([0., 0.])
    """
    return norms.norm(as_array(x), ord, axis, keepdims)


@numpy_function(np.linalg.vector_norm)
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Array:
    """A vector norm over some axes, all by default.

    Parameters
    ----------
    x : array
    axis : int or tuple of int, optional
        The elements along them are one vector.
    keepdims : bool, optional
    ord : number, optional
        See `norm`, also for derivatives.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(np.linalg.vector_norm)(np.array([[3.0], [4.0]]))
    array([[0.6],
           [0.8]])
    """
    v = as_array(x)
    rank = type_of(v).ndim
    axes = tuple(range(rank)) if axis is None else axis
    if axis is None or isinstance(axis, tuple):
        axes = np.lib.array_utils.normalize_axis_tuple(axes, rank)
        rest = tuple(k for k in range(rank) if k not in axes)
        kept = tuple(1 if k in axes else n for k, n in enumerate(type_of(v).shape))
        v = shapes.transpose(v, (*axes, *rest))
        tail = type_of(v).shape[len(axes) :]
        extent = int(np.prod(type_of(v).shape[: len(axes)], dtype=int))
        found = norms.norm(shapes.reshape(v, (extent, *tail)), ord, 0)
        return shapes.reshape(found, kept) if keepdims else found
    return norms.norm(v, ord, axis, keepdims)


@numpy_function(np.linalg.matrix_norm)
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Array:
    """A norm of matrices in the last two axes.

    Parameters
    ----------
    x : array of shape (…, m, n)
    keepdims : bool, optional
    ord : number, inf, -inf, "fro" or "nuc", optional
        See `norm`, also for derivatives.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda a: np.linalg.matrix_norm(a, ord="nuc"))(np.diag([2.0, 3.0]))
    array([[1., 0.],
           [0., 1.]])
    """
    return norms.norm(as_array(x), ord, (-2, -1), keepdims)


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
    return shape.diagonal(x, offset, -2, -1)


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


@numpy_function(np.linalg.multi_dot)
def multi_dot(arrays: Sequence[Any], *, out: Any = None) -> Array:
    """The product of several matrices in the order that takes the fewest multiplications.

    Parameters
    ----------
    arrays : sequence of array
        Two at the least, with two axes each; the first and the last one may be vectors.

    Notes
    -----
    The order is NumPy's, so the value has the same bits.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> x, a = np.array([1.0, 2.0]), np.eye(2)
    >>> fg.grad(lambda x: np.linalg.multi_dot([x, a, x]))(x)
    array([2., 4.])
    """
    xs = [as_array(x) for x in arrays]
    if len(xs) < 2:
        raise ValueError("Expecting at least two arrays.")
    if len(xs) == 2:
        return product.dot(*xs)
    first, last = type_of(xs[0]).ndim, type_of(xs[-1]).ndim
    if first == 1:
        xs[0] = shapes.reshape(xs[0], (1, type_of(xs[0]).size))
    if last == 1:
        xs[-1] = shapes.reshape(xs[-1], (type_of(xs[-1]).size, 1))
    found = _chain(xs)
    extents = type_of(found).shape
    kept = extents[(first == 1) : 2 - (last == 1)]
    return shapes.reshape(found, kept)


def _chain(xs: Sequence[Array]) -> Array:
    shapes = [type_of(x).shape for x in xs]
    if len(xs) == 3:
        (a0, a1), b1, c1 = shapes[0], shapes[1][1], shapes[2][1]
        # NumPy's choice, ties included
        if a0 * b1 * (a1 + c1) < a1 * c1 * (a0 + b1):
            return product.dot(product.dot(xs[0], xs[1]), xs[2])
        return product.dot(xs[0], product.dot(xs[1], xs[2]))
    split = _order([s[0] for s in shapes] + [shapes[-1][1]])

    def multiply(i: int, j: int) -> Array:
        if i == j:
            return xs[i]
        return product.dot(multiply(i, split[i, j]), multiply(split[i, j] + 1, j))

    return multiply(0, len(xs) - 1)


def _order(p: Sequence[int]) -> dict[tuple[int, int], int]:
    """Where to split each chain of matrices of the extents `p` (Cormen et al., §15.2)."""
    n = len(p) - 1
    cost = {(i, i): 0.0 for i in range(n)}
    split: dict[tuple[int, int], int] = {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            cost[i, j] = float("inf")
            for k in range(i, j):
                found = cost[i, k] + cost[k + 1, j] + p[i] * p[k + 1] * p[j + 1]
                if found < cost[i, j]:
                    cost[i, j], split[i, j] = found, k
    return split
