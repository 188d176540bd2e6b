"""What is fitted to points: least-squares splines, and sums of radial functions.

Values are SciPy's; derivatives, in points, values, weights and knots, those of the linear systems.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import scipy.interpolate as sp

import funcgrad.numpy as fnp
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import operand, type_of
from funcgrad.core.types import Array
from funcgrad.numpy.function_calls import as_array, numpy_function
from funcgrad.ops.samples import draw
from funcgrad.scipy.dispatch import scipy_method
from funcgrad.scipy.interpolate.pieces import floating, real_numbers
from funcgrad.scipy.interpolate.splines import BSpline, design_rows
from funcgrad.scipy.special.elementary import xlogy
from funcgrad.scipy.valued import valued
from funcgrad.transforms.vmap import vmap

__all__ = ["make_lsq_spline"]

# ------------------------------------------------------------------------ least-squares splines


def _fitted(x: Array, y: Array, t: Array, w: Array, k: int) -> Array:
    rows = design_rows(t, x, k, 0) * fnp.expand_dims(w, 1)
    kind = type_of(y)
    flat = fnp.reshape(y, (kind.shape[0], -1)) * fnp.expand_dims(w, 1)
    found = fnp.linalg.lstsq(rows, flat, rcond=None)[0]
    return operand(fnp.reshape(found, (-1, *kind.shape[1:])))


FITTED = valued(
    "interpolate_make_lsq_spline",
    lambda x, y, t, w, k: sp.make_lsq_spline(x, y, t, k, w).c,
    _fitted,
    lambda: [
        Sample(
            (
                np.arange(8.0) + draw((8,), 0.0, 0.4),
                draw((8,), seed=1),
                np.array([-2.5, -1.5, -0.5, 2.6, 4.5, 8.0, 9.0, 10.0]),
                np.linspace(1.0, 2.0, 8),
            ),
            {"k": 2},
        )
    ],
    linear_in=(1,),
)


@numpy_function(sp.make_lsq_spline)
def make_lsq_spline(
    x: Any, y: Any, t: Any, k: int = 3, w: Any = None, axis: int = 0, check_finite: bool = True,
    **options: Any,
) -> BSpline:  # fmt: skip
    """The spline with given knots that is nearest to points, by least squares.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.interpolate import make_lsq_spline
    >>> x, t = np.arange(4.0), [0.0, 0.0, 3.0, 3.0]
    >>> fg.grad(lambda y: make_lsq_spline(x, y, t, 1)(0.0))(x).round(12)
    array([ 0.7,  0.4,  0.1, -0.2])
    """
    points, values, knots = real_numbers(x), floating(y), real_numbers(t)
    axis = axis % type_of(values).ndim
    values = operand(fnp.moveaxis(values, axis, 0))
    weights = np.ones(type_of(points).shape) if w is None else real_numbers(w)
    if type_of(points).shape != type_of(values).shape[:1]:
        raise ValueError(
            f"Shapes of x {type_of(points).shape} and y {type_of(values).shape} are incompatible"
        )
    found = FITTED(points, values, knots, weights, k=int(k))
    return BSpline.construct_fast(knots, found, int(k), axis=axis)


# ---------------------------------------------------------------------------- radial functions


def _distance(s: Any) -> Any:
    """√s, whose derivative at 0 is 0."""
    none = s == 0
    return fnp.where(none, 0.0, fnp.sqrt(fnp.where(none, 1.0, s)))


KERNELS: dict[str, Callable[[Any], Any]] = {
    "linear": lambda s: -_distance(s),
    "thin_plate_spline": lambda s: 0.5 * xlogy(s, fnp.where(s == 0, 1.0, s)),
    "cubic": lambda s: s * _distance(s),
    "quintic": lambda s: -s * s * _distance(s),
    "multiquadric": lambda s: -fnp.sqrt(s + 1),
    "inverse_multiquadric": lambda s: 1 / fnp.sqrt(s + 1),
    "inverse_quadratic": lambda s: 1 / (s + 1),
    "gaussian": lambda s: fnp.exp(-s),
}
"""Each as a function of the squared distance."""


def _kernel(a: Any, b: Any, epsilon: Any, kernel: str) -> Any:
    apart = (fnp.expand_dims(a, 1) - fnp.expand_dims(b, 0)) * epsilon
    return KERNELS[kernel](fnp.sum(apart * apart, -1))


def _monomials(x: Any, degree: int) -> Any:
    """All products of at most `degree` coordinates, as columns."""
    n, d = type_of(operand(x)).shape
    chosen = (c for k in range(degree + 1) for c in combinations_with_replacement(range(d), k))
    columns = [fnp.prod(x[:, list(c)], -1) if c else np.ones(n) for c in chosen]
    return fnp.stack(columns, 1) if columns else np.zeros((n, 0))


def _radial(
    y: Array, d: Array, smoothing: Array, epsilon: Array, x: Array, kernel: str, degree: int,
    neighbors: int | None = None,
) -> Array:  # fmt: skip
    if neighbors is not None:
        return _of_neighbours(y, d, smoothing, epsilon, x, kernel, degree, neighbors)
    high, low = fnp.max(y, 0), fnp.min(y, 0)
    middle, half = (high + low) / 2, (high - low) / 2
    half = fnp.where(half == 0, 1.0, half)
    inside, outside = (_monomials((p - middle) / half, degree) for p in (y, x))
    _, count = type_of(operand(inside)).shape
    upper = [_kernel(y, y, epsilon, kernel) + fnp.diag(smoothing), inside]
    system = fnp.block([upper, [fnp.transpose(inside), np.zeros((count, count))]])
    right = fnp.concatenate([d, np.zeros((count, type_of(d).shape[1]))])
    weights = fnp.linalg.solve(system, right)
    basis = fnp.concatenate([_kernel(x, y, epsilon, kernel), outside], 1)
    return operand(fnp.matmul(basis, weights))


def _of_neighbours(
    y: Array, d: Array, smoothing: Array, epsilon: Array, x: Array, kernel: str, degree: int,
    neighbors: int,
) -> Array:  # fmt: skip
    """At each point the sum that the nearest places alone determine."""
    apart = fnp.expand_dims(x, 1) - fnp.expand_dims(y, 0)
    near = fnp.argsort(fnp.sum(apart * apart, -1), -1, kind="stable")[:, :neighbors]
    near = fnp.sort(near, -1)

    def at_one(y: Array, d: Array, smoothing: Array, x: Array) -> Array:
        found = _radial(y, d, smoothing, epsilon, x[None], kernel, degree)
        return operand(found[0])

    of_places, of_values, of_smoothing = (fnp.take(z, near, 0) for z in (y, d, smoothing))
    return operand(vmap(at_one)(of_places, of_values, of_smoothing, x))


def _radial_value(y: Any, d: Any, smoothing: Any, epsilon: Any, x: Any, **params: Any) -> Any:
    made = sp.RBFInterpolator(y, d, smoothing=smoothing, epsilon=float(epsilon), **params)
    return made(x)


RADIAL = valued(
    "interpolate_radial",
    _radial_value,
    _radial,
    lambda: [
        Sample(
            (draw((6, 2)), draw((6, 2), seed=1), np.full(6, 0.1), np.float64(0.8),
             draw((3, 2), seed=2)),
            {"kernel": kernel, "degree": degree, "neighbors": neighbors},
        )
        for kernel, degree, neighbors in (("thin_plate_spline", 1, None), ("gaussian", -1, 4))
    ],
    linear_in=(1,),
)  # fmt: skip

_LEAST = {"multiquadric": 0, "linear": 0, "thin_plate_spline": 1, "cubic": 1, "quintic": 2}
_SCALE_FREE = {"linear", "thin_plate_spline", "cubic", "quintic"}


@scipy_method(sp.RBFInterpolator, "__init__")
def _init(
    owner: Any, y: Any, d: Any, neighbors: Any = None, smoothing: Any = 0.0,
    kernel: str = "thin_plate_spline", epsilon: Any = None, degree: Any = None,
) -> None:  # fmt: skip
    y, d = real_numbers(y), real_numbers(d)
    kernel = kernel.lower()
    shape = type_of(y).shape
    if len(shape) != 2:
        raise ValueError("`y` must be a 2-dimensional array.")
    if type_of(d).shape[:1] != shape[:1]:
        raise ValueError(f"Expected the first axis of `d` to have length {shape[0]}.")
    if kernel not in KERNELS:
        raise ValueError(f"`kernel` must be one of {set(KERNELS)}.")
    if epsilon is None:
        if kernel not in _SCALE_FREE:
            raise ValueError(
                f"`epsilon` must be specified if `kernel` is not one of {_SCALE_FREE}."
            )
        epsilon = 1.0
    least = _LEAST.get(kernel, -1)
    owner._d_shape = type_of(d).shape[1:]
    owner._held = (
        y,
        operand(fnp.reshape(d, (shape[0], -1))),
        operand(fnp.broadcast_to(real_numbers(smoothing), shape[:1])),
        as_array(epsilon),
    )
    owner.kernel, owner.degree = kernel, max(least, 0) if degree is None else int(degree)
    owner.neighbors = None if neighbors is None else min(int(neighbors), shape[0])


@scipy_method(sp.RBFInterpolator, "__call__")
def _call(owner: Any, x: Any) -> Any:
    held = owner.__dict__.get("_held")
    if held is None:  # made of known values
        owner_d = owner.d if owner.d_dtype is float else owner.d.view(owner.d_dtype)
        powers = getattr(owner, "powers", np.zeros((0, 1)))
        degree = int(powers.sum(1).max(initial=-1))
        held = (owner.y, owner_d, owner.smoothing, np.float64(owner.epsilon))
        kernel, shape = owner.kernel, owner.d_shape
    else:
        kernel, degree, shape = owner.kernel, owner.degree, owner._d_shape
    x = real_numbers(x)
    if type_of(x).ndim != 2:
        raise ValueError("`x` must be a 2-dimensional array.")
    found = RADIAL(*held, x, kernel=kernel, degree=degree, neighbors=owner.neighbors)
    return fnp.reshape(found, (type_of(x).shape[0], *shape))
