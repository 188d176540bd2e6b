"""``funcgrad.scipy.sparse``: sparse matrices of traced values, and products with them.

A sparse matrix is a constant pattern and values, which may be traced; it is made under SciPy's
names and in its forms. `scipy.sparse` matrices of plain numbers, which have no derivative, stand in
every place where one of these does.

Examples
--------
>>> import numpy as np
>>> import funcgrad as fg
>>> from funcgrad.scipy.sparse import coo_array
>>> x = np.array([2.0, 3.0])
>>> f = lambda data: np.sum((coo_array((data, ([0, 1], [1, 0]))) @ x) ** 2)
>>> fg.grad(f)(np.ones(2))
array([18.,  8.])
"""

from funcgrad.core.boundary import publish
from funcgrad.scipy.reasons import why_not
from funcgrad.scipy.sparse import (
    linalg,
    scipy_matrices,  # noqa: F401 (SciPy's own matrices come to ours)
)
from funcgrad.scipy.sparse.arrays import (
    SparseArray,
    as_sparse,
    coo_array,
    csc_array,
    csr_array,
    diags_array,
)

__all__ = [
    "SparseArray",
    "as_sparse",
    "coo_array",
    "csc_array",
    "csr_array",
    "diags_array",
    "linalg",
]

publish(__name__, reason=why_not(__name__))
