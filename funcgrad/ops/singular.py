"""Singular values: `svd` and `svdvals`.

The rules follow Townsend, "Differentiating the singular value decomposition" (2016). What arrives
at the values alone has a record of its own, whose derivative is exact where values coincide, too,
as that of eigenvalues is (`ops.equal_values`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core.algebra import algebra
from funcgrad.core.forms import Explicit, explicit
from funcgrad.core.forms.shared import filled
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import bind, operand, type_of
from funcgrad.core.types import Array, ArrayType, zeros
from funcgrad.errors import located
from funcgrad.ops.arithmetic import (
    add,
    conjugate,
    logical_or,
    multiply,
    negative,
    real,
    subtract,
    where,
)
from funcgrad.ops.equal_values import (
    KNOWN,
    NOT_LINEAR,
    TURNED,
    OfValues,
    coincide,
    inverse,
    split,
)
from funcgrad.ops.matrices import (
    adjoint,
    as_float,
    column,
    complex_,
    drop,
    real_dtype,
    regular,
    row,
    symmetric,
)
from funcgrad.ops.product import matmul
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import every_lane
from funcgrad.ops.sums import sum as sum_

__all__ = ["SVD", "SVDVALS", "svd", "svdvals", "values_pulled"]

# ------------------------------------------------------------------ functions of the values


def _zero(s: Array) -> Array:
    """Which singular values are 0, but for rounding."""
    return drop(coincide(column(s), s))


def _identity(x: Array) -> Any:
    t = type_of(x)
    return np.broadcast_to(np.eye(t.shape[-1], dtype=t.dtype), t.shape)


def _turn(s: Array, x: Array) -> Any:
    """What turns the vectors of equal values so that the tangent ``x = uᴴ t v`` is diagonal there.

    The values descend, so their negatives are those that `TURNED` orders.
    """
    return bind(TURNED, (_identity(x), negative(s), negative(symmetric(x))))


def _turned_factors(t: Array, u: Array, s: Array, vh: Array) -> tuple[Array, Array]:
    """u and vᴴ, turned so that uᴴ t v is diagonal where values are equal."""
    q, _ = _turn(s, matmul(matmul(adjoint(u), t), adjoint(vh)))
    return matmul(u, q), matmul(adjoint(q), vh)


def _diagonal(u: Array, t: Array, vh: Array) -> Array:
    """The diagonal of uᴴ t v."""
    own = np.eye(type_of(u).shape[-1], dtype=real_dtype(type_of(u).dtype))
    return sum_(multiply(real(matmul(matmul(adjoint(u), t), adjoint(vh))), own), -2)


def _values_moved(a: Array, u: Array, s: Array, vh: Array, t: Array, kinks: bool = True) -> Array:
    """The tangent of singular values; of equal ones in descending order.

    With `kinks` that of one that is 0 is 0: it is at the kink of an absolute value.
    """
    u, vh = _turned_factors(t, u, s, vh)
    moved = bind(MOVED, (t, a, u, s, vh))
    return where(_zero(s), 0.0, moved) if kinks else moved


def _pulled(g: Any, _a: Any, u: Any, _s: Any, vh: Any) -> Any:
    return np.conj(u * g[..., None, :] @ vh)


def _pulled_jvp(_y: Any, xs: Any, ts: Any) -> Any:
    """The derivative of U diag(g) Vᴴ along t, of which x = Uᴴ t V.

    The symmetric part of x meets (g_j − g_i)/(s_j − s_i), as with eigenvalues
    (`ops.equal_values`), the antisymmetric one (g_i + g_j)/(s_i + s_j), and what lies outside of
    U or V meets g_i/s_i:
    the eigenvalues of [[0, A], [Aᴴ, 0]] are those singular values, their negatives, and 0.
    """
    (g, a, u, s, vh), (dg, t, *_) = xs, ts
    if t is None and dg is None:  # of the factors, which are functions of `a`
        return zeros(type_of(a))
    own = np.eye(type_of(s).shape[-1], dtype=type_of(s).dtype)
    if t is None:
        return conjugate(matmul(multiply(u, row(dg)), vh))
    q, missing = _turn(s, matmul(matmul(adjoint(u), t), adjoint(vh)))
    u, v = matmul(u, q), matmul(adjoint(vh), q)
    x = matmul(matmul(adjoint(u), t), v)
    none = coincide(add(row(s), column(s)), s)
    if type_of(a).dtype.kind != "c":  # the antisymmetric part has no diagonal
        none = where(own.astype(bool), False, none)
    skew = multiply(add(row(g), column(g)), inverse(add(row(s), column(s)), none))
    inner = add(
        multiply(split(g, s, missing), symmetric(x)),
        multiply(skew, multiply(0.5, subtract(x, adjoint(x)))),
    )
    if dg is not None:
        inner = add(inner, multiply(own, row(dg)))
    made = matmul(matmul(u, inner), adjoint(v))
    m, n = type_of(a).shape[-2:]
    over = row(multiply(g, inverse(s, _zero(s))))
    if m > n:
        rest = subtract(matmul(t, v), matmul(u, x))
        made = add(made, matmul(multiply(rest, over), adjoint(v)))
    if n > m:
        rest = subtract(matmul(adjoint(t), u), matmul(v, adjoint(x)))
        made = add(made, adjoint(matmul(multiply(rest, over), adjoint(u))))
    return conjugate(made)


# The tangent along t of the singular values of a, u s vᴴ, where uᴴ t v is diagonal where values are
# equal.
MOVED: Explicit = explicit(
    "moved_singular_values",
    lambda t, a, u, s, vh: np.real(np.sum(np.conj(u) * (t @ np.conj(np.swapaxes(vh, -1, -2))), -2)),
    type_rule=lambda t, a, u, s, vh: s,
    vjp=(
        lambda g, _y, _t, a, u, s, vh: values_pulled(g, a, u, s, vh, False),
        lambda g, _y, t, a, u, s, vh: _pulled_jvp(None, (g, a, u, s, vh), (None, t)),
        None,
        None,
        None,
    ),
    batch=lambda size, xs, batched, params: bind(MOVED, every_lane(size, xs, batched)),
    linear_in=(0,),
    sample=lambda: [
        Sample((draw(a.shape, seed=9), a, *np.linalg.svd(a, full_matrices=False)), smooth=False)
        for a in (draw((3, 2)), draw((2, 3)), draw((2, 2)), complex_(draw((3, 2))))
    ],
)
MOVED.composed = lambda t, a, u, s, vh: _diagonal(u, t, vh)

# Singular values of a whose derivatives, of equal ones, go by the vectors u and v.
ALONG: Explicit = explicit(
    "singular_values_along",
    lambda s, a, u, vh, kinks: s.copy(),
    type_rule=lambda s, a, u, vh, *, kinks: s,
    vjp=(
        None,
        lambda g, _y, s, a, u, vh, *, kinks: values_pulled(g, a, u, s, vh, kinks),
        None,
        None,
    ),
    jvp=lambda y, xs, ts, *, kinks: None if ts[1] is None else _along_moved(xs, ts[1], kinks),
    both=KNOWN,
    batch=lambda size, xs, batched, params: bind(ALONG, every_lane(size, xs, batched), params),
    sample=lambda: [
        Sample((f[1], a, f[0], f[2]), {"kinks": kinks}, smooth=False)
        for a in (draw((3, 2)), complex_(draw((2, 3))))
        for f in [np.linalg.svd(a, full_matrices=False)]
        for kinks in (True, False)
    ],
)


def _along_moved(xs: Any, t: Array, kinks: bool) -> Array:
    s, _, u, vh = xs
    moved = _diagonal(u, t, vh)
    return where(_zero(s), 0.0, moved) if kinks else moved


def _pulled_vjp(c: Any, y: Any, g: Any, a: Any, u: Any, s: Any, vh: Any, *, needs: Any) -> Any:
    """As with eigenvalues (`ops.equal_values`)."""
    if needs[0]:
        return PULLED.transposed_jvp(c, y, (g, a, u, s, vh), needs, {})
    return None, _pulled_jvp(None, (g, a, u, s, vh), (None, c)), None, None, None


PULLED: Explicit = explicit(
    "pulled_singular_values",
    _pulled,
    type_rule=lambda g, a, u, s, vh: ArrayType(a.shape, a.dtype),
    vjp=_pulled_vjp,
    jvp=_pulled_jvp,
    both=NOT_LINEAR,
    linear_in=(0,),
    batch=lambda size, xs, batched, params: bind(PULLED, every_lane(size, xs, batched)),
    sample=lambda: [
        Sample((draw((2,)), a, *np.linalg.svd(a, full_matrices=False)), smooth=False)
        for a in (draw((3, 2)), draw((2, 3)), draw((2, 2)), complex_(draw((3, 2))))
    ],
)
PULLED.composed = lambda g, a, u, s, vh: conjugate(matmul(multiply(u, row(g)), vh))


def values_pulled(g: Array, a: Array, u: Array, s: Array, vh: Array, kinks: bool = True) -> Array:
    """conj(U diag(g) Vᴴ), the cotangent of singular values; with `kinks` 0 of one that is 0.

    Without them it reads no singular value, which PyTorch lets a program write over.
    """
    made: Array = bind(PULLED, (where(_zero(s), 0.0, g) if kinks else g, a, u, s, vh))
    return made


# ------------------------------------------------------------------------------------ svd


def _svd_type(a: ArrayType, *, full: bool = False, kinks: bool = True) -> tuple[ArrayType, ...]:
    *lead, m, n = a.shape
    k = min(m, n)
    return (
        ArrayType((*lead, m, k), a.dtype),
        ArrayType((*lead, k), real_dtype(a.dtype)),
        ArrayType((*lead, k, n), a.dtype),
    )


def _svd_jvp(y: Any, xs: Any, ts: Any, *, full: bool = False, kinks: bool = True) -> Any:
    """Townsend, "Differentiating the singular value decomposition" (2016); F as in `eigh`."""
    (u, s, vh), t = y, ts[0]
    m, n = type_of(t).shape[-2:]
    v, k = adjoint(vh), min(m, n)
    x = matmul(matmul(adjoint(u), t), v)
    own = np.eye(k, dtype=type_of(s).dtype)
    gap, total = subtract(row(s), column(s)), add(row(s), column(s))
    eye = own.astype(bool)
    same = logical_or(logical_or(coincide(gap, s), coincide(total, s)), eye)
    f = where(eye, 0.0, inverse(multiply(gap, total), same))
    over = inverse(s, _zero(s))
    right, left = multiply(x, row(s)), multiply(x, column(s))
    turn = multiply(f, add(right, adjoint(right)))
    if type_of(t).dtype.kind == "c":  # the phase
        phase = multiply(0.5, subtract(x, adjoint(x)))
        turn = add(turn, multiply(phase, multiply(own, row(over))))
    du = matmul(u, turn)
    dv = matmul(v, multiply(f, add(left, adjoint(left))))
    if m > n:
        rest = matmul(t, v)
        du = add(du, multiply(subtract(rest, matmul(u, matmul(adjoint(u), rest))), row(over)))
    if n > m:
        rest = matmul(adjoint(t), u)
        dv = add(dv, multiply(subtract(rest, matmul(v, matmul(vh, rest))), row(over)))
    return du, _values_moved(xs[0], u, s, vh, t, kinks), adjoint(dv)


def _svd_vjp(g: Any, y: Any, a: Any, *, full: bool = False, kinks: bool = True) -> Any:
    """The transpose of the jvp; where nothing arrives at the vectors, that of the values alone."""
    if g[0] is None and g[2] is None:
        u, s, vh = y
        return values_pulled(g[1], a, u, s, vh, kinks)

    def push(operands: Sequence[Array], moved: Sequence[Array]) -> Any:
        return _svd_jvp(tuple(operands[:3]), operands[3:], moved, kinks=kinks)

    given = filled(g, [type_of(x) for x in y])
    return algebra.transposed(push, (*y, a), [type_of(a)], given, SVD.derived, ("vjp", kinks))[0]


SVD: Explicit = explicit(
    "svd",
    lambda a, full=False, kinks=True: tuple(np.linalg.svd(a, full_matrices=full)),
    type_rule=_svd_type,
    vjp=(_svd_vjp,),
    jvp=_svd_jvp,
    both=NOT_LINEAR,
    form=OfValues,
    batch=lambda size, xs, batched, params: bind(SVD, xs, params),
    multiple=True,
    unread=True,
    sample=lambda: [
        Sample((draw((3, 2)),)),
        Sample((draw((2, 2, 3)),)),
        Sample((regular(),), {"full": True}),
        Sample((regular(),), {"kinks": False}),
        Sample((complex_(draw((3, 2))),), smooth=False),  # the phase of a singular vector
    ],
)


def _along(s: Any, a: Any, t: Any, factors: Any, kinks: bool = True) -> Any:
    return bind(ALONG, (s, a, *_turned_factors(t, *factors)), {"kinks": kinks})


def _svd_along(xs: Any, ts: Any, y: Any, *, full: bool = False, kinks: bool = True) -> Any:
    return y[0], _along(y[1], xs[0], ts[0], y, kinks), y[2]


SVD.along = _svd_along  # type: ignore[attr-defined]


def _matrix(a: Any, name: str) -> Array:
    a = as_float(operand(a))
    if type_of(a).ndim < 2:
        raise np.linalg.LinAlgError(located(f"{name}: a matrix has to have at least two axes"))
    return a


def svd(a: Any, full: bool = False, kinks: bool = True) -> Any:
    """The thin singular value decomposition: u, s and the adjoint of v, as NumPy gives them.

    The derivatives of the values where they coincide are as exact as those of `eigh`. That of the
    vectors is NaN where values coincide, and at values of 0 of a matrix that is not square: nothing
    determines them. With `full`, of a square matrix, NumPy's full decomposition is called (of
    others that is `ops.whole_factors`). Without `kinks` the cotangent of a value of 0 is U g Vᴴ as
    that of any other, which is PyTorch's choice.
    """
    a = _matrix(a, "svd")
    params = {**({"full": True} if full else {}), **({} if kinks else {"kinks": False})}
    return bind(SVD, (a,), params)


def _svdvals_vjp(g: Any, _y: Any, a: Any) -> Any:
    """conj(U diag(g) Vᴴ); the values come from another LAPACK driver than those of `svd`."""
    return values_pulled(g, a, *bind(SVD, (a,)))


def _svdvals_jvp(_y: Any, xs: Any, ts: Any) -> Any:
    u, s, vh = bind(SVD, (xs[0],))
    return _values_moved(xs[0], u, s, vh, ts[0])


SVDVALS: Explicit = explicit(
    "svdvals",
    lambda a: np.linalg.svd(a, compute_uv=False),  # another LAPACK driver than that of `svd`
    type_rule=lambda a: _svd_type(a)[1],
    vjp=(_svdvals_vjp,),
    jvp=_svdvals_jvp,
    both=NOT_LINEAR,
    form=OfValues,
    batch=lambda size, xs, batched, params: bind(SVDVALS, xs, params),
    sample=lambda: [
        Sample((draw((3, 2)),)),
        Sample((draw((2, 2, 3)),)),
        Sample((regular().astype(np.float32),)),
        Sample((complex_(draw((3, 2))),)),
        Sample((np.ones((2, 3)),), smooth=False),
    ],
)


def _svdvals_along(xs: Any, ts: Any, y: Any) -> Any:
    return (_along(y[0], xs[0], ts[0], bind(SVD, xs)),)


SVDVALS.along = _svdvals_along  # type: ignore[attr-defined]


def svdvals(a: Any) -> Array:
    """The singular values in descending order; the derivative of a value of 0 is taken as 0."""
    return bind(SVDVALS, (_matrix(a, "svdvals"),))
