"""``funcgrad.scipy.ndimage``: filters and resampling of images for plain and traced arrays.

Every name, signature and value is SciPy's; with nothing traced SciPy's own function is called.
Images, weights, widths of Gaussians, coordinates, shifts and matrices are differentiable.

Examples
--------
>>> import numpy as np
>>> import funcgrad as fg
>>> from funcgrad.scipy.ndimage import shift
>>> x = np.sin(np.arange(9.0))
>>> move = lambda s: np.sum((shift(x, s, mode="mirror") - x) ** 2)
>>> bool(fg.grad(move)(0.5) > 0)
True
"""

from __future__ import annotations

from funcgrad.errors import suggest_names
from funcgrad.scipy.ndimage.edges import (
    gaussian_gradient_magnitude,
    gaussian_laplace,
    laplace,
    prewitt,
    sobel,
)
from funcgrad.scipy.ndimage.filters import convolve, convolve1d, correlate, correlate1d
from funcgrad.scipy.ndimage.resampling import (
    affine_transform,
    map_coordinates,
    shift,
    spline_filter,
    spline_filter1d,
    zoom,
)
from funcgrad.scipy.ndimage.rotation import rotate
from funcgrad.scipy.ndimage.smoothing import (
    gaussian_filter,
    gaussian_filter1d,
    uniform_filter,
    uniform_filter1d,
)
from funcgrad.scipy.reasons import why_not

__all__ = [
    "affine_transform",
    "convolve",
    "convolve1d",
    "correlate",
    "correlate1d",
    "gaussian_filter",
    "gaussian_filter1d",
    "gaussian_gradient_magnitude",
    "gaussian_laplace",
    "laplace",
    "map_coordinates",
    "rotate",
    "prewitt",
    "shift",
    "sobel",
    "spline_filter",
    "spline_filter1d",
    "uniform_filter",
    "uniform_filter1d",
    "zoom",
]

suggest_names(__name__, reason=why_not(__name__))
