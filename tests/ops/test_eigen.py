"""Eigenvalues and eigenvectors of matrices that need not be symmetric."""

from __future__ import annotations

import numpy as np
import pytest

import funcgrad as fg


def matrix(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, n))


@pytest.mark.parametrize("n", [1, 2, 5, 20])
def test_power_sums_of_the_values_have_the_gradient_of_the_trace_of_a_power(n: int) -> None:
    a = matrix(n) / np.sqrt(n)
    for function in (np.linalg.eigvals, lambda x: np.linalg.eig(x)[0]):
        found = fg.grad(lambda x, f=function: np.real(np.sum(f(x) ** 3)))(a)
        np.testing.assert_allclose(found, 3 * (a @ a).T, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n", [2, 5, 12])
def test_putting_the_factors_together_is_the_identity(n: int) -> None:
    a, weights = matrix(n, 1), matrix(n, 2)

    def whole(x: np.ndarray) -> np.ndarray:
        w, v = np.linalg.eig(x)
        return np.sum(weights * np.real((v * w) @ np.linalg.inv(v)))

    np.testing.assert_allclose(fg.grad(whole)(a), weights, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(fg.jit(fg.grad(whole))(a), weights, rtol=1e-8, atol=1e-8)
    hessian = fg.jvp(fg.grad(whole), (a,), (matrix(n, 3),))[1]
    np.testing.assert_allclose(hessian, 0.0, atol=1e-6)


@pytest.mark.parametrize("complex_", [False, True])
def test_vectors_keep_the_norm_and_the_phase_of_lapack(complex_: bool) -> None:
    a = matrix(4, 5) + (1j * matrix(4, 6) if complex_ else 0.0)
    v, moved = fg.jvp(lambda x: np.linalg.eig(x)[1], (a,), (matrix(4, 7) + 0 * a,))
    np.testing.assert_allclose(np.sum(v.conj() * moved, 0).real, 0.0, atol=1e-12)
    largest = np.argmax(np.abs(v), 0)
    np.testing.assert_allclose(moved[largest, np.arange(4)].imag, 0.0, atol=1e-12)


def test_equal_values_are_exact_in_symmetric_functions_and_nan_where_vectors_count() -> None:
    a = np.diag([2.0, 2.0, 5.0])
    found = fg.grad(lambda x: np.sum(np.real(np.linalg.eigvals(x) ** 2)))(a)
    np.testing.assert_allclose(found, 2 * a, atol=1e-12)
    weights = matrix(3, 8)
    by_vectors = fg.grad(lambda x: np.sum(weights * np.real(np.linalg.eig(x)[1])))(a)
    assert np.isnan(by_vectors).any()


def test_a_real_matrix_gives_numpys_type_and_complex_numbers_where_values_are_unknown() -> None:
    real, turning = np.diag([1.0, 3.0]), np.array([[0.0, -1.0], [1.0, 0.0]])
    for a in (real, turning):
        w, v = fg.vjp(np.linalg.eig, a)[0]
        assert w.dtype == np.linalg.eig(a)[0].dtype and v.dtype == np.linalg.eig(a)[1].dtype
        np.testing.assert_array_equal(w, np.linalg.eig(a)[0])
    assert fg.jit(np.linalg.eigvals)(real).dtype == np.complex128
    assert fg.vmap(np.linalg.eigvals)(np.stack([real, turning])).dtype == np.complex128
    assert fg.jit(np.linalg.eigvals)(real.astype(np.float32)).dtype == np.complex64


def test_each_value_gets_its_own_derivative_whatever_the_order_of_eig() -> None:
    for seed in range(5):
        a, t = matrix(9, seed), matrix(9, seed + 50)
        w, moved = fg.jvp(np.linalg.eigvals, (a,), (t,))
        h = 1e-6
        up, down = np.linalg.eigvals(a + h * t), np.linalg.eigvals(a - h * t)
        nearest = lambda found: np.array([found[np.argmin(np.abs(found - x))] for x in w])
        numeric = (nearest(up) - nearest(down)) / (2 * h)
        np.testing.assert_allclose(moved, numeric, rtol=1e-5, atol=1e-5)
