"""Products and equations with Toeplitz and circulant matrices, which are given by vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as sp

from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import bind, type_of
from funcgrad.core.types import Array
from funcgrad.numpy import fft
from funcgrad.numpy.axes import moveaxis
from funcgrad.numpy.function_calls import as_array, numpy_function
from funcgrad.ops.arithmetic import (
    absolute,
    cast,
    conjugate,
    divide,
    less_equal,
    multiply,
    real,
    where,
)
from funcgrad.ops.index import getitem
from funcgrad.ops.matrices import column, drop
from funcgrad.ops.nonlinear_reductions import max as largest
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import concatenate
from funcgrad.scipy.linalg.solvers import solve
from funcgrad.scipy.linalg.structured import toeplitz, vector
from funcgrad.scipy.valued import valued

__all__ = ["matmul_toeplitz", "solve_circulant", "solve_toeplitz"]


def _vectors(c_or_cr: Any, b: Any) -> tuple[Array, Array, Array]:
    """The first column, the first row and the other operand, in the precision of SciPy."""
    c, r = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, None)
    c = vector(c)
    r = conjugate(c) if r is None else vector(r)
    b = as_array(b)
    dtype = np.result_type(np.float64, *(type_of(x).dtype for x in (c, r, b)))
    c, r, b = (cast(x, dtype) for x in (c, r, b))
    return c, r, b


SOLVE = valued(
    "scipy_solve_toeplitz",
    lambda c, r, b: sp.solve_toeplitz((c, r), b, check_finite=False),
    lambda c, r, b: solve(toeplitz(c, r), b),
    lambda: [
        Sample((draw((3,)) + np.array([4.0, 0.0, 0.0]), draw((3,), seed=1), draw((3, 2), seed=2)))
    ],
    linear_in=(2,),
)


@numpy_function(sp.solve_toeplitz)
def solve_toeplitz(c_or_cr: Any, b: Any, check_finite: bool = True) -> Array:
    """The solution x of ``t x = b``, for the matrix `toeplitz` of `c` and `r`.

    Parameters
    ----------
    c_or_cr : array of shape (…, n) or tuple of two
        The first column, and the first row, by default the conjugate of the column.
    b : array of shape (n,) or (…, n, k)

    Notes
    -----
    Derivatives, and programs compiled by `jit`, make the matrix of n² elements.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.linalg
    >>> import funcgrad as fg
    >>> c, b = np.array([2.0, 0.0]), np.ones(2)
    >>> fg.grad(lambda c: np.sum(scipy.linalg.solve_toeplitz(c, b)))(c)
    array([-0.5, -0.5])
    """
    return bind(SOLVE, _vectors(c_or_cr, b))


def _product(c: Array, r: Array, x: Array) -> Array:
    """By the Fourier transform of a circulant matrix around it."""
    rows, columns = type_of(c).shape[-1], type_of(r).shape[-1]
    is_vector = type_of(x).ndim == 1
    x = column(x) if is_vector else x
    around = concatenate([c, getitem(r, (Ellipsis, slice(-1, 0, -1)))], type_of(c).ndim - 1)
    n = rows + columns - 1
    complex_ = type_of(x).dtype.kind == "c"
    there, back = (fft.fft, fft.ifft) if complex_ else (fft.rfft, fft.irfft)
    product = multiply(column(there(around)), there(x, n, -2))
    found = getitem(back(product, n, -2), (Ellipsis, slice(0, rows), slice(None)))
    return drop(found) if is_vector else found


PRODUCT = valued(
    "scipy_matmul_toeplitz",
    lambda c, r, x: sp.matmul_toeplitz((c, r), x),
    _product,
    lambda: [
        Sample((draw((2,)), draw((3,), seed=1), draw((3, 2), seed=2))),
        Sample((draw((3,)), draw((2,), seed=1), draw((2,), seed=2))),
    ],
    linear_in=(2,),
)


@numpy_function(sp.matmul_toeplitz)
def matmul_toeplitz(c_or_cr: Any, x: Any, check_finite: bool = False, workers: Any = None) -> Array:
    """The product ``t x`` with the matrix `toeplitz` of `c` and `r`, which is not formed.

    Parameters
    ----------
    c_or_cr : array of shape (…, m) or tuple of arrays of shape (…, m), (…, n)
        The first column, and the first row, by default the conjugate of the column.
    x : array of shape (n,) or (…, n, k)
    """
    return bind(PRODUCT, _vectors(c_or_cr, x))


# ------------------------------------------------------------------------------- circulant


def _least(size: Array, tol: Any) -> Any:
    """Below which an eigenvalue counts as 0."""
    if tol is not None:
        return tol
    n = type_of(size).shape[-1]
    return multiply(largest(size, -1, keepdims=True), n * float(np.finfo(float).eps))


def _circulant(
    c: Array, b: Array, singular: str, tol: Any, caxis: int, baxis: int, outaxis: int
) -> Array:
    values = fft.fft(moveaxis(c, caxis, -1))
    size = absolute(values)
    none = less_equal(size, _least(size, tol))
    right = fft.fft(moveaxis(b, baxis, -1))
    quotient = where(none, 0.0, divide(right, where(none, 1.0, values)))
    x = fft.ifft(quotient)
    if type_of(c).dtype.kind != "c" and type_of(b).dtype.kind != "c":
        x = real(x)
    return moveaxis(x, -1, outaxis)


_AXES = {"singular": "raise", "tol": None, "caxis": -1, "baxis": 0, "outaxis": 0}
CIRCULANT = valued(
    "scipy_solve_circulant",
    lambda c, b, **params: sp.solve_circulant(c, b, **params),
    _circulant,
    lambda: [
        Sample((draw((3,)) + np.array([4.0, 0.0, 0.0]), draw((3, 2), seed=1)), _AXES),
        Sample(
            (draw((3, 2)) + np.array([[4.0], [0.0], [0.0]]), draw((2, 3), seed=1)),
            {"singular": "lstsq", "tol": 0.1, "caxis": 0, "baxis": 1, "outaxis": -1},
        ),
    ],
)


@numpy_function(sp.solve_circulant)
def solve_circulant(
    c: Any,
    b: Any,
    singular: str = "raise",
    tol: Any = None,
    caxis: int = -1,
    baxis: int = 0,
    outaxis: int = 0,
) -> Array:
    """The solution x of ``a x = b`` for the matrix `circulant` of `c`.

    Parameters
    ----------
    c, b : array
    singular : {"raise", "lstsq"}, optional
        Of a matrix that is nearly singular: an error (under `jit` none, and the solution of least
        squares), or that solution, at constant rank.
    tol : float, optional
        Below which an eigenvalue counts as 0.
    caxis, baxis, outaxis : int, optional
        The axes of the vectors in `c`, `b` and the result.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.linalg
    >>> import funcgrad as fg
    >>> c = np.array([2.0, 0.0])
    >>> fg.grad(lambda b: np.sum(scipy.linalg.solve_circulant(c, b)))(np.ones(2))
    array([0.5, 0.5])
    """
    params = {"singular": singular, "tol": tol, "caxis": caxis, "baxis": baxis, "outaxis": outaxis}
    return bind(CIRCULANT, (vector(c), vector(b)), params)
