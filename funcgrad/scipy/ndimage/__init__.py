"""``funcgrad.scipy.ndimage``: filters and resampling of images for plain and traced arrays.

Every name, signature and value is SciPy's; with nothing traced SciPy's own function is called.
Images, weights, widths of Gaussians, heights of structures, coordinates, shifts and matrices are
differentiable.

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

from typing import TYPE_CHECKING

import scipy.ndimage

from funcgrad.core.boundary import publish
from funcgrad.scipy.ndimage.filters import convolve, convolve1d, correlate, correlate1d
from funcgrad.scipy.ndimage.order_statistics import (
    generic_filter,
    grey_dilation,
    grey_erosion,
    maximum_filter,
    maximum_filter1d,
    median_filter,
    minimum_filter,
    minimum_filter1d,
    percentile_filter,
    rank_filter,
)
from funcgrad.scipy.ndimage.resampling import (
    affine_transform,
    geometric_transform,
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
    uniform_filter1d,
)
from funcgrad.scipy.programs import KNOWN
from funcgrad.scipy.reasons import why_not

_PROGRAMS = sorted(n.rpartition(".")[2] for n in KNOWN if n.startswith("scipy.ndimage."))
globals().update({n: getattr(scipy.ndimage, n) for n in _PROGRAMS})

__all__ = [
    "affine_transform",
    "convolve",
    "convolve1d",
    "correlate",
    "correlate1d",
    "gaussian_filter",
    "gaussian_filter1d",
    "generic_filter",
    "geometric_transform",
    "grey_dilation",
    "grey_erosion",
    "map_coordinates",
    "maximum_filter",
    "maximum_filter1d",
    "median_filter",
    "minimum_filter",
    "minimum_filter1d",
    "percentile_filter",
    "rank_filter",
    "rotate",
    "shift",
    "spline_filter",
    "spline_filter1d",
    "uniform_filter1d",
    "zoom",
    *_PROGRAMS,
]

# fmt: off
# isort: off
if TYPE_CHECKING:  # the names of the tables, and SciPy's own, which a checker does not see
    from scipy.ndimage import (
        black_tophat as black_tophat, center_of_mass as center_of_mass, extrema as extrema,
        gaussian_gradient_magnitude as gaussian_gradient_magnitude,
        gaussian_laplace as gaussian_laplace,
        generic_gradient_magnitude as generic_gradient_magnitude,
        generic_laplace as generic_laplace, grey_closing as grey_closing,
        grey_opening as grey_opening, labeled_comprehension as labeled_comprehension,
        laplace as laplace, maximum as maximum, mean as mean, median as median,
        minimum as minimum, morphological_gradient as morphological_gradient,
        morphological_laplace as morphological_laplace, prewitt as prewitt, sobel as sobel,
        standard_deviation as standard_deviation, sum as sum, sum_labels as sum_labels,
        uniform_filter as uniform_filter, variance as variance, white_tophat as white_tophat,
    )
# isort: on
# fmt: on

publish(__name__, reason=why_not(__name__))
