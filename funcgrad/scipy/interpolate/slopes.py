"""Slopes of cubic polynomials through points, and the pieces that they make.

Coefficients of cubic splines solve a tridiagonal system (de Boor, "A practical guide to splines",
chapter IV), those of PCHIP and Akima are local (Fritsch and Butland 1984; Akima 1970), and where
these choose between formulas, so do derivatives.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.interpolate as sp
import scipy.sparse

import funcgrad.numpy as fnp
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import operand, type_of
from funcgrad.core.types import Array
from funcgrad.ops.samples import draw
from funcgrad.scipy.interpolate.pieces import at, last_axis
from funcgrad.scipy.sparse.pattern import Pattern
from funcgrad.scipy.sparse.records import solve
from funcgrad.scipy.valued import Valued, valued

__all__ = ["AKIMA", "CUBIC", "HERMITE", "PCHIP", "PERIODIC", "Ends"]


def _shaped(d: Array, y: Array) -> Array:
    return fnp.reshape(d, (-1, *(1,) * (type_of(y).ndim - 1)))


def _hermite(x: Array, y: Array, slopes: Array) -> Array:
    d = _shaped(fnp.diff(x), y)
    slope = fnp.diff(y, axis=0) / d
    t = (slopes[:-1] + slopes[1:] - 2 * slope) / d
    return fnp.stack([t / d, (slope - slopes[:-1]) / d - t, slopes[:-1], y[:-1]])


def _pchip_end(h0: Array, h1: Array, m0: Array, m1: Array) -> Array:
    d = ((2 * h0 + h1) * m0 - h0 * m1) / (h0 + h1)
    wide = (fnp.sign(m0) != fnp.sign(m1)) & (fnp.abs(d) > 3.0 * fnp.abs(m0))
    d = fnp.where(wide, 3.0 * m0, d)
    other = ((2 * h0 + h1) * m0 - h0 * m1) / (h0 + h1)
    return fnp.where(fnp.sign(other) != fnp.sign(m0), 0.0, d)


def _pchip(x: Array, y: Array) -> Array:
    h = _shaped(fnp.diff(x), y)
    m = fnp.diff(y, axis=0) / h
    if type_of(y).shape[0] == 2:
        return _hermite(x, y, fnp.concatenate([m, m], 0))
    flat = (fnp.sign(m[1:]) != fnp.sign(m[:-1])) | (m[1:] == 0) | (m[:-1] == 0)
    w1, w2 = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
    before, after = (fnp.where(flat, 1.0, part) for part in (m[:-1], m[1:]))
    mean = (w1 / before + w2 / after) / (w1 + w2)
    inside = fnp.where(flat, 0.0, 1.0 / mean)
    ends = (_pchip_end(h[i], h[j], m[i], m[j])[None] for i, j in ((0, 1), (-1, -2)))
    first, last = ends
    return _hermite(x, y, fnp.concatenate([first, inside, last], 0))


def _akima(x: Array, y: Array, method: str) -> Array:
    m = fnp.diff(y, axis=0) / _shaped(fnp.diff(x), y)
    if type_of(y).shape[0] == 2:
        return _hermite(x, y, fnp.concatenate([m, m], 0))
    one = 2.0 * m[:1] - m[1:2]
    end = 2.0 * m[-1:] - m[-2:-1]
    m = fnp.concatenate([2.0 * one - m[:1], one, m, end, 2.0 * end - m[-1:]], 0)
    dm = fnp.abs(fnp.diff(m, axis=0))
    f1, f2 = dm[2:], dm[:-2]
    if method == "makima":
        pm = fnp.abs(m[1:] + m[:-1])
        f1, f2 = f1 + 0.5 * pm[2:], f2 + 0.5 * pm[:-2]
    both = f1 + f2
    most: Any = fnp.max(both) if type_of(both).size else 0.0
    known = both > 1e-9 * most
    between = m[1:-2] + (f2 / fnp.where(known, both, 1.0)) * (m[2:-1] - m[1:-2])
    return _hermite(x, y, fnp.where(known, between, 0.5 * (m[3:] + m[:-3])))


# ------------------------------------------------------------------------------ cubic splines

Ends = tuple[Any, Any]  # "not-a-knot", "periodic", or the order of a derivative, 1 or 2


def _pattern(n: int, corners: bool) -> Pattern:
    """The three diagonals of a matrix, and where it is periodic the corners beside them."""
    offsets = [-1, 0, 1, *([1 - n, n - 1] if corners and n > 2 else [])]
    m = scipy.sparse.diags_array([1.0] * len(offsets), offsets=offsets, shape=(n, n)).tocsr()
    m.sort_indices()
    return Pattern(m.indices, m.indptr, (n, n))


def _solved(lower: Array, middle: Array, upper: Array, b: Array, corners: Any = None) -> Array:
    """The solution of a tridiagonal system; `corners` are those on the right above and on the left
    below."""
    n = type_of(middle).shape[0]
    pattern = _pattern(n, corners is not None)
    values = fnp.concatenate([lower, middle, upper, *([] if corners is None else corners)])
    places = {"lower": (np.arange(1, n), np.arange(n - 1)), "middle": (np.arange(n),) * 2}
    rows = np.concatenate([places["lower"][0], np.arange(n), np.arange(n - 1)])
    columns = np.concatenate([places["lower"][1], np.arange(n), np.arange(1, n)])
    if corners is not None:
        rows, columns = np.append(rows, [0, n - 1]), np.append(columns, [n - 1, 0])
    order = np.lexsort((columns, rows))
    flat = fnp.reshape(b, (n, -1))
    found = solve(at(values, order), operand(flat), pattern)
    return fnp.reshape(found, type_of(operand(b)).shape)


def _end_row(end: Any, given: Array, d: Array, slope: Array, y: Array, last: bool) -> Any:
    """The element on the diagonal, the one beside it, and the right-hand side, at an end.

    `d`, `slope` and `y` run from this end inwards.
    """
    h = d[:, None]
    if end == "not-a-knot":
        both = d[0] + d[1]
        right = ((h[0] + 2 * both) * h[1] * slope[0] + h[0] ** 2 * slope[1]) / both
        return d[1], both, right
    if end == 1:
        return fnp.ones_like(d[0]), fnp.zeros_like(d[0]), given
    rise = (y[0] - y[1]) if last else (y[1] - y[0])
    return 2 * d[0], d[0], (0.5 if last else -0.5) * given * d[0] ** 2 + 3 * rise


def _cubic_slopes(x: Array, y: Array, left: Array, right: Array, ends: Ends) -> Array:
    """The slopes at the points; `y` has two axes."""
    d = fnp.diff(x)
    h = d[:, None]
    n = type_of(x).shape[0]
    slope = fnp.diff(y, axis=0) / h
    if n == 2:
        free = ("not-a-knot", "periodic")
        left, right = (
            slope[0] if e in free else g for e, g in zip(ends, (left, right), strict=True)
        )
        ends = (1 if ends[0] in free else ends[0], 1 if ends[1] in free else ends[1])
    if ends[0] == "periodic":
        return _periodic_slopes(d, slope)
    inner = 3 * (h[1:] * slope[:-1] + h[:-1] * slope[1:])
    if n == 3 and ends == ("not-a-knot", "not-a-knot"):
        ones = np.ones(1)
        lower, upper = fnp.concatenate([d[1:], ones]), fnp.concatenate([ones, d[:1]])
        middle = fnp.concatenate([ones, 2 * (d[:1] + d[1:]), ones])
        return _solved(lower, middle, upper, fnp.concatenate([2 * slope[:1], inner, 2 * slope[1:]]))
    d0, beside0, b0 = _end_row(ends[0], left, d, slope, y, False)
    d1, beside1, b1 = _end_row(ends[1], right, d[::-1], slope[::-1], y[::-1], True)
    width = type_of(y).shape[1:]
    b0, b1 = (fnp.broadcast_to(b, width)[None] for b in (b0, b1))
    return _solved(
        fnp.concatenate([d[1:], beside1[None]]),
        fnp.concatenate([d0[None], 2 * (d[:-1] + d[1:]), d1[None]]),
        fnp.concatenate([beside0[None], d[:-1]]),
        fnp.concatenate([b0, inner, b1]),
    )


def _periodic_slopes(d: Array, slope: Array) -> Array:
    h = d[:, None]
    n = type_of(d).shape[0]
    if n == 2:
        t = fnp.sum(slope / h, 0) / fnp.sum(1.0 / h, 0)
        return fnp.broadcast_to(t, (3, *type_of(t).shape))
    back = np.arange(-1, n - 1) % n  # the interval before each of the points
    b = 3 * (h * slope[back] + h[back] * slope)
    middle = 2 * (d[back] + d)
    corners = (d[:1], d[-2:-1])
    found = _solved(d[1:], middle, d[back][:-1], b, corners)
    return fnp.concatenate([found, found[:1]], 0)


def _cubic(x: Array, y: Array, left: Array, right: Array, ends: Ends) -> Array:
    shape = type_of(y).shape
    flat = fnp.reshape(y, (shape[0], -1))
    left, right = (fnp.reshape(g, (-1,)) for g in (left, right))
    slopes = _cubic_slopes(x, flat, left, right, ends)
    return _hermite(x, y, fnp.reshape(slopes, shape))


def _cubic_value(x: Any, y: Any, left: Any, right: Any, ends: Ends) -> Any:
    if ends[0] == "periodic":
        y = np.concatenate([y[:-1], y[:1]])  # equal to the last bit, as has been seen
        return sp.CubicSpline(x, y, bc_type="periodic").c
    given = [e if isinstance(e, str) else (e, g) for e, g in zip(ends, (left, right), strict=True)]
    return sp.CubicSpline(x, y, bc_type=given).c


def _line() -> Any:
    return np.array([0.0, 0.4, 1.3, 2.0, 2.6]), draw((5, 2))


def _cubic_samples() -> list[Sample]:
    x, y = _line()
    left, right = draw((2,)), draw((2,), seed=1)
    kinds: list[Ends] = [("not-a-knot", "not-a-knot"), (1, 2), (2, 1), ("not-a-knot", 1)]
    found = [Sample((x, y, left, right), {"ends": ends}) for ends in kinds]
    found += [
        Sample((x[:n], y[:n, 0], left[0], right[0]), {"ends": ("not-a-knot",) * 2}) for n in (2, 3)
    ]
    return found


CUBIC = valued("interpolate_cubic_spline", _cubic_value, _cubic, _cubic_samples)


def _periodic(x: Array, y: Array) -> Array:
    y = fnp.concatenate([y[:-1], y[:1]])
    none = np.zeros(type_of(y).shape[1:])
    return _cubic(x, y, none, none, ("periodic", "periodic"))


PERIODIC: Valued = valued(
    "interpolate_periodic_cubic_spline",
    lambda x, y: _cubic_value(x, y, None, None, ("periodic", "periodic")),
    _periodic,
    lambda: [Sample((_line()[0][:n], _line()[1][:n])) for n in (5, 4, 3)],
    linear_in=(1,),
    batch=last_axis(1, lambda: PERIODIC),
)
HERMITE = valued(
    "interpolate_hermite_spline",
    lambda x, y, slopes: sp.CubicHermiteSpline(x, y, slopes).c,
    _hermite,
    lambda: [Sample((*_line(), draw((5, 2), seed=1)))],
    linear_in=(1, 2),
)
PCHIP: Valued = valued(
    "interpolate_pchip",
    lambda x, y: sp.PchipInterpolator(x, y).c,
    _pchip,
    lambda: (
        [Sample(_line()), Sample((np.arange(5.0), np.exp(np.arange(5.0) / 2)))]
        + [Sample((_line()[0][:2], _line()[1][:2]))]
    ),
    batch=last_axis(1, lambda: PCHIP),
)
AKIMA = valued(
    "interpolate_akima",
    lambda x, y, method: sp.Akima1DInterpolator(x, y, method=method).c,
    _akima,
    lambda: [Sample(_line(), {"method": method}) for method in ("akima", "makima")],
)
