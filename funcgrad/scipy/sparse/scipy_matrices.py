"""SciPy's own sparse matrices, next to traced values: their products and solutions are ours."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spl

from funcgrad.errors import UnsupportedCallError, located
from funcgrad.numpy.function_calls import FUNCTIONS
from funcgrad.scipy.dispatch import scipy_method
from funcgrad.scipy.sparse import linalg
from funcgrad.scipy.sparse.arrays import as_sparse, diags_array

__all__: list[str] = []


def _refuse(owner: Any, *args: Any, **keywords: Any) -> None:
    raise UnsupportedCallError(
        located(
            f"scipy.sparse.{type(owner).__name__} cannot hold traced values; make it with "
            "funcgrad.scipy.sparse.csr_array, csc_array, coo_array or diags_array"
        )
    )


def _times(owner: Any, other: Any) -> Any:
    return as_sparse(owner) @ other


def _after(owner: Any, other: Any) -> Any:
    return as_sparse(owner).__rmatmul__(other)


def _scaled(owner: Any, other: Any) -> Any:
    return as_sparse(owner) * other


def _star(owner: Any, other: Any) -> Any:
    """The operator ``*``, which is the product of matrices for SciPy's matrices."""
    whole = np.ndim(other) and not isinstance(owner, sp.sparray)
    return _times(owner, other) if whole else _scaled(owner, other)


def _star_after(owner: Any, other: Any) -> Any:
    whole = np.ndim(other) and not isinstance(owner, sp.sparray)
    return _after(owner, other) if whole else _scaled(owner, other)


_PRODUCTS = {
    "__matmul__": _times,
    "__rmatmul__": _after,
    "__mul__": _star,
    "__rmul__": _star_after,
    "multiply": _scaled,
    "dot": _times,
}
for _format in ("bsr", "coo", "csc", "csr", "dia"):
    scipy_method(getattr(sp, f"{_format}_array"), "__init__")(_refuse)
    for _kind in (getattr(sp, f"{_format}_array"), getattr(sp, f"{_format}_matrix")):
        for _name, _define in _PRODUCTS.items():
            scipy_method(_kind, _name)(_define)

FUNCTIONS[sp.diags_array] = diags_array
for _name in linalg.__all__:
    FUNCTIONS[getattr(spl, _name)] = getattr(linalg, _name)
