"""Equations for matrices: Sylvester's, Lyapunov's continuous and discrete ones, and Riccati's.

Each is linear in its solution once that is known, so tangents solve the same equation, and
cotangents the transposed one (Kao and Hennequin 2020, "Automatic differentiation of Sylvester,
Lyapunov, and algebraic Riccati equations").
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import scipy.linalg as sp

from funcgrad.core.forms import Explicit, explicit
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import bind, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.errors import UnsupportedCallError, located
from funcgrad.numpy.function_calls import numpy_function
from funcgrad.ops.arithmetic import add, conjugate, negative, subtract
from funcgrad.ops.matrices import adjoint, complex_, definite, regular
from funcgrad.ops.product import matmul
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import swap_last
from funcgrad.ops.solve import solve
from funcgrad.scipy.linalg.define import (
    as_lapack,
    by_lanes,
    lapack_lies,
    same_stacks,
    square_matrix,
    stacked,
)

__all__ = [
    "SYLVESTER",
    "solve_continuous_are",
    "solve_continuous_lyapunov",
    "solve_discrete_are",
    "solve_discrete_lyapunov",
    "solve_sylvester",
    "sylvester",
]


def _solution(*types: ArrayType, **_: Any) -> ArrayType:
    return ArrayType(types[-1].shape, np.result_type(*(t.dtype for t in types)))


# ----------------------------------------------------------------- SciPy's values, where they solve

Given = tuple[np.dtype[Any], ...]
"""The dtypes in which SciPy gets the operands, which have a common one in all rules."""


def _as_given(xs: Any, given: Given) -> Any:
    """Operands as they were before they got a common dtype, without a loss."""
    return [
        (x.real if d.kind != "c" else x).astype(d, copy=False)
        for x, d in zip(xs, given or (x.dtype for x in xs), strict=True)
    ]


def _where_it_solves(solve: Any, left: Any, scale: Any, xs: Any, given: Given) -> Any:
    """SciPy's solution of an equation in `xs`, where it is one, and that of complex matrices.

    LAPACK's `trsyl` is wrong, by as much as 1 %, where a real Schur form has a block of two nearly
    equal eigenvalues, which derivatives of matrix functions make; and SciPy solves with the blocks
    of a real form as if there were none where another operand is complex. Complex forms have no
    blocks. ``left(x, *xs)`` is the side of the equation with x, the last operand the other one, and
    `scale` times the size of x how large its terms may be.
    """
    parts = _as_given(xs, given)
    kind = np.result_type(*parts)
    x = solve(*parts)
    eps = max(np.finfo(part.dtype).eps for part in (*parts, x))
    off = np.abs(left(x, *parts) - parts[-1]).sum()
    size = scale * np.abs(x).sum() + np.abs(parts[-1]).sum()
    if not off > 64 * eps * len(parts[-1]) * size:
        return x
    found = solve(*(np.asarray(m, np.result_type(kind, np.complex64)) for m in parts))
    return found if kind.kind == "c" else found.real


def _size(a: Any) -> Any:
    return np.abs(a).sum()


def sylvester(a: Any, b: Any, q: Any, given: Given = ()) -> Any:
    """The solution of ``a x + x b = q``."""
    return _where_it_solves(
        sp.solve_sylvester, lambda x, a, b, _: a @ x + x @ b, _size(a) + _size(b), (a, b, q), given
    )


def _continuous(a: Any, q: Any, given: Given = ()) -> Any:
    return _where_it_solves(
        sp.solve_continuous_lyapunov, lambda x, a, _: a @ x + x @ a.conj().T, 2 * _size(a), (a, q),
        given,
    )  # fmt: skip


def _is_bilinear(n: int, method: str | None) -> bool:
    """Whether SciPy makes a continuous equation of a discrete one, in double precision."""
    return n >= 10 if method is None else method == "bilinear"


def _discrete_type(a: ArrayType, q: ArrayType, method: str | None = None, **_: Any) -> ArrayType:
    double = np.float64 if _is_bilinear(a.shape[-1], method) else np.float32
    return ArrayType(q.shape, np.result_type(a.dtype, q.dtype, double))


def _discrete(a: Any, q: Any, given: Given = (), method: str | None = None) -> Any:
    def solve(a: Any, q: Any) -> Any:
        return sp.solve_discrete_lyapunov(a, q, method)

    if not _is_bilinear(len(a), method):
        return solve(*_as_given((a, q), given))
    return _where_it_solves(
        solve, lambda x, a, _: x - a @ x @ a.conj().T, 1 + _size(a) ** 2, (a, q), given
    )


def _together(*xs: Array) -> tuple[Any, dict[str, Any]]:
    """Operands of one dtype, and a parameter that keeps what they had."""
    kinds = tuple(type_of(x).dtype for x in xs)
    return same_stacks(*xs), {"given": kinds} if len(set(kinds)) > 1 else {}


# ------------------------------------------------------------------------------- Sylvester


def _sylvester_q(g: Any, _x: Any, a: Any, b: Any, _q: Any, **_: Any) -> Any:
    return bind(SYLVESTER, (swap_last(a), swap_last(b), g))


SYLVESTER: Explicit = explicit(
    "scipy_solve_sylvester",
    stacked(sylvester),
    type_rule=_solution,
    batch=lambda *given: by_lanes(SYLVESTER, *given),
    vjp=(
        lambda g, x, a, b, _q, **_: negative(matmul(_sylvester_q(g, x, a, b, _q), swap_last(x))),
        lambda g, x, a, b, _q, **_: negative(matmul(swap_last(x), _sylvester_q(g, x, a, b, _q))),
        _sylvester_q,
    ),
    linear_in=(2,),
    sample=lambda: [
        Sample((regular(), regular(n=2, seed=1), draw((3, 2)))),
        Sample((regular(2), regular(2, n=2, seed=1), draw((2, 3, 2)))),
        Sample((complex_(regular()), complex_(regular(n=2, seed=1)), complex_(draw((3, 2))))),
        Sample(
            (regular() + 0j, regular(n=2, seed=1) + 0j, complex_(draw((3, 2)))),
            {"given": (np.dtype("f8"), np.dtype("f8"), np.dtype("c16"))},
            smooth=False,
        ),
    ],
)
SYLVESTER.lies = lapack_lies


@numpy_function(sp.solve_sylvester)
def solve_sylvester(a: Any, b: Any, q: Any) -> Array:
    """The solution x of ``a x + x b = q``.

    Parameters
    ----------
    a, b, q : array of shape (…, m, m), (…, n, n), (…, m, n)

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.linalg
    >>> import funcgrad as fg
    >>> a, b, q = np.diag([1.0, 2.0]), np.eye(2), np.eye(2)
    >>> fg.grad(lambda q: np.sum(scipy.linalg.solve_sylvester(a, b, q)))(q)
    array([[0.5       , 0.5       ],
           [0.33333333, 0.33333333]])
    """
    a, b = (square_matrix(x, "solve_sylvester") for x in (a, b))
    return bind(SYLVESTER, *_together(a, b, as_lapack(q)))


# ------------------------------------------------------------------------------- Lyapunov


def _lyapunov(name: str, value: Any, discrete: bool) -> Explicit:
    """The record of an equation for x, given `a` and `q`, that is linear in x."""

    def of_q(g: Any, _x: Any, a: Any, _q: Any, **params: Any) -> Any:
        return bind(record, (swap_last(a), g), {k: v for k, v in params.items() if k != "given"})

    def of_a(g: Any, x: Any, a: Any, _q: Any, **params: Any) -> Any:
        gq = of_q(g, x, a, _q, **params)
        left, right = (matmul(x, adjoint(a)), matmul(a, x)) if discrete else (x, x)
        found = add(matmul(gq, swap_last(left)), conjugate(matmul(swap_last(gq), right)))
        return found if discrete else negative(found)

    record: Explicit = explicit(
        f"scipy_{name}",
        stacked(value),
        type_rule=_discrete_type if discrete else _solution,
        batch=lambda *given: by_lanes(record, *given),
        vjp=(of_a, of_q),
        linear_in=(1,),
        sample=lambda: [
            Sample((regular() * 0.2, draw((3, 3)))),
            Sample((regular(2, n=2) * 0.2, draw((2, 2, 2)))),
            Sample((complex_(regular() * 0.2), complex_(draw((3, 3))))),
        ],
    )
    record.lies = lapack_lies
    return record


CONTINUOUS = _lyapunov("solve_continuous_lyapunov", _continuous, False)
DISCRETE = _lyapunov("solve_discrete_lyapunov", _discrete, True)


@numpy_function(sp.solve_continuous_lyapunov, sp.solve_lyapunov)
def solve_continuous_lyapunov(a: Any, q: Any) -> Array:
    """The solution x of ``a x + x aᴴ = q``.

    Parameters
    ----------
    a, q : array of shape (…, n, n)

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.linalg
    >>> import funcgrad as fg
    >>> a, q = np.diag([1.0, 2.0]), np.eye(2)
    >>> fg.grad(lambda a: np.trace(scipy.linalg.solve_continuous_lyapunov(a, q)))(a)
    array([[-0.5  , -0.   ],
           [-0.   , -0.125]])
    """
    return bind(
        CONTINUOUS, *_together(*(square_matrix(x, "solve_continuous_lyapunov") for x in (a, q)))
    )


@numpy_function(sp.solve_discrete_lyapunov)
def solve_discrete_lyapunov(a: Any, q: Any, method: Any = None) -> Array:
    """The solution x of ``a x aᴴ - x + q = 0``.

    Parameters
    ----------
    a, q : array of shape (…, n, n)
    method : {"direct", "bilinear"}, optional

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.linalg
    >>> import funcgrad as fg
    >>> a, q = np.diag([0.5, 0.0]), np.eye(2)
    >>> fg.grad(lambda a: np.trace(scipy.linalg.solve_discrete_lyapunov(a, q)))(a)
    array([[1.77777778, 0.        ],
           [0.        , 0.        ]])
    """
    pair, params = _together(*(square_matrix(x, "solve_discrete_lyapunov") for x in (a, q)))
    return bind(DISCRETE, pair, params if method is None else {**params, "method": method})


# -------------------------------------------------------------------------------- Riccati


def _riccati(name: str, value: Any, discrete: bool) -> Explicit:
    """Tangents solve Lyapunov's equation of the closed loop a - b k, with the gain k = r⁻¹ bᴴ x."""

    def push(x: Any, xs: Any, ts: Any) -> Any:
        (a, b, _, r), (ta, tb, tq, tr) = xs, ts
        back = matmul(adjoint(b), x)
        if discrete:
            gain = solve(add(r, matmul(back, b)), matmul(back, a))
        else:
            gain = solve(r, back)
        closed = subtract(a, matmul(b, gain))
        moved = None if tb is None else negative(matmul(tb, gain))
        if ta is not None:
            moved = ta if moved is None else add(ta, moved)
        parts = [] if tq is None else [tq]
        if tr is not None:
            parts.append(matmul(matmul(adjoint(gain), tr), gain))
        if moved is not None:
            right = matmul(matmul(adjoint(closed), x) if discrete else x, moved)
            parts += [right, adjoint(right)]
        right = functools.reduce(add, parts)
        if discrete:
            return bind(DISCRETE, same_stacks(adjoint(closed), right))
        return bind(CONTINUOUS, same_stacks(adjoint(closed), negative(right)))

    def sample() -> list[Sample]:
        made = regular() * 0.3, draw((3, 2)), definite(), definite(n=2)
        stacks = tuple(np.stack([m, 2 * m]) for m in made)
        # SciPy refuses a matrix that a difference has made unsymmetric
        return [Sample(made, smooth=False), Sample(stacks, smooth=False)]

    record: Explicit = explicit(
        f"scipy_{name}",
        stacked(value, like=2),
        type_rule=lambda a, b, q, r: _solution(a, b, r, q),
        batch=lambda *given: by_lanes(record, *given),
        jvp=push,
        sample=sample,
    )
    return record


CONTINUOUS_RICCATI = _riccati("solve_continuous_are", sp.solve_continuous_are, False)
DISCRETE_RICCATI = _riccati("solve_discrete_are", sp.solve_discrete_are, True)


def _solve_riccati(record: Explicit, name: str, xs: Any, refused: Any) -> Array:
    if any(x is not None for x in refused):
        raise UnsupportedCallError(
            located(f"scipy.linalg.{name}: e= and s= are not supported on traced values")
        )
    return bind(record, same_stacks(*map(as_lapack, xs)))


@numpy_function(sp.solve_continuous_are)
def solve_continuous_are(
    a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True
) -> Array:
    """The solution x of ``aᴴ x + x a - x b r⁻¹ bᴴ x + q = 0`` for which a - b r⁻¹ bᴴ x is stable.

    Parameters
    ----------
    a, b, q, r : array of shape (…, n, n), (…, n, m), (…, n, n), (…, m, m)
        `q` and `r` are Hermitian, and so are the directions of derivatives.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.linalg
    >>> import funcgrad as fg
    >>> one = np.eye(1)
    >>> fg.grad(lambda q: scipy.linalg.solve_continuous_are(0 * one, one, q, one)[0, 0])(one)
    array([[0.5]])
    """
    return _solve_riccati(CONTINUOUS_RICCATI, "solve_continuous_are", (a, b, q, r), (e, s))


@numpy_function(sp.solve_discrete_are)
def solve_discrete_are(
    a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True
) -> Array:
    """The stabilising solution x of ``aᴴ x a - x - aᴴ x b (r + bᴴ x b)⁻¹ bᴴ x a + q = 0``.

    Parameters
    ----------
    a, b, q, r : array of shape (…, n, n), (…, n, m), (…, n, n), (…, m, m)
        `q` and `r` are Hermitian, and so are the directions of derivatives.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.linalg
    >>> import funcgrad as fg
    >>> one = np.eye(1)
    >>> fg.grad(lambda q: scipy.linalg.solve_discrete_are(0 * one, one, q, one)[0, 0])(one)
    array([[1.]])
    """
    return _solve_riccati(DISCRETE_RICCATI, "solve_discrete_are", (a, b, q, r), (e, s))
