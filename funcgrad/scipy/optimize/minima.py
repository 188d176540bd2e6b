"""Minima, which SciPy searches: differentiated as the points at which the slope is 0.

With the slope g and its Jacobian H, a minimum of f(x, θ) moves by dx = -H⁻¹ (∂g/∂θ) dθ. Unknowns
that end at a bound move with it, and the others as if these were given.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.optimize as sp

from funcgrad.core.tracer import operand, type_of
from funcgrad.numpy.function_calls import FUNCTIONS
from funcgrad.ops.arithmetic import negative, where
from funcgrad.ops.shape import reshape
from funcgrad.scipy.optimize.searches import (
    BOOL,
    Call,
    Function,
    Report,
    array,
    found,
    is_traced,
    known,
    search,
    solve,
    square,
    unless_lost,
)
from funcgrad.transforms.api import ShapeDtypeStruct, grad, jacobian, jvp

__all__ = [
    "basinhopping",
    "brent",
    "brute",
    "differential_evolution",
    "direct",
    "dual_annealing",
    "fmin",
    "fmin_bfgs",
    "fmin_cg",
    "fmin_ncg",
    "fmin_powell",
    "fminbound",
    "golden",
    "minimize_scalar",
    "minimum",
    "of_minimum",
    "shgo",
]

NEAR = 1e-6  # of a bound, relative to it: barriers and tolerances keep a search from it
FREE = (-np.inf, np.inf)


def of_minimum(objective: Function, bounded: bool) -> Function:
    """``moves(x, given, moved)``: the tangent of the x at which ``objective(x, *held)`` is least.

    `given` are both bounds, arrays like x, and what the objective holds.
    """

    def moves(x: Any, given: Any, moved: Any) -> Any:
        shape = type_of(operand(x)).shape
        n = math.prod(shape)
        flat = lambda v, *held: objective(reshape(v, shape), *held)
        slope = grad(flat)
        (low, high, *held), (d_low, d_high, *d_held) = given, moved
        at, x = reshape(x, (n,)), reshape(x, (n,))
        curve = square(jacobian(lambda v: slope(v, *held))(at))
        change = np.zeros(n)
        if held:
            change = jvp(lambda *c: slope(at, *c), tuple(held), tuple(d_held))[1]
        if bounded:
            low, high, d_low, d_high = (reshape(v, (n,)) for v in (low, high, d_low, d_high))
            g = slope(at, *held)
            below = _held_by(x, low, g, curve, 1.0)
            above = _held_by(x, high, g, curve, -1.0)
            free = where(below | above, 0.0, 1.0)
            given_step = where(below, d_low, where(above, d_high, 0.0))
            across = curve @ given_step
            change = free * (change + across) - (1.0 - free) * given_step
            curve = curve * (free[:, None] * free[None, :]) + np.eye(n) * (1.0 - free)
        return reshape(negative(solve(curve, change)), shape)

    return moves


def _held_by(x: Any, bound: Any, g: Any, curve: Any, side: float) -> Any:
    """Which unknowns a bound keeps: they are there, or a step by their curvature leads beyond."""
    finite = abs(bound) < np.inf
    bound = where(finite, bound, 0.0)
    away, push = side * (x - bound), side * g
    near = (away <= NEAR * (1.0 + abs(bound))) & (push >= 0.0)
    beyond = (push > 0.0) & (push > away * abs(FUNCTIONS[np.diagonal](curve)))
    return finite & (near | beyond)


def _objective(f: Function) -> Function:
    """`f`, whose result may be an array of one number."""
    return lambda x: reshape(array(f(x)), ())


def minimum(
    call: Call,
    f: Function,
    kind: Any,
    host: Function,
    start: Sequence[Any],
    bounds: Any = None,
    whole: Function | None = None,
) -> tuple[Any, Any, Any, Any]:
    """The minimum, its value, whether it was found, and what SciPy's result was, if that is known.

    Parameters
    ----------
    f : callable
        The objective, with `args`.
    kind : ShapeDtypeStruct
        The type of the point.
    host : callable
        ``host(f, start, low, high, held)`` gives the point, the value, the success and the result.
    start : sequence of arrays
        What has no derivative.
    bounds : (low, high), optional
        Arrays that broadcast to the point.
    whole : callable, optional
        What SciPy calls, if that is another function than the objective.
    """
    at, at_all = call.staged(f, kind), call.staged(whole or f, kind)
    held = call.held
    objective = lambda x, *held: _objective(at(held))(x)
    moves = of_minimum(objective, bounds is not None)
    notes: list[Any] = []
    low, high = (_like(b, kind) for b in (bounds or FREE))

    def run(start: Any, low: Any, high: Any, *held: Any) -> Any:
        made = host(at_all(held, numbers=True), start, low, high, held)
        notes.append(made[3])
        x, value = np.asarray(made[0], kind.dtype), np.asarray(made[1], np.float64)
        return np.reshape(x, kind.shape), np.reshape(value, ()), np.bool_(made[2])

    def step(out: Any, given: Any, moved: Any) -> Any:
        t = unless_lost(out[2], moves(out[0], given, moved))
        return t, jvp(objective, (out[0], *given[2:]), (t, *moved[2:]))[1]

    kinds = (kind, ShapeDtypeStruct((), np.float64), ShapeDtypeStruct((), BOOL))
    out = found(run, kinds, step, start, (low, high, *held))
    return *out, known(notes)


def _like(bound: Any, kind: Any) -> Any:
    """A bound as an array like the point."""
    bound = array(bound)
    if isinstance(bound, (float, int, np.ndarray, np.generic)):
        return np.broadcast_to(np.asarray(bound, np.float64), kind.shape) + 0.0
    return bound + np.zeros(kind.shape)


def _report(out: tuple[Any, Any, Any, Any]) -> Any:
    """The result of a search, as SciPy has it: of what it tells else, what is known at once."""
    made = Report(x=out[0], fun=out[1], success=out[2])
    if isinstance(out[3], dict):
        plain = {k: v for k, v in out[3].items() if isinstance(v, (str, int, np.integer))}
        made.update({k: v for k, v in plain.items() if k not in made})
    return made


def _ends(bounds: Any) -> Any:
    """Both ends of bounds in any form of SciPy's, which may be traced."""
    if isinstance(bounds, sp.Bounds):
        return array(bounds.lb), array(bounds.ub)
    if hasattr(bounds, "shape"):
        return bounds[:, 0], bounds[:, 1]
    rows = [tuple(row) for row in bounds]
    low = [FREE[0] if a is None else a for a, _ in rows]
    return array(low), array([FREE[1] if b is None else b for _, b in rows])


# -------------------------------------------------------------------------------- of a number

_POINT = ShapeDtypeStruct((), np.float64)


def _scalar(call: Call) -> Any:
    """`minimize_scalar`."""
    call.constant("options")
    bounds, bracket = call.get("bounds"), call.get("bracket")
    start = () if bracket is None else tuple(bracket)
    f = call.with_args(call.get("fun"))

    def host(f: Function, start: Any, low: Any, high: Any, held: Any) -> Any:
        places: dict[str, Any] = {}
        if start:
            places["bracket"] = tuple(map(float, start))
        if bounds is not None:
            places["bounds"] = (float(low), float(high))
        r = call.run(fun=f, args=(), **places)
        return r.x, r.fun, r.success, r

    return _report(minimum(call, f, _POINT, host, start, _pair(bounds)))


def _pair(bounds: Any) -> Any:
    return None if bounds is None else (bounds[0], bounds[1])


def _line(call: Call) -> Any:
    """`brent` and `golden`: (x, value, …)."""
    start = tuple(call.get("brack") or ())

    def host(f: Function, start: Any, low: Any, high: Any, held: Any) -> Any:
        places = {"brack": tuple(map(float, start))} if start else {}
        r = call.run(func=f, args=(), full_output=True, **places)
        return r[0], r[1], True, r

    return _with_more(call, minimum(call, call.with_args(call.get("func")), _POINT, host, start))


def _fminbound(call: Call) -> Any:
    def host(f: Function, start: Any, low: Any, high: Any, held: Any) -> Any:
        r = call.run(func=f, x1=float(low), x2=float(high), args=(), full_output=True)
        return r[0], r[1], r[2] == 0, r

    f, ends = call.with_args(call.get("func")), (call.get("x1"), call.get("x2"))
    return _with_more(call, minimum(call, f, _POINT, host, (), ends))


def _with_more(call: Call, out: tuple[Any, Any, Any, Any]) -> Any:
    if not call.get("full_output"):
        return out[0]
    if out[3] is None:
        call.refuse("full_output", why="leave it out under jit and vmap")
    return (out[0], out[1], *out[3][2:])


# -------------------------------------------------------------------------------- of a vector


def _size(x: Any) -> Any:
    shape = type_of(operand(array(x))).shape
    return ShapeDtypeStruct((math.prod(shape),), np.float64)


def _descent(call: Call) -> Any:
    """`fmin` and its kin: the point alone."""
    call.refuse("full_output", "retall", why="take scipy.optimize.minimize, whose result tells it")
    call.constant("callback", "initial_simplex", "direc", "hess_inv0")
    f = next(n for n in ("func", "f") if n in call.given)
    given = call.get("x0")
    kind = _size(given)
    slopes = _staged_slopes(call, kind, {"fprime": 1, "fhess": 1, "fhess_p": 2})

    def host(f_: Function, start: Any, low: Any, high: Any, held: Any) -> Any:
        more = {n: s(held, numbers=True) for n, s in slopes.items()}
        r = call.run(**{f: f_}, x0=start[0], args=(), full_output=True, **more)
        return r[0], r[1], r[-1] in (0, 2) if f == "f" else r[-1] == 0, None

    return minimum(call, call.with_args(call.get(f)), kind, host, (given,))[0]


def _staged_slopes(call: Call, kind: Any, names: dict[str, int]) -> dict[str, Function]:
    """Derivatives that are functions of the user's, of as many vectors."""
    return {
        n: call.staged(call.with_args(call.get(n)), *(kind,) * count)
        for n, count in names.items()
        if callable(call.get(n))
    }


_ENDED = {"bfgs": (2,), "cg": (2,), "newton-cg": (2,)}
"""Methods of `minimize` -> the numbers of failures that are rounding at the minimum."""


def _minimize(call: Call) -> Any:
    call.constant("callback", "options")
    if call.get("constraints", ()) not in ((), None, []):
        call.fail(
            "constraints= has no derivatives here on traced values; take bounds=, or eliminate "
            "what the constraints determine"
        )
    given, whole = call.get("x0"), call.with_args(call.get("fun"))
    kind = _size(given)
    pair = call.get("jac") is True
    slopes = _staged_slopes(call, kind, {"jac": 1, "hess": 1, "hessp": 2})
    bounds = call.get("bounds")
    method = str(call.get("method", "")).lower()

    def host(f: Function, start: Any, low: Any, high: Any, held: Any) -> Any:
        more = {n: s(held, numbers=True) for n, s in slopes.items()}
        if bounds is not None:
            keep = getattr(bounds, "keep_feasible", False)
            more["bounds"] = sp.Bounds(low, high, keep)
        r = call.run(fun=f, x0=start[0], args=(), **more)
        ended = r.success or r.get("status") in _ENDED.get(method or "bfgs", ())
        return r.x, r.fun, ended, r

    f = (lambda x: whole(x)[0]) if pair else whole
    ends = None if bounds is None else _ends(bounds)
    return _report(minimum(call, f, kind, host, (given,), ends, whole))


# ------------------------------------------------------------------------------ of all minima


def _inner(call: Call, kind: Any) -> tuple[Function, dict[str, Any], dict[str, Function]]:
    """The objective with the arguments that the inner search has, and its derivatives, staged."""
    inner = dict(call.get("minimizer_kwargs") or {})
    args = inner.pop("args", call.args)
    args = args if isinstance(args, tuple) else (args,)
    slopes = {}
    for name in ("jac", "hess"):
        slope = inner.get(name)
        if callable(slope):
            slopes[name] = call.staged((lambda s: lambda x: s(x, *args))(slope), kind)
            del inner[name]
    if is_traced(inner):
        call.constant("minimizer_kwargs")
    f = call.get("func")
    return (lambda x: f(x, *args)) if args else f, inner, slopes


def _global(call: Call) -> Any:
    """Searches within bounds, and from a point, for the least of all minima."""
    call.constant("callback", "options", "constraints", "take_step", "accept_test")
    if call.get("constraints", ()) not in ((), None, []):
        call.fail("constraints= has no derivatives here on traced values; take bounds=")
    bounded = "bounds" in call.given
    ends = _ends(call.get("bounds")) if bounded else None
    kind = _size(ends[0] if ends else call.get("x0"))
    start = tuple(call.get(n) for n in ("x0",) if call.get(n) is not None)
    whole, inner, slopes = _inner(call, kind)
    pair = inner.get("jac") is True

    def host(f: Function, start: Any, low: Any, high: Any, held: Any) -> Any:
        more: dict[str, Any] = {"x0": start[0]} if start else {}
        more.update({"args": ()} if "args" in call.given else {})
        if bounded:
            more["bounds"] = list(zip(low.tolist(), high.tolist(), strict=True))
        kept = {n: s(held, numbers=True) for n, s in slopes.items()}
        if inner or kept:
            more["minimizer_kwargs"] = inner | kept
        elif "minimizer_kwargs" in call.given:
            more["minimizer_kwargs"] = None
        r = call.run(func=f, **more)
        ended = call.own.__name__ == "direct" and r.status in (1, 2)  # as many points as allowed
        return r.x, r.fun, r.get("success", True) or ended, r

    f = (lambda x: whole(x)[0]) if pair else whole
    return _report(minimum(call, f, kind, host, start, ends, whole))


def _brute(call: Call) -> Any:
    call.refuse("full_output", why="leave it out")
    call.constant("finish", "ranges")
    f = call.get("func")
    n = len(call.get("ranges"))
    alone = n == 1 and call.get("finish", sp.fmin) is None
    kind = ShapeDtypeStruct((n,), np.float64)

    def host(f: Function, start: Any, low: Any, high: Any, held: Any) -> Any:
        r = call.run(func=f, args=(), full_output=True)
        return r[0], r[1], True, None

    x = minimum(call, call.with_args(f), kind, host, ())[0]
    return x[0] if alone else x


_AS = "; `minimize_scalar` tells what is differentiated."
golden = search(sp.golden, _line, "The minimum of a function of a number, by golden section" + _AS)
brent = search(sp.brent, _line, "The minimum of a function of a number, by Brent's method" + _AS)
fminbound = search(sp.fminbound, _fminbound, "The minimum between two bounds" + _AS)
minimize_scalar = search(
    sp.minimize_scalar,
    _scalar,
    """The minimum of a function of a number, with the derivatives of where its slope is 0.

    Of what the function closes over, `args`, and a bound at which the minimum is; to every order
    and in both modes. A bracket has none. The function is traced once, without knowing where SciPy
    will call it, so it chooses with ``np.where``. They are as good as the minimum is, so ask for a
    small tolerance; where SciPy has found none, they are NaN.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.optimize
    >>> import funcgrad as fg
    >>> lowest = lambda a: scipy.optimize.minimize_scalar(lambda x: np.cosh(x - a) + x).x
    >>> fg.grad(lowest)(2.0).round(6)
    np.float64(1.0)
    """,
)
_OF = "; as `scipy.optimize.minimize` on traced values."
fmin = search(sp.fmin, _descent, "A minimum by the method of Nelder and Mead" + _OF)
fmin_powell = search(sp.fmin_powell, _descent, "A minimum by Powell's method" + _OF)
fmin_cg = search(sp.fmin_cg, _descent, "A minimum by conjugate gradients" + _OF)
fmin_bfgs = search(sp.fmin_bfgs, _descent, "A minimum by the BFGS method" + _OF)
fmin_ncg = search(sp.fmin_ncg, _descent, "A minimum by Newton's method, truncated" + _OF)
of_vectors = search(
    sp.minimize,
    _minimize,
    """SciPy's `minimize`, with the derivatives of where the slope is 0.

    As `minimize_scalar`; unknowns that end at a bound move with it. Of the result, `x`, `fun` and
    `success` are always there, and what SciPy tells else where it is known at once. Constraints
    are a named error.
    """,
)
_ALL = ", where SciPy finds it; as `scipy.optimize.minimize` on traced values."
basinhopping = search(sp.basinhopping, _global, "The least of all minima" + _ALL)
differential_evolution = search(
    sp.differential_evolution, _global, "The least of all minima within bounds" + _ALL
)
dual_annealing = search(sp.dual_annealing, _global, "The least minimum within bounds" + _ALL)
shgo = search(sp.shgo, _global, "The least minimum within bounds" + _ALL)
direct = search(sp.direct, _global, "The least minimum within bounds" + _ALL)
brute = search(sp.brute, _brute, "The least minimum on a grid" + _ALL)
