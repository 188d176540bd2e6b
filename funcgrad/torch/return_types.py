"""``torch.return_types``: the named tuples that functions of several results return."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

__all__ = [
    "aminmax", "cummax", "cummin", "frexp", "geqrf", "histogram", "histogramdd", "kthvalue",
    "linalg_cholesky_ex", "linalg_eig", "linalg_eigh", "linalg_inv_ex", "linalg_ldl_factor",
    "linalg_ldl_factor_ex", "linalg_lstsq", "linalg_lu", "linalg_lu_factor",
    "linalg_lu_factor_ex", "linalg_qr", "linalg_slogdet", "linalg_solve_ex", "linalg_svd",
    "lu_unpack", "max", "median", "min", "mode", "nanmedian", "qr", "slogdet", "sort", "svd",
    "topk", "triangular_solve",
]  # fmt: skip


def _shown(self: Any) -> str:
    lines = ",\n".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
    return f"torch.return_types.{type(self).__name__}(\n{lines})"


def _made(name: str, *fields: str) -> Any:
    base = namedtuple(name, fields)  # type: ignore[misc]
    members = {"__slots__": (), "__repr__": _shown, "__module__": "torch.return_types"}
    return type(name, (base,), members)


max = _made("max", "values", "indices")
min = _made("min", "values", "indices")
sort = _made("sort", "values", "indices")
topk = _made("topk", "values", "indices")
kthvalue = _made("kthvalue", "values", "indices")
median = _made("median", "values", "indices")
nanmedian = _made("nanmedian", "values", "indices")
mode = _made("mode", "values", "indices")
cummax = _made("cummax", "values", "indices")
cummin = _made("cummin", "values", "indices")
aminmax = _made("aminmax", "min", "max")
frexp = _made("frexp", "mantissa", "exponent")
histogramdd = _made("histogramdd", "hist", "bin_edges")
histogram = _made("histogram", "hist", "bin_edges")
slogdet = _made("slogdet", "sign", "logabsdet")
linalg_slogdet = _made("linalg_slogdet", "sign", "logabsdet")
linalg_eigh = _made("linalg_eigh", "eigenvalues", "eigenvectors")
linalg_eig = _made("linalg_eig", "eigenvalues", "eigenvectors")
linalg_qr = _made("linalg_qr", "Q", "R")
linalg_inv_ex = _made("linalg_inv_ex", "inverse", "info")
linalg_solve_ex = _made("linalg_solve_ex", "result", "info")
linalg_cholesky_ex = _made("linalg_cholesky_ex", "L", "info")
linalg_svd = _made("linalg_svd", "U", "S", "Vh")
svd = _made("svd", "U", "S", "V")
linalg_lu_factor = _made("linalg_lu_factor", "LU", "pivots")
linalg_lu_factor_ex = _made("linalg_lu_factor_ex", "LU", "pivots", "info")
linalg_ldl_factor = _made("linalg_ldl_factor", "LD", "pivots")
linalg_ldl_factor_ex = _made("linalg_ldl_factor_ex", "LD", "pivots", "info")
linalg_lu = _made("linalg_lu", "P", "L", "U")
lu_unpack = _made("lu_unpack", "P", "L", "U")
linalg_lstsq = _made("linalg_lstsq", "solution", "residuals", "rank", "singular_values")
geqrf = _made("geqrf", "a", "tau")
qr = _made("qr", "Q", "R")
triangular_solve = _made("triangular_solve", "solution", "cloned_coefficient")
