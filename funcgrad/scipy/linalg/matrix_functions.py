"""Functions of a matrix: exponential, logarithm, square root, powers, and those made of them.

Their derivative L(A, E), Fréchet's, is read off the function of a larger matrix (Higham, "Functions
of Matrices" 2008, equation 3.16): f([[A, E], [0, A]]) has L(A, E) as its upper right block. It is
exact also where eigenvalues are equal or the matrix cannot be diagonalised, where divided
differences need a limit, and it gives the derivatives of L itself. The transpose of E -> L(A, E) is
g -> L(Aᵀ, g).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg as sp

from funcgrad.core.forms import Explicit, explicit
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import bind, concrete, type_of
from funcgrad.core.types import Array, ArrayType, zeros
from funcgrad.errors import AbstractValueError, located
from funcgrad.numpy.function_calls import numpy_function, refuse
from funcgrad.ops.arithmetic import add, imag, multiply, negative, real, subtract
from funcgrad.ops.index import getitem
from funcgrad.ops.matrices import complex_, definite, regular
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import concatenate, swap_last
from funcgrad.scipy.linalg.define import by_lanes, lapack_lies, loops, square_matrix, stacked
from funcgrad.scipy.linalg.equations import SYLVESTER, sylvester
from funcgrad.scipy.linalg.solvers import solve

__all__ = [
    "coshm",
    "cosm",
    "expm",
    "logm",
    "sinhm",
    "sinm",
    "sqrtm",
    "tanhm",
    "tanm",
]


def real_where_known(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, and an error where its result is complex and the staged graph says real."""

    def checked(*given: Any, stays_real: bool = False, **params: Any) -> Any:
        made = function(*given, **params)
        if stays_real and np.iscomplexobj(made) and not any(map(np.iscomplexobj, given)):
            raise AbstractValueError(
                located(
                    "the function of this real matrix is complex, which was not known when it was "
                    "traced by jit or vmap; pass a complex matrix"
                )
            )
        return made

    return checked


def _joined(a: Array, b: Array, c: Array, d: Array) -> Array:
    last = type_of(a).ndim - 1
    return concatenate([concatenate([a, b], last), concatenate([c, d], last)], last - 1)


def _block(x: Array, row: int, column: int) -> Array:
    n = type_of(x).shape[-1] // 2
    part = (slice(0, n), slice(n, None))
    return getitem(x, (Ellipsis, part[row], part[column]))


def _matrix_function(
    name: str, value: Callable[..., Any], slope: Callable[..., Any], double: bool = False
) -> tuple[Explicit, Explicit]:
    """The records of a function of a matrix and of its derivative ``slope(a, e)``.

    `double`: SciPy computes in double precision whatever it is given.
    """

    def _slope_a(g: Any, _y: Any, a: Any, e: Any, **params: Any) -> Any:
        none = zeros(type_of(a))
        whole = _joined(swap_last(a), none, swap_last(e), swap_last(a))
        found = bind(SLOPE, (whole, _joined(none, g, none, none)), params)
        return add(_block(found, 0, 0), _block(found, 1, 1))

    def function_type(*types: ArrayType, **params: Any) -> ArrayType:
        least = np.float64 if double else np.float32
        return ArrayType(types[0].shape, np.result_type(least, *(t.dtype for t in types)))

    SLOPE: Explicit = explicit(
        f"scipy_{name}_slope",
        real_where_known(stacked(slope)),
        type_rule=function_type,
        batch=lambda *given: by_lanes(SLOPE, *given),
        vjp=(_slope_a, lambda g, _y, a, _e, **params: bind(SLOPE, (swap_last(a), g), params)),
        linear_in=(1,),
        sample=lambda: [
            Sample((definite(n=2), draw((2, 2)))),
            Sample((complex_(regular(2, n=2)), draw((2, 2, 2)))),
        ],
    )
    FUNCTION: Explicit = explicit(
        f"scipy_{name}",
        real_where_known(value),
        signature="(n,n)->(n,n)",
        type_rule=function_type,
        vjp=(lambda g, _y, a, **params: bind(SLOPE, (swap_last(a), g), params),),
        sample=lambda: [
            Sample((definite(n=2),)),
            Sample((complex_(regular(2, n=2)),)),
            Sample((definite(n=2).astype(np.float32),)),
            Sample((np.eye(2) + np.eye(2, k=1),)),  # it cannot be diagonalised
        ],
    )
    FUNCTION.lies = SLOPE.lies = lapack_lies
    return FUNCTION, SLOPE


def _expm_slope(a: Any, e: Any) -> Any:
    dtype = np.result_type(a, e)
    return sp.expm_frechet(a, e, compute_expm=False, check_finite=False).astype(dtype)


def quietly(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, which estimates norms with random vectors, without a trace in NumPy's numbers."""

    def quiet(*given: Any, **params: Any) -> Any:
        state = np.random.get_state()
        try:
            return function(*given, **params)
        finally:
            np.random.set_state(state)

    return quiet


EXPM, EXPM_SLOPE = _matrix_function("expm", sp.expm, _expm_slope)
_PLACES, _WEIGHTS = np.polynomial.legendre.leggauss(7)  # enough within 0.26 of the identity
_PLACES, _WEIGHTS = (_PLACES + 1) / 2, _WEIGHTS / 2


def _logm_slope(a: Any, e: Any) -> Any:
    """Roots are taken until the integral of (1 + t (a - 1))⁻¹ e (1 + t (a - 1))⁻¹ is short.

    The derivative of each root solves Sylvester's equation (Al-Mohy, Higham and Relton 2013, §2).
    """
    times, one = 0, np.eye(len(a))
    a, e = (x.astype(np.result_type(x, np.float64)) for x in (a, e))
    while np.abs(a - one).sum(0).max(initial=0.0) > 0.25 and times < 64:
        a = sp.sqrtm(a)
        e = sylvester(a, a, e)
        times += 1
    parts = [np.linalg.inv(one + t * (a - one)) for t in _PLACES]
    return sum(w * (p @ e @ p) for w, p in zip(_WEIGHTS, parts, strict=True)) * 2.0**times


LOGM, _ = _matrix_function("logm", stacked(quietly(sp.logm)), _logm_slope, True)
SQRTM: Explicit = explicit(
    "scipy_sqrtm",
    real_where_known(loops(sp.sqrtm)),
    signature="(n,n)->(n,n)",
    # x' x + x x' = a' of the root x of a (Higham 2008, §6.1)
    vjp=(lambda g, x, _a, **_: bind(SYLVESTER, (swap_last(x), swap_last(x), g)),),
    sample=EXPM.sample,
)
SQRTM.lies = lapack_lies


def _apply(record: Explicit, A: Any, name: str) -> Array:
    """A function of a real matrix may be complex, which the values of the matrix decide."""
    a = square_matrix(A, name)
    return bind(record, (a,), {} if concrete(a) else {"stays_real": True})


@numpy_function(sp.expm)
def expm(A: Any) -> Array:
    """The matrix exponential.

    Parameters
    ----------
    A : array of shape (…, n, n)

    Notes
    -----
    The derivative is Fréchet's, by the method of Al-Mohy and Higham (2009), exact also where
    eigenvalues coincide.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.linalg
    >>> import funcgrad as fg
    >>> fg.grad(lambda a: scipy.linalg.expm(a)[0, 1])(np.zeros((2, 2)))
    array([[0., 1.],
           [0., 0.]])
    """
    return bind(EXPM, (square_matrix(A, "expm"),))


@numpy_function(sp.logm)
def logm(A: Any, disp: Any = True) -> Array:
    """The principal logarithm of a matrix, complex where an eigenvalue is negative.

    Parameters
    ----------
    A : array of shape (…, n, n)
    disp : bool, optional
        False is not supported on traced values.

    Raises
    ------
    AbstractValueError
        Within `jit` or `vmap` the logarithm of a real matrix turns out to be complex.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.linalg
    >>> import funcgrad as fg
    >>> fg.grad(lambda a: np.trace(scipy.linalg.logm(a)))(2 * np.eye(2))
    array([[0.5, 0. ],
           [0. , 0.5]])
    """
    refuse("scipy.linalg.logm", disp=None if disp else False)
    return _apply(LOGM, A, "logm")


@numpy_function(sp.sqrtm)
def sqrtm(A: Any, disp: Any = True, blocksize: Any = None) -> Array:
    """The principal square root of a matrix, complex where an eigenvalue is negative.

    Parameters
    ----------
    A : array of shape (…, n, n)
    disp : bool, optional
        False is not supported on traced values.

    Raises
    ------
    AbstractValueError
        Within `jit` or `vmap` the root of a real matrix turns out to be complex.

    Notes
    -----
    A tangent solves Sylvester's equation, which has no solution for a singular matrix: there the
    root has no derivative.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.linalg
    >>> import funcgrad as fg
    >>> fg.grad(lambda a: np.trace(scipy.linalg.sqrtm(a)))(4 * np.eye(2))
    array([[0.25, 0.  ],
           [0.  , 0.25]])
    """
    refuse("scipy.linalg.sqrtm", disp=None if disp else False)
    return _apply(SQRTM, A, "sqrtm")


# ---------------------------------- trigonometric functions, as SciPy makes them of exponentials


def _turned(A: Any, name: str) -> tuple[Array, Array, bool]:
    """exp(iA), exp(-iA), which is not needed of a real matrix, and whether A is complex."""
    a = square_matrix(A, name)
    is_complex = type_of(a).dtype.kind == "c"
    forward = bind(EXPM, (multiply(1j, a),))
    return forward, bind(EXPM, (multiply(-1j, a),)) if is_complex else forward, is_complex


@numpy_function(sp.cosm)
def cosm(A: Any) -> Array:
    """The cosine of a matrix of shape (…, n, n)."""
    forward, back, is_complex = _turned(A, "cosm")
    return multiply(0.5, add(forward, back)) if is_complex else real(forward)


@numpy_function(sp.sinm)
def sinm(A: Any) -> Array:
    """The sine of a matrix of shape (…, n, n)."""
    forward, back, is_complex = _turned(A, "sinm")
    return multiply(-0.5j, subtract(forward, back)) if is_complex else imag(forward)


@numpy_function(sp.tanm)
def tanm(A: Any) -> Array:
    """The tangent of a matrix of shape (…, n, n)."""
    return solve(cosm(A), sinm(A))


def _exponentials(A: Any, name: str) -> tuple[Array, Array]:
    a = square_matrix(A, name)
    return bind(EXPM, (a,)), bind(EXPM, (negative(a),))


@numpy_function(sp.coshm)
def coshm(A: Any) -> Array:
    """The hyperbolic cosine of a matrix of shape (…, n, n)."""
    return multiply(0.5, add(*_exponentials(A, "coshm")))


@numpy_function(sp.sinhm)
def sinhm(A: Any) -> Array:
    """The hyperbolic sine of a matrix of shape (…, n, n)."""
    return multiply(0.5, subtract(*_exponentials(A, "sinhm")))


@numpy_function(sp.tanhm)
def tanhm(A: Any) -> Array:
    """The hyperbolic tangent of a matrix of shape (…, n, n)."""
    return solve(coshm(A), sinhm(A))
