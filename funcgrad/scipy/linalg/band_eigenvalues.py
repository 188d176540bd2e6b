"""Eigenvalues and eigenvectors of Hermitian bands and tridiagonal matrices.

Their rules are those of the full matrix, which they make.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg as sp

from funcgrad.core.forms import Explicit, each_lane, explicit
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import bind, type_of
from funcgrad.core.types import Array, ArrayType, zeros
from funcgrad.numpy.function_calls import numpy_function, refuse
from funcgrad.ops import factor
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import concatenate, stack
from funcgrad.scipy.linalg.banded import bands, dense
from funcgrad.scipy.linalg.define import as_lapack
from funcgrad.transforms.jvp import jvp
from funcgrad.transforms.vjp import vjp

__all__ = ["eig_banded", "eigh_tridiagonal", "eigvals_banded", "eigvalsh_tridiagonal"]


def _through(
    name: str, value: Callable[..., Any], base: Explicit, whole: Callable[..., Array], sample: Any
) -> Explicit:
    """A record with SciPy's value and the rules of `base` of the matrix ``whole(*operands)``."""

    def pull(g: Any, y: Any, *xs: Array, needs: Any, **params: Any) -> list[Array | None]:
        matrix, back = vjp(lambda *bands: whole(*bands, **params), *xs)
        (rule,) = base.vjp_rule
        found = back(rule(g, y, matrix))
        return [c if need else None for c, need in zip(found, needs, strict=True)]

    def filled(xs: Any, ts: Any, params: Any) -> Any:
        given = tuple(zeros(type_of(x)) if t is None else t for x, t in zip(xs, ts, strict=True))
        return jvp(lambda *bands: whole(*bands, **params), tuple(xs), given)

    def push(y: Any, xs: Any, ts: Any, **params: Any) -> Any:
        matrix, moved = filled(xs, ts, params)
        assert base.jvp_stated is not None
        return base.jvp_stated(y, (matrix,), (moved,))

    def along(xs: Any, ts: Any, y: Any, **params: Any) -> Any:
        matrix, moved = filled(xs, ts, params)
        return base.along((matrix,), (moved,), y)  # type: ignore[attr-defined]

    def type_rule(*types: ArrayType, **_: Any) -> Any:
        n, dtype = types[0].shape[-1], np.result_type(*(t.dtype for t in types))
        return base.type_rule([ArrayType((*types[0].shape[:-2], n, n), dtype)], {})

    record: Explicit = explicit(
        name,
        value,
        type_rule=type_rule,
        vjp=pull,
        jvp=push,
        batch=lambda size, xs, batched, params: each_lane(record, size, xs, batched, params),
        multiple=base.multiple,
        sample=sample,
        unread=base.unread,
        both=base.both,
        form=type(base),
    )
    record.along = along  # type: ignore[attr-defined]
    return record


EIG_BANDED = _through(
    "scipy_eig_banded",
    lambda ab, lower: tuple(sp.eig_banded(ab, lower=lower, check_finite=False)),
    factor.EIGH,
    dense,
    bands,
)
EIGVALS_BANDED = _through(
    "scipy_eigvals_banded",
    lambda ab, lower: sp.eigvals_banded(ab, lower=lower, check_finite=False),
    factor.EIGVALSH,
    dense,
    bands,
)


def _tridiagonal(d: Any, e: Any) -> Array:
    low = concatenate([e, zeros(ArrayType((1,), type_of(e).dtype))], 0)
    return dense(stack([d, low]), True)


def _diagonals() -> list[Sample]:
    return [Sample((4 * draw((4,)), draw((3,), seed=1)))]


EIGH_TRIDIAGONAL = _through(
    "scipy_eigh_tridiagonal",
    lambda d, e: tuple(sp.eigh_tridiagonal(d, e, check_finite=False)),
    factor.EIGH,
    _tridiagonal,
    _diagonals,
)
EIGVALSH_TRIDIAGONAL = _through(
    "scipy_eigvalsh_tridiagonal",
    lambda d, e: sp.eigvalsh_tridiagonal(d, e, check_finite=False),
    factor.EIGVALSH,
    _tridiagonal,
    _diagonals,
)


def _all_of_them(name: str, select: Any, **more: Any) -> None:
    refuse(f"linalg.{name}", select=None if select in ("a", "all", 0) else select, **more)


@numpy_function(sp.eig_banded)
def eig_banded(
    a_band: Any,
    lower: bool = False,
    eigvals_only: bool = False,
    overwrite_a_band: bool = False,
    select: Any = "a",
    select_range: Any = None,
    max_ev: int = 0,
    check_finite: bool = True,
) -> Any:
    """Eigenvalues in ascending order and eigenvectors of a Hermitian band, as `eigh` gives them.

    Parameters
    ----------
    a_band : array of shape (u + 1, n)
        As of `cholesky_banded`.
    lower, eigvals_only : bool, optional
        As in SciPy; all eigenvalues of a traced band are computed.
    """
    _all_of_them("eig_banded", select)
    params = {"lower": bool(lower)}
    if eigvals_only:
        return bind(EIGVALS_BANDED, (as_lapack(a_band),), params)
    return tuple(bind(EIG_BANDED, (as_lapack(a_band),), params))


@numpy_function(sp.eigvals_banded)
def eigvals_banded(
    a_band: Any,
    lower: bool = False,
    overwrite_a_band: bool = False,
    select: Any = "a",
    select_range: Any = None,
    check_finite: bool = True,
) -> Array:
    """The eigenvalues that `eig_banded` gives."""
    _all_of_them("eigvals_banded", select)
    return bind(EIGVALS_BANDED, (as_lapack(a_band),), {"lower": bool(lower)})


@numpy_function(sp.eigh_tridiagonal)
def eigh_tridiagonal(
    d: Any,
    e: Any,
    eigvals_only: bool = False,
    select: Any = "a",
    select_range: Any = None,
    check_finite: bool = True,
    tol: float = 0.0,
    lapack_driver: str = "auto",
) -> Any:
    """Eigenvalues and eigenvectors of the matrix with `d` on its diagonal and `e` beside it.

    Parameters
    ----------
    d, e : array of shape (n,), (n - 1,)

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.linalg
    >>> import funcgrad as fg
    >>> d, e = np.array([1.0, 3.0]), np.zeros(1)
    >>> fg.grad(lambda d: scipy.linalg.eigh_tridiagonal(d, e)[0][1])(d)
    array([0., 1.])
    """
    _all_of_them(
        "eigh_tridiagonal", select, lapack_driver=None if lapack_driver == "auto" else lapack_driver
    )
    pair = as_lapack(d), as_lapack(e)
    return bind(EIGVALSH_TRIDIAGONAL, pair) if eigvals_only else tuple(bind(EIGH_TRIDIAGONAL, pair))


@numpy_function(sp.eigvalsh_tridiagonal)
def eigvalsh_tridiagonal(
    d: Any,
    e: Any,
    select: Any = "a",
    select_range: Any = None,
    check_finite: bool = True,
    tol: float = 0.0,
    lapack_driver: str = "auto",
) -> Array:
    """The eigenvalues that `eigh_tridiagonal` gives."""
    return eigh_tridiagonal(d, e, True, select, select_range, lapack_driver=lapack_driver)
