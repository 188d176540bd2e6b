"""FITPACK's smoothing and least-squares splines: their knots, coefficients and residual.

Smoothing with a factor s is a constrained problem (Dierckx 1982): the jumps of the k-th derivative
at the inner knots are least, while the weighted squared residual is s. With the multiplier λ of the
constraint, A = diag(w) B for the B-splines at the points, b = w y, and the jumps D c,

    (AᵀA + λ DᵀD) c = Aᵀb,    |A c - b|² = s.

Which points are knots is decided by FITPACK from the values and is locally constant; a knot that is
a point moves with it. Derivatives are those of the solution for these knots. FITPACK ends its
search for λ where the residual is within s/1000 of s: derivatives are taken at the residual that it
has found, and those of its values follow them as closely.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.interpolate as sp

import funcgrad.numpy as fnp
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import operand, type_of
from funcgrad.core.types import Array
from funcgrad.numpy.function_calls import known
from funcgrad.ops.samples import draw
from funcgrad.scipy.interpolate.pieces import real_numbers
from funcgrad.scipy.interpolate.splines import design_rows
from funcgrad.scipy.valued import valued

__all__ = ["Fit", "fit"]

Fit = tuple[Array, Array, Array]
"""Knots, coefficients and residual."""

NONE = 1e-10
"""The part of the right-hand side below which the term of λ is rounding: none is needed."""

# ------------------------------------------------------------------------------ FITPACK's values


def _of_splrep(x: Any, y: Any, w: Any, s: Any, inner: Any, k: int, ends: Any, own: bool) -> Any:
    given = {"t": inner} if own else {}
    tck, residual, *_ = sp.splrep(x, y, w, *ends, k=k, s=s, full_output=1, quiet=1, **given)
    return tck[0], tck[1], residual


def _of_class(x: Any, y: Any, w: Any, s: Any, inner: Any, k: int, ends: Any, own: bool) -> Any:
    if own:
        made = sp.LSQUnivariateSpline(x, y, inner, w, ends, k)
    else:
        made = sp.UnivariateSpline(x, y, w, ends, k, s)
    return *made._eval_args[:2], made.get_residual()


def _of_make_splrep(
    x: Any, y: Any, w: Any, s: Any, inner: Any, k: int, ends: Any, own: bool
) -> Any:
    given = {"t": inner} if own else {}
    made = sp.make_splrep(x, y, w=w, xb=ends[0], xe=ends[1], k=k, s=s, **given)
    return made.t, made.c, np.sum((w * (y - made(x))) ** 2)


VALUES = {"splrep": _of_splrep, "class": _of_class, "make_splrep": _of_make_splrep}


def _value(
    x: Any, y: Any, w: Any, s: Any, inner: Any, *, source: str, k: int, ends: Any, own: bool,
    places: Any, start: Any,
) -> Any:  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of which the first call has told
        _, c, residual = VALUES[source](x, y, w, float(s), inner, k, ends, own)
    c = np.array(c)
    if source != "make_splrep":
        c[len(c) - k - 1 :] = 0.0  # what FITPACK leaves there is what was in its memory
    return c, np.float64(residual)


# --------------------------------------------------------------------------------- the problem


def _jumps(t: Array, k: int) -> Array:
    """The jumps of the k-th derivatives of all B-splines at the inner knots."""
    n = type_of(t).shape[0]
    middles = (t[k : n - k - 1] + t[k + 1 : n - k]) / 2
    return fnp.diff(design_rows(t, operand(middles), k, k), axis=0)


def _solved(system: tuple[Any, Any, Any], penalty: Any) -> tuple[Any, Any, Any]:
    """The coefficients for a λ, their residual and its derivative by λ."""
    rows, right, jumps = system
    matrix = rows.T @ rows + penalty * (jumps.T @ jumps)
    c = fnp.linalg.solve(matrix, rows.T @ right)
    bent = jumps.T @ (jumps @ c)
    return (
        c,
        fnp.sum((rows @ c - right) ** 2),
        2 * penalty * (bent @ fnp.linalg.solve(matrix, bent)),
    )


def _system(
    x: Array, y: Array, w: Array, inner: Array, k: int, places: Any
) -> tuple[Any, tuple[Any, Any, Any]]:
    t = operand(fnp.concatenate([x, (x[1:] + x[:-1]) / 2, inner])[np.array(places)])
    rows = design_rows(t, x, k, 0) * fnp.expand_dims(w, 1)
    return t, (rows, operand(w * y), _jumps(t, k))


def _composed(
    x: Array, y: Array, w: Array, s: Array, inner: Array, *, source: str, k: int, ends: Any,
    own: bool, places: Any, start: Any,
) -> tuple[Array, Array]:  # fmt: skip
    """Two of Newton's steps, from the λ of the values: right to the third order."""
    _, system = _system(x, y, w, inner, k, places)
    rows, right, _ = system
    if start is None:
        c = fnp.linalg.lstsq(rows, right, rcond=None)[0]
        residual = fnp.sum((rows @ c - right) ** 2)
    else:
        penalty, wanted, factor = start
        for _ in range(2):
            c, residual, slope = _solved(system, penalty)
            penalty = penalty - (residual - (wanted + (s - factor))) / slope
        c, residual, _ = _solved(system, penalty)
    if source != "make_splrep":  # FITPACK has as many coefficients as knots
        c = fnp.concatenate([c, np.zeros(k + 1)])
    return operand(c), operand(residual)


def _start(system: tuple[Any, Any, Any], c: Any, s: float) -> tuple[float, float, float] | None:
    """λ of known coefficients, their residual and s; None where nothing is smoothed.

    λ is the one for which the first equation holds best.
    """
    rows, right, jumps = (np.asarray(part) for part in system)
    if not len(jumps):
        return None
    bent, pull = jumps.T @ (jumps @ c), rows.T @ (right - rows @ c)
    size = bent @ bent
    penalty = bent @ pull / size if size else 0.0
    if penalty * np.sqrt(size) <= NONE * np.linalg.norm(rows.T @ right):
        return None
    return float(penalty), float(_solved((rows, right, jumps), penalty)[1]), s


SMOOTHED = valued(
    "interpolate_smoothing",
    _value,
    _composed,
    lambda: [_sample("splrep", 0.6), _sample("class", 0.2)],
    multiple=True,
)


# -------------------------------------------------------------------------------------- fitting


def _places(t: Any, x: Any, inner: Any) -> tuple[tuple[int, ...], Any]:
    """Where each knot is in the points, the middles between them and `inner`, which grows."""
    pool = np.concatenate([x, (x[1:] + x[:-1]) / 2, inner])
    more = [v for v in dict.fromkeys(t.tolist()) if not (pool == v).any()]
    pool = np.concatenate([pool, more])
    return tuple(int(np.argmax(pool == v)) for v in t), np.array(more)


def _prepared(
    x: Any, y: Any, w: Any, s: Any, inner: Any, source: str, k: int, ends: Any, own: bool
) -> tuple[Any, Any, dict[str, Any]]:
    """The knots of known operands, what they have besides `inner`, and the parameters."""
    t, c, _ = VALUES[source](x, y, w, s, inner, k, ends, own)
    t = np.array(t)
    places, more = _places(t, x, inner)
    _, system = _system(x, y, w, np.concatenate([inner, more]), k, places)
    start = None if own else _start(system, c[: len(t) - k - 1], s)
    given = {"source": source, "k": k, "ends": ends, "own": own, "places": places, "start": start}
    return t, more, given


def _sample(source: str, s: float) -> Sample:
    x, w = np.arange(9.0) + draw((9,), 0.0, 0.3), np.linspace(1.0, 1.5, 9)
    y, none = np.sin(x) + draw((9,), -0.3, 0.3, 1), np.zeros(0)
    _, more, given = _prepared(x, y, w, s, none, source, 3, (None, None), False)
    return Sample((x, y, w, np.float64(s), more), given, smooth=False)  # λ has three digits


def fit(source: str, x: Any, y: Any, w: Any, s: Any, k: int, ends: Any, inner: Any = None) -> Fit:
    """The knots, coefficients and residual of the spline that `source` makes of points.

    With `inner` these are its inner knots, and it is the nearest one by least squares; else s is
    the residual that it may have. Knots are chosen by values, which therefore have to be known.
    """
    own = inner is not None
    x, y = real_numbers(x), real_numbers(y)
    w = np.ones(type_of(x).shape) if w is None else real_numbers(w)
    s, inner = real_numbers(s), real_numbers(inner if own else np.zeros(0))
    what = "the choice of knots"
    ends = tuple(None if e is None else float(known(e, what)) for e in ends)
    points, values, weights, factor, own_knots = (known(z, what) for z in (x, y, w, s, inner))
    _, more, given = _prepared(
        points, values, weights, float(factor), own_knots, source, int(k), ends, own
    )
    inner = operand(fnp.concatenate([inner, more]))
    t, _ = _system(x, y, w, inner, int(k), given["places"])
    c, residual = SMOOTHED(x, y, w, s, inner, **given)
    return t, c, residual
