"""Least squares of sparse matrices, by SciPy's iterations `lsqr` and `lsmr`.

The value is the iteration's. The derivative is that of the exact solution, from the equations
(Björck 1996, "Numerical Methods for Least Squares Problems", §2.5.1)

    [ 1   A  ] [r]   [  b  ]              [ 1   Aᵀ ] [x]   [x0]
    [ Aᵀ -d² ] [x] = [-d² x0]     or      [ A   0  ] [λ] = [b ]

of which the second gives the shortest of many solutions, where there are more columns than rows and
no damping. Both are as well conditioned as A, and `records.solve` differentiates them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse.linalg as spl

from funcgrad.core.forms import Explicit, each_lane
from funcgrad.core.primitive import Params, Sample
from funcgrad.core.tracer import Operand, bind, operand, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.errors import UnsupportedCallError, located
from funcgrad.numpy.function_calls import as_array
from funcgrad.ops.arithmetic import add, cast, equal, multiply, sqrt, subtract, where
from funcgrad.ops.constant import Constant, constant
from funcgrad.ops.index import gather, getitem
from funcgrad.ops.matrices import as_float
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import concatenate, flat
from funcgrad.ops.sums import sum as total
from funcgrad.scipy.sparse.arrays import as_sparse
from funcgrad.scipy.sparse.pattern import Pattern
from funcgrad.scipy.sparse.records import product, solve
from funcgrad.scipy.valued import Valued

__all__ = ["least_squares"]

Options = tuple[tuple[str, Any], ...]


def _equations(data: Array, pattern: Pattern, damp: float) -> tuple[Array, Pattern]:
    """The matrix of the first equations above, or of the second ones."""
    m, n = pattern.shape
    rows, columns = pattern.rows, pattern.indices.astype(np.int64)
    dtype = type_of(data).dtype
    if _has_many(pattern, damp):
        diagonal, corner, rows, columns = np.arange(n), np.arange(0), rows + n, columns
    else:
        diagonal, corner, rows, columns = np.arange(m), np.arange(m, m + n), rows, columns + m
    ones, last = np.ones(len(diagonal), dtype), np.full(len(corner), -(damp**2), dtype)
    values = concatenate([ones, data, data, last], 0)
    down = np.concatenate([diagonal, rows, columns, corner])
    across = np.concatenate([diagonal, columns, rows, corner])
    order = np.lexsort((across, down))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(down, minlength=m + n))])
    return gather(values, order), Pattern(across[order], indptr, (m + n, m + n))


def _has_many(pattern: Pattern, damp: float) -> bool:
    return pattern.shape[0] < pattern.shape[1] and not damp


def _length(*parts: Array) -> Array:
    squares = [total(multiply(p, p)) for p in parts]
    found = add(*squares) if len(squares) > 1 else squares[0]
    none = equal(found, 0.0)  # where a solution fits exactly its length has the derivative 0
    return where(none, 0.0, sqrt(where(none, 1.0, found)))


def _exactly(
    data: Array, b: Array, x0: Array, *, pattern: Pattern, method: str, damp: float,
    started: bool, dense: bool,
    options: Options,
) -> Any:  # fmt: skip
    m, n = pattern.shape
    matrix = _equations(data, pattern, damp)
    many = _has_many(pattern, damp)
    right = concatenate([x0, b] if many else [b, multiply(-(damp**2), x0)], 0)
    found = solve(matrix[0], right, matrix[1])
    x = getitem(found, slice(0, n) if many else slice(m, None))
    r = subtract(b, product(data, x, pattern))
    damped = _length(r, multiply(damp, subtract(x, x0))) if damp else _length(r)
    plain = (_length(r),) if method == "lsqr" else ()
    # SciPy's `lsqr` tells how far it went, `lsmr` where it is
    return x, *plain, damped, _length(subtract(x, x0) if method == "lsqr" else x)


LENGTHS = {"lsqr": (0, 3, 4, 8), "lsmr": (0, 3, 7)}
"""Which of the results the equations determine: the solution and lengths."""


def _iterated(
    data: Any, b: Any, x0: Any, *, pattern: Pattern, method: str, damp: float, started: bool,
    dense: bool, options: Options,
) -> Any:  # fmt: skip
    matrix = data.reshape(pattern.shape) if dense else pattern.matrix(data)
    start = x0 if started else None
    return getattr(spl, method)(matrix, b, damp, x0=start, **dict(options))


def _value(*xs: Any, **params: Any) -> Any:
    found = _iterated(*xs, **params)
    return tuple(np.asarray(found[k], np.float64) for k in LENGTHS[params["method"]])


def _estimates(*xs: Any, **params: Any) -> Any:
    """What the iteration tells besides, in a row."""
    found = _iterated(*xs, **params)
    rest = [y for k, y in enumerate(found) if k not in LENGTHS[params["method"]]]
    return np.concatenate([np.ravel(y).astype(np.float64) for y in rest])


class LeastSquares(Valued):
    """A graph calls the iteration too: a direct solution has other bits, and more memory."""

    stage = Explicit.stage


def _sample(method: str, m: int, n: int, damp: float) -> Sample:
    places = np.arange(m * n) % 4 > 0
    pattern = Pattern(
        np.tile(np.arange(n), m)[places],
        np.concatenate([[0], np.cumsum(places.reshape(m, n).sum(1))]),
        (m, n),
    )
    params: Params = {"pattern": pattern, "method": method, "damp": damp, "started": True}
    params["dense"], params["options"] = False, (("atol", 1e-15), ("btol", 1e-15))
    return Sample((draw((int(places.sum()),)), draw((m,), seed=1), draw((n,), seed=2)), params)


LEAST_SQUARES = LeastSquares("sparse_least_squares", _value, _exactly, True, (), False, None)
LEAST_SQUARES.sample = lambda: [
    _sample("lsqr", 5, 3, 0.0),
    _sample("lsmr", 5, 3, 0.4),
    _sample("lsqr", 3, 5, 0.0),
]


def _count(x0: ArrayType, method: str) -> int:
    return 5 + (x0.shape[0] if method == "lsqr" else 0)


ESTIMATES: Constant = constant(
    "sparse_least_squares_estimates",
    _estimates,
    lambda data, b, x0, *, method, **_: ArrayType((_count(x0, method),), np.dtype(np.float64)),
    lambda *given: each_lane(ESTIMATES, *given),
    LEAST_SQUARES.sample,
)


def least_squares(
    method: str, A: Any, b: Any, damp: Any, x0: Any, show: bool, options: dict[str, Any]
) -> tuple[Any, ...]:
    """What SciPy's iteration returns, with the derivatives of the exact solution."""
    if isinstance(A, spl.LinearOperator):
        raise UnsupportedCallError(
            located(
                f"{method}: a LinearOperator hides what its values are made of; give a sparse "
                "matrix of funcgrad.scipy.sparse, or a dense array"
            )
        )
    if isinstance(damp, Operand):
        raise UnsupportedCallError(
            located(
                f"{method}: damp= has no derivative here; add its rows to the matrix, or pass "
                "funcgrad.value(damp) if it is a constant"
            )
        )
    if show:
        raise UnsupportedCallError(located(f"{method}: show= is not supported on traced values"))
    dense = isinstance(A, (Operand, np.ndarray))
    if dense:
        data = as_float(as_array(A))
        m, n = type_of(data).shape
        pattern = Pattern(np.tile(np.arange(n), m), np.arange(m + 1) * n, (m, n))
        data = flat(data)
    else:
        a = as_sparse(A)
        data, pattern = operand(a.data), a.pattern
    b = flat(as_float(as_array(b)))
    if type_of(b).shape != pattern.shape[:1]:
        raise ValueError(
            located(f"matrix - rhs dimension mismatch ({pattern.shape} - {type_of(b).shape[0]})")
        )
    start = np.zeros(pattern.shape[1]) if x0 is None else flat(as_float(as_array(x0)))
    given = [data, b, start]
    if any(type_of(x).dtype.kind == "c" for x in given):
        raise UnsupportedCallError(
            located(
                f"{method}: complex numbers are not supported on traced values; solve for the real "
                "and imaginary parts"
            )
        )
    params: Params = {"pattern": pattern, "method": method, "damp": float(damp)}
    params["dense"] = dense
    params["started"], params["options"] = x0 is not None, tuple(sorted(options.items()))
    given = [cast(x, np.dtype(np.float64)) for x in given]
    found = iter(bind(LEAST_SQUARES, given, params))
    rest = bind(ESTIMATES, given, params)
    told = iter([getitem(rest, k) for k in range(5)])
    count, known = (10, 9) if method == "lsqr" else (8, 8)
    made = [next(found) if k in LENGTHS[method] else next(told) for k in range(known)]
    made[1:3] = (cast(y, np.dtype(np.int64)) for y in made[1:3])
    return (*made, getitem(rest, slice(5, None))) if count > known else tuple(made)
