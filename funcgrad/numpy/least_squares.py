"""QR, least squares, pseudoinverses, condition numbers, and equations between tensors."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from funcgrad.core.tracer import bind, concrete, type_of, value
from funcgrad.core.types import Array
from funcgrad.errors import UnsupportedCallError, located
from funcgrad.numpy.function_calls import ABSENT, as_array, known, numpy_function
from funcgrad.numpy.norms import norm
from funcgrad.ops import factor, index, least_squares, shape, singular, solve
from funcgrad.ops.arithmetic import (
    absolute,
    divide,
    greater,
    isnan,
    logical_and,
    logical_not,
    multiply,
    where,
)
from funcgrad.ops.constant import any as any_of
from funcgrad.ops.constant import count_nonzero
from funcgrad.ops.index import getitem
from funcgrad.ops.matrices import as_float, column, drop
from funcgrad.ops.nonlinear_reductions import max as largest
from funcgrad.ops.whole_factors import QR_WHOLE

__all__ = [
    "QRResult",
    "cond",
    "lstsq",
    "matrix_rank",
    "pinv",
    "qr",
    "tensorinv",
    "tensorsolve",
]


class QRResult(NamedTuple):
    """Orthonormal columns, and the upper triangle by which they give the matrix."""

    Q: Array
    R: Array


def _matrices(a: Any, name: str) -> Array:
    x = as_float(as_array(a))
    if type_of(x).ndim < 2:
        raise np.linalg.LinAlgError(
            located(f"{name}: a matrix has two axes, the shape is {type_of(x).shape}")
        )
    return x


@numpy_function(np.linalg.qr)
def qr(a: Any, mode: str = "reduced") -> Any:
    """The factors of a matrix: orthonormal columns times an upper triangle.

    Parameters
    ----------
    a : array of shape (…, m, n)
        Its first min(m, n) columns are linearly independent; the derivative is infinite or NaN
        where they are not.
    mode : {"reduced", "complete", "r"}, optional
        The columns that "complete" adds for m > n are anybody's choice: the gradient of what uses
        them is NaN.

    Returns
    -------
    QRResult, or array of shape (…, min(m, n), n) for "r"

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda a: np.linalg.qr(a).R[0, 0] ** 2)(np.array([[1.0, 2.0], [2.0, 1.0]]))
    array([[2., 0.],
           [4., 0.]])
    """
    x = _matrices(a, "qr")
    m, n = type_of(x).shape[-2:]
    if mode == "raw":
        raise UnsupportedCallError(
            located(
                f"numpy.linalg.qr: mode={mode!r} of {m} x {n} matrices has no derivative; pass "
                "mode='complete' or mode='reduced'"
            )
        )
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f"Unrecognized mode '{mode}'")
    q, r = bind(QR_WHOLE if mode == "complete" and m > n else least_squares.QR, (x,))
    return r if mode == "r" else QRResult(q, r)


@numpy_function(np.linalg.pinv)
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = ABSENT) -> Array:
    """The pseudoinverse of Moore and Penrose.

    Parameters
    ----------
    a : array of shape (…, m, n)
    rcond, rtol : float or array of them, optional
        Singular values below it times the largest one count as 0; a constant. An array has one for
        each matrix.

    Notes
    -----
    The derivative is that at constant rank (Golub and Pereyra 1973); where the cutoff drops
    singular values that are not 0, that of the pseudoinverse of the truncated matrix. It is NaN
    where a value that is kept and one that is dropped are equal.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda a: np.linalg.pinv(a)[0, 0])(np.array([[2.0], [0.0]]))
    array([[-0.25],
           [ 0.  ]])
    """
    x = _matrices(a, "pinv")
    if rcond is not None and rtol is not ABSENT:
        raise ValueError("`rtol` and `rcond` can't be both set.")
    if rcond is None:
        rcond = 1e-15 if rtol is ABSENT else rtol
    if rcond is None:
        rcond = max(type_of(x).shape[-2:]) * np.finfo(type_of(x).dtype).eps
    cutoff = known(rcond, "the cutoff of numpy.linalg.pinv")
    more = {"hermitian": True} if hermitian else {}
    if np.ndim(cutoff):
        return _pinv_by_cutoffs(x, np.asarray(cutoff), more)
    return bind(least_squares.PINV, (x,), {"rcond": float(cutoff), **more})


def _pinv_by_cutoffs(x: Array, cutoff: Any, more: dict[str, Any]) -> Array:
    """The pseudoinverses of a stack, those of one cutoff at once."""
    *stack, m, n = type_of(x).shape
    each = np.broadcast_to(cutoff, stack).reshape(-1)
    rows = shape.reshape(x, (each.size, m, n))
    found, order = [], []
    for one in np.unique(each) if each.size else [each.dtype.type(0)]:
        (places,) = np.nonzero((each == one) | ((one != one) & (each != each)))
        params = {"rcond": one, **more}
        found.append(bind(least_squares.PINV, (index.gather(rows, places),), params))
        order.append(places)
    back = np.argsort(np.concatenate(order))
    return shape.reshape(index.gather(shape.concatenate(found, 0), back), (*stack, n, m))


@numpy_function(np.linalg.lstsq)
def lstsq(a: Any, b: Any, rcond: Any = None) -> tuple[Any, ...]:
    """The x that makes the sum of squares of b - a x least, and is shortest itself.

    Parameters
    ----------
    a : array of shape (m, n)
    b : array of shape (m,) or (m, k)
    rcond : float, optional
        Singular values below it times the largest one count as 0; a constant.

    Returns
    -------
    x : array of shape (n,) or (n, k)
    residuals : array of shape (k,), or empty where the rank is below n or m <= n
    rank : int
    s : array
        The singular values of `a`; of a traced `a` those of `svdvals`, maybe with other last bits.

    Notes
    -----
    The derivatives are those at constant rank. Under `jit` and `vmap` of `a` full rank is taken for
    granted where m > n, and a lower one is a LinAlgError when the function runs.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> a = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    >>> fg.jacobian(lambda b: np.linalg.lstsq(a, b)[0])(np.ones(3)).round(3)
    array([[ 0.833,  0.333, -0.167],
           [-0.5  , -0.   ,  0.5  ]])
    """
    x, y = _matrices(a, "lstsq"), as_float(as_array(b))
    m, n = type_of(x).shape[-2:]
    if type_of(x).ndim != 2 or type_of(y).ndim not in (1, 2) or type_of(y).shape[0] != m:
        raise np.linalg.LinAlgError(
            located(f"lstsq: shapes {type_of(x).shape} and {type_of(y).shape} do not fit together")
        )
    vector = type_of(y).ndim == 1
    dtype = np.result_type(type_of(x).dtype, type_of(y).dtype)
    cutoff = np.finfo(dtype).eps * max(n, m) if rcond is None else float(known(rcond, "rcond"))
    rank = _rank(x, cutoff, dtype)
    full = m > n and (rank is None or rank == n)
    params = {"rcond": float(cutoff), "full": bool(full)}
    solution, residuals = bind(least_squares.LSTSQ, (x, column(y) if vector else y), params)
    s = singular.svdvals(x)
    return (
        drop(solution) if vector else solution,
        residuals,
        np.int32(n) if rank is None else rank,
        s,
    )


def _rank(a: Array, cutoff: float, dtype: Any) -> Any:
    """That of NumPy's `lstsq`, None where the matrix is not known."""
    if not concrete(a):
        return None
    raw = np.asarray(value(a)).astype(dtype)
    return np.linalg.lstsq(raw, np.zeros((raw.shape[0], 1), dtype), cutoff)[2]


@numpy_function(np.linalg.cond)
def cond(x: Any, p: Any = None) -> Array:
    """The condition number of a matrix.

    Parameters
    ----------
    x : array of shape (…, m, n)
    p : {None, 2, -2, 1, -1, inf, -inf, "fro", "nuc"}, optional
        The norm; all but the first three take square matrices.

    Raises
    ------
    LinAlgError
        A norm by the inverse of a singular matrix, which NumPy takes as infinite.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(np.linalg.cond)(np.diag([2.0, 1.0]))
    array([[ 1.,  0.],
           [ 0., -2.]])
    """
    a = _matrices(x, "cond")
    if 0 in type_of(a).shape[-2:]:
        raise np.linalg.LinAlgError(located("cond is not defined on empty arrays"))
    if p is None or p in {2, -2}:
        s = singular.svdvals(a)
        first, last = getitem(s, (Ellipsis, 0)), getitem(s, (Ellipsis, -1))
        found = divide(last, first) if p == -2 else divide(first, last)
    else:
        found = multiply(norm(a, p, axis=(-2, -1)), norm(solve.inv(a), p, axis=(-2, -1)))
    undefined = logical_and(isnan(found), logical_not(any_of(isnan(a), (-2, -1))))
    return where(undefined, np.inf, found)


@numpy_function(np.linalg.matrix_rank, constant=True)
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """The number of singular values above a tolerance; locally constant.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda a: np.linalg.matrix_rank(a) * a[0, 0])(np.eye(2))
    array([[2., 0.],
           [0., 0.]])
    """
    if rtol is not None and tol is not None:
        raise ValueError("`tol` and `rtol` can't be both set.")
    a = as_float(as_array(A))
    if type_of(a).ndim < 2:
        return where(any_of(a != 0), 1, 0)
    s = absolute(factor.eigvalsh(a)) if hermitian else singular.svdvals(a)
    if tol is None:
        each = max(type_of(a).shape[-2:]) * np.finfo(type_of(s).dtype).eps if rtol is None else rtol
        tol = multiply(largest(s, -1, keepdims=True), _with_axis(each))
    else:
        tol = _with_axis(tol)
    return count_nonzero(greater(s, tol), -1)


def _with_axis(x: Any) -> Any:
    x = as_array(x)
    return shape.reshape(x, (*type_of(x).shape, 1)) if type_of(x).ndim else x


@numpy_function(np.linalg.tensorinv)
def tensorinv(a: Any, ind: int = 2) -> Array:
    """The inverse of an array as a matrix from its last axes to its first `ind` ones.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda a: np.linalg.tensorinv(a, ind=1)[0, 0])(np.diag([2.0, 1.0]))
    array([[-0.25, -0.  ],
           [-0.  , -0.  ]])
    """
    x = as_array(a)
    whole = type_of(x).shape
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    rows = int(np.prod(whole[ind:]))
    inverse = solve.inv(shape.reshape(x, (rows, type_of(x).size // max(rows, 1))))
    return shape.reshape(inverse, (*whole[ind:], *whole[:ind]))


@numpy_function(np.linalg.tensorsolve)
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Array:
    """The x whose product with `a`, summed over the axes of x, is `b`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> a = np.diag([2.0, 4.0])
    >>> fg.grad(lambda b: np.sum(np.linalg.tensorsolve(a, b)))(np.ones(2))
    array([0.5 , 0.25])
    """
    x, y = as_array(a), as_array(b)
    ndim = type_of(x).ndim
    if axes is not None:
        order = [k for k in range(ndim) if k not in {k % ndim for k in axes}]
        x = shape.transpose(x, (*order, *(k % ndim for k in axes)))
    unknown = type_of(x).shape[-(ndim - type_of(y).ndim) :]
    rows = int(np.prod(unknown))
    if type_of(x).size != rows**2:
        raise np.linalg.LinAlgError(
            located(
                f"tensorsolve: an array of shape {type_of(x).shape} is no square matrix for a "
                f"right-hand side of shape {type_of(y).shape}"
            )
        )
    found = solve.solve(shape.reshape(x, (rows, rows)), shape.reshape(y, (rows,)))
    return shape.reshape(found, unknown)
