"""SciPy's interpolators by cubic polynomials: Hermite, PCHIP, Akima, and splines.

Each finds the slopes at the points (`slopes`), and is a `PPoly` from then on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import funcgrad.numpy as fnp
from funcgrad.core.tracer import concrete, operand, type_of, value
from funcgrad.core.types import Array
from funcgrad.errors import located
from funcgrad.numpy.function_calls import as_array
from funcgrad.ops.arithmetic import cast
from funcgrad.scipy.interpolate.pieces import PPoly, floating, real_numbers
from funcgrad.scipy.interpolate.slopes import AKIMA, CUBIC, HERMITE, PCHIP, PERIODIC, Ends

__all__ = [
    "Akima1DInterpolator",
    "CubicHermiteSpline",
    "CubicSpline",
    "PchipInterpolator",
    "pchip_interpolate",
]


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
