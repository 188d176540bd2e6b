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
from funcgrad.torch.narrow import is_half
from funcgrad.torch.operations import axes, joining, selection
from funcgrad.torch.operations.common import boxed, boxed_all, computed, shape_of
from funcgrad.torch.operations.comparison import known
from funcgrad.torch.operations.promotion import dtype_of, kind_of
from funcgrad.torch.operations.record import NodeClass, Promote, alias, node, op, operation
from funcgrad.torch.operations.requirements import requires

__all__ = [
    "cholesky", "cholesky_solve", "det", "inverse", "logdet", "slogdet", "svd",
]  # fmt: skip


class LinAlgError(RuntimeError):
    """A matrix for which a decomposition or an inverse does not exist."""


LinAlgError.__name__ = LinAlgError.__qualname__ = "_LinAlgError"

# ------------------------------------------------------------------------------------ checks


@requires("rank(x) >= 2: {name}: The input tensor A must have at least 2 dimensions.")
def check_matrix(name: str, x: Array, low: bool = False) -> Array:
    """Floating point matrices, of at least single precision unless `low` is taken, too."""
    kind = kind_of(x)
    if not kind.is_floating_point and not kind.is_complex:
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got "
            f"{dtypes.scalar_name(kind)}"
        )
    if is_half(kind.numpy) and not low:
        raise RuntimeError(
            f"{name}: Low precision dtypes not supported. Got {dtypes.scalar_name(kind)}"
        )
    return x


def check_square(name: str, x: Array, low: bool = False) -> Array:
    """Square matrices."""
    check_matrix(name, x, low)
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

INV = node("LinalgInvEx", "inverse;")
SLOGDET = node("LinalgSlogdet", "sign logabsdet; A")


def _squares(said: str) -> Promote:
    return lambda name, x: (check_square(said, x.content()),)


@operation("linalg_inv", "A, *, out", variants="", lies="columns")
def inv(A: Tensor) -> Tensor:
    """The inverse of square matrices."""
    x = check_square("linalg.inv", A.content())
    try:
        return boxed(computed(solving.inv, x), INV)
    except np.linalg.LinAlgError:
        raise singular_error("linalg.inv", x) from None


inverse = alias("inverse", inv, "input, *, out", "method")
det = op(
    "det", "input, *, out", core=determinant.det, promote=_squares("linalg.det"),
    node=node("LinalgDet", "result A"), variants="method", remembers=False,
    doc="The determinant of square matrices; its gradient is right for singular ones as well.",
)  # fmt: skip
linalg_det = alias("linalg_det", det, "A, *, out", "")


def _signed(name: str, tensor: str, made: Any, variants: str) -> Any:
    @operation(name, f"{tensor}, *, Tensors out", variants=variants)
    def function(input: Tensor) -> Any:
        """The sign of the determinant and the logarithm of its absolute value."""
        x = check_square("linalg.slogdet", input.content())
        return made(*boxed_all(computed(determinant.slogdet, x), SLOGDET))

    return function


linalg_slogdet = _signed("linalg_slogdet", "A", return_types.linalg_slogdet, "")
slogdet = _signed("slogdet", "input", return_types.slogdet, "method")


@operation("logdet", "input", variants="method")
def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant; NaN where that is negative."""
    sign, size = slogdet(input)
    nan = box(np.asarray(np.nan, dtype_of(size._t)))
    if sign.dtype.is_complex:
        return sign.log() + size  # type: ignore[no-any-return]
    found: Tensor = selection.where(sign.detach() == -1, nan, size)
    return found


# ------------------------------------------------------------------------- systems of equations

SOLVE = node("LinalgSolveEx", "result A", tells="left")


def _columns_solved(a: Array, b: Array) -> Array:
    return drop(solving.solve(a, column(b)))


def _from_right(a: Array, b: Array) -> Array:
    return swap_last(solving.solve(swap_last(a), swap_last(b)))


SOLVE_VECTORS = Composite("solve_vectors", _columns_solved)
SOLVE_RIGHT = Composite("solve_right", _from_right)


def _order_of_solution(made: Any, given: Any) -> Any:
    """Solutions of A X = B lie by columns, those of X A = B in C order."""
    rank = made.ndim
    return (*range(rank - 2), rank - 1, rank - 2) if given[2] else range(rank)


@operation(
    "linalg_solve", "A, B, *, bool left=True, out", variants="", lies=_order_of_solution
)  # fmt: skip
def solve(A: Tensor, B: Tensor, left: bool) -> Tensor:
    """The solution X of A X = B, or of X A = B; B may be (a batch of) vectors."""
    x, y = A.content(), B.content()
    try:
        return boxed(computed(solver_of("linalg.solve", x, y, left), x, y), SOLVE)
    except np.linalg.LinAlgError:
        raise singular_error("torch.linalg.solve", x, False) from None


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
TRIANGULAR_NODE = node("LinalgSolveTriangular", "result self", tells="upper left unitriangular")
TRIANGLE = "input, B, *, bool upper, bool left=True, bool unitriangular=False, out"


@operation("linalg_solve_triangular", TRIANGLE, variants="", lies="columns")
def solve_triangular(
    input: Tensor, B: Tensor, upper: bool, left: bool, unitriangular: bool
) -> Tensor:
    """The solution of A X = B (or X A = B) for triangular A; the other triangle is not read."""
    x, y = check_square("linalg.solve_triangular", input.content()), B.content()
    found = computed(TRIANGULAR, x, y, upper=upper, left=left, unit=unitriangular)
    return boxed(found, TRIANGULAR_NODE)


def _cholesky_solved(b: Array, f: Array, upper: bool) -> Array:
    f = _triangle(f, upper, False)
    whole = swap_last(conjugate(f)) if upper else f
    return solving.solve(product.matmul(whole, swap_last(conjugate(whole))), b)


CHOLESKY_SOLVE = Composite("cholesky_solve", _cholesky_solved)
CHOLESKY_SOLVE_NODE = node("CholeskySolve", "result self input2", tells="upper")


@operation("cholesky_solve", "input, input2, bool upper=False, *, out", variants="method",
           lies="columns")  # fmt: skip
def cholesky_solve(input: Tensor, input2: Tensor, upper: bool) -> Tensor:
    """The solution X of A X = B, where A is given by its Cholesky factor."""
    x, y = input.content(), input2.content()
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
    return boxed(computed(CHOLESKY_SOLVE, x, y, upper=upper), CHOLESKY_SOLVE_NODE)


# ------------------------------------------------------------------------------ decompositions


def _factorised(name: str, kind: NodeClass, input: Tensor, upper: bool) -> Tensor:
    x = check_square(name, input.content())
    try:
        return boxed(computed(factor.cholesky, x, upper), kind)
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


CHOLESKY_EX = node("LinalgCholeskyEx", "L;", tells="upper")
CHOLESKY = node("Cholesky", "result", tells="upper")


@operation("linalg_cholesky", "input, *, bool upper=False, out", variants="", lies="columns")
def linalg_cholesky(input: Tensor, upper: bool) -> Tensor:
    """The Cholesky factor of positive definite matrices."""
    return _factorised("linalg.cholesky", CHOLESKY_EX, input, upper)


@operation("cholesky", "input, bool upper=False, *, out", variants="method", lies="columns")
def cholesky(input: Tensor, upper: bool) -> Tensor:
    """The Cholesky factor of positive definite matrices."""
    return _factorised("cholesky", CHOLESKY, input, upper)


EIGH = node("LinalgEigh", "eigenvalues eigenvectors;")


@operation("linalg_eigh", "input, str UPLO='L', *, Tensors out", variants="", lies="columns")
def eigh(input: Tensor, UPLO: str) -> Any:
    """The eigenvalues (ascending) and eigenvectors of Hermitian matrices."""
    x = check_square("linalg.eigh", input.content())
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return return_types.linalg_eigh(*boxed_all(computed(factor.eigh, x, UPLO.upper()), EIGH))


@operation("linalg_eigvalsh", "input, str UPLO='L', *, out", variants="")
def eigvalsh(input: Tensor, UPLO: str) -> Tensor:
    """The eigenvalues of Hermitian matrices, in ascending order."""
    return eigh(input, UPLO)[0]  # type: ignore[no-any-return]


SVD = node("LinalgSvd", "U S Vh;", tells="full_matrices S_sym_argsize_minus_1")
DRIVER = "*, str driver=None"


@operation(
    "linalg_svd", f"A, bool full_matrices=True, {DRIVER}, Tensors out", variants="", lies="columns"
)
def linalg_svd(A: Tensor, full_matrices: bool, driver: str | None) -> Any:
    """The singular value decomposition U, S, Vh.

    The further vectors that `full_matrices` asks for of a matrix that is not square have no
    gradient: there the thin decomposition is differentiated, and the rest is constant.
    """
    x = check_matrix("linalg.svd", A.content())
    rows, columns = shape_of(x)[-2:]
    whole = full_matrices and rows == columns
    u, s, vh = boxed_all(computed(singular.svd, x, whole, kinks=False), SVD)
    if full_matrices and rows != columns:
        u, vh = _completed(x, u, vh, rows, columns)
    return return_types.linalg_svd(u, s, vh)


def _completed(x: Array, u: Tensor, vh: Tensor, rows: int, columns: int) -> tuple[Tensor, Tensor]:
    """The thin factors filled up to square ones by constant vectors."""
    k = min(rows, columns)
    whole_u, _, whole_vh = np.linalg.svd(known(x, "linalg.svd"))
    if rows > columns:
        u = joining.cat([u, box(np.ascontiguousarray(whole_u[..., :, k:]))], -1)
    else:
        vh = joining.cat([vh, box(np.ascontiguousarray(whole_vh[..., k:, :]))], -2)
    return u, vh


@operation("svd", "input, bool some=True, bool compute_uv=True, *, Tensors out", variants="method")
def svd(input: Tensor, some: bool, compute_uv: bool) -> Any:
    """The singular value decomposition U, S, V (not its adjoint); U and V may be left at zero."""
    u, s, vh = linalg_svd(input, not some and compute_uv)
    if not compute_uv:
        rows, columns = shape_of(input)[-2:]
        u, v = (u.new_zeros((*shape_of(input)[:-2], n, n)) for n in (rows, columns))
        return return_types.svd(u, s, v)
    v = axes.transpose(vh, -2, -1)
    return return_types.svd(u, s, v.conj() if v.dtype.is_complex else v)


@operation("linalg_svdvals", f"A, {DRIVER}, out", variants="")
def svdvals(A: Tensor, driver: str | None) -> Tensor:
    """The singular values, in descending order."""
    return linalg_svd(A, False)[1]  # type: ignore[no-any-return]


def tolerances(signature: str) -> str:
    """The overloads of what counts singular values below a tolerance as zero; `signature` has the
    name of the one that is positional."""
    named = "input, *, {0} atol=None, {0} rtol=None, bool hermitian=False, out"
    single = f"input, {{0}} {signature}, bool hermitian=False, *, out"
    return " | ".join(s.format(kind) for s in (named, single) for kind in ("Tensor", "float"))


@operation("linalg_matrix_rank", tolerances("tol"), variants="")
def matrix_rank(input: Tensor, atol: Any, rtol: Any, hermitian: bool, tol: Any) -> Tensor:
    """The number of singular values above a tolerance: `atol`, or `rtol` times the largest one."""
    checked = check_matrix("linalg.matrix_rank", input.content())
    x = known(checked, "matrix_rank()")
    absolute, relative = (
        None if t is None else np.asarray(known(t.content(), "matrix_rank()"))
        if isinstance(t, Tensor) else np.asarray(t)
        for t in (atol if tol is None else tol, rtol if tol is None else 0.0)
    )  # fmt: skip
    values = np.linalg.svd(x, compute_uv=False, hermitian=hermitian)
    if relative is None:
        usual = max(x.shape[-2:]) * np.finfo(x.dtype).eps
        relative = usual * np.asarray(True if absolute is None else absolute <= 0)
    limit = relative * values.max(-1, initial=0)
    limit = limit if absolute is None else np.maximum(limit, absolute)
    return box(np.asarray((values > limit[..., None]).sum(-1, dtype=np.int64)))
