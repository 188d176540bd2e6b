"""Eigenvalues and eigenvectors of symmetric matrices and pencils, of bands, and of any matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as sp

from funcgrad.core.forms import Explicit, explicit
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import bind, concrete, type_of, value
from funcgrad.core.types import Array, ArrayType
from funcgrad.errors import UnsupportedCallError, located
from funcgrad.numpy.function_calls import numpy_function, refuse
from funcgrad.ops import eigen, equal_values, factor
from funcgrad.ops.arithmetic import add, multiply, negative, real, subtract
from funcgrad.ops.index import take_along_axis
from funcgrad.ops.matrices import (
    adjoint,
    column,
    complex_,
    definite,
    regular,
    row,
)
from funcgrad.ops.product import matmul
from funcgrad.ops.solve import SOLVE
from funcgrad.ops.sums import sum as total
from funcgrad.scipy.linalg.define import (
    by_lanes,
    lapack_lies,
    revalued,
    same_stacks,
    sized,
    square_matrix,
)
from funcgrad.scipy.linalg.subsets import some_of

__all__ = ["eig", "eigh", "eigvals", "eigvalsh"]

# -------------------------------------------------------------------------------------- eigenvalues

EIGH = revalued(
    factor.EIGH,
    "eigh",
    lambda a, uplo="L": tuple(sp.eigh(a, lower=uplo == "L")),
    # a small change of the matrix may turn the sign of a vector
    lambda: [s._replace(smooth=False) for s in factor.EIGH.sample()],  # type: ignore[misc]
)
EIGVALSH = revalued(
    factor.EIGVALSH, "eigvalsh", lambda a, uplo="L": sp.eigvalsh(a, lower=uplo == "L")
)


def _pencil_moved(y: Any, ts: Any) -> tuple[Array, Array | None]:
    """Vᴴ (a' - w b') V, and Vᴴ b' V if `b` moves, for Vᴴ b V = 1."""
    w, v = y
    a, b = (None if t is None else matmul(matmul(adjoint(v), _symmetric(t)), v) for t in ts)
    if b is None:
        assert a is not None
        return a, None
    less = negative(multiply(b, row(w)))
    return less if a is None else add(a, less), b


def _symmetric(t: Array) -> Array:
    return multiply(0.5, add(t, adjoint(t)))


def _pencil_jvp(y: Any, xs: Any, ts: Any, *, lower: bool) -> Any:
    """Of a v = w b v: w' = diag(m), v' = V c, c_ij = m_ij / (w_j - w_i), with m = Vᴴ(a' - w b')V.

    On the diagonal c is -Vᴴb'V / 2, for the lengths. Where eigenvalues coincide c is NaN.
    """
    w, v = y
    m, moved_b = _pencil_moved(y, ts)
    own = np.eye(type_of(w).shape[-1], dtype=type_of(w).dtype)
    turn = multiply(equal_values.apart(subtract(row(w), column(w)), w), m)
    if moved_b is not None:
        turn = add(turn, multiply(moved_b, -0.5 * own))
    return total(multiply(real(m), own), -2), matmul(v, turn)


def _pencils() -> list[Sample]:
    return [
        Sample((definite(), definite(seed=3)), {"lower": True}),
        Sample((definite(2, n=2), definite(2, n=2, seed=3)), {"lower": False}),
    ]


PENCIL: Explicit = explicit(
    "scipy_eigh_pencil",
    sized(lambda: PENCIL, lambda a, b, lower: tuple(sp.eigh(a, b, lower=lower))),
    type_rule=lambda a, b, *, lower: factor.EIGH.type_rule((a,), {}),
    jvp=_pencil_jvp,
    batch=lambda *given: by_lanes(PENCIL, *given),
    multiple=True,
    sample=_pencils,
)


def _pencil_values_jvp(_w: Any, xs: Any, ts: Any, *, lower: bool) -> Array:
    y = bind(PENCIL, xs, {"lower": lower})
    own = np.eye(type_of(y[0]).shape[-1], dtype=type_of(y[0]).dtype)
    return total(multiply(real(_pencil_moved(y, ts)[0]), own), -2)


PENCIL_VALUES: Explicit = explicit(
    "scipy_eigvalsh_pencil",
    sized(lambda: PENCIL_VALUES, lambda a, b, lower: sp.eigvalsh(a, b, lower=lower)),
    type_rule=lambda a, b, *, lower: factor.EIGVALSH.type_rule((a,), {}),
    jvp=_pencil_values_jvp,
    batch=lambda *given: by_lanes(PENCIL_VALUES, *given),
    sample=_pencils,
)
for _prim in (PENCIL, PENCIL_VALUES):
    _prim.symmetric = True  # type: ignore[attr-defined]
    _prim.lies = lapack_lies


def _eigen(
    name: str,
    a: Any,
    b: Any,
    lower: bool,
    type: Any,
    values: bool,
    index: Any,
    by: Any,
    driver: Any,
) -> Any:
    if type != 1 and b is not None:
        told = f"scipy.linalg.{name}: {type=} is not supported on traced values; solve with b first"
        raise UnsupportedCallError(located(told))
    a = square_matrix(a, name)
    pair = (a,) if b is None else tuple(same_stacks(a, square_matrix(b, name)))
    if not (index is None and by is None and driver is None):
        # SciPy's errors for what it refuses
        sp.eigh(
            *(np.eye(type_of(a).shape[-1]) for _ in pair),
            subset_by_index=index, subset_by_value=by, driver=driver, eigvals_only=values,
        )  # fmt: skip
        return some_of(pair, bool(lower), values, index, by, driver)
    if b is None:
        params = {} if lower else {"uplo": "U"}
        return bind(EIGVALSH if values else EIGH, (a,), params)
    return bind(PENCIL_VALUES if values else PENCIL, pair, {"lower": bool(lower)})


@numpy_function(sp.eigh)
def eigh(
    a: Any,
    b: Any = None,
    *,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: Any = None,
    subset_by_value: Any = None,
    driver: Any = None,
) -> Any:
    """Eigenvalues and eigenvectors of a symmetric or Hermitian matrix, or of ``a v = w b v``.

    Parameters
    ----------
    a, b : array of shape (…, n, n)
        `b` is positive definite. The gradients are those of symmetric matrices, spread over both
        triangles.
    lower, eigvals_only, subset_by_index, subset_by_value, driver : optional
        As in SciPy. How many values lie in an interval is asked of the values at hand: `jit` traces
        anew for another number, and under `vmap` all examples need the same one.
    type : int, optional
        1; the others are not supported on traced values.

    Notes
    -----
    Where eigenvalues coincide, a function that uses the vectors has the gradient NaN, one that uses
    the values alone an exact one.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.linalg
    >>> import funcgrad as fg
    >>> a, b = np.diag([1.0, 2.0]), np.diag([2.0, 1.0])
    >>> fg.grad(lambda b: scipy.linalg.eigh(a, b)[0][0])(b)
    array([[-0.25,  0.  ],
           [ 0.  ,  0.  ]])
    """
    subset = subset_by_index, subset_by_value
    found = _eigen("eigh", a, b, lower, type, eigvals_only, *subset, driver)
    return found if eigvals_only else tuple(found)


@numpy_function(sp.eigvalsh)
def eigvalsh(
    a: Any,
    b: Any = None,
    *,
    lower: bool = True,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: Any = None,
    subset_by_value: Any = None,
    driver: Any = None,
) -> Array:
    """The eigenvalues that `eigh` gives, in ascending order."""
    return _eigen("eigvalsh", a, b, lower, type, True, subset_by_index, subset_by_value, driver)


# ------------------------------------------------------------------------------ of any matrix


def _complex(*types: ArrayType) -> np.dtype[Any]:
    return np.result_type(np.complex64, *(t.dtype for t in types))


def _eig_value(a: Any) -> tuple[Any, Any]:
    w, v = sp.eig(a)
    return w.astype(_complex(type_of(a))), v.astype(_complex(type_of(a)))


EIG = revalued(eigen.EIG, "eig", _eig_value)
EIGVALS = revalued(eigen.EIGVALS, "eigvals", lambda a: sp.eigvals(a).astype(_complex(type_of(a))))


def _any_pencil_jvp(y: Any, xs: Any, ts: Any) -> Array:
    """Of a v = w b v the values are those of b⁻¹ a, perhaps in another order."""
    (a, b), (ta, tb) = xs, ts
    matrix = bind(SOLVE, (b, a))
    moved = None if tb is None else negative(matmul(tb, matrix))
    if ta is not None:
        moved = ta if moved is None else add(ta, moved)
    w, v = bind(eigen.EIG, (matrix,))
    inside = bind(SOLVE, (v, matmul(bind(SOLVE, (b, moved)), v)))
    found = total(multiply(inside, np.eye(type_of(w).shape[-1], dtype=type_of(w).dtype)), -1)
    return take_along_axis(found, bind(eigen.MATCHING, (y, w)), -1)


ANY_PENCIL: Explicit = explicit(
    "scipy_eigvals_pencil",
    sized(lambda: ANY_PENCIL, lambda a, b: sp.eigvals(a, b).astype(_complex(type_of(a)))),
    type_rule=lambda a, b: ArrayType(a.shape[:-1], _complex(a, b)),
    jvp=_any_pencil_jvp,
    batch=lambda *given: by_lanes(ANY_PENCIL, *given),
    sample=lambda: [
        Sample((regular(), regular(seed=1))),
        Sample((complex_(regular(2)), complex_(regular(2, seed=1)))),
    ],
)


def _values_of(a: Array, b: Any, name: str) -> Array:
    if b is None:
        return bind(EIGVALS, (a,))
    return bind(ANY_PENCIL, same_stacks(a, square_matrix(b, name)))


@numpy_function(sp.eig)
def eig(
    a: Any,
    b: Any = None,
    left: bool = False,
    right: bool = True,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    homogeneous_eigvals: bool = False,
) -> Any:
    """Eigenvalues, which are complex, and right eigenvectors of a square matrix.

    Parameters
    ----------
    a, b : array of shape (…, n, n)
        With `b` of ``a v = w b v``, of which the values alone have a derivative.
    left, right : bool, optional
        As in SciPy; left vectors are not supported on traced values.

    Notes
    -----
    As of `funcgrad.numpy.linalg.eig`: the vectors keep their norm and phase, and a function that
    uses them has the gradient NaN where eigenvalues coincide. They are complex under `jit` and
    `vmap` also where the matrix and its eigenvalues are real.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.linalg
    >>> import funcgrad as fg
    >>> a = np.array([[2.0, 1.0], [0.0, 1.0]])
    >>> fg.grad(lambda a: scipy.linalg.eig(a)[0][0].real)(a)
    array([[1., 0.],
           [1., 0.]])
    """
    refuse("scipy.linalg.eig", left=left or None, homogeneous_eigvals=homogeneous_eigvals or None)
    a = square_matrix(a, "eig")
    if not right:
        return _values_of(a, b, "eig")
    if b is not None:
        raise UnsupportedCallError(
            located(
                "scipy.linalg.eig: the vectors of a v = w b v have no derivative here; take the "
                "values, with right=False, or eig(solve(b, a))"
            )
        )
    w, v = bind(EIG, (a,))
    if type_of(a).dtype.kind != "c" and concrete(w) and not np.any(np.imag(value(w))):
        v = real(v)
    return w, v


@numpy_function(sp.eigvals)
def eigvals(
    a: Any,
    b: Any = None,
    overwrite_a: bool = False,
    check_finite: bool = True,
    homogeneous_eigvals: bool = False,
) -> Array:
    """The eigenvalues that `eig` gives, of a square matrix or of ``a v = w b v``."""
    refuse("scipy.linalg.eigvals", homogeneous_eigvals=homogeneous_eigvals or None)
    return _values_of(square_matrix(a, "eigvals"), b, "eigvals")
