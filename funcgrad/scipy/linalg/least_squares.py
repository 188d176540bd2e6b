"""Pseudoinverses and solutions of least squares."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as sp

from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import bind, concrete, type_of, value
from funcgrad.core.types import Array
from funcgrad.numpy.function_calls import numpy_function, refuse
from funcgrad.ops import least_squares, singular
from funcgrad.ops.arithmetic import add, multiply, subtract, where
from funcgrad.ops.constant import STOP_GRADIENT
from funcgrad.ops.index import getitem
from funcgrad.ops.matrices import (
    adjoint,
    column,
    definite,
    drop,
    regular,
)
from funcgrad.scipy.linalg.define import (
    as_lapack,
    revalued,
    square_matrix,
)
from funcgrad.scipy.valued import valued

__all__ = ["lstsq", "pinv", "pinvh"]

PINV = revalued(
    least_squares.PINV,
    "pinv",
    lambda a, rcond: sp.pinv(a, rtol=rcond),
    lambda: [Sample((regular(2)[..., :2],), {"rcond": 1e-15})],
)


@numpy_function(sp.pinv)
def pinv(
    a: Any,
    *,
    atol: Any = None,
    rtol: Any = None,
    return_rank: bool = False,
    check_finite: bool = True,
) -> Array:
    """The pseudoinverse of a matrix of shape (…, m, n), whose rank is taken as locally constant.

    Of singular values that the cutoff `rtol` drops the derivative is that of the truncated matrix;
    it is NaN where one of them equals one that is kept.
    """
    refuse("scipy.linalg.pinv", atol=atol, return_rank=return_rank or None)
    a = as_lapack(a)
    kind = type_of(a)
    least = max(kind.shape[-2:]) * float(np.finfo(kind.dtype).eps)
    return bind(PINV, (a,), {"rcond": least if rtol is None else float(rtol)})


PINVH = valued(
    "scipy_pinvh",
    lambda a, rcond, lower: sp.pinvh(a, rtol=rcond, lower=lower),
    lambda a, rcond, lower: bind(PINV, (_from_triangle(a, lower),), {"rcond": rcond}),
    lambda: [Sample((definite(),), {"rcond": 1e-15, "lower": True}, smooth=False)],
)


def _from_triangle(a: Array, lower: bool) -> Array:
    """The Hermitian matrix of which one triangle is given; cotangents are spread over both."""
    n = type_of(a).shape[-1]
    inside = np.tri(n, n, 0, bool) if lower else np.tri(n, n, 0, bool).T
    whole = bind(STOP_GRADIENT, (where(inside, a, adjoint(a)),))
    return add(whole, subtract(_halved(a), bind(STOP_GRADIENT, (_halved(a),))))


def _halved(a: Array) -> Array:
    return multiply(0.5, add(a, adjoint(a)))


@numpy_function(sp.pinvh)
def pinvh(
    a: Any,
    atol: Any = None,
    rtol: Any = None,
    lower: bool = True,
    return_rank: bool = False,
    check_finite: bool = True,
) -> Array:
    """The pseudoinverse of a Hermitian matrix, whose rank is taken as locally constant.

    Parameters
    ----------
    a : array of shape (…, n, n)
        One triangle is read; the gradient is that of a symmetric matrix, spread over both.
    """
    refuse("scipy.linalg.pinvh", atol=atol, return_rank=return_rank or None)
    a = square_matrix(a, "pinvh")
    kind = type_of(a)
    least = max(kind.shape[-2:]) * float(np.finfo(kind.dtype).eps)
    rcond = least if rtol is None else float(rtol)
    return bind(PINVH, (a,), {"rcond": rcond, "lower": bool(lower)})


def _lstsq(a: Any, b: Any, rcond: float, full: bool) -> Any:
    x, residuals, _, _ = sp.lstsq(a, b, rcond)
    return x, np.atleast_1d(residuals)


LSTSQ = revalued(least_squares.LSTSQ, "lstsq", _lstsq, stacks=False)
LSTSQ_VALUES = revalued(
    singular.SVDVALS, "lstsq_values", lambda a: sp.lstsq(a, np.zeros(a.shape[-2], a.dtype))[3]
)


@numpy_function(sp.lstsq)
def lstsq(
    a: Any,
    b: Any,
    cond: Any = None,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    lapack_driver: Any = None,
) -> tuple[Array, Array, int, Array]:
    """The solution x of least squares, its sums of squares, the rank, and the singular values.

    Parameters
    ----------
    a, b : array of shape (m, n), (m,) or (m, k)
    cond : float, optional
        Singular values below this fraction of the largest one count as 0.

    Notes
    -----
    The derivatives are those at constant rank. Under `jit` and `vmap` of `a` full rank is taken for
    granted where m > n, and a lower one is a LinAlgError when the function runs.
    """
    refuse("scipy.linalg.lstsq", lapack_driver=lapack_driver)
    a, b = as_lapack(a), as_lapack(b)
    (m, n), vector = type_of(a).shape, type_of(b).ndim == 1
    least = float(np.finfo(type_of(a).dtype).eps) if cond is None else float(cond)
    values, rank = bind(LSTSQ_VALUES, (a,)), n
    if concrete(a):
        found = value(values)
        ratio = least_squares.least_ratio(least, found.dtype)
        rank = int(np.sum(found > ratio * np.max(found, initial=0.0)))
    full = rank == n and m > n
    x, sums = bind(LSTSQ, (a, column(b) if vector else b), {"rcond": least, "full": full})
    if vector:
        x = drop(x)
        sums = getitem(sums, 0) if full else sums
    return x, sums, rank, values
