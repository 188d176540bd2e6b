"""Factorisations of matrices as Numba functions: of stacks (lanes, …), into arrays of the results.

Elimination and Cholesky's method are loops of our own, which keep NaN and need no library. The
eigenvalues of symmetric matrices and singular values are LAPACK's, through Numba and SciPy. Each
function returns `DONE` or what went wrong.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

__all__ = ["DONE", "INDEFINITE", "SINGULAR", "UNCONVERGED"]

DONE, SINGULAR, INDEFINITE, UNCONVERGED = 0, 3, 4, 5


@njit(nogil=True, error_model="numpy")
def eliminate(a: Any, order: Any) -> Any:
    """Make `a` its factors L and U with rows exchanged in `order`; the sign of the permutation."""
    n = a.shape[0]
    sign = 1
    for i in range(n):
        order[i] = i
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[best, k]):
                best = i
        if best != k:
            sign = -sign
            order[k], order[best] = order[best], order[k]
            for j in range(n):
                a[k, j], a[best, j] = a[best, j], a[k, j]
        if a[k, k] != 0:
            for i in range(k + 1, n):
                factor = a[i, k] / a[k, k]
                a[i, k] = factor
                for j in range(k + 1, n):
                    a[i, j] -= factor * a[k, j]
    return sign


@njit(nogil=True, error_model="numpy")
def substitute(factors: Any, order: Any, b: Any, x: Any) -> Any:
    """Solve for the columns of `b` with what `eliminate` made."""
    n, count = b.shape
    for i in range(n):
        if factors[i, i] == 0:
            return SINGULAR
    for i in range(n):
        for c in range(count):
            x[i, c] = b[order[i], c]
        for j in range(i):
            for c in range(count):
                x[i, c] -= factors[i, j] * x[j, c]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            for c in range(count):
                x[i, c] -= factors[i, j] * x[j, c]
        for c in range(count):
            x[i, c] /= factors[i, i]
    return DONE


@njit(nogil=True, error_model="numpy")
def solve(a: Any, b: Any, x: Any) -> Any:
    order = np.empty(a.shape[1], np.int64)
    for k in range(len(a)):
        factors = a[k].copy()
        eliminate(factors, order)
        status = substitute(factors, order, b[k], x[k])
        if status != DONE:
            return status
    return DONE


@njit(nogil=True, error_model="numpy")
def inv(a: Any, x: Any) -> Any:
    order = np.empty(a.shape[1], np.int64)
    one = np.eye(a.shape[1]).astype(a.dtype)
    for k in range(len(a)):
        factors = a[k].copy()
        eliminate(factors, order)
        status = substitute(factors, order, one, x[k])
        if status != DONE:
            return status
    return DONE


@njit(nogil=True, error_model="numpy")
def det(a: Any, y: Any) -> Any:
    order = np.empty(a.shape[1], np.int64)
    for k in range(len(a)):
        factors = a[k].copy()
        y[k] = eliminate(factors, order)
        for i in range(a.shape[1]):
            y[k] *= factors[i, i]
    return DONE


@njit(nogil=True, error_model="numpy")
def slogdet(a: Any, sign: Any, size: Any) -> Any:
    order = np.empty(a.shape[1], np.int64)
    for k in range(len(a)):
        factors = a[k].copy()
        sign[k] = eliminate(factors, order)
        size[k] = 0
        for i in range(a.shape[1]):
            pivot = factors[i, i]
            sign[k] *= np.sign(pivot)
            size[k] += np.log(abs(pivot))
    return DONE


@njit(nogil=True, error_model="numpy")
def cofactors(a: Any, y: Any) -> Any:
    """det(a) inv(a)ᵀ, also of singular matrices: by elimination with the largest of all elements.

    Where that leaves U with the last pivot p, the adjugate of U = [[u, v], [0, p]] is det(u) times
    [[p u⁻¹, -u⁻¹ v], [0, 1]]. Two pivots that are 0 leave no minor.
    """
    n = a.shape[1]
    rows, columns = np.empty(n, np.int64), np.empty(n, np.int64)
    for k in range(len(a)):
        f = a[k].copy()
        sign = 1
        for i in range(n):
            rows[i] = columns[i] = i
        for p in range(n):
            top, left = p, p
            for i in range(p, n):
                for j in range(p, n):
                    if abs(f[i, j]) > abs(f[top, left]):
                        top, left = i, j
            if top != p:
                sign = -sign
                rows[p], rows[top] = rows[top], rows[p]
                for j in range(n):
                    f[p, j], f[top, j] = f[top, j], f[p, j]
            if left != p:
                sign = -sign
                columns[p], columns[left] = columns[left], columns[p]
                for i in range(n):
                    f[i, p], f[i, left] = f[i, left], f[i, p]
            if f[p, p] != 0:
                for i in range(p + 1, n):
                    f[i, p] /= f[p, p]
                    for j in range(p + 1, n):
                        f[i, j] -= f[i, p] * f[p, j]
        adjugate = np.zeros((n, n), a.dtype)
        whole = a.dtype.type(sign)
        for i in range(n - 1):
            whole *= f[i, i]
        if whole != 0:
            last = f[n - 1, n - 1]
            for j in range(n):  # column j of det(u) [[p u⁻¹, -u⁻¹ v], [0, 1]], then of adj(U) L⁻¹
                adjugate[j, j] = whole * (last if j < n - 1 else a.dtype.type(1))
                if j == n - 1:
                    for i in range(n - 1):
                        adjugate[i, j] = -f[i, j] * whole
                for i in range(min(j, n - 2), -1, -1):
                    for m in range(i + 1, n - 1):
                        adjugate[i, j] -= f[i, m] * adjugate[m, j]
                    adjugate[i, j] /= f[i, i]
            for i in range(n):
                for j in range(n - 2, -1, -1):
                    for m in range(j + 1, n):
                        adjugate[i, j] -= adjugate[i, m] * f[m, j]
        for i in range(n):
            for j in range(n):
                y[k, rows[j], columns[i]] = adjugate[i, j]
    return DONE


@njit(nogil=True, error_model="numpy")
def cholesky(a: Any, y: Any, upper: bool) -> Any:
    n = a.shape[1]
    for k in range(len(a)):
        low = y[k].T if upper else y[k]
        given = a[k].T if upper else a[k]
        y[k] = 0
        for j in range(n):
            rest = given[j, j]
            for m in range(j):
                rest -= low[j, m] * low[j, m]
            if not rest > 0:
                return INDEFINITE
            low[j, j] = np.sqrt(rest)
            for i in range(j + 1, n):
                rest = given[i, j]
                for m in range(j):
                    rest -= low[i, m] * low[j, m]
                low[i, j] = rest / low[j, j]
    return DONE


@njit(nogil=True, error_model="numpy")
def eigh(a: Any, w: Any, v: Any, upper: bool) -> Any:
    for k in range(len(a)):
        w[k], v[k] = np.linalg.eigh(a[k].T.copy() if upper else a[k])
    return DONE


@njit(nogil=True, error_model="numpy")
def eigvalsh(a: Any, w: Any, upper: bool) -> Any:
    for k in range(len(a)):
        w[k] = np.linalg.eigvalsh(a[k].T.copy() if upper else a[k])
    return DONE


@njit(nogil=True, error_model="numpy")
def svd(a: Any, u: Any, s: Any, vh: Any) -> Any:
    for k in range(len(a)):
        u[k], s[k], vh[k] = np.linalg.svd(a[k], False)
    return DONE


@njit(nogil=True, error_model="numpy")
def svdvals(a: Any, s: Any) -> Any:
    for k in range(len(a)):
        s[k] = np.linalg.svd(a[k], False)[1]
    return DONE
