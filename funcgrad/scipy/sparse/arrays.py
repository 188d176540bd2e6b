"""Sparse matrices whose values may be traced: a pattern, which is constant, and the values.

A `SparseArray` is what `csr_array` and its kin make, under SciPy's names and in their forms of
arguments. It is a node of trees, so there are derivatives by a sparse matrix: they are sparse
matrices of the same pattern.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import scipy.sparse as sp

import funcgrad.numpy as fnp
from funcgrad import tree
from funcgrad.core.tracer import operand, type_of
from funcgrad.core.types import Array
from funcgrad.errors import UnsupportedCallError, located
from funcgrad.numpy.function_calls import as_array, known
from funcgrad.ops.index import gather
from funcgrad.ops.matrices import as_float
from funcgrad.ops.shape import reshape
from funcgrad.scipy.sparse.pattern import Pattern
from funcgrad.scipy.sparse.records import product

__all__ = ["SparseArray", "as_sparse", "coo_array", "csc_array", "csr_array", "diags_array"]


class SparseArray:
    """A sparse matrix: values, which may be traced, at places that are constant.

    Made by `csr_array`, `csc_array`, `coo_array` and `diags_array`.

    Attributes
    ----------
    data : array of shape (nnz,)
        The values, row by row.
    indices, indptr : array of int
        As in `scipy.sparse.csr_array`.
    shape : (int, int)

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.sparse import csr_array
    >>> def f(data):
    ...     a = csr_array((data, [1, 0], [0, 1, 2]), shape=(2, 2))
    ...     return np.sum(a @ np.array([2.0, 3.0]))
    >>> fg.grad(f)(np.ones(2))
    array([3., 2.])
    """

    __array_ufunc__ = None  # so that NumPy's arrays leave operators to this class
    ndim = 2

    def __init__(self, data: Any, pattern: Pattern) -> None:
        self.data, self.pattern = data, pattern

    @property
    def indices(self) -> Any:
        return self.pattern.indices

    @property
    def indptr(self) -> Any:
        return self.pattern.indptr

    @property
    def shape(self) -> tuple[int, int]:
        return self.pattern.shape

    @property
    def nnz(self) -> int:
        """How many values there are."""
        return self.pattern.size

    @property
    def dtype(self) -> Any:
        return type_of(operand(self.data)).dtype

    def __repr__(self) -> str:
        return f"<SparseArray of shape {self.shape} with {self.nnz} values of dtype {self.dtype}>"

    # -------------------------------------------------------------------------- other forms

    @property
    def T(self) -> SparseArray:
        """The transpose."""
        turned, order = self.pattern.transposed
        return SparseArray(gather(operand(self.data), order), turned)

    def transpose(self) -> SparseArray:
        """The transpose."""
        return self.T

    def toarray(self) -> Array:
        """The matrix with all its zeros; values at the same place are added."""
        out = fnp.zeros(self.shape, self.dtype)
        fnp.add.at(out, (self.pattern.rows, self.indices), self.data)
        return out

    def diagonal(self) -> Array:
        """The diagonal, as a vector."""
        out = fnp.zeros(min(self.shape), self.dtype)
        at = np.flatnonzero(self.pattern.rows == self.indices)
        fnp.add.at(out, self.indices[at], operand(self.data)[at])
        return out

    def sum(self, axis: int | None = None) -> Array:
        """The sum of all values, or of those along an axis."""
        if axis is None:
            return fnp.sum(self.data)
        axis = axis % 2
        out = fnp.zeros(self.shape[1 - axis], self.dtype)
        fnp.add.at(out, self.pattern.rows if axis else self.indices, self.data)
        return out

    def _with(self, data: Any) -> SparseArray:
        return SparseArray(data, self.pattern)

    def power(self, n: Any) -> SparseArray:
        """Each value to a power."""
        return self._with(operand(self.data) ** n)

    # -------------------------------------------------------------------------- products

    def __matmul__(self, other: Any) -> Any:
        if sp.issparse(other) or isinstance(other, SparseArray):
            raise UnsupportedCallError(
                located(
                    "the product of two sparse matrices of traced values is not supported; apply "
                    "them to vectors one after the other, or make one dense (toarray)"
                )
            )
        x = as_array(other)
        if type_of(x).ndim not in (1, 2) or type_of(x).shape[0] != self.shape[1]:
            raise ValueError(
                located(
                    f"matmul: dimension mismatch of a sparse matrix of shape {self.shape} and an "
                    f"array of shape {type_of(x).shape}"
                )
            )
        return product(operand(self.data), x, self.pattern)

    dot = __matmul__

    def __rmatmul__(self, other: Any) -> Any:
        x = as_array(other)
        if type_of(x).ndim == 2:
            return fnp.transpose(self.T @ fnp.transpose(x))
        return self.T @ x

    def __mul__(self, other: Any) -> Any:
        if np.ndim(other) == 0 and not isinstance(other, SparseArray):
            return self._with(operand(self.data) * other)
        return self.multiply(other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if np.ndim(other) != 0:
            raise UnsupportedCallError(
                located("a sparse matrix of traced values is divided by numbers alone")
            )
        return self._with(operand(self.data) / other)

    def multiply(self, other: Any) -> SparseArray:
        """The product of elements with those of an array, which broadcasts."""
        if isinstance(other, SparseArray) and other.pattern == self.pattern:
            return self._with(operand(self.data) * operand(other.data))
        if isinstance(other, SparseArray):
            other = other.toarray()
        other = fnp.broadcast_to(other.toarray() if sp.issparse(other) else other, self.shape)
        return self._with(operand(self.data) * other[self.pattern.rows, self.indices])

    def __neg__(self) -> SparseArray:
        return self._with(-operand(self.data))

    def _added(self, other: Any, combine: Any) -> Any:
        if sp.issparse(other):
            other = as_sparse(other)
        if not isinstance(other, SparseArray):
            return combine(self.toarray(), other)
        if other.shape != self.shape:
            raise ValueError(located(f"inconsistent shapes {self.shape} and {other.shape}"))
        if other.pattern == self.pattern:
            return self._with(combine(operand(self.data), operand(other.data)))
        second = operand(other.data)
        second = combine(np.zeros(1, type_of(second).dtype), second)
        data = fnp.concatenate([self.data, second])
        rows = np.concatenate([self.pattern.rows, other.pattern.rows])
        columns = np.concatenate([self.indices, other.indices])
        return coo_array((data, (rows, columns)), shape=self.shape)

    def __add__(self, other: Any) -> Any:
        return self._added(other, operator.add)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._added(other, operator.sub)


tree.register_node(
    SparseArray, lambda a: ((a.data,), a.pattern), lambda pattern, c: SparseArray(c[0], pattern)
)

# ---------------------------------------------------------------------------- made from parts


def _constant(x: Any, what: str) -> Any:
    found = np.asarray(known(x, what))
    return (
        found.astype(np.int64) if found.dtype.kind in "iu" and found.dtype.itemsize > 4 else found
    )


def as_sparse(matrix: Any) -> SparseArray:
    """A matrix of SciPy's with the same values, or a `SparseArray` as it is.

    Examples
    --------
    >>> import scipy.sparse
    >>> from funcgrad.scipy.sparse import as_sparse
    >>> as_sparse(scipy.sparse.eye_array(3))
    <SparseArray of shape (3, 3) with 3 values of dtype float64>
    """
    if isinstance(matrix, SparseArray):
        return matrix
    found = sp.csr_array(matrix)
    return SparseArray(found.data, Pattern(found.indices, found.indptr, found.shape))


def _parts(arg: Any, count: int) -> Any:
    if sp.issparse(arg) or isinstance(arg, SparseArray):
        return None
    if not isinstance(arg, tuple) or len(arg) != count:
        raise UnsupportedCallError(
            located(
                "a sparse matrix of traced values is made of its parts: the values, and the "
                "places, which are constant"
            )
        )
    return arg


def csr_array(arg: Any, shape: tuple[int, int] | None = None) -> SparseArray:
    """A sparse matrix in rows, from ``(data, indices, indptr)`` or ``(data, (row, column))``.

    Parameters
    ----------
    arg : tuple, scipy.sparse matrix or SparseArray
        The values may be traced, the places are constant.
    shape : (int, int), optional
        By default the smallest one that holds all places.

    Raises
    ------
    ValueError
        The parts do not fit together; the message is SciPy's.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.sparse import csr_array
    >>> diagonal = lambda d: csr_array((d, [0, 1], [0, 1, 2]), shape=(2, 2))
    >>> fg.grad(lambda d: (diagonal(d) @ np.array([2.0, 3.0]))[1])(np.ones(2))
    array([0., 3.])
    """
    if isinstance(arg, tuple) and len(arg) == 2:
        return coo_array(arg, shape)
    given = _parts(arg, 3)
    if given is None:
        return as_sparse(arg)
    data = as_float(as_array(given[0]))
    indices, indptr = (_constant(x, "the pattern of a sparse matrix") for x in given[1:])
    checked = sp.csr_array((np.zeros(type_of(data).shape), indices, indptr), shape=shape)
    return SparseArray(data, Pattern(checked.indices, checked.indptr, checked.shape))


def csc_array(arg: Any, shape: tuple[int, int] | None = None) -> SparseArray:
    """A sparse matrix in columns, from ``(data, indices, indptr)`` or ``(data, (row, column))``.

    Its values are kept row by row.

    Parameters
    ----------
    arg : tuple, scipy.sparse matrix or SparseArray
        The values may be traced, the places are constant.
    shape : (int, int), optional

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.sparse import csc_array
    >>> one = lambda d: csc_array((d, [1], [0, 1, 1]), shape=(2, 2))
    >>> one(np.ones(1)).toarray()
    array([[0., 0.],
           [1., 0.]])
    """
    if isinstance(arg, tuple) and len(arg) == 2:
        return coo_array(arg, shape)
    if _parts(arg, 3) is None:
        return as_sparse(arg)
    return csr_array(arg, None if shape is None else (shape[1], shape[0])).T


def coo_array(arg: Any, shape: tuple[int, int] | None = None) -> SparseArray:
    """A sparse matrix from ``(data, (row, column))``; values at the same place are added.

    Parameters
    ----------
    arg : tuple, scipy.sparse matrix or SparseArray
        The values may be traced, the places are constant.
    shape : (int, int), optional

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.sparse import coo_array
    >>> coo_array((np.ones(3), ([0, 0, 1], [1, 1, 0]))).toarray()
    array([[0., 2.],
           [1., 0.]])
    """
    given = _parts(arg, 2)
    if given is None:
        return as_sparse(arg)
    data = as_float(as_array(given[0]))
    rows, columns = (_constant(x, "the pattern of a sparse matrix") for x in given[1])
    count = type_of(data).shape
    checked = sp.coo_array((np.ones(count), (rows, columns)), shape=shape).tocsr()
    checked.sum_duplicates()
    n = checked.shape[1]
    place = rows.astype(np.int64) * n + columns
    own = np.repeat(np.arange(checked.shape[0]), np.diff(checked.indptr)) * n + checked.indices
    order = np.argsort(place, kind="stable")
    if len(own) == len(place):
        data = gather(data, order)
    else:
        to = np.searchsorted(own, place)
        out = fnp.zeros(len(own), type_of(data).dtype)
        fnp.add.at(out, to, data)
        data = operand(out)
    return SparseArray(data, Pattern(checked.indices, checked.indptr, checked.shape))


def diags_array(
    diagonals: Any, *, offsets: Any = 0, shape: tuple[int, int] | None = None
) -> SparseArray:
    """A sparse matrix from its diagonals.

    Parameters
    ----------
    diagonals : sequence of array, or array
        Their values, which may be traced; a number fills a diagonal if `shape` is given.
    offsets : int or sequence of int, optional
        How far above the main one each diagonal stands.
    shape : (int, int), optional
        By default that of the smallest square matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad.scipy.sparse import diags_array
    >>> diags_array([np.ones(2), np.full(1, 5.0)], offsets=[0, 1]).toarray()
    array([[1., 5.],
           [0., 1.]])
    """
    if np.ndim(offsets) == 0:
        single = not isinstance(diagonals, (list, tuple)) or np.ndim(diagonals[0]) == 0
        diagonals, offsets = [diagonals] if single else diagonals, [offsets]
    diagonals = [fnp.atleast_1d(as_float(as_array(d))) for d in diagonals]
    if len(diagonals) != len(offsets):
        raise ValueError("Different number of diagonals and offsets.")
    if shape is None:
        n = type_of(diagonals[0]).shape[0] + abs(int(offsets[0]))
        shape = (n, n)
    parts: list[Any] = []
    rows, columns = [], []
    for d, k in zip(diagonals, map(int, offsets), strict=True):
        first_row, first_column = max(0, -k), max(0, k)
        length = min(shape[0] - first_row, shape[1] - first_column)
        have = type_of(d).shape[0]
        if length < 0 or have not in (1, length):
            raise ValueError(
                f"Diagonal length (index {len(parts)}: {have} at offset {k}) does not agree with "
                f"array size ({shape[0]}, {shape[1]})."
            )
        parts.append(d if have == length else fnp.broadcast_to(d, (length,)))
        rows.append(first_row + np.arange(length))
        columns.append(first_column + np.arange(length))
    places = np.concatenate(rows), np.concatenate(columns)
    return coo_array((reshape(operand(fnp.concatenate(parts)), (-1,)), places), shape)
