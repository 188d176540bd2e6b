"""Where the elements of a sparse matrix stand: a constant, apart from their values.

A pattern lists elements row by row, as SciPy's CSR format does. It is hashable by its content, so
it may be a parameter of records, and it knows its transpose.
"""

from __future__ import annotations

import functools
from hashlib import blake2b
from typing import Any

import numpy as np
import scipy.sparse as sp

__all__ = ["Pattern"]


class Pattern:
    """The places of the elements of a matrix in CSR format.

    Parameters
    ----------
    indices, indptr : array of int
        As in `scipy.sparse.csr_array`; the elements of a row may stand in any order.
    shape : (int, int)
        That of the matrix.
    """

    def __init__(self, indices: Any, indptr: Any, shape: tuple[int, int]) -> None:
        self.indices, self.indptr = (np.array(x, copy=True) for x in (indices, indptr))
        self.shape = int(shape[0]), int(shape[1])
        for x in (self.indices, self.indptr):
            x.flags.writeable = False

    @functools.cached_property
    def _digest(self) -> bytes:
        found = blake2b(repr(self.shape).encode(), digest_size=16)
        for x in (self.indices, self.indptr):
            found.update(np.asarray(x, np.int64).tobytes())
        return found.digest()

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Pattern) and self._digest == other._digest)

    def __hash__(self) -> int:
        return hash(self._digest)

    def __repr__(self) -> str:
        return f"pattern of {self.size} elements in {self.shape[0]} x {self.shape[1]}"

    @property
    def size(self) -> int:
        """How many elements there are."""
        return len(self.indices)

    @functools.cached_property
    def rows(self) -> Any:
        """The row of each element."""
        return np.repeat(np.arange(self.shape[0]), np.diff(self.indptr))

    @functools.cached_property
    def transposed(self) -> tuple[Pattern, Any]:
        """The pattern of the transpose, and the order in which it has the elements."""
        order = np.lexsort((self.rows, self.indices))
        counts = np.bincount(self.indices, minlength=self.shape[1])
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype(self.indptr.dtype)
        rows = self.rows[order].astype(self.indices.dtype)
        return Pattern(rows, indptr, self.shape[::-1]), order

    def matrix(self, data: Any, kind: Any = sp.csr_array) -> Any:
        """SciPy's matrix with these values."""
        found = sp.csr_array((data, self.indices, self.indptr), shape=self.shape)
        return found if kind is sp.csr_array else kind(found)
