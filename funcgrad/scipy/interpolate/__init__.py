"""``funcgrad.scipy.interpolate``: interpolation that is differentiable in all of its arguments.

Names, arguments and values are SciPy's. Values, points of evaluation, breakpoints and knots may be
traced.

Examples
--------
>>> import numpy as np
>>> import funcgrad as fg
>>> from funcgrad.scipy.interpolate import CubicSpline
>>> x = np.linspace(0.0, 3.0, 4)
>>> fg.grad(CubicSpline(x, x**3))(1.5).round(12)
np.float64(6.75)
"""

from __future__ import annotations

from funcgrad.core.boundary import publish
from funcgrad.scipy.interpolate import (  # SciPy's own classes come to ours
    barycentric,  # noqa: F401
    scipy_classes,  # noqa: F401
)
from funcgrad.scipy.interpolate.cubics import (
    Akima1DInterpolator,
    CubicHermiteSpline,
    CubicSpline,
    PchipInterpolator,
    pchip_interpolate,
)
from funcgrad.scipy.interpolate.fitpack import splev, splint, splrep
from funcgrad.scipy.interpolate.fits import make_lsq_spline
from funcgrad.scipy.interpolate.grids import RegularGridInterpolator, interp1d, interpn
from funcgrad.scipy.interpolate.pieces import PPoly
from funcgrad.scipy.interpolate.scattered import (
    LinearNDInterpolator,
    NearestNDInterpolator,
    griddata,
)
from funcgrad.scipy.interpolate.splines import BSpline, make_interp_spline
from funcgrad.scipy.reasons import why_not

__all__ = [
    "Akima1DInterpolator",
    "BSpline",
    "CubicHermiteSpline",
    "CubicSpline",
    "LinearNDInterpolator",
    "NearestNDInterpolator",
    "PPoly",
    "PchipInterpolator",
    "RegularGridInterpolator",
    "griddata",
    "interp1d",
    "interpn",
    "make_interp_spline",
    "make_lsq_spline",
    "pchip_interpolate",
    "splev",
    "splint",
    "splrep",
]

publish(__name__, reason=why_not(__name__))
