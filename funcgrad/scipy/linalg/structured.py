"""Matrices of a special structure, made from vectors or blocks: every element is one of theirs."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as sp

from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import bind, type_of
from funcgrad.core.types import Array, ArrayType, zeros
from funcgrad.numpy.function_calls import as_array, numpy_function
from funcgrad.numpy.indexing import take
from funcgrad.numpy.norms import norm as numpy_norm
from funcgrad.ops.arithmetic import (
    absolute,
    cast,
    conjugate,
    divide,
    multiply,
    negative,
    subtract,
    where,
)
from funcgrad.ops.index import getitem
from funcgrad.ops.matrices import column
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import broadcast_to, concatenate, reshape
from funcgrad.scipy.linalg.define import as_lapack
from funcgrad.scipy.valued import valued

__all__ = [
    "block_diag",
    "circulant",
    "companion",
    "convolution_matrix",
    "diagsvd",
    "fiedler",
    "fiedler_companion",
    "hankel",
    "khatri_rao",
    "leslie",
    "norm",
    "toeplitz",
    "vector",
]


def _joined(*vectors: Array) -> Array:
    dtype = np.result_type(*(type_of(v).dtype for v in vectors))
    lead = np.broadcast_shapes(*(type_of(v).shape[:-1] for v in vectors))
    whole = [broadcast_to(cast(v, dtype), (*lead, type_of(v).shape[-1])) for v in vectors]
    return concatenate(whole, len(lead))


@numpy_function(sp.toeplitz)
def toeplitz(c: Any, r: Any = None) -> Array:
    """The matrix with constant diagonals, `c` its first column and `r` its first row.

    Parameters
    ----------
    c : array of shape (…, m)
    r : array of shape (…, n), optional
        By default the conjugate of `c`; its first element is not read.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.linalg
    >>> import funcgrad as fg
    >>> fg.grad(lambda c: np.sum(scipy.linalg.toeplitz(c)))(np.ones(3))
    array([3., 4., 2.])
    """
    c = vector(c)
    r = conjugate(c) if r is None else vector(r)
    m, n = type_of(c).shape[-1], type_of(r).shape[-1]
    turned = getitem(c, (Ellipsis, slice(None, None, -1)))
    values = _joined(turned, getitem(r, (Ellipsis, slice(1, None))))
    return take(values, np.arange(n) - np.arange(m)[:, None] + m - 1, axis=-1)


@numpy_function(sp.hankel)
def hankel(c: Any, r: Any = None) -> Array:
    """The matrix with constant antidiagonals, `c` its first column and `r` its last row.

    Parameters
    ----------
    c : array of shape (…, m)
    r : array of shape (…, n), optional
        By default zeros, as many as `c` has elements; its first element is not read.
    """
    c = vector(c)
    r = zeros(type_of(c)) if r is None else vector(r)
    m, n = type_of(c).shape[-1], type_of(r).shape[-1]
    values = _joined(c, getitem(r, (Ellipsis, slice(1, None))))
    return take(values, np.arange(n) + np.arange(m)[:, None], axis=-1)


@numpy_function(sp.circulant)
def circulant(c: Any) -> Array:
    """The matrix with the columns `c`, `c` moved down by one, and so on.

    Parameters
    ----------
    c : array of shape (…, n)
    """
    c = vector(c)
    places = np.arange(type_of(c).shape[-1])
    return take(c, (places[:, None] - places) % max(places.size, 1), axis=-1)


def vector(x: Any) -> Array:
    """`x` with one axis at least."""
    x = as_array(x)
    return x if type_of(x).shape else reshape(x, (1,))


@numpy_function(sp.block_diag)
def block_diag(*arrs: Any) -> Array:
    """The matrices on a diagonal, with zeros elsewhere.

    Parameters
    ----------
    *arrs : array of shape (…, m, n)
        Vectors are matrices of one row.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.linalg
    >>> import funcgrad as fg
    >>> fg.grad(lambda a: np.sum(scipy.linalg.block_diag(a, a) ** 2))(np.ones((1, 2)))
    array([[4., 4.]])
    """
    blocks = [as_array(a) for a in arrs] or [np.zeros((1, 0))]
    blocks = [
        reshape(b, (1,) * (2 - type_of(b).ndim) + type_of(b).shape) if type_of(b).ndim < 2 else b
        for b in blocks
    ]
    dtype = np.result_type(*(type_of(b).dtype for b in blocks))
    lead = np.broadcast_shapes(*(type_of(b).shape[:-2] for b in blocks))
    width, before, rows = sum(type_of(b).shape[-1] for b in blocks), 0, []
    for b in blocks:
        m, n = type_of(b).shape[-2:]
        left = zeros(ArrayType((*lead, m, before), dtype))
        right = zeros(ArrayType((*lead, m, width - before - n), dtype))
        whole = broadcast_to(cast(b, dtype), (*lead, m, n))
        rows.append(concatenate([left, whole, right], len(lead) + 1))
        before += n
    return concatenate(rows, len(lead))


@numpy_function(sp.khatri_rao)
def khatri_rao(a: Any, b: Any) -> Array:
    """The Kronecker products of the columns of `a` and `b`.

    Parameters
    ----------
    a, b : array of shape (…, m, k), (…, n, k)
    """
    a, b = as_array(a), as_array(b)
    if type_of(a).ndim < 2 or type_of(b).ndim < 2:
        raise ValueError("The both arrays should be 2-dimensional.")
    if type_of(a).shape[-1] != type_of(b).shape[-1]:
        raise ValueError("The number of columns for both arrays should be equal.")
    m, n, k = type_of(a).shape[-2], type_of(b).shape[-2], type_of(a).shape[-1]
    left = reshape(a, (*type_of(a).shape[:-2], m, 1, k))
    right = reshape(b, (*type_of(b).shape[:-2], 1, n, k))
    found = multiply(left, right)
    return reshape(found, (*type_of(found).shape[:-3], m * n, k))


# ------------------------------------------------------------------- of polynomials and others


def _with_ones(row: Array, below: Any) -> Array:
    """The square matrix whose first row is `row`, and `below` it beside the diagonal."""
    kind = type_of(row)
    n = kind.shape[-1]
    under = where(np.eye(n - 1, n, dtype=bool), column(below), np.zeros((), kind.dtype))
    lead = np.broadcast_shapes(kind.shape[:-1], type_of(under).shape[:-2])
    top = broadcast_to(reshape(row, (*kind.shape[:-1], 1, n)), (*lead, 1, n))
    return concatenate([top, broadcast_to(under, (*lead, n - 1, n))], len(lead))


@numpy_function(sp.companion)
def companion(a: Any) -> Array:
    """The companion matrix of the polynomial with coefficients `a`, the highest first.

    Parameters
    ----------
    a : array of shape (…, n)

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.linalg
    >>> import funcgrad as fg
    >>> a = np.array([1.0, -3.0, 2.0])  # its roots are 1 and 2
    >>> fg.grad(lambda a: np.trace(scipy.linalg.companion(a)))(a)
    array([-3., -1., -0.])
    """
    a = vector(a)
    if type_of(a).shape[-1] < 2:
        raise ValueError("The length of `a` along the last axis must be at least 2.")
    first = multiply(1.0, getitem(a, (Ellipsis, slice(0, 1))))
    row = divide(negative(getitem(a, (Ellipsis, slice(1, None)))), first)
    return _with_ones(row, np.ones(type_of(row).shape[-1] - 1, type_of(row).dtype))


@numpy_function(sp.leslie)
def leslie(f: Any, s: Any) -> Array:
    """Leslie's matrix of the fecundities `f` and the chances `s` of survival.

    Parameters
    ----------
    f, s : array of shape (…, n), (…, n - 1)
    """
    f, s = vector(f), vector(s)
    if type_of(f).shape[-1] != type_of(s).shape[-1] + 1:
        raise ValueError(
            "Incorrect lengths for f and s. The length of s along the last axis must be one less "
            "than the length of f."
        )
    dtype = np.result_type(type_of(f).dtype, type_of(s).dtype)
    return _with_ones(cast(f, dtype), cast(s, dtype))


@numpy_function(sp.fiedler)
def fiedler(a: Any) -> Array:
    """The symmetric matrix of the distances ``abs(a[i] - a[j])``.

    Parameters
    ----------
    a : array of shape (…, n)
    """
    a = vector(a)
    n = type_of(a).shape[-1]
    return absolute(subtract(column(a), reshape(a, (*type_of(a).shape[:-1], 1, n))))


@numpy_function(sp.fiedler_companion)
def fiedler_companion(a: Any) -> Array:
    """Fiedler's companion matrix of the polynomial with coefficients `a`, the highest first.

    Parameters
    ----------
    a : array of shape (…, n)
    """
    a = vector(a)
    a = divide(a, getitem(a, (Ellipsis, slice(0, 1))))
    n = type_of(a).shape[-1] - 1
    if n < 2:
        return negative(
            reshape(getitem(a, (Ellipsis, slice(1, None))), (*type_of(a).shape[:-1], n, n))
        )
    ones, at = np.zeros((n, n), type_of(a).dtype), np.full((n, n), -1)
    ones[np.arange(3, n, 2), np.arange(1, n - 2, 2)] = 1
    ones[np.arange(0, n - 2, 2), np.arange(2, n, 2)] = 1
    ones[1, 0] = 1
    at[np.arange(2, n, 2), np.arange(1, n - 1, 2)] = np.arange(3, n + 1, 2)
    at[np.arange(0, n - 1, 2), np.arange(1, n, 2)] = np.arange(2, n + 1, 2)
    at[0, 0] = 1
    return where(at >= 0, negative(take(a, np.maximum(at, 0), axis=-1)), ones)


@numpy_function(sp.convolution_matrix)
def convolution_matrix(a: Any, n: int, mode: str = "full") -> Array:
    """The matrix whose product with a vector of length `n` is its convolution with `a`.

    Parameters
    ----------
    a : array of shape (…, m)
    n : int
    mode : {"full", "valid", "same"}, optional
    """
    a = vector(a)
    size = type_of(a).shape[-1]
    places = sp.convolution_matrix(np.arange(1, size + 1), n, mode)  # which element stands where
    return where(places > 0, take(a, np.maximum(places - 1, 0), axis=-1), _nothing(a))


def _nothing(a: Array) -> Any:
    return np.zeros((), type_of(a).dtype)


@numpy_function(sp.diagsvd)
def diagsvd(s: Any, M: int, N: int) -> Array:
    """The matrix of shape (M, N) with the singular values `s` on its diagonal.

    Parameters
    ----------
    s : array of shape (…, k)
        k is M or N.
    """
    s = vector(s)
    k = type_of(s).shape[-1]
    if k not in (M, N):
        raise ValueError("Length of s must be M or N.")
    places = np.minimum(np.arange(M), k - 1)[:, None]
    return where(np.eye(M, N, dtype=bool), take(s, places, axis=-1), _nothing(s))


# ----------------------------------------------------------------------------------- norm


def _composed_norm(a: Any, order: Any, axis: Any, keepdims: bool) -> Array:
    return numpy_norm(a, order, axis, keepdims)


NORM = valued(
    "scipy_norm",
    lambda a, order, axis, keepdims: sp.norm(a, order, axis, keepdims),
    _composed_norm,
    lambda: [
        Sample((draw((3, 2)),), {"order": None, "axis": None, "keepdims": False}),
        Sample((draw((3,)),), {"order": 3, "axis": None, "keepdims": False}),
        Sample((draw((3, 2)),), {"order": "nuc", "axis": (0, 1), "keepdims": True}),
    ],
)


@numpy_function(sp.norm)
def norm(
    a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, check_finite: bool = True
) -> Array:
    """The norm of a matrix or vector; subgradients are those of `funcgrad.numpy.linalg.norm`.

    Parameters
    ----------
    a : array
    ord, axis, keepdims
        As in SciPy.
    """
    axis = tuple(axis) if isinstance(axis, list) else axis
    params = {"order": ord, "axis": axis, "keepdims": bool(keepdims)}
    return bind(NORM, (as_lapack(a),), params)
