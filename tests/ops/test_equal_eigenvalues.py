"""Second derivatives of functions of eigenvalues where some of them are equal."""

import mpmath
import numpy as np
import pytest

import funcgrad as fg


def symmetric(seed):
    x = np.random.default_rng(seed).normal(size=(3, 3))
    return x + x.T


def rotated(values, seed=5):
    q = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))[0]
    return q @ np.diag(values) @ q.T


POINTS = {
    "all equal": 2.0 * np.eye(3),
    "two equal": np.diag([1.0, 1.0, 3.0]),
    "two equal, rotated": rotated([1.0, 3.0, 3.0]),
    "none equal": rotated([1.0, 2.0, 3.0]),
}
# A function of the values, and of the matrix with mpmath's operations
FUNCTIONS = {
    "squares": (lambda w: np.sum(w**2), lambda a: trace(a * a)),
    "cubes": (lambda w: np.sum(w**3), lambda a: trace(a * a * a)),
    "log det": (lambda w: np.sum(np.log(w)), lambda a: mpmath.log(mpmath.det(a))),
    "exponentials": (
        lambda w: np.log(np.sum(np.exp(w))),
        lambda a: mpmath.log(trace(mpmath.expm(a))),
    ),
    "not separable": (
        lambda w: np.prod(w + 1.0) + np.sum(w) ** 3,
        lambda a: mpmath.det(a + mpmath.eye(3)) + trace(a) ** 3,
    ),
}
SECOND = {
    "hvp": lambda f, a, h: fg.hvp(f, (a,), (h,)),
    "forward over reverse": lambda f, a, h: fg.jvp(fg.grad(f), (a,), (h,))[1],
    "hessian": lambda f, a, h: np.einsum("ijkl,kl->ij", fg.hessian(f)(a), h),
    "jit": lambda f, a, h: fg.jit(lambda a: fg.jvp(fg.grad(f), (a,), (h,))[1])(a),
    "jit of hessian": lambda f, a, h: np.einsum("ijkl,kl->ij", fg.jit(fg.hessian(f))(a), h),
    "linearize": lambda f, a, h: fg.linearize(fg.grad(f), a)[1](h),
    "mapped": lambda f, a, h: fg.vmap(lambda h: fg.jvp(fg.grad(f), (a,), (h,))[1])(h[None])[0],
}
VALUES = {"eigvalsh": np.linalg.eigvalsh, "eigh": lambda a: np.linalg.eigh(a)[0]}


def trace(a):
    return sum(a[k, k] for k in range(3))


def by_mpmath(f, a, h, k):
    """The mixed second derivative along `h` and `k`, by differences with 60 digits."""
    with mpmath.workdps(60):
        a, h, k = (mpmath.matrix(x.tolist()) for x in (a, h, k))
        step = mpmath.mpf("1e-15")
        corners = [f(a + i * step * h + j * step * k) * i * j for i in (-1, 1) for j in (-1, 1)]
        return float(sum(corners) / (4 * step**2))


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("mode", SECOND)
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_second_derivatives(name, point, mode, values):
    (of_values, exact), a = FUNCTIONS[name], POINTS[point]
    h, k = symmetric(1), symmetric(2)
    got = SECOND[mode](lambda a: of_values(VALUES[values](a)), a, h)
    np.testing.assert_allclose(np.sum(got * k), by_mpmath(exact, a, h, k), rtol=1e-9)


UNKNOWN = {
    "an order of equal values": lambda a: np.linalg.eigvalsh(a)[0] ** 2,
    "vectors": lambda a: np.sum(np.linalg.eigh(a)[1] ** 4),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_is_not_known_is_nan(name):
    h = symmetric(1)
    second = fg.jvp(fg.grad(UNKNOWN[name]), (np.eye(3),), (h,))[1]
    assert np.isnan(second).any()


@pytest.mark.parametrize(
    "second",
    [
        lambda f, a, h: fg.grad(lambda a: np.sum(fg.grad(f)(a) * h))(a),
        lambda f, a, h: fg.grad(lambda a: fg.jvp(f, (a,), (h,))[1])(a),
        lambda f, a, h: fg.jvp(lambda a: fg.jvp(f, (a,), (h,))[1], (a,), (h,))[1],
    ],
    ids=["reverse over reverse", "reverse over forward", "forward over forward"],
)
def test_other_orders_are_nan_there_and_exact_elsewhere(second):
    f = lambda a: np.sum(np.linalg.eigvalsh(a) ** 3)
    h = symmetric(1)
    assert np.isnan(second(f, np.eye(3), h)).any()
    a = POINTS["none equal"]
    want = fg.hvp(f, (a,), (h,))
    got = second(f, a, h)
    want = np.sum(want * h) if np.ndim(got) == 0 else want
    np.testing.assert_allclose(got, want, rtol=1e-10)


def test_third_derivatives_are_nan_there_and_exact_elsewhere():
    f = lambda a: np.sum(np.linalg.eigvalsh(a) ** 4)
    h = symmetric(1)
    along = lambda a: fg.jvp(fg.grad(f), (a,), (h,))[1]
    third = lambda a: fg.jvp(along, (a,), (h,))[1]
    assert np.isnan(third(np.eye(3))).any()
    a = POINTS["none equal"]
    difference = (along(a + 1e-5 * h) - along(a - 1e-5 * h)) / 2e-5
    np.testing.assert_allclose(third(a), difference, rtol=1e-6, atol=1e-6)


def test_hermitian_matrices():
    """The second derivative of the sum of cubes along h and k is 6 tr(a h k), made symmetric."""
    x = np.random.default_rng(3).normal(size=(2, 3, 3, 2)) @ [1.0, 1j]
    h, k = (m + m.conj().T for m in x)
    q = np.linalg.qr(x[0])[0]
    a = q @ np.diag([1.0, 1.0, 3.0]) @ q.conj().T
    f = lambda a: np.sum(np.linalg.eigvalsh(a) ** 3)
    got = np.real(np.sum(fg.jvp(fg.grad(f), (a,), (h,))[1] * k))
    want = 3 * np.trace(a @ h @ k + a @ k @ h).real
    np.testing.assert_allclose(got, want, rtol=1e-9)
