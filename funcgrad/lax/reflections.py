"""`lax.linalg`: products of Householder's reflections, and the reductions that they serve."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import funcgrad.numpy as fnp
from funcgrad.core.tracer import operand as content
from funcgrad.core.tracer import type_of
from funcgrad.core.types import Array
from funcgrad.errors import located
from funcgrad.transforms.abstract import ShapeDtypeStruct
from funcgrad.transforms.callback import pure_callback

__all__ = [
    "cholesky_update",
    "hessenberg",
    "householder_product",
    "ormqr",
    "schur",
    "tridiagonal",
]


def householder_product(a: Any, taus: Any) -> Array:
    """The product of reflections ``1 - tau v vᴴ``, of which the first columns are given.

    Parameters
    ----------
    a : array (…, m, n)
        Below the diagonal of column `k` the elements of `v`, whose element `k` is 1, and those
        before it 0.
    taus : array (…, k)

    Returns
    -------
    array (…, m, n)
        Unitary columns, where the factors are those of a factorisation.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.linalg.householder_product(np.array([[1.0], [1.0]]), np.array([1.0]))
    array([[ 0.],
           [-1.]])
    """
    aval = type_of(content(a))
    one = np.eye(*aval.shape[-2:], dtype=aval.dtype)
    return _reflected(a, taus, np.broadcast_to(one, aval.shape), False)


def ormqr(a: Any, taus: Any, c: Any, *, left: bool = True, transpose: bool = False) -> Array:
    """``q c``, or ``c q``, for the square q that `householder_product` gives the first columns of.

    Parameters
    ----------
    a, taus
        As of `householder_product`.
    c : array (…, m, k), or (…, k, m) unless `left`
    transpose : bool, optional
        Whether to take qᴴ in the place of q.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.linalg.ormqr(np.array([[1.0], [1.0]]), np.array([1.0]), np.eye(2))
    array([[ 0., -1.],
           [-1.,  0.]])
    """
    if left:
        return _reflected(a, taus, c, transpose)
    return _adjoint(_reflected(a, taus, _adjoint(c), not transpose))


def _adjoint(x: Any) -> Any:
    return fnp.conj(fnp.swapaxes(x, -1, -2))


def _reflected(a: Any, taus: Any, c: Any, transpose: bool) -> Any:
    """The reflections applied to `c`, the last one first; the other way round their adjoints."""
    m, count = type_of(content(a)).shape[-2], type_of(content(taus)).shape[-1]
    rows = np.arange(m)[:, None]
    for k in range(count) if transpose else reversed(range(count)):
        column = fnp.asarray(a)[..., k : k + 1]
        v = fnp.where(rows > k, column, (rows == k).astype(type_of(content(a)).dtype))
        tau = fnp.asarray(taus)[..., k, None, None]
        c = c - (fnp.conj(tau) if transpose else tau) * v * fnp.matmul(_adjoint(v), c)
    return c


def cholesky_update(r_matrix: Any, w_vector: Any) -> Array:
    """The upper Cholesky factor of ``rᵀ r + w wᵀ``, of the factors themselves.

    Parameters
    ----------
    r_matrix : array (…, n, n)
        Upper triangular.
    w_vector : array (…, n)

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.linalg.cholesky_update(np.array([[3.0]]), np.array([4.0]))
    array([[5.]])
    """
    rows = fnp.concatenate([fnp.asarray(r_matrix), fnp.asarray(w_vector)[..., None, :]], -2)
    r = fnp.linalg.qr(rows, "r")
    signs = fnp.sign(fnp.diagonal(r, axis1=-2, axis2=-1))
    return fnp.where(signs == 0, 1.0, signs)[..., None] * r


def _square(x: Any, what: str) -> Any:
    aval = type_of(content(x))
    if aval.ndim < 2 or aval.shape[-1] != aval.shape[-2]:
        raise ValueError(located(f"{what}: matrices have to be square, not of shape {aval.shape}"))
    return aval


def _called(f: Callable[..., Any], x: Any, *shapes: tuple[int, ...], kinds: Any = None) -> Any:
    """What LAPACK gives for each matrix of a stack; it has no derivative."""
    aval = type_of(content(x))
    kinds = [aval.dtype] * len(shapes) if kinds is None else kinds
    each = lambda v: np.vectorize(f, signature=f"(n,n)->{_signature(shapes)}")(v)
    found = tuple(
        ShapeDtypeStruct((*aval.shape[:-2], *s), t) for s, t in zip(shapes, kinds, strict=True)
    )
    return pure_callback(each, found, x, vmap_method="expand_dims")


def _signature(shapes: Sequence[tuple[int, ...]]) -> str:
    """The outputs of a generalised ufunc: matrices, and vectors each of its own length."""
    return ",".join("(n,n)" if len(s) == 2 else f"(k{i})" for i, s in enumerate(shapes))


def schur(
    x: Any,
    *,
    compute_schur_vectors: bool = True,
    sort_eig_vals: bool = False,
    select_callable: Any = None,
) -> tuple[Array, Array]:
    """Schur's form ``x = z t zᴴ`` of square matrices (needs SciPy), without a derivative.

    Parameters
    ----------
    x : array (…, n, n)
    compute_schur_vectors : bool, optional
        Accepted; both are computed.
    sort_eig_vals : bool, optional
        Not supported.

    Returns
    -------
    t, z : array (…, n, n)
        `t` is upper triangular, of real matrices with blocks of two for complex eigenvalues; `z`
        is unitary.

    Raises
    ------
    NotDifferentiableError
        The matrix is differentiated.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.linalg.schur(np.diag([1.0, 2.0]))[0]
    array([[1., 0.],
           [0., 2.]])
    """
    from funcgrad.scipy import linalg  # an extra, imported on first use

    if sort_eig_vals:
        raise ValueError(located("schur: sort_eig_vals is not supported"))
    n = _square(x, "schur").shape[-1]
    found: tuple[Array, Array] = _called(linalg.schur, x, (n, n), (n, n))
    return found


def hessenberg(a: Any) -> tuple[Array, Array]:
    """Hessenberg's form of square matrices (needs SciPy), without a derivative.

    Parameters
    ----------
    a : array (…, n, n)

    Returns
    -------
    a : array (…, n, n)
        The form in the upper triangle and the diagonal below it; further below, the reflections
        that lead to it, as `householder_product` takes them from the second row on.
    taus : array (…, n - 1)

    Raises
    ------
    NotDifferentiableError
        The matrix is differentiated.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.linalg.hessenberg(np.array([[1.0, 2.0], [3.0, 4.0]]))
    (array([[1., 2.],
           [3., 4.]]), array([0.]))
    """
    from funcgrad.scipy import linalg  # an extra, imported on first use

    kind = _square(a, "hessenberg")
    (gehrd,) = linalg.lapack.get_lapack_funcs(("gehrd",), dtype=kind.dtype)
    n = kind.shape[-1]
    found: tuple[Array, Array] = _called(lambda x: gehrd(x)[:2], a, (n, n), (n - 1,))
    return found


def tridiagonal(a: Any, *, lower: bool = True) -> tuple[Array, Array, Array, Array]:
    """The tridiagonal form of Hermitian matrices (needs SciPy), without a derivative.

    Parameters
    ----------
    a : array (…, n, n)
    lower : bool, optional
        Which half is read.

    Returns
    -------
    a : array (…, n, n)
        The form in the diagonal and the one below it (above it, unless `lower`); further away the
        reflections that lead to it, and in the other half what was there.
    d : array (…, n), real
        The diagonal.
    e : array (…, n - 1), real
        The diagonal below it.
    taus : array (…, n - 1)

    Raises
    ------
    NotDifferentiableError
        The matrix is differentiated.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad import lax
    >>> lax.linalg.tridiagonal(np.array([[1.0, 2.0], [2.0, 4.0]]))[1:]
    (array([1., 4.]), array([2.]), array([0.]))
    """
    from funcgrad.scipy import linalg  # an extra, imported on first use

    kind = _square(a, "tridiagonal")
    name = "hetrd" if kind.dtype.kind == "c" else "sytrd"
    (reduced,) = linalg.lapack.get_lapack_funcs((name,), dtype=kind.dtype)
    n, real = kind.shape[-1], np.dtype(kind.dtype.type(0).real.dtype)
    found: tuple[Array, Array, Array, Array] = _called(
        lambda x: reduced(x, lower=lower)[:4],
        a,
        (n, n),
        (n,),
        (n - 1,),
        (n - 1,),
        kinds=(kind.dtype, real, real, kind.dtype),
    )
    return found
