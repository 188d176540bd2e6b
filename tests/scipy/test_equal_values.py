"""Second derivatives of SciPy's eigenvalues and singular values where some are equal."""

import numpy as np
import pytest
import scipy.linalg as sp

import funcgrad as fg


def rotated(seed=5):
    q = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))[0]
    return q @ np.diag([1.0, 2.0, 2.0]) @ q.T


def moved(f, h):
    return lambda a: fg.jvp(f, (a,), (h,))[1]


VALUES = {
    "eigvalsh": sp.eigvalsh,
    "eigh": lambda a: sp.eigh(a)[0],
    "svdvals": sp.svdvals,
    "svd": lambda a: sp.svd(a)[1],
    "eigvals_banded": lambda a: sp.eigvals_banded(bands(a), lower=True),
    "eig_banded": lambda a: sp.eig_banded(bands(a), lower=True)[0],
}


def bands(a):
    off = [np.concatenate([np.diagonal(a, -k), np.zeros(k)]) for k in (1, 2)]
    return np.stack([np.diagonal(a), *off])


@pytest.mark.parametrize("point", [2.0 * np.eye(3), rotated()], ids=["all equal", "two equal"])
@pytest.mark.parametrize("name", VALUES)
def test_second_derivatives(name, point):
    """Of the sum of cubes along h and k: 3 tr(a (h k + k h)), of symmetric matrices."""
    f = lambda a: np.sum(VALUES[name](0.5 * (a + a.T)) ** 3)
    h, k = (x + x.T for x in np.random.default_rng(2).normal(size=(2, 3, 3)))
    want = 3 * np.trace(point @ (h @ k + k @ h))
    for second in (
        lambda a: np.sum(fg.hvp(f, (a,), (h,)) * k),
        lambda a: np.sum(fg.grad(moved(f, h))(a) * k),
        moved(moved(f, h), k),
        lambda a: np.sum(fg.jit(fg.grad(moved(f, h)))(a) * k),
    ):
        np.testing.assert_allclose(second(point), want, rtol=1e-9)


def test_tridiagonal_matrices():
    f = lambda d: np.sum(sp.eigvalsh_tridiagonal(d, 0.0 * d[1:]) ** 3)
    d, h, k = np.array([1.0, 2.0, 2.0]), np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.2, 1.0])
    want = 6 * np.sum(d * h * k)
    assert np.isclose(np.sum(fg.grad(moved(f, h))(d) * k), want)
    assert np.isclose(moved(moved(f, h), k)(d), want)
