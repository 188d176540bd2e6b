"""`det` and `slogdet`; the derivative of the determinant is exact for singular matrices too.

They stand on the inverse and on products. The cofactors are the derivative of the determinant:
through minors for up to 3 rows, through the inverse beyond, and through the singular values where
a matrix is nearly singular.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.forms import explicit
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import bind, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.ops.arithmetic import add, imag, multiply, scale, subtract
from funcgrad.ops.index import gather
from funcgrad.ops.matrices import column, complex_, real_dtype, regular, square
from funcgrad.ops.product import matmul
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import broadcast_to, swap_last, transpose, unbroadcast
from funcgrad.ops.solve import inv
from funcgrad.ops.sums import sum as sum_

__all__ = ["cofactors", "det", "slogdet"]


def _trace(x: Array) -> Array:
    """The trace, with two axes of one element left."""
    n = type_of(x).shape[-1]
    return sum_(multiply(x, np.eye(n, dtype=type_of(x).dtype)), (-2, -1), True)


def _minors(a: Array) -> Array:
    """All matrices that lack one row and one column: (..., n, n, n-1, n-1)."""
    n = type_of(a).shape[-1]
    rest = np.array([[j for j in range(n) if j != i] for i in range(n)], int).reshape(n, n - 1)
    lead = type_of(a).ndim - 2
    order = (lead, lead + 1, *range(lead))
    front = transpose(a, order)
    picked = gather(front, rest[:, None, :, None], rest[None, :, None, :])
    return transpose(picked, (*range(4, 4 + lead), 0, 1, 2, 3))


def _around(s: Any) -> Any:
    """The products of all elements but one."""
    one = np.ones_like(s[..., :1])
    before = np.cumprod(np.concatenate([one, s[..., :-1]], -1), -1)
    after = np.cumprod(np.concatenate([one, s[..., :0:-1]], -1), -1)[..., ::-1]
    return before * after


def _easy(a: Any) -> tuple[Any, Any]:
    """The inverse, and for which matrices it may be used."""
    try:
        b = np.linalg.inv(a)
    except np.linalg.LinAlgError:
        return np.full_like(a, np.nan), np.zeros(a.shape[:-2], bool)
    size = np.abs(a).sum(-1).max(-1) * np.abs(b).sum(-1).max(-1)
    return b, ~(size >= 1e4)  # with NaN the inverse is as good as anything


def _patched(a: Any, whole: Any, easy: Any, hard: Any) -> Any:
    """`whole`, but ``hard(lanes)`` for those finite matrices that are not `easy`."""
    lanes = ~np.asarray(easy) & np.isfinite(a).all((-2, -1))
    if np.any(lanes):
        whole[lanes] = hard(lanes)
    return whole


def _cofactors_impl(a: Any) -> Any:
    """det(a) inv(a)ᵀ, or through the singular values where the matrix is nearly singular."""
    if not a.size:
        return np.zeros_like(a)

    def hard(lanes: Any) -> Any:
        u, s, v = np.linalg.svd(a[lanes])
        phase = (np.linalg.det(u) * np.linalg.det(v))[..., None, None]
        return phase * np.conj((u * _around(s)[..., None, :]) @ v)

    with np.errstate(all="ignore"):
        b, easy = _easy(a)
        whole = np.linalg.det(a)[..., None, None] * np.swapaxes(b, -1, -2)
        return _patched(a, whole.astype(a.dtype), easy, hard)


def _cofactors_along_impl(a: Any, x: Any) -> Any:
    """The derivative of the cofactors along x: det · (tr(bx) b − bxb)ᵀ with b the inverse.

    With a = U S Vᴴ and X = Uᴴ x V it is the second-order term of det(S + X), carried back.
    """
    a, x = np.broadcast_arrays(a, x)
    if not a.size:
        return np.zeros(a.shape, np.result_type(a, x))

    def hard(lanes: Any) -> Any:
        u, s, v = np.linalg.svd(a[lanes])
        n = s.shape[-1]
        phase = (np.linalg.det(u) * np.linalg.det(v))[..., None, None]
        z = np.conj(np.swapaxes(u, -1, -2)) @ x[lanes] @ np.conj(np.swapaxes(v, -1, -2))
        others = _around(np.where(np.eye(n, dtype=bool), 1, s[..., None, :]))
        others[..., np.arange(n), np.arange(n)] = 0
        own = np.diagonal(z, axis1=-2, axis2=-1)
        middle = -others * np.swapaxes(z, -1, -2)
        middle[..., np.arange(n), np.arange(n)] = (others @ own[..., None])[..., 0]
        return phase * (np.conj(u) @ middle @ np.conj(v))

    with np.errstate(all="ignore"):
        b, easy = _easy(a)
        p = b @ x
        along = np.trace(p, axis1=-2, axis2=-1)[..., None, None] * b - p @ b
        whole = np.linalg.det(a)[..., None, None] * np.swapaxes(along, -1, -2)
        return _patched(a, whole.astype(np.result_type(a, x)), easy, hard)


def _third(a: Array, x: Array, y: Array) -> Array:
    """The third derivative of det along x and y; of a regular matrix only."""
    b = inv(a)
    p, q = matmul(b, x), matmul(b, y)
    pb, qb = matmul(p, b), matmul(q, b)
    tp, tq = _trace(p), _trace(q)
    total = multiply(subtract(multiply(tp, tq), _trace(matmul(p, q))), b)
    total = subtract(subtract(total, multiply(tp, qb)), multiply(tq, pb))
    total = add(total, add(matmul(p, qb), matmul(q, pb)))
    return multiply(column(column(bind(DET, (a,)))), swap_last(total))


def _cofactors_along_vjp(g: Any, _: Any, a: Any, x: Any, *, needs: Any) -> Any:
    return (
        unbroadcast(_third(a, x, g), type_of(a)) if needs[0] else None,
        unbroadcast(bind(COFACTORS_ALONG, (a, g)), type_of(x)) if needs[1] else None,
    )


def _rank_short() -> Any:
    """A matrix of rank 3 that is eliminated without rounding: its determinant is 0 exactly."""
    rows = [[4.0, 2.0, 1.0, 8.0], [2.0, 1.0, 3.0, 2.0], [8.0, 4.0, 2.0, 16.0], [1.0, 2.0, 0.5, 1.0]]
    return 0.25 * np.array(rows)


COFACTORS_ALONG = explicit(
    "cofactors_along",
    _cofactors_along_impl,
    signature="(n,n),(n,n)->(n,n)",
    vjp=_cofactors_along_vjp,
    linear_in=(1,),
    sample=lambda: [
        Sample((regular(n=4), draw((4, 4), seed=1))),
        Sample((regular(2), draw((3, 3), seed=1))),
        Sample((complex_(regular()), draw((3, 3), seed=1))),
    ],
)
COFACTORS = explicit(
    "cofactors",
    _cofactors_impl,
    signature="(n,n)->(n,n)",
    vjp=(lambda g, _, a: bind(COFACTORS_ALONG, (a, g)),),
    sample=lambda: [
        Sample((regular(n=4),)),
        Sample((regular(2),)),
        Sample((complex_(regular()),)),
        Sample((_rank_short(),), smooth=False),  # its third derivative needs the inverse
    ],
)


def cofactors(a: Array) -> Array:
    """The derivative of the determinant, also of a singular matrix.

    Up to 3 rows it goes through minors, whose determinants can be differentiated to any order;
    beyond, derivatives of `det` above the second are those of a regular matrix.
    """
    n = type_of(a).shape[-1]
    if n > 3:
        return bind(COFACTORS, (a,))
    if n <= 1:
        return broadcast_to(np.ones((), type_of(a).dtype), type_of(a).shape)
    signs = (-1.0) ** np.add.outer(np.arange(n), np.arange(n))
    return multiply(bind(DET, (_minors(a),)), signs.astype(real_dtype(type_of(a).dtype)))


DET = explicit(
    "det",
    np.linalg.det,
    signature="(n,n)->()",
    vjp=(lambda g, _, a: scale(column(column(g)), cofactors(a)),),
    sample=lambda: [
        Sample((regular(),)),
        Sample((regular(2, n=2),)),
        Sample((regular(2, n=4),)),
        Sample((complex_(regular(n=4)),)),
        Sample((regular(n=4).astype(np.float32),)),
        Sample((_rank_short(),)),
        Sample((np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]]),)),
    ],
)


def det(a: Any) -> Array:
    """The determinant; its gradient is exact for singular matrices too (the adjugate)."""
    return bind(DET, (square(a, "det"),))


def _slogdet_vjp(g: Any, y: Any, a: Any) -> Any:
    """d log det = tr(a⁻¹ da): the logarithm is its real part, the phase turns by the imaginary."""
    weight = g[1]
    if type_of(a).dtype.kind == "c":
        weight = add(weight, multiply(1j, imag(multiply(g[0], y[0]))))
    return multiply(column(column(weight)), swap_last(inv(a)))


SLOGDET = explicit(
    "slogdet",
    lambda a: tuple(np.linalg.slogdet(a)),
    type_rule=lambda a: (
        ArrayType(a.shape[:-2], a.dtype),
        ArrayType(a.shape[:-2], real_dtype(a.dtype)),
    ),
    signature="(n,n)->(),()",
    vjp=(_slogdet_vjp,),
    multiple=True,
    sample=lambda: [
        Sample((regular(),)),
        Sample((regular(2, n=2),)),
        Sample((complex_(regular()),)),
    ],
)


def slogdet(a: Any) -> Any:
    """The sign (or phase) of the determinant, and the logarithm of its absolute value."""
    return bind(SLOGDET, (square(a, "slogdet"),))
