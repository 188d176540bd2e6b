"""Derivatives of `scipy.special` by parameters, orders and degrees, against mpmath."""

import mpmath
import numpy as np
import pytest
import scipy.special as sp

import funcgrad as fg
from funcgrad.errors import UnsupportedCallError
from funcgrad.testing import check_grads


def slope(f, x):
    with mpmath.workdps(60):
        return float(mpmath.diff(f, mpmath.mpf(float(x)), h=mpmath.mpf(10) ** -20))


def near(found, wanted, relative):
    assert abs(found - wanted) <= relative * abs(wanted), (found, wanted)


def lower(a, x):
    return mpmath.gammainc(a, 0, x, regularized=True)


def beta(a, b, x):
    return mpmath.betainc(a, b, 0, x, regularized=True)


@pytest.mark.parametrize("a", [0.05, 0.5, 2.5, 40.0, 1000.0])
@pytest.mark.parametrize("scale", [0.1, 0.9, 1.0, 1.3])
def test_gammainc_by_its_parameter(a, scale):
    x = a * scale
    near(
        fg.grad(lambda a: sp.gammainc(a, x))(a), slope(lambda t: lower(t, mpmath.mpf(x)), a), 1e-11
    )
    near(
        fg.grad(lambda a: sp.gammaincc(a, x))(a),
        -slope(lambda t: lower(t, mpmath.mpf(x)), a),
        1e-11,
    )


@pytest.mark.parametrize("a, b", [(0.3, 0.7), (2.0, 3.0), (50.0, 0.5), (10.0, 200.0)])
@pytest.mark.parametrize("x", [1e-3, 0.05, 0.5, 0.97])
def test_betainc_by_its_parameters(a, b, x):
    found = fg.grad(sp.betainc, (0, 1))(a, b, x)
    by_a = slope(lambda t: beta(t, b, mpmath.mpf(x)), a)
    by_b = slope(lambda t: beta(a, t, mpmath.mpf(x)), b)
    for got, wanted in zip(found, (by_a, by_b), strict=True):
        if abs(wanted) > 1e-290:
            near(got, wanted, 1e-10)


def test_third_derivatives_by_parameters():
    third = fg.grad(fg.grad(fg.grad(lambda a: sp.gammainc(a, 2.0))))(1.5)
    near(third, float(mpmath.diff(lambda a: lower(a, 2), 1.5, 3)), 1e-10)
    by_b = fg.grad(fg.grad(fg.grad(lambda b: sp.betainc(1.5, b, 0.4))))(2.0)
    near(by_b, float(mpmath.diff(lambda b: beta(1.5, b, 0.4), 2, 3)), 1e-10)


@pytest.mark.parametrize("a", [1e-8, 1e-3])
def test_shapes_so_small_that_the_mass_is_at_the_end(a):
    for x in (1e-3, 0.3, 9.0):
        wanted = slope(lambda t: lower(t, mpmath.mpf(x)), a)
        near(fg.grad(sp.gammainc)(a, x), wanted, 1e-10)
    for b, x in ((0.7, 1e-3), (30.0, 1e-3), (30.0, 0.3)):
        by_a, by_b = fg.grad(sp.betainc, (0, 1))(a, b, x)
        near(by_a, slope(lambda t: beta(t, b, mpmath.mpf(x)), a), 1e-10)
        near(by_b, slope(lambda t: beta(a, t, mpmath.mpf(x)), b), 1e-10)


@pytest.mark.parametrize("angle", [1e-9, -1e-4, 0.3, 1.5, 2.0, -7.0])
@pytest.mark.parametrize("m", [-1e3, -0.5, 1e-9, 0.3, 0.999])
def test_incomplete_elliptic_integrals_by_the_parameter(angle, m):
    for function, exact in ((sp.ellipkinc, mpmath.ellipf), (sp.ellipeinc, mpmath.ellipe)):
        near(fg.grad(function, 1)(angle, m), slope(lambda t: exact(angle, t), m), 1e-11)


@pytest.mark.parametrize("n, k", [(5.0, 7.0), (5.5, 6.5), (5.0, -1.0), (5.0, -3.0), (300.0, 302.0)])
def test_binomial_coefficients_where_they_are_zero(n, k):
    by_n, by_k = fg.grad(sp.binom, (0, 1))(n, k)
    assert abs(by_n - slope(lambda t: mpmath.binomial(t, k), n)) <= 1e-12 * abs(by_n)
    near(by_k, slope(lambda t: mpmath.binomial(n, t), k), 1e-12)


def student(v, t):
    return 1 - mpmath.betainc(v / 2, 0.5, 0, v / (v + t * t), regularized=True) / 2


@pytest.mark.parametrize(
    "v, t", [(1.5, 0.3), (4.0, 2.0), (30.0, 1e-3), (200.0, 3.0), (1e4, 0.7), (1e4, 20.0)]
)
def test_students_t_by_the_degrees_of_freedom(v, t):
    near(fg.grad(sp.stdtr)(v, t), slope(lambda s: student(s, mpmath.mpf(t)), v), 1e-9)
    near(fg.grad(sp.stdtr)(v, -t), -slope(lambda s: student(s, mpmath.mpf(t)), v), 1e-9)


@pytest.mark.parametrize(
    "inverse, function",
    [
        (sp.gammaincinv, sp.gammainc),
        (sp.gammainccinv, sp.gammaincc),
        (sp.stdtrit, sp.stdtr),
        (sp.chdtri, sp.chdtrc),
    ],
)
def test_a_quantile_undoes_its_distribution_function(inverse, function):
    """The derivative of F(a, F⁻¹(a, p)) is 0 by the parameter, and 1 by p."""
    through = lambda a, p: function(a, inverse(a, p))
    by_a, by_p = fg.grad(through, (0, 1))(1.7, 0.3)
    assert abs(by_a) < 1e-13
    assert abs(by_p - 1) < 1e-12


@pytest.mark.parametrize("x", [-3.3, -0.4, 0.4, 0.6, 1.5, 7.0, 60.0])
def test_the_zeta_function_by_its_exponent(x):
    wanted = slope(mpmath.zeta, x)
    for function in (sp.zeta, sp.zetac):
        near(fg.grad(function)(x), wanted, 1e-12)
    if x > 1:
        wanted = slope(lambda t: mpmath.zeta(t, 2.5), x)
        near(fg.grad(lambda x: sp.zeta(x, 2.5))(x), wanted, 1e-12)


def nct(v, mu, t):
    peak = 2 * (v / 2) ** (v / 2) / mpmath.gamma(v / 2)
    inside = lambda s: mpmath.ncdf(t * s - mu) * peak * s ** (v - 1) * mpmath.exp(-v * s * s / 2)
    return mpmath.quad(inside, [0, 0.25, 0.5, 1, 1.5, 2, 3, 6, 20])


@pytest.mark.parametrize("v, mu, t", [(2.0, 0.7, 1.2), (6.5, -0.5, -2.0), (40.0, 1.0, 0.1)])
def test_the_noncentral_t_distribution_by_all_of_its_operands(v, mu, t):
    found = fg.grad(sp.nctdtr, (0, 1, 2))(v, mu, t)
    with mpmath.workdps(30):
        h = mpmath.mpf(10) ** -8
        for k, got in enumerate(found):
            up, down = ([mpmath.mpf(x) for x in (v, mu, t)] for _ in range(2))
            up[k], down[k] = up[k] + h, down[k] - h
            near(got, float((nct(*up) - nct(*down)) / (2 * h)), 1e-9)


@pytest.mark.parametrize("operands", [(0.5, 1.0, 2.0, 3.0), (1.0, 1.0, 1.0, 1.0), (0.0, 1, 50, 1)])
def test_carlsons_third_integral_also_where_operands_coincide(operands):
    found = fg.grad(sp.elliprj, (1, 2, 3))(*map(float, operands))
    for k, got in zip((1, 2, 3), found, strict=True):
        rest = list(map(mpmath.mpf, operands))
        inside = lambda t, k=k, rest=rest: mpmath.elliprj(*rest[:k], t, *rest[k + 1 :])
        near(got, slope(inside, operands[k]), 1e-10)


@pytest.mark.parametrize("y", [0.2, 0.6, 0.999, 1.001, 2.5])
def test_kolmogorovs_distribution_by_both_of_its_series(y):
    exact = lambda y: (
        2
        * mpmath.nsum(
            lambda k: (-1) ** (int(k) - 1) * mpmath.exp(-2 * k**2 * y**2), [1, mpmath.inf]
        )
    )
    near(fg.grad(sp.kolmogorov)(y), slope(exact, y), 1e-11)


def test_spherical_harmonics_at_the_pole_and_elsewhere():
    for n, m in ((0, 0), (1, 0), (2, 1), (3, -2)):
        for theta, phi in ((0.0, 0.3), (0.7, 1.1)):
            found = fg.jvp(lambda *a, n=n, m=m: sp.sph_harm_y(n, m, *a), (theta, phi), (1.0, 0.0))
            assert found[1] == sp.sph_harm_y(n, m, theta, phi, diff_n=1)[1][0]
            around = fg.jvp(lambda *a, n=n, m=m: sp.sph_harm_y(n, m, *a), (theta, phi), (0.0, 1.0))
            assert around[1] == pytest.approx(1j * m * found[0])
    with pytest.raises(UnsupportedCallError, match="all degrees at once"):
        fg.grad(lambda z: sp.legendre_p_all(3, z)[0, 1])(0.3)


def test_dirichlets_function_at_multiples_of_a_turn():
    x = np.array([0.0, 2 * np.pi, 4 * np.pi, 0.4])
    for n in (1, 4, 5):
        check_grads(lambda x, n=n: sp.diric(x, n), (x,), order=2)


# ------------------------------------------------------------- orders, degrees and parameters

BY_ORDER = {  # the operand, the exact values, and points
    "jv": (0, mpmath.besselj, [(0.0, 1.0), (1.0, 1e-3), (-2.3, 3.0), (40.0, 10.0), (2.5, 500.0)]),
    "yv": (0, mpmath.bessely, [(0.0, 1.0), (1.0, 1e-3), (-2.3, 3.0), (40.0, 10.0), (2.5, 500.0)]),
    "iv": (0, mpmath.besseli, [(0.3, 1.0), (1.0, 1e-3), (2.3, 3.0), (40.0, 10.0), (2.5, 60.0)]),
    "kv": (0, mpmath.besselk, [(0.3, 1.0), (1.0, 1e-3), (-2.3, 3.0), (40.0, 10.0), (2.5, 60.0)]),
    "struve": (0, mpmath.struveh, [(0.0, 1.0), (2.5, 10.0)]),
    "modstruve": (0, mpmath.struvel, [(0.0, 1.0), (2.5, 10.0)]),
    "hyp0f1": (0, mpmath.hyp0f1, [(0.01, -2.0), (-1.7, 0.5), (20.0, 30.0)]),
    "hyp2f1": (2, mpmath.hyp2f1, [(0.3, 2.7, 0.01, -2.0), (-2.0, 1.0, 2.0, 0.95)]),
    "lpmv": (1, lambda m, v, x: mpmath.legenp(v, m, x).real, [(1, 2.3, 0.4), (0, 7.7, -0.5)]),
    "eval_legendre": (0, mpmath.legendre, [(0.0, 0.3), (5.5, 0.9), (2.0, 1.5)]),
    "eval_jacobi": (1, mpmath.jacobi, [(2.5, 0.1, 1.2, 0.4), (3.3, 0.7, -0.5, 0.9)]),
    "eval_genlaguerre": (0, mpmath.laguerre, [(2.5, 0.0, 0.4), (3.0, 0.7, 5.0)]),
    "hyperu": (1, mpmath.hyperu, [(0.7, 1.3, 2.0), (2.0, 0.4, 0.5)]),
    "pbdv": (0, mpmath.pcfd, [(0.5, 1.2), (-1.5, 0.3)]),
}


@pytest.mark.parametrize("name", BY_ORDER)
def test_derivatives_by_orders_and_parameters_are_exact_to_ten_digits(name):
    k, exact, points = BY_ORDER[name]

    def ours(*xs):
        found = getattr(sp, name)(*xs)
        return found[0] if isinstance(found, tuple) else found

    for point in points:
        with mpmath.workdps(60):
            x, h = mpmath.mpf(point[k]), mpmath.mpf(10) ** -15
            low, mid, high = (exact(*point[:k], t, *point[k + 1 :]) for t in (x - h, x, x + h))
            slope, bend = float((high - low) / (2 * h)), float((high - 2 * mid + low) / h**2)
        found = fg.grad(ours, k)(*point)
        assert abs(found - slope) <= 1e-10 * max(abs(slope), 1e-2 * abs(mid)), (point, found, slope)
        twice = fg.grad(fg.grad(ours, k), k)(*point)
        size = max(abs(bend), abs(slope), abs(mid))
        assert abs(twice - bend) <= 1e-8 * size, (point, twice, bend)


@pytest.mark.parametrize("a, b, z", [(20.0, 0.4, -0.1), (0.3, 12.0, -2.0), (-2.0, 0.01, 4.0)])
def test_kummers_function_by_parameters_where_scipys_real_one_has_no_digit(a, b, z):
    found = fg.grad(sp.hyp1f1, (0, 1))(a, b, z)
    with mpmath.workdps(40):
        exact = (
            mpmath.diff(lambda t: mpmath.hyp1f1(t, b, z), a),
            mpmath.diff(lambda t: mpmath.hyp1f1(a, t, z), b),
        )
    for got, wanted in zip(found, exact, strict=True):
        near(got, float(wanted), 1e-10)


def test_orders_of_single_precision_and_of_complex_arguments():
    single = fg.grad(sp.jv)(np.float32(1.5), np.float32(2.0))
    assert single.dtype == np.float32
    near(float(single), fg.grad(sp.jv)(1.5, 2.0), 1e-6)
    found = fg.grad(lambda v: (sp.hankel1(v, 2.0 + 1.0j) * (1 - 2j)).real)(1.5)
    wanted = mpmath.diff(lambda v: (mpmath.hankel1(v, 2 + 1j) * (1 - 2j)).real, 1.5)
    near(found, float(wanted), 1e-11)


def test_by_the_order_under_vmap_and_jit():
    v, x = np.array([0.5, 1.0, 2.5]), np.array([0.3, 2.0, 40.0])
    wanted = [fg.grad(sp.kv)(a, b) for a, b in zip(v, x, strict=True)]
    np.testing.assert_allclose(fg.vmap(fg.grad(sp.kv))(v, x), wanted, rtol=1e-12)
    np.testing.assert_allclose(
        fg.jit(fg.grad(lambda v: np.sum(sp.kv(v, x))))(v), wanted, rtol=1e-12
    )


def test_mathieus_characteristic_value_by_q():
    """By Hellmann and Feynman: the mean of 2 cos 2x over the square of the function."""
    x = np.arange(0.0, 360.0, 5.0)
    for q in (0.3, 2.0, 25.0):
        weight = sp.mathieu_cem(2, q, x)[0] ** 2
        wanted = np.sum(2 * np.cos(np.radians(2 * x)) * weight) / np.sum(weight)
        near(fg.grad(lambda q: sp.mathieu_a(2, q))(q), wanted, 1e-9)


def smirnov(n, x):
    return sum(
        mpmath.binomial(n, j)
        * x
        * (x + mpmath.mpf(j) / n) ** (j - 1)
        * (1 - x - mpmath.mpf(j) / n) ** (n - j)
        for j in range(int(n * (1 - x)) + 1)
    )


@pytest.mark.parametrize("n, x", [(2, 0.3), (5, 0.33), (40, 0.01), (200, 0.12)])
def test_smirnovs_distribution_and_its_inverse(n, x):
    with mpmath.workdps(60):
        first, second = (float(mpmath.diff(lambda t: smirnov(n, t), x, k)) for k in (1, 2))
    function = lambda x: sp.smirnov(n, x)
    near(fg.grad(function)(x), first, 1e-11)
    near(fg.grad(fg.grad(function))(x), second, 1e-10)
    near(fg.grad(lambda p: sp.smirnovi(n, p))(float(sp.smirnov(n, x))), 1 / first, 1e-9)


def test_tukeys_lambda_distribution():
    quantile = lambda p, s: (p**s - (1 - p) ** s) / s if s else np.log(p) - np.log1p(-p)
    for p, shape in ((0.3, 0.7), (0.9, -0.4), (0.2, 0.0)):
        by_x, by_shape = fg.grad(sp.tklmbda, (0, 1))(quantile(p, shape), shape)
        near(by_x, 1 / (p ** (shape - 1) + (1 - p) ** (shape - 1)), 1e-7)
        h = 1e-4
        moved = (quantile(p, shape + h) - quantile(p, shape - h)) / (2 * h)
        near(by_shape, -moved * by_x, 1e-6)
    assert fg.grad(sp.tklmbda, (0, 1))(3.0, 2.0) == (0.0, 0.0)  # outside the support
