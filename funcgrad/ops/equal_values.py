"""Equal eigenvalues: their vectors are not determined, and derivatives follow the tangent.

Functions of the values alone have derivatives there (Lewis and Sendov 2001, "Twice differentiable
spectral functions"): first ones whatever the vectors, further ones along the vectors that make the
tangent diagonal. Where cotangents of vectors meet an equal pair there is none, and they are NaN.
`ops.factor` and `ops.singular` stand on it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core.forms import Explicit, explicit
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import Tracer, bind, type_of
from funcgrad.core.types import Array, ArrayType, zeros
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
from funcgrad.ops.constant import any as any_
from funcgrad.ops.matrices import (
    adjoint,
    column,
    complex_,
    definite,
    hermitian,
    real_dtype,
    row,
    symmetric,
)
from funcgrad.ops.nonlinear_reductions import max as max_
from funcgrad.ops.product import matmul
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import every_lane
from funcgrad.ops.sums import sum as sum_

__all__ = [
    "KNOWN",
    "NOT_LINEAR",
    "TURNED",
    "VALUES_ALONG",
    "OfValues",
    "apart",
    "coincide",
    "inverse",
    "split",
    "values_moved",
    "values_pulled",
]


NOT_LINEAR = "where values are equal, their derivatives are not linear in the tangent"
KNOWN = "the vjp is the operation whose own derivative is known where values are equal"


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
    both=NOT_LINEAR,
)
TURNED.sample = lambda: [Sample((*reversed(np.linalg.eigh(definite())), draw((3, 3))))]


def split(g: Array, w: Array, missing: Array) -> Array:
    """(g_j − g_i)/(w_j − w_i), and 0 on the diagonal.

    It is `missing` of equal values, and NaN where their cotangents differ.
    """
    own = np.eye(type_of(w).shape[-1], dtype=bool)
    gap, rise = subtract(row(w), column(w)), subtract(row(g), column(g))
    same = coincide(gap, w)
    largest = max_(absolute(g), -1, True, initial=0.0)  # of no values, too
    bound = multiply(float(np.sqrt(np.finfo(type_of(w).dtype).eps)), largest)
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
    both=NOT_LINEAR,
    linear_in=(0,),
    batch=lambda size, xs, batched, params: bind(PULLED_VALUES, every_lane(size, xs, batched)),
    sample=lambda: [
        Sample((draw((3,)), a, *np.linalg.eigh(a)), smooth=False) for a in (definite(), hermitian())
    ],
)


PULLED_VALUES.composed = lambda g, a, w, v: conjugate(matmul(multiply(v, row(g)), adjoint(v)))


def values_pulled(g: Array, a: Array, w: Array, v: Array) -> Array:
    """conj(V diag(g) Vᴴ), the cotangent of eigenvalues; its derivative by `a` is that of all."""
    made: Array = bind(PULLED_VALUES, (g, a, w, v))
    return made


def _diagonal(q: Array, t: Array) -> Array:
    """The diagonal of qᴴ t q."""
    own = np.eye(type_of(q).shape[-1], dtype=real_dtype(type_of(q).dtype))
    return sum_(multiply(real(matmul(matmul(adjoint(q), t), q)), own), -2)


def _moved_values_vjp(g: Any, _y: Any, t: Any, a: Any, w: Any, q: Any) -> Any:
    return _pulled_values_jvp(None, (g, a, w, q), (None, t))


# The tangent along t of the eigenvalues w of a; q are its vectors that diagonalise t where values
# are equal.
MOVED_VALUES: Explicit = explicit(
    "moved_eigenvalues",
    lambda t, a, w, q: np.real(np.sum(np.conj(q) * (t @ q), -2)),
    type_rule=lambda t, a, w, q: w,
    vjp=(
        lambda g, _y, _t, a, w, q: values_pulled(g, a, w, q),
        _moved_values_vjp,
        None,
        None,
    ),
    batch=lambda size, xs, batched, params: bind(MOVED_VALUES, every_lane(size, xs, batched)),
    linear_in=(0,),
    sample=lambda: [
        Sample((x + np.conj(x.T), a, *np.linalg.eigh(a)), smooth=False)
        for x, a in ((draw((3, 3)), definite()), (complex_(draw((3, 3))), hermitian()))
    ],
)
MOVED_VALUES.composed = lambda t, a, w, q: _diagonal(q, t)


def values_moved(a: Array, w: Array, v: Array, t: Array) -> Array:
    """The tangent of eigenvalues; of equal ones in ascending order."""
    q, _ = bind(TURNED, (v, w, t))
    moved: Array = bind(MOVED_VALUES, (t, a, w, q))
    return moved


# Eigenvalues w of a whose derivatives, of equal ones, go by the vectors q.
VALUES_ALONG: Explicit = explicit(
    "eigenvalues_along",
    lambda w, a, q: w.copy(),
    type_rule=lambda w, a, q: w,
    vjp=(None, lambda g, _y, w, a, q: values_pulled(g, a, w, q), None),
    jvp=lambda _y, xs, ts: None if ts[1] is None else _diagonal(xs[2], symmetric(ts[1])),
    both=KNOWN,
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
