"""The singular values that a pseudoinverse drops, and how they turn the kept vectors.

Golub and Pereyra's derivative takes what is dropped as 0. Where a cutoff drops values that are not,
the pseudoinverse is that of the truncated matrix, and a pair of a kept value s and a dropped one d
meets the divisor s² − d². Here that is an equation of matrices, which no single vector enters, so
that further derivatives are finite where kept values coincide.

With a = b + d, b kept and d dropped, p = b⁺ and q = p t for a tangent t, for m ≥ n (a wide matrix
is the adjoint of a tall one):

    turned − dᴴd turned ppᴴ = (I − pa) qᴴ + (tᴴd)ᴴ ppᴴ
    crossed − ppᴴ crossed dᴴd = ppᴴ (tᴴd + q dᴴd)

    p' = (turned − q) p + ppᴴ tᴴ (I − ap) + ppᴴ (q + crossed) dᴴ
    d' = (I − ap) t (I − pa) − b crossed − d turned
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.forms import Explicit, explicit
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import bind, type_of
from funcgrad.core.types import Array
from funcgrad.ops.arithmetic import add, subtract
from funcgrad.ops.matrices import adjoint, complex_, definite
from funcgrad.ops.product import matmul
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import every_lane, swap_last

__all__ = ["DROPPED", "STEIN", "between", "outside", "pseudoinverse_moved"]

# ------------------------------------------------------------------------- Stein's equation


def _hermitian_factors(a: Any, known: Any) -> Any:
    return np.linalg.eigh(np.where(known, a, 0.0))


def _stein(left: Any, right: Any, c: Any) -> Any:
    """By the eigenvalues of both sides, whose products are below 1."""
    if not left.any() or not right.any():  # nothing that is not 0 was dropped
        return np.array(c)
    known = np.isfinite(left).all((-2, -1), keepdims=True)
    known &= np.isfinite(right).all((-2, -1), keepdims=True)
    x, u = _hermitian_factors(left, known)
    y, v = _hermitian_factors(right, known)
    back = np.conj(np.swapaxes(u, -1, -2))
    inner = back @ c @ v / (1.0 - x[..., :, None] * y[..., None, :])
    found = u @ inner @ np.conj(np.swapaxes(v, -1, -2))
    return np.where(known, found, np.nan).astype(c.dtype)


def _stein_back(g: Any, left: Any, right: Any) -> Array:
    return bind(STEIN, (swap_last(left), swap_last(right), g))


# The x of ``x − left x right = c``, for Hermitian sides.
STEIN: Explicit = explicit(
    "stein",
    _stein,
    type_rule=lambda left, right, c: c,
    vjp=(
        lambda g, x, left, right, _c: matmul(
            _stein_back(g, left, right), swap_last(matmul(x, right))
        ),
        lambda g, x, left, right, _c: matmul(
            swap_last(matmul(left, x)), _stein_back(g, left, right)
        ),
        lambda g, _x, left, right, _c: _stein_back(g, left, right),
    ),
    batch=lambda size, xs, batched, params: bind(STEIN, every_lane(size, xs, batched)),
    linear_in=(2,),
    sample=lambda: [  # finite differences would move one triangle of a Hermitian matrix
        Sample((definite(), 0.01 * definite(seed=1), draw((3, 3))), smooth=False),
        Sample((definite(2), 0.01 * definite(2, seed=1), draw((2, 3, 3))), smooth=False),
        Sample((definite(), np.zeros((3, 3)), draw((3, 3))), smooth=False),
    ],
)

# ------------------------------------------------------------------------ what is dropped


def _dropped(a: Any, p: Any, rcond: float) -> Any:
    """The part of `a` with the singular values that its pseudoinverse `p` drops.

    NaN where a kept value and a dropped one are equal but for rounding: the kept part has no
    derivative there. The trace of p a is the number of those that are kept.
    """
    k = min(a.shape[-2:])
    kept = np.einsum("...ij,...ji->...", p, a).real
    if not a.size or (kept > k - 0.5).all():
        return np.zeros_like(a)
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    large = s > np.asarray([rcond]) * s[..., :1]
    least = np.min(s, -1, where=large, initial=np.inf)
    most = np.max(s, -1, where=~large, initial=-np.inf)
    one = least - most <= 4.0 * k * np.finfo(s.dtype).eps * s[..., 0]
    found = (u * np.where(large, 0.0, s)[..., None, :]) @ vh
    return np.where(one[..., None, None], np.nan, found).astype(a.dtype)


def _dropped_jvp(d: Any, xs: Any, ts: Any, *, rcond: float) -> Any:
    (a, p), t = xs, ts[0]
    if t is None:  # of the pseudoinverse, which is a function of `a`
        return None
    if _wide(a):
        return adjoint(_dropped_moved(*map(adjoint, (a, p, d, t))))
    return _dropped_moved(a, p, d, t)


def _dropped_moved(a: Array, p: Array, d: Array, t: Array) -> Array:
    turned, crossed = between(a, p, d, t)
    rest = subtract(t, matmul(a, matmul(p, t)))
    rest = subtract(rest, matmul(matmul(rest, p), a))
    moved = add(matmul(subtract(a, d), crossed), matmul(d, turned))
    return subtract(rest, moved)


DROPPED: Explicit = explicit(
    "dropped_values",
    _dropped,
    type_rule=lambda a, p, *, rcond: a,
    jvp=_dropped_jvp,
    batch=lambda size, xs, batched, params: bind(DROPPED, every_lane(size, xs, batched), params),
    sample=lambda: [
        Sample((a, np.linalg.pinv(a, 0.5)), {"rcond": 0.5}, smooth=False)
        for a in (draw((3, 2)), draw((2, 3)), draw((2, 3, 3)), complex_(draw((3, 2))))
    ],
)

# ------------------------------------------------------------------------------ the tangent


def _wide(a: Array) -> bool:
    m, n = type_of(a).shape[-2:]
    return bool(m < n)


def outside(p: Array, a: Array, x: Array) -> Array:
    """(I - p a) x: the part of `x` that the kept part of `a` does not see."""
    return subtract(x, matmul(p, matmul(a, x)))


def between(a: Array, p: Array, d: Array, t: Array) -> tuple[Array, Array]:
    """`turned` and `crossed`, of a matrix that is not wide."""
    q, w = matmul(p, t), matmul(adjoint(t), d)
    over, under = matmul(p, adjoint(p)), matmul(adjoint(d), d)
    right = add(outside(p, a, adjoint(q)), matmul(adjoint(w), over))
    left = matmul(over, add(w, matmul(q, under)))
    return bind(STEIN, (under, over, right)), bind(STEIN, (over, under, left))


def pseudoinverse_moved(a: Array, p: Array, d: Array, t: Array) -> Array:
    """The tangent of the pseudoinverse `p` of `a` without its part `d`, along `t`."""
    if _wide(a):
        return adjoint(pseudoinverse_moved(*map(adjoint, (a, p, d, t))))
    turned, crossed = between(a, p, d, t)
    q, back = matmul(p, t), adjoint(t)
    rest = subtract(back, matmul(matmul(back, a), p))
    rest = add(rest, matmul(add(q, crossed), adjoint(d)))
    return add(matmul(subtract(turned, q), p), matmul(p, matmul(adjoint(p), rest)))
