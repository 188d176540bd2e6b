"""Polynomials in pieces, and the interpolators that are made of them.

Points, values, places and slopes at the ends are differentiable; at a breakpoint the derivative is
that of the piece to its right. Coefficients of cubic splines solve a tridiagonal system (de Boor,
"A practical guide to splines", chapter IV), those of PCHIP and Akima are local (Fritsch and Butland
1984; Akima 1970), and where these choose between formulas, so do derivatives.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.interpolate as sp
import scipy.sparse

import funcgrad.numpy as fnp
from funcgrad.core.forms import each_lane
from funcgrad.core.primitive import Params, Sample
from funcgrad.core.tracer import bind, concrete, operand, type_of, value
from funcgrad.core.types import Array
from funcgrad.errors import located
from funcgrad.numpy.calls import as_array
from funcgrad.ops.arithmetic import cast
from funcgrad.ops.index import gather
from funcgrad.ops.samples import draw
from funcgrad.scipy.sparse.pattern import Pattern
from funcgrad.scipy.sparse.records import solve
from funcgrad.scipy.valued import Valued, valued

__all__ = [
    "Akima1DInterpolator",
    "CubicHermiteSpline",
    "CubicSpline",
    "PPoly",
    "PchipInterpolator",
    "pchip_interpolate",
]

Extrapolate = bool | str


def last_axis(which: int, record: Any, points: int | None = None) -> Any:
    """Batching by further columns of operand `which`, and by further `points` (an operand)."""

    def batch(size: int, xs: Sequence[Array], batched: Sequence[bool], params: Params) -> Any:
        only = [i for i, b in enumerate(batched) if b]
        if size and only == [which]:
            wide = [operand(fnp.moveaxis(x, 0, -1)) if b else x for x, b in zip(xs, batched)]
            return operand(fnp.moveaxis(bind(record(), wide, params), -1, 0))
        if size and only == [points]:
            return bind(record(), xs, params)
        return each_lane(record(), size, xs, batched, params)

    return batch


def at(x: Array, i: Array) -> Array:
    """The elements of `x` along its first axis, for views and boxes, too."""
    return gather(operand(x), operand(i))


# --------------------------------------------------------------------------------- evaluation


def _interval(x: Array, q: Array) -> Array:
    """The piece in which each point lies; the last one has both of its ends."""
    count = type_of(x).shape[0] - 1
    if concrete(x) and np.asarray(value(x))[-1] < np.asarray(value(x))[0]:
        x, q = -x, -q
    return fnp.clip(fnp.searchsorted(x, q, "right") - 1, 0, count - 1)


def within(q: Array, first: Array, last: Array, extrapolate: Extrapolate) -> Any:
    """The points as they are looked up, and where there is no value (None: nowhere)."""
    if extrapolate == "periodic":
        return first + (q - first) % (last - first), None
    if extrapolate:
        return q, fnp.isnan(q)
    low, high = fnp.minimum(first, last), fnp.maximum(first, last)
    return q, ~((q >= low) & (q <= high))


def _evaluate(c: Array, x: Array, q: Array, nu: int, extrapolate: Extrapolate) -> Array:
    q, nowhere = within(q, x[0], x[-1], extrapolate)
    i = _interval(x, q)
    s = q - at(x, i)
    trailing = (1,) * (type_of(c).ndim - 2)
    count = type_of(c).shape[0]
    out: Any = np.zeros((*type_of(q).shape, *type_of(c).shape[2:]), type_of(c).dtype)
    power: Any = None
    for k in range(nu, count):
        term = at(c[count - 1 - k], i)
        if power is not None:
            term = term * fnp.reshape(power, (*type_of(q).shape, *trailing))
        out = out + term * float(math.perm(k, nu))
        power = s if power is None else power * s
    if nowhere is None:
        return out
    return fnp.where(fnp.reshape(nowhere, (*type_of(q).shape, *trailing)), np.nan, out)


def _evaluate_value(c: Any, x: Any, q: Any, nu: int, extrapolate: Extrapolate) -> Any:
    return sp.PPoly.construct_fast(np.ascontiguousarray(c), x)(q, nu, extrapolate)


def _sample_pieces() -> Any:
    return draw((4, 3, 2)), np.array([0.0, 0.4, 1.3, 2.0]), np.array([0.1, 1.0, 1.9, 2.3])


EVALUATE: Valued = valued(
    "interpolate_ppoly",
    _evaluate_value,
    _evaluate,
    lambda: (
        [
            Sample(_sample_pieces(), {"nu": nu, "extrapolate": extrapolate})
            for nu, extrapolate in ((0, True), (1, "periodic"), (3, True))
        ]
        + [Sample((*_sample_pieces()[:2], np.array([[0.3]])), {"nu": 0, "extrapolate": False})]
    ),
    linear_in=(0,),
    batch=last_axis(0, lambda: EVALUATE, 2),
)


class PPoly:
    """Polynomials in pieces: ``sum(c[m, i] * (xp - x[i])**(k - m))`` between x[i] and x[i + 1].

    Parameters
    ----------
    c : array of shape (k + 1, m, ...)
        Coefficients, those of the highest power first.
    x : array of shape (m + 1,)
        Breakpoints.
    extrapolate : bool or "periodic", optional
    axis : int, optional

    Notes
    -----
    Coefficients, breakpoints and points are differentiable. Errors are SciPy's.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.interpolate import PPoly
    >>> fg.grad(PPoly(np.array([[1.0], [0.0], [2.0]]), np.array([0.0, 1.0])))(0.5)
    np.float64(1.0)
    """

    def __init__(self, c: Any, x: Any, extrapolate: Any = None, axis: int = 0) -> None:
        c, x = as_array(c), real_numbers(x)
        if type_of(c).ndim < 2:
            raise ValueError("Coefficients array must be at least 2-dimensional.")
        if not 0 <= axis < type_of(c).ndim - 1:
            raise ValueError(f"axis={axis} must be between 0 and {type_of(c).ndim - 1}")
        if axis:
            c = fnp.moveaxis(fnp.moveaxis(c, axis + 1, 0), axis + 1, 0)
        if type_of(x).ndim != 1:
            raise ValueError("x must be 1-dimensional")
        if type_of(x).shape[0] < 2:
            raise ValueError("at least 2 breakpoints are needed")
        if type_of(operand(c)).shape[0] == 0:
            raise ValueError("polynomial must be at least of order 0")
        if type_of(operand(c)).shape[1] != type_of(x).shape[0] - 1:
            raise ValueError("number of coefficients != len(x)-1")
        self._set(floating(operand(c)), x, extrapolate, axis)

    def _set(self, c: Array, x: Array, extrapolate: Any, axis: int) -> None:
        self.c, self.x, self.axis = c, x, axis
        if extrapolate is None:
            extrapolate = True
        self.extrapolate = extrapolate if extrapolate == "periodic" else bool(extrapolate)

    @classmethod
    def construct_fast(cls, c: Any, x: Any, extrapolate: Any = None, axis: int = 0) -> Any:
        """The same, without checks; the axis of the pieces is the second one of `c`."""
        self = object.__new__(PPoly)
        self._set(floating(c), real_numbers(x), extrapolate, axis)
        return self

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Array:
        """The value, or the derivative of order `nu`, at points of any shape."""
        if extrapolate is None:
            extrapolate = self.extrapolate
        q = real_numbers(x)
        out = EVALUATE(self.c, self.x, q, nu=int(nu), extrapolate=extrapolate)
        return turned_back(out, type_of(q).ndim, self.axis)

    def derivative(self, nu: int = 1) -> PPoly:
        """The derivative of order `nu`, in pieces."""
        if nu < 0:
            return self.antiderivative(-nu)
        count = type_of(self.c).shape[0]
        if nu >= count:
            c = fnp.zeros_like(self.c[:1])
        else:
            factors = [float(math.perm(k, nu)) for k in range(count - 1, nu - 1, -1)]
            c = self.c[: count - nu] * _column(factors, self.c)
        found: PPoly = self.construct_fast(c, self.x, self.extrapolate, self.axis)
        return found

    def antiderivative(self, nu: int = 1) -> PPoly:
        """The antiderivative of order `nu`, in pieces: continuous, 0 at the first breakpoint."""
        if nu <= 0:
            return self.derivative(-nu)
        c = self.c
        steps = fnp.reshape(fnp.diff(self.x), (-1, *(1,) * (type_of(c).ndim - 2)))
        for _ in range(nu):
            count = type_of(c).shape[0]
            c = c / _column([float(k) for k in range(count, 0, -1)], c)
            end: Any = 0.0
            for m in range(count):
                end = (end + c[m]) * steps
            start = fnp.concatenate([fnp.zeros_like(end[:1]), fnp.cumsum(end[:-1], 0)], 0)
            c = fnp.concatenate([c, start[None]], 0)
        extrapolate = False if self.extrapolate == "periodic" else self.extrapolate
        found: PPoly = self.construct_fast(c, self.x, extrapolate, self.axis)
        return found

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Array:
        """The integral between two numbers, which are differentiable."""
        if extrapolate is None:
            extrapolate = self.extrapolate
        whole = self.antiderivative()
        whole.axis = 0
        return integral(whole, a, b, self.x[0], self.x[-1], extrapolate)


def integral(whole: Any, a: Any, b: Any, first: Array, last: Array, extrapolate: Any) -> Array:
    """The difference of the antiderivative `whole`, over whole periods where it is periodic."""
    a, b = real_numbers(a), real_numbers(b)
    if extrapolate != "periodic":
        out: Array = whole(b, 0, extrapolate) - whole(a, 0, extrapolate)
        return out
    period, every = last - first, whole(last, 0, True) - whole(first, 0, True)

    def up_to(q: Array) -> Array:
        turns = fnp.floor((q - first) / period)
        part: Array = whole(q - turns * period, 0, True) + turns * every
        return part

    return up_to(b) - up_to(a)


def turned_back(out: Array, points: int, axis: int) -> Array:
    """The axes of the points, which come first, put in the place of the interpolated axis."""
    if not axis:
        return out
    order = list(range(type_of(out).ndim))
    order = order[points : points + axis] + order[:points] + order[points + axis :]
    return fnp.transpose(out, order)


def _column(factors: Sequence[float], like: Array) -> Any:
    return np.array(factors).reshape(-1, *(1,) * (type_of(like).ndim - 1))


def floating(x: Any) -> Array:
    x = as_array(x)
    return cast(x, complex if type_of(x).dtype.kind == "c" else float)


def real_numbers(x: Any) -> Array:
    return cast(as_array(x), float)


# --------------------------------------------------------------------------- Hermite's pieces


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

# ---------------------------------------------------------------------------- SciPy's classes


def _prepared(x: Any, y: Any, axis: int, real: bool = False) -> tuple[Array, Array, int]:
    """Points and values with the axis in front; SciPy looks at the numbers."""
    x, y = as_array(x), as_array(y)
    if type_of(x).dtype.kind == "c":
        raise ValueError("`x` must contain real values.")
    if real and type_of(y).dtype.kind == "c":
        raise ValueError("this interpolator only works with real values for `y`.")
    axis = axis % type_of(y).ndim
    if type_of(x).ndim != 1:
        raise ValueError("`x` must be 1-dimensional.")
    if type_of(x).shape[0] < 2:
        raise ValueError("`x` must contain at least 2 elements.")
    if type_of(x).shape[0] != type_of(y).shape[axis]:
        raise ValueError(f"The length of `y` along `axis`={axis} doesn't match the length of `x`")
    return real_numbers(x), operand(fnp.moveaxis(floating(y), axis, 0)), axis


class CubicHermiteSpline(PPoly):
    """Cubic pieces with given values and slopes at the points.

    Parameters
    ----------
    x : array of shape (n,)
        Points, increasing.
    y, dydx : array
        Values and slopes, with `n` elements along `axis`.
    axis : int, optional
    extrapolate : bool or "periodic", optional

    Examples
    --------
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.interpolate import CubicHermiteSpline
    >>> fg.grad(lambda slope: CubicHermiteSpline([0.0, 1.0], [0.0, 1.0], [slope, 0.0])(0.5))(1.0)
    np.float64(0.125)
    """

    def __init__(self, x: Any, y: Any, dydx: Any, axis: int = 0, extrapolate: Any = None) -> None:
        if type_of(as_array(y)).shape != type_of(as_array(dydx)).shape:
            raise ValueError("The shapes of `y` and `dydx` must be identical.")
        x, y, at = _prepared(x, y, axis)
        slopes = floating(fnp.moveaxis(as_array(dydx), axis, 0))
        dtype = np.result_type(type_of(y).dtype, type_of(slopes).dtype)
        self._set(HERMITE(x, cast(y, dtype), cast(slopes, dtype)), x, extrapolate, at)


class PchipInterpolator(PPoly):
    """Cubic pieces that are monotonic where the values are.

    Where slopes of neighbouring intervals have different signs the slope at the point is 0, and so
    is its derivative.

    Parameters
    ----------
    x : array of shape (n,)
        Points, increasing.
    y : real array
        Values, with `n` elements along `axis`.
    axis : int, optional
    extrapolate : bool, optional

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.interpolate import PchipInterpolator
    >>> x = np.arange(4.0)
    >>> fg.grad(lambda y: PchipInterpolator(x, y)(1.5))(x**2).round(6)
    array([-0.140625,  0.722656,  0.453125, -0.035156])
    """

    def __init__(self, x: Any, y: Any, axis: int = 0, extrapolate: Any = None) -> None:
        x, y, at = _prepared(x, y, axis, real=True)
        self._set(PCHIP(x, y), x, extrapolate, at)


def pchip_interpolate(xi: Any, yi: Any, x: Any, der: Any = 0, axis: int = 0) -> Any:
    """The value, or derivatives, of a `PchipInterpolator` at points.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad.scipy.interpolate import pchip_interpolate
    >>> pchip_interpolate(np.arange(3.0), np.arange(3.0), [0.5], der=1)
    array([1.])
    """
    found = PchipInterpolator(xi, yi, axis)
    return found(x, der) if np.ndim(der) == 0 else [found(x, nu) for nu in der]


class Akima1DInterpolator(PPoly):
    """Akima's cubic pieces, which do not swing beside an outlier.

    Parameters
    ----------
    x : array of shape (n,)
        Points, increasing.
    y : real array
        Values, with `n` elements along `axis`.
    axis : int, optional
    method : {"akima", "makima"}, optional
    extrapolate : bool, optional
        False by default: NaN outside of the points.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.interpolate import Akima1DInterpolator
    >>> x = np.arange(5.0)
    >>> fg.grad(Akima1DInterpolator(x, x**2))(2.5)
    np.float64(5.0)
    """

    def __init__(
        self, x: Any, y: Any, axis: int = 0, *, method: str = "akima", extrapolate: Any = None
    ) -> None:
        if method not in ("akima", "makima"):
            raise NotImplementedError(f"`method`={method} is unsupported.")
        x, y, at = _prepared(x, y, axis, real=True)
        extrapolate = False if extrapolate is None else extrapolate
        self._set(AKIMA(x, y, method=method), x, extrapolate, at)


class CubicSpline(PPoly):
    """The cubic spline through points, twice continuously differentiable.

    Parameters
    ----------
    x : array of shape (n,)
        Points, increasing.
    y : array
        Values, with `n` elements along `axis`.
    axis : int, optional
    bc_type : str or pair, optional
        "not-a-knot", "periodic", "clamped", "natural", or a pair of these and of ``(order,
        value)``; values are differentiable, too.
    extrapolate : bool or "periodic", optional

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.interpolate import CubicSpline
    >>> x = np.arange(4.0)
    >>> fg.grad(lambda y: CubicSpline(x, y)(1.5))(x**2)
    array([-0.0625,  0.5625,  0.5625, -0.0625])
    """

    def __init__(
        self,
        x: Any,
        y: Any,
        axis: int = 0,
        bc_type: Any = "not-a-knot",
        extrapolate: Any = None,
    ) -> None:
        x, y, at = _prepared(x, y, axis)
        if isinstance(bc_type, str) and bc_type == "periodic":
            _check_period(y, at)
            extrapolate = "periodic" if extrapolate is None else extrapolate
            self._set(PERIODIC(x, y), x, extrapolate, at)
            return
        ends, given = _ends(bc_type, type_of(y).shape[1:])
        dtype = np.result_type(type_of(y).dtype, *(type_of(g).dtype for g in given))
        y, left, right = (cast(z, dtype) for z in (y, *given))
        self._set(CUBIC(x, y, left, right, ends=ends), x, extrapolate, at)


def _check_period(y: Array, axis: int) -> None:
    if not concrete(y):
        return
    known = np.asarray(value(y))
    if not np.allclose(known[0], known[-1], rtol=1e-15, atol=1e-15):
        raise ValueError(
            located(
                f"The first and last `y` point along axis {axis} must be identical (within machine "
                "precision) when bc_type='periodic'."
            )
        )


def _ends(bc_type: Any, shape: tuple[int, ...]) -> tuple[Ends, list[Array]]:
    """What holds at both ends, and the values of derivatives there."""
    pair = (bc_type, bc_type) if isinstance(bc_type, str) else bc_type
    if len(pair) != 2:
        raise ValueError("`bc_type` must contain 2 elements to specify start and end conditions.")
    ends: list[Any] = []
    given: list[Array] = []
    for bc in pair:
        found: Any = np.zeros(shape)
        if isinstance(bc, str):
            if bc == "periodic":
                raise ValueError(
                    "'periodic' `bc_type` is defined for both curve ends and cannot be used with "
                    "other boundary conditions."
                )
            if bc not in ("clamped", "natural", "not-a-knot"):
                raise ValueError(f"bc_type={bc} is not allowed.")
            ends.append({"clamped": 1, "natural": 2}.get(bc, bc))
        else:
            try:
                order, found = bc
            except Exception as error:
                raise ValueError(
                    "A specified derivative value must be given in the form (order, value)."
                ) from error
            if order not in (1, 2):
                raise ValueError("The specified derivative order must be 1 or 2.")
            found = floating(found)
            if type_of(found).shape != shape:
                raise ValueError(
                    f"`deriv_value` shape {type_of(found).shape} is not the expected one {shape}."
                )
            ends.append(order)
        given.append(found)
    return (ends[0], ends[1]), given
