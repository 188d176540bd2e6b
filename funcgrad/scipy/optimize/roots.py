"""Roots of functions, which SciPy finds: differentiated as the solutions of the equations they are.

The root x of f(x, θ) = 0 moves by dx = -(∂f/∂x)⁻¹ (∂f/∂θ) dθ. Where a search begins, or between
which places, has no derivative.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.optimize as sp

from funcgrad.core.tracer import concrete, operand, type_of
from funcgrad.ops.arithmetic import subtract
from funcgrad.ops.shape import reshape
from funcgrad.scipy.optimize.searches import (
    BOOL,
    WHOLE,
    Call,
    Function,
    Report,
    array,
    found,
    known,
    numbers,
    of_equation,
    search,
    unless_lost,
)
from funcgrad.transforms.api import ShapeDtypeStruct, eval_shape

__all__ = [
    "anderson",
    "bisect",
    "brenth",
    "brentq",
    "broyden1",
    "broyden2",
    "diagbroyden",
    "excitingmixing",
    "fixed_point",
    "fsolve",
    "linearmixing",
    "newton",
    "newton_krylov",
    "ridder",
    "root",
    "root_scalar",
    "toms748",
]

_REPORT = (BOOL, WHOLE, WHOLE)
_POINT = ShapeDtypeStruct((), np.float64)


def _root(
    call: Call,
    f: Function,
    kind: Any,
    host: Function,
    start: Any,
    *,
    elementwise: bool,
    report: Any = (),
) -> Any:
    """The root, which `host` finds with what was staged of `f` and the functions of the call.

    ``host(f, start, held)`` gives the root and the report, whose first part is whether it was
    found.
    """
    at = call.staged(f, kind)
    held = call.held
    moves = of_equation(lambda x, *held: at(held)(x), elementwise)

    def run(start: Any, *held: Any) -> Any:
        made, *more = host(at(held, numbers=True), start, held)
        return (np.asarray(made, kind.dtype), *more)

    def step(out: Any, held: Any, moved: Any) -> Any:
        t = moves(out[0], held, moved)
        return (unless_lost(out[1], t) if report else t,)

    kinds = (kind, *(ShapeDtypeStruct((), k) for k in report))
    return found(run, kinds, step, start, held)


# --------------------------------------------------------------------------------- of a number


def _between(call: Call) -> Any:
    """The methods of a bracket, which have one signature."""

    def host(f: Function, start: Any, held: Any) -> Any:
        low, high = map(float, start)
        x, r = call.run(f=f, a=low, b=high, args=(), full_output=True)
        return x, r.converged, r.iterations, r.function_calls

    out = _root(
        call, call.with_args(call.get("f")), _POINT, host, (call.get("a"), call.get("b")),
        elementwise=True, report=_REPORT,
    )  # fmt: skip
    return (out[0], _results(out, call.own.__name__)) if call.get("full_output") else out[0]


def _results(out: Any, method: Any) -> Any:
    made = sp.RootResults(out[0], out[2], out[3], 0, method)
    made.converged = out[1]
    made.flag = ("converged" if out[1] else "not converged") if concrete(operand(out[1])) else None
    return made


def _slopes(call: Call, kind: Any, names: Any) -> dict[str, Function]:
    """The derivatives that are functions of the user's, staged."""
    given = {n: call.get(n) for n in names if callable(call.get(n))}
    return {n: call.staged(call.with_args(f), kind) for n, f in given.items()}


def _newton(call: Call) -> Any:
    given = array(call.get("x0"))
    shape, dtype = type_of(given).shape, type_of(given).dtype
    dtype = dtype if dtype.kind in "fc" else np.dtype(np.float64)
    f = call.with_args(call.get("func"))
    made = eval_shape(_vector(f), ShapeDtypeStruct(shape, dtype))
    kind = ShapeDtypeStruct(shape, np.result_type(dtype, made.dtype))
    slopes = _slopes(call, kind, ("fprime", "fprime2"))
    several = bool(kind.shape)
    start = [given] if call.get("x1") is None else [given, array(call.get("x1"))]

    def host(f: Function, start: Any, held: Any) -> Any:
        more = {n: s(held, numbers=True) for n, s in slopes.items()}
        if len(start) > 1:
            more["x1"] = start[1][()]
        found = call.run(func=f, x0=start[0][()], args=(), full_output=True, **more)
        if several:
            return (found[0],)
        r = found[1]
        return found[0], r.converged, r.iterations, r.function_calls

    if several:
        call.refuse("full_output", why="leave it out")
    out = _root(
        call, f, kind, host, start, elementwise=True, report=() if several else _REPORT
    )  # fmt: skip
    if not call.get("full_output"):
        return out[0]
    method = "newton" if call.get("fprime") else "secant"
    return out[0], _results(out, "halley" if call.get("fprime2") else method)


def _root_scalar(call: Call) -> Any:
    bracket = call.get("bracket")
    begin = {n: call.get(n) for n in ("x0", "x1") if call.get(n) is not None}
    ends = () if bracket is None else tuple(bracket)
    both = call.get("fprime") is True, call.get("fprime2") is True
    whole = call.with_args(call.get("f"))
    at_all = call.staged(whole, _POINT)  # what SciPy calls; its first result is the function
    slopes = _slopes(call, _POINT, ("fprime", "fprime2"))
    notes: list[Any] = []

    def first(x: Any) -> Any:
        made = whole(x)
        return made[0] if any(both) else made

    def host(_: Function, start: Any, held: Any) -> Any:
        places: dict[str, Any] = dict(zip(begin, map(float, start), strict=False))
        if ends:
            places["bracket"] = [float(x) for x in start[len(begin) :]]
        more = {n: s(held, numbers=True) for n, s in slopes.items()}
        r = call.run(f=at_all(held, numbers=True), args=(), **places, **more)
        notes.append(r)
        return r.root, r.converged, r.iterations, r.function_calls

    out = _root(
        call, first, _POINT, host, (*begin.values(), *ends), elementwise=True, report=_REPORT
    )
    r = known(notes)
    made = _results(out, call.get("method") if r is None else r.method)
    if r is not None:
        made.flag = r.flag
    return made


def _fixed_point(call: Call) -> Any:
    kind = numbers(call.get("x0"))
    f = call.with_args(call.get("func"))
    of = call.staged(f, kind)

    def host(_: Function, start: Any, held: Any) -> Any:
        return (call.run(func=of(held, numbers=True), x0=start[0][()], args=()),)

    gap = lambda x: subtract(x, array(f(x)))
    return _root(call, gap, kind, host, (call.get("x0"),), elementwise=not kind.shape)[0]


# -------------------------------------------------------------------------------- of a vector


def _vector(f: Function) -> Function:
    """`f`, whose result may be a list, with an array as the result."""
    return lambda x: array(f(x))


def _fsolve(call: Call) -> Any:
    call.refuse("full_output", why="take scipy.optimize.root, whose result tells the same")
    given = array(call.get("x0"))
    kind = ShapeDtypeStruct((int(np.prod(type_of(given).shape)),), np.float64)
    slopes = _slopes(call, kind, ("fprime",))

    def host(f: Function, start: Any, held: Any) -> Any:
        more = {n: s(held, numbers=True) for n, s in slopes.items()}
        return (call.run(func=f, x0=start[0], args=(), **more),)

    f = _vector(call.with_args(call.get("func")))
    return _root(call, f, kind, host, (given,), elementwise=False)[0]


def _nonlin(call: Call) -> Any:
    call.constant("callback")
    given = array(call.get("xin"))
    kind = numbers(given)
    f = _vector(call.get("F"))

    def host(f: Function, start: Any, held: Any) -> Any:
        return (call.run(F=f, xin=start[0]),)

    return _root(call, f, kind, host, (given,), elementwise=False)[0]


def _root_of_several(call: Call) -> Any:
    call.constant("callback", "options")
    given, whole = array(call.get("x0")), call.with_args(call.get("fun"))
    method = str(call.get("method", "hybr")).lower()
    shape = type_of(given).shape
    kind = ShapeDtypeStruct(shape or (1,), np.result_type(type_of(given).dtype, np.float64))
    if method in ("hybr", "lm"):
        kind = ShapeDtypeStruct((int(np.prod(shape)),), np.float64)
    pair = call.get("jac") is True
    at_all = call.staged(whole, kind)
    slopes = _slopes(call, kind, ("jac",))
    f = _vector((lambda x: whole(x)[0]) if pair else whole)
    notes: list[Any] = []
    if np.prod(eval_shape(f, kind).shape) != np.prod(kind.shape):
        call.fail(
            "there are more equations than unknowns; take scipy.optimize.least_squares, which has "
            "the derivatives of what it finds"
        )

    def host(f: Function, start: Any, held: Any) -> Any:
        more = {n: s(held, numbers=True) for n, s in slopes.items()}
        r = call.run(fun=at_all(held, numbers=True) if pair else f, x0=start[0], args=(), **more)
        notes.append(r)
        nfev = r.nfev if "nfev" in r else -1
        return np.reshape(r.x, kind.shape), bool(r.success), int(r.get("status", 0)), int(nfev)

    out = _root(call, f, kind, host, (given,), elementwise=False, report=_REPORT)
    x = out[0]
    made = Report(x=x, success=out[1], status=out[2], nfev=out[3], fun=reshape(f(x), kind.shape))
    r = known(notes)
    if r is not None:
        made.update({k: v for k, v in r.items() if isinstance(v, (str, int)) and k not in made})
    return made


_SEEN = "; `root_scalar` tells what is differentiated."
brentq = search(sp.brentq, _between, "A root in an interval, by Brent's method" + _SEEN)
brenth = search(sp.brenth, _between, "A root, by Brent's method with hyperbolas" + _SEEN)
bisect = search(sp.bisect, _between, "A root in an interval, by halves" + _SEEN)
ridder = search(sp.ridder, _between, "A root in an interval, by Ridder's method" + _SEEN)
toms748 = search(sp.toms748, _between, "A root, by algorithm 748 of the TOMS" + _SEEN)
newton = search(
    sp.newton,
    _newton,
    """A root by the methods of Newton, Halley or the secant; of arrays element by element.

    As `root_scalar`.

    Examples
    --------
    >>> import scipy.optimize
    >>> import funcgrad as fg
    >>> cube = lambda a: scipy.optimize.newton(lambda x: x**3 - a, 1.0)
    >>> fg.grad(cube)(8.0).round(9)
    np.float64(0.083333333)
    """,
)
root_scalar = search(
    sp.root_scalar,
    _root_scalar,
    """A root of a function of a number, with the derivatives of what the equation defines.

    Of what the function closes over and of `args`, to every order and in both modes; where the
    search begins, and a bracket, have none. The function is traced once, without knowing where
    SciPy will call it, so it chooses with ``np.where``. Where SciPy has found none, derivatives
    are NaN.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.optimize
    >>> import funcgrad as fg
    >>> def rate(price):
    ...     f = lambda r: np.sum(5.0 / (1.0 + r) ** np.arange(1, 6)) - price
    ...     return scipy.optimize.root_scalar(f, bracket=(0.0, 1.0)).root
    >>> fg.grad(rate)(20.0).round(9)
    np.float64(-0.018950238)
    """,
)
fixed_point = search(sp.fixed_point, _fixed_point, "Where a function is its argument" + _SEEN)
fsolve = search(
    sp.fsolve,
    _fsolve,
    """A root of as many equations as there are unknowns; see `root`.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.optimize
    >>> import funcgrad as fg
    >>> meet = lambda a: scipy.optimize.fsolve(
    ...     lambda x: [x[0] ** 2 + x[1] ** 2 - a, x[0] - x[1]], np.ones(2))
    >>> fg.jacobian(meet)(2.0).round(9)
    array([0.25, 0.25])
    """,
)
root = search(
    sp.root,
    _root_of_several,
    """A root of several equations, with the derivatives of what they define.

    As `root_scalar`. `x`, `fun`, `success`, `status` and `nfev` are what the result has; the
    derivative solves a system with the exact Jacobian.
    """,
)
_STEPS = "A root of equations, by steps that approximate the Jacobian; see `root`."
broyden1 = search(sp.broyden1, _nonlin, _STEPS)
broyden2 = search(sp.broyden2, _nonlin, _STEPS)
anderson = search(sp.anderson, _nonlin, _STEPS)
linearmixing = search(sp.linearmixing, _nonlin, _STEPS)
diagbroyden = search(sp.diagbroyden, _nonlin, _STEPS)
excitingmixing = search(sp.excitingmixing, _nonlin, _STEPS)
newton_krylov = search(sp.newton_krylov, _nonlin, _STEPS)
