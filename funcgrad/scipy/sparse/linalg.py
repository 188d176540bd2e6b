"""``funcgrad.scipy.sparse.linalg``: solutions of sparse equations, differentiated implicitly.

Matrices are those of `funcgrad.scipy.sparse`, SciPy's, or dense arrays. The derivative of a
solution costs one more with the transpose, by the same method and to the same tolerance.

Examples
--------
>>> import numpy as np
>>> import funcgrad as fg
>>> from funcgrad.scipy.sparse import diags_array
>>> from funcgrad.scipy.sparse.linalg import spsolve
>>> def middle(conductance):
...     a = diags_array([-1.0, 2.0 * conductance, -1.0], offsets=[-1, 0, 1], shape=(3, 3))
...     return spsolve(a, np.ones(3))[1]
>>> fg.grad(middle)(1.0).round(6)
np.float64(-7.0)
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spl

from funcgrad.core.boundary import publish
from funcgrad.core.tracer import operand, type_of
from funcgrad.core.types import Array
from funcgrad.errors import UnsupportedCallError, located
from funcgrad.numpy.function_calls import as_array, known
from funcgrad.ops.matrices import as_float
from funcgrad.scipy.reasons import why_not
from funcgrad.scipy.sparse.arrays import SparseArray, as_sparse
from funcgrad.scipy.sparse.least_squares import least_squares
from funcgrad.scipy.sparse.records import Fixed, solve, solve_iteratively

__all__ = ["bicg", "bicgstab", "cg", "cgs", "gmres", "lgmres", "lsmr", "lsqr", "minres", "spsolve"]


def _squared(a: Any, b: Array) -> None:
    rows, columns = a.shape
    if rows != columns:
        raise ValueError(located(f"matrix must be square (has shape {(rows, columns)})"))
    if type_of(b).shape[:1] != (rows,):
        raise ValueError(
            located(f"matrix - rhs dimension mismatch ({a.shape} - {type_of(b).shape[0]})")
        )


def spsolve(A: Any, b: Any, permc_spec: str | None = None, use_umfpack: bool = True) -> Array:
    """The solution x of ``A x = b`` for a sparse matrix, by a factorisation.

    Parameters
    ----------
    A : SparseArray or scipy.sparse matrix of shape (n, n)
        Its values are differentiable.
    b : array of shape (n,) or (n, k)
    permc_spec, use_umfpack
        As in SciPy.

    Raises
    ------
    ValueError
        The matrix is not square, or has another number of rows than `b`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.sparse import csr_array
    >>> from funcgrad.scipy.sparse.linalg import spsolve
    >>> a = lambda d: csr_array((d, [0, 1], [0, 1, 2]), shape=(2, 2))
    >>> fg.grad(lambda d: spsolve(a(d), np.ones(2))[1])(np.array([1.0, 2.0]))
    array([-0.  , -0.25])
    """
    if sp.issparse(b):
        raise UnsupportedCallError(located("spsolve: a sparse right-hand side is not supported"))
    a, b = as_sparse(A), as_float(as_array(b))
    _squared(a, b)
    by_rows = isinstance(A, SparseArray) or getattr(A, "format", "csc") == "csr"
    return solve(operand(a.data), b, a.pattern, permc_spec, "rows" if by_rows else "columns")


def _iterated(method: str, A: Any, b: Any, **options: Any) -> tuple[Array, Any]:
    if options.pop("callback", None) is not None:
        raise UnsupportedCallError(
            located(f"{method}: callback= is not supported on traced values")
        )
    if isinstance(A, spl.LinearOperator):
        raise UnsupportedCallError(
            located(
                f"{method}: a LinearOperator hides what its values are made of; give a sparse "
                "matrix of funcgrad.scipy.sparse, or a dense array"
            )
        )
    b = as_float(as_array(b))
    if sp.issparse(A) or isinstance(A, SparseArray):
        a = as_sparse(A)
        data, pattern = operand(a.data), a.pattern
        _squared(a, b)
    else:
        data, pattern = as_float(as_array(A)), None
        _squared(type_of(data), b)
    options = {k: v for k, v in options.items() if v is not None}
    for name in ("x0", "M"):
        if name in options:
            options[name] = Fixed(_held(options[name], name))
    x, info = solve_iteratively(data, b, pattern, method, options)
    return x, info


def _held(given: Any, name: str) -> Any:
    if sp.issparse(given) or isinstance(given, spl.LinearOperator):
        return given
    return np.asarray(known(given, f"the {name} of an iteration"))


_DOC = """The solution x of ``A x = b`` by SciPy's `{name}`, and whether it was found.

Parameters
----------
A : SparseArray, scipy.sparse matrix, or array of shape (n, n)
    Its values are differentiable.{symmetric}
b : array of shape (n,)
x0, M : optional
    The start and the preconditioner; they are constants.
**options
    Those of SciPy: `rtol`, `atol`, `maxiter` and others.

Returns
-------
x : array of shape (n,)
info : int
    0 if the iteration came to its tolerance.

Notes
-----
The derivative is that of the exact solution, from one more iteration with the transpose: it is as
exact as `rtol` and `atol` say.

Examples
--------
>>> import numpy as np
>>> import funcgrad as fg
>>> from funcgrad.scipy.sparse.linalg import {name}
>>> a = np.array([[2.0, 1.0], [1.0, 3.0]])
>>> fg.grad(lambda b: {name}(a, b, rtol=1e-12)[0][0])(np.ones(2)).round(9)
array([ 0.6, -0.2])
"""


def _define(name: str, symmetric: bool = False) -> Any:
    def run(A: Any, b: Any, x0: Any = None, **options: Any) -> tuple[Array, Any]:
        return _iterated(name, A, b, x0=x0, **options)

    run.__name__ = run.__qualname__ = name
    note = " It is symmetric (Hermitian), and so is what its derivative means." if symmetric else ""
    run.__doc__ = _DOC.format(name=name, symmetric=note)
    return run


bicg = _define("bicg")
bicgstab = _define("bicgstab")
cg = _define("cg", symmetric=True)
cgs = _define("cgs")
gmres = _define("gmres")
lgmres = _define("lgmres")
minres = _define("minres", symmetric=True)


# ----------------------------------------------------------------------------- least squares


def lsqr(
    A: Any,
    b: Any,
    damp: float = 0.0,
    atol: float = 1e-6,
    btol: float = 1e-6,
    conlim: float = 1e8,
    iter_lim: int | None = None,
    show: bool = False,
    calc_var: bool = False,
    x0: Any = None,
) -> tuple[Any, ...]:
    """The x for which ``|A x - b|² + damp² |x - x0|²`` is least, by SciPy's `lsqr`.

    Parameters
    ----------
    A : SparseArray, scipy.sparse matrix, or array of shape (m, n)
        Of full rank, unless `damp` is given; its values are differentiable.
    b : array of shape (m,)
    x0 : array of shape (n,), optional
        Differentiable too, where the solution depends on it.
    damp, atol, btol, conlim, iter_lim, calc_var : optional
        As in SciPy.

    Returns
    -------
    x, istop, itn, r1norm, r2norm, anorm, acond, arnorm, xnorm, var
        As in SciPy. The solution and `r1norm`, `r2norm`, `xnorm` are differentiable; the others are
        what the iteration estimates, and have no derivative.

    Notes
    -----
    The derivative is that of the exact solution, at its values: from a sparse factorisation of the
    augmented equations. Where there are more columns than rows it is that of the solution nearest
    to `x0`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.sparse.linalg import lsqr
    >>> a = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    >>> fg.grad(lambda b: lsqr(a, b)[0][1])(np.array([0.0, 1.0, 3.0])).round(9) + 0.0
    array([-0.5,  0. ,  0.5])
    """
    options = {
        "atol": atol, "btol": btol, "conlim": conlim, "iter_lim": iter_lim, "calc_var": calc_var
    }  # fmt: skip
    return least_squares("lsqr", A, b, damp, x0, show, options)


def lsmr(
    A: Any,
    b: Any,
    damp: float = 0.0,
    atol: float = 1e-6,
    btol: float = 1e-6,
    conlim: float = 1e8,
    maxiter: int | None = None,
    show: bool = False,
    x0: Any = None,
) -> tuple[Any, ...]:
    """The x for which ``|A x - b|² + damp² |x - x0|²`` is least, by SciPy's `lsmr`; as `lsqr`.

    Returns
    -------
    x, istop, itn, normr, normar, norma, conda, normx
        As in SciPy; x, `normr` and `normx` are differentiable.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.sparse.linalg import lsmr
    >>> a = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    >>> fg.grad(lambda b: lsmr(a, b)[0][1])(np.array([0.0, 1.0, 3.0])).round(9) + 0.0
    array([-0.5,  0. ,  0.5])
    """
    options = {"atol": atol, "btol": btol, "conlim": conlim, "maxiter": maxiter}
    return least_squares("lsmr", A, b, damp, x0, show, options)


publish(__name__, reason=why_not(__name__))
