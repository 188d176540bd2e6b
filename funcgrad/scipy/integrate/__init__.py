"""``funcgrad.scipy.integrate``: integrals of samples and of functions, of what is traced too.

Every name, signature and value is SciPy's; with nothing traced SciPy's own function is called. The
samples and the points at which they were taken are differentiable, and so are the limits of
integrals of functions and what these functions close over, and those of differential equations.

Examples
--------
>>> import numpy as np
>>> import funcgrad as fg
>>> from funcgrad.scipy.integrate import simpson
>>> fg.grad(simpson)(np.ones(5)).round(12)
array([0.33333333, 1.33333333, 0.66666667, 1.33333333, 0.33333333])
"""

from __future__ import annotations

from funcgrad.core.boundary import publish
from funcgrad.scipy.integrate.equations import odeint, solve_ivp
from funcgrad.scipy.integrate.quadrature import dblquad, nquad, quad, quad_vec, tplquad
from funcgrad.scipy.integrate.samples import (
    cumulative_simpson,
    cumulative_trapezoid,
    romb,
    simpson,
    trapezoid,
)
from funcgrad.scipy.reasons import why_not

__all__ = [
    "cumulative_simpson",
    "cumulative_trapezoid",
    "dblquad",
    "nquad",
    "odeint",
    "quad",
    "quad_vec",
    "romb",
    "simpson",
    "solve_ivp",
    "tplquad",
    "trapezoid",
]

publish(__name__, reason=why_not(__name__))
