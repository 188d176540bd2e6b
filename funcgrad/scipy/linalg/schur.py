"""Schur's triangular form a = z t zᴴ.

With m = zᴴ a' z and x = zᴴ z', t' = m - (x t - t x), which has to be triangular: that gives the
part of x below the diagonal, and the rest since x is skew-Hermitian. Phases of the columns of z are
LAPACK's choice: what depends on them has no derivative.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as sp

from funcgrad.core.forms import Explicit, explicit
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import bind, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.errors import UnsupportedCallError, located
from funcgrad.numpy.function_calls import numpy_function
from funcgrad.ops.arithmetic import cast, multiply, negative, subtract
from funcgrad.ops.constant import Constant, constant
from funcgrad.ops.matrices import adjoint, complex_, definite, real_dtype, regular
from funcgrad.ops.product import matmul
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import swap_last
from funcgrad.scipy.linalg.define import by_lanes, sized, square_matrix, stacked

__all__ = ["schur"]


def _lower(x: Any) -> Any:
    """The part below the diagonal."""
    n = type_of(x).shape[-1]
    return multiply(x, np.tri(n, n, -1, real_dtype(type_of(x).dtype)))


def _turn_value(t: Any, m: Any, transposed: bool) -> Any:
    """The x below the diagonal of which that part of ``x t - t x`` is `m`'s.

    Its elements depend on those that lie farther from the diagonal, or, transposed, nearer to it.
    """
    n = len(t)
    if np.any(np.tril(t, -1)):
        raise UnsupportedCallError(
            located(
                "scipy.linalg.schur: this matrix has complex eigenvalues, and the real form of it "
                'has no derivative here; pass output="complex"'
            )
        )
    x = np.zeros(m.shape, np.result_type(t, m))
    for away in range(1, n) if transposed else range(n - 1, 0, -1):
        for j in range(n - away):
            i = j + away
            if transposed:
                rest = x[i, j + 1 : i] @ t[j, j + 1 : i] - t[j + 1 : i, i] @ x[j + 1 : i, j]
            else:
                rest = x[i, :j] @ t[:j, j] - t[i, i + 1 :] @ x[i + 1 :, j]
            with np.errstate(all="ignore"):
                x[i, j] = (m[i, j] - rest) / (t[j, j] - t[i, i])
    return x


def _turn_t(g: Any, x: Any, t: Any, m: Any, *, transposed: bool) -> Array:
    h = bind(TURN, (t, g), {"transposed": not transposed})
    left, right = (h, x) if transposed else (x, h)
    back = swap_last(left)
    return negative(subtract(matmul(back, right), matmul(right, back)))


TURN: Explicit = explicit(
    "scipy_schur_turn",
    stacked(_turn_value),
    type_rule=lambda t, m, **_: ArrayType(t.shape, np.result_type(t.dtype, m.dtype)),
    batch=lambda *given: by_lanes(TURN, *given),
    vjp=(
        _turn_t,
        lambda g, _x, t, _m, *, transposed: bind(TURN, (t, g), {"transposed": not transposed}),
    ),
    linear_in=(1,),
    sample=lambda: [
        Sample((np.triu(regular()), draw((3, 3))), {"transposed": False}, smooth=False),
        Sample((np.triu(regular(2)), draw((2, 3, 3))), {"transposed": True}, smooth=False),
    ],
)


def _schur_jvp(y: Any, _xs: Any, ts: Any, **_: Any) -> Any:
    (t, z), (ta,) = y, ts
    m = matmul(matmul(adjoint(z), ta), z)
    low = bind(TURN, (t, _lower(m)), {"transposed": False})
    x = subtract(low, adjoint(low))
    moved = subtract(m, subtract(matmul(x, t), matmul(t, x)))
    return subtract(moved, _lower(moved)), matmul(z, x)


def _schur_value(a: Any, **params: Any) -> Any:
    return tuple(sp.schur(a, **params)[:2])


SCHUR: Explicit = explicit(
    "scipy_schur",
    sized(lambda: SCHUR, _schur_value),
    type_rule=lambda a, **_: (a, a),
    jvp=_schur_jvp,
    batch=lambda *given: by_lanes(SCHUR, *given),
    multiple=True,
    sample=lambda: [
        Sample((definite() + np.triu(draw((3, 3))),)),
        Sample((complex_(regular(2)),), smooth=False),
    ],
)
COUNT: Constant = constant(
    "scipy_schur_count",
    sized(lambda: COUNT, lambda a, sort: np.asarray(sp.schur(a, sort=sort)[2])),
    lambda a, **_: ArrayType(a.shape[:-2], np.dtype(np.intp)),
    lambda size, xs, batched, params: bind(COUNT, xs, params),
    lambda: [Sample((definite(),), {"sort": "rhp"})],
)


@numpy_function(sp.schur)
def schur(
    a: Any,
    output: str = "real",
    lwork: Any = None,
    overwrite_a: bool = False,
    sort: Any = None,
    check_finite: bool = True,
) -> Any:
    """The factors t, upper triangular, and z, unitary, of ``a = z t zᴴ``.

    Parameters
    ----------
    a : array of shape (…, n, n)
    output : {"real", "complex"}, optional
        The real form of a real matrix with complex eigenvalues has no derivative.
    sort : str or callable, optional
        Which eigenvalues come first, as in SciPy; their number is returned, too.

    Raises
    ------
    UnsupportedCallError
        Of the derivative of a real form with complex eigenvalues.

    Notes
    -----
    A function that depends on the phases of the columns of z has no derivative, and where
    eigenvalues coincide its gradient is infinite or NaN.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.linalg
    >>> import funcgrad as fg
    >>> a = np.array([[2.0, 1.0], [0.0, 1.0]])
    >>> fg.grad(lambda a: scipy.linalg.schur(a)[0][0, 0])(a)
    array([[1., 0.],
           [1., 0.]])
    """
    if output not in ("real", "complex", "r", "c"):
        raise ValueError("argument must be 'real', or 'complex'")
    a = square_matrix(a, "schur")
    if output in ("complex", "c") and type_of(a).dtype.kind != "c":
        a = cast(a, np.result_type(type_of(a).dtype, np.complex64))
    params = {} if sort is None else {"sort": sort}
    t, z = bind(SCHUR, (a,), params)
    return (t, z) if sort is None else (t, z, bind(COUNT, (a,), params))
