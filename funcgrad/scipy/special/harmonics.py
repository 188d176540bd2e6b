"""Legendre functions and spherical harmonics, with the derivatives that SciPy computes of them.

Degrees and orders are whole numbers. SciPy gives two derivatives; more follow from Legendre's
differential equation (DLMF 14.2.2), but not at the poles.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sp

from funcgrad.core.forms import Op
from funcgrad.core.tracer import operand
from funcgrad.core.types import Array
from funcgrad.errors import UnsupportedCallError, located
from funcgrad.numpy.function_calls import FUNCTIONS, numpy_function, refuse
from funcgrad.ops.arithmetic import divide, square
from funcgrad.ops.shape import stack
from funcgrad.ops.transcendental import cos, sin
from funcgrad.scipy.dispatch import scipy_method
from funcgrad.scipy.special.define import fixed, special

__all__ = ["assoc_legendre_p", "legendre_p", "sph_harm_y", "sph_legendre_p"]

DEGREES, ORDERS = [2, 3, 4], [0, 1, 2]


def _third_by_z(ys: Any, n: Any, m: Any, z: Any) -> Any:
    """The derivative of (1 - z²) y'' - 2 z y' + (n (n + 1) - m² / (1 - z²)) y = 0."""
    y, first, second = ys
    rest = 1.0 - square(z)
    order = divide(square(m), rest)
    parts = 4.0 * z * second + (2.0 + order - n * (n + 1.0)) * first
    return divide(parts + divide(2.0 * order * z, rest) * y, rest)


def _third_by_angle(ys: Any, n: Any, m: Any, angle: Any) -> Any:
    """The derivative of y'' + cot θ y' + (n (n + 1) - m² / sin² θ) y = 0."""
    y, first, second = ys
    s, c = sin(angle), cos(angle)
    order = divide(square(m), square(s))
    parts = (divide(1.0, square(s)) - n * (n + 1.0) + order) * first
    return parts - divide(c, s) * (second + 2.0 * order * y)


def _records(
    name: str,
    value: Callable[[int], Callable[..., Any]],
    ranges: Any,
    third: Callable[..., Any],
    turns: bool = False,
) -> list[Op]:
    """The derivatives of order 0, 1 and 2 by the argument behind the degree and perhaps an order.

    `turns`: one more operand comes last, an angle φ of a factor exp(i m φ).
    """
    made: list[Op] = []
    numbers = [fixed(name, each) for each in ("the degree", "the order")]
    numbers = numbers[: len(ranges) - 1 - turns]

    def last(y: Any, n: Any, *xs: Any) -> Any:
        m, x = xs[:2] if len(numbers) == 2 else (0.0, xs[0])
        return third((made[0](n, *xs), made[1](n, *xs), y), n, m, x)

    for k in range(3):

        def slope(_: Any, *xs: Any, k: int = k) -> Any:
            return made[k + 1](*xs)

        rules = [slope if k < 2 else last]
        if turns:
            rules.append(lambda y, _, m, *__: 1j * m * y)
        made.append(special(value(k), *numbers, *rules, ranges=ranges))
    return made


def _numbers(xs: Any, count: int) -> list[Any]:
    """Degrees and orders as whole numbers: those of an operation that broadcasts may be floats."""
    return [np.asarray(x).astype(np.int64) for x in xs[:count]]


def _along(function: Any, name: str, count: int, **options: Any) -> Callable[[int], Any]:
    """The values of a function whose derivatives stand along a first axis."""

    def at(k: int) -> Any:
        def value(*xs: Any) -> Any:
            return function(*_numbers(xs, count), *xs[count:], diff_n=k, **options)[k]

        value.__name__ = f"{name}_{k}"
        return value

    return at


def _several(made: list[Op], diff_n: int, xs: Any) -> Any:
    if diff_n not in (0, 1, 2):
        raise ValueError(
            f"diff_n is currently only implemented for orders 0, 1, and 2, received: {diff_n}."
        )
    return stack([f(*map(operand, xs)) for f in made[: diff_n + 1]])


UNIT, ANGLE = (-0.9, 0.9), (0.3, 2.8)
LEGENDRE = _records(
    "legendre_p", _along(sp.legendre_p, "legendre_p", 1), [DEGREES, UNIT], _third_by_z
)
ON_SPHERE = _records(
    "sph_legendre_p",
    _along(sp.sph_legendre_p, "sph_legendre_p", 2),
    [DEGREES, ORDERS, ANGLE],
    _third_by_angle,
)
ASSOCIATED = {
    (norm, cut): _records(
        "assoc_legendre_p",
        _along(
            sp.assoc_legendre_p,
            f"assoc_legendre_p{cut}{'_normed' * norm}",
            2,
            norm=norm,
            branch_cut=cut,
        ),
        [DEGREES, ORDERS, UNIT if cut == 2 else (1.2, 2.0)],
        _third_by_z,
    )
    for norm in (False, True)
    for cut in (2, 3)
}


def _harmonic(k: int) -> Any:
    def value(n: Any, m: Any, theta: Any, phi: Any) -> Any:
        found = sp.sph_harm_y(*_numbers((n, m), 2), theta, phi, diff_n=k)
        return found[k][(..., *(0,) * k)] if k else found

    value.__name__ = f"sph_harm_y_{k}"
    return value


HARMONIC = _records(
    "sph_harm_y", _harmonic, [DEGREES, ORDERS, ANGLE, ANGLE], _third_by_angle, turns=True
)


@numpy_function(sp.legendre_p)
def legendre_p(n: Any, z: Any, *, diff_n: int = 0) -> Array:
    """Legendre's polynomial of degree `n`, and its derivatives up to `diff_n` along a first axis.

    Examples
    --------
    >>> import funcgrad as fg
    >>> import scipy.special
    >>> fg.grad(lambda z: scipy.special.legendre_p(2, z)[0])(0.5)
    np.float64(1.5)
    """
    return _several(LEGENDRE, diff_n, (n, z))


@numpy_function(sp.assoc_legendre_p)
def assoc_legendre_p(
    n: Any, m: Any, z: Any, *, branch_cut: int = 2, norm: bool = False, diff_n: int = 0
) -> Array:
    """The associated Legendre function, and its derivatives up to `diff_n` along a first axis."""
    return _several(ASSOCIATED[bool(norm), int(branch_cut)], diff_n, (n, m, z))


@numpy_function(sp.sph_legendre_p)
def sph_legendre_p(n: Any, m: Any, theta: Any, *, diff_n: int = 0) -> Array:
    """The spherical Legendre function of the polar angle, and its derivatives up to `diff_n`."""
    return _several(ON_SPHERE, diff_n, (n, m, theta))


@numpy_function(sp.sph_harm_y)
def sph_harm_y(n: Any, m: Any, theta: Any, phi: Any, *, diff_n: int = 0) -> Array:
    """The spherical harmonic of degree `n` and order `m` at the polar angle θ and the azimuth φ.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import scipy.special
    >>> fg.grad(lambda phi: scipy.special.sph_harm_y(1, 1, np.pi / 2, phi).real)(np.pi / 2)
    np.float64(0.34549414...)
    """
    refuse("scipy.special.sph_harm_y", diff_n=diff_n or None)
    return HARMONIC[0](*map(operand, (n, m, theta, phi)))


@scipy_method(sp.legendre_p, "__call__")
def _call(function: Any, *args: Any, **keywords: Any) -> Any:
    """SciPy's object is called, and perhaps one of those that give all degrees up to one."""
    ours = FUNCTIONS.get(function)
    if ours is None:
        raise UnsupportedCallError(
            located(
                "scipy.special: the functions that give all degrees at once have no derivative "
                "here; call that of one degree, as legendre_p, with arrays of degrees"
            )
        )
    return ours(*args, **keywords)
