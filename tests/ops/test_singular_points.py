"""Derivatives at branch cuts, kinks and equal values: right, or NaN, never a wrong 0."""

import mpmath
import numpy as np
import pytest

import funcgrad as fg

POINTS = [-1.5 + 0.3j, -1.5 - 0.3j, 0.2 + 0.1j, 2.0 - 1.0j, -0.2 + 2.0j]
EYE = np.eye(2)


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield


def _slope(f, z):
    """∂f/∂x - i ∂f/∂y of a real function, with 30 digits."""
    with mpmath.workdps(30):
        along_x = mpmath.diff(lambda x: f(mpmath.mpc(x, z.imag)), z.real)
        along_y = mpmath.diff(lambda y: f(mpmath.mpc(z.real, y)), z.imag)
        return complex(along_x, -along_y)


@pytest.mark.parametrize("z", POINTS)
def test_arccosh_is_differentiated_on_its_own_branch(z):
    got = fg.grad(lambda x: np.real(np.arccosh(x)))(z)
    want = _slope(lambda z: mpmath.acosh(z).real, z)
    np.testing.assert_allclose(got, want, 1e-12)
    slope = (np.arccosh(z + 1e-6) - np.arccosh(z - 1e-6)).real / 2e-6
    np.testing.assert_allclose(got.real, slope, 1e-6)


@pytest.mark.parametrize("part", ["real", "imag"])
@pytest.mark.parametrize("z", POINTS)
def test_the_sign_of_a_complex_number_is_no_constant(z, part):
    value, got = fg.value_and_grad(lambda x: getattr(np, part)(np.sign(x)))(z)
    assert value == getattr(np, part)(np.sign(z))
    want = _slope(lambda z: getattr(mpmath.sign(z), part), z)
    np.testing.assert_allclose(got, want, 1e-12, 1e-14)
    assert fg.grad(np.sign)(2.0) == 0.0


def test_the_mode_of_a_complex_jacobian_does_not_depend_on_sizes():
    z = np.array([1.0 + 2.0j, 3.0 - 1.0j])
    got = fg.jacobian(lambda z: np.abs(z) ** 2)(z)
    np.testing.assert_array_equal(got, fg.jacrev(lambda z: np.abs(z) ** 2)(z))
    total = fg.jacobian(lambda z: np.sum(np.abs(z) ** 2))(z)
    np.testing.assert_allclose(np.sum(got, 0), total)


def test_the_deviation_of_equal_numbers():
    np.testing.assert_array_equal(fg.grad(np.nanstd)(np.ones(3)), np.zeros(3))
    np.testing.assert_allclose(fg.grad(np.nanstd)(np.array([1.0, np.nan, 3.0])), [-0.5, 0.0, 0.5])
    assert fg.value_and_grad(np.nanstd)(np.ones(3))[0] == 0.0


VALUES = {
    "eigvalsh": lambda a: np.sum(np.linalg.eigvalsh(a) ** 2),
    "eigh": lambda a: np.sum(np.linalg.eigh(a)[0] ** 2),
    "svdvals": lambda a: np.sum(np.linalg.svdvals(a) ** 2),
    "svd": lambda a: np.sum(np.linalg.svd(a)[1] ** 2),
}
VECTORS = {
    "eigh": lambda a: np.sum(np.linalg.eigh(a)[1] ** 3),
    "of values and vectors": lambda a: _power_of(a)[0, 1],
    "left": lambda a: np.sum(np.linalg.svd(a)[0] ** 3),
    "right": lambda a: np.sum(np.linalg.svd(a)[2] ** 3),
}


def _power_of(a):
    w, v = np.linalg.eigh(a)
    return (v * w**2) @ v.T


@pytest.mark.parametrize("name", VALUES)
def test_values_that_coincide_are_exact(name):
    for way in (fg.grad, fg.jacfwd, lambda f: fg.jit(fg.grad(f))):
        np.testing.assert_allclose(way(VALUES[name])(EYE), 2 * EYE, atol=1e-14)


@pytest.mark.parametrize("name", VECTORS)
def test_vectors_of_values_that_coincide_have_no_derivative(name):
    for way in (fg.grad, fg.jacfwd, lambda f: fg.jit(fg.grad(f))):
        assert np.isnan(way(VECTORS[name])(EYE)).any()
    assert np.isfinite(fg.grad(VECTORS[name])(np.array([[1.0, 0.3], [0.3, 2.0]]))).all()


@pytest.mark.parametrize("name", VALUES)
def test_second_derivatives_where_values_coincide_are_nan_and_never_wrong(name):
    def squares(a):  # eigenvalues are those of the symmetric part
        a = (a + a.T) / 2 if name.startswith("eig") else a
        return np.sum(a * a)

    exact = fg.hessian(squares)(EYE)
    got = fg.hessian(VALUES[name])(EYE)
    there = np.isfinite(got)
    assert there.all() or not name.startswith("eig")
    np.testing.assert_allclose(got[there], exact[there], atol=1e-12)
    apart = fg.hessian(VALUES[name])(np.array([[1.0, 0.3], [0.3, 2.0]]))
    assert np.isfinite(apart).all()


def power(v):
    return v[0] ** v[1]


SECOND = {
    "forward over reverse": fg.hessian,
    "reverse over reverse": lambda f: fg.jacrev(fg.jacrev(f)),
    "reverse over forward": lambda f: fg.jacrev(fg.jacfwd(f)),
    "forward over forward": lambda f: fg.jacfwd(fg.jacfwd(f)),
    "jit": lambda f: fg.jit(fg.hessian(f)),
    "second order of jit": lambda f: fg.hessian(fg.jit(f)),
    "vmap": lambda f: lambda v: fg.vmap(fg.hessian(f))(v[None])[0],
}


@pytest.mark.parametrize("way", SECOND)
@pytest.mark.parametrize(
    ("point", "want"),
    [
        ((0.0, 1.0), [[0.0, 1.0], [1.0, 0.0]]),
        ((0.0, 2.0), [[2.0, 0.0], [0.0, 0.0]]),
        ((2.0, 0.0), [[0.0, 0.5], [0.5, np.log(2.0) ** 2]]),
        ((2.0, 1.0), [[0.0, 1 + np.log(2.0)], [1 + np.log(2.0), 2 * np.log(2.0) ** 2]]),
    ],
)
def test_the_hessian_of_a_power_is_symmetric_where_base_or_exponent_is_zero(way, point, want):
    got = SECOND[way](power)(np.array(point))
    np.testing.assert_allclose(got, want, 1e-14)
    assert got[0, 1] == got[1, 0]


@pytest.mark.parametrize("way", SECOND)
def test_second_derivatives_of_powers_around_0_and_1(way):
    second, rng = SECOND[way](power), np.random.default_rng(7)
    choices = [0.0, 1e-3, 0.5, 1.0, 1.0 + 1e-3, 2.0]
    for x in choices:
        for p in (*choices, -1.0, rng.uniform(-2.0, 2.0)):
            got = second(np.array([x, p]))
            np.testing.assert_array_equal(got[0, 1], got[1, 0])
            if x == 0:
                continue
            z, log = mpmath.mpf(x) ** mpmath.mpf(p), mpmath.log(x)
            mixed = (1 + p * log) * z / x
            want = [[p * (p - 1) * z / x**2, mixed], [mixed, z * log**2]]
            scale = float((1 + abs(p * log)) * z / x)  # 1 and p·log x may cancel
            np.testing.assert_allclose(got, np.array(want, float), 1e-12, 1e-14 * scale)


def test_a_power_of_zero_falls_without_bound_in_a_negative_exponent():
    assert fg.grad(lambda p: np.sum(np.zeros(1) ** p))(-1.0) == -np.inf
    np.testing.assert_array_equal(fg.grad(power)(np.array([0.0, 0.5])), [np.inf, 0.0])


@pytest.mark.parametrize(
    "function, x, wanted",
    [
        (np.arccos, 1.0, -np.inf),
        (np.arccos, -1.0, np.inf),
        (np.arcsin, 1.0, np.inf),
        (np.arcsin, -1.0, -np.inf),
        (np.arccosh, 1.0, -np.inf),
        (np.arctanh, 1.0, np.inf),
        (np.arctanh, -1.0, -np.inf),
    ],
)
def test_second_derivatives_of_inverse_functions_are_infinite_at_their_ends(function, x, wanted):
    """By the factors of 1 - x², infinity met the 0 of the other one."""
    bend = fg.grad(fg.grad(function))
    assert bend(x) == wanted == fg.jit(bend)(x)
    assert fg.jvp(fg.grad(function), (x,), (1.0,))[1] == wanted
