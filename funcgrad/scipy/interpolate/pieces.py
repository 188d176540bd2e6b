"""Polynomials in pieces: `PPoly`, and what the interpolators made of them share.

Points, coefficients and places are differentiable; at a breakpoint the derivative is that of the
piece to its right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.interpolate as sp

import funcgrad.numpy as fnp
from funcgrad.core.forms import each_lane
from funcgrad.core.primitive import Params, Sample
from funcgrad.core.tracer import bind, concrete, operand, type_of, value
from funcgrad.core.types import Array
from funcgrad.numpy.function_calls import as_array
from funcgrad.ops.arithmetic import cast
from funcgrad.ops.index import gather
from funcgrad.ops.samples import draw
from funcgrad.scipy.valued import Valued, valued

__all__ = ["PPoly"]

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
