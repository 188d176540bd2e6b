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

from typing import TYPE_CHECKING

import scipy.linalg

from funcgrad.numpy.names import complete
from funcgrad.scipy.linalg.band_eigenvalues import (
    eig_banded,
    eigh_tridiagonal,
    eigvals_banded,
    eigvalsh_tridiagonal,
)
from funcgrad.scipy.linalg.banded import (
    cho_solve_banded,
    cholesky_banded,
    solve_banded,
    solveh_banded,
)
from funcgrad.scipy.linalg.eigen import (
    eig,
    eigh,
    eigvals,
    eigvalsh,
)
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
    inv,
    ldl,
    lu,
    lu_factor,
)
from funcgrad.scipy.linalg.least_squares import lstsq, pinv, pinvh
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
from funcgrad.scipy.linalg.orthogonal import (
    null_space,
    orth,
    orthogonal_procrustes,
    polar,
    qr,
    qr_multiply,
    rq,
    subspace_angles,
    svd,
    svdvals,
)
from funcgrad.scipy.linalg.schur import schur
from funcgrad.scipy.linalg.solvers import (
    cho_solve,
    lu_solve,
    solve,
    solve_triangular,
)
from funcgrad.scipy.linalg.spectral import (
    expm_frechet,
    fractional_matrix_power,
    funm,
    signm,
)
from funcgrad.scipy.linalg.structured import (
    block_diag,
    circulant,
    companion,
    convolution_matrix,
    diagsvd,
    fiedler,
    fiedler_companion,
    hankel,
    khatri_rao,
    leslie,
    norm,
    toeplitz,
)
from funcgrad.scipy.linalg.toeplitz import matmul_toeplitz, solve_circulant, solve_toeplitz

__all__ = [
    "block_diag",
    "cho_factor",
    "cho_solve",
    "cho_solve_banded",
    "cholesky",
    "cholesky_banded",
    "circulant",
    "companion",
    "convolution_matrix",
    "coshm",
    "cosm",
    "det",
    "diagsvd",
    "eig",
    "eig_banded",
    "eigh",
    "eigh_tridiagonal",
    "eigvals",
    "eigvals_banded",
    "eigvalsh",
    "eigvalsh_tridiagonal",
    "expm",
    "expm_frechet",
    "fiedler",
    "fiedler_companion",
    "fractional_matrix_power",
    "funm",
    "hankel",
    "inv",
    "khatri_rao",
    "ldl",
    "leslie",
    "logm",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_solve",
    "matmul_toeplitz",
    "norm",
    "null_space",
    "orth",
    "orthogonal_procrustes",
    "pinv",
    "pinvh",
    "polar",
    "qr",
    "qr_multiply",
    "rq",
    "schur",
    "signm",
    "sinhm",
    "sinm",
    "solve",
    "solve_banded",
    "solve_circulant",
    "solve_continuous_are",
    "solve_continuous_lyapunov",
    "solve_discrete_are",
    "solve_discrete_lyapunov",
    "solve_sylvester",
    "solve_toeplitz",
    "solve_triangular",
    "solveh_banded",
    "sqrtm",
    "subspace_angles",
    "svd",
    "svdvals",
    "tanhm",
    "tanm",
    "toeplitz",
]

complete(__name__, scipy.linalg)

# fmt: off
# isort: off
if TYPE_CHECKING:  # the names of the tables, and SciPy's own, which a checker does not see
    from scipy.linalg import blas as blas, interpolative as interpolative, lapack as lapack
    from scipy.linalg import (
        LinAlgError as LinAlgError, LinAlgWarning as LinAlgWarning, bandwidth as bandwidth,
        cdf2rdf as cdf2rdf, clarkson_woodruff_transform as clarkson_woodruff_transform,
        cossin as cossin, dft as dft, expm_cond as expm_cond,
        find_best_blas_type as find_best_blas_type, get_blas_funcs as get_blas_funcs,
        get_lapack_funcs as get_lapack_funcs, hadamard as hadamard, helmert as helmert,
        hessenberg as hessenberg, hilbert as hilbert, invhilbert as invhilbert,
        invpascal as invpascal, ishermitian as ishermitian, issymmetric as issymmetric,
        matrix_balance as matrix_balance, ordqz as ordqz, pascal as pascal,
        qr_delete as qr_delete, qr_insert as qr_insert, qr_update as qr_update, qz as qz,
        rsf2csf as rsf2csf, solve_lyapunov as solve_lyapunov,
    )
# isort: on
# fmt: on
