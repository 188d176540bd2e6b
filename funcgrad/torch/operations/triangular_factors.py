"""LU factors, and what is solved with them: SciPy's records, which are imported on first use.

As LAPACK packs them, both triangles lie in one matrix, and the exchanges of rows are counted from
1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.tracer import bind, concrete
from funcgrad.core.types import Array
from funcgrad.ops import constant
from funcgrad.ops.arithmetic import add, cast, conjugate, equal, subtract, where
from funcgrad.ops.index import getitem
from funcgrad.ops.matrices import column
from funcgrad.ops.shape import broadcast_to, concatenate, swap_last
from funcgrad.ops.sort import argsort
from funcgrad.torch import return_types
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.composite import Composite
from funcgrad.torch.narrow import is_half
from funcgrad.torch.operations.common import (
    boxed,
    boxed_all,
    install,
    into,
    quietly,
    shape_of,
    warn_once,
)
from funcgrad.torch.operations.comparison import known
from funcgrad.torch.operations.linear_algebra import check_square, element_of_batch
from funcgrad.torch.operations.promotion import dtype_of, kind_of
from funcgrad.torch.operations.record import node, operation
from funcgrad.torch.operations.recorded import elementwise_refusal
from funcgrad.torch.operations.requirements import requires

__all__ = ["lu", "lu_solve", "lu_unpack"]

FACTORED, SPLIT = node("LinalgLuFactorEx", "LU pivots"), node("LinalgLu", "P L U")
UNPACKED, SOLVED = node("LuUnpack", ""), node("LinalgLuSolve", "result LU pivots")
INT = np.dtype(np.int32)


def _factors() -> Any:
    from funcgrad.scipy.linalg import factorizations

    return factorizations


# ------------------------------------------------------------------------------- what is computed


def _packed(a: Array) -> Any:
    return bind(_factors().LU, (a,))


def _exchanges(a: Array) -> Any:
    return add(bind(_factors().PIVOTS, (a,)), np.int32(1))


def _triangles(a: Array) -> Any:
    found: Any = _factors().triangles(_packed(a))
    return found


def _first_zero(packed: Array) -> Array:
    """Which diagonal element of the upper triangle is zero, counted from 1; 0 for none."""
    k = min(shape_of(packed)[-2:])
    if not k:
        return np.zeros(shape_of(packed)[:-2], INT)
    square = getitem(packed, (Ellipsis, slice(0, k), slice(0, k)))
    one = np.ones((), dtype_of(packed))[()]
    zero = constant.any(equal(where(np.eye(k, dtype=bool), square, one), 0), -1)
    place = add(constant.argmax(zero, -1), 1)
    return cast(where(constant.any(zero, -1), place, 0), INT)


def _permuting(place: Array, dtype: Any) -> Array:
    """The matrix that puts row k of the factors to `place`, where k stands."""
    found = equal(column(place), np.arange(shape_of(place)[-1]))
    return cast(found, dtype)


def _permutation_of(a: Array) -> Array:
    return _permuting(argsort(_factors().order_of_rows(a), -1), dtype_of(a))


def _permutation_by(pivots: Array, rows: int, dtype: Any) -> Array:
    from funcgrad.scipy.linalg.solvers import permutation

    at = subtract(pivots, np.int32(1))
    *lead, k = shape_of(pivots)
    if rows > k:
        rest = broadcast_to(np.arange(k, rows, dtype=INT), (*lead, rows - k))
        at = concatenate([at, rest], len(lead))
    return _permuting(argsort(permutation(at), -1), dtype)


def _solution(packed: Array, b: Array, pivots: Array, left: bool, adjoint: bool) -> Array:
    from funcgrad.scipy.linalg.solvers import lu_solve as solved

    factors = (packed, subtract(pivots, np.int32(1)))
    if left:
        return solved(factors, b, 2 if adjoint else 0)
    if adjoint:
        return swap_last(conjugate(solved(factors, swap_last(conjugate(b)))))
    return swap_last(solved(factors, swap_last(b), 1))


LU = Composite("lu_factor", _packed)
TRIANGLES = Composite("lu", _triangles, multiple=True)
UNPACK = Composite("lu_unpack", lambda packed: _factors().triangles(packed), multiple=True)
SOLUTION = Composite("lu_solve", _solution, fixed=1)

# ------------------------------------------------------------------------------------- factors


@requires("""
    rank(A) >= 2: {name}: Expected tensor with 2 or more dimensions. Got size: {sizes(A)} instead
""")
def _checked(name: str, A: Tensor, pivot: bool) -> Array:
    x = A.content()
    if dtype_of(x).kind not in "fc" or is_half(dtype_of(x)):
        raise elementwise_refusal("lu_cpu", x)
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    return x


def _factorised(name: str, x: Array, check: bool) -> tuple[Tensor, Tensor, Tensor]:
    packed = boxed(quietly(LU, x), FACTORED)
    pivots, info = quietly(_exchanges, x), _first_zero(packed.detach()._t)
    if check:
        found = known(info, f"{name}()")
        if found.any():
            k = int(np.flatnonzero(found)[0])
            at = found.flat[k]
            raise RuntimeError(
                f"torch.{name}: {element_of_batch(shape_of(x), k)}U[{at},{at}] is zero and using "
                "it on lu_solve would result in a division by zero. If you still want to perform "
                "the factorization, consider calling linalg.lu(A, pivot) or "
                "linalg.lu_factor_ex(A, pivot)"
            )
    return packed, box(pivots), box(info)


@operation("linalg_lu_factor", "A, *, bool pivot=True, Tensors out", variants="")
def linalg_lu_factor(A: Tensor, pivot: bool) -> Any:
    """Both triangular factors in one matrix, and the exchanges of rows."""
    x = _checked("torch.lu_factor", A, pivot)
    return return_types.linalg_lu_factor(*_factorised("linalg.lu_factor", x, True)[:2])


@operation(
    "linalg_lu_factor_ex", "A, *, bool pivot=True, bool check_errors=False, Tensors out",
    variants="",
)  # fmt: skip
def linalg_lu_factor_ex(A: Tensor, pivot: bool, check_errors: bool) -> Any:
    """As `lu_factor`, and for each matrix 0, or which diagonal element of its factor is zero."""
    x = _checked("torch.lu_factor", A, pivot)
    found = _factorised("linalg.lu_factor_ex", x, check_errors)
    return return_types.linalg_lu_factor_ex(*found)


@operation("linalg_lu", "A, *, bool pivot=True, Tensors out", variants="")
def linalg_lu(A: Tensor, pivot: bool) -> Any:
    """The factors P, L with a diagonal of 1, and U of ``A = P L U``.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> P, L, U = torch.linalg.lu(torch.tensor([[2.0, 1.0], [4.0, 4.0]]))
    >>> L, U
    (tensor([[1.0000, 0.0000],
            [0.5000, 1.0000]]), tensor([[ 4.,  4.],
            [ 0., -1.]]))
    """
    x = _checked("linalg.lu", A, pivot)
    low, high = boxed_all(quietly(TRIANGLES, x), SPLIT)
    return return_types.linalg_lu(box(quietly(_permutation_of, x)), low, high)


def lu(
    A: Tensor, pivot: bool = True, get_infos: bool = False, out: Any = None
) -> tuple[Tensor, ...]:
    """What `linalg.lu_factor_ex` gives, which PyTorch wants in its place."""
    warn_once(DEPRECATED_LU)
    found: Any = linalg_lu_factor_ex(A, pivot=pivot)
    results: tuple[Tensor, ...] = tuple(found[: 2 + get_infos])
    if out is None:
        return results
    return tuple(into(o, r, "lu") for o, r in zip(out, results, strict=True))


def _lu_method(self: Tensor, pivot: bool = True, get_infos: bool = False) -> tuple[Tensor, ...]:
    return lu(self, pivot, get_infos)


_lu_method.__name__ = "lu"
_lu_method.__doc__ = lu.__doc__
install(lu=_lu_method)


@operation(
    "lu_unpack",
    "LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True, *, Tensors out",
    variants="",
)
@requires("""
    rank(LU_data) >= 2: torch.lu_unpack: Expected tensor with 2 or more dimensions. Got size:
        {sizes(LU_data)} instead
""")
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool, unpack_pivots: bool) -> Any:
    """The factors P, L and U of what `linalg.lu_factor` gives."""
    x, pivots = LU_data.content(), LU_pivots.content()
    none = box(np.zeros(0, dtype_of(x)))
    p, low, high = none, none, none
    if unpack_pivots:
        _check_pivots(pivots, shape_of(x))
        p = box(quietly(_permutation_by, pivots, rows=shape_of(x)[-2], dtype=dtype_of(x)))
    if unpack_data:
        low, high = boxed_all(quietly(UNPACK, x), UNPACKED)
    return return_types.lu_unpack(p, low, high)


def _check_pivots(pivots: Array, shape: tuple[int, ...]) -> None:
    if dtype_of(pivots) != INT:
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 "
            "dtype.\nNote: this function is intended to be used with the output produced by "
            "torch.linalg.lu_factor"
        )
    fits = shape_of(pivots)[-1:] == (min(shape[-2:]),)
    if fits and concrete(pivots):
        found = known(pivots, "lu_unpack()")
        fits = bool((found >= 1).all() and (found <= shape[-2]).all())
    if not fits:
        raise RuntimeError(
            "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive.Did you "
            "properly pass the result of lu_factor?"
        )


# ------------------------------------------------------------------------------------- solutions


@operation(
    "linalg_lu_solve",
    "LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False, out",
    variants="",
)
def linalg_lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, left: bool, adjoint: bool) -> Tensor:
    """The solution X of ``A X = B`` (or ``X A = B``), given what `lu_factor` makes of A."""
    x, at, b = LU.content(), pivots.content(), B.content()
    name = "linalg.lu_solve"
    if dtype_of(at) != INT:
        raise RuntimeError(f"{name}: pivots should be a Tensor of scalar type torch.int32")
    if dtype_of(x) != dtype_of(b):
        from funcgrad.torch.dtypes import scalar_name

        names = [scalar_name(kind_of(c)) for c in (x, b)]
        raise RuntimeError(
            f"{name}: Expected LU and B to have the same dtype, but found LU of type {names[0]} "
            f"and B of type {names[1]} instead"
        )
    check_square(f"torch.{name}", x)
    if len(shape_of(b)) < 2:
        raise RuntimeError(f"{name}: The input tensor B must have at least 2 dimensions.")
    n, given = shape_of(x)[-1], shape_of(b)[-2:]
    if given[0 if left else 1] != n:
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation {'AX' if left else 'XA'} = B "
            f"({n}x{n} and {given[0]}x{given[1]})"
        )
    if shape_of(at)[-1:] != (n,):
        raise RuntimeError(
            f"{name}: Number of pivots per batch should be same as the dimension of the matrix"
        )
    return boxed(quietly(SOLUTION, x, b, at, left=left, adjoint=adjoint), SOLVED)


@operation("lu_solve", "input, Tensor LU_data, Tensor LU_pivots, *, out", variants="method")
def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """What `linalg.lu_solve` gives, which PyTorch wants in its place."""
    warn_once(DEPRECATED_SOLVE)
    found: Tensor = linalg_lu_solve(LU_data, LU_pivots, input)
    return found


DEPRECATED_LU = (
    "torch.lu is deprecated in favor of torch.linalg.lu_factor / torch.linalg.lu_factor_ex and "
    "will be removed in a future PyTorch release.\nLU, pivots = torch.lu(A, compute_pivots)\n"
    "should be replaced with\nLU, pivots = torch.linalg.lu_factor(A, compute_pivots)\nand\n"
    "LU, pivots, info = torch.lu(A, compute_pivots, get_infos=True)\nshould be replaced with\n"
    "LU, pivots, info = torch.linalg.lu_factor_ex(A, compute_pivots)"
)
DEPRECATED_SOLVE = (
    "torch.lu_solve is deprecated in favor of torch.linalg.lu_solveand will be removed in a future "
    "PyTorch release.\nNote that torch.linalg.lu_solve has its arguments reversed.\n"
    "X = torch.lu_solve(B, LU, pivots)\nshould be replaced with\n"
    "X = torch.linalg.lu_solve(LU, pivots, B)"
)
