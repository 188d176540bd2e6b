"""Functions of a matrix by its eigenvalues: any function, the sign, and real powers.

The derivative is that of Daleckii and Krein (Higham, "Functions of Matrices" 2008, theorem 3.11):
of a = v diag(w) v⁻¹ it is v (d ∘ v⁻¹ a' v) v⁻¹, with the divided differences d of the function. Of
equal eigenvalues these are its derivative, so it is exact there, too. Where the eigenvectors are
nearly dependent, as those of a Jordan block, no digit of this is right, and the derivative is NaN.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg as sp

from funcgrad.core.forms import Explicit, each_lane, explicit
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import Tracer, bind, concrete, operand, type_of
from funcgrad.core.types import Array, ArrayType, is_inexact
from funcgrad.numpy.function_calls import TRACED, numpy_function, refuse, state
from funcgrad.numpy.linalg import matrix_power
from funcgrad.ops import eigen
from funcgrad.ops.arithmetic import (
    absolute,
    add,
    cast,
    divide,
    less_equal,
    maximum,
    multiply,
    power,
    real,
    sign,
    sqrt,
    square,
    subtract,
    where,
)
from funcgrad.ops.constant import STOP_GRADIENT
from funcgrad.ops.matrices import column, complex_, definite, regular, row
from funcgrad.ops.product import matmul
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import swap_last
from funcgrad.ops.solve import SOLVE
from funcgrad.ops.sums import sum as total
from funcgrad.scipy.linalg.define import as_lapack, same_stacks, sized, square_matrix, stacked
from funcgrad.scipy.linalg.matrix_functions import EXPM, EXPM_SLOPE, quietly, real_where_known
from funcgrad.scipy.valued import valued
from funcgrad.transforms.abstract import ShapeDtypeStruct
from funcgrad.transforms.closures import closure_convert
from funcgrad.transforms.jvp import jvp
from funcgrad.transforms.vmap import vmap

__all__ = ["expm_frechet", "fractional_matrix_power", "funm", "signm"]


def _differences(f: Callable[..., Any], w: Array) -> Array:
    """The divided differences of `f` at all pairs of `w`; of near ones the slope between them."""
    dtype = type_of(w).dtype
    gap, middle = subtract(row(w), column(w)), multiply(0.5, add(row(w), column(w)))
    size = maximum(absolute(row(w)), absolute(column(w)))
    near = less_equal(absolute(gap), multiply(float(np.finfo(dtype).eps) ** (1 / 3), size))
    _, slope = jvp(f, (middle,), (np.ones(type_of(middle).shape, dtype),))
    values = cast(f(w), dtype)
    apart = divide(subtract(row(values), column(values)), where(near, 1.0, gap))
    return where(near, cast(slope, dtype), apart)


def _independent(v: Array) -> Array:
    """The eigenvectors `v`, or NaN where the square of their condition leaves no digit."""
    kind = type_of(v)
    n, held = kind.shape[-1], bind(STOP_GRADIENT, (v,))
    back = bind(SOLVE, (held, np.broadcast_to(np.eye(n, dtype=kind.dtype), kind.shape)))
    condition = multiply(_norm(held), divide(_norm(back), max(n, 1)))
    good = less_equal(condition, float(np.finfo(kind.dtype).eps * 10) ** -0.5)
    return where(good, v, np.asarray(np.nan, kind.dtype))


def _norm(x: Array) -> Array:
    """The norms of matrices, with axes of one element in their place."""
    return sqrt(total(square(absolute(x)), (-2, -1), keepdims=True))


def _spectral(
    name: str, value: Callable[..., Any], f: Callable[..., Any], double: bool, sample: Any
) -> Explicit:
    """The record of a matrix function; ``f(w, *others)`` is that of the eigenvalues.

    `double`: SciPy computes in double precision whatever it is given.
    """

    def push(y: Any, xs: Any, ts: Any, **params: Any) -> Array:
        (a, *others), (ta, *moving) = xs, ts
        params.pop("stays_real", None)
        g = functools.partial(f, **params)
        w, v = bind(eigen.EIG, (a,))
        v = _independent(v)
        parts = []
        if ta is not None:
            inside = bind(SOLVE, (v, matmul(ta, v)))
            parts.append(multiply(_differences(lambda z: g(z, *others), w), inside))
        at = [k for k, t in enumerate(moving) if t is not None]
        if at:

            def of_others(*given: Any) -> Any:
                held = list(others)
                for k, x in zip(at, given, strict=True):
                    held[k] = x
                return g(w, *held)

            given = tuple(others[k] for k in at), tuple(moving[k] for k in at)
            one = np.eye(type_of(w).shape[-1], dtype=type_of(w).dtype)
            parts.append(multiply(one, row(jvp(of_others, *given)[1])))
        whole = matmul(v, functools.reduce(add, parts))
        out = swap_last(bind(SOLVE, (swap_last(v), swap_last(whole))))
        kind = type_of(y).dtype
        return cast(out if kind.kind == "c" else real(out), kind)

    def type_rule(a: ArrayType, *_: Any, **__: Any) -> ArrayType:
        return ArrayType(a.shape, np.result_type(a.dtype, np.float64 if double else np.float32))

    record: Explicit = explicit(
        f"scipy_{name}",
        real_where_known(sized(lambda: record, value)),
        type_rule=type_rule,
        jvp=push,
        batch=lambda *given: each_lane(record, *given),
        sample=sample,
    )
    return record


def _known(a: Array) -> dict[str, Any]:
    """A function of a real matrix may be complex, which the values of the matrix decide."""
    return {} if concrete(a) else {"stays_real": True}


def _matrices() -> list[Sample]:
    return [Sample((definite(n=2),)), Sample((complex_(regular(n=2)),))]


def _sign(w: Array) -> Array:
    return cast(sign(real(w)), type_of(w).dtype)


# SciPy's calls `funm` of a function, which is ours while a transform runs, and gives a box
SIGNM = _spectral("signm", stacked(lambda a: operand(sp.signm(a))), _sign, False, _matrices)


@numpy_function(sp.signm)
def signm(A: Any, disp: Any = True) -> Array:
    """The sign of a matrix, which has its eigenvectors, and the eigenvalues 1 and -1.

    Parameters
    ----------
    A : array of shape (…, n, n)
    disp : bool, optional
        False is not supported on traced values.

    Notes
    -----
    Of a matrix whose eigenvectors are nearly dependent, as a Jordan block, the derivative is NaN.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.linalg
    >>> import funcgrad as fg
    >>> a = np.diag([2.0, -1.0])
    >>> fg.grad(lambda a: scipy.linalg.signm(a)[0, 1])(a).round(6) + 0.0
    array([[0.        , 0.666667],
           [0.        , 0.        ]])
    """
    refuse("scipy.linalg.signm", disp=None if disp else False)
    a = square_matrix(A, "signm")
    return bind(SIGNM, (a,), _known(a))


# ---------------------------------------------------------------------------------- powers


@quietly
def _power_value(a: Any, t: Any) -> Any:
    # in its own precision, in which SciPy parts it
    return sp.fractional_matrix_power(a, t[()] if isinstance(t, np.ndarray) else t)


def _powered(w: Array, t: Array) -> Array:
    return power(w, cast(t, type_of(w).dtype))


POWER = _spectral(
    "fractional_matrix_power",
    _power_value,
    _powered,
    True,
    lambda: [Sample((definite(n=2), np.float64(0.3))), Sample((definite(n=2), np.float64(-1.5)))],
)


@numpy_function(sp.fractional_matrix_power)
def fractional_matrix_power(A: Any, t: Any) -> Array:
    """The principal power of a matrix, complex where an eigenvalue is negative.

    Parameters
    ----------
    A : array of shape (n, n)
    t : float
        A whole number that is not traced gives `numpy.linalg.matrix_power`.

    Notes
    -----
    Of a matrix whose eigenvectors are nearly dependent, as a Jordan block, the derivative is NaN.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.linalg
    >>> import funcgrad as fg
    >>> fg.grad(lambda t: scipy.linalg.fractional_matrix_power(4 * np.eye(2), t)[0, 0])(0.5)
    np.float64(2.77258872...)
    """
    a, t = square_matrix(A, "fractional_matrix_power"), operand(t)
    if not isinstance(t, Tracer) and float(t) == int(t):
        return matrix_power(a, int(t))
    t = t if is_inexact(type_of(t).dtype) else cast(t, np.float64)
    return bind(POWER, (a, t), _known(a))


# --------------------------------------------------------------------------- any function


def _of_user(w: Array, *others: Any, func: Callable[..., Any]) -> Any:
    """`func` is a program for one vector."""
    if type_of(w).ndim > 1:
        return vmap(lambda row: _of_user(row, *others, func=func))(w)
    return func(w, *others)


def _funm_value(a: Any, *others: Any, func: Callable[..., Any]) -> Any:
    return sp.funm.__wrapped__(a, lambda w: np.asarray(func(w, *others)))  # SciPy's own body


FUNM = _spectral(
    "funm",
    _funm_value,
    _of_user,
    False,
    lambda: [Sample((s.args[0],), {"func": np.exp}) for s in _matrices()],
)


@numpy_function(sp.funm, calls=True)
def funm(A: Any, func: Callable[..., Any], disp: bool = True) -> Array:
    """A function of a matrix, given what it makes of its eigenvalues.

    Parameters
    ----------
    A : array of shape (…, n, n)
    func : callable
        It takes the complex vector of eigenvalues; what it closes over may be traced, too.
    disp : bool, optional
        False is not supported on traced values.

    Notes
    -----
    Of a matrix whose eigenvectors are nearly dependent, as a Jordan block, the derivative is NaN.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.linalg
    >>> import funcgrad as fg
    >>> a = np.array([[2.0, 0.0], [0.0, 2.0]])
    >>> fg.grad(lambda a: scipy.linalg.funm(a, np.exp)[0, 0])(a).round(6)
    array([[7.389056, 0.      ],
           [0.      , 0.      ]])
    """
    a = square_matrix(A, "funm")
    kind = type_of(a)
    if not isinstance(a, Tracer) and state(func(np.ones(kind.shape[-1:], complex))) != TRACED:
        made: Array = sp.funm.__wrapped__(A, func, disp)
        return made
    refuse("scipy.linalg.funm", disp=None if disp else False)
    vector = ShapeDtypeStruct(kind.shape[-1:], np.result_type(kind.dtype, np.complex64))
    made, others = closure_convert(func, vector)
    return bind(FUNM, (a, *others), {"func": made, **_known(a)})


# ------------------------------------------------------------------------ Fréchet's derivative


def _in_double(x: Any) -> Any:
    """SciPy's coefficients are, and so are its results, also of matrices of single precision."""
    return cast(x, np.result_type(type_of(x).dtype, np.float64))


def _frechet(a: Any, e: Any) -> Any:
    return bind(EXPM, (a,)), bind(EXPM_SLOPE, same_stacks(a, e))


FRECHET = valued(
    "scipy_expm_frechet",
    lambda a, e, method: sp.expm_frechet(a, e, method, check_finite=False),
    lambda a, e, method: _frechet(*(_in_double(x) for x in (a, e))),
    lambda: [Sample((regular(n=2), draw((2, 2), seed=1)), {"method": None})],
    multiple=True,
    dtype=lambda a, e, method: (np.result_type(a, np.float64), np.result_type(a, e, np.float64)),
)


@numpy_function(sp.expm_frechet)
def expm_frechet(
    A: Any, E: Any, method: Any = None, compute_expm: bool = True, check_finite: bool = True
) -> Any:
    """The matrix exponential of `A`, and its derivative in the direction `E`.

    Parameters
    ----------
    A, E : array of shape (n, n)
    method : str, optional
        As in SciPy.
    compute_expm : bool, optional
        Return the derivative alone if False.
    """
    pair = square_matrix(A, "expm_frechet"), as_lapack(E)  # SciPy computes with each in its own
    found = tuple(bind(FRECHET, pair, {"method": method}))
    return found if compute_expm else found[1]
