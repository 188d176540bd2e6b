"""Inverses, determinants, systems of equations and decompositions of (batches of) matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.types import Array
from funcgrad.ops import determinant, factor, product, singular
from funcgrad.ops import solve as solving
from funcgrad.ops.arithmetic import conjugate, where
from funcgrad.ops.matrices import column, drop
from funcgrad.ops.shape import swap_last
from funcgrad.torch import dtypes, return_types
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.composite import Composite
from funcgrad.torch.operations import axes, selection
from funcgrad.torch.operations.common import (
    boxed,
    boxed_all,
    computed,
    install,
    into,
    into_each,
    method,
    named,
    shape_of,
)
from funcgrad.torch.operations.comparison import known
from funcgrad.torch.operations.promotion import content, dtype_of, kind_of

__all__ = [
    "cholesky", "cholesky_solve", "det", "inverse", "logdet", "slogdet", "svd",
]  # fmt: skip


class LinAlgError(RuntimeError):
    """A matrix for which a decomposition or an inverse does not exist."""


LinAlgError.__name__ = LinAlgError.__qualname__ = "_LinAlgError"

# ------------------------------------------------------------------------------------ checks


def check_matrix(name: str, x: Array) -> Array:
    """Floating point matrices, of at least single precision."""
    if len(shape_of(x)) < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")
    kind = kind_of(x)
    if not kind.is_floating_point and not kind.is_complex:
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got "
            f"{dtypes.scalar_name(kind)}"
        )
    if kind is dtypes.float16:
        raise RuntimeError(f"{name}: Low precision dtypes not supported. Got Half")
    return x


def check_square(name: str, x: Array) -> Array:
    """Square matrices."""
    check_matrix(name, x)
    rows, columns = shape_of(x)[-2:]
    if rows != columns:
        raise RuntimeError(
            f"{name}: A must be batches of square matrices, but they are {rows} by {columns} "
            "matrices"
        )
    return x


def element_of_batch(shape: tuple[int, ...], k: int) -> str:
    return f"(Batch element {k}): " if len(shape) > 2 else ""


def singular_error(name: str, x: Array, inversion: bool = True) -> LinAlgError:
    """The error for the first matrix that has no inverse."""
    found = known(solving.zero_pivot(x), name)
    k = int(np.flatnonzero(found)[0]) if found.any() else 0
    said = "The solver failed because the input matrix is singular."
    if inversion:
        said = (
            f"The diagonal element {found.flat[k]} is zero, the inversion could not be completed "
            "because the input matrix is singular."
        )
    return LinAlgError(f"{name}: {element_of_batch(shape_of(x), k)}{said}")


# -------------------------------------------------------------------- inverses and determinants

INV = named("LinalgInvExBackward0", "inverse")
DET = named("LinalgDetBackward0", "result", "A")
SLOGDET = named("LinalgSlogdetBackward0", "sign logabsdet", "A")


def inv(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of square matrices."""
    x = check_square("linalg.inv", content(A, "linalg_inv", "A"))
    try:
        result = boxed(computed(solving.inv, x), INV)
    except np.linalg.LinAlgError:
        raise singular_error("linalg.inv", x) from None
    return result if out is None else into(out, result, "linalg_inv")


def inverse(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of square matrices."""
    return inv(input, out=out)


@method()
def det(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The determinant of square matrices; its gradient is right for singular ones as well."""
    x = check_square("linalg.det", content(input, "linalg_det", "A"))
    result = boxed(computed(determinant.det, x), DET)
    return result if out is None else into(out, result, "linalg_det")


def _signed(name: str, made: Any) -> Any:
    def function(input: Tensor, *, out: Any = None) -> Any:
        x = check_square("linalg.slogdet", content(input, "linalg_slogdet", "A"))
        results = boxed_all(computed(determinant.slogdet, x), SLOGDET)
        return into_each(out, made(*results), name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "The sign of the determinant and the logarithm of its absolute value."
    return function


linalg_slogdet = _signed("linalg_slogdet", return_types.linalg_slogdet)
slogdet = _signed("slogdet", return_types.slogdet)
install(inverse=inverse, slogdet=slogdet)


@method()
def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant; NaN where that is negative."""
    sign, size = slogdet(input)
    nan = box(np.asarray(np.nan, dtype_of(size._t)))
    if sign.dtype.is_complex:
        return sign.log() + size  # type: ignore[no-any-return]
    found: Tensor = selection.where(sign.detach() == -1, nan, size)
    return found


# ------------------------------------------------------------------------- systems of equations

SOLVE = named("LinalgSolveExBackward0", "result", "A", "")


def _columns_solved(a: Array, b: Array) -> Array:
    return drop(solving.solve(a, column(b)))


def _from_right(a: Array, b: Array) -> Array:
    return swap_last(solving.solve(swap_last(a), swap_last(b)))


SOLVE_VECTORS = Composite("solve_vectors", _columns_solved)
SOLVE_RIGHT = Composite("solve_right", _from_right)


def solve(A: Tensor, B: Tensor, *, left: bool = True, out: Tensor | None = None) -> Tensor:
    """The solution X of A X = B, or of X A = B; B may be (a batch of) vectors."""
    x, y = content(A, "linalg_solve", "A"), content(B, "linalg_solve", "B", 2)
    try:
        result = boxed(computed(solver_of("linalg.solve", x, y, left), x, y), SOLVE)
    except np.linalg.LinAlgError:
        raise singular_error("torch.linalg.solve", x, False) from None
    return result if out is None else into(out, result, "linalg_solve")


def solver_of(name: str, x: Array, y: Array, left: bool) -> Any:
    """The operation that solves for vectors, or matrices on a side; refuses what does not fit."""
    check_square(name, x)
    if dtype_of(x) != dtype_of(y):
        names = [dtypes.scalar_name(kind_of(c)) for c in (x, y)]
        raise RuntimeError(
            f"{name}: Expected A and B to have the same dtype, but found A of type "
            f"{names[0]} and B of type {names[1]} instead"
        )
    mine, given = shape_of(x), shape_of(y)
    vector = len(given) == 1 or (len(given) == len(mine) - 1 and given == mine[:-1])
    rows = given[-1] if vector else given[-2 if left else -1]
    if rows != mine[-1]:
        shown = (rows, 1) if vector else given[-2:]
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation "
            f"{'AX' if left else 'XA'} = B ({mine[-2]}x{mine[-1]} and {shown[0]}x{shown[1]})"
        )
    if vector:
        return SOLVE_VECTORS
    return solving.solve if left else SOLVE_RIGHT


def _triangle(a: Array, upper: bool, unit: bool) -> Array:
    n = shape_of(a)[-1]
    mask = np.triu(np.ones((n, n), bool)) if upper else np.tri(n, dtype=bool)
    zero, one = (np.asarray(v, dtype_of(a))[()] for v in (0, 1))
    a = where(mask, a, zero)
    return where(np.eye(n, dtype=bool), one, a) if unit else a


def triangular(a: Array, b: Array, upper: bool, left: bool, unit: bool) -> Array:
    whole = _triangle(a, upper, unit)
    return solving.solve(whole, b) if left else _from_right(whole, b)


TRIANGULAR = Composite("solve_triangular", triangular)


def solve_triangular(
    A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False,
    out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The solution of A X = B (or X A = B) for triangular A; the other triangle is not read."""
    x = check_square("linalg.solve_triangular", content(A, "linalg_solve_triangular", "A"))
    y = content(B, "linalg_solve_triangular", "B", 2)
    node = named("LinalgSolveTriangularBackward0", "result", "self", "")
    found = computed(TRIANGULAR, x, y, upper=upper, left=left, unit=unitriangular)
    result = boxed(found, node)
    return result if out is None else into(out, result, "linalg_solve_triangular")


def _cholesky_solved(b: Array, f: Array, upper: bool) -> Array:
    f = _triangle(f, upper, False)
    whole = swap_last(conjugate(f)) if upper else f
    return solving.solve(product.matmul(whole, swap_last(conjugate(whole))), b)


CHOLESKY_SOLVE = Composite("cholesky_solve", _cholesky_solved)


@method()
def cholesky_solve(
    B: Tensor, L: Tensor, upper: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """The solution X of A X = B, where A is given by its Cholesky factor."""
    x, y = content(B, "cholesky_solve", "B"), content(L, "cholesky_solve", "L", 2)
    for name, c in (("b", x), ("u", y)):
        if len(shape_of(c)) < 2:
            raise RuntimeError(
                f"{name} should have at least 2 dimensions, but has {len(shape_of(c))} dimensions "
                "instead"
            )
    check_square("cholesky_solve", y)
    if shape_of(x)[-2] != shape_of(y)[-1]:
        (*_, rows, columns), (*_, m, n) = shape_of(x), shape_of(y)
        raise RuntimeError(
            f"Incompatible matrix sizes for cholesky_solve: each A matrix is {m} by {n} but each b "
            f"matrix is {rows} by {columns}"
        )
    node = named("CholeskySolveBackward0", "result", "self", "input2")
    result = boxed(computed(CHOLESKY_SOLVE, x, y, upper=upper), node)
    return result if out is None else into(out, result, "cholesky_solve")


# ------------------------------------------------------------------------------ decompositions


def _factorised(name: str, node: Any, input: Tensor, upper: bool) -> Tensor:
    x = check_square(name, content(input, name, "A"))
    try:
        return boxed(computed(factor.cholesky, x, upper), node)
    except np.linalg.LinAlgError:
        raise indefinite_error(name, x) from None


def indefinite_error(name: str, x: Array) -> LinAlgError:
    """The error for the first matrix that is not positive definite."""
    found = known(factor.indefinite_minor(x), name)
    k = int(np.flatnonzero(found)[0]) if found.any() else 0
    return LinAlgError(
        f"{name}: {element_of_batch(shape_of(x), k)}The factorization could not be completed "
        "because the input is not positive-definite (the leading minor of order "
        f"{found.flat[k]} is not positive-definite)."
    )


def linalg_cholesky(A: Tensor, *, upper: bool = False, out: Tensor | None = None) -> Tensor:
    """The Cholesky factor of positive definite matrices."""
    node = named("LinalgCholeskyExBackward0", "L")
    result = _factorised("linalg.cholesky", node, A, upper)
    return result if out is None else into(out, result, "linalg_cholesky")


@method()
def cholesky(input: Tensor, upper: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The Cholesky factor of positive definite matrices."""
    result = _factorised("cholesky", named("CholeskyBackward0", "result"), input, upper)
    return result if out is None else into(out, result, "cholesky")


EIGH = named("LinalgEighBackward0", "eigenvalues eigenvectors", "")


def eigh(A: Tensor, UPLO: str = "L", *, out: Any = None) -> Any:
    """The eigenvalues (ascending) and eigenvectors of Hermitian matrices."""
    x = check_square("linalg.eigh", content(A, "linalg_eigh", "A"))
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    results = boxed_all(computed(factor.eigh, x, UPLO.upper()), EIGH)
    return into_each(out, return_types.linalg_eigh(*results), "linalg_eigh")


def eigvalsh(A: Tensor, UPLO: str = "L", *, out: Tensor | None = None) -> Tensor:
    """The eigenvalues of Hermitian matrices, in ascending order."""
    return into(out, eigh(A, UPLO)[0], "linalg_eigvalsh")


SVD = named("LinalgSvdBackward0", "U S Vh", "")


def linalg_svd(
    A: Tensor, full_matrices: bool = True, *, driver: Any = None, out: Any = None
) -> Any:
    """The singular value decomposition U, S, Vh.

    The further vectors that `full_matrices` asks for of a matrix that is not square have no
    gradient: there the thin decomposition is differentiated, and the rest is constant.
    """
    x = check_matrix("linalg.svd", content(A, "linalg_svd", "A"))
    rows, columns = shape_of(x)[-2:]
    whole = full_matrices and rows == columns
    u, s, vh = boxed_all(computed(singular.svd, x, whole, kinks=False), SVD)
    if full_matrices and rows != columns:
        u, vh = _completed(x, u, vh, rows, columns)
    return into_each(out, return_types.linalg_svd(u, s, vh), "linalg_svd")


def _completed(x: Array, u: Tensor, vh: Tensor, rows: int, columns: int) -> tuple[Tensor, Tensor]:
    """The thin factors filled up to square ones by constant vectors."""
    from funcgrad.torch.operations.joining import cat

    k = min(rows, columns)
    whole_u, _, whole_vh = np.linalg.svd(known(x, "linalg.svd"))
    if rows > columns:
        u = cat([u, box(np.ascontiguousarray(whole_u[..., :, k:]))], -1)
    else:
        vh = cat([vh, box(np.ascontiguousarray(whole_vh[..., k:, :]))], -2)
    return u, vh


@method()
def svd(input: Tensor, some: bool = True, compute_uv: bool = True, *, out: Any = None) -> Any:
    """The singular value decomposition U, S, V (not its adjoint)."""
    u, s, vh = linalg_svd(input, not some)
    v = axes.transpose(vh, -2, -1)
    if vh.dtype.is_complex:
        v = v.conj()
    return into_each(out, return_types.svd(u, s, v), "svd")


def svdvals(A: Tensor, *, driver: Any = None, out: Tensor | None = None) -> Tensor:
    """The singular values, in descending order."""
    return into(out, linalg_svd(A, False)[1], "linalg_svdvals")


def matrix_rank(A: Tensor, tol: Any = None, hermitian: bool = False) -> Tensor:
    """The number of singular values above a tolerance."""
    x = known(check_matrix("linalg.matrix_rank", content(A, "linalg_matrix_rank", "A")),
              "matrix_rank()")  # fmt: skip
    given = tol.detach().numpy() if isinstance(tol, Tensor) else tol
    return box(np.asarray(np.linalg.matrix_rank(x, given, hermitian)).astype(np.int64))
