"""Least squares, the exponential of a matrix, and solutions by factors under their older names."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.tracer import bind
from funcgrad.core.types import Array
from funcgrad.ops import least_squares, singular
from funcgrad.ops.arithmetic import (
    cast,
    conjugate,
    greater,
    multiply,
    real,
    subtract,
)
from funcgrad.ops.matrices import column
from funcgrad.ops.product import matmul
from funcgrad.ops.shape import swap_last
from funcgrad.ops.sums import sum as total
from funcgrad.torch import dtypes, return_types
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.composite import Composite
from funcgrad.torch.operations.common import boxed, boxed_all, computed, shape_of, warn_once
from funcgrad.torch.operations.comparison import known
from funcgrad.torch.operations.linear_algebra import (
    CHOLESKY_SOLVE,
    LinAlgError,
    check_square,
    element_of_batch,
    triangular,
)
from funcgrad.torch.operations.promotion import dtype_of, kind_of
from funcgrad.torch.operations.record import alias, node, operation

__all__ = ["cholesky_inverse", "matrix_exp", "triangular_solve"]

LSTSQ, EXPONENTIAL = node("LinalgLstsq", "solution self b"), node("LinalgMatrixExp", "self")
INVERSE, SOLVED = node("CholeskyInverse", "result self"), node("TriangularSolve", "solution A self")
INT64 = np.dtype(np.int64)

# --------------------------------------------------------------------------------- least squares


def _nearest(a: Array, b: Array, cutoff: float) -> Array:
    p: Array = bind(least_squares.PINV, (a,), {"rcond": cutoff})
    return matmul(p, b)


def _nearest_with_rest(a: Array, b: Array, cutoff: float) -> tuple[Array, Array]:
    x = _nearest(a, b, cutoff)
    rest = subtract(b, matmul(a, x))
    return x, total(real(multiply(conjugate(rest), rest)), -2)


SOLUTION = Composite("lstsq", _nearest)
SOLUTION_WITH_REST = Composite("lstsq_with_residuals", _nearest_with_rest, multiple=True)
DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


def _rank(values: Array, cutoff: float) -> Array:
    if not shape_of(values)[-1]:
        return np.zeros(shape_of(values)[:-1], INT64)
    from funcgrad.ops.index import getitem

    largest = getitem(values, (Ellipsis, slice(0, 1)))
    above = greater(values, multiply(np.asarray(cutoff, dtype_of(values))[()], largest))
    return total(cast(above, INT64), -1)


def _check(a: Array, b: Array, driver: str) -> bool:
    """Whether the right sides are vectors; refuses what does not fit."""
    name, (mine, given) = "torch.linalg.lstsq", map(shape_of, (a, b))
    if len(mine) < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if not given:
        raise RuntimeError(f"{name}: other must have at least 1 dimension.")
    if dtype_of(a) != dtype_of(b):
        names = [dtypes.scalar_name(kind_of(x)) for x in (a, b)]
        raise RuntimeError(
            f"{name}: Expected input and other to have the same dtype, but got input's dtype "
            f"{names[0]} and other's dtype {names[1]}"
        )
    vector = len(given) == 1 or (len(mine) - 1 == len(given) and mine[:-1] == given)
    if given[-1 if vector else -2] != mine[-2]:
        side = -1 if vector else -2
        raise RuntimeError(f"{name}: input.size(-2) should match other.size({side})")
    if driver not in DRIVERS:
        raise RuntimeError(
            f"{name}: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)"
        )
    return vector


@operation(
    "linalg_lstsq", "input, Tensor b, float rcond=None, *, str driver=None, Tensors out",
    variants="",
)  # fmt: skip
def lstsq(input: Tensor, b: Tensor, rcond: float | None, driver: str | None) -> Any:
    """The X of the least ``|A X - B|``, and of those the shortest.

    Parameters
    ----------
    input : Tensor of shape (…, m, n)
    b : Tensor of shape (…, m, k), or (…, m) for vectors
    rcond : float, optional
        Singular values below this part of the largest count as zero: by default the precision of
        the dtype times the larger extent.
    driver : {"gelsy", "gels", "gelsd", "gelss"}, optional
        Which of LAPACK's results are told: the residuals (all but "gelsy", of more equations than
        unknowns and full rank), the rank (all but "gels", which requires the full one), the
        singular values ("gelsd", "gelss").

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.linalg.lstsq(torch.ones(2, 1), torch.tensor([[1.0], [3.0]])).solution.round()
    tensor([[2.]])
    """
    x, y = input.content(), b.content()
    driver = driver or "gelsy"
    vector = _check(x, y, driver)
    (*_, m, n), precision = shape_of(x), float(np.finfo(dtype_of(x)).eps)
    cutoff = precision * max(m, n) if rcond is None else float(rcond)
    values = computed(singular.svdvals, input.detach().content())
    rank = computed(_rank, values, cutoff=precision * max(m, n) if driver == "gels" else cutoff)
    if driver == "gels":
        _check_full(rank, min(m, n))
    right = column(y) if vector else y
    residuals = box(np.zeros(0, dtype_of(values)))
    if m > n and driver != "gelsy" and bool((known(rank, "linalg.lstsq()") == n).all()):
        found, residuals = boxed_all(computed(SOLUTION_WITH_REST, x, right, cutoff=cutoff), LSTSQ)
    else:
        found = boxed(computed(SOLUTION, x, right, cutoff=cutoff), LSTSQ)
    if vector:
        found = found.squeeze(-1)
    return return_types.linalg_lstsq(
        found,
        residuals,
        box(np.zeros(0, INT64) if driver == "gels" else rank),
        box(values if driver in ("gelsd", "gelss") else np.zeros(0, dtype_of(values))),
    )


def _check_full(rank: Array, full: int) -> None:
    found = known(rank, "linalg.lstsq()")
    if (found < full).any():
        k = int(np.flatnonzero(found < full)[0])
        raise LinAlgError(
            f"torch.linalg.lstsq: {element_of_batch((*found.shape, 1, 1), k)}The least squares "
            "solution could not be computed because the input matrix does not have full rank "
            f"(error code: {int(found.flat[k]) + 1})."
        )


# ----------------------------------------------------------------------------------- exponential


def _exponential(x: Array) -> Array:
    from funcgrad.scipy.linalg.matrix_functions import EXPM

    found: Array = bind(EXPM, (x,))
    return found


EXPM = Composite("matrix_exp", _exponential)


@operation("linalg_matrix_exp", "input", variants="")
def linalg_matrix_exp(input: Tensor) -> Tensor:
    """The exponential of square matrices; its derivative is exact for equal eigenvalues too.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.linalg.matrix_exp(torch.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    x = check_square("linalg.matrix_exp", input.content())
    return boxed(computed(EXPM, x), EXPONENTIAL)


matrix_exp = alias("matrix_exp", linalg_matrix_exp, variants="method")

# ------------------------------------------------------------------------------------ older names


def _inverse(factor: Array, upper: bool) -> Array:
    one = np.eye(shape_of(factor)[-1], dtype=dtype_of(factor))
    found: Array = CHOLESKY_SOLVE.plain(one, factor, upper)
    return found


CHOLESKY_INVERSE = Composite("cholesky_inverse", _inverse)


@operation("cholesky_inverse", "input, bool upper=False, *, out", variants="method")
def cholesky_inverse(input: Tensor, upper: bool) -> Tensor:
    """The inverse of the matrices that are given by their Cholesky factors."""
    x = check_square("cholesky_inverse", input.content())
    try:
        return boxed(computed(CHOLESKY_INVERSE, x, upper=upper), INVERSE)
    except np.linalg.LinAlgError:
        on = np.diagonal(known(x, "cholesky_inverse()"), axis1=-2, axis2=-1) == 0
        k = int(np.flatnonzero(on.any(-1))[0])
        at = int(np.argmax(on.reshape(-1, on.shape[-1])[k])) + 1
        raise LinAlgError(
            f"cholesky_inverse: {element_of_batch(shape_of(x), k)}The diagonal element {at} is "
            "zero, the inversion could not be completed because the input matrix is singular."
        ) from None


def _triangular(b: Array, a: Array, upper: bool, transpose: bool, unit: bool) -> Array:
    if transpose:
        a, upper = swap_last(a), not upper
    return triangular(a, b, upper, True, unit)


TRIANGULAR = Composite("triangular_solve", _triangular)


@operation(
    "triangular_solve",
    "input, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False, *, "
    "Tensors out",
    variants="method",
)
def triangular_solve(
    input: Tensor, A: Tensor, upper: bool, transpose: bool, unitriangular: bool
) -> Any:
    """What `linalg.solve_triangular` gives, which PyTorch wants in its place, and A."""
    warn_once(
        "torch.triangular_solve is deprecated in favor of torch.linalg.solve_triangularand will be "
        "removed in a future PyTorch release.\ntorch.linalg.solve_triangular has its arguments "
        "reversed and does not return a copy of one of the inputs.\n"
        "X = torch.triangular_solve(B, A).solution\nshould be replaced with\n"
        "X = torch.linalg.solve_triangular(A, B)."
    )
    b, a = input.content(), A.content()
    for name, x in (("b", b), ("A", a)):
        if len(shape_of(x)) < 2:
            raise RuntimeError(
                f"torch.triangular_solve: Expected {name} to have at least 2 dimensions, but it "
                f"has {len(shape_of(x))} dimensions instead"
            )
    check_square("triangular_solve", a)
    if shape_of(b)[-2] != shape_of(a)[-1]:
        (*_, n, m), (*_, rows, columns) = shape_of(a), shape_of(b)
        raise RuntimeError(
            f"Incompatible matrix sizes for triangular_solve: each A matrix is {n} by {m} but each "
            f"b matrix is {rows} by {columns}"
        )
    params = {"upper": upper, "transpose": transpose, "unit": unitriangular}
    found = boxed(computed(TRIANGULAR, b, a, **params), SOLVED)
    return return_types.triangular_solve(found, A.clone())
