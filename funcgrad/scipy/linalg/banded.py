"""Equations whose matrix is a band, stored by its diagonals as LAPACK stores it."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as sp

from funcgrad.core.layout import fresh
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import bind, type_of
from funcgrad.core.types import Array, ArrayType, zeros
from funcgrad.errors import located
from funcgrad.numpy.function_calls import numpy_function
from funcgrad.ops.arithmetic import cast, conjugate, multiply, real, where
from funcgrad.ops.index import getitem
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import concatenate, stack
from funcgrad.ops.sums import sum as total
from funcgrad.scipy.linalg.define import as_lapack, stacked
from funcgrad.scipy.linalg.factorizations import CHOLESKY
from funcgrad.scipy.linalg.solvers import solved, solver
from funcgrad.scipy.valued import valued

__all__ = [
    "cho_solve_banded",
    "cholesky_banded",
    "bands",
    "dense",
    "solve_banded",
    "solveh_banded",
]


def _shifted(n: int, k: int) -> tuple[slice, slice]:
    """The places in a diagonal `k` above the main one: rows, and columns, as LAPACK stores it."""
    return slice(max(0, -k), min(n, n - k)), slice(max(0, k), min(n, n + k))


def _outer_band(gm: Any, x: Any, lower: int, upper: int) -> Array:
    """The diagonals of ``gm xᵀ``, stored as LAPACK stores a band."""
    n = type_of(x).shape[-2]
    lines = []
    for k in range(upper, -lower - 1, -1):
        rows, columns = _shifted(n, k)
        found = total(
            multiply(
                getitem(gm, (Ellipsis, rows, slice(None))),
                getitem(x, (Ellipsis, columns, slice(None))),
            ),
            -1,
        )
        kind = type_of(found)
        left = zeros(ArrayType((*kind.shape[:-1], columns.start), kind.dtype))
        right = zeros(ArrayType((*kind.shape[:-1], n - columns.stop), kind.dtype))
        lines.append(concatenate([left, found, right], kind.ndim - 1))
    return stack(lines, type_of(lines[0]).ndim - 1)


def _transposed_band(ab: Any, lower: int, upper: int) -> Array:
    n = type_of(ab).shape[-1]
    lines = []
    for line, k in enumerate(range(upper, -lower - 1, -1)):
        rows, columns = _shifted(n, k)
        found = getitem(ab, (Ellipsis, line, columns))
        kind = type_of(found)
        left = zeros(ArrayType((*kind.shape[:-1], rows.start), kind.dtype))
        right = zeros(ArrayType((*kind.shape[:-1], n - rows.stop), kind.dtype))
        lines.append(concatenate([left, found, right], kind.ndim - 1))
    return stack(lines[::-1], type_of(lines[0]).ndim - 1)


def _banded_transposed(ab: Any, g: Any, *, lower: int, upper: int) -> Array:
    params = {"lower": upper, "upper": lower}
    return bind(BANDED, (_transposed_band(ab, lower, upper), g), params)


def _banded_value(ab: Any, b: Any, lower: int, upper: int) -> Any:
    return sp.solve_banded((lower, upper), ab, b, check_finite=False)


BANDED = solver(
    "solve_banded",
    stacked(_banded_value),
    _banded_transposed,
    _outer_band,
    lambda: [
        Sample((draw((3, 4)) + np.array([[0], [4], [0]]), draw((4, 2))), {"lower": 1, "upper": 1}),
        Sample(
            (draw((2, 3, 4)) + np.array([[4], [0], [0]]), draw((2, 4, 2))), {"lower": 2, "upper": 0}
        ),
    ],
    "(d,n),(n,k)->(n,k)",
)
BANDED.lies = fresh


@numpy_function(sp.solve_banded)
def solve_banded(
    l_and_u: Any,
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    """The solution x of ``a x = b`` for a matrix that is stored by its diagonals.

    Parameters
    ----------
    l_and_u : (int, int)
        How many diagonals lie below and above the main one.
    ab : array of shape (…, l + u + 1, n)
        The diagonals, the upmost first; elements outside the matrix are not read.
    b : array of shape (n,) or (…, n, k)

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.linalg
    >>> import funcgrad as fg
    >>> ab = np.array([[0.0, 1.0], [2.0, 4.0]])
    >>> fg.grad(lambda b: np.sum(scipy.linalg.solve_banded((0, 1), ab, b)))(np.ones(2))
    array([0.5  , 0.125])
    """
    lower, upper = map(int, l_and_u)
    ab = as_lapack(ab)
    if type_of(ab).shape[-2] != lower + upper + 1:
        raise ValueError(
            located(
                f"invalid values for the number of lower and upper diagonals: l+u+1 "
                f"({lower + upper + 1}) does not equal ab.shape[0] ({type_of(ab).shape[-2]})"
            )
        )
    return solved(BANDED, ab, b, {"lower": lower, "upper": upper})


def _whole_band(ab: Array, lower: bool) -> Array:
    """All diagonals of a Hermitian band of which one half is stored."""
    count = type_of(ab).shape[-2] - 1
    if lower:
        ab = _transposed_band(conjugate(ab), count, 0)
    below = _transposed_band(conjugate(ab), 0, count)
    above, below = (
        getitem(x, (Ellipsis, part, slice(None)))
        for x, part in ((ab, slice(0, count)), (below, slice(1, None)))
    )
    # LAPACK reads the real part of the diagonal alone
    middle = real(getitem(ab, (Ellipsis, slice(count, None), slice(None))))
    middle = cast(middle, type_of(ab).dtype)
    return concatenate([above, middle, below], type_of(ab).ndim - 2)


def _composed_hermitian(ab: Any, b: Any, lower: bool) -> Array:
    count = type_of(ab).shape[-2] - 1
    return bind(BANDED, (_whole_band(ab, lower), b), {"lower": count, "upper": count})


HERMITIAN_BANDED = valued(
    "scipy_solveh_banded",
    lambda ab, b, lower: sp.solveh_banded(ab, b, lower=lower, check_finite=False),
    _composed_hermitian,
    lambda: [
        Sample((draw((2, 4)) + np.array([[0], [4]]), draw((4, 2))), {"lower": False}),
        Sample((draw((2, 4)) + np.array([[4], [0]]), draw((4, 2))), {"lower": True}),
    ],
)


@numpy_function(sp.solveh_banded)
def solveh_banded(
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    lower: bool = False,
    check_finite: bool = True,
) -> Array:
    """The solution x of ``a x = b`` for a positive definite band, of which one half is stored.

    Parameters
    ----------
    ab : array of shape (…, u + 1, n)
        The upper diagonals, the upmost first, or the lower ones, the main one first.
    b : array of shape (n,) or (…, n, k)
    lower : bool, optional
    """
    return solved(HERMITIAN_BANDED, as_lapack(ab), b, {"lower": bool(lower)})


# --------------------------------------------------------------- factors of Hermitian bands


def dense(ab: Array, lower: bool) -> Array:
    """The Hermitian matrix of which `ab` has one half of the diagonals."""
    count, n = type_of(ab).shape[-2] - 1, type_of(ab).shape[-1]
    away = np.arange(n)[:, None] - np.arange(n)
    held = _whole_band(ab, lower)[..., np.clip(away + count, 0, 2 * count), np.arange(n)]
    return where(abs(away) <= count, held, np.zeros((), type_of(ab).dtype))


def _half(a: Array, count: int, lower: bool) -> Array:
    """The diagonals of a triangular matrix, as LAPACK stores a band."""
    n = type_of(a).shape[-1]
    line, columns = np.arange(count + 1)[:, None], np.arange(n)
    rows = columns + line - (0 if lower else count)
    held = a[..., np.clip(rows, 0, n - 1), columns]
    return where((rows >= 0) & (rows < n), held, np.zeros((), type_of(a).dtype))


def _kept_corner(made: Array, ab: Array, lower: bool) -> Array:
    """`made` with the elements of `ab` that lie outside of the matrix, as LAPACK leaves them."""
    count, n = type_of(ab).shape[-2] - 1, type_of(ab).shape[-1]
    inside = np.asarray(_half(np.ones((n, n), bool), count, lower))
    return where(inside, made, ab)


def _factored(ab: Any, lower: bool) -> Array:
    params = {} if lower else {"upper": True}
    whole = bind(CHOLESKY, (dense(ab, lower),), params)
    return _kept_corner(_half(whole, type_of(ab).shape[-2] - 1, lower), ab, lower)


def bands() -> Any:
    upper = 0.3 * draw((2, 4)) + np.array([[0], [4]])
    return [Sample((upper,), {"lower": False}), Sample((upper[::-1].copy(),), {"lower": True})]


CHOLESKY_BANDED = valued(
    "scipy_cholesky_banded",
    lambda ab, lower: sp.cholesky_banded(ab, lower=lower, check_finite=False),
    _factored,
    bands,
)


@numpy_function(sp.cholesky_banded)
def cholesky_banded(
    ab: Any, overwrite_ab: bool = False, lower: bool = False, check_finite: bool = True
) -> Array:
    """The Cholesky factor of a positive definite band, stored as the band is.

    Parameters
    ----------
    ab : array of shape (…, u + 1, n)
        The upper diagonals, the upmost first, or the lower ones, the main one first.
    lower : bool, optional

    Notes
    -----
    Derivatives, and programs compiled by `jit`, compute with a full matrix of n² elements.
    """
    return bind(CHOLESKY_BANDED, (as_lapack(ab),), {"lower": bool(lower)})


def _solved_by_factor(cb: Any, b: Any, lower: bool) -> Array:
    count = type_of(cb).shape[-2] - 1
    first, last = (count, 0), (0, count)
    if lower:
        low, high = cb, _transposed_band(conjugate(cb), count, 0)
    else:
        low, high = _transposed_band(conjugate(cb), 0, count), cb
    y = bind(BANDED, (low, b), dict(zip(("lower", "upper"), first, strict=True)))
    return bind(BANDED, (high, y), dict(zip(("lower", "upper"), last, strict=True)))


CHO_SOLVE_BANDED = valued(
    "scipy_cho_solve_banded",
    lambda cb, b, lower: sp.cho_solve_banded((cb, lower), b, check_finite=False),
    _solved_by_factor,
    lambda: [Sample((*s.args, draw((4, 2))), s.params) for s in bands()],
    linear_in=(1,),
)


@numpy_function(sp.cho_solve_banded)
def cho_solve_banded(
    cb_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> Array:
    """The solution x of ``a x = b``, given what `cholesky_banded` makes of `a`.

    Parameters
    ----------
    cb_and_lower : (array of shape (…, u + 1, n), bool)
    b : array of shape (n,) or (…, n, k)
    """
    cb, lower = cb_and_lower
    return solved(CHO_SOLVE_BANDED, as_lapack(cb), b, {"lower": bool(lower)})
