"""Interpolation between scattered points: over the simplices of a triangulation, or the nearest.

Which points are the corners about a place Qhull decides by comparisons; that is constant, and the
value is a sum over the corners, with weights that depend on the place and the corners: it is
differentiable in values, places and points.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.interpolate as sp
from scipy.spatial import cKDTree

import funcgrad.numpy as fnp
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import bind, operand, type_of
from funcgrad.core.types import is_inexact
from funcgrad.errors import UnsupportedCallError, located
from funcgrad.numpy.function_calls import TRACED, numpy_function, state
from funcgrad.ops.samples import draw
from funcgrad.scipy.dispatch import scipy_method
from funcgrad.scipy.interpolate.grids import interp1d
from funcgrad.scipy.valued import valued
from funcgrad.transforms.api import ShapeDtypeStruct, pure_callback, stop_gradient

__all__ = ["LinearNDInterpolator", "NearestNDInterpolator", "griddata"]

# --------------------------------------------------------------------------------- the records


def _linear_value(p: Any, v: Any, x: Any, *, fill: Any, rescale: bool) -> Any:
    return sp.LinearNDInterpolator(p, v, fill, rescale)(x)


def _simplices(p: Any, x: Any, rescale: bool) -> Any:
    """The corners of the simplex about each place, and whether there is one."""

    def find(p: Any, x: Any) -> Any:
        made = sp.LinearNDInterpolator(p, np.zeros(len(p)), rescale=rescale)
        if rescale:
            x = (x - made.offset) / made.scale
        found = made.tri.find_simplex(x)
        corners = made.tri.simplices[np.maximum(found, 0)]
        return corners.astype(np.int64), found >= 0

    (m, d) = type_of(x).shape
    kinds = ShapeDtypeStruct((m, d + 1), np.int64), ShapeDtypeStruct((m,), np.bool_)
    return pure_callback(find, kinds, stop_gradient(p), stop_gradient(x), vmap_method="sequential")


def _linear(p: Any, v: Any, x: Any, *, fill: Any, rescale: bool) -> Any:
    corners, inside = _simplices(p, x, rescale)
    at = p[corners]  # (places, corners, axes)
    last = at[:, -1]
    edges = fnp.swapaxes(at[:, :-1] - last[:, None], 1, 2)
    first = fnp.linalg.solve(edges, (x - last)[..., None])[..., 0]
    weights = fnp.concatenate([first, 1.0 - fnp.sum(first, axis=1, keepdims=True)], axis=1)
    rest = len(type_of(v).shape) - 1
    spread = fnp.reshape(weights, type_of(weights).shape + (1,) * rest)
    made = fnp.sum(spread * v[corners], axis=1)
    return fnp.where(fnp.reshape(inside, (-1,) + (1,) * rest), made, fill)


def _samples() -> list[Sample]:
    p, x = draw((7, 2)), draw((3, 2), seed=1) * 0.2
    more = draw((9, 3), seed=4)
    return [
        Sample((p, draw((7,), seed=2), x), {"fill": 0.5, "rescale": False}),
        Sample((p, draw((7, 2), seed=2), x), {"fill": 0.5, "rescale": True}),
        Sample((more, draw((9,), seed=3), more[:2] * 0.1), {"fill": 0.0, "rescale": False}),
    ]


LINEAR = valued("scattered_linear", _linear_value, _linear, _samples, linear_in=(1,))


def _nearest_value(p: Any, v: Any, x: Any, *, rescale: bool) -> Any:
    return sp.NearestNDInterpolator(p, v, rescale)(x)


def _nearest(p: Any, v: Any, x: Any, *, rescale: bool) -> Any:
    def find(p: Any, x: Any) -> Any:
        if rescale:
            offset, scale = p.mean(axis=0), np.ptp(p, axis=0)
            scale[~(scale > 0)] = 1.0
            p, x = (p - offset) / scale, (x - offset) / scale
        return np.minimum(cKDTree(p).query(x)[1], len(p) - 1).astype(np.int64)

    kind = ShapeDtypeStruct(type_of(x).shape[:1], np.int64)
    at = pure_callback(find, kind, stop_gradient(p), stop_gradient(x), vmap_method="sequential")
    return v[at]


NEAREST = valued(
    "scattered_nearest",
    _nearest_value,
    _nearest,
    lambda: [
        Sample((draw((7, 2)), draw((7,), seed=2), draw((3, 2), seed=1)), {"rescale": False}),
        Sample((draw((7, 2)), draw((7, 2), seed=2), draw((3, 2), seed=1)), {"rescale": True}),
    ],
    linear_in=(1,),
)


# --------------------------------------------------------------------------------- the classes


def _coordinates(x: Any, axes: int | None = None) -> Any:
    """Points as SciPy takes them: an array with the coordinates last, or a tuple of arrays."""
    if isinstance(x, tuple) and len(x) == 1:
        x = x[0]
    if isinstance(x, tuple):
        x = fnp.stack(fnp.broadcast_arrays(*x), axis=-1)
    x = fnp.asarray(x)
    if type_of(operand(x)).ndim == 1:
        x = fnp.reshape(x, (-1, 1) if axes is None or axes == 1 else (-1, axes))
    return x if is_inexact(type_of(operand(x)).dtype) else x * 1.0


class _Scattered:
    """What both classes share: a table of points, values, and places of any shape."""

    def __init__(self, points: Any, values: Any) -> None:
        points = points.points if hasattr(points, "simplices") else points  # a triangulation
        self.points, self.values = _coordinates(points), fnp.asarray(values)
        kind = type_of(operand(self.values))
        self.values = self.values if is_inexact(kind.dtype) else self.values * 1.0
        found, wanted = kind.shape[:1], type_of(operand(self.points)).shape[:1]
        if found != wanted:
            raise ValueError("different number of values and points")

    def _places(self, args: Any) -> tuple[Any, tuple[int, ...]]:
        d = type_of(operand(self.points)).shape[1]
        x = _coordinates(args[0] if len(args) == 1 else tuple(args), d)
        shape = type_of(operand(x)).shape
        if shape[-1] != d:
            raise ValueError("number of dimensions in xi does not match x")
        return fnp.reshape(x, (math.prod(shape[:-1]), d)), shape[:-1]


class LinearNDInterpolator(_Scattered):
    """Linear interpolation over the simplices of a triangulation of scattered points.

    Parameters
    ----------
    points : array (n, d), or Delaunay
    values : array (n, ...)
    fill_value : float, optional
        The value outside of all simplices, a constant.
    rescale : bool, optional

    Notes
    -----
    Values, points and places are differentiable; the triangulation is Qhull's, and a constant.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.interpolate import LinearNDInterpolator
    >>> corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> f = LinearNDInterpolator(corners, np.array([0.0, 2.0, 3.0]))
    >>> fg.grad(lambda x: f(x)[0])(np.array([[0.2, 0.3]]))
    array([[2., 3.]])
    """

    def __init__(
        self, points: Any, values: Any, fill_value: Any = np.nan, rescale: bool = False
    ) -> None:
        super().__init__(points, values)
        self.fill_value, self.rescale = fill_value, rescale

    def __call__(self, *args: Any) -> Any:
        """The values at places, an array with coordinates last, or an array for each axis."""
        x, shape = self._places(args)
        params = {"fill": self.fill_value, "rescale": bool(self.rescale)}
        made = bind(LINEAR, tuple(map(operand, (self.points, self.values, x))), params)
        return fnp.reshape(made, shape + type_of(operand(self.values)).shape[1:])


class NearestNDInterpolator(_Scattered):
    """The value of the nearest of scattered points; see `LinearNDInterpolator`.

    Places and points have the derivative 0.
    """

    def __init__(
        self, x: Any, y: Any, rescale: bool = False, tree_options: dict[str, Any] | None = None
    ) -> None:
        super().__init__(x, y)
        self.rescale = rescale

    def __call__(self, *args: Any) -> Any:
        """The values at places, an array with coordinates last, or an array for each axis."""
        x, shape = self._places(args)
        params = {"rescale": bool(self.rescale)}
        made = bind(NEAREST, tuple(map(operand, (self.points, self.values, x))), params)
        return fnp.reshape(made, shape + type_of(operand(self.values)).shape[1:])


@scipy_method(sp.NearestNDInterpolator, "__init__")
def _init(owner: Any, *args: Any, **keywords: Any) -> None:
    made = NearestNDInterpolator(*args, **keywords)
    owner._held, owner._traced = made, (made.points, made.values)


@scipy_method(sp.NearestNDInterpolator, "__call__")
def _call(owner: Any, *args: Any, **options: Any) -> Any:
    if options:
        raise UnsupportedCallError(
            located(
                "scipy.interpolate.NearestNDInterpolator: options of the query are not supported "
                "on traced values"
            )
        )
    held = owner.__dict__.get("_held")
    if held is None:
        plain = owner.points if owner.scale is None else owner.points * owner.scale + owner.offset
        held = NearestNDInterpolator(plain, owner.values, owner.scale is not None)
    return held(*args)


@numpy_function(sp.griddata)
def griddata(
    points: Any, values: Any, xi: Any, method: str = "linear", fill_value: Any = np.nan,
    rescale: bool = False,
) -> Any:  # fmt: skip
    """Values at scattered points, interpolated at others.

    Parameters
    ----------
    points : array (n, d), or tuple of d arrays (n,)
    values : array (n, ...)
    xi : array (..., d), or tuple of arrays
        Points, values and places are differentiable.
    method : {"linear", "nearest", "cubic"}, optional
        "cubic" in one dimension only: SciPy searches the slopes of that of two by an iteration.
    fill_value : float, optional
        The value outside, a constant.
    rescale : bool, optional

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.interpolate import griddata
    >>> corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> f = lambda v: griddata(corners, v, np.array([[0.2, 0.3]]))[0]
    >>> fg.grad(f)(np.array([0.0, 2.0, 3.0])).round(12)
    array([0.5, 0.2, 0.3])
    """
    if state(fill_value) == TRACED:
        raise UnsupportedCallError(
            located("scipy.interpolate.griddata: fill_value= is not supported as a traced value")
        )
    at = _coordinates(points)
    d = type_of(operand(at)).shape[-1]
    if d == 1 and method in ("nearest", "linear", "cubic"):
        x = fnp.ravel(at)
        order = fnp.argsort(x)
        values = fnp.asarray(values)
        fill = "extrapolate" if method == "nearest" else fill_value
        line = interp1d(
            x[order], values[order], method, axis=0, bounds_error=False, fill_value=fill
        )
        return line(xi[0] if isinstance(xi, tuple) else xi)
    if method == "linear":
        return LinearNDInterpolator(at, values, fill_value, rescale)(xi)
    if method == "nearest":
        return NearestNDInterpolator(at, values, rescale)(xi)
    if method == "cubic":
        raise UnsupportedCallError(
            located(
                "scipy.interpolate.griddata: method='cubic' of two dimensions is not supported on "
                "traced values; take method='linear', or RBFInterpolator, which is smooth"
            )
        )
    raise ValueError(f"Unknown interpolation method {method!r} for {d} dimensional data")
