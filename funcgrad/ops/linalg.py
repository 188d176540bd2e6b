"""Linear algebra: solve, inv, det, slogdet, cholesky, eigh, svd, norm.

Formulas follow Giles, "An extended collection of matrix derivative results" (2008), and Murray,
"Differentiation of the Cholesky decomposition" (2016). `cholesky` and `eigh` read one triangle;
they are differentiated as functions of a symmetric matrix: cotangents and tangents are made
symmetric, and a gradient is spread over both triangles. With complex numbers a cotangent is the
conjugate of that of the papers: the vjp of x -> a x is g -> a g.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.core.algebra import algebra
from funcgrad.core.forms import Explicit, explicit
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import bind, operand, type_of
from funcgrad.core.types import Array, ArrayType, is_inexact
from funcgrad.errors import located
from funcgrad.ops.arithmetic import (
    absolute,
    add,
    cast,
    conjugate,
    divide,
    equal,
    imag,
    isinf,
    less_equal,
    logical_or,
    multiply,
    negative,
    power,
    real,
    scale,
    sign,
    subtract,
    where,
)
from funcgrad.ops.product import matmul
from funcgrad.ops.reduce import max as max_
from funcgrad.ops.reduce import normalize_axes, spread
from funcgrad.ops.reduce import sum as sum_
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import broadcast_to, reshape, swap_last, transpose


def _float(x: Array) -> Array:
    """Integers as floats, as NumPy's linear algebra does."""
    kind = type_of(x)
    return x if is_inexact(kind.dtype) else cast(x, np.float64)


def _square(x: Array, name: str) -> Array:
    x = _float(operand(x))
    shape = type_of(x).shape
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise np.linalg.LinAlgError(
            located(f"{name}: the last two axes have to be equal, the shape is {shape}")
        )
    return x


def adjoint(x: Array) -> Array:
    """The conjugate transpose."""
    return conjugate(swap_last(x))


def _real_dtype(dtype: Any) -> Any:
    return np.zeros((), dtype).real.dtype


def _row(x: Array) -> Array:
    return reshape(x, (*type_of(x).shape[:-1], 1, type_of(x).shape[-1]))


def _column(x: Array) -> Array:
    return reshape(x, (*type_of(x).shape, 1))


def _trace(x: Array) -> Array:
    """The trace, with two axes of one element left."""
    n = type_of(x).shape[-1]
    return sum_(multiply(x, np.eye(n, dtype=type_of(x).dtype)), (-2, -1), True)


def _complex(x: Any) -> Any:
    return x + 0.5j * draw(x.shape, seed=7)


def _regular(*lead: int, n: int = 3, seed: int = 0) -> Any:
    return draw((*lead, n, n), seed=seed) + 3.0 * np.eye(n)


def _definite(*lead: int, n: int = 3, seed: int = 0) -> Any:
    a = draw((*lead, n, n), seed=seed)
    return a @ np.swapaxes(a, -1, -2) + np.eye(n) * np.arange(1, n + 1)


def _hermitian() -> Any:
    a = _complex(draw((3, 3)))
    return a @ a.conj().T + np.diag([1.0, 2.0, 3.0])


# ---------------------------------------------------------------------------------- solve


def _solve(a: Any, b: Any) -> Any:
    return np.linalg.solve(a, b)


def _solve_type(a: ArrayType, b: ArrayType) -> ArrayType:
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return ArrayType((*lead, *b.shape[-2:]), np.result_type(a.dtype, b.dtype))


def _solve_jvp(x: Any, xs: Any, ts: Any) -> Any:
    """x' = a⁻¹ (b' − a' x) (Giles 2008, §2.3.1)."""
    (a, _), (ta, tb) = xs, ts
    right = None if ta is None else negative(matmul(ta, x))
    if tb is not None:
        right = tb if right is None else add(tb, right)
    return bind(SOLVE, (a, right))


def _solve_b(g: Any, _x: Any, a: Any, b: Any) -> Any:
    return algebra.conform(bind(SOLVE, (swap_last(a), g)), type_of(b))


def _solve_a(g: Any, x: Any, a: Any, _b: Any) -> Any:
    gb = bind(SOLVE, (swap_last(a), g))
    return algebra.conform(negative(matmul(gb, swap_last(x))), type_of(a))


SOLVE = explicit(
    "solve",
    _solve,
    signature="(n,n),(n,k)->(n,k)",
    type_rule=_solve_type,
    vjp=(_solve_a, _solve_b),
    jvp=_solve_jvp,
    linear_in=(1,),
    sample=lambda: [
        Sample((_regular(2), draw((3, 1, 3, 3)))),
        Sample((_complex(_regular()), draw((3, 2)))),
        Sample((_regular().astype(np.float32), _complex(draw((3, 2))))),
        Sample((_regular(), draw((3, 2)))),
        Sample((_regular(2), draw((3, 2)))),
        Sample((_regular(n=2).astype(np.float32), draw((2, 2)).astype(np.float32))),
    ],
)


def _solve_vector(a: Any, b: Any) -> Any:
    if b.ndim == 1:
        return np.linalg.solve(a, b)
    return np.linalg.solve(a, b[..., None])[..., 0]


def _solve_vector_type(a: ArrayType, b: ArrayType) -> ArrayType:
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-1])
    return ArrayType((*lead, b.shape[-1]), np.result_type(a.dtype, b.dtype))


def _solve_vector_jvp(x: Any, xs: Any, ts: Any) -> Any:
    (a, _), (ta, tb) = xs, ts
    if ta is None:
        return bind(SOLVE_VECTOR, (a, tb))
    right = negative(_drop(matmul(ta, _column(x))))
    return bind(SOLVE_VECTOR, (a, right if tb is None else add(tb, right)))


def _drop(x: Array) -> Array:
    return reshape(x, type_of(x).shape[:-1])


def _solve_vector_b(g: Any, _x: Any, a: Any, b: Any) -> Any:
    return algebra.conform(bind(SOLVE_VECTOR, (swap_last(a), g)), type_of(b))


def _solve_vector_a(g: Any, x: Any, a: Any, _b: Any) -> Any:
    gb = bind(SOLVE_VECTOR, (swap_last(a), g))
    return algebra.conform(negative(multiply(_column(gb), _row(x))), type_of(a))


SOLVE_VECTOR = explicit(
    "solve_vector",
    _solve_vector,
    signature="(n,n),(n)->(n)",
    type_rule=_solve_vector_type,
    vjp=(_solve_vector_a, _solve_vector_b),
    jvp=_solve_vector_jvp,
    linear_in=(1,),
    sample=lambda: [
        Sample((_regular(2), draw((3,)))),
        Sample((_complex(_regular()), draw((3,)).astype(np.float32))),
        Sample((_regular(), draw((3,)))),
        Sample((_regular(2), draw((2, 3)))),
    ],
)


def solve(a: Any, b: Any) -> Array:
    """The solution x of a x = b; `b` is a vector only if it has one axis (NumPy 2)."""
    a, b = _square(a, "solve"), _float(operand(b))
    if not type_of(b).shape:
        raise np.linalg.LinAlgError(located("solve: b has to have at least one axis"))
    vector = type_of(b).ndim == 1
    if type_of(b).shape[-1 if vector else -2] != type_of(a).shape[-1]:
        raise ValueError(
            located(f"solve: shapes {type_of(a).shape} and {type_of(b).shape} do not fit together")
        )
    return bind(SOLVE_VECTOR if vector else SOLVE, (a, b))


# ------------------------------------------------------------------------------- inv, det


def _inv_vjp(g: Any, y: Any, _: Any) -> Any:
    back = swap_last(y)
    return negative(matmul(matmul(back, g), back))


INV = explicit(
    "inv",
    np.linalg.inv,
    signature="(n,n)->(n,n)",
    vjp=(_inv_vjp,),
    jvp=lambda y, _, ts: negative(matmul(matmul(y, ts[0]), y)),
    sample=lambda: [
        Sample((_regular(),)),
        Sample((_regular(2, n=2),)),
        Sample((_regular().astype(np.float32),)),
        Sample((_complex(_regular()),)),
    ],
)


def inv(a: Any) -> Array:
    """The inverse of a square matrix."""
    return bind(INV, (_square(a, "inv"),))


def _minors(a: Array) -> Array:
    """All matrices that lack one row and one column: (..., n, n, n-1, n-1)."""
    from funcgrad.ops.index import gather

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
    return multiply(_column(_column(bind(DET, (a,)))), swap_last(total))


def _cofactors_along_vjp(g: Any, _: Any, a: Any, x: Any, *, needs: Any) -> Any:
    return (
        algebra.conform(_third(a, x, g), type_of(a)) if needs[0] else None,
        algebra.conform(bind(COFACTORS_ALONG, (a, g)), type_of(x)) if needs[1] else None,
    )


def _cofactors_along_jvp(_: Any, xs: Any, ts: Any) -> Any:
    (a, x), (ta, tx) = xs, ts
    first = None if ta is None else _third(a, x, ta)
    second = None if tx is None else bind(COFACTORS_ALONG, (a, tx))
    return first if second is None else second if first is None else add(first, second)


def _rank_short(n: int = 4) -> Any:
    """A matrix of rank n - 1."""
    a = draw((n, n))
    a[1] = a[0] - 0.5 * a[2]
    return a


COFACTORS_ALONG = explicit(
    "cofactors_along",
    _cofactors_along_impl,
    signature="(n,n),(n,n)->(n,n)",
    vjp=_cofactors_along_vjp,
    jvp=_cofactors_along_jvp,
    linear_in=(1,),
    sample=lambda: [
        Sample((_regular(n=4), draw((4, 4), seed=1))),
        Sample((_regular(2), draw((3, 3), seed=1))),
        Sample((_complex(_regular()), draw((3, 3), seed=1))),
    ],
)
COFACTORS = explicit(
    "cofactors",
    _cofactors_impl,
    signature="(n,n)->(n,n)",
    vjp=(lambda g, _, a: bind(COFACTORS_ALONG, (a, g)),),
    jvp=lambda _, xs, ts: bind(COFACTORS_ALONG, (xs[0], ts[0])),
    sample=lambda: [
        Sample((_regular(n=4),)),
        Sample((_regular(2),)),
        Sample((_complex(_regular()),)),
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
    return multiply(bind(DET, (_minors(a),)), signs.astype(_real_dtype(type_of(a).dtype)))


DET = explicit(
    "det",
    np.linalg.det,
    signature="(n,n)->()",
    vjp=(lambda g, _, a: scale(_column(_column(g)), cofactors(a)),),
    jvp=lambda _, xs, ts: sum_(scale(ts[0], cofactors(xs[0])), (-2, -1)),
    sample=lambda: [
        Sample((_regular(),)),
        Sample((_regular(2, n=2),)),
        Sample((_regular(2, n=4),)),
        Sample((_complex(_regular(n=4)),)),
        Sample((_regular(n=4).astype(np.float32),)),
        Sample((_rank_short(),)),
        Sample((np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]]),)),
    ],
)


def det(a: Any) -> Array:
    """The determinant; its gradient is exact for singular matrices too (the adjugate)."""
    return bind(DET, (_square(a, "det"),))


def _slogdet_vjp(g: Any, y: Any, a: Any) -> Any:
    """d log det = tr(a⁻¹ da): the logarithm is its real part, the phase turns by the imaginary."""
    weight = g[1]
    if type_of(a).dtype.kind == "c":
        weight = add(weight, multiply(1j, imag(multiply(g[0], y[0]))))
    return multiply(_column(_column(weight)), swap_last(inv(a)))


SLOGDET = explicit(
    "slogdet",
    lambda a: tuple(np.linalg.slogdet(a)),
    type_rule=lambda a: (
        ArrayType(a.shape[:-2], a.dtype),
        ArrayType(a.shape[:-2], _real_dtype(a.dtype)),
    ),
    signature="(n,n)->(),()",
    vjp=(_slogdet_vjp,),
    multiple=True,
    sample=lambda: [
        Sample((_regular(),)),
        Sample((_regular(2, n=2),)),
        Sample((_complex(_regular()),)),
    ],
)


def slogdet(a: Any) -> Any:
    """The sign (or phase) of the determinant, and the logarithm of its absolute value."""
    return bind(SLOGDET, (_square(a, "slogdet"),))


# ------------------------------------------------------------------------ cholesky, eigh


def _symmetric(c: Array) -> Array:
    return multiply(0.5, add(c, adjoint(c)))


def _lower_half(n: int, dtype: Any) -> Any:
    """1 below the diagonal, ½ on it."""
    half = np.tril(np.ones((n, n)), -1) + 0.5 * np.eye(n)
    return half.astype(_real_dtype(dtype))


def _cholesky_jvp(y: Any, xs: Any, ts: Any, *, upper: bool = False) -> Any:
    """dL = L Φ(L⁻¹ dA L⁻ᴴ), Φ the lower half (Murray 2016, eq. 8)."""
    low = adjoint(y) if upper else y
    t = _symmetric(ts[0])
    first = bind(SOLVE, (low, t))
    inner = adjoint(bind(SOLVE, (low, adjoint(first))))
    n = type_of(y).shape[-1]
    moved = matmul(low, multiply(inner, _lower_half(n, type_of(y).dtype)))
    return adjoint(moved) if upper else moved


def _cholesky_vjp(g: Any, y: Any, _a: Any, *, upper: bool = False) -> Any:
    """The transpose of the jvp (Murray 2016, eq. 10)."""
    low, g = (adjoint(y), swap_last(g)) if upper else (y, conjugate(g))
    p = multiply(matmul(adjoint(low), g), _lower_half(type_of(y).shape[-1], type_of(y).dtype))
    first = bind(SOLVE, (adjoint(low), p))
    s = adjoint(bind(SOLVE, (adjoint(low), adjoint(first))))
    return conjugate(_symmetric(s))


CHOLESKY = explicit(
    "cholesky",
    lambda a, upper=False: np.linalg.cholesky(a, upper=upper) if upper else np.linalg.cholesky(a),
    signature="(n,n)->(n,n)",
    type_rule=lambda a, *, upper=False: ArrayType(a.shape, a.dtype),
    vjp=(_cholesky_vjp,),
    jvp=_cholesky_jvp,
    sample=lambda: [
        Sample((_definite(),)),
        Sample((_definite(2, n=2),)),
        Sample((_definite(),), {"upper": True}),
        Sample((_definite().astype(np.float32),)),
        Sample((_hermitian(),)),
        Sample((_hermitian(),), {"upper": True}),
    ],
)
CHOLESKY.symmetric = True  # type: ignore[attr-defined]


def cholesky(a: Any, upper: bool = False) -> Array:
    """The Cholesky factor of a symmetric positive definite matrix.

    NumPy reads one triangle; the gradient is that of a symmetric matrix, spread over both.
    """
    return bind(CHOLESKY, (_square(a, "cholesky"),), {"upper": True} if upper else {})


def _coincide(gap: Array, w: Array) -> Array:
    """Which differences of the eigenvalues or singular values `w` are mere rounding."""
    n = type_of(w).shape[-1]
    if not n:
        return equal(gap, 0)
    bound = 4.0 * n * float(np.finfo(type_of(w).dtype).eps)
    return less_equal(absolute(gap), multiply(bound, _column(max_(absolute(w), -1, True))))


def _inverse(x: Array, none: Array) -> Array:
    """1 / x, and 0 where `none`."""
    return where(none, 0.0, divide(1.0, where(none, 1.0, x)))


def _eigh_vjp(g: Any, y: Any, _a: Any, *, uplo: str = "L") -> Any:
    """V (diag gw + F ∘ VᴴgV) Vᴴ, F_ij = 1/(w_j − w_i) (Giles 2008, §3.1), made symmetric.

    Where two eigenvalues are equal (but for rounding) F is 0: functions that do not depend on the
    choice of the eigenvectors within an eigenspace have exact first derivatives.
    """
    (gw, gv), (w, v) = g, y
    gap = subtract(_row(w), _column(w))
    inner = multiply(_inverse(gap, _coincide(gap, w)), matmul(adjoint(v), conjugate(gv)))
    inner = add(inner, multiply(np.eye(type_of(w).shape[-1], dtype=type_of(w).dtype), _row(gw)))
    return conjugate(_symmetric(matmul(matmul(v, inner), adjoint(v))))


EIGH = explicit(
    "eigh",
    lambda a, uplo="L": tuple(np.linalg.eigh(a, uplo)),
    signature="(n,n)->(n),(n,n)",
    type_rule=lambda a, *, uplo="L": (
        ArrayType(a.shape[:-1], _real_dtype(a.dtype)),
        ArrayType(a.shape, a.dtype),
    ),
    vjp=(_eigh_vjp,),
    multiple=True,
    sample=lambda: [
        Sample((_definite(),)),
        Sample((_definite(2, n=2),), {"uplo": "U"}),
        Sample((_definite().astype(np.float32),)),
        Sample((_hermitian(),), smooth=False),  # the phase of an eigenvector is anybody's choice
    ],
)
EIGH.symmetric = True  # type: ignore[attr-defined]


def eigh(a: Any, UPLO: str = "L") -> Any:
    """Eigenvalues in ascending order and eigenvectors of a symmetric or Hermitian matrix."""
    return bind(EIGH, (_square(a, "eigh"),), {"uplo": UPLO.upper()} if UPLO.upper() != "L" else {})


def _eigvalsh_vjp(g: Any, _y: Any, a: Any, *, uplo: str = "L") -> Any:
    """V diag(g) Vᴴ; the values come from another LAPACK driver than those of `eigh`."""
    v = bind(EIGH, (a,), {"uplo": uplo} if uplo != "L" else {})[1]
    return conjugate(matmul(multiply(v, _row(g)), adjoint(v)))


EIGVALSH = explicit(
    "eigvalsh",
    lambda a, uplo="L": np.linalg.eigvalsh(a, uplo),
    signature="(n,n)->(n)",
    type_rule=lambda a, *, uplo="L": ArrayType(a.shape[:-1], _real_dtype(a.dtype)),
    vjp=(_eigvalsh_vjp,),
    sample=lambda: [
        Sample((_definite(),)),
        Sample((_definite(2, n=2),), {"uplo": "U"}),
        Sample((_hermitian(),)),
    ],
)
EIGVALSH.symmetric = True  # type: ignore[attr-defined]


def eigvalsh(a: Any, UPLO: str = "L") -> Array:
    """Eigenvalues of a symmetric matrix in ascending order."""
    params = {"uplo": UPLO.upper()} if UPLO.upper() != "L" else {}
    return bind(EIGVALSH, (_square(a, "eigvalsh"),), params)


# ------------------------------------------------------------------------------------ svd


def _svd_type(a: ArrayType) -> tuple[ArrayType, ...]:
    *lead, m, n = a.shape
    k = min(m, n)
    return (
        ArrayType((*lead, m, k), a.dtype),
        ArrayType((*lead, k), _real_dtype(a.dtype)),
        ArrayType((*lead, k, n), a.dtype),
    )


def _svd_jvp(y: Any, xs: Any, ts: Any) -> Any:
    """Townsend, "Differentiating the singular value decomposition" (2016); F as in `eigh`."""
    (u, s, vh), t = y, ts[0]
    m, n = type_of(t).shape[-2:]
    v, k = adjoint(vh), min(m, n)
    x = matmul(matmul(adjoint(u), t), v)
    own = np.eye(k, dtype=type_of(s).dtype)
    ds = sum_(multiply(real(x), own), -2)
    gap, total = subtract(_row(s), _column(s)), add(_row(s), _column(s))
    same = logical_or(_coincide(gap, s), _coincide(total, s))
    f = _inverse(multiply(gap, total), same)
    over = _inverse(s, _drop(_coincide(_column(s), s)))
    right, left = multiply(x, _row(s)), multiply(x, _column(s))
    turn = multiply(multiply(0.5, subtract(x, adjoint(x))), multiply(own, _row(over)))
    du = matmul(u, add(multiply(f, add(right, adjoint(right))), turn))
    dv = matmul(v, multiply(f, add(left, adjoint(left))))
    if m > n:
        rest = matmul(t, v)
        du = add(du, multiply(subtract(rest, matmul(u, matmul(adjoint(u), rest))), _row(over)))
    if n > m:
        rest = matmul(adjoint(t), u)
        dv = add(dv, multiply(subtract(rest, matmul(v, matmul(vh, rest))), _row(over)))
    return du, ds, adjoint(dv)


SVD: Explicit = explicit(
    "svd",
    lambda a: tuple(np.linalg.svd(a, full_matrices=False)),
    type_rule=_svd_type,
    jvp=_svd_jvp,
    batch=lambda size, xs, batched, params: bind(SVD, xs, params),
    multiple=True,
    sample=lambda: [
        Sample((draw((3, 2)),)),
        Sample((draw((2, 2, 3)),)),
        Sample((_regular(),)),
        Sample((_complex(draw((3, 2))),), smooth=False),  # the phase of a singular vector
    ],
)


def svd(a: Any) -> Any:
    """The thin singular value decomposition: u, s and the adjoint of v, as NumPy gives them.

    Where singular values coincide, or are 0, first derivatives are those of functions that do not
    depend on the choice of the vectors.
    """
    a = _float(operand(a))
    if type_of(a).ndim < 2:
        raise np.linalg.LinAlgError(located("svd: a matrix has to have at least two axes"))
    return bind(SVD, (a,))


# ----------------------------------------------------------------------------------- norm


def _norm_impl(x: Any, axes: Any, ord: Any = None, keepdims: bool = False) -> Any:
    axis = None if axes is None else axes[0] if len(axes) == 1 else axes
    return np.linalg.norm(x, ord, axis, keepdims)


def _all_axes(axes: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(range(len(shape))) if axes is None else axes


def _norm_type(x: ArrayType, *, axes: Any, ord: Any = None, keepdims: bool = False) -> ArrayType:
    where_ = _all_axes(axes, x.shape)
    shape = tuple(
        1 if i in where_ else n for i, n in enumerate(x.shape) if keepdims or i not in where_
    )
    return ArrayType(shape, _real_dtype(x.dtype) if is_inexact(x.dtype) else np.dtype(float))


def _direction(x: Array) -> Array:
    """conj(x)/|x|, and 0 at 0."""
    if type_of(x).dtype.kind != "c":
        return sign(x)
    size = absolute(x)
    none = equal(size, 0)
    return where(none, 0.0, divide(conjugate(x), where(none, 1.0, size)))


def _norm_vjp(g: Any, y: Any, x: Any, *, axes: Any, ord: Any = None, keepdims: bool = False) -> Any:
    shape = type_of(x).shape
    where_ = _all_axes(axes, shape)
    g, y = spread(g, shape, where_), spread(y, shape, where_)
    if ord in (None, "fro", "f") or (ord == 2 and len(where_) == 1):
        none = equal(y, 0)
        d = divide(conjugate(x), where(none, 1.0, y))
        return scale(where(none, 0.0, g), d)
    if len(where_) == 2 and ord in (2, -2, "nuc"):
        return scale(g, _spectral(x, where_, ord))
    if len(where_) == 2:
        return _matrix_norm_vjp(g, y, x, where_, ord)
    if np.isinf(ord):
        chosen = cast(equal(absolute(x), y), type_of(g).dtype)
        count = sum_(chosen, where_, True)
        return scale(g, multiply(_direction(x), divide(chosen, count)))
    if ord == 0:
        return cast(scale(g, 0.0), type_of(x).dtype)
    if ord == 1:
        return scale(g, _direction(x))
    none = logical_or(equal(y, 0), isinf(y))
    ratio = divide(absolute(x), where(none, 1.0, y))
    zero = equal(ratio, 0)
    weight = where(zero, 0.0, power(where(zero, 1.0, ratio), ord - 1))
    return scale(where(none, 0.0, g), multiply(_direction(x), weight))


def _spectral(x: Array, axes: Any, order: Any) -> Array:
    """The derivative of the largest, the smallest, or the sum of the singular values.

    Equal extreme values share it equally; singular values of 0 have none.
    """
    ndim = type_of(x).ndim
    places = (*(i for i in range(ndim) if i not in axes), *axes)
    u, s, vh = bind(SVD, (transpose(x, places),))
    weight = where(_drop(_coincide(_column(s), s)), 0.0, np.ones((), type_of(s).dtype))
    if order != "nuc":
        k = type_of(s).shape[-1]
        pick = np.eye(k, dtype=type_of(s).dtype)[0 if order == 2 else -1]
        chosen = cast(_drop(_coincide(_column(subtract(s, _extreme(s, pick))), s)), pick.dtype)
        weight = multiply(weight, divide(chosen, sum_(chosen, -1, True)))
    c = conjugate(matmul(multiply(u, _row(weight)), vh))
    return transpose(c, tuple(places.index(i) for i in range(ndim)))


def _extreme(s: Array, pick: Any) -> Array:
    return sum_(multiply(s, pick), -1, True)


def _matrix_norm_vjp(g: Any, y: Any, x: Any, axes: Any, order: Any) -> Any:
    """Orders ±1 and ±inf: the largest or smallest column or row sum."""
    summed = axes[0] if abs(order) == 1 else axes[1]
    other = axes[1] if abs(order) == 1 else axes[0]
    totals = sum_(absolute(x), (summed,), True)
    kept = _reduced(y, axes)
    chosen = cast(equal(totals, kept), type_of(g).dtype)
    share = divide(chosen, sum_(chosen, (other,), True))
    return scale(g, multiply(_direction(x), share))


def _reduced(y: Array, axes: Any) -> Array:
    """One element along the axes over which `y` was spread."""
    from funcgrad.ops.index import getitem

    index = tuple(slice(0, 1) if i in axes else slice(None) for i in range(type_of(y).ndim))
    return getitem(y, index)


def _norm_batch(size: int, xs: Any, batched: Any, params: Any) -> Any:
    shape = type_of(xs[0]).shape[1:]
    if params["axes"] is None and len(shape) not in (1, 2):
        flat = reshape(xs[0], (size, math.prod(shape)))
        y = bind(NORM, (flat,), {"axes": (1,)})
        return reshape(y, (size, *(1,) * len(shape))) if params.get("keepdims") else y
    axes = tuple(a + 1 for a in _all_axes(params["axes"], shape))
    return bind(NORM, xs, {**params, "axes": axes})


def _norm_samples() -> list[Sample]:
    x, m = draw((4,)), draw((2, 3))
    vector = [{"ord": o} for o in (None, 1, 2, 3, np.inf, -np.inf, 0.5)]
    out = [
        Sample((x,), {"axes": (0,), **{k: v for k, v in p.items() if v is not None}})
        for p in vector
    ]
    orders = ("fro", 1, -1, 2, -2, "nuc", np.inf, -np.inf)
    out += [Sample((m,), {"axes": (0, 1), "ord": o}) for o in orders]
    out += [Sample((x,), {"axes": None, "ord": o}) for o in (2, 3)]
    z = m + 1j * draw((2, 3), seed=1)
    out += [Sample((z,), {"axes": (1, 0), "ord": o}) for o in (1, 2, "nuc")]
    out += [Sample((z,), {"axes": (1,), "ord": o}) for o in (1, 3, np.inf)]
    out += [
        Sample((m,), {"axes": None}),
        Sample((m,), {"axes": (1,), "keepdims": True}),
        Sample((draw((2, 3, 2)),), {"axes": None}),
        Sample((np.zeros(3),), {"axes": None}, smooth=False),
        Sample((np.array([2.0, -2.0, 1.0]),), {"axes": None, "ord": np.inf}, smooth=False),
        Sample((np.eye(3),), {"axes": None, "ord": 2}, smooth=False),
        Sample((draw((2, 3, 2)),), {"axes": (2, 0), "ord": "nuc", "keepdims": True}),
        Sample((m.astype(np.float32),), {"axes": (0,), "ord": 3}),
        Sample((z,), {"axes": (0,)}),
    ]
    return out


NORM = explicit(
    "norm",
    _norm_impl,
    type_rule=_norm_type,
    vjp=(_norm_vjp,),
    batch=_norm_batch,
    sample=_norm_samples,
)


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Array:
    """NumPy's vector and matrix norms.

    At the zero vector the gradient is 0; where an element, a column or a singular value ties with
    another for the norm, they share it equally.
    """
    x = _float(operand(x))
    axes = None  # not all axes by number: NumPy sums in another order then
    if axis is not None:
        given = (axis,) if isinstance(axis, (int, np.integer)) else tuple(axis)
        normalize_axes(given, type_of(x).ndim)
        axes = tuple(int(a) % type_of(x).ndim for a in given)
    params: dict[str, Any] = {"axes": axes}
    if ord is not None:
        params["ord"] = ord
    if keepdims:
        params["keepdims"] = True
    return bind(NORM, (x,), params)


def matrix_power(a: Any, n: int) -> Array:
    """A square matrix to an integer power, by repeated squaring as NumPy does it."""
    whole = operand(a)  # integers stay integers, but for an inverse
    a = _square(whole, "matrix_power")
    if not isinstance(n, (int, np.integer)):
        raise TypeError(located("matrix_power: the exponent has to be an integer"))
    a = whole if n >= 0 else a
    if n == 0:
        return broadcast_to(np.eye(type_of(a).shape[-1], dtype=type_of(a).dtype), type_of(a).shape)
    if n < 0:
        a, n = inv(a), -n
    if n == 1:
        return a
    if n == 2:
        return matmul(a, a)
    if n == 3:
        return matmul(matmul(a, a), a)
    z, result = None, None
    while n > 0:  # the order of products is NumPy's
        z = a if z is None else matmul(z, z)
        n, bit = divmod(n, 2)
        if bit:
            result = z if result is None else matmul(result, z)
    return result
