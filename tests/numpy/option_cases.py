"""Cases of options and keywords: `CASES` with one more line for each option seldom given."""

from __future__ import annotations

import numpy as np
from numpy_cases import CASES, NANS, A, B, F, M, T, V, W, Z, case

__all__ = ["CASES"]

MEANS = A.mean(axis=1, keepdims=True)
GONE = np.where(np.arange(4) == 1, np.nan, A)
FORTRAN = np.asfortranarray(A)

# ------------------------------------------------------------------------ means that are given

for _name in ("std", "var", "nanstd", "nanvar"):
    case(f"{_name} mean", lambda m, x, n=_name: getattr(m, n)(x, mean=m.mean(x)), A)
    case(
        f"{_name} mean axis",
        lambda m, x, c, n=_name: getattr(m, n)(x, axis=1, mean=c, ddof=1, keepdims=True),
        *(A, MEANS + 0.25),
    )
    case(f"{_name} mean f32", lambda m, x, n=_name: getattr(m, n)(x, mean=np.float32(0.5)), F)
    case(
        f"{_name} mean where",
        lambda m, x, n=_name: getattr(m, n)(x, axis=0, mean=x[:1] * 0.0, where=A > -1.5),
        A,
    )
    case(f"{_name} correction", lambda m, x, n=_name: getattr(m, n)(x, axis=0, correction=1), A)
    case(f"{_name} mean a number", lambda m, x, n=_name: getattr(m, n)(x, mean=0.5), F)
case("nanvar mean f64 of f32", lambda m, x, c: m.nanvar(x, axis=0, mean=c), F, np.float64(0.5))
case("var mean complex", lambda m, x: m.var(x, mean=m.mean(x) + 0.5), Z)
case("nanvar mean of what is left", lambda m, x: m.nanvar(x, mean=m.nanmean(x)), NANS)
case("std mean without spread", lambda m, x: m.std(x, mean=2.0), np.full(3, 2.0), flags="flat")

# ---------------------------------------------------------------------- ends of extrema

for _name in ("nanmax", "nanmin"):
    case(f"{_name} initial", lambda m, x, n=_name: getattr(m, n)(x, axis=0, initial=0.5), NANS)
    case(
        f"{_name} where",
        lambda m, x, n=_name: getattr(m, n)(x, axis=0, initial=0.5, where=A > -1),
        NANS,
    )
    case(
        f"{_name} where alone",
        lambda m, x, n=_name: getattr(m, n)(x, where=B > 0.5, initial=0.0),
        A,
    )

    case(f"{_name} of NaN alone", lambda m, x, n=_name: getattr(m, n)(x, 0, initial=0.5), GONE)
    case(
        f"{_name} masked out", lambda m, x, n=_name: getattr(m, n)(x, 1, initial=9, where=A > 5), A
    )

# ---------------------------------------------------------- axes of products, orders, dtypes

case("vecdot axis", lambda m, x, y: m.vecdot(x, y, axis=0), A, B)
case("vecdot keepdims", lambda m, x, y: m.vecdot(x, y, keepdims=True), A, B)
case("vecdot dtype", lambda m, x, y: m.vecdot(x, y, dtype=np.float64), F, F[:, ::-1])
case(
    "vecdot axis keepdims",
    lambda m, x, y: m.vecdot(x, y, axis=0, keepdims=True),
    A,
    B,
)
case("vecdot axes", lambda m, x, y: m.vecdot(x, y, axes=[0, 1, ()]), A, B.T)
case("matmul axes", lambda m, x, y: m.matmul(x, y, axes=[(1, 0), (1, 0), (0, 1)]), M, A.T)
case("matmul axes back", lambda m, x, y: m.matmul(x, y, axes=[(0, 1), (0, 1), (1, 0)]), M, A)
case("matmul axes of a stack", lambda m, x: m.matmul(x, A.T, axes=[(0, 2), (0, 1), (2, 1)]), T)
if hasattr(np, "matvec"):
    case("matvec axes", lambda m, x, v: m.matvec(x, v, axes=[(1, 0), 0, 0]), A, W[:3])
    case("vecmat axes", lambda m, v, x: m.vecmat(v, x, axes=[0, (1, 0), 0]), W[:4], A)
for _order in "CFAK":
    case(f"add order {_order}", lambda m, x, y, o=_order: m.add(x, y, order=o), FORTRAN, B)
    case(f"exp order {_order}", lambda m, x, o=_order: m.exp(x, order=o), FORTRAN)
    case(f"matmul order {_order}", lambda m, x, y, o=_order: m.matmul(x, y, order=o), M, A)
    case(f"einsum order {_order}", lambda m, x, o=_order: m.einsum("ij,kj->ik", x, x, order=o), A)
case("outer order", lambda m, x, y: np.multiply.outer(x, y, order="F"), V, W, flags="np-only")
case("multiply signature", lambda m, x, y: m.multiply(x, y, signature="dd->d"), V, W)
case("multiply signature f32", lambda m, x: m.multiply(x, 2.0, signature="ff->f"), F, flags="flat")
case("add result type", lambda m, x: m.add(x, 1, signature=(None, None, np.float64)), F)
case("add dtype wider", lambda m, x: m.add(x, 1.5, dtype=np.float64), F)
case("add casting", lambda m, x, y: m.add(x, y, casting="unsafe"), V, W)
case("exp subok", lambda m, x: m.exp(x, subok=False, casting="safe"), V)
case("einsum dtype", lambda m, x: m.einsum("ij,kj->ik", x, x, dtype=np.float64), F)
case("einsum view dtype", lambda m, x: m.einsum("ij->ji", x, dtype=np.float64), A)
case("einsum lists dtype", lambda m, x: m.einsum(x, [0, 1], x, [0, 1], [0], dtype="f8"), F)
