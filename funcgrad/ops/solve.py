"""`solve`, `inv` and integer powers of matrices.

They stand on products; the rules follow Giles, "An extended collection of matrix derivative
results for forward and reverse mode automatic differentiation" (2008). What `solve` gives is never
computed through an inverse.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.forms import explicit
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import bind, operand, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.errors import located
from funcgrad.ops.arithmetic import negative
from funcgrad.ops.constant import Constant, constant
from funcgrad.ops.matrices import as_float, column, complex_, drop, regular, square
from funcgrad.ops.product import matmul
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import broadcast_to, swap_last, unbroadcast

__all__ = ["SOLVE", "inv", "matrix_power", "solve", "solve_type", "zero_pivot"]

# ---------------------------------------------------------------------------------- solve


def _solve(a: Any, b: Any) -> Any:
    return np.linalg.solve(a, b)


def solve_type(a: ArrayType, b: ArrayType, **_: Any) -> ArrayType:
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return ArrayType((*lead, *b.shape[-2:]), np.result_type(a.dtype, b.dtype))


def _solve_vjp(g: Any, x: Any, a: Any, _b: Any, *, needs: Any) -> list[Any]:
    """b̄ = a⁻ᵀ g, ā = −b̄ xᵀ (Giles 2008, §2.3.1)."""
    back = bind(SOLVE, (swap_last(a), g))
    of_a = unbroadcast(negative(matmul(back, swap_last(x))), type_of(a)) if needs[0] else None
    return [of_a, unbroadcast(back, type_of(_b)) if needs[1] else None]


SOLVE = explicit(
    "solve",
    _solve,
    signature="(n,n),(n,k)->(n,k)",
    type_rule=solve_type,
    vjp=_solve_vjp,
    linear_in=(1,),
    sample=lambda: [
        Sample((regular(2), draw((3, 1, 3, 3)))),
        Sample((complex_(regular()), draw((3, 2)))),
        Sample((regular().astype(np.float32), complex_(draw((3, 2))))),
        Sample((regular(), draw((3, 2)))),
        Sample((regular(2), draw((3, 2)))),
        Sample((regular(n=2).astype(np.float32), draw((2, 2)).astype(np.float32))),
    ],
)


def solve(a: Any, b: Any) -> Array:
    """The solution x of a x = b; `b` is a vector only if it has one axis (NumPy 2)."""
    a, b = square(a, "solve"), as_float(operand(b))
    if not type_of(b).shape:
        raise np.linalg.LinAlgError(located("solve: b has to have at least one axis"))
    vector = type_of(b).ndim == 1
    if type_of(b).shape[-1 if vector else -2] != type_of(a).shape[-1]:
        raise ValueError(
            located(f"solve: shapes {type_of(a).shape} and {type_of(b).shape} do not fit together")
        )
    if vector:  # LAPACK solves for one column in the same way: the same bits
        return drop(bind(SOLVE, (a, column(b))))
    return bind(SOLVE, (a, b))


# ------------------------------------------------------------------------------- inverse


def _inv_vjp(g: Any, y: Any, _: Any) -> Any:
    back = swap_last(y)
    return negative(matmul(matmul(back, g), back))


INV = explicit(
    "inv",
    np.linalg.inv,
    signature="(n,n)->(n,n)",
    vjp=(_inv_vjp,),
    sample=lambda: [
        Sample((regular(),)),
        Sample((regular(2, n=2),)),
        Sample((regular().astype(np.float32),)),
        Sample((complex_(regular()),)),
    ],
)


def inv(a: Any) -> Array:
    """The inverse of a square matrix."""
    return bind(INV, (square(a, "inv"),))


def matrix_power(a: Any, n: int) -> Array:
    """A square matrix to an integer power, by repeated squaring as NumPy does it."""
    whole = operand(a)  # integers stay integers, but for an inverse
    a = square(whole, "matrix_power")
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


# --------------------------------------------------------------- matrices that have no inverse


def _pivot(matrix: Any) -> int:
    """Which diagonal element of the triangular factor is zero, counted from 1."""
    u = np.array(matrix)
    for k in range(len(u)):
        row = k + int(np.argmax(np.abs(u[k:, k])))
        u[[k, row]] = u[[row, k]]
        if u[k, k] == 0:
            return k + 1
        u[k + 1 :] -= np.outer(u[k + 1 :, k] / u[k, k], u[k])
    return len(u)  # LAPACK, in another order of operations, found one


def _zero_pivot(a: Any) -> Any:
    sign = np.asarray(np.linalg.slogdet(a)[0])  # 0 where LAPACK has met a pivot that is
    found = np.zeros(sign.shape, np.int32)
    if not sign.all():
        for at in np.ndindex(found.shape):
            found[at] = 0 if sign[at] else _pivot(a[at])
    return found


ZERO_PIVOT: Constant = constant(
    "zero_pivot",
    _zero_pivot,
    lambda a: ArrayType(a.shape[:-2], np.dtype(np.int32)),
    lambda size, xs, batched, params: bind(ZERO_PIVOT, xs),
    lambda: [
        Sample((regular(2),)),
        Sample((np.array([[1.0, 2.0], [2.0, 4.0]]),)),
        Sample((np.zeros((2, 2, 2), complex),)),
    ],
)


def zero_pivot(a: Any) -> Array:
    """Which pivot of the elimination of a square matrix is zero, counted from 1; 0 for none."""
    return bind(ZERO_PIVOT, (square(a, "zero_pivot"),))
