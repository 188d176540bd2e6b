"""Initial value problems: SciPy's own steps, and the equations of the derivatives beside them.

The solution y of dy/dt = f(t, y, θ) moves with y(t₀) and θ as S, dS/dt = (∂f/∂y) S + ∂f/∂θ, which
SciPy solves together with y. That is a problem of the same kind, so there are derivatives of every
order, in both modes; the steps themselves, and where they were chosen, have none. With n unknowns
and p parameters it has n (n + p) more: for many parameters `funcgrad.scan` over steps is cheaper.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.integrate as sp

from funcgrad.core.tracer import concrete, operand, type_of, value
from funcgrad.errors import AbstractValueError, located
from funcgrad.numpy.function_calls import FUNCTIONS, numpy_function, refuse
from funcgrad.ops.arithmetic import add
from funcgrad.ops.shape import reshape
from funcgrad.scipy.calls import array, is_traced, staged
from funcgrad.scipy.watched import watched
from funcgrad.transforms.api import ShapeDtypeStruct, custom_jvp, jacobian, pure_callback
from funcgrad.transforms.custom_call import SymbolicZero

__all__ = ["odeint", "solve_ivp"]

Function = Callable[..., Any]
_POINT = ShapeDtypeStruct((), np.float64)


def _solution(
    f: Function,
    numbers: Function,
    solve: Function,
    ends: Sequence[Any],
    times: Any,
    y0: Any,
    held: Sequence[Any],
    beside: tuple[int, ...] = (),
) -> Any:
    """The solution at `times`, one row each.

    Parameters
    ----------
    f, numbers : callable
        ``f(t, y, *held)``, and the same of what is known.
    solve : callable
        ``solve(f, ends, times, y0, beside)`` on numbers; see `_tolerances`.
    ends : (t0, t1)
    """
    n, count = type_of(operand(y0)).shape[0], type_of(operand(times)).shape[0]
    kind = ShapeDtypeStruct((count, n), np.float64)

    @custom_jvp
    def solution(t0: Any, t1: Any, times: Any, y0: Any, *held: Any) -> Any:
        def host(t0: Any, t1: Any, times: Any, y0: Any, *held: Any) -> Any:
            ends = float(t0), float(t1)
            return solve(lambda t, y: numbers(t, y, *held), ends, times, y0, beside)

        return pure_callback(host, kind, t0, t1, times, y0, *held, vmap_method="sequential")

    def rule(given: Any, moved: Any) -> Any:
        t0, t1, times, y0, *held = given
        d_t0, _, d_times, d_y0, *d_held = moved
        y, parts = solution(*given), []
        first = [] if _still(d_y0) else [d_y0]
        if not _still(d_t0):
            first.append(-f(t0, y0, *held) * d_t0)
        moving = [k for k, d in enumerate(d_held) if not _still(d)]
        sizes = [math.prod(type_of(operand(held[k])).shape) for k in moving]
        lead = n if first else 0
        p = lead + sum(sizes)

        def whole(t: Any, z: Any, *held: Any) -> Any:
            y, s = z[:n], reshape(z[n:], (n, p))
            by_y = jacobian(lambda y: f(t, y, *held))(y)
            columns = [np.zeros((n, lead))]
            for k, size in zip(moving, sizes, strict=True):
                columns.append(reshape(jacobian(f, 2 + k)(t, y, *held), (n, size)))
            change = by_y @ s + FUNCTIONS[np.concatenate](columns, axis=1)
            return FUNCTIONS[np.concatenate]([f(t, y, *held), reshape(change, (n * p,))])

        if p:
            kinds = ShapeDtypeStruct((n + n * p,), np.float64), *map(_kind, held)
            made, none = staged(whole, _POINT, *kinds)
            assert not none  # the operands are at hand, so nothing is closed over
            start = np.concatenate([np.eye(n, lead), np.zeros((n, p - lead))], axis=1).ravel()
            both = FUNCTIONS[np.concatenate]([y0, start])
            rows = _solution(made, made, solve, (t0, t1), times, both, held, (*beside, p))
            steps = [reshape(d_held[k], (size,)) for k, size in zip(moving, sizes, strict=True)]
            steps = [functools.reduce(add, first), *steps] if first else steps
            parts.append(reshape(rows[:, n:], (count, n, p)) @ FUNCTIONS[np.concatenate](steps))
        if not _still(d_times):
            slopes = [f(times[k], y[k], *held) * d_times[k] for k in range(count)]
            parts.append(FUNCTIONS[np.stack](slopes))
        return y, functools.reduce(add, parts) if parts else np.zeros((count, n))

    solution.defjvp(rule, symbolic_zeros=True)
    return solution(*map(operand, ends), times, y0, *held)


def _still(tangent: Any) -> bool:
    return isinstance(tangent, SymbolicZero)


def _kind(x: Any) -> Any:
    kind = type_of(operand(x))
    return ShapeDtypeStruct(kind.shape, kind.dtype)


def _start(name: str, y0: Any) -> Any:
    made = array(y0)
    made = made if hasattr(made, "shape") else np.asarray(made, np.float64)
    if type_of(made).dtype.kind == "c":
        refuse(name, y0=y0)
    made = made if type_of(made).dtype == np.float64 else made * 1.0
    return reshape(made, (1,)) if not type_of(made).ndim else made


def _tolerances(options: dict[str, Any], beside: tuple[int, ...]) -> dict[str, Any]:
    """Tolerances of unknowns for the equations beside them, too.

    `beside` tells how many there are for each unknown, of each order of derivatives.
    """
    found = {}
    for name in ("rtol", "atol"):
        given = np.asarray(options.get(name, 0.0), object)
        if given.ndim:
            each = given.astype(np.float64)
            for p in beside:
                each = np.concatenate([each, np.repeat(each, p)])
            found[name] = each
    return options | found


def _flat(f: Function) -> Function:
    def vector(*xs: Any) -> Any:
        made = array(f(*xs))
        return reshape(made, (math.prod(type_of(operand(made)).shape),))

    return vector


@numpy_function(sp.solve_ivp, calls=True)
def solve_ivp(
    fun: Function,
    t_span: Any,
    y0: Any,
    method: Any = "RK45",
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    vectorized: bool = False,
    args: Any = None,
    **options: Any,
) -> Any:
    """The solution of an initial value problem.

    Parameters
    ----------
    fun : callable
        ``fun(t, y, *args)``; it may close over traced values. Where it does it is traced once,
        without knowing `t` and `y`, so it chooses with ``np.where``.
    t_span, y0, t_eval, args
        Differentiable, as what `fun` closes over, to every order and in both modes.
    t_eval : array, optional
        Needed under `jit` and `vmap`; else times are those of SciPy's steps, as constants.
    dense_output, events
        Not supported on traced values.

    Notes
    -----
    Values are SciPy's; what is solved for a derivative has tolerances of its own, by the same
    numbers.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.integrate
    >>> import funcgrad as fg
    >>> def decayed(rate):
    ...     f = lambda t, y: -rate * y
    ...     return scipy.integrate.solve_ivp(f, (0.0, 1.0), [1.0], rtol=1e-9, atol=1e-9).y[0, -1]
    >>> fg.grad(decayed)(2.0).round(6)  # -exp(-2)
    np.float64(-0.135335)
    """
    own = sp.solve_ivp.__wrapped__
    given = {"dense_output": dense_output, "events": events, "vectorized": vectorized}
    if not is_traced((fun, t_span, y0, t_eval, args, options)):
        run = watched(own, "scipy.integrate.solve_ivp", strict=True)
        return run(fun, t_span, y0, method, t_eval, args=args, **given, **options)
    refuse("scipy.integrate.solve_ivp", dense_output=dense_output or None, events=events)
    more = () if args is None else tuple(args)
    y0 = _start("scipy.integrate.solve_ivp", y0)
    size = type_of(y0).shape[0]
    f, held = staged(
        _flat(lambda t, y: fun(t, y, *more)), _POINT, ShapeDtypeStruct((size,), np.float64)
    )
    numbers = getattr(f, "on_numbers", f)
    jac, slope = options.pop("jac", None), {}
    if callable(jac):
        slope["jac"] = jac if more == () else lambda t, y: jac(t, y, *more)
    notes: list[Any] = []

    def solve(
        f: Function, ends: Any, times: Any, y0: Any, beside: Any, choose: bool = False
    ) -> Any:
        told = _tolerances(options, beside) | ({} if beside or is_traced(slope) else slope)
        r = own(f, ends, y0, method, times if not choose else None, **told)
        if not beside:
            notes.append(r)
        if choose:
            return r.y.T
        rows = np.full((len(times), len(y0)), np.nan)  # where it fails before the end
        rows[: r.y.shape[1]] = r.y.T
        return rows

    t0, t1 = t_span
    if t_eval is None:
        known = [t0, t1, y0, *held]
        if not all(concrete(operand(x)) for x in known):
            raise AbstractValueError(
                located(
                    "scipy.integrate.solve_ivp: at how many times there is a solution depends on "
                    "values, which jit and vmap do not know; give t_eval="
                )
            )
        a, b, y, *xs = (value(operand(x)) for x in known)
        solve(lambda t, y: numbers(t, y, *xs), (float(a), float(b)), None, y, (), choose=True)
        r = notes.pop()
        at = list(r.t)
        ends = [t0, *at[1:-1], t1] if r.success else [t0, *at[1:]]
        times, chosen = array([x * 1.0 for x in ends]), True
        made = _solution(
            f, numbers, lambda f, e, t, y, o: solve(f, e, t, y, o, chosen and not o),
            (t0, t1), times, y0, held,
        )  # fmt: skip
    else:
        times = array(t_eval)
        times = times if hasattr(times, "shape") else np.asarray(times, np.float64)
        made = _solution(f, numbers, solve, (t0, t1), times * 1.0, y0, held)
    return _result(times, made, notes)


def _result(times: Any, made: Any, notes: list[Any]) -> Any:
    told = {"sol": None, "t_events": None, "y_events": None}
    if len(notes) == 1:
        told |= {k: notes[0][k] for k in ("nfev", "njev", "nlu", "status", "message", "success")}
    from scipy.integrate._ivp.ivp import OdeResult  # SciPy's own class, which is not public

    return OdeResult(t=times, y=FUNCTIONS[np.transpose](made), **told)


@numpy_function(sp.odeint, calls=True)
def odeint(
    func: Function, y0: Any, t: Any, args: Any = (), Dfun: Any = None, col_deriv: Any = 0,
    full_output: Any = 0, ml: Any = None, mu: Any = None, rtol: Any = None, atol: Any = None,
    tcrit: Any = None, h0: Any = 0.0, hmax: Any = 0.0, hmin: Any = 0.0, ixpr: Any = 0,
    mxstep: Any = 0, mxhnil: Any = 0, mxordn: Any = 12, mxords: Any = 5, printmessg: Any = 0,
    tfirst: Any = False,
) -> Any:  # fmt: skip
    """The solution of an initial value problem at given times; as `solve_ivp`.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.integrate
    >>> import funcgrad as fg
    >>> def decayed(rate):
    ...     return scipy.integrate.odeint(lambda y, t: -rate * y, 1.0, [0.0, 1.0])[-1, 0]
    >>> fg.grad(decayed)(2.0).round(6)  # -exp(-2)
    np.float64(-0.135335)
    """
    own = sp.odeint.__wrapped__
    options = {
        "rtol": rtol, "atol": atol, "tcrit": tcrit, "h0": h0, "hmax": hmax, "hmin": hmin,
        "ixpr": ixpr, "mxstep": mxstep, "mxhnil": mxhnil, "mxordn": mxordn, "mxords": mxords,
        "printmessg": printmessg,
    }  # fmt: skip
    if not is_traced((func, y0, t, args, Dfun)):
        run = watched(own, "scipy.integrate.odeint", strict=True)
        told = {"Dfun": Dfun, "col_deriv": col_deriv, "full_output": full_output}
        return run(func, y0, t, args, ml=ml, mu=mu, tfirst=tfirst, **told, **options)
    refuse("scipy.integrate.odeint", full_output=full_output or None)
    more = args if isinstance(args, tuple) else (args,)
    y0 = _start("scipy.integrate.odeint", y0)
    size = type_of(y0).shape[0]
    forward = (lambda t, y: func(t, y, *more)) if tfirst else (lambda t, y: func(y, t, *more))
    f, held = staged(_flat(forward), _POINT, ShapeDtypeStruct((size,), np.float64))
    numbers = getattr(f, "on_numbers", f)
    slope = {}
    if callable(Dfun) and not is_traced(Dfun) and not is_traced(more):
        slope = {"Dfun": Dfun if not more else lambda *a: Dfun(*a, *more), "col_deriv": col_deriv}
        turned = slope["Dfun"]
        slope["Dfun"] = turned if tfirst else lambda t, y: turned(y, t)

    def solve(f: Function, ends: Any, times: Any, y0: Any, beside: Any) -> Any:
        told = _tolerances(options, beside) | ({} if beside else slope | {"ml": ml, "mu": mu})
        return own(f, y0, times, tfirst=True, **told)

    times = array(t)
    times = times if hasattr(times, "shape") else np.asarray(times, np.float64)
    times = times * 1.0
    return _solution(f, numbers, solve, (times[0], times[-1]), times, y0, held)
