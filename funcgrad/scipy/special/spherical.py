"""Spherical Bessel functions of integer order, for real or complex arguments.

Their derivatives are sums of the neighbours in order, regular also at 0 (DLMF 10.51.2, 10.51.5).
"""

from __future__ import annotations

from typing import Any

import scipy.special as sp

from funcgrad.core.forms import Op
from funcgrad.core.tracer import operand
from funcgrad.core.types import Array
from funcgrad.numpy.function_calls import numpy_function
from funcgrad.ops.arithmetic import divide, equal, maximum, where
from funcgrad.scipy.special.define import fixed, special
from funcgrad.scipy.special.gamma_functions import slope_of

__all__ = ["spherical_in", "spherical_jn", "spherical_kn", "spherical_yn"]


def _function(name: str, lower: float, upper: float) -> tuple[Op, Op]:
    """The operation and its derivative, with SciPy's values.

    The derivative of the first is (lower n f_{n-1} + upper (n + 1) f_{n+1}) / (2n + 1).
    """
    function = getattr(sp, name)

    def value(n: Any, z: Any) -> Any:
        return function(n, z)

    def slope(n: Any, z: Any) -> Array:
        below = where(equal(n, 0), 0.0, lower * n) * op(maximum(n - 1, 0), z)
        return divide(below + upper * (n + 1.0) * op(n + 1, z), 2.0 * n + 1.0)

    def value_of_slope(n: Any, z: Any) -> Any:
        return function(n, z, derivative=True)

    value.__name__, value_of_slope.__name__ = name, f"{name}_slope"
    op: Op = special(
        value,
        fixed(name, "the order n"),
        lambda _, n, z: slope(n, z),
        ranges=[[0, 1, 3], (0.4, 4.0)],
    )
    moved: Op = special(
        value_of_slope,
        fixed(name, "the order n"),
        slope_of(slope, 1),
        ranges=[[0, 1, 3], (0.4, 4.0)],
    )
    return op, moved


_JN, _YN = _function("spherical_jn", 1.0, -1.0), _function("spherical_yn", 1.0, -1.0)
_IN, _KN = _function("spherical_in", 1.0, 1.0), _function("spherical_kn", -1.0, -1.0)


def _of(pair: tuple[Op, Op], n: Any, z: Any, derivative: bool) -> Array:
    op, slope = pair
    n, z = operand(n), operand(z)
    return slope(n, z) if derivative else op(n, z)


@numpy_function(sp.spherical_jn)
def spherical_jn(n: Any, z: Any, derivative: bool = False) -> Array:
    """The spherical Bessel function of the first kind, or its derivative in `z`.

    Examples
    --------
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.special import spherical_jn
    >>> fg.grad(lambda z: spherical_jn(1, z))(0.0)
    np.float64(0.3333333333333333)
    """
    return _of(_JN, n, z, derivative)


@numpy_function(sp.spherical_yn)
def spherical_yn(n: Any, z: Any, derivative: bool = False) -> Array:
    """The spherical Bessel function of the second kind, or its derivative in `z`."""
    return _of(_YN, n, z, derivative)


@numpy_function(sp.spherical_in)
def spherical_in(n: Any, z: Any, derivative: bool = False) -> Array:
    """The modified spherical Bessel function of the first kind, or its derivative in `z`."""
    return _of(_IN, n, z, derivative)


@numpy_function(sp.spherical_kn)
def spherical_kn(n: Any, z: Any, derivative: bool = False) -> Array:
    """The modified spherical Bessel function of the second kind, or its derivative in `z`."""
    return _of(_KN, n, z, derivative)
