"""``funcgrad.scipy.special``: SciPy's special functions for plain and traced arrays.

Every name, signature and value is SciPy's; with nothing traced SciPy's own function is called.
SciPy's ufuncs called on traced values (``scipy.special.erf(x)``) come here too. Derivatives exist
in the arguments, in the parameters of the gamma, beta, t, F and chi-square families to second
order, and not in orders and degrees: those are named errors, never zero.

Examples
--------
>>> import numpy as np
>>> import scipy.special
>>> import funcgrad as fg
>>> def call(spot, strike, rate, volatility, years):  # Black and Scholes
...     spread = volatility * np.sqrt(years)
...     d = (np.log(spot / strike) + (rate + volatility**2 / 2) * years) / spread
...     discounted = strike * np.exp(-rate * years)
...     return spot * scipy.special.ndtr(d) - discounted * scipy.special.ndtr(d - spread)
>>> fg.grad(call)(100.0, 105.0, 0.02, 0.2, 1.0)  # delta
np.float64(0.48247180...)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from funcgrad.errors import suggest_names
from funcgrad.numpy.ufuncs import Ufunc
from funcgrad.scipy.reasons import why_not
from funcgrad.scipy.special import (  # noqa: F401 (they fill NAMES)
    bessel,
    elementary,
    elliptic,
    error,
    functions,
    gamma_functions,
    incomplete,
    integrals,
    native,
    noncentral,
    polynomials,
)
from funcgrad.scipy.special.define import NAMES
from funcgrad.scipy.special.functions import (
    PROGRAMS,
    comb,
    diric,
    factorial,
    lambertw,
    log_softmax,
    logsumexp,
    multigammaln,
    perm,
    polygamma,
    sinc,
    softmax,
    softplus,
    zeta,
)
from funcgrad.scipy.special.harmonics import (
    assoc_legendre_p,
    legendre_p,
    sph_harm_y,
    sph_legendre_p,
)
from funcgrad.scipy.special.spherical import (
    spherical_in,
    spherical_jn,
    spherical_kn,
    spherical_yn,
)

native.install()

_UFUNCS = {name: Ufunc(ufunc, note, "scipy.special") for name, (ufunc, note) in NAMES.items()}
_UFUNCS["digamma"] = _UFUNCS["psi"]
_UFUNCS |= {name: getattr(functions, name) for name in PROGRAMS}
globals().update(_UFUNCS)  # what the tables define; type checkers ask `__getattr__`

__all__ = [
    "assoc_legendre_p",
    "comb",
    "diric",
    "factorial",
    "lambertw",
    "legendre_p",
    "log_softmax",
    "logsumexp",
    "multigammaln",
    "perm",
    "polygamma",
    "sinc",
    "softmax",
    "softplus",
    "sph_harm_y",
    "sph_legendre_p",
    "spherical_in",
    "spherical_jn",
    "spherical_kn",
    "spherical_yn",
    "zeta",
    *_UFUNCS,
]

if TYPE_CHECKING:  # the tables define names that a checker does not see

    def __getattr__(name: str) -> Any: ...

else:
    suggest_names(__name__, reason=why_not(__name__))
