"""QR factors, the pseudoinverse, and solutions of least squares.

They stand on products and `solve`. Tangents are stated, cotangents derived by transposing them. The
rank is taken as locally constant, which it is where singular values are away from the cutoff; those
that are dropped need not be 0 (`ops.dropped_values`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.forms import Explicit, explicit
from funcgrad.core.layout import ordered, standard
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import bind, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.errors import located
from funcgrad.ops.arithmetic import add, conjugate, imag, multiply, negative, real, subtract
from funcgrad.ops.dropped_values import DROPPED, between, outside, pseudoinverse_moved
from funcgrad.ops.index import getitem
from funcgrad.ops.matrices import adjoint, complex_, definite, real_dtype, regular
from funcgrad.ops.product import matmul
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import swap_last
from funcgrad.ops.solve import SOLVE
from funcgrad.ops.sums import sum as total

__all__ = ["LSTSQ", "PINV", "QR", "least_ratio"]

# ------------------------------------------------------------------------------------- QR


def _qr_type(a: ArrayType) -> tuple[ArrayType, ...]:
    *lead, m, n = a.shape
    k = min(m, n)
    return ArrayType((*lead, m, k), a.dtype), ArrayType((*lead, k, n), a.dtype)


def _turn(t: Array, k: int) -> Array:
    """Qᴴ dQ for Qᴴ dA R⁻¹ = `t`: skew, and such that dR R⁻¹ is upper with a real diagonal."""
    dtype = type_of(t).dtype
    below = multiply(t, np.tril(np.ones((k, k), real_dtype(dtype)), -1))
    skew = subtract(below, adjoint(below))
    if dtype.kind == "c":
        skew = add(skew, multiply(imag(t), 1j * np.eye(k, dtype=real_dtype(dtype))))
    return skew


def _qr_jvp(y: Any, _xs: Any, ts: Any) -> Any:
    """Of the first columns, as many as rows, which are a square of full rank (Walter 2018)."""
    (q, r), (t,) = y, ts
    k = type_of(r).shape[-2]
    first = (Ellipsis, slice(None, k))
    scaled = swap_last(bind(SOLVE, (swap_last(getitem(r, first)), swap_last(getitem(t, first)))))
    inside = matmul(adjoint(q), scaled)
    skew = _turn(inside, k)
    moved = add(subtract(scaled, matmul(q, inside)), matmul(q, skew))
    upper = np.triu(np.ones(type_of(r).shape[-2:], real_dtype(type_of(r).dtype)))
    return moved, multiply(subtract(matmul(adjoint(q), t), matmul(skew, r)), upper)


QR: Explicit = explicit(
    "qr",
    lambda a: tuple(np.linalg.qr(a)),
    signature="(m,n)->(m,k),(k,n)",
    type_rule=_qr_type,
    jvp=_qr_jvp,
    multiple=True,
    sample=lambda: [
        Sample((regular(),)),
        Sample((regular(2)[..., :2],)),
        Sample((regular()[:2],)),
        Sample((complex_(regular())[:, :2],)),
        Sample((complex_(regular())[:2],)),
        Sample((regular().astype(np.float32),)),
    ],
)


class _Triangle:
    """How NumPy cuts the triangle out of a copy of the operand."""

    impl = staticmethod(np.triu)


def _qr_lies(prim: Any, ask: Any, types: Any, params: Any, out: Any) -> tuple[Any, Any]:
    q, r = out
    return standard(q), ordered(_Triangle, ask, types, {}, r)


QR.lies = _qr_lies

# -------------------------------------------------------------------------- pseudoinverse


def _pinv_jvp(p: Any, xs: Any, ts: Any, *, rcond: float, hermitian: bool = False) -> Any:
    """Of a Hermitian matrix one triangle is read."""
    (a,), (t,) = xs, ts
    if hermitian:
        a, t = _from_lower(a), _from_lower(t)
    return pseudoinverse_moved(a, p, bind(DROPPED, (a, p), {"rcond": rcond}), t)


def _from_lower(x: Array) -> Array:
    """The Hermitian matrix of which NumPy reads the lower triangle."""
    n, dtype = type_of(x).shape[-1], real_dtype(type_of(x).dtype)
    below = multiply(x, np.tril(np.ones((n, n), dtype), -1))
    return add(add(below, adjoint(below)), real(multiply(x, np.eye(n, dtype=dtype))))


def _full(m: int, n: int) -> Any:
    return draw((m, n)) + np.eye(m, n)


PINV: Explicit = explicit(
    "pinv",
    lambda a, rcond, hermitian=False: np.linalg.pinv(a, rcond, hermitian),
    signature="(m,n)->(n,m)",
    jvp=_pinv_jvp,
    sample=lambda: [
        Sample((_full(3, 2),), {"rcond": 1e-15}),
        Sample((_full(2, 3),), {"rcond": 1e-15}),
        Sample((complex_(_full(3, 2)),), {"rcond": 1e-15}),
        Sample((regular(2),), {"rcond": 1e-15}),
        Sample((definite(),), {"rcond": 1e-15, "hermitian": True}),
        Sample((_full(3, 2).astype(np.float32),), {"rcond": 1e-7}),
    ],
)

# -------------------------------------------------------------------------- least squares


def least_ratio(rcond: float, dtype: Any) -> float:
    """The cutoff of LAPACK's `gelsd`: rounding, of a number that is not between 0 and 1."""
    return rcond if 0.0 < rcond < 1.0 else 0.5 * float(np.finfo(dtype).eps)


def _lstsq(a: Any, b: Any, rcond: float, full: bool) -> Any:
    x, residuals, rank, _ = np.linalg.lstsq(a, b, rcond)
    if full and not residuals.size and b.shape[1]:
        raise np.linalg.LinAlgError(
            located(
                f"lstsq: the rank of the matrix of shape {a.shape} is {rank}, so there are no "
                "residuals, which was not known when the function was staged"
            )
        )
    return x, residuals


def _lstsq_type(a: ArrayType, b: ArrayType, *, rcond: float, full: bool) -> tuple[ArrayType, ...]:
    dtype = np.result_type(a.dtype, b.dtype)
    residuals = ArrayType(b.shape[1:] if full else (0,), real_dtype(dtype))
    return ArrayType((a.shape[1], *b.shape[1:]), dtype), residuals


def _lstsq_jvp(y: Any, xs: Any, ts: Any, *, rcond: float, full: bool) -> Any:
    """x = P b, with the tangent of P; the residual is orthogonal to what `a` gives."""
    (x, sums), (a, b), (ta, tb) = y, xs, ts
    rcond = least_ratio(rcond, type_of(x).dtype)
    p = bind(PINV, (a,), {"rcond": rcond})
    rest = subtract(b, matmul(a, x))
    right = tb
    if ta is not None:
        moved = negative(matmul(ta, x))
        right = moved if right is None else add(right, moved)
    out = matmul(p, right)
    if ta is not None:
        out = add(out, _turned(a, b, x, rest, ta, p, bind(DROPPED, (a, p), {"rcond": rcond})))
    if not full:
        return out, np.zeros(0, type_of(sums).dtype)
    return out, multiply(2.0, total(real(multiply(conjugate(rest), right)), (0,)))


def _turned(a: Any, b: Any, x: Any, rest: Any, t: Any, p: Any, d: Any) -> Array:
    """What p' b has beside - p t x: the terms of `ops.dropped_values`, applied to `b`."""
    m, n = type_of(a).shape
    back = adjoint(t)
    if m < n:
        turned, crossed = between(*map(adjoint, (a, p, d, t)))
        y = matmul(adjoint(p), x)
        seen = add(matmul(t, matmul(p, y)), matmul(adjoint(crossed), y))
        made = outside(p, a, matmul(back, y))
        return add(add(made, matmul(adjoint(d), seen)), matmul(p, matmul(adjoint(turned), b)))
    turned, crossed = between(a, p, d, t)
    seen = matmul(adjoint(d), b)
    seen = add(matmul(p, matmul(t, seen)), matmul(crossed, seen))
    made = matmul(p, matmul(adjoint(p), add(matmul(back, rest), seen)))
    return add(made, matmul(turned, x))


LSTSQ: Explicit = explicit(
    "lstsq",
    _lstsq,
    type_rule=_lstsq_type,
    jvp=_lstsq_jvp,
    multiple=True,
    sample=lambda: [
        Sample((_full(4, 2), draw((4, 3))), {"rcond": 1e-15, "full": True}),
        Sample((_full(2, 3), draw((2, 2))), {"rcond": 1e-15, "full": False}),
        Sample((complex_(_full(3, 2)), draw((3, 1))), {"rcond": 1e-15, "full": True}),
        Sample(
            (_full(3, 2).astype(np.float32), draw((3, 1)).astype(np.float32)),
            {"rcond": 1e-7, "full": True},
        ),
    ],
)
