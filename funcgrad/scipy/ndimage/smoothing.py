"""Gaussians and means of images, one axis after the other.

The width of a Gaussian is differentiable; where it is cut off is not.
"""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
import scipy.ndimage as sp

import funcgrad.numpy as fnp
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import operand, type_of
from funcgrad.core.types import Array
from funcgrad.numpy.function_calls import known, numpy_function
from funcgrad.ops.samples import draw
from funcgrad.scipy.ndimage.filters import (
    along_axis,
    checked_mode,
    chosen_axes,
    dtype_of,
    filtered_line,
    image,
    normal_axis,
    per_axis,
    written,
)
from funcgrad.scipy.valued import valued

__all__ = ["gaussian_filter", "gaussian_filter1d", "uniform_filter1d"]


def _gaussian(sigma: Any, order: int, radius: int) -> Array:
    """The weights of a Gaussian, or of a derivative of it (a polynomial times it)."""
    if order < 0:
        raise ValueError("order must be non-negative")
    variance = sigma * sigma
    x = np.arange(-radius, radius + 1)
    phi = fnp.exp(-0.5 / variance * x**2)
    phi = phi / fnp.sum(phi)
    if not order:
        return phi
    powers = np.arange(order + 1)
    step = np.diag(powers[1:], 1) + np.diag(np.ones(order), -1) / -variance
    q: Any = np.eye(order + 1)[0]
    for _ in range(order):
        q = fnp.dot(step, q)
    return fnp.dot(x[:, None] ** powers, q) * phi


@numpy_function(sp.gaussian_filter1d)
def gaussian_filter1d(
    input: Any,
    sigma: Any,
    axis: int = -1,
    order: int = 0,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    truncate: float = 4.0,
    *,
    radius: Any = None,
) -> Any:
    """An image smoothed along an axis by a Gaussian, or a derivative of it.

    Differentiable in the width `sigma`, too; the number of weights is a constant, so under `jit`
    a traced `sigma` needs `radius`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.ndimage import gaussian_filter1d
    >>> peak = np.array([0.0, 0.0, 1.0, 0.0, 0.0])
    >>> fg.grad(lambda s: gaussian_filter1d(peak, s)[2])(1.0).round(4)
    np.float64(-0.3989)
    """
    sigma = operand(sigma)
    if radius is None:
        radius = int(truncate * float(known(sigma, "the radius of a Gaussian filter")) + 0.5)
    if not isinstance(radius, numbers.Integral) or radius < 0:
        raise ValueError("Radius must be a nonnegative integer.")
    weights = _gaussian(sigma, order, int(radius))[::-1]
    return along_axis("correlate1d", input, weights, axis, output, mode, cval, 0)


@numpy_function(sp.gaussian_filter)
def gaussian_filter(
    input: Any,
    sigma: Any,
    order: Any = 0,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    truncate: float = 4.0,
    *,
    radius: Any = None,
    axes: Any = None,
) -> Any:
    """An image smoothed by a Gaussian along all of its axes, or some.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.ndimage import gaussian_filter
    >>> peak = np.pad(np.ones((1, 1)), 2)
    >>> fg.grad(lambda s: gaussian_filter(peak, s)[2, 2])(1.0).round(4)
    np.float64(-0.3183)
    """
    x = image(input, "gaussian_filter", output)
    made = dtype_of(output, type_of(x).dtype)  # that of each step, as SciPy has it
    which = chosen_axes(axes, type_of(x).ndim)
    count = len(which)
    widths = per_axis(sigma, count)
    for axis, s, o, m, r in zip(
        which,
        widths,
        per_axis(order, count),
        per_axis(mode, count),
        per_axis(radius, count),
        strict=True,
    ):
        if r is not None or float(known(operand(s), "the radius of a Gaussian filter")) > 1e-15:
            x = gaussian_filter1d(x, s, axis, o, made, m, cval, truncate, radius=r)
    return written(output, x, "gaussian_filter")


def _mean(x: Array, size: int, axis: int, mode: str, cval: float, origin: int) -> Array:
    return filtered_line(x, np.full(size, 1.0 / size), axis, mode, cval, origin, False)


MEAN = valued(
    "ndimage_uniform_filter1d",
    lambda x, size, axis, mode, cval, origin: sp.uniform_filter1d(
        x, size, axis, mode=mode, cval=cval, origin=origin
    ),
    _mean,
    lambda: [
        Sample(
            (draw((4, 5)),),
            {"size": size, "axis": axis, "mode": "mirror", "cval": 0.0, "origin": 0},
        )
        for size, axis in ((3, 0), (4, 1))
    ],
)


@numpy_function(sp.uniform_filter1d)
def uniform_filter1d(
    input: Any,
    size: int,
    axis: int = -1,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> Any:
    """The mean of `size` elements around each element, along an axis.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.ndimage import uniform_filter1d
    >>> fg.grad(lambda x: uniform_filter1d(x, 2)[1])(np.zeros(3))
    array([0.5, 0.5, 0. ])
    """
    x = image(input, "uniform_filter1d", output)
    axis = normal_axis(axis, type_of(x).ndim)
    if size < 1:
        raise RuntimeError("incorrect filter size")
    if not 0 <= size // 2 + origin < size:
        raise ValueError("invalid origin")
    more = {"mode": checked_mode(mode), "cval": float(cval), "origin": int(origin)}
    return written(output, MEAN(x, size=int(size), axis=axis, **more), "uniform_filter1d")
