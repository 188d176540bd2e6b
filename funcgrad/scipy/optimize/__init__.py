"""``funcgrad.scipy.optimize``: roots, minima and fits, differentiated as what they solve.

SciPy's solvers run, and the values are SciPy's; derivatives are those of implicit functions. Names
and arguments are SciPy's, but for `minimize`, which is in JAX's manner; `scipy.optimize.minimize`
itself takes what is traced, too, with its methods and bounds.

Examples
--------
>>> import numpy as np
>>> import funcgrad as fg
>>> from funcgrad.scipy.optimize import minimize
>>> f = lambda x, a: np.sum((x - a) ** 2) + np.sum(x**4)
>>> best = lambda a: minimize(f, np.zeros(2), (a,), method="BFGS", tol=1e-9).x
>>> fg.jacobian(best)(np.array([0.0, 3.0])).round(6) + 0.0
array([[1.      , 0.      ],
       [0.      , 0.142857]])
"""

from __future__ import annotations

from funcgrad.core.boundary import publish
from funcgrad.scipy.optimize.by_gradients import OptimizeResults, minimize
from funcgrad.scipy.optimize.fits import (
    curve_fit,
    isotonic_regression,
    least_squares,
    leastsq,
    lsq_linear,
    nnls,
)
from funcgrad.scipy.optimize.minima import (
    basinhopping,
    brent,
    brute,
    differential_evolution,
    direct,
    dual_annealing,
    fmin,
    fmin_bfgs,
    fmin_cg,
    fmin_ncg,
    fmin_powell,
    fminbound,
    golden,
    minimize_scalar,
    shgo,
)
from funcgrad.scipy.optimize.programs import approx_fprime, check_grad, linprog
from funcgrad.scipy.optimize.roots import (
    anderson,
    bisect,
    brenth,
    brentq,
    broyden1,
    broyden2,
    diagbroyden,
    excitingmixing,
    fixed_point,
    fsolve,
    linearmixing,
    newton,
    newton_krylov,
    ridder,
    root,
    root_scalar,
    toms748,
)
from funcgrad.scipy.reasons import why_not

__all__ = [
    "OptimizeResults",
    "anderson",
    "approx_fprime",
    "basinhopping",
    "bisect",
    "brent",
    "brenth",
    "brentq",
    "broyden1",
    "broyden2",
    "brute",
    "check_grad",
    "curve_fit",
    "diagbroyden",
    "differential_evolution",
    "direct",
    "dual_annealing",
    "excitingmixing",
    "fixed_point",
    "fmin",
    "fmin_bfgs",
    "fmin_cg",
    "fmin_ncg",
    "fmin_powell",
    "fminbound",
    "fsolve",
    "golden",
    "isotonic_regression",
    "least_squares",
    "leastsq",
    "linearmixing",
    "linprog",
    "lsq_linear",
    "minimize",
    "minimize_scalar",
    "newton",
    "newton_krylov",
    "nnls",
    "ridder",
    "root",
    "root_scalar",
    "shgo",
    "toms748",
]

publish(__name__, reason=why_not(__name__))
