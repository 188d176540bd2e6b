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
FORWARD_FIRST = {
    "reverse over forward": lambda f, a, h: fg.grad(moved(f, h))(a),
    "forward over forward": lambda f, a, h: fg.jacfwd(moved(f, h))(a),
    "jit of reverse over forward": lambda f, a, h: fg.jit(fg.grad(moved(f, h)))(a),
    "mapped forward": lambda f, a, h: fg.vmap(fg.grad(moved(f, h)))(a[None])[0],
}


def moved(f, h):
    """The derivative of f along h by forward mode."""
    return lambda a: fg.jvp(f, (a,), (h,))[1]


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


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("mode", FORWARD_FIRST)
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("name", ("cubes", "not separable"))
def test_second_derivatives_of_forward_mode(name, point, mode, values):
    (of_values, exact), a = FUNCTIONS[name], POINTS[point]
    h, k = symmetric(1), symmetric(2)
    got = FORWARD_FIRST[mode](lambda a: of_values(VALUES[values](a)), a, h)
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
    assert np.isnan(fg.grad(moved(UNKNOWN[name], h))(np.eye(3))).any()
    if name == "vectors":
        assert np.isnan(fg.jvp(moved(UNKNOWN[name], h), (np.eye(3),), (h,))[1])


def test_branches_of_equal_values():
    """Along a line each value has a branch, and forward mode follows it, in second order, too."""
    a, h = POINTS["two equal"], symmetric(1)
    first = lambda a: np.exp(np.linalg.eigvalsh(a)[1])
    got = fg.jvp(moved(first, h), (a,), (h,))[1]
    with mpmath.workdps(60):
        begin, way = mpmath.matrix(a.tolist()), mpmath.matrix(h.tolist())
        line = lambda s: sorted(mpmath.eigsy(begin + s * way, eigvals_only=True))[1]
        want = mpmath.diff(lambda s: mpmath.exp(line(s)), 0, 2, direction=1, h=mpmath.mpf("1e-15"))
    np.testing.assert_allclose(got, float(want), rtol=1e-6)


def test_reverse_over_reverse_is_nan_there_and_exact_elsewhere():
    """But of a function that is linear in the values: nothing has to be known of its curvature."""
    second = lambda f, a, h: fg.grad(lambda a: np.sum(fg.grad(f)(a) * h))(a)
    f = lambda a: np.sum(np.linalg.eigvalsh(a) ** 3)
    h = symmetric(1)
    assert np.isnan(second(f, np.eye(3), h)).any()
    a = POINTS["none equal"]
    np.testing.assert_allclose(second(f, a, h), fg.hvp(f, (a,), (h,)), rtol=1e-10)
    assert np.allclose(second(lambda a: np.sum(np.linalg.eigvalsh(a)), np.eye(3), h), 0.0)


@pytest.mark.parametrize("order", ["of reverse", "of forward", "reverse of forward"])
def test_third_derivatives_are_nan_there_and_exact_elsewhere(order):
    f = lambda a: np.sum(np.linalg.eigvalsh(a) ** 4)
    h = symmetric(1)
    along = lambda a: np.sum(fg.jvp(fg.grad(f), (a,), (h,))[1] * h)
    if order != "of reverse":
        along = moved(moved(f, h), h)
    third = moved(along, h)
    if order == "reverse of forward":
        third = lambda a: np.sum(fg.grad(along)(a) * h)
    assert np.isnan(third(np.eye(3)))
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
