"""Interpolation between the points of a line and of a regular grid.

Values, points of evaluation and the grid are differentiable. At a point of the grid the derivative
is that of one of the cells beside it. What the nearest point decides is constant in the points.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import scipy.interpolate as sp

import funcgrad.numpy as fnp
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import concrete, operand, type_of, value
from funcgrad.core.types import Array
from funcgrad.errors import UnsupportedCallError, located
from funcgrad.numpy.function_calls import as_array
from funcgrad.ops.index import gather
from funcgrad.ops.samples import draw
from funcgrad.scipy.interpolate.cubics import PchipInterpolator
from funcgrad.scipy.interpolate.pieces import (
    floating,
    last_axis,
    real_numbers,
)
from funcgrad.scipy.interpolate.splines import basis, make_interp_spline
from funcgrad.scipy.valued import Valued, valued

__all__ = ["RegularGridInterpolator", "interp1d", "interpn"]

DEGREES = {"slinear": 1, "cubic": 3, "quintic": 5}


def _cell(x: Array, q: Array) -> tuple[Array, Array]:
    """The interval of each point, and where in it the point lies, from 0 to 1."""
    i = fnp.clip(fnp.searchsorted(x, q, "right") - 1, 0, type_of(x).shape[0] - 2)
    i = operand(i)
    low, high = gather(operand(x), i), gather(operand(x), operand(i + 1))
    return i, (q - low) / (high - low)


# ------------------------------------------------------------------------------- regular grids


def _linear(values: Array, q: Array, *grid: Array) -> Array:
    """The multilinear interpolation at points, the rows of `q`."""
    cells = [_cell(x, q[:, j]) for j, x in enumerate(grid)]
    trailing = (1,) * (type_of(values).ndim - len(grid))
    out: Any = 0.0
    for corner in itertools.product((0, 1), repeat=len(grid)):
        weight: Any = 1.0
        for (_, s), up in zip(cells, corner, strict=True):
            weight = weight * (s if up else 1 - s)
        where = [operand(i + up) for (i, _), up in zip(cells, corner, strict=True)]
        out = out + gather(operand(values), *where) * fnp.reshape(weight, (-1, *trailing))
    return out


def _nearest(values: Array, q: Array, *grid: Array) -> Array:
    cells = (_cell(x, q[:, j]) for j, x in enumerate(grid))
    where = [operand(fnp.where(s <= 0.5, i, i + 1)) for i, s in cells]
    return gather(operand(values), *where)


def _splines(values: Array, q: Array, *grid: Array, k: int) -> Array:
    """Splines along one axis after the other: coefficients first, then sums of products."""
    firsts, weights = [], []
    for j, x in enumerate(grid):
        spline = make_interp_spline(x, values, k, axis=j)
        values = fnp.moveaxis(spline.c, 0, j)
        first, weight = basis(spline.t, q[:, j], k, 0)
        firsts.append(first)
        weights.append(weight)
    trailing = (1,) * (type_of(values).ndim - len(grid))
    out: Any = 0.0
    for shifts in itertools.product(range(k + 1), repeat=len(grid)):
        product: Any = 1.0
        for w, a in zip(weights, shifts, strict=True):
            product = product * w[:, a]
        where = [operand(f + a) for f, a in zip(firsts, shifts, strict=True)]
        out = out + gather(operand(values), *where) * fnp.reshape(product, (-1, *trailing))
    return out


def _pchip(values: Array, q: Array, *grid: Array) -> Array:
    """From the last axis to the first, with other coefficients for each point."""
    count = len(grid)
    found = PchipInterpolator(grid[-1], values, axis=count - 1)
    held = fnp.moveaxis(found(q[:, -1]), count - 1, 0)
    for j in range(count - 2, -1, -1):
        rows = [PchipInterpolator(grid[j], row, axis=j)(q[n, j]) for n, row in enumerate(held)]
        held = fnp.stack(rows)
    return held


def _composed(values: Array, q: Array, *grid: Array, method: str) -> Array:
    if method in DEGREES:
        return _splines(values, q, *grid, k=DEGREES[method])
    return {"linear": _linear, "nearest": _nearest, "pchip": _pchip}[method](values, q, *grid)


def _grid_value(values: Any, q: Any, *grid: Any, method: str) -> Any:
    values = np.array(values)  # SciPy has other sums for what is read-only
    return sp.RegularGridInterpolator(grid, values, method, bounds_error=False, fill_value=None)(q)


def _grid_samples() -> list[Sample]:
    x, y = np.array([0.0, 0.4, 1.3, 2.0]), np.array([0.0, 0.7, 1.0, 1.8, 2.5])
    q = np.array([[0.3, 0.2], [1.7, 1.3], [1.0, 2.4]])
    return [
        Sample((draw((4, 5)), q, x, y), {"method": "linear"}),
        Sample((draw((4, 2)), q[:, :1], x), {"method": "linear"}),
        Sample((draw((4, 5, 2)), q, x, y), {"method": "linear"}),
        Sample((draw((4, 5)), q, x, y), {"method": "nearest"}),
        Sample((draw((4, 5)), q, x, y), {"method": "pchip"}),
    ]


GRID: Valued = valued(
    "interpolate_grid",
    _grid_value,
    _composed,
    _grid_samples,
    batch=last_axis(0, lambda: GRID),
    dtype=lambda v, *_, method: v if method == "pchip" else None,
)


class RegularGridInterpolator:
    """Interpolation of values on a regular grid of any number of dimensions.

    Parameters
    ----------
    points : sequence of array
        The grid along each axis, increasing or decreasing.
    values : array
    method : {"linear", "nearest", "slinear", "cubic", "quintic", "pchip"}, optional
    bounds_error : bool, optional
        Points outside are an error; where they are not known, under `jit`, they are NaN.
    fill_value : float or None, optional
        The value outside; None extrapolates.

    Notes
    -----
    Values, points and the grid are differentiable. SciPy solves for the coefficients of "cubic" and
    "quintic" by an iteration; derivatives are those of the exact ones.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.interpolate import RegularGridInterpolator
    >>> x, y = np.arange(3.0), np.arange(2.0)
    >>> f = RegularGridInterpolator((x, y), np.outer(x, y))
    >>> fg.grad(lambda q: f(q)[0])(np.array([0.5, 0.25]))
    array([0.25, 0.5 ])
    """

    def __init__(
        self,
        points: Any,
        values: Any,
        method: str = "linear",
        bounds_error: bool = True,
        fill_value: Any = np.nan,
    ) -> None:
        _known_method(method)
        self.values = _inexact(values)
        shape = type_of(self.values).shape
        if len(points) > len(shape):
            raise ValueError(
                f"There are {len(points)} point arrays, but values has {len(shape)} dimensions"
            )
        grid = []
        for k, p in enumerate(points):
            x = real_numbers(p)
            if type_of(x).ndim != 1:
                raise ValueError(f"The points in dimension {k} must be 1-dimensional")
            if type_of(x).shape[0] != shape[k]:
                raise ValueError(
                    f"There are {type_of(x).shape[0]} points and {shape[k]} values in dimension {k}"
                )
            grid.append(self._ascending(x, k))
        self.grid = tuple(grid)
        self.method, self.bounds_error, self.fill_value = method, bounds_error, fill_value

    def _ascending(self, x: Array, axis: int) -> Array:
        if not concrete(x):
            return x
        steps = np.diff(np.asarray(value(x)))
        if np.all(steps > 0):
            return x
        if not np.all(steps < 0):
            raise ValueError(
                located(f"The points in dimension {axis} must be strictly ascending or descending")
            )
        self.values = operand(fnp.flip(self.values, axis))
        return fnp.flip(x)

    def __call__(self, xi: Any, method: str | None = None) -> Array:
        """The values at points, whose coordinates stand along the last axis of `xi`."""
        method = self.method if method is None else method
        _known_method(method)
        xi = fnp.stack(list(fnp.broadcast_arrays(*xi)), -1) if isinstance(xi, tuple) else xi
        q = real_numbers(xi)
        count = len(self.grid)
        if type_of(q).ndim == 1:
            q = q[:, None] if count == 1 else q[None]
        shape = type_of(operand(q)).shape
        if shape[-1] != count:
            raise ValueError(
                f"The requested sample points xi have dimension {shape[-1]} but this "
                f"RegularGridInterpolator has dimension {count}"
            )
        q = operand(fnp.reshape(q, (-1, count)))
        outside = self._outside(q)
        out = GRID(self.values, q, *map(operand, self.grid), method=method)
        trailing = type_of(self.values).shape[count:]
        if outside is not None:
            out = fnp.where(fnp.reshape(outside, (-1, *(1,) * len(trailing))), self.fill_value, out)
        missing = fnp.any(fnp.isnan(q), -1)
        out = fnp.where(fnp.reshape(missing, (-1, *(1,) * len(trailing))), np.nan, out)
        return fnp.reshape(out, (*shape[:-1], *trailing))

    def _outside(self, q: Array) -> Any:
        if not self.bounds_error and self.fill_value is None:
            return None
        found: Any = False
        for j, x in enumerate(self.grid):
            beyond = ~((q[:, j] >= x[0]) & (q[:, j] <= x[-1]))
            if self.bounds_error and _seen(beyond):
                raise ValueError(
                    located(f"One of the requested xi is out of bounds in dimension {j}")
                )
            found = found | beyond
        return found


def _seen(beyond: Array) -> bool:
    """Whether something is known to be true of one of the points."""
    beyond = operand(beyond)
    return concrete(beyond) and bool(np.any(np.asarray(value(beyond))))


def _known_method(method: str) -> None:
    if method in ("linear", "nearest", "pchip", *DEGREES):
        return
    if method in ("slinear_legacy", "cubic_legacy", "quintic_legacy", "splinef2d"):
        raise UnsupportedCallError(
            located(f"RegularGridInterpolator: method={method!r} is not supported; take another")
        )
    raise ValueError(f"Method '{method}' is not defined")


def _real(x: Any) -> Array:
    x = as_array(x)
    return x if type_of(x).dtype.kind == "f" else real_numbers(x)


def _inexact(x: Any) -> Array:
    x = as_array(x)
    return x if type_of(x).dtype.kind in "fc" else floating(x)


def interpn(
    points: Any,
    values: Any,
    xi: Any,
    method: str = "linear",
    bounds_error: bool = True,
    fill_value: Any = np.nan,
) -> Array:
    """The values at points `xi` of what is given on a regular grid.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.interpolate import interpn
    >>> x = np.arange(3.0)
    >>> fg.grad(lambda v: interpn((x,), v, np.array([0.25]))[0])(x**2)
    array([0.75, 0.25, 0.  ])
    """
    return RegularGridInterpolator(points, values, method, bounds_error, fill_value)(xi)


# --------------------------------------------------------------------------------------- lines


def _step(x: Array, q: Array, kind: str) -> Array:
    """The point whose value a step function takes."""
    n = type_of(x).shape[0]
    if kind == "previous" or kind == "zero":
        return fnp.clip(fnp.searchsorted(x, q, "right") - 1, 0, n - 1)
    if kind == "next":
        return fnp.clip(fnp.searchsorted(x, q, "left"), 0, n - 1)
    middle = (x[1:] + x[:-1]) / 2.0
    side = "left" if kind == "nearest" else "right"
    return fnp.clip(fnp.searchsorted(middle, q, side), 0, n - 1)


def _line(x: Array, y: Array, q: Array, kind: str, extends: bool) -> Array:
    trailing = (1,) * (type_of(y).ndim - 1)
    if kind != "linear":
        return gather(operand(y), operand(_step(x, q, kind)))
    n = type_of(x).shape[0]
    high = operand(fnp.clip(fnp.searchsorted(x, q), 1, n - 1))
    low = operand(high - 1)
    x0, x1, y0, y1 = (gather(operand(v), i) for v in (x, y) for i in (low, high))
    wide = (*type_of(q).shape, *trailing)
    slope = (y1 - y0) / fnp.reshape(x1 - x0, wide)
    return slope * fnp.reshape(q - x0, wide) + y0


def _line_value(x: Any, y: Any, q: Any, kind: str, extends: bool) -> Any:
    # SciPy computes inside the range in another order where it need not go beyond
    fill = "extrapolate" if kind == "linear" and extends else (y[0], y[-1])
    made = sp.interp1d(x, y, kind, 0, bounds_error=False, fill_value=fill, assume_sorted=True)
    return made(q)


LINE: Valued = valued(
    "interpolate_line",
    _line_value,
    _line,
    lambda: [
        Sample(
            (np.array([0.0, 0.4, 1.3, 2.0]), draw((4, 2)[:rank]), np.array([0.1, 0.9, 1.9])),
            {"kind": kind, "extends": rank == 2},
        )
        for kind, rank in (("linear", 1), ("linear", 2), ("nearest", 2), ("next", 1))
    ],
    linear_in=(1,),
    batch=last_axis(1, lambda: LINE, 2),
)

STEPS = ("nearest", "nearest-up", "previous", "next")
CURVES = {"zero": 0, "slinear": 1, "quadratic": 2, "cubic": 3}


class interp1d:
    """Interpolation of values on a line.

    Parameters
    ----------
    x : array of shape (n,)
    y : array
        Values, with `n` elements along `axis`.
    kind : str or int, optional
        "linear", "nearest", "nearest-up", "previous", "next", "zero", "slinear", "quadratic",
        "cubic", or the degree of a spline.
    axis : int, optional
    copy, bounds_error, fill_value, assume_sorted : optional
        As in SciPy. Points outside are an error by default; where they are not known, under `jit`,
        they are `fill_value`.

    Notes
    -----
    Values, points and the places of the values are differentiable.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.interpolate import interp1d
    >>> fg.grad(interp1d([0.0, 1.0, 2.0], [0.0, 3.0, 4.0]))(0.5)
    np.float64(3.0)
    """

    def __init__(
        self,
        x: Any,
        y: Any,
        kind: Any = "linear",
        axis: int = -1,
        copy: bool = True,
        bounds_error: Any = None,
        fill_value: Any = np.nan,
        assume_sorted: bool = False,
    ) -> None:
        x, y = _real(x), _inexact(y)
        if type_of(x).ndim != 1:
            raise ValueError("the x array must have exactly one dimension.")
        if not type_of(y).ndim:
            raise ValueError("the y array must have at least one dimension.")
        axis = axis % type_of(y).ndim
        y = operand(fnp.moveaxis(y, axis, 0))
        if type_of(x).shape[0] != type_of(y).shape[0]:
            raise ValueError("x and y arrays must be equal in length along interpolation axis.")
        if not assume_sorted:
            order = fnp.argsort(x, kind="mergesort")
            x, y = x[order], y[order]
        self.x, self.y, self.axis = operand(x), operand(y), axis
        extends = isinstance(fill_value, str) and fill_value == "extrapolate"
        if kind in CURVES or not isinstance(kind, str):
            degree = CURVES.get(kind, kind)
            self._run: Any = make_interp_spline(self.x, self.y, int(degree))
        elif kind == "linear" or kind in STEPS:
            self._run = lambda q: LINE(self.x, self.y, q, kind=kind, extends=extends)
        else:
            raise NotImplementedError(
                f"{kind} is unsupported: Use fitpack routines for other types."
            )
        self.fill_value = None if extends else fill_value
        plain = not extends and not isinstance(fill_value, tuple) and np.ndim(fill_value) == 0
        default = plain and bool(fill_value != fill_value)
        self.bounds_error = (default if bounds_error is None else bounds_error) and not extends

    def __call__(self, x: Any) -> Array:
        """The values at points of any shape."""
        q = _real(x)
        below, above = q < self.x[0], q > self.x[-1]
        for beyond, name in ((below, "below"), (above, "above")):
            if self.bounds_error and _seen(beyond):
                raise ValueError(located(f"A value in x_new is {name} the interpolation range."))
        out = self._run(q)
        if self.fill_value is not None:
            low, high = (
                self.fill_value if isinstance(self.fill_value, tuple) else (self.fill_value,) * 2
            )
            wide = (*type_of(q).shape, *(1,) * (type_of(self.y).ndim - 1))
            out = fnp.where(fnp.reshape(below, wide), low, out)
            out = fnp.where(fnp.reshape(above, wide), high, out)
        if not self.axis:
            return out
        rank, points = type_of(operand(out)).ndim, type_of(q).ndim
        order = [*range(points, points + self.axis), *range(points)]
        return fnp.transpose(out, [*order, *range(points + self.axis, rank)])
