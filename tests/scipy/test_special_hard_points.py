"""Derivatives of special functions where they were wrong or NaN: against mpmath.

Each row is a function, what it is in mpmath, and points: poles, equal operands, zeros, parameters
that are huge or tiny, and arguments near a branch point.
"""

import mpmath
import numpy as np
import pytest
import scipy.special as sp

import funcgrad as fg


def chi_square(x, k, nc):
    terms = (
        mpmath.exp(-nc / 2)
        * (nc / 2) ** j
        / mpmath.factorial(j)
        * mpmath.gammainc(k / 2 + j, 0, x / 2, regularized=True)
        for j in range(60)
    )
    return mpmath.fsum(terms)


def f_distribution(n, d, x):
    return 1 - mpmath.betainc(d / 2, n / 2, 0, d / (d + n * x), regularized=True)


def shifted_jacobi(n, p, q, x):
    return mpmath.jacobi(n, p - q, q - 1, 2 * x - 1) / mpmath.binomial(2 * n + p - 1, n)


POINTS = {
    "hyp1f1": (
        mpmath.hyp1f1,
        [(10.0, 100.3, -0.3), (100.3, 100.3, 1e-3), (-0.3, -1.5, -0.3), (100.3, 0.5, -30.0),
         (-2.5, 1e4, 1e-8)],
        1e-9,
    ),
    "hyp0f1": (mpmath.hyp0f1, [(1e6, 300.0), (1e4, 1.5), (-1.5, 0.5), (0.5, -30.0)], 1e-9),
    "hyp2f1": (
        mpmath.hyp2f1,
        [(0.7, 1.2, 0.5, 0.999999), (0.0, 5.5, 0.5, 0.9999), (80.3, 0.5, 2.0, 1e-8),
         (-1.5, 5.5, 30.0, -5.0), (-1.0, 0.0, 2.0, 0.3)],
        1e-8,
    ),
    "hyperu": (
        mpmath.hyperu,
        [(3.5, 10.0, 0.5), (1e-3, 1e-8, 3.5), (1e-8, 1.0, 1e-4), (-2.5, -1.0, 1e-3),
         (1e-3, 10.0, 1e-3), (-1.0, 2.5, 3.5)],
        1e-7,
    ),
    "agm": (mpmath.agm, [(1e-8, 1e4), (1e6, 1e-3), (1.0, 1.0), (2.0, 1.9999999)], 1e-12),
    "elliprd": (mpmath.elliprd, [(0.5, 10.0, 0.5), (1.0, 1.0, 1.0), (2.0, 0.7, 0.7)], 1e-10),
    "chndtr": (chi_square, [(0.5, 3.5, 0.0), (2.0, 0.5, 1e-9), (10.0, 7.0, 0.0)], 1e-8),
    "fdtr": (f_distribution, [(1.0, 1e-8, 1e4), (10.0, 1e-8, 2.0), (100.3, 1e-3, 10.0)], 2e-7),
    "beta": (mpmath.beta, [(0.5, -2.5), (1.5, -2.5), (0.5, 2.0)], 1e-10),
    "eval_gegenbauer": (mpmath.gegenbauer, [(-0.3, 1e-3, 0.4), (3.0, -0.3, 0.9)], 1e-9),
    "eval_sh_jacobi": (shifted_jacobi, [(0.5, 1.0, 2.2, 0.9), (2.0, 0.6, 0.3, 0.3)], 1e-8),
    "eval_laguerre": (lambda n, x: mpmath.laguerre(n, 0, x), [(-0.5, 0.5), (10.0, 5.0)], 1e-9),
}  # fmt: skip


def exact(function, k, point):
    with mpmath.workdps(50):
        xs = [mpmath.mpf(x) for x in point]
        h = (abs(xs[k]) or mpmath.mpf(1)) * mpmath.mpf(10) ** -18
        low, high = (function(*xs[:k], xs[k] + s * h, *xs[k + 1 :]) for s in (-1, 1))
        return float(((high - low) / (2 * h)).real)


@pytest.mark.parametrize("name", POINTS)
def test_by_all_operands_at_hard_points(name):
    function, points, relative = POINTS[name]
    ufunc = getattr(sp, name)
    for point in points:
        size = abs(float(mpmath.re(function(*map(mpmath.mpf, point)))))
        for k in range(len(point)):
            if name == "chndtr" and k == 2 and point[k] == 0:
                continue  # the distribution ends there
            wanted = exact(function, k, point)

            def moved(x, k=k, point=point):
                return ufunc(*point[:k], x, *point[k + 1 :])

            forward = fg.jvp(moved, (point[k],), (1.0,))[1]
            backward = fg.grad(moved)(point[k])
            near = relative * max(abs(wanted), 1e-6 * size)
            assert abs(forward - wanted) <= near, (point, k, forward, wanted)
            assert forward == backward


@pytest.mark.parametrize(
    "call, wanted",
    [
        (lambda x: sp.kn(5.5, x), lambda x: sp.kn(5, x)),
        (lambda x: sp.yn(2.7, x), lambda x: sp.yn(2, x)),
        (lambda x: sp.expn(2.9, x), lambda x: sp.expn(2, x)),
        (lambda x: sp.bdtr(2.5, 7.9, x / 9), lambda x: sp.bdtr(2, 7, x / 9)),
        (lambda x: sp.bdtri(2.5, 7.9, x / 9), lambda x: sp.bdtri(2, 7, x / 9)),
        (lambda x: sp.nbdtr(2.5, 3.9, x / 9), lambda x: sp.nbdtr(2, 3, x / 9)),
        (lambda x: sp.nbdtrc(2.5, 3.9, x / 9), lambda x: sp.nbdtrc(2, 3, x / 9)),
        (lambda x: sp.smirnov(5.8, x / 9), lambda x: sp.smirnov(5, x / 9)),
    ],
)
@pytest.mark.filterwarnings("ignore:floating point number truncated", "ignore:non-integer arg n")
def test_operands_that_scipy_rounds_are_rounded_in_derivatives_too(call, wanted):
    assert call(2.0) == wanted(2.0)
    assert fg.grad(call)(2.0) == fg.grad(wanted)(2.0)


def test_a_polynomial_of_kummers_function_whose_parameters_are_equal():
    assert fg.grad(lambda z: sp.hyp1f1(-1.0, -1.0, z))(0.7) == 1.0


@pytest.mark.filterwarnings("ignore:non-integer arg n")
def test_binomial_probabilities_that_are_certain_have_no_slope():
    assert fg.grad(lambda p: sp.bdtr(3.0, 3.0, p))(0.4) == 0.0
    assert fg.grad(lambda p: sp.bdtrc(-1.0, 3.0, p))(0.4) == 0.0


def test_the_box_cox_transformation_of_zero_by_its_power():
    assert fg.grad(lambda p: sp.boxcox(0.0, p))(2.0) == 0.25
    assert fg.grad(lambda p: sp.boxcox1p(-1.0, p))(0.5) == 4.0


def test_carlsons_integrals_at_zeros():
    np.testing.assert_allclose(fg.grad(lambda z: sp.elliprg(0.0, 0.0, z))(2.0), 0.125**0.5 / 2)
    for name, point in [("elliprd", (0.0, 0.5, 2.0)), ("elliprc", (0.0, 2.0))]:
        wanted = exact(getattr(mpmath, name), len(point) - 1, point)
        found = fg.grad(getattr(sp, name), len(point) - 1)(*point)
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("v, mu, t", [(1e-3, -1.0, -2.5), (0.1, 0.5, 3.5), (1e-8, -0.3, 1e-3)])
def test_the_noncentral_t_distribution_of_few_degrees_of_freedom(v, mu, t):
    for k, h in enumerate((v / 64, 2.0**-9, abs(t) / 256)):
        ends = [np.array([v, mu, t]) for _ in range(4)]
        for end, far in zip(ends, (-2, -1, 1, 2), strict=True):
            end[k] += far * h
        a, b, c, d = (sp.nctdtr(*end) for end in ends)
        wanted = (a - 8 * b + 8 * c - d) / (12 * h)
        np.testing.assert_allclose(fg.grad(sp.nctdtr, k)(v, mu, t), wanted, rtol=1e-5)


def test_second_order_of_kummers_function_by_parameters_is_symmetric():
    def function(w):
        return sp.hyp1f1(w[0], w[1], w[2])

    bend = fg.hessian(function)(np.array([10.0, 100.3, -0.3]))
    np.testing.assert_allclose(bend, bend.T, rtol=1e-7)
    with mpmath.workdps(50):
        h = mpmath.mpf(10) ** -12
        corners = [mpmath.hyp1f1(10 + i * h, mpmath.mpf(100.3) + j * h, mpmath.mpf(-0.3))
                   for i in (-1, 1) for j in (-1, 1)]  # fmt: skip
        wanted = float((corners[3] - corners[2] - corners[1] + corners[0]) / (4 * h**2))
    np.testing.assert_allclose(bend[0, 1], wanted, rtol=1e-8)


def test_differences_by_c_stay_where_scipy_has_room_for_its_coefficients():
    """Beyond it SciPy writes past its arrays, which ended the process."""
    for function, c in ((sp.pro_cv, 150.0), (sp.obl_cv, 150.0)):
        slope = (function(0, 2, c + 0.01) - function(0, 2, c - 0.01)) / 0.02
        given = fg.grad(lambda c, function=function: function(0, 2, c))(c)
        np.testing.assert_allclose(given, slope, rtol=1e-6)
        assert np.isnan(fg.grad(lambda c, function=function: function(0, 2, c))(279.5))


@pytest.mark.parametrize(
    "point",
    [(2.0, 0.01, 0.01), (10.0, 0.1, 0.01), (7.0, 0.5, 0.3), (15.0, 1.0, 1e-8), (1.0, 3.0, 0.2)],
)
def test_slopes_of_the_voigt_profile_do_not_cancel_in_its_wings(point):
    """The slope of Faddeeva's function there was the difference of nearly equal terms."""

    def profile(x, sigma, gamma):
        z = (x + 1j * gamma) / (sigma * mpmath.sqrt(2))
        w = mpmath.exp(-z * z) * mpmath.erfc(-1j * z)
        return mpmath.re(w) / (sigma * mpmath.sqrt(2 * mpmath.pi))

    with mpmath.workdps(200):
        for k in range(3):
            wanted = mpmath.diff(profile, point, tuple(int(i == k) for i in range(3)))
            given = fg.grad(sp.voigt_profile, k)(*point)
            np.testing.assert_allclose(given, float(wanted), rtol=1e-11)


@pytest.mark.parametrize("z", [11.0 + 3j, -12.0 + 0j, 3.0 - 11j, 12.0 - 3j, 1e4 + 1j])
def test_the_slope_of_faddeevas_function_does_not_cancel_far_away(z):
    given = fg.jvp(sp.wofz, (np.complex128(z),), (np.complex128(1.0),))[1]
    with mpmath.workdps(60):
        folded = -z if z.imag < 0 else z
        q = mpmath.mpf(1) / (2 * mpmath.mpc(folded) ** 2)
        series = sum(mpmath.fac2(2 * k - 1) * (2 * k + 1) * q**k for k in range(40))
        wanted = -1j / mpmath.sqrt(mpmath.pi) * series * 2 * q
        if z.imag < 0:
            wanted -= 4 * mpmath.mpc(z) * mpmath.exp(-(mpmath.mpc(z) ** 2))
    np.testing.assert_allclose(given, complex(wanted), rtol=1e-11)


@pytest.mark.parametrize("x", [-2.5, -0.3, -0.2, -1e-8, 0.0, 1e-8, 0.01, 0.4, 0.6])
def test_the_slope_of_the_zeta_function_holds_near_zero(x):
    """The functional equation is a zero times a pole there: digits cancelled, and 0 had none."""
    for function in (sp.zetac, sp.zeta):
        if np.isfinite(function(x)):
            wanted = float(mpmath.zeta(x, 1, 1))
            np.testing.assert_allclose(fg.grad(function)(x), wanted, rtol=2e-13)


@pytest.mark.parametrize("point", [(0.5, 1.0, 100.3), (0.5, 3.5, 100.3), (0.1, 0.7, 30.0)])
def test_wrights_function_of_large_x_by_its_parameters(point):
    """The steps of the differences were longer than the way over which it changes."""

    def wright(a, b, x):
        terms = (
            mpmath.mpf(x) ** k / mpmath.factorial(k) * mpmath.rgamma(a * k + b) for k in range(300)
        )
        return mpmath.fsum(terms)

    with mpmath.workdps(40):
        for k in (0, 1):
            wanted = mpmath.diff(wright, point, (1 - k, k, 0))
            given = fg.grad(sp.wright_bessel, k)(*point)
            np.testing.assert_allclose(given, float(wanted), rtol=1e-11)
            given = fg.grad(sp.log_wright_bessel, k)(*point)
            np.testing.assert_allclose(given, float(wanted / wright(*point)), rtol=1e-11)


def test_at_poles_far_out_and_at_ends_derivatives_are_those_of_the_values():
    """Each was wrong, or not a number, where the value was right."""
    struve_slope = lambda v, x: mpmath.struveh(v - 1, x) - mpmath.mpf(v) / x * mpmath.struveh(v, x)
    exact = {
        (sp.poch, 0, (-3.0, 0.5)): mpmath.gamma(-2.5) * -6,  # Γ(z + m), and (1/Γ)' = -3! there
        (sp.poch, 0, (-3.0, 2.0)): -5,
        (sp.poch, 0, (-3.0, 5.0)): -6,
        (sp.struve, 1, (2.0, 3e5)): struve_slope(2, 300000),
        (sp.struve, 1, (3.7, 2e4)): struve_slope(mpmath.mpf(3.7), 20000),
        (sp.voigt_profile, 0, (0.7, 0.0, 0.4)): -0.56 / (mpmath.pi * 0.65**2),
        (sp.voigt_profile, 2, (0.7, 0.0, 0.4)): 0.33 / (mpmath.pi * 0.65**2),
        (sp.spence, 0, (2.5520905150930036e-11,)): mpmath.log(2.5520905150930036e-11),
        (sp.xlog1py, 0, (0.002, 2.7706829285025367e-11)): mpmath.log1p(2.7706829285025367e-11),
        (sp.powm1, 1, (4.4e-7, 2.43)): mpmath.mpf(4.4e-7) ** 2.43 * mpmath.log(4.4e-7),
        (sp.eval_chebyt, 0, (-2.0, 278.0)): mpmath.acosh(278) * mpmath.sinh(-2 * mpmath.acosh(278)),
        (sp.eval_legendre, 0, (-1.0, 74.0)): -mpmath.log(37.5),
    }
    for (function, k, args), wanted in exact.items():
        found = fg.grad(function, k)(*args)
        assert found == pytest.approx(float(wanted), rel=1e-10), (function, k, args)
    assert fg.grad(sp.voigt_profile, 1)(0.7, 0.0, 0.4) == 0.0
    assert fg.grad(fg.grad(sp.voigt_profile, 1), 1)(0.7, 0.0, 0.4) == pytest.approx(
        fg.grad(fg.grad(sp.voigt_profile))(0.7, 0.0, 0.4), rel=1e-12
    )  # the heat equation
