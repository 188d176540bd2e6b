"""Distributions that were refused, or gave bare errors, against differences of SciPy's own values.

Wallenius' and those of several variables; the distribution function of normal variables; moments
of distributions that have no formula for them.
"""

import mpmath
import numpy as np
import pytest
import scipy.stats as st

import funcgrad as fg
from funcgrad.errors import UnsupportedCallError
from funcgrad.scipy.stats.formulas import DISCRETE, ROWS
from funcgrad.scipy.stats.normal_orthant import _probability

RNG = np.random.default_rng(1)
TWO = np.array([[1.0, 0.4], [0.4, 2.0]])


def spread(d):
    a = RNG.normal(size=(d, d))
    return a @ a.T + np.eye(d)


def differences(f, x, h=1e-5):
    x = np.asarray(x, float)
    found = np.zeros(x.size)
    for i in range(x.size):

        def at(step, i=i):
            moved = x.copy().reshape(-1)
            moved[i] += step
            return f(moved.reshape(x.shape) if x.ndim else float(moved[0]))

        found[i] = (8 * (at(h) - at(-h)) - at(2 * h) + at(-2 * h)) / (12 * h)
    return found.reshape(x.shape)


def check(f, *args):
    for k, arg in enumerate(args):
        value, slope = fg.value_and_grad(f, k)(*args)
        assert value == f(*args)
        wanted = differences(lambda t, k=k: f(*args[:k], t, *args[k + 1 :]), arg)
        if np.ndim(arg) == 2 and np.array_equal(arg, np.transpose(arg)):
            wanted = (wanted + wanted.T) / 2
        np.testing.assert_allclose(slope, wanted, rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(fg.jit(fg.grad(f, k))(*args), slope, rtol=1e-9, atol=1e-11)


CASES = {
    "matrix_t": (
        lambda x, m, r, c, df: st.matrix_t.logpdf(x, m, r, c, df),
        (RNG.normal(size=(2, 3)), RNG.normal(size=(2, 3)), TWO, spread(3), 4.5),
    ),
    "vonmises_fisher": (
        lambda k: st.vonmises_fisher(np.array([0.6, 0.0, 0.8]), k).logpdf([1.0, 0.0, 0.0]),
        (2.5,),
    ),
    "normal_inverse_gamma": (
        lambda *a: st.normal_inverse_gamma.pdf(*a),
        (0.3, 0.7, 0.1, 1.5, 3.5, 2.5),
    ),
    "normal_inverse_gamma.mean": (
        lambda *a: np.sum(st.normal_inverse_gamma.mean(*a)[1]),
        (0.1, 1.5, 3.5, 2.5),
    ),
    "multivariate_normal.cdf": (
        lambda x, m, c: st.multivariate_normal.cdf(x, m, c),
        (np.array([0.3, -0.2]), np.array([0.1, 0.2]), TWO),
    ),
    "multivariate_normal.logcdf": (
        lambda x, c: np.sum(st.multivariate_normal.logcdf(x, None, c)),
        (RNG.normal(size=(3, 2)), TWO),
    ),
    "nchypergeom_wallenius.cdf": (lambda w: st.nchypergeom_wallenius.cdf(3, 20, 7, 12, w), (0.4,)),
    "nchypergeom_wallenius.logsf": (
        lambda w: st.nchypergeom_wallenius.logsf(3, 20, 7, 12, w),
        (2.4,),
    ),
    **{
        f"poisson_binom.{m}": (
            lambda p, m=m: getattr(st.poisson_binom, m)(2, p),
            (np.array([0.2, 0.5, 0.7, 0.9]),),
        )
        for m in ("pmf", "logpmf", "cdf", "logcdf", "sf", "logsf")
    },
    **{
        f"poisson_binom.{m}": (
            lambda p, m=m: getattr(st.poisson_binom, m)(p),
            (np.array([0.2, 0.5, 0.7, 0.9]),),
        )
        for m in ("mean", "var", "std")
    },
}


@pytest.mark.parametrize("name", CASES)
def test_derivatives_are_those_of_scipys_values(name):
    if not hasattr(st, name.split(".")[0]):
        pytest.skip("this release of SciPy lacks it")
    f, args = CASES[name]
    check(f, *args)


@pytest.mark.parametrize("d", [3, 4, 5])
def test_derivatives_of_the_probability_of_several_normal_variables(d):
    """SciPy's values are estimates by random points, so the deterministic form is the oracle."""
    x, centre, cov = RNG.normal(size=d) + 0.5, RNG.normal(size=d) / 4, spread(d)
    exact = float(_probability(x, centre, cov))
    assert abs(st.multivariate_normal.cdf(x, centre, cov) - exact) < 1e-4
    by_x, by_cov = fg.grad(lambda x, c: st.multivariate_normal.cdf(x, centre, c), (0, 1))(x, cov)
    wanted = differences(lambda x: float(_probability(x, centre, cov)), x)
    np.testing.assert_allclose(by_x, wanted, rtol=1e-8, atol=1e-11)
    # the heat equation: the derivative by the covariances is half the second one by the places
    bend = fg.hessian(lambda x: st.multivariate_normal.cdf(x, centre, cov))(x)
    np.testing.assert_allclose(by_cov, bend / 2, rtol=1e-7, atol=1e-10)


def test_the_probability_of_independent_and_nearly_equal_variables():
    x = np.array([0.3, -0.2, 0.7])
    product = np.prod(st.norm.cdf(x))
    np.testing.assert_allclose(_probability(x, np.zeros(3), np.eye(3)), product, rtol=1e-14)
    tied = np.array([[1.0, 1 - 1e-9], [1 - 1e-9, 1.0]])
    slope = fg.grad(lambda x: st.multivariate_normal.cdf(x, None, tied))(np.array([0.1, 0.9]))
    np.testing.assert_allclose(slope, [st.norm.pdf(0.1), 0.0], atol=1e-14)


@pytest.mark.parametrize("point", [(3, 20, 7, 12, 0.4), (7, 20, 7, 12, 0.4), (0, 20, 7, 12, 4.0)])
def test_wallenius_masses_against_mpmath(point):
    k, m, n, draws, odds = point

    def mass(w):
        x, y = k, draws - k
        rest = w * (n - x) + (m - n - y)
        whole = mpmath.quad(
            lambda t: (1 - t ** (w / rest)) ** x * (1 - t ** (1 / rest)) ** y,
            [0, 0.001, 0.01, 0.1, 0.3, 0.6, 0.9, 1],
        )
        return mpmath.binomial(n, x) * mpmath.binomial(m - n, y) * whole

    with mpmath.workdps(30):
        wanted = float(mpmath.diff(mass, mpmath.mpf(odds)))
    found = fg.grad(lambda w: st.nchypergeom_wallenius.pmf(k, m, n, draws, w))(odds)
    np.testing.assert_allclose(found, wanted, rtol=1e-11)


def test_what_is_estimated_by_random_points_is_refused_by_name():
    with pytest.raises(UnsupportedCallError, match=r"multivariate_t\.cdf has no derivative"):
        fg.grad(lambda x: st.multivariate_t.cdf(x, None, TWO, 3.5))(np.zeros(2))
    with pytest.raises(UnsupportedCallError, match="takes no lower_limit"):
        fg.grad(lambda x: st.multivariate_normal.cdf(x, None, TWO, lower_limit=-x))(np.ones(2))


# ------------------------------------------------------------------------------------ moments

INFINITE = {"cauchy", "halfcauchy", "levy", "levy_l", "landau", "skewcauchy", "foldcauchy", "alpha"}
NO_INTEGRAL = {"wrapcauchy"}
WHOLE = {"irwinhall", "ksone", "kstwo"}
SLOW = {"studentized_range", "levy_stable", "vonmises_line", "recipinvgauss", "genhyperbolic"}
FEW_DIGITS = {"crystalball", "dpareto_lognorm", "kappa3", "kappa4", "rel_breitwigner"}
CONTINUOUS = sorted(set(ROWS) - set(DISCRETE) - INFINITE - NO_INTEGRAL - WHOLE - SLOW)


@pytest.mark.parametrize("method", ["mean", "var", "entropy"])
@pytest.mark.parametrize("name", CONTINUOUS)
@pytest.mark.filterwarnings("ignore")
def test_moments_have_the_derivatives_of_scipys_values(name, method):
    moment, shapes = getattr(getattr(st, name), method), ROWS[name].shapes
    with np.errstate(all="ignore"):
        for k in range(len(shapes)):

            def of(t, k=k):
                return moment(*shapes[:k], t, *shapes[k + 1 :])

            value, slope = fg.value_and_grad(of)(shapes[k])
            np.testing.assert_array_equal(value, of(shapes[k]))
            if name in FEW_DIGITS and np.isnan(slope):  # said so, not wrong
                continue
            h = 1e-3 * max(abs(shapes[k]), 0.1)
            wanted = differences(of, shapes[k], h)
            size = max(abs(float(value)), 1e-2)
            np.testing.assert_allclose(slope, wanted, rtol=2e-6, atol=1e-8 * size)


@pytest.mark.parametrize("name", ["fisk", "burr", "burr12", "lomax"])
def test_moments_that_are_infinite_have_no_derivative(name):
    shapes = (1.5, 0.9)[: len(ROWS[name].shapes)]
    with np.errstate(all="ignore"):
        assert np.isnan(fg.grad(lambda c: getattr(st, name).var(c, *shapes[1:]))(shapes[0]))


# ------------------------------------------------------------- places, and what is refused by name


@pytest.mark.parametrize("name", ["dgamma", "dweibull"])
def test_a_quantile_moves_with_the_location_where_the_density_is_zero(name):
    """The implicit derivative is 0/0 at the median, where these have no density."""
    dist, shapes = getattr(st, name), ROWS[name].shapes
    assert fg.grad(lambda m: dist.median(*shapes, loc=m))(0.7) == 1.0
    assert fg.jvp(lambda m: dist.ppf(0.5, *shapes, loc=m), (0.7,), (1.0,))[1] == 1.0
    assert fg.grad(lambda s: dist.ppf(0.5, *shapes, scale=s))(1.5) == 0.0


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda a: st.gamma.rvs(a, size=3), r"gamma\.rvs .* call scipy\.stats\.gamma\.ppf\(u"),
        (lambda a: st.gamma(a).rvs(), r"gamma\.rvs .* call scipy\.stats\.gamma\.ppf\(u"),
        (lambda a: st.poisson.rvs(a), r"a drawn count has no derivative; .*poisson\.logpmf"),
        (
            lambda a: st.dlaplace.expect(lambda k: k, args=(a,)),
            r"times scipy\.stats\.dlaplace\.pmf",
        ),
        (lambda a: st.kappa4.support(a, 0.3)[0], r"kappa4\.support cannot"),
        (lambda a: st.poisson_binom.ppf(0.4, a * np.ones(3) / 9), r"poisson_binom\.ppf has no"),
    ],
)
def test_what_cannot_be_traced_says_what_to_take(call, text):
    with pytest.raises(UnsupportedCallError, match=text):
        fg.grad(lambda a: fg.numpy.sum(call(a)))(2.5)


def test_draws_of_a_location_and_scale_go_on_as_they_are():
    draw = lambda m: st.norm.rvs(m, 2.0, size=3, random_state=0).sum()
    assert fg.value_and_grad(draw)(0.5) == (draw(0.5), 3.0)
