"""Differences of images: Sobel, Prewitt, Laplace, and derivatives of Gaussians.

They are sums of the filters of `filters` and `smoothing` along single axes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.ndimage as sp

import funcgrad.numpy as fnp
from funcgrad.core.tracer import type_of
from funcgrad.core.types import Array
from funcgrad.numpy.calls import numpy_function
from funcgrad.scipy.ndimage.filters import correlate1d, image, normal_axis, per_axis, refuse_output
from funcgrad.scipy.ndimage.smoothing import chosen_axes, gaussian_filter

__all__ = ["gaussian_gradient_magnitude", "gaussian_laplace", "laplace", "prewitt", "sobel"]


def _edges(name: str, input: Any, axis: int, output: Any, mode: Any, cval: Any, across: Any) -> Any:
    refuse_output(name, output)
    x = image(input, name)
    rank = type_of(x).ndim
    axis = normal_axis(axis, rank)
    modes = per_axis(mode, rank)
    x = correlate1d(x, np.array([-1.0, 0.0, 1.0]), axis, None, modes[axis], cval)
    for other in range(rank):
        if other != axis:
            x = correlate1d(x, np.array(across), other, None, modes[other], cval)
    return x


@numpy_function(sp.sobel)
def sobel(
    input: Any, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0
) -> Array:
    """Sobel's differences along an axis.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.ndimage import sobel
    >>> fg.grad(lambda x: sobel(x)[1])(np.zeros(3))
    array([-1.,  0.,  1.])
    """
    return _edges("sobel", input, axis, output, mode, cval, [1.0, 2.0, 1.0])


@numpy_function(sp.prewitt)
def prewitt(
    input: Any, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0
) -> Array:
    """Prewitt's differences along an axis.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.ndimage import prewitt
    >>> fg.grad(lambda x: prewitt(x)[1])(np.zeros(3))
    array([-1.,  0.,  1.])
    """
    return _edges("prewitt", input, axis, output, mode, cval, [1.0, 1.0, 1.0])


@numpy_function(sp.laplace)
def laplace(
    input: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, *, axes: Any = None
) -> Array:
    """The sum of second differences along the axes.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.ndimage import laplace
    >>> fg.grad(lambda x: laplace(x)[1])(np.zeros(3))
    array([ 1., -2.,  1.])
    """
    refuse_output("laplace", output)
    x = image(input, "laplace")
    which = chosen_axes(axes, type_of(x).ndim)
    modes = per_axis(mode, len(which))
    weights = np.array([1.0, -2.0, 1.0])
    parts = [correlate1d(x, weights, a, None, m, cval) for a, m in zip(which, modes, strict=True)]
    return sum(parts[1:], parts[0]) if parts else x


def _derivatives(
    x: Array, sigma: Any, order: int, mode: Any, cval: Any, axes: Any, more: Any
) -> list[Array]:
    rank = type_of(x).ndim
    which = chosen_axes(axes, rank)
    widths: list[Any] = [0] * rank
    for axis, s in zip(which, per_axis(sigma, len(which)), strict=True):
        widths[axis] = s
    modes = per_axis(mode, len(which))
    return [
        gaussian_filter(
            x, widths, [order if k == axis else 0 for k in range(rank)], None, m, cval, **more
        )
        for axis, m in zip(which, modes, strict=True)
    ]


@numpy_function(sp.gaussian_laplace)
def gaussian_laplace(
    input: Any,
    sigma: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    *,
    axes: Any = None,
    **kwargs: Any,
) -> Array:
    """The sum of the second derivatives of an image smoothed by a Gaussian.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.ndimage import gaussian_laplace
    >>> float(fg.grad(lambda x: gaussian_laplace(x, 1.0)[4])(np.zeros(9))[4].round(4))
    -0.3989
    """
    refuse_output("gaussian_laplace", output)
    x = image(input, "gaussian_laplace")
    parts = _derivatives(x, sigma, 2, mode, cval, axes, kwargs)
    return sum(parts[1:], parts[0])


@numpy_function(sp.gaussian_gradient_magnitude)
def gaussian_gradient_magnitude(
    input: Any,
    sigma: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    *,
    axes: Any = None,
    **kwargs: Any,
) -> Array:
    """The length of the gradient of an image smoothed by a Gaussian; where it is 0 it has no slope.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.ndimage import gaussian_gradient_magnitude
    >>> x = np.arange(9.0)
    >>> float(fg.grad(lambda s: gaussian_gradient_magnitude(s * x, 1.0)[4])(1.0).round(4))
    0.9999
    """
    refuse_output("gaussian_gradient_magnitude", output)
    x = image(input, "gaussian_gradient_magnitude")
    parts = _derivatives(x, sigma, 1, mode, cval, axes, kwargs)
    squares = [part * part for part in parts]
    return fnp.sqrt(sum(squares[1:], squares[0]))
