"""Distributions whose integrals SciPy finds by quadrature or in compiled code, against mpmath."""

import mpmath as mp
import numpy as np
import pytest
import scipy.stats as st

import funcgrad as fg
from funcgrad.errors import NotDifferentiableError
from funcgrad.testing import check_grads

HALF = mp.mpf(1) / 2


def slope(f, args, k):
    """The partial derivative by operand k."""
    step = mp.mpf(10) ** -5 * max(1, abs(args[k]))

    def at(t):
        return f(*(mp.mpf(t if i == k else a) for i, a in enumerate(args)))

    x = mp.mpf(args[k])
    rise = 8 * (at(x + step) - at(x - step)) - (at(x + 2 * step) - at(x - 2 * step))
    return float(rise / (12 * step))


def hyperbolic(x, p, a, b, side=1):
    """A normal variable whose variance has the generalised inverse Gaussian distribution."""
    d = mp.sqrt(a * a - b * b)
    peak = d**p / (2 * mp.besselk(p, d))

    def f(u):
        w = mp.exp(u)
        return w**p * mp.exp(-(1 / w + d * d * w) / 2) * mp.ncdf(side * (x - b * w) / mp.sqrt(w))

    return peak * mp.quad(f, [-6, -3, -1, 1, 3, 6])


def hyperbolic_rest(x, p, a, b):
    return hyperbolic(x, p, a, b, -1)


def inverse_gauss(x, p, b):
    peak = 2 * mp.besselk(p, b)
    return mp.quad(lambda t: t ** (p - 1) * mp.exp(-b * (t + 1 / t) / 2) / peak, [0, x / 4, x])


def gauss(x, a, b, c, z):
    peak = mp.beta(a, b) * mp.hyp2f1(c, a, a + b, -z)
    return mp.quad(
        lambda t: t ** (a - 1) * (1 - t) ** (b - 1) * (1 + z * t) ** -c / peak, [0, x / 2, x]
    )


def pearson(x, skew):
    a, u = 4 / skew**2, 1 + skew * x / 2
    found = mp.gammainc(a, 0, a * u, regularized=True)
    return found if skew > 0 else 1 - found


def kappa4(x, h, k):
    return (1 - h * (1 - k * x) ** (1 / k)) ** (1 / h)


EXACT = [
    ("pearson3", "cdf", pearson, [(-5, 0.1), (-3, 0.3), (2, -0.4), (-0.3, 5.0)]),
    ("genhyperbolic", "cdf", hyperbolic, [(-9.0, 0.5, 1.5, -0.5)]),
    ("genhyperbolic", "sf", hyperbolic_rest, [(3.0, -1.0, 1.0, 0.6)]),
    ("norminvgauss", "cdf", lambda x, a, b: hyperbolic(x, -HALF, a, b), [(-9.0, 1.25, 0.5)]),
    ("geninvgauss", "cdf", inverse_gauss, [(2.0, 2.3, 1.5), (0.5, -3.0, 0.1)]),
    ("gausshyper", "cdf", gauss, [(0.01, 3.0, 2.0, 1.5, 0.8), (0.5, 3.0, 2.0, 2.5, -0.95)]),
    ("kappa4", "cdf", kappa4, [(-0.5, -0.4, 1e-3), (1.0, 0.4, -1.5)]),
]


@pytest.mark.parametrize(
    ("name", "method", "exact", "args"),
    [
        pytest.param(name, method, f, args, id=f"{name}.{method}{args}")
        for name, method, f, places in EXACT
        for args in places
    ],
)
def test_derivatives_are_exact_in_tails_and_near_limits(name, method, exact, args):
    function = getattr(getattr(st, name), method)
    given = tuple(map(float, args))
    found = fg.grad(function, tuple(range(len(given))))(*given)
    with mp.workdps(20):
        wanted = [slope(exact, args, k) for k in range(len(given))]
    np.testing.assert_allclose(found, wanted, rtol=2e-12)


def test_shapes_with_a_limit_have_the_derivative_of_the_limit_there():
    """SciPy has a branch for that one value, in which nothing depends on the shape."""
    x = 0.5
    by_skew = fg.grad(st.pearson3.logpdf, 1)(x, 0.0)
    assert by_skew == pytest.approx((x**3 - 3 * x) / 6, rel=1e-14)
    assert fg.grad(st.pearson3.cdf, 1)(x, 0.0) == pytest.approx(
        (1 - x**2) / 6 * st.norm.pdf(x), rel=1e-13
    )
    by_h = fg.grad(st.kappa4.logcdf, 1)(x, 0.0, 0.0)  # log F = log(1 - h e) / h, e = exp(-x)
    assert by_h == pytest.approx(-np.exp(-2 * x) / 2, rel=1e-14)
    by_k = fg.grad(st.kappa4.logcdf, 2)(x, 0.0, 0.0)
    assert by_k == pytest.approx(np.exp(-x) * x**2 / 2, rel=1e-14)


# --------------------------------------------------------------------------- whole numbers


@pytest.mark.parametrize(("name", "counts"), [("irwinhall", (1, 2, 5)), ("ksone", (1, 5, 30)),
                                              ("kstwo", (1, 2, 6, 20, 100))])  # fmt: skip
@pytest.mark.parametrize("method", ["pdf", "logpdf", "cdf", "sf", "logcdf", "ppf", "isf"])
def test_distributions_of_counts_of_samples(name, counts, method):
    dist = getattr(st, name)
    levels = np.array([0.05, 0.4, 0.7, 0.95])
    for n in counts:
        place = levels if method in ("ppf", "isf") else dist.ppf(levels, n)

        def f(x, n=n):
            return getattr(dist, method)(x, n)

        np.testing.assert_array_equal(fg.vjp(f, place)[0], f(place))
        if (name, method[-3:]) != ("kstwo", "pdf"):  # SciPy's own is a difference of values
            check_grads(f, (place,), order=1)
    with pytest.raises(NotDifferentiableError, match="whole number"):
        fg.grad(lambda n: getattr(dist, method)(0.4, n))(5.0)


def durbin(n, x):
    """n!/nⁿ (Hⁿ)_kk (Marsaglia, Tsang and Wang 2003), in exact arithmetic."""
    k = int(mp.ceil(n * x))
    h, m = k - n * x, 2 * k - 1
    matrix = mp.matrix(m, m)
    for i in range(m):
        for j in range(m):
            matrix[i, j] = 1 / mp.factorial(i - j + 1) if i - j + 1 >= 0 else 0
    for i in range(m):
        edge = (1 - h ** (i + 1)) / mp.factorial(i + 1)
        matrix[i, 0] = matrix[m - 1, m - 1 - i] = edge
    matrix[m - 1, 0] = (1 - 2 * h**m + max(2 * h - 1, 0) ** m) / mp.factorial(m)
    return mp.factorial(n) / mp.mpf(n) ** n * (matrix**n)[k - 1, k - 1]


@pytest.mark.parametrize(("n", "x"), [(20, 0.19), (100, 0.117), (400, 0.052), (3000, 0.0131)])
def test_the_density_of_kolmogorovs_distance_is_exact(n, x):
    """SciPy's own is a difference of values, and of more than 140 samples an approximation."""
    with mp.workdps(40):
        if n < 1000:
            first = float(mp.diff(lambda t: durbin(n, t), x, h=mp.mpf(10) ** -12))
            second = float(mp.diff(lambda t: durbin(n, t), x, 2, h=mp.mpf(10) ** -10))
        else:  # the series of Pelz and Good there; Durbin's matrix is asked
            from funcgrad.scipy.stats.whole_numbers import _durbin

            first, second = _durbin(n, x)
    allowed = 1e-11 if n < 1000 else 1e-6
    assert fg.grad(st.kstwo.cdf)(x, n) == pytest.approx(first, rel=allowed)
    assert fg.grad(fg.grad(st.kstwo.cdf))(x, n) == pytest.approx(second, rel=1e3 * allowed)


# ------------------------------------------------------------------------- stable, Landau


def stable(x, alpha, beta):
    """The density in Nolan's S0, by the characteristic function."""

    def bent(t):
        if alpha == 1:
            return 2 / mp.pi * t * mp.log(t)
        return mp.tan(mp.pi * alpha / 2) * (t - t**alpha)

    top = mp.mpf(45) ** (1 / alpha)
    ends = [0, 0.01, *(0.01 + top * k / 24 for k in range(1, 25))]
    f = lambda t: mp.re(mp.exp(-1j * x * t - t**alpha - 1j * beta * bent(t)))
    return mp.quad(f, ends) / mp.pi


@pytest.mark.parametrize(
    ("x", "alpha", "beta"),
    [(-2.0, 1.5, 0.5), (3.0, 1.0, 0.5), (5.0, 1.002, 0.9), (-4.0, 1.8, -1.0)],
)
def test_stable_densities_by_their_index_too(x, alpha, beta):
    """Where the index is nearly 1 SciPy takes it for 1, so its values are no test of it."""
    from funcgrad.scipy.stats.stable import _sums

    args = x, alpha, beta
    found = fg.grad(lambda *a: _sums(*a)[0], (0, 1, 2))(*args)
    with mp.workdps(18):
        step = mp.mpf(10) ** -3 / 2
        for k in (1, 2)[: 1 + (abs(beta) < 1)]:

            def at(t, k=k):
                return stable(*(mp.mpf(t if i == k else a) for i, a in enumerate(args)))

            rise = 8 * (at(args[k] + step) - at(args[k] - step))
            rise -= at(args[k] + 2 * step) - at(args[k] - 2 * step)
            assert float(found[k]) == pytest.approx(float(rise / (12 * step)), rel=1e-8)
        density = float(stable(*map(mp.mpf, args)))
    assert fg.grad(lambda x: _sums(x, alpha, beta)[1])(x) == pytest.approx(density, rel=1e-13)


@pytest.mark.parametrize("method", ["pdf", "logpdf", "cdf", "sf", "logsf", "ppf"])
def test_stable_distributions_are_differentiated_in_scipys_parametrisation(method):
    place = [0.75, 0.95] if method == "ppf" else [1.2, 2.9]
    args = np.array(place), 1.7, -0.5, 0.3, 1.4
    function = getattr(st.levy_stable, method)
    np.testing.assert_array_equal(fg.vjp(function, *args)[0], function(*args))
    check_grads(function, args, order=1)


def test_what_a_light_tail_of_a_stable_distribution_loses_is_not_a_number():
    assert np.isnan(fg.grad(lambda b: st.levy_stable.logpdf(-9.0, 1.3, b))(1.0))
    assert np.isnan(fg.grad(lambda b: st.levy_stable.cdf(-9.0, 1.3, b))(1.0))
    assert np.isnan(fg.grad(lambda a: st.levy_stable.pdf(1.0, a, 0.5))(1.0))  # S1 tears there


@pytest.mark.parametrize("x", [-4.0, -1.5, 0.3, 0.4, 20.0, 1e6])
def test_landaus_slope_in_both_tails(x):
    def density(y):
        place = mp.pi / 2 * y + mp.log(mp.pi / 2)
        middle = mp.exp(-1 - place)

        def f(v):
            s = middle + 1j * v if place < 1 else None
            if s is not None:
                return mp.re(mp.exp(place * s + s * mp.log(s)))
            return mp.exp(-v * mp.log(v) - place * v) * mp.sin(mp.pi * v) if v else 0

        unit = max(1, mp.sqrt(middle)) if place < 1 else 1 / (1 + place)
        ends = [0, *(unit * k for k in (0.2, 0.5, 1, 2, 3, 4, 6, 8, 10, 13, 17, 22, 30, 45, 60))]
        return mp.quad(f, ends) / 2

    with mp.workdps(25):
        wanted = float(mp.diff(density, x, h=mp.mpf(10) ** -7) / density(mp.mpf(x)))
    assert fg.grad(st.landau.logpdf)(x) == pytest.approx(wanted, rel=1e-9)


# ----------------------------------------------------------------------- studentised range


def test_the_studentised_range_by_all_of_its_parameters():
    dist, args = st.studentized_range, (3.0, 3.0, 10.0)
    assert fg.vjp(dist.cdf, *args)[0] == dist.cdf(*args)
    by_place, by_groups, by_freedom = fg.grad(dist.cdf, (0, 1, 2))(*args)
    assert by_place == pytest.approx(dist.pdf(*args), rel=1e-12)

    for k, found in ((1, by_groups), (2, by_freedom)):
        step = np.eye(3)[k] * 0.004 * args[k]
        moved = [dist.cdf(*(args + n * step)) for n in (-2, -1, 1, 2)]
        rise = (8 * (moved[2] - moved[1]) - (moved[3] - moved[0])) / (12 * step[k])
        assert found == pytest.approx(rise, rel=1e-6)


def test_the_range_of_a_known_deviation_by_the_number_of_groups():
    def slope(q, k):
        def f(z):
            mass = mp.ncdf(z + q) - mp.ncdf(z)
            return mp.npdf(z) * mass ** (k - 1) * (1 + k * mp.log(mass))

        return mp.quad(f, [-9, -4, -1, 1, 4, 8])

    found = fg.grad(st.studentized_range.cdf, 1)(3.0, 3.5, np.inf)
    assert found == pytest.approx(float(slope(mp.mpf(3), mp.mpf(3.5))), rel=1e-12)


@pytest.mark.parametrize(
    "args", [(0.5, 2.5, 3.0), (4.0, 3.0, 0.7), (30.0, 10.0, 2.0), (6.0, 50.0, 30.0), (3, 4, np.inf)]
)
def test_the_sum_for_the_studentised_range_is_scipys_integral(args):
    dist = st.studentized_range
    args = tuple(map(float, args))
    assert fg.jit(dist.cdf)(*args) == pytest.approx(dist.cdf(*args), rel=1e-11)
    assert fg.jit(dist.pdf)(*args) == pytest.approx(dist.pdf(*args), rel=1e-10)
