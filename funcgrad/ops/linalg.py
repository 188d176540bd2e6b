"""Linear algebra: solve, inv, det, slogdet, cholesky, eigh, norm.

Formulas follow Giles, "An extended collection of matrix derivative results" (2008), and Murray,
"Differentiation of the Cholesky decomposition" (2016). `cholesky` and `eigh` read one triangle;
they are differentiated as functions of a symmetric matrix: cotangents and tangents are made
symmetric, and a gradient is spread over both triangles.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.algebra import algebra
from funcgrad.core.forms import explicit
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import bind, operand, type_of
from funcgrad.core.types import Array, ArrayType, is_inexact
from funcgrad.errors import NotDifferentiableError, located
from funcgrad.ops.arithmetic import (
    absolute,
    add,
    cast,
    conjugate,
    divide,
    equal,
    isinf,
    logical_or,
    multiply,
    negative,
    power,
    scale,
    sign,
    subtract,
    where,
)
from funcgrad.ops.product import matmul
from funcgrad.ops.reduce import normalize_axes, spread
from funcgrad.ops.reduce import sum as sum_
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import broadcast_to, reshape, swap_last


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


def _regular(*lead: int, n: int = 3, seed: int = 0) -> Any:
    return draw((*lead, n, n), seed=seed) + 3.0 * np.eye(n)


def _definite(*lead: int, n: int = 3, seed: int = 0) -> Any:
    a = draw((*lead, n, n), seed=seed)
    return a @ np.swapaxes(a, -1, -2) + np.eye(n) * np.arange(1, n + 1)


# ---------------------------------------------------------------------------------- solve


def _solve(a: Any, b: Any) -> Any:
    return np.linalg.solve(a, b)


def _solve_type(a: ArrayType, b: ArrayType) -> ArrayType:
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return ArrayType((*lead, *b.shape[-2:]), np.result_type(a.dtype, b.dtype))


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
    linear_in=(1,),
    sample=lambda: [
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


def _column(b: Array) -> Array:
    return reshape(b, (*type_of(b).shape, 1))


def _solve_vector_b(g: Any, _x: Any, a: Any, b: Any) -> Any:
    return algebra.conform(bind(SOLVE_VECTOR, (swap_last(a), g)), type_of(b))


def _solve_vector_a(g: Any, x: Any, a: Any, _b: Any) -> Any:
    gb = bind(SOLVE_VECTOR, (swap_last(a), g))
    row = reshape(x, (*type_of(x).shape[:-1], 1, type_of(x).shape[-1]))
    return algebra.conform(negative(multiply(_column(gb), row)), type_of(a))


SOLVE_VECTOR = explicit(
    "solve_vector",
    _solve_vector,
    signature="(n,n),(n)->(n)",
    type_rule=_solve_vector_type,
    vjp=(_solve_vector_a, _solve_vector_b),
    linear_in=(1,),
    sample=lambda: [
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
    sample=lambda: [Sample((_regular(),)), Sample((_regular(2, n=2),))],
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
    from funcgrad.ops.shape import transpose

    front = transpose(a, order)
    picked = gather(front, rest[:, None, :, None], rest[None, :, None, :])
    return transpose(picked, (*range(4, 4 + lead), 0, 1, 2, 3))


def _cofactors(a: Array, y: Array) -> Array:
    """The derivative of the determinant, also of a singular matrix.

    Where the matrix is regular it is det · inv(a)ᵀ; small or singular ones go through minors,
    whose determinants are themselves differentiable.
    """
    n = type_of(a).shape[-1]
    if n == 1:
        return broadcast_to(np.ones((), type_of(a).dtype), type_of(a).shape)
    signs = (-1.0) ** np.add.outer(np.arange(n), np.arange(n))
    return multiply(bind(DET, (_minors(a),)), signs.astype(type_of(y).dtype))


def _det_vjp(g: Any, y: Any, a: Any) -> Any:
    from funcgrad.core.tracer import concrete, value

    wide = reshape(g, (*type_of(g).shape, 1, 1))
    if concrete(a) and concrete(y) and type_of(a).shape[-1] > 3:
        bound = np.prod(np.linalg.norm(value(a), axis=-1), axis=-1)  # Hadamard's inequality
        if np.all(np.abs(value(y)) > 1e-6 * bound):
            tall = reshape(y, (*type_of(y).shape, 1, 1))
            return scale(wide, multiply(tall, swap_last(inv(a))))
    return scale(wide, _cofactors(a, y))


DET = explicit(
    "det",
    np.linalg.det,
    signature="(n,n)->()",
    vjp=(_det_vjp,),
    sample=lambda: [
        Sample((_regular(),)),
        Sample((_regular(2, n=2),)),
        Sample((np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]]),)),
    ],
)


def det(a: Any) -> Array:
    """The determinant; its gradient is exact for singular matrices too (the adjugate)."""
    return bind(DET, (_square(a, "det"),))


def _slogdet_vjp(g: Any, _y: Any, a: Any) -> Any:
    wide = reshape(g[1], (*type_of(g[1]).shape, 1, 1))
    c = swap_last(inv(a))
    return multiply(wide, c)


SLOGDET = explicit(
    "slogdet",
    lambda a: tuple(np.linalg.slogdet(a)),
    signature="(n,n)->(),()",
    vjp=(_slogdet_vjp,),
    multiple=True,
    sample=lambda: [Sample((_regular(),)), Sample((_regular(2, n=2),))],
)


def slogdet(a: Any) -> Any:
    """Sign and logarithm of the absolute value of the determinant of a real matrix."""
    a = _square(a, "slogdet")
    if type_of(a).dtype.kind == "c":
        raise NotDifferentiableError(located("slogdet of a complex matrix has no rule yet"))
    return bind(SLOGDET, (a,))


# ------------------------------------------------------------------------ cholesky, eigh


def _symmetric(c: Array) -> Array:
    return multiply(0.5, add(c, adjoint(c)))


def _lower_half(n: int, dtype: Any) -> Any:
    """1 below the diagonal, ½ on it."""
    half = np.tril(np.ones((n, n)), -1) + 0.5 * np.eye(n)
    return half.astype(np.zeros((), dtype).real.dtype)


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
    """The transpose of the jvp (Murray 2016, eq. 10), for real matrices."""
    low, g = (swap_last(y), swap_last(g)) if upper else (y, g)
    n = type_of(y).shape[-1]
    p = multiply(matmul(swap_last(low), g), _lower_half(n, type_of(y).dtype))
    first = bind(SOLVE, (swap_last(low), p))
    s = swap_last(bind(SOLVE, (swap_last(low), swap_last(first))))
    return multiply(0.5, add(s, swap_last(s)))


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
    ],
)
CHOLESKY.symmetric = True  # type: ignore[attr-defined]


def _real_matrix(a: Array, name: str) -> Array:
    if type_of(a).dtype.kind == "c":
        raise NotDifferentiableError(located(f"{name} of a complex matrix has no rule yet"))
    return a


def cholesky(a: Any, upper: bool = False) -> Array:
    """The Cholesky factor of a symmetric positive definite matrix.

    NumPy reads one triangle; the gradient is that of a symmetric matrix, spread over both.
    """
    a = _real_matrix(_square(a, "cholesky"), "cholesky")
    return bind(CHOLESKY, (a,), {"upper": True} if upper else {})


def _eigh_vjp(g: Any, y: Any, _a: Any, *, uplo: str = "L") -> Any:
    """V (diag gw + F ∘ VᵀgV) Vᵀ, F_ij = 1/(w_j − w_i) (Giles 2008, §3.1), made symmetric.

    Where two eigenvalues are equal F is 0: functions that do not depend on the choice of the
    eigenvectors within an eigenspace have exact gradients.
    """
    (gw, gv), (w, v) = g, y
    shape = type_of(w).shape
    n = shape[-1]
    gap = subtract(reshape(w, (*shape[:-1], 1, n)), reshape(w, (*shape, 1)))
    same = equal(gap, 0)
    f = where(same, 0.0, divide(1.0, where(same, 1.0, gap)))
    inner = multiply(f, matmul(swap_last(v), gv))
    inner = add(
        inner, multiply(np.eye(n, dtype=type_of(w).dtype), reshape(gw, (*shape[:-1], 1, n)))
    )
    c = matmul(matmul(v, inner), swap_last(v))
    return multiply(0.5, add(c, swap_last(c)))


EIGH = explicit(
    "eigh",
    lambda a, uplo="L": tuple(np.linalg.eigh(a, uplo)),
    signature="(n,n)->(n),(n,n)",
    type_rule=lambda a, *, uplo="L": (
        ArrayType(a.shape[:-1], a.dtype),
        ArrayType(a.shape, a.dtype),
    ),
    vjp=(_eigh_vjp,),
    multiple=True,
    sample=lambda: [Sample((_definite(),)), Sample((_definite(2, n=2),), {"uplo": "U"})],
)
EIGH.symmetric = True  # type: ignore[attr-defined]


def eigh(a: Any, UPLO: str = "L") -> Any:
    """Eigenvalues in ascending order and eigenvectors of a symmetric matrix."""
    a = _real_matrix(_square(a, "eigh"), "eigh")
    return bind(EIGH, (a,), {"uplo": UPLO.upper()} if UPLO.upper() != "L" else {})


def _eigvalsh_vjp(g: Any, _y: Any, a: Any, *, uplo: str = "L") -> Any:
    """V diag(g) Vᵀ; the values come from another LAPACK driver than those of `eigh`."""
    v = bind(EIGH, (a,), {"uplo": uplo} if uplo != "L" else {})[1]
    shape = type_of(g).shape
    return matmul(multiply(v, reshape(g, (*shape[:-1], 1, shape[-1]))), swap_last(v))


EIGVALSH = explicit(
    "eigvalsh",
    lambda a, uplo="L": np.linalg.eigvalsh(a, uplo),
    signature="(n,n)->(n)",
    type_rule=lambda a, *, uplo="L": ArrayType(a.shape[:-1], a.dtype),
    vjp=(_eigvalsh_vjp,),
    sample=lambda: [Sample((_definite(),)), Sample((_definite(2, n=2),), {"uplo": "U"})],
)
EIGVALSH.symmetric = True  # type: ignore[attr-defined]


def eigvalsh(a: Any, UPLO: str = "L") -> Array:
    """Eigenvalues of a symmetric matrix in ascending order."""
    a = _real_matrix(_square(a, "eigvalsh"), "eigvalsh")
    return bind(EIGVALSH, (a,), {"uplo": UPLO.upper()} if UPLO.upper() != "L" else {})


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
    dtype = np.zeros((), x.dtype).real.dtype if is_inexact(x.dtype) else np.dtype(float)
    return ArrayType(shape, dtype)


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
    if ord is None or ord == "fro" or (ord == 2 and len(where_) == 1):
        none = equal(y, 0)
        d = divide(conjugate(x), where(none, 1.0, y))
        return scale(where(none, 0.0, g), d)
    if len(where_) == 2:
        return _matrix_norm_vjp(g, y, x, where_, ord)
    if np.isinf(ord):
        chosen = cast(equal(absolute(x), y), type_of(g).dtype)
        count = sum_(chosen, where_, True)
        return scale(g, multiply(_direction(x), divide(chosen, count)))
    if ord == 0:
        return scale(g, 0.0)
    if ord == 1:
        return scale(g, _direction(x))
    none = logical_or(equal(y, 0), isinf(y))
    ratio = divide(absolute(x), where(none, 1.0, y))
    zero = equal(ratio, 0)
    weight = where(zero, 0.0, power(where(zero, 1.0, ratio), ord - 1))
    return scale(where(none, 0.0, g), multiply(_direction(x), weight))


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
    if params["axes"] is None:
        ord_, keep = params.get("ord"), params.get("keepdims", False)
        if ord_ is None and len(shape) != 2 and len(shape) != 1:
            flat = reshape(xs[0], (size, int(np.prod(shape))))
            y = bind(NORM, (flat,), {"axes": (1,)})
            return reshape(y, (size, *(1,) * len(shape))) if keep else y
    axes = tuple(a + 1 for a in _all_axes(params["axes"], shape))
    return bind(NORM, xs, {**params, "axes": axes})


def _norm_samples() -> list[Sample]:
    x, m = draw((4,)), draw((2, 3))
    vector = [{"ord": o} for o in (None, 1, 2, 3, np.inf, -np.inf, 0.5)]
    out = [
        Sample((x,), {"axes": (0,), **{k: v for k, v in p.items() if v is not None}})
        for p in vector
    ]
    out += [Sample((m,), {"axes": (0, 1), "ord": o}) for o in ("fro", 1, -1, np.inf, -np.inf)]
    out += [
        Sample((m,), {"axes": None}),
        Sample((m,), {"axes": (1,), "keepdims": True}),
        Sample((draw((2, 3, 2)),), {"axes": None}),
        Sample((np.zeros(3),), {"axes": None}, smooth=False),
        Sample((m + 1j * draw((2, 3), seed=1),), {"axes": (0,)}),
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
    """NumPy's vector and matrix norms; 0 is the gradient at the zero vector.

    The spectral and nuclear norms of matrices have no rule yet.
    """
    x = _float(operand(x))
    ndim = type_of(x).ndim
    if axis is None:
        axes = None if ord is None else tuple(range(ndim))
        if ord is not None and ndim > 2:
            raise ValueError(located("norm: give an axis for an order and more than two axes"))
    else:
        given = (axis,) if isinstance(axis, (int, np.integer)) else tuple(axis)
        normalize_axes(given, ndim)
        axes = tuple(int(a) % ndim for a in given)
    count = ndim if axes is None else len(axes)
    if count == 2 and ord in (2, -2, "nuc"):
        raise NotDifferentiableError(
            located(f"the matrix norm of order {ord!r} has no derivative here yet")
        )
    params: dict[str, Any] = {"axes": axes}
    if ord is not None:
        params["ord"] = ord
    if keepdims:
        params["keepdims"] = True
    return bind(NORM, (x,), params)


def matrix_power(a: Any, n: int) -> Array:
    """A square matrix to an integer power, by repeated squaring as NumPy does it."""
    a = _square(a, "matrix_power")
    if not isinstance(n, (int, np.integer)):
        raise TypeError(located("matrix_power: the exponent has to be an integer"))
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
