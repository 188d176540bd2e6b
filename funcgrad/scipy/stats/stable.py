"""Rows of stable distributions, by integrals of their characteristic function along a turned ray.

In Nolan's parametrisation S0, which goes on through α = 1, the exponent is
``E(t) = -i x t - t^α - i β tan(πα/2) (t - t^α)``. The density is ``Re ∫ exp(E) dt / π`` along any
ray on which the integrand falls: of several angles the one is taken on which it is smallest, so
little cancels. In heavy tails ``exp(-i x t)`` is subtracted, whose integral is known. In a light
tail, where the integral is nothing beside its integrand, derivatives are NaN.

Landau's distribution is that of α = β = 1. To the left its integral goes through the saddle, where
its tail is a factor, and to the right along the cut (Kölbig and Schorr 1984).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.core.tracer import bind, type_of
from funcgrad.ops.arithmetic import (
    absolute,
    add,
    divide,
    equal,
    greater,
    less,
    less_equal,
    logical_and,
    negative,
    sqrt,
    square,
    where,
)
from funcgrad.ops.constant import STOP_GRADIENT
from funcgrad.ops.shape import broadcast_to
from funcgrad.ops.sums import sum as total
from funcgrad.ops.transcendental import arctan2, cos, exp, expm1, log, log1p, sin
from funcgrad.scipy.special.differences import along
from funcgrad.scipy.special.elementary import exprel
from funcgrad.scipy.stats.family import ANY, Family
from funcgrad.scipy.stats.outward import exp_sinh

__all__ = ["STABLE"]

NODES, WEIGHTS = exp_sinh(1 / 80)
_ANGLES = np.linspace(-0.98, 0.98, 29) * math.pi / 2
_LOST = 1e-10  # of the integral of the absolute value, below which ten digits are gone


def _cardinal(z: Any) -> Any:
    """sin z / z of |z| < 2."""
    out: Any = 0.0
    for k in range(12, -1, -1):
        out = 1.0 / math.factorial(2 * k + 1) - square(z) * out
    return out


def _exponent(s: Any, angle: Any, alpha: Any, beta: Any) -> tuple[Any, Any]:
    """The real and the imaginary part of E(t) + i x t at t = s exp(-i angle)."""
    e, a, b = alpha - 1.0, log(s), negative(angle)
    c, d = cos(angle), sin(angle)
    z = math.pi / 2 * e
    factor = divide(2 / math.pi * cos(z), _cardinal(z))  # ε cot(πε/2)
    # (t^ε - 1) / ε
    real = a * exprel(e * a) * cos(e * b) - 0.5 * e * square(b * _cardinal(0.5 * e * b))
    imag = exp(e * a) * b * _cardinal(e * b)
    size = exp(alpha * a)
    first = beta * factor * s * (c * imag - d * real) - size * cos(alpha * angle)
    last = size * sin(alpha * angle) - beta * factor * s * (c * real + d * imag)
    return first, last


def _ray(x: Any, alpha: Any, beta: Any) -> tuple[Any, ...]:
    """Nodes, weights, and the angle on which the integrand is smallest."""
    reach = divide(1.0, 1.0 + absolute(x))
    few = along(reach) * NODES[::6]
    size: Any = None
    best: Any = 0.0 * reach
    for angle in _ANGLES.tolist():
        real, _ = _exponent(few, angle, along(alpha), along(beta))
        real = real - along(x) * few * math.sin(angle)
        value = total(exp(where(less(real, 500.0), real, 500.0)) * along(reach) * WEIGHTS[::6], -1)
        better = True if size is None else less(value, size)
        best = angle + 0.0 * reach if size is None else where(better, angle, best)
        size = value if size is None else where(better, value, size)
    reach, best = (bind(STOP_GRADIENT, (v,)) for v in (reach, best))
    return along(reach) * NODES, along(reach) * WEIGHTS, along(best)


def _sums(x: Any, alpha: Any, beta: Any) -> tuple[Any, Any]:
    """The density and the integral of it; NaN where digits are lost."""
    shape = np.broadcast_shapes(*(type_of(v).shape for v in (x, alpha, beta)))
    x, alpha, beta = (broadcast_to(add(v, 0.0), shape) for v in (x, alpha, beta))
    s, weights, angle = _ray(x, alpha, beta)
    wide = along(x)
    c, d = cos(angle), sin(angle)
    real, imag = _exponent(s, angle, along(alpha), along(beta))
    far = logical_and(greater(absolute(wide), 10.0), greater(wide * d, 0.0))
    # exp(E), or exp(E) - exp(-i x t) = exp(-i x t) (exp(rest) - 1)
    outer, turn = exp(where(far, -wide * s * d, 0.0)), where(far, -wide * s * c, 0.0)
    r, i = (where(far, v, v + w) for v, w in ((real, -wide * s * d), (imag, -wide * s * c)))
    r = where(less(r, 500.0), r, 500.0)
    grown, swing = exp(r), sin(0.5 * i)
    first = where(far, expm1(r) * cos(i) - 2.0 * square(swing), grown * cos(i))
    last = grown * sin(i)
    up = outer * (first * cos(turn) - last * sin(turn))
    across = outer * (first * sin(turn) + last * cos(turn))
    density = total((c * up + d * across) * weights, -1) / math.pi
    whole = total(absolute(up) * weights + absolute(across) * weights, -1)
    whole = bind(STOP_GRADIENT, (whole,))
    found = total(divide(across * weights, s), -1) / math.pi
    begin = where(far[..., 0], where(greater(x, 0.0), 1.0, 0.0), 0.5 + angle[..., 0] / math.pi)
    kept = greater(density, _LOST * whole)
    torn = where(kept, 0.0, _torn(x + alpha + beta))
    return density * where(kept, 1.0, math.nan), begin - found + torn


def _place(y: Any, alpha: Any, beta: Any) -> Any:
    """From S1, SciPy's own; at α = 1 the two agree, and S1 has no derivative by α but at β = 0."""
    at_one = equal(alpha, 1.0)
    angle = where(at_one, 0.5, alpha) * math.pi / 2
    moved = where(at_one, 0.0, beta * divide(sin(angle), cos(angle)))
    torn = logical_and(at_one, greater(absolute(beta), 0.0))
    return y - moved + where(torn, _torn(alpha), 0.0)


def _torn(x: Any) -> Any:
    """0, of which the derivative is NaN."""
    return 0.0 * sqrt(absolute(x - bind(STOP_GRADIENT, (x,))))


def _stable(which: int) -> Any:
    return lambda y, alpha, beta: _sums(_place(y, alpha, beta), alpha, beta)[which]


# --------------------------------------------------------------------------------- Landau

_U = np.linspace(0.0, 5.6, 320)
_HALF = np.where(_U == 0, 0.5, 1.0) * (_U[1] - _U[0])


def _landau(y: Any, kind: str) -> Any:
    """The logarithm of the density, of the integral, or of the rest of it."""
    place = 0.5 * math.pi * y + math.log(0.5 * math.pi)
    left = less(place, 1.0)
    low, high = _saddle(where(left, place, 0.0), kind), _cut(where(left, 2.0, place), kind)
    if kind == "density":
        return math.log(0.5 * math.pi) + where(left, low, high)
    if kind == "cdf":
        return where(left, low, log1p(-exp(high)))
    return where(left, log1p(-exp(low)), high)


def _saddle(place: Any, kind: str) -> Any:
    """Along s = s₀ (1 + i v) through the saddle s₀."""
    middle = along(exp(-1.0 - place))
    spread = bind(STOP_GRADIENT, (divide(1.0, sqrt(middle)) + divide(1.0, middle),))
    v, weights = spread * np.sinh(_U) * 0.25, spread * 0.25 * np.cosh(_U) * _HALF
    angle = arctan2(v, 1.0)
    fall = 0.5 * log1p(square(v)) - angle * v
    turn = middle * (angle - v + 0.5 * v * log1p(square(v)))
    size = exp(middle * fall)
    if kind == "density":
        found = total(size * cos(turn) * weights * middle, -1)
    else:
        found = total(divide(size * (cos(turn) + v * sin(turn)), 1.0 + square(v)) * weights, -1)
    return log(found / math.pi) - middle[..., 0]


def _cut(place: Any, kind: str) -> Any:
    wide = along(place)
    reach = bind(STOP_GRADIENT, (divide(1.0, 1.0 + wide),))
    t, weights = reach * NODES, reach * WEIGHTS
    there = less(t, 60.0)
    t = where(there, t, 1.0)
    inner = exp(-t * log(t) - wide * t) * sin(math.pi * t)
    found = where(there, inner if kind == "density" else divide(inner, t), 0.0) * weights
    return log(total(found, -1) / math.pi)


STABLE: dict[str, Family] = {
    "levy_stable": Family(
        lambda y, alpha, beta: log(_stable(0)(y, alpha, beta)),
        cdf=_stable(1),
        sf=lambda y, alpha, beta: _stable(1)(-y, alpha, -beta),
        inside=0.0,
        allowed=lambda alpha, beta: logical_and(
            logical_and(greater(alpha, 0), less_equal(alpha, 2)),
            less_equal(absolute(beta), 1),
        ),
        shapes=(1.8, -0.5),
    ),
    "landau": Family(
        lambda y: _landau(y, "density"),
        cdf=lambda y: exp(_landau(y, "cdf")),
        sf=lambda y: exp(_landau(y, "sf")),
        logcdf=lambda y: _landau(y, "cdf"),
        logsf=lambda y: _landau(y, "sf"),
        **ANY,
    ),
}
