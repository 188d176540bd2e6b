"""Second derivatives of functions of singular values where some of them are equal."""

import mpmath
import numpy as np
import pytest

import funcgrad as fg


def drawn(shape, seed):
    return np.random.default_rng(seed).normal(size=shape)


def with_values(values, shape, seed=5):
    m, n = shape
    u, v = (np.linalg.qr(drawn((k, k), seed))[0] for k in shape)
    k = min(m, n)
    return u[:, :k] @ np.diag(values) @ v[:, :k].T


POINTS = {
    "all equal": 2.0 * np.eye(3),
    "two equal": np.diag([3.0, 1.0, 1.0]),
    "two equal, tall": with_values([3.0, 3.0, 1.0], (5, 3)),
    "two equal, wide": with_values([2.0, 1.0, 1.0], (3, 4)),
    "all equal, tall": with_values([2.0, 2.0], (3, 2)),
    "none equal": with_values([3.0, 2.0, 1.0], (3, 3)),
    "none equal, wide": with_values([3.0, 2.0], (2, 4)),
}
# A function of the values, and of a matrix's Gram matrix with mpmath's operations
FUNCTIONS = {
    "squares": (lambda s: np.sum(s**2), trace := lambda g: sum(g[k, k] for k in range(g.rows))),
    "fourth powers": (lambda s: np.sum(s**4), lambda g: trace(g * g)),
    "nuclear norm": (np.sum, lambda g: trace(mpmath.sqrtm(g))),
    "log det": (lambda s: np.sum(np.log(s)), lambda g: mpmath.log(mpmath.det(g)) / 2),
    "not separable": (
        lambda s: np.prod(s**2 + 1.0) + np.sum(s**2) ** 2,
        lambda g: mpmath.det(g + mpmath.eye(g.rows)) + trace(g) ** 2,
    ),
}
VALUES = {
    "svdvals": lambda a: np.linalg.svd(a, compute_uv=False),
    "svd": lambda a: np.linalg.svd(a, full_matrices=False)[1],
}
SECOND = {
    "hvp": lambda f, a, h: fg.hvp(f, (a,), (h,)),
    "hessian": lambda f, a, h: np.einsum("ijkl,kl->ij", fg.hessian(f)(a), h),
    "jit": lambda f, a, h: fg.jit(lambda a: fg.jvp(fg.grad(f), (a,), (h,))[1])(a),
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


def gram(a):
    return a.T * a if a.cols <= a.rows else a * a.T


def by_mpmath(f, a, h, k):
    """The mixed second derivative along `h` and `k`, by differences with 60 digits."""
    with mpmath.workdps(60):
        a, h, k = (mpmath.matrix(x.tolist()) for x in (a, h, k))
        step = mpmath.mpf("1e-15")
        corners = [
            f(gram(a + i * step * h + j * step * k)) * i * j for i in (-1, 1) for j in (-1, 1)
        ]
        return float(mpmath.re(sum(corners)) / (4 * step**2))


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("mode", SECOND)
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_second_derivatives(name, point, mode, values):
    (of_values, exact), a = FUNCTIONS[name], POINTS[point]
    h, k = drawn(a.shape, 1), drawn(a.shape, 2)
    got = SECOND[mode](lambda a: of_values(VALUES[values](a)), a, h)
    np.testing.assert_allclose(np.sum(got * k), by_mpmath(exact, a, h, k), rtol=1e-8)


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("mode", FORWARD_FIRST)
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("name", ("fourth powers", "not separable"))
def test_second_derivatives_of_forward_mode(name, point, mode, values):
    (of_values, exact), a = FUNCTIONS[name], POINTS[point]
    h, k = drawn(a.shape, 1), drawn(a.shape, 2)
    got = FORWARD_FIRST[mode](lambda a: of_values(VALUES[values](a)), a, h)
    np.testing.assert_allclose(np.sum(got * k), by_mpmath(exact, a, h, k), rtol=1e-8)


@pytest.mark.parametrize("point", POINTS)
def test_the_nuclear_norm_of_numpy(point):
    a = POINTS[point]
    h, k = drawn(a.shape, 1), drawn(a.shape, 2)
    got = np.sum(fg.hvp(lambda a: np.linalg.norm(a, "nuc"), (a,), (h,)) * k)
    want = by_mpmath(FUNCTIONS["nuclear norm"][1], a, h, k)
    np.testing.assert_allclose(got, want, rtol=1e-8)


def test_complex_matrices():
    """The second derivative of the sum of fourth powers of s along h and k, of tr((aᴴa)²)."""
    a, h, k = (drawn((3, 3, 2), seed) @ [1.0, 1j] for seed in (3, 4, 5))
    u, _, vh = np.linalg.svd(a)
    a = u @ np.diag([2.0, 1.0, 1.0]) @ vh
    f = lambda a: np.sum(np.linalg.svd(a, compute_uv=False) ** 4)
    powers = lambda a: np.real(np.trace(a.conj().T @ a @ a.conj().T @ a))
    got = np.real(np.sum(fg.jvp(fg.grad(f), (a,), (h,))[1] * k))
    step = 1e-4
    corners = [powers(a + i * step * h + j * step * k) * i * j for i in (-1, 1) for j in (-1, 1)]
    np.testing.assert_allclose(got, sum(corners) / (4 * step**2), rtol=1e-6)


def test_what_is_not_known_is_nan():
    first = lambda a: np.linalg.svd(a, compute_uv=False)[0] ** 2
    vectors = lambda a: np.sum(np.linalg.svd(a)[0] ** 4)
    for f in (first, vectors):
        assert np.isnan(fg.hvp(f, (np.eye(3),), (drawn((3, 3), 1),))).any()
        assert np.isnan(fg.grad(moved(f, drawn((3, 3), 1)))(np.eye(3))).any()


@pytest.mark.parametrize("values", VALUES)
def test_reverse_over_reverse_is_nan_there_and_exact_elsewhere(values):
    second = lambda f, a, h: fg.grad(lambda a: np.sum(fg.grad(f)(a) * h))(a)
    f = lambda a: np.sum(VALUES[values](a) ** 3)
    h = drawn((3, 3), 1)
    assert np.isnan(second(f, np.eye(3), h)).any()
    a = POINTS["none equal"]
    np.testing.assert_allclose(second(f, a, h), fg.hvp(f, (a,), (h,)), rtol=1e-9)


def test_the_nuclear_norm_in_other_orders():
    """It is linear in the values: nothing has to be known of its curvature."""
    f = lambda a: np.linalg.norm(a, "nuc")
    h, k = drawn((3, 3), 1), drawn((3, 3), 2)
    want = by_mpmath(FUNCTIONS["nuclear norm"][1], np.eye(3), h, k)
    for second in (fg.grad(moved(f, h)), fg.grad(lambda a: np.sum(fg.grad(f)(a) * h))):
        np.testing.assert_allclose(np.sum(second(np.eye(3)) * k), want, rtol=1e-8)


@pytest.mark.parametrize("name", VALUES)
def test_modes_agree_at_a_singular_matrix(name):
    """A singular value of 0 is at the kink of an absolute value: its derivative is 0 in both."""

    def total(a):
        return np.sum(VALUES[name](a))

    a = np.array([[1.0, 2.0], [2.0, 4.0]])
    expected = a / 5.0  # u vᴴ of the one value that is not 0
    for made in (fg.jacrev, fg.jacfwd):
        assert np.allclose(made(total)(a), expected, atol=1e-15)
        assert np.allclose(fg.jit(made(total))(a), expected, atol=1e-15)
