"""Solutions of linear equations whose matrix has a known structure.

A solver computes x = M⁻¹ b, where M depends linearly on what is given. A cotangent g of x gives
M⁻ᵀ g to `b`, by the same solver, and minus the outer product of that with x to M, of which the part
counts that the solver reads (Giles 2008, §2.3.1).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg as sp

from funcgrad.core.forms import Explicit, explicit
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import bind, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.numpy.function_calls import as_array, numpy_function
from funcgrad.numpy.indexing import take_along_axis
from funcgrad.ops.arithmetic import add, conjugate, multiply, negative
from funcgrad.ops.constant import Constant, constant
from funcgrad.ops.matrices import (
    column,
    complex_,
    definite,
    drop,
    hermitian,
    real_dtype,
    regular,
    symmetric,
)
from funcgrad.ops.product import matmul
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import broadcast_to, swap_last, unbroadcast
from funcgrad.ops.solve import solve_type
from funcgrad.ops.sort import argsort
from funcgrad.scipy.linalg.define import as_lapack, lapack_lies, loops, square_matrix, stacked

__all__ = [
    "cho_solve",
    "lu_solve",
    "permutation",
    "solve",
    "solved",
    "solver",
    "solve_triangular",
]


def solver(
    name: str,
    value: Callable[..., Any],
    transposed: Callable[..., Array],
    read: Callable[..., Array],
    sample: Any,
    cores: str = "(n,n),(n,k)->(n,k)",
) -> Explicit:
    """The record of a solver.

    ``transposed(a, g, **params)`` solves with the transposed matrix, and ``read(gm, x, **params)``
    is what a cotangent ``-gm xᵀ`` of M gives to `a`.
    """

    def pull(g: Any, x: Any, a: Any, _b: Any, *, needs: Any, **params: Any) -> list[Any]:
        back = transposed(a, g, **params)
        of_a = unbroadcast(negative(read(back, x, **params)), type_of(a)) if needs[0] else None
        return [of_a, unbroadcast(back, type_of(_b)) if needs[1] else None]

    record: Explicit = explicit(
        f"scipy_{name}",
        value,
        signature=cores,
        type_rule=solve_type,
        vjp=pull,
        linear_in=(1,),
        sample=sample,
    )
    record.lies = lapack_lies
    return record


def solved(record: Explicit, a: Array, b: Any, params: Any) -> Array:
    """`b` is a vector if it has one axis, and a stack of matrices otherwise."""
    b = as_lapack(b)
    if type_of(b).ndim == 1:
        return drop(bind(record, (a, column(b)), params))
    return bind(record, (a, b), params)


# ---------------------------------------------------------------------------------- solve

_SYMMETRIC = frozenset({"sym", "symmetric", "pos", "positive definite", "her", "hermitian"})


def _band(n: int, structure: str | None) -> Any:
    """1 where a matrix of this structure is read, or None."""
    ones = np.ones((n, n))
    return {
        "diagonal": np.eye(n),
        "tridiagonal": np.tril(np.triu(ones, -1), 1),
        "upper triangular": np.triu(ones),
        "lower triangular": np.tril(ones),
    }.get(structure or "")


def _solve_value(a: Any, b: Any, **params: Any) -> Any:
    return sp.solve(a, b, **params)


def _solve_transposed(a: Any, g: Any, **params: Any) -> Array:
    """With the transpose of a matrix of the structure: of a Hermitian one it is the conjugate."""
    structure = params.get("assume_a")
    if structure in _SYMMETRIC and not params.get("transposed"):
        if type_of(a).dtype.kind == "c" and structure not in ("sym", "symmetric"):
            a = conjugate(a)
        return bind(SOLVE, (a, g), params)
    given = dict(params)
    swapped = {"upper triangular": "lower triangular", "lower triangular": "upper triangular"}
    if structure in swapped:
        given["assume_a"] = swapped[structure]
    if given.pop("transposed", False):  # of real matrices
        return bind(SOLVE, (a, g), {k: v for k, v in params.items() if k != "transposed"})
    return bind(SOLVE, (swap_last(a), g), given)


def _solve_read(gm: Any, x: Any, **params: Any) -> Array:
    structure = params.get("assume_a")
    found = matmul(gm, swap_last(x))
    if params.get("transposed"):
        found = swap_last(found)
    if structure in ("sym", "symmetric"):
        return multiply(0.5, add(found, swap_last(found)))
    if structure in _SYMMETRIC:
        return conjugate(symmetric(conjugate(found)))
    band = _band(type_of(found).shape[-1], structure)
    return found if band is None else multiply(found, band.astype(real_dtype(type_of(found).dtype)))


def _matrices(lead: Any = ()) -> Any:
    return regular(*lead), draw((*lead, 3, 2))


SOLVE = solver(
    "solve",
    loops(_solve_value),
    _solve_transposed,
    _solve_read,
    lambda: [
        Sample(_matrices()),
        Sample(_matrices((2,)), {"transposed": True}),
        # differences along one element leave these structures
        Sample((definite(), draw((3, 2))), {"assume_a": "pos", "lower": True}, smooth=False),
        Sample((hermitian(), complex_(draw((3, 2)))), {"assume_a": "her"}, smooth=False),
        Sample(_matrices(), {"assume_a": "lower triangular"}),
        Sample(_matrices(), {"assume_a": "tridiagonal"}),
        Sample((complex_(regular()), draw((3, 2)))),
        Sample((regular().astype(np.float32), draw((3, 2)).astype(np.float32))),
    ],
)


@numpy_function(sp.solve)
def solve(
    a: Any,
    b: Any,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    assume_a: Any = None,
    transposed: bool = False,
) -> Array:
    """The solution x of ``a x = b``, or of ``aᵀ x = b``.

    Parameters
    ----------
    a : array of shape (…, n, n)
    b : array of shape (n,) or (…, n, k)
    assume_a : str, optional
        The structure of `a`, as in SciPy. The gradient is that of a matrix of this structure: of a
        symmetric one it is spread over both triangles, of a triangular one it has one.
    lower, overwrite_a, overwrite_b, check_finite, transposed
        As in SciPy; traced operands are not overwritten.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.linalg
    >>> import funcgrad as fg
    >>> a, b = np.diag([2.0, 4.0]), np.ones(2)
    >>> fg.grad(lambda b: np.sum(scipy.linalg.solve(a, b, assume_a="pos")))(b)
    array([0.5 , 0.25])
    """
    params = {"lower": bool(lower), "assume_a": assume_a, "transposed": bool(transposed)}
    given = {k: v for k, v in params.items() if v}
    return solved(SOLVE, square_matrix(a, "solve"), b, given)


# ----------------------------------------------------------------------------- triangular


def _triangular_value(a: Any, b: Any, trans: int, lower: bool, unit_diagonal: bool) -> Any:
    return sp.solve_triangular(
        a, b, trans=trans, lower=lower, unit_diagonal=unit_diagonal, check_finite=False
    )


def _triangular_transposed(a: Any, g: Any, *, trans: int, **params: Any) -> Array:
    if trans == 2:
        return bind(TRIANGULAR, (conjugate(a), g), {"trans": 0, **params})
    return bind(TRIANGULAR, (a, g), {"trans": 1 - trans, **params})


def _triangular_read(gm: Any, x: Any, *, trans: int, lower: bool, unit_diagonal: bool) -> Array:
    found = matmul(gm, swap_last(x))
    if trans:
        found = swap_last(conjugate(found) if trans == 2 else found)
    n = type_of(found).shape[-1]
    triangle = np.tril(np.ones((n, n), real_dtype(type_of(found).dtype)), -int(unit_diagonal))
    return multiply(found, triangle if lower else triangle.T)


def _triangular_params(trans: int, lower: bool, unit_diagonal: bool) -> Any:
    return {"trans": trans, "lower": lower, "unit_diagonal": unit_diagonal}


TRIANGULAR = solver(
    "solve_triangular",
    stacked(_triangular_value),
    _triangular_transposed,
    _triangular_read,
    lambda: [
        Sample(_matrices(), _triangular_params(0, True, False)),
        Sample(_matrices((2,)), _triangular_params(1, False, True)),
        Sample((complex_(regular()), draw((3, 2))), _triangular_params(2, True, False)),
    ],
)


@numpy_function(sp.solve_triangular)
def solve_triangular(
    a: Any,
    b: Any,
    trans: Any = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    """The solution x of ``a x = b`` for a triangular matrix; the other triangle is not read.

    Parameters
    ----------
    a : array of shape (…, n, n)
    b : array of shape (n,) or (…, n, k)
    trans : {0, 1, 2, "N", "T", "C"}, optional
        Solve with the matrix, its transpose, or its conjugate transpose.
    lower, unit_diagonal : bool, optional

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.linalg
    >>> import funcgrad as fg
    >>> b = np.ones(2)
    >>> fg.grad(lambda a: np.sum(scipy.linalg.solve_triangular(a, b, lower=True)))(np.eye(2))
    array([[-1., -0.],
           [-1., -1.]])
    """
    which = {"N": 0, "T": 1, "C": 2}.get(trans, trans)
    params = _triangular_params(int(which), bool(lower), bool(unit_diagonal))
    return solved(TRIANGULAR, square_matrix(a, "solve_triangular"), b, params)


# ------------------------------------------------------------------- of what is factorised


@numpy_function(sp.cho_solve)
def cho_solve(
    c_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> Array:
    """The solution x of ``a x = b``, given what `cho_factor` makes of `a`.

    Parameters
    ----------
    c_and_lower : (array of shape (…, n, n), bool)
    b : array of shape (n,) or (…, n, k)
    """
    c, lower = c_and_lower
    first, last = (0, 2) if lower else (2, 0)
    return solve_triangular(c, solve_triangular(c, b, first, lower), last, lower)


@numpy_function(sp.lu_solve)
def lu_solve(
    lu_and_piv: Any, b: Any, trans: int = 0, overwrite_b: bool = False, check_finite: bool = True
) -> Array:
    """The solution x of ``a x = b``, given what `lu_factor` makes of `a`.

    Parameters
    ----------
    lu_and_piv : (array of shape (…, n, n), array of int of shape (…, n))
    b : array of shape (n,) or (…, n, k)
    trans : {0, 1, 2}, optional
        Solve with the matrix, its transpose, or its conjugate transpose.
    """
    lu, pivots = lu_and_piv
    order = permutation(pivots)
    b = as_lapack(b)
    if not trans:
        low = solve_triangular(lu, _rows(b, order), 0, True, True)
        return solve_triangular(lu, low, 0, False)
    low = solve_triangular(lu, solve_triangular(lu, b, trans, False), trans, True, True)
    return _rows(low, argsort(order, -1))


def permutation(pivots: Any) -> Array:
    """The order of rows after the exchanges that LAPACK notes as `pivots`."""
    return bind(PERMUTATION, (as_array(pivots),))


def _permutation(pivots: Any) -> Any:
    order = np.broadcast_to(np.arange(pivots.shape[-1]), pivots.shape).copy()
    for k in range(pivots.shape[-1]):
        there = np.take_along_axis(order, pivots[..., k : k + 1], -1)
        np.put_along_axis(order, pivots[..., k : k + 1], order[..., k : k + 1], -1)
        order[..., k : k + 1] = there
    return order


PERMUTATION: Constant = constant(
    "scipy_permutation",
    _permutation,
    lambda p: ArrayType(p.shape, np.dtype(np.intp)),
    lambda size, xs, batched, params: bind(PERMUTATION, xs),
    lambda: [Sample((np.array([2, 1, 2]),))],
)


def _rows(b: Array, order: Array) -> Array:
    """The rows of `b`, a vector if it has one axis, in another order."""
    if type_of(b).ndim == 1:
        return take_along_axis(b, order, 0)
    lead = np.broadcast_shapes(type_of(b).shape[:-2], type_of(order).shape[:-1])
    n, k = type_of(b).shape[-2:]
    at = broadcast_to(column(order), (*lead, n, 1))
    return take_along_axis(broadcast_to(b, (*lead, n, k)), at, -2)
