"""B-splines: their values and derivatives, and those that go through points.

Knots, coefficients, points and values are differentiable. The value of a basis follows Cox and de
Boor; at a knot the derivative is that of the interval to its right.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.interpolate as sp

import funcgrad.numpy as fnp
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import concrete, operand, type_of, value
from funcgrad.core.types import Array
from funcgrad.errors import located
from funcgrad.ops.arithmetic import cast
from funcgrad.ops.samples import draw
from funcgrad.scipy.interpolate.pieces import (
    Extrapolate,
    at,
    floating,
    integral,
    last_axis,
    real_numbers,
    turned_back,
    within,
)
from funcgrad.scipy.valued import Valued, valued

__all__ = ["BSpline", "basis", "design_rows", "make_interp_spline"]


def basis(t: Array, q: Array, k: int, nu: int) -> tuple[Array, Array]:
    """The first of the k + 1 elements that are not 0 at each point, and the derivatives there.

    The algorithm is SciPy's: raising degrees up to k - nu, then taking differences.
    """
    last = type_of(t).shape[0] - k - 2
    ell = fnp.clip(fnp.searchsorted(t, q, "right") - 1, k, last)
    h: list[Any] = [np.ones(type_of(q).shape)]
    for j in range(1, k + 1):
        before, h = h, [np.zeros(type_of(q).shape)]
        for n in range(1, j + 1):
            high, low = at(t, ell + n), at(t, ell + n - j)
            none = high == low
            gap = fnp.where(none, 1.0, high - low)
            if j <= k - nu:
                w = fnp.where(none, 0.0, before[n - 1] / gap)
                h[n - 1] = h[n - 1] + w * (high - q)
                h.append(w * (q - low))
            else:
                w = fnp.where(none, 0.0, j * before[n - 1] / gap)
                h[n - 1] = h[n - 1] - w
                h.append(w)
    return ell - k, fnp.stack(h, -1)


def _evaluate(t: Array, c: Array, q: Array, k: int, nu: int, extrapolate: Extrapolate) -> Array:
    count = type_of(t).shape[0] - k - 1
    q, nowhere = within(q, t[k], t[count], extrapolate)
    trailing = (1,) * (type_of(c).ndim - 1)
    shape = (*type_of(q).shape, *trailing)
    out: Any = np.zeros((*type_of(q).shape, *type_of(c).shape[1:]), type_of(c).dtype)
    if nu <= k:
        first, weights = basis(t, q, k, nu)
        for a in range(k + 1):
            out = out + at(c, first + a) * fnp.reshape(weights[..., a], shape)
    return out if nowhere is None else fnp.where(fnp.reshape(nowhere, shape), np.nan, out)


def _evaluate_value(t: Any, c: Any, q: Any, k: int, nu: int, extrapolate: Extrapolate) -> Any:
    return sp.BSpline.construct_fast(t, np.ascontiguousarray(c), k)(q, nu, extrapolate)


EVALUATE: Valued = valued(
    "interpolate_bspline",
    _evaluate_value,
    _evaluate,
    lambda: [
        Sample(
            (np.arange(9.0) + draw((9,), 0.0, 0.4), draw((5,)), np.array([3.7, 4.6, 5.2])),
            {"k": 3, "nu": nu, "extrapolate": True},
        )
        for nu in (0, 1, 2)
    ],
    linear_in=(1,),
    batch=last_axis(1, lambda: EVALUATE, 2),
)


class BSpline:
    """A spline as a sum of B-splines of degree `k` with knots `t` and coefficients `c`.

    Parameters
    ----------
    t : array of shape (n + k + 1,)
        Knots, not decreasing.
    c : array
        Coefficients, at least `n` along `axis`.
    k : int
    extrapolate : bool or "periodic", optional
    axis : int, optional

    Notes
    -----
    Knots, coefficients and points are differentiable.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.interpolate import BSpline
    >>> spline = BSpline([0.0, 1.0, 2.0, 3.0], [1.0, 3.0], 1)
    >>> fg.grad(spline)(1.5)
    np.float64(2.0)
    """

    def __init__(self, t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0) -> None:
        t, c, k = real_numbers(t), floating(c), operator.index(k)
        axis = axis % type_of(c).ndim
        c = operand(fnp.moveaxis(c, axis, 0))
        if k < 0:
            raise ValueError("Spline order cannot be negative.")
        if type_of(t).ndim != 1:
            raise ValueError("Knot vector must be one-dimensional.")
        n = type_of(t).shape[0] - k - 1
        if n < k + 1:
            raise ValueError(f"Need at least {2 * k + 2} knots for degree {k}")
        if concrete(t):
            _check_knots(np.asarray(value(t)), k, n)
        if type_of(c).shape[0] < n:
            raise ValueError("Knots, coefficients and degree are inconsistent.")
        self._set(t, c, k, extrapolate, axis)

    def _set(self, t: Array, c: Array, k: int, extrapolate: Any, axis: int) -> None:
        self.t, self.c, self.k, self.axis = t, c, k, axis
        self.extrapolate = extrapolate if extrapolate == "periodic" else bool(extrapolate)

    @classmethod
    def construct_fast(
        cls, t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0
    ) -> BSpline:
        """The same without checks; the interpolated axis of `c` is its first one."""
        self = object.__new__(cls)
        self._set(real_numbers(t), floating(c), k, extrapolate, axis)
        return self

    @property
    def tck(self) -> tuple[Array, Array, int]:
        """Knots, coefficients and degree."""
        return self.t, self.c, self.k

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Array:
        """The value, or the derivative of order `nu`, at points of any shape."""
        if extrapolate is None:
            extrapolate = self.extrapolate
        q = real_numbers(x)
        out = EVALUATE(self.t, self.c, q, k=self.k, nu=int(nu), extrapolate=extrapolate)
        return turned_back(out, type_of(q).ndim, self.axis)

    def derivative(self, nu: int = 1) -> BSpline:
        """The derivative of order `nu`, a spline of a lower degree."""
        t, c, k = self.t, self._whole(), self.k
        if nu > k:
            raise ValueError(f"Order of derivative (n = {nu}) must be <= order of spline (k = {k})")
        for _ in range(nu):
            n = type_of(t).shape[0] - k - 1
            gap = t[k + 1 : k + n] - t[1:n]
            gap = fnp.reshape(gap, (-1, *(1,) * (type_of(c).ndim - 1)))
            c = (c[1:n] - c[: n - 1]) * k / gap
            none = np.zeros((k, *type_of(c).shape[1:]), type_of(c).dtype)
            c, t, k = fnp.concatenate([c, none], 0), t[1:-1], k - 1
        return self.construct_fast(t, c, k, self.extrapolate, self.axis)

    def _whole(self) -> Array:
        """As many coefficients as there are knots."""
        missing = type_of(self.t).shape[0] - type_of(self.c).shape[0]
        none = np.zeros((max(missing, 0), *type_of(self.c).shape[1:]), type_of(self.c).dtype)
        return fnp.concatenate([self.c, none], 0)

    def antiderivative(self, nu: int = 1) -> BSpline:
        """The antiderivative of order `nu`, 0 at the first knot."""
        t, c, k = self.t, self._whole(), self.k
        for _ in range(nu):
            gap = t[k + 1 :] - t[: -k - 1]
            gap = fnp.reshape(gap, (-1, *(1,) * (type_of(c).ndim - 1)))
            c = fnp.cumsum(c[: -k - 1] * gap, 0) / (k + 1)
            end = fnp.broadcast_to(c[-1:], (k + 2, *type_of(c).shape[1:]))
            c = fnp.concatenate([np.zeros((1, *type_of(c).shape[1:])), c, end], 0)
            t, k = fnp.concatenate([t[:1], t, t[-1:]]), k + 1
        extrapolate = False if self.extrapolate == "periodic" else self.extrapolate
        return self.construct_fast(t, c, k, extrapolate, self.axis)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Array:
        """The integral between two numbers, which are differentiable."""
        if extrapolate is None:
            extrapolate = self.extrapolate
        first, last = self.t[self.k], self.t[type_of(self.t).shape[0] - self.k - 1]
        if not extrapolate:  # nothing lies outside
            a, b = (fnp.clip(real_numbers(q), first, last) for q in (a, b))
            extrapolate = True
        whole = self.antiderivative()
        whole.axis = 0
        return integral(whole, a, b, first, last, extrapolate)


def _check_knots(t: Any, k: int, n: int) -> None:
    if (np.diff(t) < 0).any():
        raise ValueError(located("Knots must be in a non-decreasing order."))
    if len(np.unique(t[k : n + 1])) < 2:
        raise ValueError(located("Need at least two internal knots."))
    if not np.isfinite(t).all():
        raise ValueError(located("Knots should not have nans or infs."))


# ------------------------------------------------------------------------- through given points

Orders = tuple[int, ...]


def design_rows(t: Array, q: Array, k: int, nu: int) -> Array:
    """The derivatives of all B-splines at each point, as the rows of a matrix."""
    n, count = type_of(q).shape[0], type_of(t).shape[0] - k - 1
    first, weights = basis(t, q, k, nu)
    where = fnp.reshape(first, (-1, 1)) + np.arange(k + 1)
    out = fnp.zeros((n, count))
    fnp.add.at(out, (np.arange(n)[:, None], where), weights)
    return out


def _through(
    x: Array, y: Array, t: Array, left: Array, right: Array, k: int, ends: tuple[Orders, Orders]
) -> Array:
    """The coefficients, from a dense matrix; `left` and `right` are derivatives of these orders."""
    rows = [design_rows(t, x[:1], k, nu) for nu in ends[0]]
    rows += [design_rows(t, x, k, 0)] + [design_rows(t, x[-1:], k, nu) for nu in ends[1]]
    shape = type_of(y).shape
    given = [fnp.reshape(z, (-1, int(np.prod(shape[1:])))) for z in (left, y, right)]
    c = fnp.linalg.solve(fnp.concatenate(rows, 0), fnp.concatenate(given, 0))
    return fnp.reshape(c, (-1, *shape[1:]))


def _through_value(
    x: Any, y: Any, t: Any, left: Any, right: Any, k: int, ends: tuple[Orders, Orders]
) -> Any:
    given = [
        list(zip(orders, values, strict=True)) or None
        for orders, values in zip(ends, (left, right), strict=True)
    ]
    return sp.make_interp_spline(x, y, k, t, given).c


def _through_period(x: Array, y: Array, t: Array, k: int) -> Array:
    """With equal derivatives of the orders 1 to k - 1 at both ends."""
    joints = [design_rows(t, x[:1], k, nu) - design_rows(t, x[-1:], k, nu) for nu in range(1, k)]
    shape = type_of(y).shape
    y = fnp.concatenate([y[:-1], y[:1]])
    flat = fnp.reshape(y, (shape[0], int(np.prod(shape[1:]))))
    none = np.zeros((k - 1, type_of(flat).shape[1]))
    matrix = fnp.concatenate([*joints, design_rows(t, x, k, 0)], 0)
    c = fnp.linalg.solve(matrix, fnp.concatenate([none, flat], 0))
    return fnp.reshape(c, (-1, *shape[1:]))


def _period_value(x: Any, y: Any, t: Any, k: int) -> Any:
    y = np.concatenate([y[:-1], y[:1]])
    return sp.make_interp_spline(x, y, k, bc_type="periodic").c


def _points() -> Any:
    return np.array([0.0, 0.4, 1.3, 2.0, 2.6, 3.1]), draw((6, 2))


def _through_samples() -> list[Sample]:
    x, y = _points()
    none = np.zeros((0, 2))
    wide = np.array([-2.1, -1.5, -0.9, -0.3, 1.0, 2.1, 3.5, 4.1, 4.7, 5.3])
    ends = np.array([-2.1, -1.5, -0.9, -0.3, 0.4, 1.3, 2.0, 2.6, 3.5, 4.1, 4.7, 5.3])
    return [
        Sample((3 * x, y, 3 * wide, none, none), {"k": 3, "ends": ((), ())}),
        Sample(
            (3 * x, y, 3 * ends, draw((1, 2)), draw((1, 2), seed=1)), {"k": 3, "ends": ((1,), (2,))}
        ),
    ]


THROUGH = valued("interpolate_make_spline", _through_value, _through, _through_samples)
PERIOD = valued(
    "interpolate_make_periodic_spline",
    _period_value,
    _through_period,
    lambda: [
        Sample((*_points(), knots(_points()[0], 3, "periodic")), {"k": 3}, smooth=False),
    ],
    linear_in=(1,),
)


def knots(x: Array, k: int, kind: str | None) -> Array:
    """SciPy's choice of knots for points."""
    if kind == "periodic":
        if k % 2 == 0:
            middle = (x[1:-1] - fnp.diff(x)[:-1] / 2) if type_of(x).shape[0] > 2 else x[1:-1]
            x = fnp.concatenate([x[:1], middle, x[-1:]])
        d = fnp.diff(x)
        n = type_of(x).shape[0]
        before, behind = [x[0]], [x[-1]]
        for i in range(k):
            before.insert(0, before[0] - d[-(i % (n - 1)) - 1])
            behind.append(behind[-1] + d[i % (n - 1)])
        return fnp.concatenate([fnp.stack(before), x[1:-1], fnp.stack(behind)])
    if kind is None:
        inner = (x if k % 2 else (x[1:] + x[:-1]) / 2)[(k + 1) // 2 : -((k + 1) // 2)]
        repeated = k + 1
    else:
        inner, repeated = x, k
    first, last = (fnp.broadcast_to(e, (repeated,)) for e in (x[:1], x[-1:]))
    return fnp.concatenate([first, inner, last])


def _conditions(given: Any, shape: tuple[int, ...], k: int) -> tuple[Orders, Array]:
    """The orders of derivatives at an end, and their values."""
    if given is None:
        return (), np.zeros((0, *shape))
    if isinstance(given, str):
        if given not in ("clamped", "natural"):
            raise ValueError(f"Unknown boundary condition : {given}")
        given = [(1 if given == "clamped" else 2, np.zeros(shape))]
    try:
        orders, values = zip(*given, strict=True)
    except TypeError as error:
        raise ValueError(
            "Derivatives, `bc_type`, should be specified as a pair of iterables of pairs of "
            "(order, value)."
        ) from error
    if not all(0 <= order <= k for order in orders):
        raise ValueError(f"Bad boundary conditions of orders {orders}.")
    return tuple(map(int, orders)), fnp.stack([floating(v) for v in values])


def make_interp_spline(
    x: Any,
    y: Any,
    k: int = 3,
    t: Any = None,
    bc_type: Any = None,
    axis: int = 0,
    check_finite: bool = True,
) -> BSpline:
    """The spline of degree `k` through points.

    Parameters
    ----------
    x : array of shape (n,)
        Points, increasing.
    y : array
        Values, with `n` elements along `axis`.
    k : int, optional
    t : array, optional
        Knots; by default they follow from the points, and so do their derivatives.
    bc_type : str or pair, optional
        As in SciPy; values of derivatives at the ends are differentiable.
    axis, check_finite : optional
        As in SciPy.

    Raises
    ------
    ValueError
        Points, knots and conditions do not fit together.

    Notes
    -----
    A derivative solves a dense system of `n` equations, also where the value needs a band alone.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.interpolate import make_interp_spline
    >>> x = np.arange(5.0)
    >>> fg.grad(make_interp_spline(x, x**2))(2.5).round(12)
    np.float64(5.0)
    """
    x, y, k = real_numbers(x), floating(y), operator.index(k)
    axis = axis % type_of(y).ndim
    y = operand(fnp.moveaxis(y, axis, 0))
    periodic = isinstance(bc_type, str) and bc_type == "periodic"
    _check_points(x, y, periodic)
    if bc_type is None or (isinstance(bc_type, str) and bc_type in ("not-a-knot", "periodic")):
        pair: Sequence[Any] = (None, None)
    else:
        pair = (bc_type, bc_type) if isinstance(bc_type, str) else bc_type
    if len(pair) != 2:
        raise ValueError(f"Unknown boundary condition: {bc_type}")
    plain = pair[0] is None and pair[1] is None
    if k < 2 and t is None:
        if not plain:
            raise ValueError(f"Too much info for k={k}: bc_type can only be None.")
        first = [x[:1]] if k else []
        return BSpline.construct_fast(fnp.concatenate([*first, x, x[-1:]]), y, k, axis=axis)
    if k < 0:
        raise ValueError("Expect non-negative k.")
    if periodic and t is not None:
        raise NotImplementedError(
            "For periodic case t is constructed automatically and can not be passed manually"
        )
    if t is None:
        t = knots(x, k, "periodic" if periodic else None if plain else "ends")
    t = real_numbers(t)
    count = type_of(x).shape[0]
    if type_of(t).ndim != 1:
        raise ValueError("Expect t to be a 1-D sorted array_like.")
    if type_of(t).shape[0] < count + k + 1:
        raise ValueError(f"Got {type_of(t).shape[0]} knots, need at least {count + k + 1}.")
    if periodic:
        return BSpline.construct_fast(t, PERIOD(x, y, t, k=k), k, "periodic", axis)
    shape = type_of(y).shape[1:]
    (left, low), (right, high) = (_conditions(given, shape, k) for given in pair)
    free = type_of(t).shape[0] - k - 1 - count
    if free != len(left) + len(right):
        raise ValueError(
            "The number of derivatives at boundaries does not match: expected "
            f"{free}, got {len(left)}+{len(right)}"
        )
    c = THROUGH(
        x,
        y,
        t,
        cast(operand(low), type_of(y).dtype),
        cast(operand(high), type_of(y).dtype),
        k=k,
        ends=(left, right),
    )
    return BSpline.construct_fast(t, c, k, axis=axis)


def _check_points(x: Array, y: Array, periodic: bool) -> None:
    if type_of(x).ndim != 1:
        raise ValueError("Expect x to be a 1D strictly increasing sequence.")
    if type_of(x).shape[0] != type_of(y).shape[0]:
        raise ValueError(
            f"Shapes of x {type_of(x).shape} and y {type_of(y).shape} are incompatible"
        )
    if concrete(x):
        known = np.asarray(value(x))
        if np.any(known[1:] == known[:-1]):
            raise ValueError(located("Expect x to not have duplicates"))
        if np.any(known[1:] < known[:-1]):
            raise ValueError(located("Expect x to be a 1D strictly increasing sequence."))
    if periodic and concrete(y):
        known = np.asarray(value(y))
        if not np.allclose(known[0], known[-1], atol=1e-15):
            raise ValueError(
                located("First and last points does not match while periodic case expected")
            )
