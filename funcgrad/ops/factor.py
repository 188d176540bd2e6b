"""Factorisations: `cholesky`, `eigh`, `eigvalsh`.

They stand on `solve` and on products; the rules follow Giles (2008) and Murray, "Differentiation
of the Cholesky decomposition" (2016). `cholesky` and `eigh` read one triangle; they are
differentiated as functions of a symmetric matrix: cotangents and tangents are made symmetric, and a
gradient is spread over both triangles.
"""

from __future__ import annotations

import bisect
import functools
from typing import Any

import numpy as np

from funcgrad.core.forms import explicit
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import bind, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.ops.arithmetic import (
    add,
    conjugate,
    multiply,
    subtract,
)
from funcgrad.ops.constant import Constant, constant
from funcgrad.ops.equal_values import (
    NOT_LINEAR,
    TURNED,
    VALUES_ALONG,
    OfValues,
    apart,
    values_moved,
    values_pulled,
)
from funcgrad.ops.matrices import (
    adjoint,
    column,
    definite,
    hermitian,
    real_dtype,
    row,
    square,
    symmetric,
)
from funcgrad.ops.product import matmul
from funcgrad.ops.shape import swap_last
from funcgrad.ops.solve import SOLVE

__all__ = ["cholesky", "eigh", "eigvalsh", "indefinite_minor"]

# ------------------------------------------------------------------------------- cholesky


def _lower_half(n: int, dtype: Any) -> Any:
    """1 below the diagonal, ½ on it."""
    half = np.tril(np.ones((n, n)), -1) + 0.5 * np.eye(n)
    return half.astype(real_dtype(dtype))


def _cholesky_vjp(g: Any, y: Any, _a: Any, *, upper: bool = False) -> Any:
    """The transpose of dL = L Φ(L⁻¹ dA L⁻ᴴ), Φ the lower half (Murray 2016, eqs. 8 and 10)."""
    low, g = (adjoint(y), swap_last(g)) if upper else (y, conjugate(g))
    p = multiply(matmul(adjoint(low), g), _lower_half(type_of(y).shape[-1], type_of(y).dtype))
    first = bind(SOLVE, (adjoint(low), p))
    s = adjoint(bind(SOLVE, (adjoint(low), adjoint(first))))
    return conjugate(symmetric(s))


CHOLESKY = explicit(
    "cholesky",
    lambda a, upper=False: np.linalg.cholesky(a, upper=upper) if upper else np.linalg.cholesky(a),
    signature="(n,n)->(n,n)",
    type_rule=lambda a, *, upper=False: ArrayType(a.shape, a.dtype),
    vjp=(_cholesky_vjp,),
    sample=lambda: [
        Sample((definite(),)),
        Sample((definite(2, n=2),)),
        Sample((definite(),), {"upper": True}),
        Sample((definite().astype(np.float32),)),
        Sample((hermitian(),)),
        Sample((hermitian(),), {"upper": True}),
    ],
)
CHOLESKY.symmetric = True  # type: ignore[attr-defined]


def cholesky(a: Any, upper: bool = False) -> Array:
    """The Cholesky factor of a symmetric positive definite matrix.

    NumPy reads one triangle; the gradient is that of a symmetric matrix, spread over both.
    """
    return bind(CHOLESKY, (square(a, "cholesky"),), {"upper": True} if upper else {})


def _is_definite(matrix: Any) -> bool:
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True


def _minor(matrix: Any) -> int:
    """The order of the first leading minor that is not definite; those that follow are not."""
    orders = range(1, len(matrix) + 1)
    return 1 + bisect.bisect_left(orders, True, key=lambda n: not _is_definite(matrix[:n, :n]))


def _indefinite_minor(a: Any) -> Any:
    found = np.zeros(a.shape[:-2], np.int32)
    if not _is_definite(a):
        for at in np.ndindex(found.shape):
            if not _is_definite(a[at]):
                found[at] = _minor(a[at])
    return found


INDEFINITE_MINOR: Constant = constant(
    "indefinite_minor",
    _indefinite_minor,
    lambda a: ArrayType(a.shape[:-2], np.dtype(np.int32)),
    lambda size, xs, batched, params: bind(INDEFINITE_MINOR, xs),
    lambda: [
        Sample((definite(2),)),
        Sample((np.diag([1.0, -1.0, 2.0]),)),
        Sample((-hermitian(),)),
    ],
)


def indefinite_minor(a: Any) -> Array:
    """The order of the first leading minor of a matrix that is not positive definite, or 0."""
    return bind(INDEFINITE_MINOR, (square(a, "indefinite_minor"),))


# ----------------------------------------------------------------------------------- eigh


def _eigh_vjp(g: Any, y: Any, a: Any, *, uplo: str = "L") -> Any:
    """V (diag gw + F ∘ VᴴgV) Vᴴ, F_ij = 1/(w_j − w_i) (Giles 2008, §3.1), made symmetric.

    Where two eigenvalues are equal (but for rounding) the vectors are not determined: what arrives
    at such a pair has no derivative, and F is NaN.
    """
    (gw, gv), (w, v) = g, y
    if gv is None:
        return values_pulled(gw, a, w, v)
    parts = []
    if gv is not None:
        factor = apart(subtract(row(w), column(w)), w)
        parts.append(multiply(factor, matmul(adjoint(v), conjugate(gv))))
    if gw is not None:
        parts.append(multiply(np.eye(type_of(w).shape[-1], dtype=type_of(w).dtype), row(gw)))
    inner = functools.reduce(add, parts)
    return conjugate(symmetric(matmul(matmul(v, inner), adjoint(v))))


def _eigh_jvp(y: Any, xs: Any, ts: Any, *, uplo: str = "L") -> Any:
    (w, v), (a,), t = y, xs, symmetric(ts[0])
    factor = apart(subtract(row(w), column(w)), w)
    turn = multiply(factor, matmul(matmul(adjoint(v), t), v))
    return values_moved(a, w, v, t), matmul(v, turn)


EIGH = explicit(
    "eigh",
    lambda a, uplo="L": tuple(np.linalg.eigh(a, uplo)),
    signature="(n,n)->(n),(n,n)",
    type_rule=lambda a, *, uplo="L": (
        ArrayType(a.shape[:-1], real_dtype(a.dtype)),
        ArrayType(a.shape, a.dtype),
    ),
    vjp=(_eigh_vjp,),
    jvp=_eigh_jvp,
    both=NOT_LINEAR,
    form=OfValues,
    unread=True,
    multiple=True,
    sample=lambda: [
        Sample((definite(),)),
        Sample((definite(2, n=2),), {"uplo": "U"}),
        Sample((definite().astype(np.float32),)),
        Sample((hermitian(),), smooth=False),  # the phase of an eigenvector is anybody's choice
    ],
)
EIGH.symmetric = True  # type: ignore[attr-defined]


def _eigh_along(xs: Any, ts: Any, y: Any, *, uplo: str = "L") -> Any:
    (a,), (t,), (w, v) = xs, ts, y
    return bind(VALUES_ALONG, (w, a, bind(TURNED, (v, w, symmetric(t)))[0])), v


EIGH.along = _eigh_along  # type: ignore[attr-defined]


def eigh(a: Any, UPLO: str = "L") -> Any:
    """Eigenvalues in ascending order and eigenvectors of a symmetric or Hermitian matrix.

    Where eigenvalues coincide, the gradient of a function of the values is exact, and so is its
    second derivative, if the function does not depend on the order of equal values. In reverse over
    reverse mode it is NaN, but for functions that are linear in the values: the cotangent of the
    values does not tell how the function bends. Where the order of equal values matters, forward
    mode follows their branches along the tangent, and a second derivative by reverse mode is NaN.
    The derivative of the vectors is NaN, for nothing determines them.
    """
    return bind(EIGH, (square(a, "eigh"),), {"uplo": UPLO.upper()} if UPLO.upper() != "L" else {})


def _eigvalsh_vjp(g: Any, _y: Any, a: Any, *, uplo: str = "L") -> Any:
    """V diag(g) Vᴴ; the values come from another LAPACK driver than those of `eigh`."""
    return values_pulled(g, a, *_vectors(a, uplo))


def _vectors(a: Any, uplo: str) -> Any:
    return bind(EIGH, (a,), {"uplo": uplo} if uplo != "L" else {})


def _eigvalsh_jvp(_y: Any, xs: Any, ts: Any, *, uplo: str = "L") -> Any:
    w, v = _vectors(xs[0], uplo)
    return values_moved(xs[0], w, v, symmetric(ts[0]))


EIGVALSH = explicit(
    "eigvalsh",
    lambda a, uplo="L": np.linalg.eigvalsh(a, uplo),
    signature="(n,n)->(n)",
    type_rule=lambda a, *, uplo="L": ArrayType(a.shape[:-1], real_dtype(a.dtype)),
    vjp=(_eigvalsh_vjp,),
    jvp=_eigvalsh_jvp,
    both=NOT_LINEAR,
    form=OfValues,
    sample=lambda: [
        Sample((definite(),)),
        Sample((definite(2, n=2),), {"uplo": "U"}),
        Sample((hermitian(),)),
    ],
)
EIGVALSH.symmetric = True  # type: ignore[attr-defined]


def _eigvalsh_along(xs: Any, ts: Any, y: Any, *, uplo: str = "L") -> Any:
    (a,), (t,) = xs, ts
    w, v = _vectors(a, uplo)
    return (bind(VALUES_ALONG, (y[0], a, bind(TURNED, (v, w, symmetric(t)))[0])),)


EIGVALSH.along = _eigvalsh_along  # type: ignore[attr-defined]


def eigvalsh(a: Any, UPLO: str = "L") -> Array:
    """Eigenvalues of a symmetric matrix in ascending order; see `eigh` for equal ones."""
    params = {"uplo": UPLO.upper()} if UPLO.upper() != "L" else {}
    return bind(EIGVALSH, (square(a, "eigvalsh"),), params)
