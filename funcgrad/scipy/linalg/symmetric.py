"""LAPACK's factors of symmetric and Hermitian matrices that need not be definite, for arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import get_lapack_funcs

__all__ = ["factors", "solution"]

Array = np.ndarray[Any, Any]


def _routine(name: str, hermitian: bool, kind: np.dtype[Any]) -> Any:
    form = "he" if hermitian and kind.kind == "c" else "sy"
    return get_lapack_funcs(f"{form}{name}", dtype=kind)


def factors(x: Array, hermitian: bool) -> tuple[Array, Array, Array]:
    """The packed factors of each matrix of a batch, the pivots, and which block of D is zero."""
    lead, n = x.shape[:-2], x.shape[-1]
    packed, pivots = np.empty_like(x, order="C"), np.empty((*lead, n), np.int32)
    info = np.zeros(lead, np.int32)
    factor = _routine("trf", hermitian, x.dtype)
    for at in np.ndindex(*lead):
        if n:
            packed[at], pivots[at], info[at] = factor(x[at], lower=1)
    return np.tril(packed), pivots, info


def solution(packed: Array, pivots: Array, b: Array, hermitian: bool) -> Array:
    """The solutions for each matrix, of `b`, whose leading dimensions are broadcast."""
    lead = np.broadcast_shapes(packed.shape[:-2], b.shape[:-2])
    packed = np.broadcast_to(packed, (*lead, *packed.shape[-2:]))
    pivots = np.broadcast_to(pivots, (*lead, pivots.shape[-1]))
    out = np.array(np.broadcast_to(b, (*lead, *b.shape[-2:])))
    solve = _routine("trs", hermitian, packed.dtype)
    for at in np.ndindex(*lead):
        if out[at].size:
            out[at] = solve(packed[at], pivots[at], out[at], lower=1)[0]
    return out
