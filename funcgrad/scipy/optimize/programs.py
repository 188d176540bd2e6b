"""Linear programs, differentiated where their solution is a corner; and finite differences.

A corner is where constraints hold as equations: it moves as the solution of these does.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.optimize as sp

from funcgrad.core.tracer import operand, type_of
from funcgrad.numpy.function_calls import FUNCTIONS, numpy_function, refuse
from funcgrad.ops.arithmetic import where
from funcgrad.ops.shape import reshape
from funcgrad.scipy.optimize.minima import FREE
from funcgrad.scipy.optimize.searches import (
    BOOL,
    WHOLE,
    Call,
    Function,
    Report,
    array,
    found,
    is_traced,
    known,
    search,
    solve,
    unless_lost,
)
from funcgrad.transforms.api import ShapeDtypeStruct, jvp

__all__ = ["approx_fprime", "check_grad", "linprog"]

CLOSE = 1e-7  # of a constraint, relative to it, where the program has reached it


def _ends(bounds: Any, n: int) -> tuple[Any, Any]:
    """The bounds of all unknowns, in any form that `linprog` takes."""
    if bounds is None:
        bounds = (0.0, None)
    rows = bounds if hasattr(bounds, "shape") else list(bounds)
    flat = not hasattr(rows, "shape") and len(rows) == 2 and not hasattr(rows[0], "__len__")
    if flat or (hasattr(rows, "shape") and type_of(operand(rows)).ndim == 1):
        rows = [rows] * n
    elif not hasattr(rows, "shape") and len(rows) == 1:
        rows = list(rows) * n
    low = [FREE[0] if row[0] is None else row[0] for row in rows]
    return array(low), array([FREE[1] if row[1] is None else row[1] for row in rows])


def _linprog(call: Call) -> Any:
    call.refuse("integrality", why="whole numbers do not move; give these as bounds")
    call.constant("callback", "options", "x0")
    c = array(call.get("c"))
    n = math.prod(type_of(c).shape)
    low, high = _ends(call.get("bounds"), n)
    sides = [array(call.get(k)) for k in ("A_ub", "b_ub", "A_eq", "b_eq") if _given(call, k)]
    names = [k for k in ("A_ub", "b_ub", "A_eq", "b_eq") if _given(call, k)]
    kind, notes = ShapeDtypeStruct((n,), np.float64), []

    def run(start: Any, c: Any, low: Any, high: Any, *sides: Any) -> Any:
        given = dict(zip(names, sides, strict=True))
        r = call.run(c=c, bounds=np.stack([low, high], axis=1), **given)
        notes.append(r)
        x = np.full(n, np.nan) if r.x is None else r.x
        fun = np.nan if r.fun is None else r.fun
        rest = [
            np.zeros(k.shape) + (np.nan if y is None else y)
            for y, k in zip((r.slack, r.con), gaps, strict=True)
        ]
        return x, np.float64(fun), *rest, bool(r.success), int(r.status), int(r.nit)

    def step(out: Any, given: Any, moved: Any) -> Any:
        x = out[0]
        holds = _active(x, given, names)
        gaps: Function = lambda x, *given: FUNCTIONS[np.concatenate](
            [h * g for h, g in zip(holds, _gaps(x, given, names), strict=True)]
        )
        change = jvp(lambda *g: gaps(x, *g), tuple(given), tuple(moved))[1]
        rows = FUNCTIONS[np.concatenate](
            [h[:, None] * a for h, a in zip(holds, _rows(given, names, n), strict=True)]
        )
        ok = out[4]
        one = FUNCTIONS[np.sum](FUNCTIONS[np.concatenate](holds)) < n + 0.5
        t = unless_lost(ok & one, solve(rows.T @ rows, -(rows.T @ change)))
        told: Function = lambda x, *given: (given[0] @ x, *_slacks(x, given, names))
        return t, *jvp(told, (x, *given), (t, *moved))[1]

    scalar, whole = ShapeDtypeStruct((), np.float64), ShapeDtypeStruct((), WHOLE)
    gaps = [
        ShapeDtypeStruct(type_of(array(call.get(k))).shape if _given(call, k) else (0,), np.float64)
        for k in ("b_ub", "b_eq")
    ]
    kinds = (kind, scalar, *gaps, ShapeDtypeStruct((), BOOL), whole, whole)
    low, high = low + np.zeros(n), high + np.zeros(n)
    out = found(run, kinds, step, (), (reshape(c, (n,)), low, high, *sides))
    names_of = ("x", "fun", "slack", "con", "success", "status", "nit")
    made = Report(dict(zip(names_of, out, strict=True)))
    r = known(notes)
    if r is not None:
        made.message = r.message
    return made


def _given(call: Call, name: str) -> bool:
    return call.get(name) is not None


def _parts(given: Any, names: list[str]) -> tuple[dict[str, Any], Any, Any]:
    _, low, high, *sides = given
    return dict(zip(names, sides, strict=True)), low, high


def _gaps(x: Any, given: Any, names: list[str]) -> list[Any]:
    """What is 0 where each constraint holds as an equation; finite where a bound is not."""
    of, low, high = _parts(given, names)
    made = [of[f"A_{k}"] @ x - of[f"b_{k}"] for k in ("eq", "ub") if f"A_{k}" in of]
    ends = [where(abs(b) < np.inf, b, 0.0) for b in (low, high)]
    return [*made, *(x - b for b in ends)]


def _rows(given: Any, names: list[str], n: int) -> list[Any]:
    of, _, _ = _parts(given, names)
    made = [of[f"A_{k}"] for k in ("eq", "ub") if f"A_{k}" in of]
    return [*made, np.eye(n), np.eye(n)]


def _active(x: Any, given: Any, names: list[str]) -> list[Any]:
    """1 for each constraint that holds as an equation, 0 for the others."""
    of, low, high = _parts(given, names)
    gaps = _gaps(x, given, names)
    sizes = [of[f"b_{k}"] for k in ("eq", "ub") if f"A_{k}" in of] + [low, high]
    near = [
        (abs(g) <= CLOSE * (1.0 + where(abs(b) < np.inf, abs(b), 0.0))) & (abs(b) < np.inf)
        for g, b in zip(gaps, sizes, strict=True)
    ]
    if "A_eq" in of:
        near[0] = near[0] | True
    near[-1] = near[-1] & (near[-2] ^ True)  # of what is fixed both bounds are one
    return [where(h, 1.0, 0.0) for h in near]


def _slacks(x: Any, given: Any, names: list[str]) -> list[Any]:
    of, _, _ = _parts(given, names)
    return [
        of[f"b_{k}"] - of[f"A_{k}"] @ x if f"A_{k}" in of else np.zeros(0) for k in ("ub", "eq")
    ]


linprog = search(
    sp.linprog,
    _linprog,
    """The least value of a linear function under linear constraints.

    Where it is, and the value, have derivatives by all of the program where the solution is one
    corner. Elsewhere the equations of the constraints that hold do not determine it, which is a
    named error; where more hold than there are unknowns, derivatives are NaN. Multipliers and
    `integrality` are not supported on traced values.

    Examples
    --------
    >>> import scipy.optimize
    >>> import funcgrad as fg
    >>> sides = [[1.0, 1.0], [0.0, 1.0]]
    >>> most = lambda b: scipy.optimize.linprog([-1.0, -2.0], sides, [b, 1.0]).fun
    >>> fg.grad(most)(3.0).round(9)
    np.float64(-1.0)
    """,
)


# ------------------------------------------------------------------------- finite differences


@numpy_function(sp.approx_fprime, calls=True)
def approx_fprime(xk: Any, f: Any, epsilon: Any = 2.0**-26, *args: Any) -> Any:
    """The slope of a function by differences, whose derivative is that of the differences."""
    if not is_traced((xk, f, epsilon, args)):
        return sp.approx_fprime.__wrapped__(xk, f, epsilon, *args)
    x = array(xk)
    x = reshape(x, (1,)) if not type_of(x).ndim else x
    (n,) = type_of(x).shape
    first = array(f(x, *args))
    sign = where(x >= 0.0, 1.0, -1.0)
    usual = 2.0**-26 * sign * where(abs(x) > 1.0, abs(x), 1.0)
    steps = np.zeros(n) + epsilon
    steps = where((x + steps) - x == 0.0, usual, steps)
    rows = []
    for k in range(n):
        moved = where(np.arange(n) == k, x + steps, x)
        rows.append((array(f(moved, *args)) - first) / (moved[k] - x[k]))
    made = FUNCTIONS[np.stack](rows, axis=-1)
    return made[0] if type_of(first).shape == (1,) else made


@numpy_function(sp.check_grad, calls=True)
def check_grad(
    func: Any, grad: Any, x0: Any, *args: Any, epsilon: Any = 2.0**-26, direction: str = "all",
    rng: Any = None, seed: Any = None,
) -> Any:  # fmt: skip
    """How far a gradient is from that by differences; see `approx_fprime`."""
    if not is_traced((func, grad, x0, epsilon, args)):
        more = {k: v for k, v in (("rng", rng), ("seed", seed)) if v is not None}
        own = sp.check_grad.__wrapped__
        return own(func, grad, x0, *args, epsilon=epsilon, direction=direction, **more)
    if direction != "all":
        refuse("scipy.optimize.check_grad", direction=direction)
    gap = array(grad(array(x0), *args)) - approx_fprime(x0, func, epsilon, *args)
    return FUNCTIONS[np.sum](abs(gap**2)) ** 0.5
