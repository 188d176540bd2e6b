"""Least squares, of which SciPy finds the parameters: differentiated as the minima they are.

The sum of squares is a function like another, with its whole second derivative, so data that a
model does not meet are no special case. What is told of the fit, as the covariance of parameters,
has the derivative of its own formula there.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.optimize as sp

from funcgrad.core.tracer import operand, type_of
from funcgrad.numpy.function_calls import FUNCTIONS
from funcgrad.ops.arithmetic import where
from funcgrad.ops.shape import reshape
from funcgrad.scipy.optimize.minima import FREE, of_minimum
from funcgrad.scipy.optimize.searches import (
    BOOL,
    WHOLE,
    Call,
    Function,
    Report,
    array,
    found,
    known,
    search,
    unless_lost,
)
from funcgrad.transforms.api import ShapeDtypeStruct, eval_shape, jacobian, jvp

__all__ = ["curve_fit", "isotonic_regression", "least_squares", "leastsq", "lsq_linear", "nnls"]

_NUMBER = ShapeDtypeStruct((), np.float64)
_FLAG, _COUNT = ShapeDtypeStruct((), BOOL), ShapeDtypeStruct((), WHOLE)


def _numpy(name: str) -> Any:
    return FUNCTIONS[getattr(np, name)]


LOSSES: dict[str, Callable[[Any], Any]] = {
    "linear": lambda z: z,
    "soft_l1": lambda z: 2.0 * ((1.0 + z) ** 0.5 - 1.0),
    "huber": lambda z: where(z <= 1.0, z, 2.0 * where(z <= 1.0, 1.0, z) ** 0.5 - 1.0),
    "cauchy": lambda z: np.log1p(z),
    "arctan": lambda z: np.arctan(z),
}


def _cost(residual: Function, rho: Function = LOSSES["linear"], scale: float = 1.0) -> Function:
    """Half the sum of the squares, each as the loss has it."""

    def cost(x: Any, *held: Any) -> Any:
        r = residual(x, *held)
        each = rho((r / scale) ** 2) if scale != 1.0 else rho(r**2)
        return 0.5 * scale**2 * _numpy("sum")(each)

    return cost


def _fit(
    residual: Function,
    run: Function,
    kinds: Sequence[Any],
    told: Sequence[Function | None],
    operands: Sequence[Any],
    start: Sequence[Any] = (),
    bounds: Any = None,
    cost: Function | None = None,
    ok: int | None = None,
) -> Any:
    """The parameters at which the squares of ``residual(x, *operands)`` are least, and more.

    Parameters
    ----------
    run : callable
        ``run(start, low, high, *operands)`` gives arrays of the types `kinds`.
    told : sequence of callables
        ``f(x, *operands)`` is what the result behind the parameters is; None for what has no
        derivative.
    cost : callable, optional
        What is least, if it is not half the sum of squares.
    ok : int, optional
        Which result says whether it was found.
    """
    moves = of_minimum(cost or _cost(residual), bounds is not None)
    low, high = (array(b) + np.zeros(kinds[0].shape) for b in bounds or FREE)

    def step(out: Any, given: Any, moved: Any) -> Any:
        t = moves(out[0], given, moved)
        t = t if ok is None else unless_lost(out[ok], t)
        at, by = (out[0], *given[2:]), (t, *moved[2:])
        more = [None if f is None else jvp(f, at, by)[1] for f in told]
        flat = [np.zeros(k.shape) if m is None else m for m, k in zip(more, kinds[1:], strict=True)]
        return t, *flat[: _last(told)]

    return found(run, kinds, step, start, (low, high, *operands))


def _last(told: Sequence[Any]) -> int:
    """How many results have a derivative; they stand in front."""
    return sum(f is not None for f in told)


def _shape(x: Any) -> Any:
    kind = type_of(operand(x))
    return ShapeDtypeStruct(kind.shape, kind.dtype)


def _flat(f: Function) -> Function:
    """`f` with its result as a vector."""

    def vector(*xs: Any) -> Any:
        made = array(f(*xs))
        return reshape(made, (math.prod(type_of(made).shape),))

    return vector


# ----------------------------------------------------------------------------- of any function


def _least_squares(call: Call) -> Any:
    call.constant("tr_options", "callback", "jac_sparsity", "x_scale", "f_scale", "loss")
    args, more = call.args, call.get("kwargs") or {}
    given = array(call.get("x0"))
    n = math.prod(type_of(given).shape)
    kind = ShapeDtypeStruct((n,), np.float64)
    f = _flat(lambda x: call.given["fun"](x, *args, **more))
    slope = call.get("jac")
    slopes = {}
    if callable(slope):
        slopes["jac"] = call.staged(lambda x: array(slope(x, *args, **more)), kind)
    at = call.staged(f, kind)
    made = ShapeDtypeStruct(eval_shape(f, kind).shape, np.float64)
    bounds, held, notes = call.get("bounds"), call.held, []
    loss = call.get("loss", "linear")
    rho = (lambda z: loss(z)[0]) if callable(loss) else LOSSES[loss]
    residual = lambda x, *held: at(held)(x)
    cost = _cost(residual, rho, float(call.get("f_scale", 1.0)))

    def run(start: Any, low: Any, high: Any, *held: Any) -> Any:
        functions = {n: s(held, numbers=True) for n, s in slopes.items()}
        ends = {} if bounds is None else {"bounds": (low, high)}
        r = call.run(
            fun=at(held, numbers=True), x0=start[0], args=(), kwargs={}, **functions, **ends
        )
        notes.append(r)
        return r.x, np.float64(r.cost), r.fun, bool(r.success), int(r.status), int(r.nfev)

    ends = None if bounds is None else _ends_of(bounds)
    kinds = (kind, _NUMBER, made, _FLAG, _COUNT, _COUNT)
    out = _fit(
        residual, run, kinds, (cost, residual, None, None, None), held, (given,), ends, cost, 3
    )
    names = ("x", "cost", "fun", "success", "status", "nfev")
    result = Report(dict(zip(names, out, strict=True)))
    r = known(notes)
    if r is not None:
        result.update(message=r.message, active_mask=r.active_mask, njev=r.njev)
    return result


def _ends_of(bounds: Any) -> Any:
    if isinstance(bounds, sp.Bounds):
        return array(bounds.lb), array(bounds.ub)
    return array(bounds[0]), array(bounds[1])


def _leastsq(call: Call) -> Any:
    call.refuse("full_output", why="take scipy.optimize.least_squares, whose result tells it")
    given = array(call.get("x0"))
    kind = ShapeDtypeStruct((math.prod(type_of(given).shape),), np.float64)
    f = _flat(call.with_args(call.get("func")))
    at, slopes = call.staged(f, kind), {}
    if callable(call.get("Dfun")):
        slope = call.with_args(call.get("Dfun"))
        slopes["Dfun"] = call.staged(lambda x: array(slope(x)), kind)

    def run(start: Any, low: Any, high: Any, *held: Any) -> Any:
        functions = {n: s(held, numbers=True) for n, s in slopes.items()}
        x, ended = call.run(func=at(held, numbers=True), x0=start[0], args=(), **functions)
        return np.reshape(x, kind.shape), int(ended), bool(ended in (1, 2, 3, 4))

    residual = lambda x, *held: at(held)(x)
    out = _fit(residual, run, (kind, _COUNT, _FLAG), (None, None), call.held, (given,), ok=2)
    return out[0], out[1]


# ---------------------------------------------------------------------------------- of a model


def _curve_fit(call: Call) -> Any:
    call.refuse("full_output", why="leave it out, and compute what it tells of the parameters")
    call.refuse("nan_policy", why="leave out what is NaN before")
    x0, f = call.get("p0"), call.get("f")
    signature = inspect.signature(f)
    if x0 is None:
        n = len(inspect.getfullargspec(f).args) - 1 - inspect.ismethod(f)
    else:
        n = math.prod(type_of(operand(array(x0))).shape)
    xdata, ydata = call.get("xdata"), array(call.get("ydata"))
    numeric = isinstance(xdata, (list, tuple, np.ndarray)) or hasattr(xdata, "__array_namespace__")
    sigma = call.get("sigma")
    data = [array(xdata)] if numeric else []
    data += [ydata] if sigma is None else [ydata, array(sigma)]
    data = [x if hasattr(x, "dtype") else np.asarray(x, np.float64) for x in data]
    floats = [ShapeDtypeStruct(type_of(x).shape, np.float64) for x in data]
    kind, of_x = ShapeDtypeStruct((n,), np.float64), floats[:1] if numeric else []
    inner: Function = (lambda x, *p: f(x, *p)) if numeric else (lambda *p: f(xdata, *p))
    model = call.staged(inner, *of_x, *(_NUMBER,) * n)
    slope, slopes = call.get("jac"), {}
    if callable(slope):
        wrapped: Function = (
            (lambda x, *p: slope(x, *p)) if numeric else (lambda *p: slope(xdata, *p))
        )
        each: Function = lambda *a: array(wrapped(*a))
        slopes["jac"] = call.staged(each, *of_x, *(_NUMBER,) * n)
    bounds = call.get("bounds")
    ends = None if bounds is None else _ends_of(bounds)
    count = len(data)

    def residual(p: Any, *operands: Any) -> Any:
        parts, held = operands[:count], operands[count:]
        y = model(held)(*parts[: len(of_x)], *(p[k] for k in range(n)))
        gap = reshape(y - parts[len(of_x)], (math.prod(type_of(parts[len(of_x)]).shape),))
        return gap if sigma is None else _weighed(gap, parts[-1])

    def covariance(p: Any, *operands: Any) -> Any:
        r, j = residual(p, *operands), jacobian(residual)(p, *operands)
        made = FUNCTIONS[np.linalg.inv](j.T @ j)
        over = type_of(r).shape[0] - n
        if call.get("absolute_sigma"):
            return made
        return made * (_numpy("sum")(r**2) / over) if over > 0 else made * np.nan

    def run(start: Any, low: Any, high: Any, *operands: Any) -> Any:
        parts, held = operands[:count], operands[count:]
        on_numbers = {"f": model, **slopes}
        functions = {
            name: _named(s(held, numbers=True), signature, numeric)
            for name, s in on_numbers.items()
        }
        changed: dict[str, Any] = {"ydata": parts[len(of_x)]} | functions
        changed |= {"xdata": parts[0]} if numeric else {}
        changed |= {} if sigma is None else {"sigma": parts[-1]}
        changed |= {} if bounds is None else {"bounds": (low, high)}
        changed |= {"p0": start[0]} if start else {}
        return call.run(**changed)

    kinds = (kind, ShapeDtypeStruct((n, n), np.float64))
    start = () if x0 is None else (array(x0),)
    return _fit(residual, run, kinds, (covariance,), (*data, *call.held), start, ends)


def _named(f: Function, signature: inspect.Signature, numeric: bool) -> Function:
    """`f` with the signature of the model, of which SciPy asks how many parameters there are."""

    def model(x: Any, *p: Any) -> Any:
        return f(x, *p) if numeric else f(*p)

    model.__signature__ = signature  # type: ignore[attr-defined]
    return model


def _weighed(gap: Any, sigma: Any) -> Any:
    """Residuals divided by errors, or by the factor of their covariance."""
    if type_of(sigma).ndim < 2:
        return gap / sigma
    return FUNCTIONS[np.linalg.solve](FUNCTIONS[np.linalg.cholesky](sigma), gap)


# ----------------------------------------------------------------------------- of linear models


def _linear(call: Call) -> Any:
    """`nnls` and `lsq_linear`: a matrix and what it should give."""
    a, b = array(call.get("A")), array(call.get("b"))
    if type_of(a).ndim != 2:
        call.fail("A is a matrix here; sparse ones and operators have no traced values")
    m, n = type_of(a).shape
    bounds = (0.0, np.inf) if call.own.__name__ == "nnls" else call.get("bounds")
    ends = None if bounds is None else _ends_of(bounds)
    residual: Function = lambda x, a, b: a @ x - b
    kind, rest = ShapeDtypeStruct((n,), np.float64), ShapeDtypeStruct((m,), np.float64)
    notes: list[Any] = []
    if call.own.__name__ == "nnls":
        length: Function = lambda x, a, b: FUNCTIONS[np.linalg.norm](residual(x, a, b))
        run: Function = lambda start, low, high, a, b: call.run(A=a, b=b)
        return _fit(residual, run, (kind, _NUMBER), (length,), (a, b), (), ends)

    def run_bounded(start: Any, low: Any, high: Any, a: Any, b: Any) -> Any:
        r = call.run(A=a, b=b, **({} if bounds is None else {"bounds": (low, high)}))
        notes.append(r)
        return r.x, np.float64(r.cost), r.fun, bool(r.success), int(r.status), int(r.nit)

    kinds = (kind, _NUMBER, rest, _FLAG, _COUNT, _COUNT)
    told = (_cost(residual), residual, None, None, None)
    out = _fit(residual, run_bounded, kinds, told, (a, b), (), ends)
    names = ("x", "cost", "fun", "success", "status", "nit")
    result = Report(dict(zip(names, out, strict=True)))
    r = known(notes)
    if r is not None:
        result.update(message=r.message, active_mask=r.active_mask)
    return result


def _isotonic(call: Call) -> Any:
    """Means over blocks, which are those of SciPy's result."""
    y, weights = array(call.get("y")), call.get("weights")
    (n,) = type_of(y).shape
    w = np.ones(n) if weights is None else array(weights)
    notes: list[Any] = []

    def run(start: Any, y: Any, w: Any) -> Any:
        r = call.run(y=y, weights=w)
        notes.append(r)
        blocks = np.repeat(np.arange(len(r.blocks) - 1), np.diff(r.blocks))
        return np.ascontiguousarray(r.x), blocks

    def step(out: Any, given: Any, moved: Any) -> Any:
        same = where(out[1][:, None] == out[1][None, :], 1.0, 0.0)
        mean = lambda y, w: (same @ (w * y)) / (same @ w)
        return (jvp(mean, tuple(given), tuple(moved))[1],)

    kinds = ShapeDtypeStruct((n,), np.float64), ShapeDtypeStruct((n,), WHOLE)
    x = found(run, kinds, step, (), (y, w))[0]
    made, r = Report(x=x), known(notes)
    if r is not None:
        made.blocks = r.blocks
        made.weights = _numpy("stack")(
            [_numpy("sum")(w[i:j]) for i, j in zip(r.blocks[:-1], r.blocks[1:], strict=True)]
        )
    return made


least_squares = search(
    sp.least_squares,
    _least_squares,
    """The parameters at which squares of residuals, or losses of them, are least.

    They have derivatives by what the function closes over, `args` and active bounds, to every
    order and in both modes: those of a minimum, with the curvature of the residuals. `x`, `cost`,
    `fun`, `success`, `status` and `nfev` are what the result has.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.optimize
    >>> import funcgrad as fg
    >>> t = np.arange(4.0)
    >>> fit = lambda y: scipy.optimize.least_squares(lambda x: x[0] + x[1] * t - y, np.zeros(2)).x
    >>> fg.jacobian(fit)(np.array([1.0, 2.0, 2.0, 4.0])).round(6) + 0.0
    array([[ 0.7,  0.4,  0.1, -0.2],
           [-0.3, -0.1,  0.1,  0.3]])
    """,
)
leastsq = search(sp.leastsq, _leastsq, "Least squares by MINPACK; see `least_squares`.")
curve_fit = search(
    sp.curve_fit,
    _curve_fit,
    """The parameters of a model that fit data best, and their covariance.

    Both have derivatives by the data, their errors, and what the model closes over; as
    `least_squares`.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.optimize
    >>> import funcgrad as fg
    >>> t = np.arange(4.0)
    >>> fit = lambda y: scipy.optimize.curve_fit(lambda t, a, b: a + b * t, t, y)[0]
    >>> fg.jacobian(fit)(np.array([1.0, 2.0, 2.0, 4.0])).round(6) + 0.0
    array([[ 0.7,  0.4,  0.1, -0.2],
           [-0.3, -0.1,  0.1,  0.3]])
    """,
)
nnls = search(sp.nnls, _linear, "Least squares of a matrix, by what is not negative.")
lsq_linear = search(sp.lsq_linear, _linear, "Least squares of a matrix, within bounds.")
isotonic_regression = search(
    sp.isotonic_regression, _isotonic, "The rising sequence that is nearest: means over blocks."
)
