"""Norms of vectors and matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.tracer import type_of
from funcgrad.core.types import Array
from funcgrad.numpy.function_calls import as_array, numpy_function
from funcgrad.ops import norms
from funcgrad.ops import shape as shapes

__all__ = [
    "matrix_norm",
    "norm",
    "vector_norm",
]


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
