"""The logarithm of the gamma function, its derivatives, and the zeta function of Hurwitz.

Near 1 and 2, where log-gamma is 0, its Taylor series keeps the relative accuracy; elsewhere the
recurrence moves the argument to where the asymptotic series holds to double precision. The rules
are stated once, for these values and for SciPy's (`gammas`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

import numpy as np

from funcgrad.core.forms import Op, elementwise
from funcgrad.core.primitive import Sample, Samples
from funcgrad.errors import NotDifferentiableError, located
from funcgrad.ops.arithmetic import add, multiply, negative
from funcgrad.ops.normal import double
from funcgrad.ops.samples import draw

__all__ = ["Gammas", "digamma", "gammas", "lgamma", "polygamma", "zeta"]

# Bernoulli's numbers B₂, B₄, …
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798,
             -174611 / 330)  # fmt: skip
FAR = 10.0  # from here on the asymptotic series hold
LARGE = 330.0  # exponents: no power of numbers from `FAR` on is above 0


def _poles(x: Any) -> Any:
    return (x <= 0) & (x == np.floor(x))


# -------------------------------------------------------------------------------------- zeta


def _zeta(s: Any, q: Any) -> Any:
    """ζ(s, q) = Σ (q + k)^-s by Euler and Maclaurin."""
    s, q = np.broadcast_arrays(np.asarray(s, float), np.asarray(q, float))
    s, q = s.reshape(-1), q.reshape(-1)
    poles = _poles(q)
    valid = ~poles & np.isfinite(q) & ((q > 0) | (s == np.floor(s)))
    start = np.where(valid, q, 1.0)
    far = FAR + np.where(np.isfinite(s), np.clip(s, 0.0, LARGE), 0.0)
    out = np.zeros_like(start)
    for _ in range(int(np.ceil((far - start).max(initial=0.0)))):
        out += np.where(start < far, start**-s, 0.0)
        start = np.where(start < far, start + 1, start)
    out += start ** (1 - s) / (s - 1) + 0.5 * start**-s
    factor, power = s, start ** (-s - 1)
    for k, number in enumerate(BERNOULLI, 1):
        out += np.where(power == 0, 0.0, number / math.factorial(2 * k) * factor * power)
        factor = factor * (s + 2 * k - 1) * (s + 2 * k)
        power = power / (start * start)
    out[~valid] = np.nan
    out[poles] = np.inf
    out[np.isinf(q) & (q > 0)] = 0.0
    out[np.isnan(q) | ~(s >= 1)] = np.nan
    out[s == 1] = np.inf
    return out


def _narrowed(function: Any, name: str) -> Any:
    """`function` of two float64 arrays in the floating type of the second."""

    def of_two(s: Any, q: Any) -> Any:
        kind = np.asarray(q).dtype
        dtype = kind if kind.kind == "f" else np.dtype(np.float64)
        shape = np.broadcast_shapes(np.shape(s), np.shape(q))
        with np.errstate(all="ignore"):
            return function(s, q).reshape(shape).astype(dtype)[()]

    of_two.__name__ = name
    return of_two


# --------------------------------------------------------------------------------- polygamma


def _polygamma(n: Any, x: Any) -> Any:
    n, x = np.broadcast_arrays(np.asarray(n, float), np.asarray(x, float))
    n, x = n.reshape(-1), x.reshape(-1)
    out = np.empty_like(x)
    first = n == 0
    out[first] = _digamma(x[first])
    for order in np.unique(n[~first]):
        chosen = n == order
        size = math.factorial(int(order)) * (-1.0) ** (int(order) + 1)
        out[chosen] = size * _zeta(order + 1, x[chosen])
    return out


def _cotangent(x: Any) -> Any:
    """π cot(πx), by the nearest whole number so that the angle is exact."""
    away = x - np.round(x)
    return np.pi / np.tan(np.pi * away)


def _digamma(x: Any) -> Any:
    poles = _poles(x)
    low = x < 0.5
    y = np.where(low, 1 - x, x)
    out = np.zeros_like(y)
    for _ in range(int(FAR)):
        near = y < FAR
        out = np.where(near, out - 1 / y, out)
        y = np.where(near, y + 1, y)
    out += np.log(y) - 0.5 / y
    square, power = 1 / (y * y), 1 / (y * y)
    for k, number in enumerate(BERNOULLI, 1):
        out -= number / (2 * k) * power
        power = power * square
    out = np.where(low, out - _cotangent(x), out)
    out[poles] = np.nan
    zero = x == 0
    out[zero] = -np.copysign(np.inf, x[zero])
    out[np.isneginf(x)] = np.nan
    return np.where(np.isposinf(x), np.inf, out)


# ---------------------------------------------------------------------------------- log-gamma

EULER = 0.57721566490153286061
# (ζ(k) - 1) (-1)^k / k: log Γ(1 + z) = -log(1 + z) + z (1 - γ) + Σ c_k z^k, from k = 2
TAYLOR = [
    (-1) ** k / k * float(_zeta(np.array([float(k)]), np.array([2.0]))[0]) for k in range(2, 34)
]


def _near_one(z: Any) -> Any:
    """log Γ(1 + z) + log(1 + z) for |z| <= ½, which is log Γ(2 + z)."""
    series = np.zeros_like(z)
    for c in reversed(TAYLOR):
        series = series * z + c
    return z * (1 - EULER + z * series)


def _positive_lgamma(x: Any) -> Any:
    out = np.empty_like(x)
    one, two = np.abs(x - 1) <= 0.5, np.abs(x - 2) < 0.5
    z = x[one] - 1
    out[one] = _near_one(z) - np.log1p(z)
    out[two] = _near_one(x[two] - 2)
    rest = ~(one | two)
    y, product = x[rest], np.ones(int(rest.sum()))
    for _ in range(int(FAR)):
        near = y < FAR
        product = np.where(near, product * y, product)
        y = np.where(near, y + 1, y)
    found = (y - 0.5) * np.log(y) - y + 0.5 * math.log(2 * math.pi)
    power = 1 / y
    for k, number in enumerate(BERNOULLI, 1):
        found += number / (2 * k * (2 * k - 1)) * power
        power = power / (y * y)
    out[rest] = found - np.log(product)
    out[np.isposinf(x)] = np.inf
    return out


def _lgamma(x: Any) -> Any:
    low = x < 0.5
    out = _positive_lgamma(np.where(low, 1 - x, x))
    b = x[low]
    rest = np.abs(b - np.round(b))
    sine = np.where(rest < 1e-100, rest, np.sin(np.pi * rest) / np.pi)  # sin πr = πr, not rounded
    out[low] = -np.log(sine) - out[low]
    out[_poles(x) | np.isinf(x)] = np.inf
    return out


# ------------------------------------------------------------------------------------- rules


class Gammas(NamedTuple):
    """The functions whose derivatives are one another."""

    zeta: Op
    polygamma: Op
    digamma: Op
    lgamma: Op


def gammas(define: Callable[..., Op], values: tuple[Any, ...], first: tuple[Any, Any]) -> Gammas:
    """The functions of which `values` are the values, made by ``define(value, *partials)``.

    `first` has the partial derivatives of zeta by the exponent and of polygamma by the order.
    """
    zeta: Op = define(
        values[0], first[0], lambda _, s, q: multiply(negative(s), zeta(add(s, 1), q))
    )
    polygamma: Op = define(values[1], first[1], lambda _, n, x: polygamma(add(n, 1), x))
    digamma: Op = define(values[2], lambda _, x: polygamma(1, x))
    return Gammas(zeta, polygamma, digamma, define(values[3], lambda _, x: digamma(x)))


def _refused(*_: Any) -> NoReturn:
    raise NotDifferentiableError(
        located("the zeta function has no derivative here with respect to its exponent s")
    )


def _samples(value: Any) -> Samples:
    numbers = np.array([-1.7, -0.4, 0.1, 0.9, 1.0, 1.4616, 2.0, 2.4, 12.0, 200.0])
    given: dict[str, list[tuple[Any, ...]]] = {
        "zeta": [(np.array([2, 3, 4]), draw((3,), 0.5, 3.0))],
        "polygamma": [
            (np.int64(2), draw((3,), 0.5, 3.0)),
            (np.array([0, 1, 3]), draw((3,), 0.5, 3.0)),
        ],
    }
    one = [(draw((3,), 0.5, 3.0),), (numbers,), (draw((2, 2), 0.5, 3.0).astype(np.float32),)]
    return lambda: [Sample(xs) for xs in given.get(value.__name__, one)]


zeta, polygamma, digamma, lgamma = gammas(
    lambda value, *partials: elementwise(value, *partials, sample=_samples(value)),
    (
        _narrowed(_zeta, "zeta"),
        _narrowed(_polygamma, "polygamma"),
        double(_digamma),
        double(_lgamma),
    ),
    (_refused, _refused),
)
