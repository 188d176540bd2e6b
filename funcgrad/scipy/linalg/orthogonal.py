"""Factors with orthonormal columns: QR, singular values, polar factors, and what they give."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as sp

from funcgrad.core.forms import Explicit, explicit
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import bind, type_of
from funcgrad.core.types import Array, ArrayType, zeros
from funcgrad.errors import UnsupportedCallError, located
from funcgrad.numpy.function_calls import numpy_function, refuse
from funcgrad.numpy.indexing import take_along_axis
from funcgrad.numpy.sorting import argsort
from funcgrad.ops import least_squares, singular, whole_factors
from funcgrad.ops import solve as solving
from funcgrad.ops.arithmetic import (
    add,
    conjugate,
    greater,
    less,
    multiply,
    real,
    square,
    subtract,
    where,
)
from funcgrad.ops.constant import Constant, constant
from funcgrad.ops.index import getitem, selected
from funcgrad.ops.matrices import (
    adjoint,
    column,
    complex_,
    regular,
    row,
)
from funcgrad.ops.nonlinear_reductions import max as largest
from funcgrad.ops.product import matmul
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import concatenate, flat, flip
from funcgrad.ops.sums import sum as total
from funcgrad.ops.transcendental import arccos, arcsin
from funcgrad.scipy.linalg.define import (
    as_lapack,
    by_lanes,
    lapack_lies,
    revalued,
    same_stacks,
    sized,
)
from funcgrad.scipy.linalg.equations import SYLVESTER
from funcgrad.scipy.valued import valued

__all__ = [
    "POLAR",
    "QR",
    "null_space",
    "orth",
    "orthogonal_procrustes",
    "polar",
    "qr",
    "qr_multiply",
    "rq",
    "subspace_angles",
    "svd",
    "svdvals",
]

# ----------------------------------------------------------------------------------------------- QR

QR = revalued(least_squares.QR, "qr", lambda a: tuple(sp.qr(a, mode="economic")))
QR_WHOLE = revalued(whole_factors.QR_WHOLE, "qr_whole", lambda a: tuple(sp.qr(a)))
QR_ORDER: Constant = constant(
    "scipy_qr_order",
    sized(lambda: QR_ORDER, lambda a: sp.qr(a, mode="r", pivoting=True)[1]),
    lambda a: ArrayType((*a.shape[:-2], a.shape[-1]), np.dtype(np.int32)),
    lambda size, xs, batched, params: bind(QR_ORDER, xs),
    lambda: [Sample((regular(2),))],
)


def _in_order(x: Array, order: Array) -> Array:
    return take_along_axis(x, row(order), -1)


def _pivoted_jvp(y: Any, xs: Any, ts: Any) -> Any:
    assert least_squares.QR.jvp_stated is not None
    return least_squares.QR.jvp_stated(y, xs, (_in_order(ts[0], bind(QR_ORDER, (xs[0],))),))


def _pivoted_whole_jvp(y: Any, xs: Any, ts: Any) -> Any:
    assert QR_WHOLE.jvp_stated is not None
    return QR_WHOLE.jvp_stated(y, xs, (_in_order(ts[0], bind(QR_ORDER, (xs[0],))),))


def _pivoted_whole_vjp(g: Any, y: Any, a: Any) -> Any:
    made = QR_WHOLE.pull(g, y, (a,), (True,), {})[0]
    assert made is not None
    return _in_order(made, argsort(bind(QR_ORDER, (a,)), -1))


PIVOTED: Explicit = explicit(
    "scipy_qr_pivoted",
    sized(lambda: PIVOTED, lambda a: tuple(sp.qr(a, mode="economic", pivoting=True)[:2])),
    type_rule=lambda a: least_squares.QR.type_rule((a,), {}),
    jvp=_pivoted_jvp,
    batch=lambda *given: by_lanes(PIVOTED, *given),
    multiple=True,
    sample=lambda: [Sample((regular(),)), Sample((regular(2)[..., :2],))],
)
PIVOTED.lies = lapack_lies
PIVOTED_WHOLE: Explicit = explicit(
    "scipy_qr_pivoted_whole",
    sized(lambda: PIVOTED_WHOLE, lambda a: tuple(sp.qr(a, pivoting=True)[:2])),
    type_rule=lambda a: QR_WHOLE.type_rule((a,), {}),
    vjp=(_pivoted_whole_vjp,),
    jvp=_pivoted_whole_jvp,
    both=whole_factors.LEFT_OUT,
    batch=lambda *given: by_lanes(PIVOTED_WHOLE, *given),
    multiple=True,
    sample=lambda: [Sample((draw((3, 2)),), smooth=False)],
)
PIVOTED_WHOLE.lies = lapack_lies


@numpy_function(sp.qr)
def qr(
    a: Any,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> Any:
    """The factors q, with orthonormal columns, and r, upper triangular, of ``a = q r``.

    Parameters
    ----------
    a : array of shape (…, m, n)
    mode : {"full", "r", "economic"}, optional
        "raw" is not supported on traced values. The gradient of what uses the columns that "full"
        adds to q is NaN.
    pivoting : bool, optional
        Return the order of the columns too, which is locally constant.

    Raises
    ------
    UnsupportedCallError
        Of traced values with a mode that is not supported.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.linalg
    >>> import funcgrad as fg
    >>> a = np.array([[3.0, 1.0], [4.0, 2.0]])
    >>> fg.grad(lambda a: scipy.linalg.qr(a, mode="r")[0][0, 0] ** 2)(a).round(6) + 0.0
    array([[6., 0.],
           [8., 0.]])
    """
    a = as_lapack(a)
    m, n = type_of(a).shape[-2:]
    if mode not in ("full", "r", "economic"):
        raise UnsupportedCallError(
            located(
                f"scipy.linalg.qr: mode={mode!r} of a matrix of shape {type_of(a).shape} has no "
                'derivative; use mode="economic"'
            )
        )
    if mode == "full" and m > n:
        q, r = bind(PIVOTED_WHOLE if pivoting else QR_WHOLE, (a,))
    else:
        q, r = bind(PIVOTED if pivoting else QR, (a,))
    more = (bind(QR_ORDER, (a,)),) if pivoting else ()
    if mode != "r":
        return (q, r, *more)
    if m > n:
        kind = type_of(r)
        none = zeros(ArrayType((*kind.shape[:-2], m - n, n), kind.dtype))
        r = concatenate([r, none], kind.ndim - 2)
    return (r, *more)


# ---------------------------------------------------------------------------------- singular values

SVD = revalued(
    singular.SVD, "svd", lambda a, full=False, kinks=True: tuple(sp.svd(a, full_matrices=full))
)
SVD_WHOLE = revalued(whole_factors.SVD_WHOLE, "svd_whole", lambda a: tuple(sp.svd(a)))
SVDVALS = revalued(singular.SVDVALS, "svdvals", lambda a: sp.svdvals(a))


@numpy_function(sp.svd)
def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """The singular value decomposition u, s, vh with ``a = u diag(s) vh``.

    Parameters
    ----------
    a : array of shape (…, m, n)
    full_matrices, compute_uv : bool, optional
        As in SciPy.

    Notes
    -----
    As of `funcgrad.numpy.linalg.svd`: the gradient of a function of vectors is NaN where values
    coincide, and of vectors that `full_matrices` adds.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.linalg
    >>> import funcgrad as fg
    >>> fg.grad(lambda a: scipy.linalg.svd(a)[1][0])(np.diag([2.0, 1.0]))
    array([[1., 0.],
           [0., 0.]])
    """
    refuse("scipy.linalg.svd", lapack_driver=None if lapack_driver == "gesdd" else lapack_driver)
    a = as_lapack(a)
    m, n = type_of(a).shape[-2:]
    if not compute_uv:
        return bind(SVDVALS, (a,))
    if full_matrices and m != n:
        return tuple(bind(SVD_WHOLE, (a,)))
    return tuple(bind(SVD, (a,), {"full": True} if full_matrices else {}))


@numpy_function(sp.svdvals)
def svdvals(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """The singular values of a matrix of shape (…, m, n) in descending order."""
    return bind(SVDVALS, (as_lapack(a),))


# -------------------------------------------------------------------------------------------- polar


def _polar_jvp(y: Any, _xs: Any, ts: Any, *, side: str) -> Any:
    """Of a = u p: z = uᴴu' solves ``p z + z p = uᴴ a' - a'ᴴ u``, also where values coincide.

    Of a = p u it is the same for the adjoints.
    """
    (u, p), (t,) = y, ts
    if side == "left":
        du, dp = _polar_jvp((adjoint(u), p), None, (adjoint(t),), side="right")
        return adjoint(du), dp
    inside = matmul(adjoint(u), t)
    z = bind(SYLVESTER, (p, p, subtract(inside, adjoint(inside))))
    outside = subtract(t, matmul(u, inside))
    outside = adjoint(bind(solving.SOLVE, (p, adjoint(outside))))
    return add(matmul(u, z), outside), subtract(inside, matmul(z, p))


def _polar_type(a: ArrayType, *, side: str) -> tuple[ArrayType, ArrayType]:
    k = min(a.shape[-2:])
    return a, ArrayType((*a.shape[:-2], k, k), a.dtype)


POLAR: Explicit = explicit(
    "scipy_polar",
    sized(lambda: POLAR, lambda a, side: tuple(sp.polar(a, side))),
    type_rule=_polar_type,
    jvp=_polar_jvp,
    batch=lambda *given: by_lanes(POLAR, *given),
    multiple=True,
    sample=lambda: [
        Sample((regular(),), {"side": "right"}),
        Sample((regular(2)[..., :2],), {"side": "right"}),
        Sample((complex_(regular())[:2],), {"side": "left"}),
    ],
)
POLAR.lies = lapack_lies


@numpy_function(sp.polar)
def polar(a: Any, side: str = "right") -> tuple[Array, Array]:
    """The factors u, with orthonormal columns or rows, and p, positive, of ``a = u p``.

    Parameters
    ----------
    a : array of shape (…, m, n)
        Of full rank, with no more columns than rows (than columns, for the left side).
    side : {"right", "left"}, optional
        "left" is ``a = p u``.
    """
    if side not in ("right", "left"):
        raise ValueError("`side` must be either 'right' or 'left'")
    a = as_lapack(a)
    m, n = type_of(a).shape[-2:]
    if (m < n) if side == "right" else (n < m):
        raise UnsupportedCallError(
            located(
                f"scipy.linalg.polar: p of a matrix of shape {type_of(a).shape} is singular on the "
                f"{side} side, where it has no derivative; take the other side"
            )
        )
    return tuple(bind(POLAR, (a,), {"side": side}))


# ------------------------------------------------------------------- RQ, products, subspaces


def _turned(r: Array, q: Array) -> tuple[Array, Array]:
    """Factors of the adjoint with its columns in reverse order, of those of a = r q, and back."""
    last = type_of(q).ndim - 1
    return adjoint(flip(q, [last - 1])), flip(adjoint(r), [last - 1, last])


def _rq_jvp(y: Any, xs: Any, ts: Any) -> Any:
    """(reversed a)ᴴ = (reversed q)ᴴ (r reversed twice)ᴴ, of which the last one is triangular."""
    rows = type_of(xs[0]).ndim - 2
    a, t = (adjoint(flip(x, [rows])) for x in (xs[0], ts[0]))
    assert least_squares.QR.jvp_stated is not None
    q, r = least_squares.QR.jvp_stated(_turned(*y), (a,), (t,))
    return flip(adjoint(r), [rows, rows + 1]), flip(adjoint(q), [rows])


RQ: Explicit = explicit(
    "scipy_rq",
    sized(lambda: RQ, lambda a: tuple(sp.rq(a, mode="economic"))),
    type_rule=lambda a: (ArrayType((*a.shape[:-1], a.shape[-2]), a.dtype), a),
    jvp=_rq_jvp,
    batch=lambda *given: by_lanes(RQ, *given),
    multiple=True,
    sample=lambda: [Sample((regular(),)), Sample((complex_(regular(2))[..., :2, :],))],
)
RQ.lies = lapack_lies


@numpy_function(sp.rq)
def rq(
    a: Any,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    check_finite: bool = True,
) -> Any:
    """The factors r, upper triangular, and q, with orthonormal rows, of ``a = r q``.

    Parameters
    ----------
    a : array of shape (…, m, n)
        With no more rows than columns; of the mode "full" with as many.
    mode : {"full", "r", "economic"}, optional

    Raises
    ------
    UnsupportedCallError
        Of traced values where q has rows that nothing determines.
    """
    a = as_lapack(a)
    m, n = type_of(a).shape[-2:]
    if m > n or (mode != "economic" and m < n) or mode not in ("full", "r", "economic"):
        raise UnsupportedCallError(
            located(
                f"scipy.linalg.rq: mode={mode!r} of a matrix of shape {type_of(a).shape} has no "
                'derivative; use mode="economic" of one with no more rows than columns'
            )
        )
    r, q = bind(RQ, (a,))
    return r if mode == "r" else (r, q)


def _products(a: Any, c: Any, *, mode: str, turned: bool) -> tuple[Array, Array]:
    q, r = bind(QR, (a,))
    q = conjugate(q) if turned else q
    return matmul(c, q) if mode == "right" else matmul(q, c), r


PRODUCTS = valued(
    "scipy_qr_multiply",
    lambda a, c, mode, turned: tuple(sp.qr_multiply(a, c, mode, conjugate=turned)),
    _products,
    lambda: [
        Sample((regular(), draw((2, 3))), {"mode": "right", "turned": False}),
        Sample((complex_(regular()), draw((3, 2))), {"mode": "left", "turned": True}),
    ],
    multiple=True,
    dtype=lambda a, c, **_: np.result_type(a, np.complex64) if c.kind == "c" else a,
)


@numpy_function(sp.qr_multiply)
def qr_multiply(
    a: Any,
    c: Any,
    mode: str = "right",
    pivoting: bool = False,
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> Any:
    """The product of `c` and the factor q of ``a = q r``, and r.

    Parameters
    ----------
    a : array of shape (m, n)
        With no fewer rows than columns.
    c : array of shape (m,) or (m, k), or on the left side (min(m, n), k)
    mode : {"right", "left"}, optional
        The product is ``c q``, or ``q c``.
    pivoting, conjugate : bool, optional
        As in SciPy; columns of traced matrices are not exchanged.
    """
    refuse("scipy.linalg.qr_multiply", pivoting=pivoting or None)
    if mode not in ("left", "right"):
        raise ValueError(f"Mode argument can only be 'left' or 'right' but not '{mode}'")
    a, c = as_lapack(a), as_lapack(c)
    if type_of(c).ndim != 2:
        made = column(c) if mode == "left" else row(c)
        product, r = bind(PRODUCTS, (a, made), {"mode": mode, "turned": bool(conjugate)})
        return flat(product), r
    return tuple(bind(PRODUCTS, (a, c), {"mode": mode, "turned": bool(conjugate)}))


def _one(a: Array) -> Any:
    return np.eye(type_of(a).shape[-1], dtype=type_of(a).dtype)


def _procrustes(a: Any, b: Any) -> tuple[Array, Array]:
    """By the polar factors of the product, where singular values may coincide."""
    turn, scale = bind(POLAR, (adjoint(matmul(adjoint(b), a)),), {"side": "right"})
    return turn, real(total(multiply(scale, _one(scale)), (-2, -1)))


PROCRUSTES = valued(
    "scipy_orthogonal_procrustes",
    lambda a, b: tuple(sp.orthogonal_procrustes(a, b, check_finite=False)),
    _procrustes,
    lambda: [Sample((draw((4, 2)), draw((4, 2), seed=1)))],
    multiple=True,
)


@numpy_function(sp.orthogonal_procrustes)
def orthogonal_procrustes(A: Any, B: Any, check_finite: bool = True) -> tuple[Array, Array]:
    """The orthogonal matrix r for which ``a r`` is nearest to `b`, and the sum of singular values.

    Parameters
    ----------
    A, B : array of shape (m, n)
        Their product ``bᴴ a`` has full rank.
    """
    return tuple(bind(PROCRUSTES, same_stacks(as_lapack(A), as_lapack(B))))


def _angles(a: Any, b: Any) -> Array:
    """By cosines for large angles and by sines for small ones, as SciPy does."""
    qa, qb = (bind(QR, (x,))[0] for x in (a, b))
    product = matmul(adjoint(qa), qb)
    cosines = bind(SVDVALS, (product,))
    if type_of(qa).shape[-1] >= type_of(qb).shape[-1]:
        rest = subtract(qb, matmul(qa, product))
    else:
        rest = subtract(qa, matmul(qb, adjoint(product)))
    large = less(square(cosines), 0.5)
    sines = where(large, 0.0, bind(SVDVALS, (rest,)))
    backwards = getitem(cosines, (Ellipsis, slice(None, None, -1)))
    return where(large, arccos(where(large, backwards, 0.0)), arcsin(sines))


SUBSPACE_ANGLES = valued(
    "scipy_subspace_angles",
    lambda a, b: sp.subspace_angles(a, b),
    _angles,
    lambda: [Sample((draw((4, 2)), draw((4, 2), seed=1)))],
)


@numpy_function(sp.subspace_angles)
def subspace_angles(A: Any, B: Any) -> Array:
    """The angles between the spaces of the columns of two matrices, the largest first.

    Parameters
    ----------
    A, B : array of shape (m, n), (m, k)
        Of full rank.
    """
    # not of one dtype: SciPy factorises each matrix in its own
    return bind(SUBSPACE_ANGLES, (as_lapack(A), as_lapack(B)))


def _rank(s: Array, shape: tuple[int, ...], rcond: Any, name: str) -> int:
    """How many singular values count, as SciPy tells it."""
    least = float(np.finfo(type_of(s).dtype).eps) * max(shape) if rcond is None else rcond
    most = largest(s, -1, keepdims=True, initial=0.0)
    what = f"the rank of the matrix in scipy.linalg.{name}"
    return selected(greater(s, multiply(most, least)), what)


@numpy_function(sp.orth)
def orth(A: Any, rcond: Any = None) -> Array:
    """The left singular vectors of a matrix of shape (m, n) that span its columns."""
    a = as_lapack(A)
    u, s, _ = svd(a, False)
    return getitem(u, (slice(None), slice(0, _rank(s, type_of(a).shape, rcond, "orth"))))


@numpy_function(sp.null_space)
def null_space(
    A: Any,
    rcond: Any = None,
    *,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Array:
    """The right singular vectors of a matrix that it maps to 0.

    The gradient is NaN where there are several, and of a matrix with more columns than rows:
    nothing determines them one by one.
    """
    a = as_lapack(A)
    _, s, vh = svd(a, True, lapack_driver=lapack_driver)
    rank = _rank(s, type_of(a).shape, rcond, "null_space")
    return getitem(adjoint(vh), (slice(None), slice(rank, None)))
