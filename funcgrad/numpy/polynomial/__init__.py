"""``funcgrad.numpy.polynomial``: NumPy's power, Chebyshev, Legendre, Hermite and Laguerre series.

The classes, and the functions in the modules of the families, are NumPy's own programs over
functions with derivatives: in the coefficients, the points, the data and weights of a fit, and the
bounds of an integral. Where the values are not known, under `jit` and `vmap`, zeros at the end of a
series stay.

Examples
--------
>>> import numpy as np
>>> import funcgrad as fg
>>> from funcgrad.numpy.polynomial import Chebyshev, chebyshev
>>> fg.grad(lambda c: Chebyshev(c)(0.5))(np.ones(3))
array([ 1. ,  0.5, -0.5])
>>> fg.grad(lambda x: chebyshev.chebval(x, [0.0, 0.0, 1.0]))(0.5)
np.float64(2.0)
"""

import numpy.polynomial
from numpy.polynomial import set_default_printstyle

from funcgrad.numpy.names import complete
from funcgrad.numpy.polynomial import (
    chebyshev,
    hermite,
    hermite_e,
    laguerre,
    legendre,
    polynomial,
    polyutils,
)

Chebyshev = vars(chebyshev)["Chebyshev"]
Hermite = vars(hermite)["Hermite"]
HermiteE = vars(hermite_e)["HermiteE"]
Laguerre = vars(laguerre)["Laguerre"]
Legendre = vars(legendre)["Legendre"]
Polynomial = vars(polynomial)["Polynomial"]

__all__ = [
    "Chebyshev",
    "Hermite",
    "HermiteE",
    "Laguerre",
    "Legendre",
    "Polynomial",
    "chebyshev",
    "hermite",
    "hermite_e",
    "laguerre",
    "legendre",
    "polynomial",
    "polyutils",
    "set_default_printstyle",
]

complete(__name__, numpy.polynomial)
