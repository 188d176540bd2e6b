"""Derivatives by orders, degrees and parameters, in which a function is analytic, from its values.

By central differences of sixteen points (Fornberg 1988), whose truncation error is below rounding
for the steps chosen here: a share of the length over which the function changes, and less than
that of the way to the nearest pole. Steps are powers of two, so that the points are exact, and
digits are lost only by dividing the rounding of SciPy's values by the step: one or two. The result
is a composition, so derivatives by the other operands are those that the function states, and
those of higher order are differences again.
"""

from __future__ import annotations

from collections.abc import Callable
from math import factorial, pi
from typing import Any

import numpy as np

from funcgrad.core.forms import Op, elementwise
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import type_of
from funcgrad.ops.arithmetic import absolute, cast, divide, floor, less, maximum, minimum, where
from funcgrad.ops.arithmetic import power as raised
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import reshape
from funcgrad.ops.sums import sum as total
from funcgrad.ops.transcendental import arcsinh, log1p

__all__ = [
    "BESIDE",
    "SHARE",
    "above",
    "along",
    "by_differences",
    "from_poles",
    "growing",
    "mild",
    "oscillating",
]

SIDE = 8  # points on each side
_OFFSETS = np.array([k for k in range(-SIDE, SIDE + 1) if k], float)
_WEIGHTS = np.array(
    [
        (-1) ** (abs(k) + 1) / k * factorial(SIDE) ** 2 / factorial(SIDE - k) / factorial(SIDE + k)
        for k in _OFFSETS.astype(int).tolist()
    ]
)
BESIDE = 1 - 2.0**-5
SHARE = 0.25  # of the length over which the function changes: (L h)^16 (8!)² / 17! < 1e-15


def _power_of_two(x: Any) -> Any:
    """The largest power of two that is not above `x`."""
    with np.errstate(all="ignore"):
        return np.where(np.isfinite(x), np.ldexp(1.0, np.frexp(x)[1] - 1), np.nan)


_rounded_step: Op = elementwise(
    _power_of_two,
    0,
    name="special_power_of_two",
    sample=lambda: [Sample((draw((3,), 0.3, 0.4),)), Sample((np.array([3.0, 0.1, 1e-3]),))],
)


def along(x: Any) -> Any:
    """`x` with an axis behind, along which the nodes of an integral lie, or the points."""
    return reshape(x, (*type_of(x).shape, 1))


def _double(x: Any) -> Any:
    dtype = type_of(x).dtype
    return cast(x, np.result_type(dtype, np.float64)) if dtype.kind in "fc" else x


def by_differences(
    function: Callable[..., Any], k: int, step: Callable[..., Any], *, share: float = 1.0
) -> Callable[..., Any]:
    """The partial derivative by operand `k`, as a rule of a ufunc.

    Parameters
    ----------
    function : callable
        Of all operands; broadcasts. It is called with an axis more.
    k : int
        The operand, which is real.
    step : callable
        Of all operands: the largest step.
    share : float, optional
        Of the power of two: `BESIDE`, and no point is an integer, or half of one, where SciPy's
        factors have poles.
    """

    def slope(y: Any, *xs: Any) -> Any:
        dtype = np.result_type(*(type_of(x).dtype for x in xs)) if y is None else type_of(y).dtype
        xs = tuple(map(_double, xs))
        h = along(share * _rounded_step(step(*xs)))
        wide = [along(x) for x in xs]
        found = function(*wide[:k], wide[k] + h * _OFFSETS, *wide[k + 1 :])
        return cast(total(divide(found * _WEIGHTS, h), -1), dtype)

    return slope


# ------------------------------------------------------------------------------------ steps


def _turn(v: Any, x: Any) -> Any:
    """How fast (x / 2)^v / Γ(v + 1) and its kin grow or fall with v."""
    return arcsinh(divide(absolute(v) + 1.0, maximum(absolute(x), 1e-300)))


def oscillating(v: Any, x: Any) -> Any:
    """For Bessel functions by the order v."""
    return divide(SHARE, pi / 2 + _turn(v, x))


def growing(v: Any, x: Any) -> Any:
    """For modified Bessel functions by the order v: of large x they are as wide as √x."""
    width = raised(absolute(x) * absolute(x) + v * v + 1.0, 0.25)
    return divide(SHARE, _turn(v, x) + divide(2.0, width))


def mild(*xs: Any) -> Any:
    """For functions that change with a parameter as powers, or the gamma function, do."""
    return divide(SHARE, 1.5 + log1p(sum(absolute(x) for x in xs)))


def above(x: Any, step: Any) -> Any:
    """A step with which the points remain above 0."""
    return minimum(step, divide(absolute(x), SIDE + 1.0))


def from_poles(x: Any, step: Any) -> Any:
    """A step that is small beside the way from `x` to the poles at 0, -1, -2, …"""
    nearest = where(less(x, 0.5), floor(x + 0.5), 0.0)
    return minimum(step, divide(absolute(x - nearest), 32.0))
