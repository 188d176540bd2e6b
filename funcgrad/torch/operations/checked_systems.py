"""Inverses, solutions and Cholesky factors with what LAPACK says of each matrix, in the place of an
error: ``inv_ex``, ``solve_ex``, ``cholesky_ex``.

Of a matrix that has none the result is NaN, and so are its derivatives.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.tracer import concrete
from funcgrad.core.types import Array
from funcgrad.ops import factor
from funcgrad.ops import solve as solving
from funcgrad.ops.arithmetic import multiply, not_equal, where
from funcgrad.ops.matrices import adjoint, column, drop
from funcgrad.ops.shape import swap_last
from funcgrad.ops.sums import sum as total
from funcgrad.torch import return_types
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.composite import Composite
from funcgrad.torch.operations.common import boxed, computed, shape_of
from funcgrad.torch.operations.comparison import known
from funcgrad.torch.operations.linear_algebra import (
    CHOLESKY_EX,
    INV,
    SOLVE,
    SOLVE_RIGHT,
    SOLVE_VECTORS,
    check_square,
    indefinite_error,
    singular_error,
    solver_of,
)
from funcgrad.torch.operations.promotion import dtype_of
from funcgrad.torch.operations.record import operation

__all__ = ["cholesky_ex", "inv_ex", "solve_ex"]


def _excepting(info: Array, a: Array) -> tuple[Array, Any]:
    """`a` with the identity for matrices that failed, and what makes their results NaN again."""
    if concrete(info) and not np.any(info):
        return a, lambda result: result
    failed = column(column(not_equal(info, 0)))
    one = np.ones((), dtype_of(a))[()]
    # NaN depends on the matrix, so that its cotangent is NaN, too, and not zero
    poison = total(multiply(a, where(failed, one * np.nan, one)), (-2, -1), True)
    safe = where(failed, np.eye(shape_of(a)[-1], dtype=dtype_of(a)), a)
    return safe, lambda result: where(failed, poison, result)


def _inverse(a: Array, info: Array) -> Array:
    safe, marked = _excepting(info, a)
    found: Array = marked(solving.inv(safe))
    return found


def _solution(a: Array, b: Array, info: Array) -> Array:
    safe, marked = _excepting(info, a)
    found: Array = marked(solving.solve(safe, b))
    return found


def _vectors(a: Array, b: Array, info: Array) -> Array:
    return drop(_solution(a, column(b), info))


def _from_right(a: Array, b: Array, info: Array) -> Array:
    return swap_last(_solution(swap_last(a), swap_last(b), info))


def _factor(a: Array, info: Array, upper: bool) -> Array:
    safe, marked = _excepting(info, a)
    found: Array = marked(factor.cholesky(safe, upper))
    return found


INVERSE = Composite("inv_ex", _inverse, fixed=1)
FACTOR = Composite("cholesky_ex", _factor, fixed=1)
SOLVING = Composite("solve_ex", _solution, fixed=1)
OTHER_SOLVING = {
    SOLVE_VECTORS: Composite("solve_ex_vectors", _vectors, fixed=1),
    SOLVE_RIGHT: Composite("solve_ex_right", _from_right, fixed=1),
}


@operation("linalg_inv_ex", "A, *, bool check_errors=False, Tensors out", variants="")
def inv_ex(A: Tensor, check_errors: bool) -> Any:
    """The inverse of square matrices, and for each 0, or which pivot of it is zero.

    The inverse of a singular matrix is NaN.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.linalg.inv_ex(torch.ones(2, 2)).info
    tensor(2, dtype=torch.int32)
    """
    x = check_square("linalg.inv", A.content())
    info = computed(solving.zero_pivot, x)
    if check_errors and known(info, "linalg.inv_ex()").any():
        raise singular_error("linalg.inv_ex", x)
    return return_types.linalg_inv_ex(boxed(computed(INVERSE, x, info), INV), box(info))


@operation(
    "linalg_solve_ex", "A, Tensor B, *, bool left=True, bool check_errors=False, Tensors out",
    variants="",
)  # fmt: skip
def solve_ex(A: Tensor, B: Tensor, left: bool, check_errors: bool) -> Any:
    """The solution of systems, and for each 0, or which pivot of its matrix is zero.

    The solution of a system with a singular matrix is NaN.
    """
    x, y = A.content(), B.content()
    solver = solver_of("linalg.solve", x, y, left)
    info = computed(solving.zero_pivot, x)
    if check_errors and known(info, "linalg.solve_ex()").any():
        raise singular_error("torch.linalg.solve_ex", x, False)
    core = SOLVING if solver is solving.solve else OTHER_SOLVING[solver]
    return return_types.linalg_solve_ex(boxed(computed(core, x, y, info), SOLVE), box(info))


@operation(
    "linalg_cholesky_ex", "A, *, bool upper=False, bool check_errors=False, Tensors out",
    variants="",
)  # fmt: skip
def cholesky_ex(A: Tensor, upper: bool, check_errors: bool) -> Any:
    """The Cholesky factor, and for each matrix 0, or the order of a minor that is not positive.

    The factor of a matrix that is not positive definite is NaN.
    """
    x = check_square("linalg.cholesky", A.content())
    info = computed(factor.indefinite_minor, adjoint(x) if upper else x)
    if check_errors and known(info, "linalg.cholesky_ex()").any():
        raise indefinite_error("linalg.cholesky_ex", x)
    found = boxed(computed(FACTOR, x, info, upper=upper), CHOLESKY_EX)
    return return_types.linalg_cholesky_ex(found, box(info))
