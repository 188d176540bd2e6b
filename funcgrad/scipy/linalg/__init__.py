"""``funcgrad.scipy.linalg``: SciPy's linear algebra for plain and traced arrays.

Every name, signature and value is SciPy's, and matrices stand in the last two axes. SciPy's own
functions, called on traced values (``scipy.linalg.expm(a)``), come here; what has no derivative
stands here as it is, and is a named error on traced values.

Examples
--------
>>> import numpy as np
>>> import scipy.linalg
>>> import funcgrad as fg
>>> turn = np.array([[0.0, -1.0], [1.0, 0.0]])
>>> fg.grad(lambda t: scipy.linalg.expm(t * turn)[0, 0])(np.pi / 2)  # minus the sine
np.float64(-1.0)
"""

import scipy.linalg

from funcgrad.numpy.names import complete
from funcgrad.scipy.linalg.equations import (
    solve_continuous_are,
    solve_continuous_lyapunov,
    solve_discrete_are,
    solve_discrete_lyapunov,
    solve_sylvester,
)
from funcgrad.scipy.linalg.factorizations import (
    cho_factor,
    cholesky,
    det,
    eigh,
    eigvalsh,
    inv,
    lstsq,
    lu,
    lu_factor,
    pinv,
    polar,
    qr,
    svd,
    svdvals,
)
from funcgrad.scipy.linalg.matrix_functions import (
    coshm,
    cosm,
    expm,
    logm,
    sinhm,
    sinm,
    sqrtm,
    tanhm,
    tanm,
)
from funcgrad.scipy.linalg.solvers import (
    cho_solve,
    lu_solve,
    solve,
    solve_banded,
    solve_triangular,
    solveh_banded,
)
from funcgrad.scipy.linalg.structured import (
    block_diag,
    circulant,
    hankel,
    khatri_rao,
    norm,
    toeplitz,
)

__all__ = [
    "block_diag",
    "cho_factor",
    "cho_solve",
    "cholesky",
    "circulant",
    "coshm",
    "cosm",
    "det",
    "eigh",
    "eigvalsh",
    "expm",
    "hankel",
    "inv",
    "khatri_rao",
    "logm",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_solve",
    "norm",
    "pinv",
    "polar",
    "qr",
    "sinhm",
    "sinm",
    "solve",
    "solve_banded",
    "solve_continuous_are",
    "solve_continuous_lyapunov",
    "solve_discrete_are",
    "solve_discrete_lyapunov",
    "solve_sylvester",
    "solve_triangular",
    "solveh_banded",
    "sqrtm",
    "svd",
    "svdvals",
    "tanhm",
    "tanm",
    "toeplitz",
]

__getattr__, __dir__ = complete(__name__, scipy.linalg)
