"""Factorisations: `cholesky`, `eigh`, `eigvalsh`.

They stand on `solve` and on products; the rules follow Giles (2008) and Murray, "Differentiation
of the Cholesky decomposition" (2016). `cholesky` and `eigh` read one triangle; they are
differentiated as functions of a symmetric matrix: cotangents and tangents are made symmetric, and a
gradient is spread over both triangles.
"""

from __future__ import annotations

import bisect
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core.forms import Explicit, explicit
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import Tracer, bind, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.ops.arithmetic import (
    absolute,
    add,
    conjugate,
    divide,
    equal,
    less_equal,
    logical_and,
    logical_or,
    multiply,
    real,
    subtract,
    where,
)
from funcgrad.ops.constant import Constant, constant
from funcgrad.ops.constant import any as any_
from funcgrad.ops.matrices import (
    adjoint,
    column,
    complex_,
    definite,
    hermitian,
    real_dtype,
    row,
    square,
    symmetric,
)
from funcgrad.ops.nonlinear_reductions import max as max_
from funcgrad.ops.product import matmul
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import every_lane, swap_last, zeros
from funcgrad.ops.solve import SOLVE
from funcgrad.ops.sums import sum as sum_

__all__ = [
    "TURNED",
    "OfValues",
    "apart",
    "cholesky",
    "coincide",
    "eigh",
    "eigvalsh",
    "indefinite_minor",
    "inverse",
    "split",
]

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


def coincide(gap: Array, w: Array) -> Array:
    """Which differences of the eigenvalues or singular values `w` are mere rounding."""
    n = type_of(w).shape[-1]
    if not n:
        return equal(gap, 0)
    bound = 4.0 * n * float(np.finfo(type_of(w).dtype).eps)
    return less_equal(absolute(gap), multiply(bound, column(max_(absolute(w), -1, True))))


def inverse(x: Array, none: Array) -> Array:
    """1 / x, and NaN where `none`."""
    return where(none, np.nan, divide(1.0, where(none, 1.0, x)))


def apart(gap: Array, w: Array) -> Array:
    """1 / gap for pairs of eigenvalues `w`: 0 of a value and itself, NaN of two that coincide."""
    own = np.eye(type_of(w).shape[-1], dtype=bool)
    return where(own, 0.0, inverse(gap, logical_or(coincide(gap, w), own)))


def _turned(v: Any, w: Any, t: Any) -> tuple[Any, Any]:
    """Eigenvectors that diagonalize the tangent `t` within equal eigenvalues, and 0."""
    n, eps = w.shape[-1], np.finfo(w.dtype).eps
    size = np.max(np.abs(w), -1, keepdims=True, initial=0.0)
    places = np.cumsum(np.diff(w, axis=-1, prepend=w[..., :1]) > 4.0 * n * eps * size, -1)
    one = places[..., :, None] == places[..., None, :]
    meets = one.sum((-2, -1), keepdims=True) > n
    nothing = np.zeros((*w.shape[:-1], 1, 1), w.dtype)
    if not meets.any():
        return v, nothing
    inner = np.where(one, np.conj(np.swapaxes(v, -1, -2)) @ t @ v, 0.0)
    known = np.isfinite(inner).all((-2, -1), keepdims=True)
    inner = np.where(known, inner, 0.0)
    far = 4.0 * n * np.max(np.abs(inner), (-2, -1), initial=0.0)[..., None]
    shifts = places * np.where(far > 0, far, 1.0)
    turns = np.linalg.eigh(inner + shifts[..., None] * np.eye(n))[1]
    made = np.where(meets, v @ np.where(one, turns, 0.0), v)
    return np.where(known, made, np.nan).astype(v.dtype), nothing


class Turned(Explicit):
    """Not linear in the tangent. Where a rule is transposed, vectors stay as they are, and NaN in
    the place of 0 says so."""

    def tape(self, trace: Any, args: Any, params: Any) -> Any:
        if trace.linear:
            (*lead, _), dtype = type_of(args[1]).shape, type_of(args[1]).dtype
            return args[0], np.full((*lead, 1, 1), np.nan, dtype)
        return super().tape(trace, args, params)


def _met(w: Array) -> Array:
    """1, and NaN of a matrix with equal eigenvalues: how its vectors turn further is not known."""
    n = type_of(w).shape[-1]
    others = ~np.eye(n, dtype=bool)
    meets = logical_and(coincide(subtract(row(w), column(w)), w), others)
    return where(any_(meets, (-2, -1), True), np.nan, 1.0)


TURNED: Turned = Turned(
    "turned_eigenvectors",
    _turned,
    type_rule=lambda v, w, t: (v, ArrayType((*w.shape[:-1], 1, 1), w.dtype)),
    # both are stated: the rule is not linear in its tangents
    vjp=(
        lambda g, y, _v, w, _t: multiply(g[0], _met(w)),
        None,
        None,
    ),
    jvp=lambda y, xs, ts: (
        multiply(zeros(type_of(xs[0])) if ts[0] is None else ts[0], _met(xs[1])),
        None,
    ),
    batch=lambda size, xs, batched, params: bind(TURNED, every_lane(size, xs, batched)),
    multiple=True,
)
TURNED.sample = lambda: [Sample((*reversed(np.linalg.eigh(definite())), draw((3, 3))))]


def split(g: Array, w: Array, missing: Array) -> Array:
    """(g_j − g_i)/(w_j − w_i), and 0 on the diagonal.

    It is `missing` of equal values, and NaN where their cotangents differ.
    """
    own = np.eye(type_of(w).shape[-1], dtype=bool)
    gap, rise = subtract(row(w), column(w)), subtract(row(g), column(g))
    same = coincide(gap, w)
    bound = multiply(float(np.sqrt(np.finfo(type_of(w).dtype).eps)), max_(absolute(g), -1, True))
    other = where(less_equal(absolute(rise), column(bound)), missing, np.nan)
    return where(own, 0.0, where(same, other, divide(rise, where(same, 1.0, gap))))


def _pulled_values(g: Any, _a: Any, _w: Any, v: Any) -> Any:
    return np.conj(v * g[..., None, :] @ np.conj(np.swapaxes(v, -1, -2)))


def _pulled_values_jvp(_y: Any, xs: Any, ts: Any) -> Any:
    """V (diag dg + G ∘ VᴴdAV) Vᴴ, G_ij = (g_j − g_i)/(w_j − w_i) (Daleckii and Krein 1965).

    Where w_i = w_j, G is a second derivative that is not known here. It is not needed if V makes
    VᴴdAV diagonal there, and if `dg` is along the derivative of the values in that order (Lewis
    and Sendov 2001, "Twice differentiable spectral functions", §3). Of a function that is not
    symmetric in equal values, g_i ≠ g_j, nothing is known.
    """
    (g, _, w, v), (dg, t) = xs, ts[:2]
    own = np.eye(type_of(w).shape[-1], dtype=type_of(w).dtype)
    if t is None and dg is None:  # of `w` and `v`, which are functions of `a`
        return zeros(type_of(v))
    if t is None:
        inner = multiply(own, row(dg))
    else:
        t = symmetric(t)
        v, missing = bind(TURNED, (v, w, t))
        inner = multiply(split(g, w, missing), matmul(matmul(adjoint(v), t), v))
        if dg is not None:
            inner = add(inner, multiply(own, row(dg)))
    return conjugate(matmul(matmul(v, inner), adjoint(v)))


def _pulled_values_vjp(c: Any, y: Any, g: Any, a: Any, w: Any, v: Any, *, needs: Any) -> Any:
    """A second derivative is symmetric: where `g` is given, this is the jvp along `c`.

    Else the vectors would have to follow `c` in the cotangent of the values, too, which is pulled
    back elsewhere: of equal values it is NaN.
    """
    if needs[0]:
        return PULLED_VALUES.transposed_jvp(c, y, (g, a, w, v), needs, {})
    return None, _pulled_values_jvp(None, (g, a, w, v), (None, c)), None, None


PULLED_VALUES: Explicit = explicit(
    "pulled_eigenvalues",
    _pulled_values,
    type_rule=lambda g, a, w, v: ArrayType(a.shape, a.dtype),
    vjp=_pulled_values_vjp,
    jvp=_pulled_values_jvp,
    batch=lambda size, xs, batched, params: bind(PULLED_VALUES, every_lane(size, xs, batched)),
    sample=lambda: [
        Sample((draw((3,)), a, *np.linalg.eigh(a)), smooth=False) for a in (definite(), hermitian())
    ],
)


PULLED_VALUES.composed = lambda g, a, w, v: conjugate(matmul(multiply(v, row(g)), adjoint(v)))


def _values_pulled(g: Array, a: Array, w: Array, v: Array) -> Array:
    """conj(V diag(g) Vᴴ), the cotangent of eigenvalues; its derivative by `a` is that of all."""
    made: Array = bind(PULLED_VALUES, (g, a, w, v))
    return made


def _diagonal(q: Array, t: Array) -> Array:
    """The diagonal of qᴴ t q."""
    own = np.eye(type_of(q).shape[-1], dtype=real_dtype(type_of(q).dtype))
    return sum_(multiply(real(matmul(matmul(adjoint(q), t), q)), own), -2)


def _second(q: Array, w: Array, t: Array, s: Array) -> Array:
    """The derivative along `s` of the tangent of eigenvalues along `t`, diagonal in q if w_i = w_k.

    It is 2 Re Σ (qᴴtq)_ik (qᴴsq)_ki / (w_i − w_k); that of a pair of equal values is not known, but
    the sum of both is this one.
    """
    x, y = matmul(matmul(adjoint(q), t), q), matmul(matmul(adjoint(q), s), q)
    gap = subtract(column(w), row(w))
    over = where(coincide(gap, w), 0.0, divide(2.0, where(coincide(gap, w), 1.0, gap)))
    return sum_(multiply(over, real(multiply(x, conjugate(y)))), -1)


def _moved_values_jvp(_y: Any, xs: Any, ts: Any) -> Any:
    (t, _, w, q), (dt, da) = xs, ts[:2]
    parts = [] if dt is None else [_diagonal(q, dt)]
    if da is not None:
        parts.append(_second(q, w, t, symmetric(da)))
    return functools.reduce(add, parts) if parts else None  # w and q are functions of a


def _moved_values_vjp(g: Any, _y: Any, t: Any, a: Any, w: Any, q: Any) -> Any:
    return _pulled_values_jvp(None, (g, a, w, q), (None, t))


# The tangent along t of the eigenvalues w of a; q are its vectors that diagonalise t where values
# are equal. Both modes are stated: of a function that tells equal values apart, the vjp is NaN.
MOVED_VALUES: Explicit = explicit(
    "moved_eigenvalues",
    lambda t, a, w, q: np.real(np.sum(np.conj(q) * (t @ q), -2)),
    type_rule=lambda t, a, w, q: w,
    vjp=(
        lambda g, _y, _t, a, w, q: _values_pulled(g, a, w, q),
        _moved_values_vjp,
        None,
        None,
    ),
    jvp=_moved_values_jvp,
    batch=lambda size, xs, batched, params: bind(MOVED_VALUES, every_lane(size, xs, batched)),
    linear_in=(0,),
    sample=lambda: [
        Sample((x + np.conj(x.T), a, *np.linalg.eigh(a)), smooth=False)
        for x, a in ((draw((3, 3)), definite()), (complex_(draw((3, 3))), hermitian()))
    ],
)
MOVED_VALUES.composed = lambda t, a, w, q: _diagonal(q, t)


def _values_moved(a: Array, w: Array, v: Array, t: Array) -> Array:
    """The tangent of eigenvalues; of equal ones in ascending order."""
    q, _ = bind(TURNED, (v, w, t))
    moved: Array = bind(MOVED_VALUES, (t, a, w, q))
    return moved


# Eigenvalues w of a whose derivatives, of equal ones, go by the vectors q. Both modes are stated:
# the vjp is the operation whose own derivative is known where values are equal.
VALUES_ALONG: Explicit = explicit(
    "eigenvalues_along",
    lambda w, a, q: w.copy(),
    type_rule=lambda w, a, q: w,
    vjp=(None, lambda g, _y, w, a, q: _values_pulled(g, a, w, q), None),
    jvp=lambda _y, xs, ts: None if ts[1] is None else _diagonal(xs[2], symmetric(ts[1])),
    batch=lambda size, xs, batched, params: bind(VALUES_ALONG, every_lane(size, xs, batched)),
    sample=lambda: [
        Sample((np.linalg.eigvalsh(a), a, np.linalg.eigh(a)[1]), smooth=False)
        for a in (definite(), hermitian())
    ],
)


class OfValues(Explicit):
    """An operation among whose results are eigenvalues, or singular values.

    In forward mode equal values follow the tangent. Their further derivatives have to follow it the
    same way: second derivatives of symmetric functions are then exact, in whatever mode.
    """

    along: Callable[..., Any]  # of operands, tangents and results: the results for these

    def forward(self, trace: Any, args: Any, params: Any) -> Any:
        made = trace.push(self, args, params)
        xs, ts = trace.split(args)
        if not any(isinstance(x, Tracer) for x in xs):  # nothing is derived from this
            return made
        results = made if self.multiple else (made,)
        values = self.along(xs, ts, [x.value for x in results], **params)
        duals = [trace.dual(x, y.tangent) for x, y in zip(values, results, strict=True)]
        return tuple(duals) if self.multiple else duals[0]


def _eigh_vjp(g: Any, y: Any, a: Any, *, uplo: str = "L") -> Any:
    """V (diag gw + F ∘ VᴴgV) Vᴴ, F_ij = 1/(w_j − w_i) (Giles 2008, §3.1), made symmetric.

    Where two eigenvalues are equal (but for rounding) the vectors are not determined: what arrives
    at such a pair has no derivative, and F is NaN.
    """
    (gw, gv), (w, v) = g, y
    if gv is None:
        return _values_pulled(gw, a, w, v)
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
    return _values_moved(a, w, v, t), matmul(v, turn)


EIGH = explicit(
    "eigh",
    lambda a, uplo="L": tuple(np.linalg.eigh(a, uplo)),
    signature="(n,n)->(n),(n,n)",
    type_rule=lambda a, *, uplo="L": (
        ArrayType(a.shape[:-1], real_dtype(a.dtype)),
        ArrayType(a.shape, a.dtype),
    ),
    vjp=(_eigh_vjp,),
    jvp=_eigh_jvp,  # stated: of equal values it is not linear
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
    return _values_pulled(g, a, *_vectors(a, uplo))


def _vectors(a: Any, uplo: str) -> Any:
    return bind(EIGH, (a,), {"uplo": uplo} if uplo != "L" else {})


def _eigvalsh_jvp(_y: Any, xs: Any, ts: Any, *, uplo: str = "L") -> Any:
    w, v = _vectors(xs[0], uplo)
    return _values_moved(xs[0], w, v, symmetric(ts[0]))


EIGVALSH = explicit(
    "eigvalsh",
    lambda a, uplo="L": np.linalg.eigvalsh(a, uplo),
    signature="(n,n)->(n)",
    type_rule=lambda a, *, uplo="L": ArrayType(a.shape[:-1], real_dtype(a.dtype)),
    vjp=(_eigvalsh_vjp,),
    jvp=_eigvalsh_jvp,  # stated: of equal values it is not linear
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
