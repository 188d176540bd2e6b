"""Factorisations: SciPy's values with the rules of `funcgrad.ops`, and those that NumPy has not.

LU factors follow de Hoog, Anderssen and Lukas, "Differentiation of matrix functionals using
triangular factorization" (2011); polar factors and generalised eigenvalues are worked out below.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg as sp

from funcgrad.core.forms import Explicit, explicit
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import bind, concrete, type_of, value
from funcgrad.core.types import Array, ArrayType
from funcgrad.errors import UnsupportedCallError, located
from funcgrad.numpy.calls import numpy_function, refuse
from funcgrad.numpy.indexing import take_along_axis
from funcgrad.ops import determinant, factor, least_squares, singular
from funcgrad.ops import solve as solving
from funcgrad.ops.arithmetic import add, equal, multiply, negative, real, subtract, where
from funcgrad.ops.constant import Constant, constant
from funcgrad.ops.index import getitem
from funcgrad.ops.matrices import (
    adjoint,
    column,
    complex_,
    definite,
    drop,
    real_dtype,
    regular,
    row,
)
from funcgrad.ops.product import matmul
from funcgrad.ops.shape import broadcast_to, concatenate, swap_last, zeros
from funcgrad.ops.sort import argsort
from funcgrad.ops.sums import sum as total
from funcgrad.scipy.linalg.define import (
    as_lapack,
    by_lanes,
    lapack_lies,
    same_stacks,
    square_matrix,
)
from funcgrad.scipy.linalg.equations import SYLVESTER
from funcgrad.scipy.linalg.solvers import TRIANGULAR, permutation
from funcgrad.scipy.valued import valued

__all__ = [
    "cho_factor",
    "cholesky",
    "det",
    "eigh",
    "eigvalsh",
    "inv",
    "lstsq",
    "lu",
    "lu_factor",
    "pinv",
    "polar",
    "qr",
    "svd",
    "svdvals",
]


def _sized(record: Any, value: Callable[..., Any]) -> Callable[..., Any]:
    """`value`, also of stacks of no matrices, which SciPy refuses."""

    def impl(*xs: Any, **params: Any) -> Any:
        if any(0 in x.shape[:-2] for x in xs):
            out = record().type_rule([type_of(x) for x in xs], params)
            made = tuple(
                np.empty(t.shape, t.dtype) for t in (out if type(out) is tuple else (out,))
            )
            return made if record().multiple else made[0]
        return value(*xs, **params)

    return impl


def _revalued(
    prim: Explicit,
    name: str,
    value: Callable[..., Any],
    samples: Callable[[], list[Sample]] | None = None,
    stacks: bool = True,
    double: bool = False,
) -> Explicit:
    """A record with the rules of `prim` and SciPy's values.

    `stacks`: SciPy takes stacks. `double`: it gives double precision, whatever it is given.
    """

    def type_rule(*types: ArrayType, **params: Any) -> Any:
        out = prim.type_rule(types, params)
        return ArrayType(out.shape, np.result_type(out.dtype, np.float64)) if double else out

    made: Explicit = explicit(
        f"scipy_{name}",
        _sized(lambda: made, value),
        type_rule=type_rule,
        vjp=prim.vjp_rule,
        jvp=prim.jvp_stated,
        batch=(lambda *given: by_lanes(made, *given)) if stacks else None,
        multiple=prim.multiple,
        unread=prim.unread,
        sample=samples or prim.sample,
    )
    if hasattr(prim, "symmetric"):
        made.symmetric = prim.symmetric  # type: ignore[attr-defined]
    made.lies = lapack_lies
    return made


# ---------------------------------------------------------------------- inverse, determinant

INV = _revalued(solving.INV, "inv", lambda a: sp.inv(a))
DET = _revalued(determinant.DET, "det", lambda a: np.asarray(sp.det(a))[()], double=True)


@numpy_function(sp.inv)
def inv(a: Any, overwrite_a: bool = False, check_finite: bool = True, **options: Any) -> Array:
    """The inverse of a matrix of shape (…, n, n)."""
    refuse("linalg.inv", **{k: v or None for k, v in options.items()})
    return bind(INV, (square_matrix(a, "inv"),))


@numpy_function(sp.det)
def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """The determinant of a matrix of shape (…, n, n); exact for singular matrices too."""
    return bind(DET, (square_matrix(a, "det"),))


# ------------------------------------------------------------------------------- Cholesky

CHOLESKY = _revalued(
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


def _cho_factor(a: Any, lower: bool) -> Array:
    n = type_of(a).shape[-1]
    inside = np.tril(np.ones((n, n), bool))
    found = bind(CHOLESKY, (a,), {} if lower else {"upper": True})
    return where(inside if lower else inside.T, found, a)


CHO_FACTOR = valued(
    "scipy_cho_factor",
    lambda a, lower: sp.cho_factor(a, lower)[0],
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
    """What `cho_solve` takes: the Cholesky factor, beside elements of `a`, and which triangle."""
    return bind(CHO_FACTOR, (square_matrix(a, "cho_factor"),), {"lower": bool(lower)}), lower


# ------------------------------------------------------------------------------------- LU


def _pivots_type(a: ArrayType) -> ArrayType:
    return ArrayType((*a.shape[:-2], min(a.shape[-2:])), np.dtype(np.int32))


PIVOTS: Constant = constant(
    "scipy_lu_pivots",
    _sized(lambda: PIVOTS, lambda a: sp.lu_factor(a)[1]),
    _pivots_type,
    lambda size, xs, batched, params: bind(PIVOTS, xs),
    lambda: [Sample((regular(2),))],
)


def _triangles(lu: Array) -> tuple[Array, Array]:
    m, n = type_of(lu).shape[-2:]
    k, dtype = min(m, n), real_dtype(type_of(lu).dtype)
    below, above = np.tri(m, k, -1, bool), ~np.tri(k, n, -1, bool)
    none = np.zeros((), dtype)
    low = where(below, getitem(lu, (Ellipsis, slice(0, k))), none)
    high = where(above, getitem(lu, (Ellipsis, slice(0, k), slice(None))), none)
    return add(low, np.eye(m, k, dtype=dtype)), high


def _order(a: Array) -> Array:
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
    t = _in_order(ts[0], _order(a))
    low, high = _triangles(y)
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
    _sized(lambda: LU, lambda a: sp.lu_factor(a)[0]),
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
    low, high = _triangles(bind(LU, (a,)))
    place = argsort(_order(a), -1)  # of each row of `a` among the factors
    if permute_l:
        return _in_order(low, place), high
    if p_indices:
        return place, low, high
    m = type_of(a).shape[-2]
    p = equal(column(place), np.arange(m))
    dtype = real_dtype(type_of(a).dtype)
    return where(p, np.ones((), dtype), np.zeros((), dtype)), low, high


# ------------------------------------------------------------------------------------- QR

QR = _revalued(least_squares.QR, "qr", lambda a: tuple(sp.qr(a, mode="economic")))
QR_ORDER: Constant = constant(
    "scipy_qr_order",
    _sized(lambda: QR_ORDER, lambda a: sp.qr(a, mode="r", pivoting=True)[1]),
    lambda a: ArrayType((*a.shape[:-2], a.shape[-1]), np.dtype(np.int32)),
    lambda size, xs, batched, params: bind(QR_ORDER, xs),
    lambda: [Sample((regular(2),))],
)


def _pivoted_jvp(y: Any, xs: Any, ts: Any) -> Any:
    order = row(bind(QR_ORDER, (xs[0],)))
    assert least_squares.QR.jvp_stated is not None
    return least_squares.QR.jvp_stated(y, xs, (take_along_axis(ts[0], order, -1),))


PIVOTED: Explicit = explicit(
    "scipy_qr_pivoted",
    _sized(lambda: PIVOTED, lambda a: tuple(sp.qr(a, mode="economic", pivoting=True)[:2])),
    type_rule=lambda a: least_squares.QR.type_rule((a,), {}),
    jvp=_pivoted_jvp,
    batch=lambda *given: by_lanes(PIVOTED, *given),
    multiple=True,
    sample=lambda: [Sample((regular(),)), Sample((regular(2)[..., :2],))],
)
PIVOTED.lies = lapack_lies


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
        "raw" is not supported on traced values, and "full" adds columns to q that nothing
        determines where m > n.
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
    if mode not in ("full", "r", "economic") or (mode == "full" and m > n):
        raise UnsupportedCallError(
            located(
                f"scipy.linalg.qr: mode={mode!r} of a matrix of shape {type_of(a).shape} has no "
                'derivative; use mode="economic"'
            )
        )
    q, r = bind(PIVOTED if pivoting else QR, (a,))
    more = (bind(QR_ORDER, (a,)),) if pivoting else ()
    if mode != "r":
        return (q, r, *more)
    if m > n:
        kind = type_of(r)
        none = zeros(ArrayType((*kind.shape[:-2], m - n, n), kind.dtype))
        r = concatenate([r, none], kind.ndim - 2)
    return (r, *more)


# ------------------------------------------------------------------------ singular values

SVD = _revalued(singular.SVD, "svd", lambda a, full=False: tuple(sp.svd(a, full_matrices=full)))
SVDVALS = _revalued(singular.SVDVALS, "svdvals", lambda a: sp.svdvals(a))


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
        As in SciPy; traced matrices that are not square need ``full_matrices=False``.

    Notes
    -----
    As of `funcgrad.numpy.linalg.svd`: the gradient of a function of vectors is NaN where values
    coincide.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.linalg
    >>> import funcgrad as fg
    >>> fg.grad(lambda a: scipy.linalg.svd(a)[1][0])(np.diag([2.0, 1.0]))
    array([[1., 0.],
           [0., 0.]])
    """
    refuse("linalg.svd", lapack_driver=None if lapack_driver == "gesdd" else lapack_driver)
    a = as_lapack(a)
    m, n = type_of(a).shape[-2:]
    if not compute_uv:
        return bind(SVDVALS, (a,))
    if full_matrices and m != n:
        raise UnsupportedCallError(
            located(
                f"scipy.linalg.svd: full_matrices=True adds vectors to those of a matrix of shape "
                f"{type_of(a).shape} that nothing determines, so they have no derivative; "
                "pass full_matrices=False"
            )
        )
    return tuple(bind(SVD, (a,), {"full": True} if full_matrices else {}))


@numpy_function(sp.svdvals)
def svdvals(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """The singular values of a matrix of shape (…, m, n) in descending order."""
    return bind(SVDVALS, (as_lapack(a),))


# ----------------------------------------------------------------------------- eigenvalues

EIGH = _revalued(
    factor.EIGH,
    "eigh",
    lambda a, uplo="L": tuple(sp.eigh(a, lower=uplo == "L")),
    # a small change of the matrix may turn the sign of a vector
    lambda: [s._replace(smooth=False) for s in factor.EIGH.sample()],  # type: ignore[misc]
)
EIGVALSH = _revalued(
    factor.EIGVALSH, "eigvalsh", lambda a, uplo="L": sp.eigvalsh(a, lower=uplo == "L")
)


def _pencil_moved(y: Any, ts: Any) -> tuple[Array, Array | None]:
    """Vᴴ (a' - w b') V, and Vᴴ b' V if `b` moves, for Vᴴ b V = 1."""
    w, v = y
    a, b = (None if t is None else matmul(matmul(adjoint(v), _symmetric(t)), v) for t in ts)
    if b is None:
        assert a is not None
        return a, None
    less = negative(multiply(b, row(w)))
    return less if a is None else add(a, less), b


def _symmetric(t: Array) -> Array:
    return multiply(0.5, add(t, adjoint(t)))


def _pencil_jvp(y: Any, xs: Any, ts: Any, *, lower: bool) -> Any:
    """Of a v = w b v: w' = diag(m), v' = V c, c_ij = m_ij / (w_j - w_i), with m = Vᴴ(a' - w b')V.

    On the diagonal c is -Vᴴb'V / 2, for the lengths. Where eigenvalues coincide c is NaN.
    """
    w, v = y
    m, moved_b = _pencil_moved(y, ts)
    own = np.eye(type_of(w).shape[-1], dtype=type_of(w).dtype)
    turn = multiply(factor.apart(subtract(row(w), column(w)), w), m)
    if moved_b is not None:
        turn = add(turn, multiply(moved_b, -0.5 * own))
    return total(multiply(real(m), own), -2), matmul(v, turn)


def _pencils() -> list[Sample]:
    return [
        Sample((definite(), definite(seed=3)), {"lower": True}),
        Sample((definite(2, n=2), definite(2, n=2, seed=3)), {"lower": False}),
    ]


PENCIL: Explicit = explicit(
    "scipy_eigh_pencil",
    _sized(lambda: PENCIL, lambda a, b, lower: tuple(sp.eigh(a, b, lower=lower))),
    type_rule=lambda a, b, *, lower: factor.EIGH.type_rule((a,), {}),
    jvp=_pencil_jvp,
    batch=lambda *given: by_lanes(PENCIL, *given),
    multiple=True,
    sample=_pencils,
)


def _pencil_values_jvp(_w: Any, xs: Any, ts: Any, *, lower: bool) -> Array:
    y = bind(PENCIL, xs, {"lower": lower})
    own = np.eye(type_of(y[0]).shape[-1], dtype=type_of(y[0]).dtype)
    return total(multiply(real(_pencil_moved(y, ts)[0]), own), -2)


PENCIL_VALUES: Explicit = explicit(
    "scipy_eigvalsh_pencil",
    _sized(lambda: PENCIL_VALUES, lambda a, b, lower: sp.eigvalsh(a, b, lower=lower)),
    type_rule=lambda a, b, *, lower: factor.EIGVALSH.type_rule((a,), {}),
    jvp=_pencil_values_jvp,
    batch=lambda *given: by_lanes(PENCIL_VALUES, *given),
    sample=_pencils,
)
for _prim in (PENCIL, PENCIL_VALUES):
    _prim.symmetric = True  # type: ignore[attr-defined]
    _prim.lies = lapack_lies


def _eigen(name: str, a: Any, b: Any, lower: bool, type: Any, values: bool, **options: Any) -> Any:
    refuse(f"linalg.{name}", type=None if type == 1 or b is None else type, **options)
    a = square_matrix(a, name)
    if b is None:
        params = {} if lower else {"uplo": "U"}
        return bind(EIGVALSH if values else EIGH, (a,), params)
    pair = same_stacks(a, square_matrix(b, name))
    return bind(PENCIL_VALUES if values else PENCIL, pair, {"lower": bool(lower)})


@numpy_function(sp.eigh)
def eigh(
    a: Any,
    b: Any = None,
    *,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: Any = None,
    subset_by_value: Any = None,
    driver: Any = None,
) -> Any:
    """Eigenvalues and eigenvectors of a symmetric or Hermitian matrix, or of ``a v = w b v``.

    Parameters
    ----------
    a, b : array of shape (…, n, n)
        `b` is positive definite. The gradients are those of symmetric matrices, spread over both
        triangles.
    lower, eigvals_only : bool, optional
        As in SciPy. Subsets, drivers and the other types are not supported on traced values.

    Notes
    -----
    Where eigenvalues coincide, a function that uses the vectors has the gradient NaN, one that uses
    the values alone an exact one.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.linalg
    >>> import funcgrad as fg
    >>> a, b = np.diag([1.0, 2.0]), np.diag([2.0, 1.0])
    >>> fg.grad(lambda b: scipy.linalg.eigh(a, b)[0][0])(b)
    array([[-0.25,  0.  ],
           [ 0.  ,  0.  ]])
    """
    options = {
        "subset_by_index": subset_by_index,
        "subset_by_value": subset_by_value,
        "driver": driver,
    }
    found = _eigen("eigh", a, b, lower, type, eigvals_only, **options)
    return found if eigvals_only else tuple(found)


@numpy_function(sp.eigvalsh)
def eigvalsh(
    a: Any,
    b: Any = None,
    *,
    lower: bool = True,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: Any = None,
    subset_by_value: Any = None,
    driver: Any = None,
) -> Array:
    """The eigenvalues that `eigh` gives, in ascending order."""
    options = {
        "subset_by_index": subset_by_index,
        "subset_by_value": subset_by_value,
        "driver": driver,
    }
    return _eigen("eigvalsh", a, b, lower, type, True, **options)


# ---------------------------------------------------------------------------------- polar


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
    _sized(lambda: POLAR, lambda a, side: tuple(sp.polar(a, side))),
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


# -------------------------------------------------------------------------- least squares

PINV = _revalued(
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
    """The pseudoinverse of a matrix of shape (…, m, n), whose rank is taken as locally constant."""
    refuse("linalg.pinv", atol=atol, return_rank=return_rank or None)
    a = as_lapack(a)
    kind = type_of(a)
    least = max(kind.shape[-2:]) * float(np.finfo(kind.dtype).eps)
    return bind(PINV, (a,), {"rcond": least if rtol is None else float(rtol)})


def _lstsq(a: Any, b: Any, rcond: float, full: bool) -> Any:
    x, residuals, _, _ = sp.lstsq(a, b, rcond)
    return x, np.atleast_1d(residuals)


LSTSQ = _revalued(least_squares.LSTSQ, "lstsq", _lstsq, stacks=False)
LSTSQ_VALUES = _revalued(
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
    refuse("linalg.lstsq", lapack_driver=lapack_driver)
    a, b = as_lapack(a), as_lapack(b)
    (m, n), vector = type_of(a).shape, type_of(b).ndim == 1
    least = float(np.finfo(type_of(a).dtype).eps) if cond is None else float(cond)
    values, rank = bind(LSTSQ_VALUES, (a,)), n
    if concrete(a):
        found = value(values)
        rank = int(np.sum(found > least * np.max(found, initial=0.0)))
    full = rank == n and m > n
    x, sums = bind(LSTSQ, (a, column(b) if vector else b), {"rcond": least, "full": full})
    if vector:
        x = drop(x)
        sums = getitem(sums, 0) if full else sums
    return x, sums, rank, values
