"""Calls of `scipy.linalg` with matrices that have derivatives: name, function, arguments."""

import numpy as np
import scipy.linalg as sl

rng = np.random.default_rng(0)
A = rng.normal(size=(3, 3)) + 3 * np.eye(3)
B = rng.normal(size=(3, 2))
V = rng.normal(size=3)
P = A @ A.T
LU, PIV = sl.lu_factor(A)

CASES = {
    "expm": (sl.expm, A),
    "logm": (sl.logm, A),
    "sqrtm": (sl.sqrtm, A),
    "cosm": (sl.cosm, A),
    "sinm": (sl.sinm, A),
    "tanm": (sl.tanm, A),
    "coshm": (sl.coshm, A),
    "sinhm": (sl.sinhm, A),
    "tanhm": (sl.tanhm, A),
    "solve": (sl.solve, A, B),
    "solve vector": (sl.solve, A, V),
    "solve transposed": (lambda a, b: sl.solve(a, b, transposed=True), A, B),
    "solve lower": (lambda a, b: sl.solve(a, b, assume_a="lower triangular"), A, B),
    "solve_triangular": (sl.solve_triangular, A, B),
    "solve_triangular T": (lambda a, b: sl.solve_triangular(a, b, "T", lower=True), A, V),
    "solve_triangular unit": (lambda a, b: sl.solve_triangular(a, b, unit_diagonal=True), A, V),
    "cho_solve": (lambda c, b: sl.cho_solve((c, True), b), sl.cholesky(P, lower=True), B),
    "lu_solve": (lambda c, b: sl.lu_solve((c, PIV), b), LU, B),
    "lu_solve T": (lambda c, b: sl.lu_solve((c, PIV), b, trans=1), LU, V),
    "solve_sylvester": (sl.solve_sylvester, A, A[:2, :2], B),
    "solve_continuous_lyapunov": (sl.solve_continuous_lyapunov, A, P),
    "solve_discrete_lyapunov": (sl.solve_discrete_lyapunov, A * 0.1, P),
    "solve_discrete_lyapunov bilinear": (
        lambda a, q: sl.solve_discrete_lyapunov(a, q, "bilinear"),
        A * 0.1,
        P,
    ),
    "solve_continuous_are": (
        lambda a, b, q: sl.solve_continuous_are(a, b, q @ q.T, np.eye(2)),
        A,
        B,
        A,
    ),
    "solve_discrete_are": (
        lambda a, b, q: sl.solve_discrete_are(a, b, np.eye(3), q @ q.T),
        A,
        B,
        A[:2, :2],
    ),
}

TALL = rng.normal(size=(4, 2))
BAND = rng.normal(size=(3, 4)) + np.array([[0], [5], [0]])
HALF = 0.3 * rng.normal(size=(2, 4)) + np.array([[0], [5]])
C4 = rng.normal(size=4)
CASES |= {
    "inv": (sl.inv, A),
    "det": (sl.det, A),
    "lu": (lambda a: sl.lu(a)[1:], A),
    "lu tall": (lambda a: sl.lu(a)[1:], TALL),
    "lu wide": (lambda a: sl.lu(a)[1:], TALL.T),
    "lu permuted": (lambda a: sl.lu(a, permute_l=True), A),
    "lu_factor": (lambda a: sl.lu_factor(a)[0], A),
    "qr": (sl.qr, A),
    "qr economic": (lambda a: sl.qr(a, mode="economic"), TALL),
    "qr r": (lambda a: sl.qr(a, mode="r"), TALL),
    "qr pivoted": (lambda a: sl.qr(a, pivoting=True)[:2], A),
    "svd": (sl.svd, A),
    "svd thin": (lambda a: sl.svd(a, full_matrices=False)[1], TALL),
    "svdvals": (sl.svdvals, TALL),
    "polar": (sl.polar, A),
    "polar tall": (sl.polar, TALL),
    "polar left": (lambda a: sl.polar(a, "left"), TALL.T),
    "pinv": (sl.pinv, TALL),
    "toeplitz": (sl.toeplitz, V),
    "toeplitz row": (sl.toeplitz, V, C4),
    "hankel": (sl.hankel, V),
    "hankel row": (sl.hankel, V, C4),
    "circulant": (sl.circulant, V),
    "block_diag": (sl.block_diag, A, B, V),
    "khatri_rao": (sl.khatri_rao, TALL, B),
    "norm": (sl.norm, A),
    "norm 1": (lambda a: sl.norm(a, 1), A),
    "norm 3": (lambda a: sl.norm(a, 3), V),
    "solve_banded": (lambda ab, b: sl.solve_banded((1, 1), ab, b), BAND, TALL),
    "solve_banded lower": (lambda ab, b: sl.solve_banded((2, 0), ab, b), BAND[[1, 0, 2]], C4),
    "solveh_banded": (sl.solveh_banded, HALF, C4),
    "solveh_banded lower": (lambda a, b: sl.solveh_banded(a, b, lower=True), HALF[::-1], TALL),
}


def symmetric(function):
    """Of matrices that a program makes symmetric: SciPy reads one triangle."""
    return lambda *given: function(*((x + np.conj(np.swapaxes(x, -1, -2))) / 2 for x in given))


CASES |= {
    "cholesky": (symmetric(sl.cholesky), P),
    "cholesky lower": (symmetric(lambda a: sl.cholesky(a, lower=True)), P),
    "cho_factor": (symmetric(lambda a: sl.cho_factor(a)[0]), P),
    "eigh": (symmetric(lambda a: sl.eigh(a, eigvals_only=True)), P),
    "eigh vectors": (symmetric(lambda a: np.abs(sl.eigh(a)[1])), P),
    "eigvalsh": (symmetric(sl.eigvalsh), P),
    "some values": (symmetric(lambda a: sl.eigvalsh(a, subset_by_index=[1, 2])), P),
    "some vectors": (symmetric(lambda a: np.abs(sl.eigh(a, subset_by_index=[0, 1])[1])), P),
    "values within": (symmetric(lambda a: sl.eigvalsh(a, subset_by_value=[0, 1e3])), P),
    "values by a driver": (symmetric(lambda a: sl.eigh(a, driver="ev")[0]), P),
    "vectors by a driver": (symmetric(lambda a: np.abs(sl.eigh(a, driver="evx")[1])), P),
    "some of two": (
        symmetric(lambda a, b: np.abs(sl.eigh(a, b, subset_by_index=[1, 1])[1])),
        P,
        P @ P,
    ),
    "eigh of two": (symmetric(lambda a, b: sl.eigh(a, b)[0]), P, P @ P),
    "eigh of two, vectors": (symmetric(lambda a, b: np.abs(sl.eigh(a, b)[1])), P, P @ P),
    "eigvalsh of two": (symmetric(sl.eigvalsh), P, P @ P),
}

SPREAD = np.linalg.qr(A)[0] @ np.diag([1.0, 3.0, 6.0]) @ np.linalg.qr(A)[0].T + 0.1 * A
DOMINANT = V + np.array([5.0, 0.0, 0.0])
CASES |= {
    "eig": (sl.eig, A),
    "eig of two, values": (lambda a, b: sl.eig(a, b, right=False), A, P),
    "eigvals": (sl.eigvals, A),
    "eigvals of two": (sl.eigvals, A, P),
    "eig_banded": (lambda a: (sl.eig_banded(a)[0], np.abs(sl.eig_banded(a)[1])), HALF),
    "eig_banded lower": (lambda a: sl.eig_banded(a, True, True), HALF[::-1]),
    "eigvals_banded": (sl.eigvals_banded, HALF),
    "eigh_tridiagonal": (lambda d, e: np.abs(sl.eigh_tridiagonal(d, e)[1]), 4 * C4, V),
    "eigvalsh_tridiagonal": (sl.eigvalsh_tridiagonal, 4 * C4, V),
    "cholesky_banded": (sl.cholesky_banded, HALF),
    "cholesky_banded lower": (lambda a: sl.cholesky_banded(a, lower=True), HALF[::-1]),
    "cho_solve_banded": (lambda c, b: sl.cho_solve_banded((c, False), b), HALF, C4),
    "cho_solve_banded lower": (lambda c, b: sl.cho_solve_banded((c, True), b), HALF[::-1], TALL),
    "schur": (sl.schur, SPREAD),
    "schur sorted": (lambda a: sl.schur(a, sort="rhp")[:2], SPREAD),
    "schur complex": (lambda a: np.abs(sl.schur(a, output="complex")[1]), A),
    "funm": (lambda a: sl.funm(a, np.exp), A),
    "funm of more": (lambda a, t: sl.funm(a, lambda w: np.exp(w * t)), A, np.array(0.3)),
    "signm": (sl.signm, SPREAD - 3 * np.eye(3)),
    "fractional_matrix_power": (sl.fractional_matrix_power, P, np.array(0.3)),
    "fractional_matrix_power whole": (lambda a: sl.fractional_matrix_power(a, 3), A),
    "expm_frechet": (sl.expm_frechet, A, P),
    "solve_toeplitz": (sl.solve_toeplitz, DOMINANT, B),
    "solve_toeplitz row": (lambda c, r, b: sl.solve_toeplitz((c, r), b), DOMINANT, V, V),
    "matmul_toeplitz": (lambda c, r, x: sl.matmul_toeplitz((c, r), x), V, C4, TALL),
    "matmul_toeplitz vector": (sl.matmul_toeplitz, V, V),
    "solve_circulant": (sl.solve_circulant, DOMINANT, B),
    "solve_circulant axes": (
        lambda c, b: sl.solve_circulant(c, b, baxis=1, outaxis=-1),
        DOMINANT,
        B.T,
    ),
    "companion": (sl.companion, C4),
    "leslie": (sl.leslie, C4, V),
    "fiedler": (sl.fiedler, C4),
    "fiedler_companion": (sl.fiedler_companion, rng.normal(size=7)),
    "convolution_matrix": (lambda a: sl.convolution_matrix(a, 4), V),
    "convolution_matrix same": (lambda a: sl.convolution_matrix(a, 4, "same"), V),
    "convolution_matrix valid": (lambda a: sl.convolution_matrix(a, 2, "valid"), V),
    "diagsvd": (lambda s: sl.diagsvd(s, 3, 5), V),
    "diagsvd tall": (lambda s: sl.diagsvd(s, 5, 3), V),
    "rq": (sl.rq, A),
    "rq economic": (lambda a: sl.rq(a, mode="economic"), TALL.T),
    "rq r": (lambda a: sl.rq(a, mode="r"), A),
    "qr_multiply": (sl.qr_multiply, A, B.T),
    "qr_multiply left": (lambda a, c: sl.qr_multiply(a, c, "left"), A, B),
    "qr_multiply vector": (lambda a, c: sl.qr_multiply(a, c, "left"), A, V),
    "orthogonal_procrustes": (sl.orthogonal_procrustes, TALL, TALL[::-1] + 1),
    "subspace_angles": (sl.subspace_angles, TALL, TALL[::-1] + 0.5),
    "subspace_angles near": (sl.subspace_angles, TALL, TALL + 0.05 * TALL[::-1] ** 2),
    "ldl": (symmetric(lambda a: sl.ldl(a)[:2]), P),
    "ldl upper, with blocks": (symmetric(lambda a: sl.ldl(a, lower=False)[:2]), P - 5 * np.eye(3)),
    "pinvh": (symmetric(sl.pinvh), P),
}
