"""``torch.linalg``: linear algebra under PyTorch's newer names."""

from funcgrad.torch.absent import absent
from funcgrad.torch.operations.checked_systems import cholesky_ex, inv_ex, solve_ex
from funcgrad.torch.operations.contraction import linalg_cross as cross
from funcgrad.torch.operations.contraction import vecdot
from funcgrad.torch.operations.factorizations import cond, pinv, tensorinv, tensorsolve, vander
from funcgrad.torch.operations.factorizations import linalg_eig as eig
from funcgrad.torch.operations.factorizations import linalg_eigvals as eigvals
from funcgrad.torch.operations.factorizations import linalg_qr as qr
from funcgrad.torch.operations.linear_algebra import (
    LinAlgError,
    eigh,
    eigvalsh,
    inv,
    matrix_rank,
    solve,
    solve_triangular,
    svdvals,
)
from funcgrad.torch.operations.linear_algebra import linalg_cholesky as cholesky
from funcgrad.torch.operations.linear_algebra import linalg_det as det
from funcgrad.torch.operations.linear_algebra import linalg_slogdet as slogdet
from funcgrad.torch.operations.linear_algebra import linalg_svd as svd
from funcgrad.torch.operations.matrix_chains import linalg_matrix_power as matrix_power
from funcgrad.torch.operations.matrix_chains import multi_dot
from funcgrad.torch.operations.norms import linalg_norm as norm
from funcgrad.torch.operations.norms import matrix_norm, vector_norm
from funcgrad.torch.operations.products import matmul
from funcgrad.torch.operations.reflections import householder_product
from funcgrad.torch.operations.slicing import linalg_diagonal as diagonal
from funcgrad.torch.operations.solutions_and_exponentials import linalg_matrix_exp as matrix_exp
from funcgrad.torch.operations.solutions_and_exponentials import lstsq
from funcgrad.torch.operations.symmetric_factors import ldl_factor, ldl_factor_ex, ldl_solve
from funcgrad.torch.operations.triangular_factors import linalg_lu as lu
from funcgrad.torch.operations.triangular_factors import linalg_lu_factor as lu_factor
from funcgrad.torch.operations.triangular_factors import linalg_lu_factor_ex as lu_factor_ex
from funcgrad.torch.operations.triangular_factors import linalg_lu_solve as lu_solve

__all__ = [
    "LinAlgError", "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eig", "eigh",
    "eigvals", "eigvalsh", "householder_product", "inv", "inv_ex", "ldl_factor",
    "ldl_factor_ex", "ldl_solve", "lstsq", "lu", "lu_factor", "lu_factor_ex", "lu_solve",
    "matmul", "matrix_exp", "matrix_norm", "matrix_power", "matrix_rank", "multi_dot", "norm",
    "pinv", "qr", "slogdet", "solve", "solve_ex", "solve_triangular", "svd", "svdvals",
    "tensorinv", "tensorsolve", "vander", "vecdot", "vector_norm",
]  # fmt: skip

absent(__name__)
