"""`svd` with full matrices and complete `qr`, of matrices that are not square.

Expected: what the thin factors give, whose derivatives are tested elsewhere.
"""

import numpy as np
import pytest
import scipy.linalg

import funcgrad as fg
from funcgrad import lax

SVDS = {
    "numpy": (np.linalg.svd, lambda a: np.linalg.svd(a, full_matrices=False)),
    "scipy": (scipy.linalg.svd, lambda a: scipy.linalg.svd(a, full_matrices=False)),
    "lax": (lax.linalg.svd, lambda a: lax.linalg.svd(a, full_matrices=False)),
}
QRS = {
    "numpy": (lambda a: np.linalg.qr(a, "complete"), np.linalg.qr),
    "scipy": (scipy.linalg.qr, lambda a: scipy.linalg.qr(a, mode="economic")),
    "lax": (lax.linalg.qr, lambda a: lax.linalg.qr(a, full_matrices=False)),
}
DTYPES = [float, complex]


def drawn(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape)
    return x + 1j * rng.normal(size=shape) if dtype is complex else x


def same(whole, thin, a, t):
    """Whole and thin: real functions of `a` whose value and derivatives have to be equal."""
    close = {"rtol": 1e-9, "atol": 1e-11}
    np.testing.assert_allclose(whole(a), thin(a), **close)
    expected = fg.grad(thin)(a)
    assert np.isfinite(expected).all()
    np.testing.assert_allclose(fg.grad(whole)(a), expected, **close)
    np.testing.assert_allclose(fg.jit(fg.grad(whole))(a), expected, **close)
    slope = fg.jvp(thin, (a,), (t,))[1]
    np.testing.assert_allclose(fg.jvp(whole, (a,), (t,))[1], slope, **close)
    many = np.stack([a, 2 * t])
    np.testing.assert_allclose(fg.vmap(fg.grad(whole))(many), fg.vmap(fg.grad(thin))(many), **close)
    second = [fg.jvp(fg.grad(f), (a,), (t,))[1] for f in (whole, thin)]
    np.testing.assert_allclose(*second, rtol=1e-7, atol=1e-9)
    twice = [fg.jvp(lambda a, f=f: fg.jvp(f, (a,), (t,))[1], (a,), (t,))[1] for f in (whole, thin)]
    np.testing.assert_allclose(*twice, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(5, 3), (3, 5)])
@pytest.mark.parametrize("name", SVDS)
def test_the_leading_vectors_and_values_of_a_full_svd(name, shape, dtype):
    whole, thin = SVDS[name]
    weights = np.cos(np.arange(9.0)).reshape(3, 3)

    def of_values(svd):
        return lambda a: np.sum(np.sin(svd(a)[1]))

    def of_vectors(svd):
        def f(a):
            u, s, vh = svd(a)
            made = (u[:, :3] * np.log(s)) @ vh[:3]
            return np.sum(np.abs(made[:3, :3]) ** 2 * weights)

        return f

    a, t = drawn(shape, dtype), drawn(shape, dtype, 1)
    for f in (of_values, of_vectors):
        same(f(whole), f(thin), a, t)
    for mine, theirs in zip(whole(a), np.linalg.svd(a), strict=True):
        assert mine.shape == theirs.shape


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", QRS)
def test_the_leading_columns_of_a_complete_qr(name, dtype):
    whole, thin = QRS[name]
    weights = np.cos(np.arange(15.0)).reshape(5, 3)

    def f(qr):
        def g(a):
            q, r = qr(a)
            return np.sum(np.real(q[:, :3]) * weights) + np.sum(np.abs(r) ** 2 * np.arange(1.0, 4))

        return g

    same(f(whole), f(thin), drawn((5, 3), dtype), drawn((5, 3), dtype, 1))


@pytest.mark.parametrize("stage", [lambda f: f, fg.jit])
@pytest.mark.parametrize("name", SVDS)
def test_vectors_that_nothing_determines_have_the_gradient_nan(name, stage):
    svd, qr = SVDS[name][0], QRS[name][0]
    a = drawn((4, 2), float)
    for f in (
        lambda a: svd(a)[0][0, 3],
        lambda a: svd(a.T)[2][3, 0],
        lambda a: np.sum(svd(a)[0]),
        lambda a: qr(a)[0][0, 3],
    ):
        assert np.isnan(stage(fg.grad(f))(a)).all()
        assert np.isnan(stage(lambda a, f=f: fg.jvp(f, (a,), (a + 1,))[1])(a))


def test_in_a_stack_only_the_matrix_whose_vectors_are_used_is_nan():
    a = drawn((2, 4, 2), float)
    slope = fg.grad(lambda a: np.linalg.svd(a).U[1, 0, 3] + np.sum(np.linalg.svd(a).S))(a)
    assert np.isnan(slope[1]).all()
    np.testing.assert_allclose(
        slope[0], fg.grad(lambda a: np.sum(np.linalg.svdvals(a)))(a[0]), rtol=1e-12
    )


def test_equal_values_of_a_full_svd_have_second_derivatives():
    a = np.eye(4, 3)
    f = lambda a: np.sum(np.linalg.svd(a).S ** 4)
    g = lambda a: np.trace(a.T @ a @ a.T @ a)
    t = drawn((4, 3), float)
    for h in (f, fg.jit(f)):
        np.testing.assert_allclose(
            fg.jvp(fg.grad(h), (a,), (t,))[1], fg.jvp(fg.grad(g), (a,), (t,))[1], rtol=1e-9
        )


def test_a_full_svd_in_a_loop():
    a = drawn((4, 2), float)

    def f(a):
        return fg.scan(lambda c, _: (np.sin(c) * np.linalg.svd(c).S[0], None), a, length=3)[0].sum()

    np.testing.assert_allclose(fg.jit(fg.grad(f))(a), fg.grad(f)(a), rtol=1e-11)
