"""Eigenvalues and eigenvectors of matrices that need not be symmetric: `eig` and `eigvals`.

Results are complex, also those of real matrices: whether a matrix has real eigenvalues is known
from its values alone. Tangents are stated (Boeddeker et al. 2017, "On the computation of
complex-valued gradients", eqs. 4.60 and 4.77; Magnus 1985), with the vectors normed as LAPACK's
`geev` norms them; cotangents are derived by transposing them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.forms import Explicit, explicit
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import bind, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.ops.arithmetic import (
    absolute,
    conjugate,
    divide,
    imag,
    logical_or,
    multiply,
    real,
    subtract,
    where,
)
from funcgrad.ops.constant import Constant, argmax, constant
from funcgrad.ops.equal_values import coincide
from funcgrad.ops.index import take_along_axis
from funcgrad.ops.matrices import column, complex_, regular, row, square
from funcgrad.ops.product import matmul
from funcgrad.ops.shape import every_lane
from funcgrad.ops.solve import SOLVE
from funcgrad.ops.sums import sum as total

__all__ = ["EIG", "EIGVALS", "eig", "eigvals"]


def _complex(dtype: Any) -> np.dtype[Any]:
    return np.result_type(dtype, np.complex64)


def _eig_type(a: ArrayType) -> tuple[ArrayType, ArrayType]:
    dtype = _complex(a.dtype)
    return ArrayType(a.shape[:-1], dtype), ArrayType(a.shape, dtype)


def _turned(w: Array, v: Array, t: Array) -> tuple[Array, Array]:
    """V⁻¹ dA V, and its elements over the gaps between the eigenvalues: what V is turned by.

    Where two eigenvalues are equal (but for rounding) the vectors are not determined: NaN.
    """
    inside = bind(SOLVE, (v, matmul(t, v)))
    own = np.eye(type_of(w).shape[-1], dtype=bool)
    gap = subtract(row(w), column(w))
    none = logical_or(coincide(gap, absolute(w)), own)
    over = where(none, np.nan, divide(1.0, where(none, 1.0, gap)))
    return inside, multiply(where(own, 0.0, over), inside)


def _diagonal(x: Array) -> Array:
    return total(multiply(x, np.eye(type_of(x).shape[-1], dtype=type_of(x).dtype)), -1)


def _normed(v: Array, t: Array) -> Array:
    """The tangent `t` of the vectors `v` whose norm stays 1 and whose largest component is real."""
    if not type_of(v).shape[-2]:
        return t
    length = real(total(multiply(conjugate(v), t), -2, True))
    t = subtract(t, multiply(v, length))
    size = absolute(v)
    axis = type_of(v).ndim - 2
    largest = argmax(size, axis, True)
    turn = divide(imag(take_along_axis(t, largest, axis)), real(take_along_axis(v, largest, axis)))
    return subtract(t, multiply(multiply(v, turn), 1j))


def _eig_jvp(y: Any, _xs: Any, ts: Any) -> Any:
    (w, v), (t,) = y, ts
    inside, turn = _turned(w, v, t)
    return _diagonal(inside), _normed(v, matmul(v, turn))


def _samples() -> list[Sample]:
    return [
        Sample((regular(),)),
        Sample((regular(2, seed=3),)),
        Sample((complex_(regular()),)),
        Sample((np.array([[1.0, -2.0], [2.0, 1.5]]),)),  # a pair of conjugate eigenvalues
        Sample((regular().astype(np.float32),)),
    ]


def _eig(a: Any) -> tuple[Any, Any]:
    w, v = np.linalg.eig(a)
    dtype = _complex(w.dtype)
    return w.astype(dtype), v.astype(dtype)


EIG: Explicit = explicit(
    "eig",
    _eig,
    signature="(n,n)->(n),(n,n)",
    type_rule=_eig_type,
    jvp=_eig_jvp,
    multiple=True,
    sample=_samples,
)


def _matching(w: Any, others: Any) -> Any:
    """For each eigenvalue in `w` the nearest one among `others` that is not taken yet."""
    shape = w.shape
    found = np.empty(shape, np.intp)
    for at in np.ndindex(shape[:-1]):
        distance = np.abs(w[at][:, None] - others[at])
        for k in range(shape[-1]):
            j = int(np.argmin(distance[k]))
            found[(*at, k)], distance[:, j] = j, np.inf
    return found


def _matching_batch(size: int, xs: Any, batched: Any, params: Any) -> Any:
    return bind(MATCHING, every_lane(size, xs, batched))


MATCHING: Constant = constant(
    "matching_eigenvalues",
    _matching,
    lambda w, others: ArrayType(w.shape, np.dtype(np.intp)),
    _matching_batch,
    sample=lambda: [Sample((np.array([1.0, 2.0 + 1j, 1.0]), np.array([2.0 + 1j, 1.0, 1.0])))],
)


def _eigvals_jvp(y: Any, xs: Any, ts: Any) -> Any:
    """By the vectors, which `eig` may give in another order than that of the values."""
    w, v = bind(EIG, xs)
    moved = _diagonal(bind(SOLVE, (v, matmul(ts[0], v))))
    return take_along_axis(moved, bind(MATCHING, (y, w)), type_of(w).ndim - 1)


EIGVALS: Explicit = explicit(
    "eigvals",
    lambda a: np.linalg.eigvals(a).astype(_complex(a.dtype)),
    signature="(n,n)->(n)",
    type_rule=lambda a: _eig_type(a)[0],
    jvp=_eigvals_jvp,
    sample=_samples,
)


def eig(a: Any) -> tuple[Array, Array]:
    """Eigenvalues and eigenvectors of a square matrix, complex in any case."""
    w, v = bind(EIG, (square(a, "eig"),))
    return w, v


def eigvals(a: Any) -> Array:
    """Eigenvalues of a square matrix, complex in any case."""
    return bind(EIGVALS, (square(a, "eigvals"),))
