"""Inverses, determinants and triangular factors: SciPy's values with the rules of `funcgrad.ops`.

LU factors follow de Hoog, Anderssen and Lukas, "Differentiation of matrix functionals using
triangular factorization" (2011).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as sp

from funcgrad.core.forms import Explicit, explicit
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import bind, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.numpy.function_calls import numpy_function, refuse
from funcgrad.numpy.indexing import take_along_axis
from funcgrad.ops import determinant, factor
from funcgrad.ops import solve as solving
from funcgrad.ops.arithmetic import add, equal, logical_or, multiply, not_equal, subtract, where
from funcgrad.ops.constant import Constant, constant
from funcgrad.ops.index import getitem
from funcgrad.ops.matrices import (
    adjoint,
    column,
    complex_,
    definite,
    real_dtype,
    regular,
)
from funcgrad.ops.product import matmul
from funcgrad.ops.shape import broadcast_to, concatenate, swap_last
from funcgrad.ops.sort import argsort
from funcgrad.scipy.linalg.define import (
    as_lapack,
    by_lanes,
    lapack_lies,
    loops,
    revalued,
    sized,
    square_matrix,
)
from funcgrad.scipy.linalg.solvers import TRIANGULAR, permutation
from funcgrad.scipy.valued import valued

__all__ = ["cho_factor", "cholesky", "det", "inv", "ldl", "lu", "lu_factor"]

# ----------------------------------------------------------------------------- inverse, determinant

INV = revalued(solving.INV, "inv", lambda a: sp.inv(a))
DET = revalued(determinant.DET, "det", lambda a: np.asarray(sp.det(a))[()], double=True)


@numpy_function(sp.inv)
def inv(a: Any, overwrite_a: bool = False, check_finite: bool = True, **options: Any) -> Array:
    """The inverse of a matrix of shape (…, n, n)."""
    refuse("scipy.linalg.inv", **{k: v or None for k, v in options.items()})
    return bind(INV, (square_matrix(a, "inv"),))


@numpy_function(sp.det)
def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """The determinant of a matrix of shape (…, n, n); exact for singular matrices too."""
    return bind(DET, (square_matrix(a, "det"),))


# ----------------------------------------------------------------------------------------- Cholesky

CHOLESKY = revalued(
    factor.CHOLESKY, "cholesky", lambda a, upper=False: sp.cholesky(a, lower=not upper)
)


@numpy_function(sp.cholesky)
def cholesky(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Array:
    """The upper Cholesky factor u with ``uᴴ u = a``, or the lower one l with ``l lᴴ = a``.

    Parameters
    ----------
    a : array of shape (…, n, n)
        One triangle is read, the one that is returned. The gradient is that of a symmetric matrix,
        spread over both.
    lower : bool, optional

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.linalg
    >>> import funcgrad as fg
    >>> fg.grad(lambda a: scipy.linalg.cholesky(a)[0, 0])(np.diag([4.0, 1.0]))
    array([[0.25, 0.  ],
           [0.  , 0.  ]])
    """
    a = square_matrix(a, "cholesky")
    return bind(CHOLESKY, (a,), {} if lower else {"upper": True})


# The triangle that is not used holds elements of the matrix, and zeros from SciPy 1.18 on.
_KEEPS_ELEMENTS = bool(sp.cho_factor(np.array([[2.0, 0.0], [1.0, 2.0]]))[0][1, 0])


def _cho_factor(a: Any, lower: bool) -> Array:
    n = type_of(a).shape[-1]
    inside = np.tril(np.ones((n, n), bool))
    found = bind(CHOLESKY, (a,), {} if lower else {"upper": True})
    return where(inside if lower else inside.T, found, a) if _KEEPS_ELEMENTS else found


CHO_FACTOR = valued(
    "scipy_cho_factor",
    loops(lambda a, lower: sp.cho_factor(a, lower)[0]),
    _cho_factor,
    lambda: [
        Sample((definite(),), {"lower": True}, smooth=False),
        Sample((definite(2),), {"lower": False}, smooth=False),
    ],
    leading=True,
)


@numpy_function(sp.cho_factor)
def cho_factor(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, bool]:
    """What `cho_solve` takes: the Cholesky factor, and which triangle; the other is as in SciPy."""
    return bind(CHO_FACTOR, (square_matrix(a, "cho_factor"),), {"lower": bool(lower)}), lower


# ----------------------------------------------------------------------------------------------- LU


def _pivots_type(a: ArrayType) -> ArrayType:
    return ArrayType((*a.shape[:-2], min(a.shape[-2:])), np.dtype(np.int32))


PIVOTS: Constant = constant(
    "scipy_lu_pivots",
    sized(lambda: PIVOTS, lambda a: sp.lu_factor(a)[1]),
    _pivots_type,
    lambda size, xs, batched, params: bind(PIVOTS, xs),
    lambda: [Sample((regular(2),))],
)


def triangles(lu: Array) -> tuple[Array, Array]:
    m, n = type_of(lu).shape[-2:]
    k, dtype = min(m, n), real_dtype(type_of(lu).dtype)
    below, above = np.tri(m, k, -1, bool), ~np.tri(k, n, -1, bool)
    none = np.zeros((), dtype)
    low = where(below, getitem(lu, (Ellipsis, slice(0, k))), none)
    high = where(above, getitem(lu, (Ellipsis, slice(0, k), slice(None))), none)
    return add(low, np.eye(m, k, dtype=dtype)), high


def order_of_rows(a: Array) -> Array:
    """The row of `a` that stands in each row of its factors."""
    m = type_of(a).shape[-2]
    pivots = bind(PIVOTS, (a,))
    k = type_of(pivots).shape[-1]
    if m > k:
        rest = np.broadcast_to(
            np.arange(k, m, dtype=np.int32), (*type_of(pivots).shape[:-1], m - k)
        )
        pivots = concatenate([pivots, rest], type_of(pivots).ndim - 1)
    return permutation(pivots)


def _in_order(x: Array, order: Array) -> Array:
    at = broadcast_to(column(order), (*type_of(order).shape, 1))
    return take_along_axis(x, at, -2)


def _left(low: Array, x: Array) -> Array:
    return bind(TRIANGULAR, (low, x), {"trans": 0, "lower": True, "unit_diagonal": True})


def _right(x: Array, high: Array) -> Array:
    """x u⁻¹."""
    params = {"trans": 1, "lower": False, "unit_diagonal": False}
    return swap_last(bind(TRIANGULAR, (high, swap_last(x)), params))


def _lu_jvp(y: Any, xs: Any, ts: Any) -> Array:
    """With t = l⁻¹ a' u⁻¹: l' = l tril(t, -1) and u' = triu(t) u of the square part."""
    (a,), m, n = xs, *type_of(xs[0]).shape[-2:]
    k = min(m, n)
    t = _in_order(ts[0], order_of_rows(a))
    low, high = triangles(y)
    rows, columns = slice(0, k), slice(0, k)
    below, beyond = (Ellipsis, slice(k, m), slice(None)), (Ellipsis, slice(k, n))
    l1, u1 = getitem(low, (Ellipsis, rows, slice(None))), getitem(high, (Ellipsis, columns))
    inner = _right(_left(l1, getitem(t, (Ellipsis, rows, columns))), u1)
    ones = np.ones((k, k), real_dtype(type_of(t).dtype))
    dl = matmul(l1, multiply(inner, np.tril(ones, -1)))
    du = matmul(multiply(inner, np.triu(ones)), u1)
    out = add(dl, du)
    if m > k:
        more = subtract(getitem(t, below), matmul(getitem(low, below), du))
        out = concatenate([out, _right(more, u1)], type_of(t).ndim - 2)
    if n > k:
        more = subtract(getitem(t, beyond), matmul(dl, getitem(high, beyond)))
        out = concatenate([out, _left(l1, more)], type_of(t).ndim - 1)
    return out


LU: Explicit = explicit(
    "scipy_lu",
    sized(lambda: LU, lambda a: sp.lu_factor(a)[0]),
    type_rule=lambda a: a,
    jvp=_lu_jvp,
    batch=lambda *given: by_lanes(LU, *given),
    sample=lambda: [
        Sample((regular(),)),
        Sample((regular(2)[..., :2],)),
        Sample((complex_(regular())[:2],)),
    ],
)
LU.lies = lapack_lies


@numpy_function(sp.lu_factor)
def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Array, Array]:
    """Both triangular factors of ``p a`` in one matrix, and the exchanges of rows.

    Parameters
    ----------
    a : array of shape (…, m, n)

    Notes
    -----
    The order of rows is locally constant.
    """
    a = as_lapack(a)
    return bind(LU, (a,)), bind(PIVOTS, (a,))


@numpy_function(sp.lu)
def lu(
    a: Any,
    permute_l: bool = False,
    overwrite_a: bool = False,
    check_finite: bool = True,
    p_indices: bool = False,
) -> Any:
    """The factors p, l, u with ``p l u = a``, l lower with a diagonal of 1 and u upper.

    Parameters
    ----------
    a : array of shape (…, m, n)
    permute_l : bool, optional
        Return ``p l`` and u.
    p_indices : bool, optional
        Return the order of rows in the place of p.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.linalg
    >>> import funcgrad as fg
    >>> fg.grad(lambda a: scipy.linalg.lu(a)[2][1, 1])(np.array([[2.0, 1.0], [1.0, 3.0]]))
    array([[ 0.25, -0.5 ],
           [-0.5 ,  1.  ]])
    """
    a = as_lapack(a)
    low, high = triangles(bind(LU, (a,)))
    place = argsort(order_of_rows(a), -1)  # of each row of `a` among the factors
    if permute_l:
        return _in_order(low, place), high
    if p_indices:
        return place, low, high
    m = type_of(a).shape[-2]
    p = equal(column(place), np.arange(m))
    dtype = real_dtype(type_of(a).dtype)
    return where(p, np.ones((), dtype), np.zeros((), dtype)), low, high


# ------------------------------------------------------------------------------------- LDL


def _of_kind(x: Array, hermitian: bool) -> Array:
    return adjoint(x) if hermitian else swap_last(x)


def _ldl_jvp(y: Any, _xs: Any, ts: Any, *, lower: bool, hermitian: bool) -> Any:
    """With m = l⁻¹ a' l⁻ᴴ: d' is the blocks of m, and l' = l (the rest on its side) d⁻¹."""
    (low, d), t = y, ts[0]
    t = multiply(0.5, add(t, _of_kind(t, hermitian)))
    inside = bind(solving.SOLVE, (low, t))
    inside = _of_kind(bind(solving.SOLVE, (low, _of_kind(inside, hermitian))), hermitian)
    n = type_of(t).shape[-1]
    blocks = logical_or(np.eye(n, dtype=bool), not_equal(d, 0))
    side = np.tri(n, n, -1, bool) if lower else np.tri(n, n, -1, bool).T
    none = np.zeros((), type_of(t).dtype)
    rest = where(logical_or(blocks, ~side), none, inside)
    moved = swap_last(bind(solving.SOLVE, (swap_last(d), swap_last(rest))))
    return matmul(low, moved), where(blocks, inside, none)


def _ldl_samples() -> list[Sample]:
    params = {"lower": True, "hermitian": True}
    crossed = np.array([[0.1, 2.0, 0.5], [2.0, 0.2, -1.0], [0.5, -1.0, 1.5]])  # it has a block
    return [
        Sample((definite(2),), params, smooth=False),
        Sample((crossed,), {**params, "lower": False}, smooth=False),
    ]


LDL: Explicit = explicit(
    "scipy_ldl",
    sized(lambda: LDL, lambda a, **params: tuple(sp.ldl(a, **params)[:2])),
    type_rule=lambda a, **_: (a, a),
    jvp=_ldl_jvp,
    batch=lambda *given: by_lanes(LDL, *given),
    multiple=True,
    sample=_ldl_samples,
)
LDL.symmetric = True  # type: ignore[attr-defined]
LDL_ORDER: Constant = constant(
    "scipy_ldl_order",
    sized(lambda: LDL_ORDER, lambda a, **params: sp.ldl(a, **params)[2]),
    lambda a, **_: ArrayType(a.shape[:-1], np.dtype(np.intp)),
    lambda size, xs, batched, params: bind(LDL_ORDER, xs, params),
    lambda: _ldl_samples()[:1],
)


@numpy_function(sp.ldl)
def ldl(
    A: Any,
    lower: bool = True,
    hermitian: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
) -> tuple[Array, Array, Array]:
    """The factors of ``a = l d lᴴ``, l a permuted triangular matrix, and the permutation.

    Parameters
    ----------
    A : array of shape (…, n, n)
        One triangle is read; the gradient is that of a symmetric matrix, spread over both.
    lower, hermitian : bool, optional
        As in SciPy.

    Notes
    -----
    The permutation, and where d has blocks of two, is locally constant.
    """
    a = square_matrix(A, "ldl")
    params = {"lower": bool(lower), "hermitian": bool(hermitian)}
    low, d = bind(LDL, (a,), params)
    return low, d, bind(LDL_ORDER, (a,), params)
