"""The distributions of `scipy.stats` on traced values."""

import mpmath
import numpy as np
import pytest
import scipy.stats as st
from older import older_may_refuse

import funcgrad as fg
from funcgrad.errors import NotDifferentiableError, UnsupportedCallError
from funcgrad.scipy.stats.distributions import record
from funcgrad.scipy.stats.families import FAMILIES
from funcgrad.scipy.stats.formulas import DISCRETE, ROWS
from funcgrad.testing import check_grads

LEVELS = np.array([1e-3, 0.2, 0.5, 0.9, 0.999])
QUANTILES = ("ppf", "isf")
INTEGRALS = ("cdf", "sf", "logcdf", "logsf")
CONTINUOUS = [
    (name, method)
    for name in FAMILIES
    for method in ("pdf", "logpdf", *INTEGRALS, *QUANTILES)
    if record(name, method) is not None
]
MASSES = [
    (name, method)
    for name in DISCRETE
    for method in ("pmf", "logpmf", *INTEGRALS)
    if record(name, method) is not None and name != "hypergeom"
]
TERMS = pytest.mark.parametrize(("name", "method"), CONTINUOUS)


def program(name, method):
    """The method, and where to call it: a place, the shapes, and the location and scale."""
    dist, row = getattr(st, name), FAMILIES[name]
    rest = (*row.shapes, 0.3, 1.4)
    place = LEVELS if method in QUANTILES else dist.ppf(LEVELS, *rest)
    return getattr(dist, method), (place, *rest)


def test_the_forty_usual_distributions_are_there():
    wanted = (
        "norm t gamma beta chi2 f expon laplace logistic cauchy uniform lognorm weibull_min "
        "weibull_max gumbel_r gumbel_l pareto rayleigh maxwell halfnorm halfcauchy invgamma "
        "invgauss genextreme genpareto triang truncnorm vonmises skewnorm gennorm powerlaw "
        "binom poisson geom nbinom bernoulli hypergeom betabinom"
    )
    assert not set(wanted.split()) - set(ROWS)
    assert len(ROWS) >= 40


@TERMS
def test_values_are_scipys_bit_for_bit_and_derivatives_those_of_the_values(name, method):
    function, args = program(name, method)
    wanted = function(*args)
    np.testing.assert_array_equal(fg.vjp(function, *args)[0], wanted)
    check_grads(function, args, order=1)


@pytest.mark.parametrize("name", FAMILIES)
def test_second_order(name):
    function, args = program(name, "logpdf")
    check_grads(function, (args[0][1:3] + 0.01, *args[1:]), order=2)
    if FAMILIES[name].cdf is not None and name not in ("skewnorm",):
        function, args = program(name, "ppf")
        check_grads(lambda *a: function(args[0][1:2], *a), args[1:], order=2, modes=("rev",))


@TERMS
def test_under_jit_values_are_scipys_to_a_few_ulp(name, method):
    function, args = program(name, method)
    wanted = function(*args)
    found = fg.jit(function)(*args)
    # cancellation near a median of 0, and in logarithms of what is nearly 1
    # SciPy's series for vonmises is 1/2 and a sum that cancels: ours are nearer to exact values
    small = 4e-15 if name == "vonmises" else 1e-15
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=small)


@pytest.mark.parametrize(("name", "method"), CONTINUOUS[::5])
def test_vmap_is_a_loop(name, method):
    function, args = program(name, method)
    found = fg.vmap(function, in_axes=(0, *(None,) * (len(args) - 1)))(*args)
    np.testing.assert_array_equal(found, function(*args))


@pytest.mark.parametrize(("name", "method"), MASSES)
def test_masses_and_their_sums(name, method):
    dist, shapes = getattr(st, name), DISCRETE[name].shapes
    places = dist.ppf(LEVELS, *shapes)
    moving = [k for k, s in enumerate(shapes) if s != int(s)]  # counts have no derivative

    def f(*given):
        whole = list(shapes)
        for k, x in zip(moving, given, strict=True):
            whole[k] = x
        return getattr(dist, method)(places, *whole)

    args = tuple(shapes[k] for k in moving)
    np.testing.assert_array_equal(fg.vjp(f, *args)[0], f(*args))
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(fg.jit(f)(*args), f(*args), rtol=1e-12)
    if np.isfinite(f(*args)).all():
        check_grads(f, args, order=1)


@pytest.mark.parametrize("name", ROWS)
def test_frozen_distributions_keywords_and_moments(name):
    dist, shapes = getattr(st, name), ROWS[name].shapes
    method = "logpmf" if name in DISCRETE else "logpdf"
    place = dist.ppf(0.4, *shapes) + (name not in DISCRETE) * 0.01
    moving = [k for k, s in enumerate(shapes) if s != int(s)]

    def frozen(moved, *given):
        whole = list(shapes)
        for k, x in zip(moving, given, strict=True):
            whole[k] = x
        # a count has no derivative in its location
        options = {} if name in DISCRETE else {"loc": moved}
        return moved + getattr(dist(*whole, **options), method)(place)

    check_grads(frozen, (0.0, *(shapes[k] for k in moving)), order=1)
    for moment in ("mean", "var", "std", "entropy"):
        stated = getattr(ROWS[name], "var" if moment == "std" else moment)
        if stated is None or not moving:  # averages: `test_more_distributions`
            continue
        function = getattr(dist, moment)
        check_grads(
            lambda *given, function=function: function(*given, loc=0.5), shapes, order=1
        ) if len(moving) == len(shapes) else None


# ------------------------------------------------------------------------------------ tails


def precise(f, x):
    with mpmath.workdps(60):
        return float(mpmath.diff(f, mpmath.mpf(x), h=mpmath.mpf(10) ** -25))


def exact_ndtr(x):
    return mpmath.erfc(-x / mpmath.sqrt(2)) / 2


def exact_truncnorm(a, mass):
    return -((a + mpmath.mpf(0.5)) ** 2) / 2 - mpmath.log(mass)


TAILS = {
    "norm logcdf": (st.norm.logcdf, lambda x: mpmath.log(exact_ndtr(x)), -200.0),
    "norm logsf": (st.norm.logsf, lambda x: mpmath.log(exact_ndtr(-x)), 200.0),
    "logistic logcdf": (st.logistic.logcdf, lambda x: -mpmath.log(1 + mpmath.exp(-x)), -800.0),
    "logistic logsf": (st.logistic.logsf, lambda x: -mpmath.log(1 + mpmath.exp(x)), -40.0),
    "expon logcdf": (st.expon.logcdf, lambda x: mpmath.log(-mpmath.expm1(-x)), 1e-12),
    "expon logcdf right": (st.expon.logcdf, lambda x: mpmath.log(-mpmath.expm1(-x)), 100.0),
    "gumbel_r logcdf": (st.gumbel_r.logcdf, lambda x: -mpmath.exp(-x), -20.0),
    "gumbel_r logsf": (
        st.gumbel_r.logsf,
        lambda x: mpmath.log(-mpmath.expm1(-mpmath.exp(-x))),
        300.0,
    ),
    "laplace logcdf": (st.laplace.logcdf, lambda x: mpmath.log(mpmath.exp(x) / 2), -1000.0),
    "cauchy sf": (st.cauchy.sf, lambda x: mpmath.atan(1 / x) / mpmath.pi, 1e10),
    "t logpdf, many degrees of freedom": (
        lambda df: st.t.logpdf(2.0, df),
        lambda v: (
            mpmath.loggamma((v + 1) / 2)
            - mpmath.loggamma(v / 2)
            - mpmath.log(v * mpmath.pi) / 2
            - (v + 1) / 2 * mpmath.log1p(4 / v)
        ),
        100.0,
    ),
    "truncnorm far to the right": (
        lambda a: st.truncnorm.logpdf(a + 0.5, a, a + 1.0),
        lambda a: exact_truncnorm(a, exact_ndtr(-a) - exact_ndtr(-a - 1)),
        40.0,
    ),
    "truncnorm far to the left": (
        lambda a: st.truncnorm.logpdf(a + 0.5, a, a + 1.0),
        lambda a: exact_truncnorm(a, exact_ndtr(a + 1) - exact_ndtr(a)),
        -40.0,
    ),
    "genextreme near Gumbel's": (
        lambda c: st.genextreme.logpdf(1.5, c),
        lambda c: -((1 - c * mpmath.mpf(1.5)) ** (1 / c)) + (1 / c - 1) * mpmath.log(1 - c * 1.5),
        1e-7,
    ),
    "genpareto near the exponential": (
        lambda c: st.genpareto.logsf(1.5, c),
        lambda c: -mpmath.log(1 + c * mpmath.mpf(1.5)) / c,
        1e-9,
    ),
    "invgauss logsf": (
        lambda x: st.invgauss.logsf(x, 0.8),
        lambda x: mpmath.log(
            exact_ndtr(-(x / mpmath.mpf(0.8) - 1) / mpmath.sqrt(x))
            - mpmath.exp(2 / mpmath.mpf(0.8))
            * exact_ndtr(-(x / mpmath.mpf(0.8) + 1) / mpmath.sqrt(x))
        ),
        60.0,
    ),
}


@pytest.mark.parametrize("name", TAILS)
def test_derivatives_far_out_against_mpmath(name):
    function, exact, x = TAILS[name]
    wanted = precise(exact, x)
    for found in (fg.grad(function)(x), fg.jit(fg.grad(function))(x)):
        assert abs(found - wanted) <= 1e-10 * abs(wanted)


def test_at_the_limit_of_a_shape_there_is_a_derivative():
    assert fg.grad(lambda c: st.genpareto.logsf(2.0, c))(0.0) == 2.0
    assert np.isfinite(fg.grad(lambda c: st.genextreme.logpdf(1.5, c))(0.0))


def test_the_derivative_of_a_kinked_density_in_its_middle():
    assert fg.grad(st.laplace.cdf)(0.0) == 0.5
    assert fg.grad(lambda x: st.gennorm.sf(x, 1.5))(0.0) == -st.gennorm.pdf(0.0, 1.5)


# ---------------------------------------------------------------------------- edges, errors


def test_outside_the_support_nothing_moves():
    x = np.array([-1.0, 2.0])
    for method in ("pdf", "cdf", "sf"):
        assert fg.grad(lambda x, m=method: np.sum(getattr(st.uniform, m)(x)))(x).tolist() == [0, 0]
    assert fg.grad(lambda x: np.sum(st.gamma.logpdf(x, 2.0)))(np.array([-1.0, 1.0])).tolist() == [
        0.0,
        0.0,
    ]


def test_a_parameter_that_is_not_allowed_gives_nan_also_under_jit():
    f = lambda s: st.norm.logpdf(0.0, 0.0, s)
    assert np.isnan(fg.value_and_grad(f)(-1.0)[0])
    assert np.isnan(fg.jit(f)(-1.0))
    assert np.isnan(fg.jit(lambda a: st.gamma.cdf(1.0, a))(-1.0))


def test_a_count_has_no_derivative():
    with pytest.raises(NotDifferentiableError, match="count"):
        fg.grad(lambda k: st.poisson.logpmf(k, 2.0))(3.0)
    assert fg.grad(lambda mu: st.poisson.ppf(0.4, mu) * mu)(2.5) == st.poisson.ppf(0.4, 2.5)


@pytest.mark.parametrize("kappa", [0.3, 4.0, 45.0, 3000.0])
def test_the_integral_of_vonmises_by_its_concentration(kappa):
    def integral(k):
        density = lambda t: mpmath.exp(k * (mpmath.cos(t) - 1))
        whole = mpmath.quad(density, np.linspace(0, np.pi, 60).tolist())
        return mpmath.quad(density, np.linspace(0, 0.02, 20).tolist()) / (2 * whole)

    with mpmath.workdps(40):
        wanted = float(mpmath.diff(integral, kappa, h=mpmath.mpf(10) ** -12))
    found = fg.grad(lambda k: st.vonmises.cdf(0.02, k))(kappa)
    assert found == pytest.approx(wanted, rel=1e-9)
    turned = fg.grad(lambda k: st.vonmises.cdf(0.02 + 4 * np.pi, k))(kappa)
    assert turned == pytest.approx(wanted, rel=1e-9)


def test_the_integrals_of_hypergeom_are_sums_of_its_masses():
    k = np.arange(-1.0, 9.0)
    for m, n, draws in ((20.0, 7.0, 12.0), (12.0, 7.0, 8.0)):
        for method in ("cdf", "sf"):
            function = getattr(st.hypergeom, method)
            wanted = function(k, m, n, draws)
            found = fg.jit(function)(k, m, n, draws)
            np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-14)
    low = fg.grad(lambda n: st.hypergeom.cdf(3, 20.0, n, 12.0))(7.0)
    high = fg.grad(lambda n: st.hypergeom.sf(3, 20.0, n, 12.0))(7.0)
    assert low < 0 < high


def test_what_is_not_stated_is_a_named_error():
    with pytest.raises(UnsupportedCallError, match=r"poisson\.entropy has no deriv"):
        fg.grad(st.poisson.entropy)(0.5)


def test_draws_of_a_location_and_scale_have_the_derivative_of_the_draw():
    draw = lambda loc, scale: st.norm.rvs(loc, scale, random_state=3)
    z = draw(0.0, 1.0)
    assert fg.grad(draw, argnums=(0, 1))(0.5, 2.0) == (1.0, pytest.approx(z))


@pytest.mark.parametrize(
    ("name", "shapes"),
    [("norm", ()), ("gamma", (2.5,)), ("beta", (2.5, 1.5)), ("t", (3.5,)), ("chi2", (3.5,))],
)
@pytest.mark.peers
def test_log_densities_against_jax(name, shapes):
    jax = pytest.importorskip("jax")
    theirs = getattr(jax.scipy.stats, name).logpdf
    x = np.array([0.2, 0.6])
    with jax.enable_x64(True):
        wanted = jax.grad(lambda x, *s: theirs(x, *s).sum(), argnums=range(len(shapes) + 1))(
            x, *shapes
        )
    found = fg.grad(
        lambda x, *s: np.sum(getattr(st, name).logpdf(x, *s)), argnums=tuple(range(len(shapes) + 1))
    )(x, *shapes)
    for f, w in zip(found, wanted, strict=True):
        np.testing.assert_allclose(f, w, rtol=1e-9)


# ---------------------------------------------------------------- several variables, and data

S = np.array([[2.0, 0.3], [0.3, 1.0]])
X = np.array([[0.4, 1.0], [-1.0, 0.5], [2.0, -0.3]])


def half(a):
    return (a + np.swapaxes(a, -1, -2)) / 2


SEVERAL = {
    "normal": (lambda x, m, c: st.multivariate_normal.logpdf(x, m, half(c)), X, X[0], S),
    "normal at one place": (
        lambda x, m, c: st.multivariate_normal.pdf(x, m, half(c)),
        X[1],
        X[0],
        S,
    ),
    "normal, frozen": (lambda m, c: st.multivariate_normal(m, half(c)).logpdf(X), X[0], S),
    "normal, one variance": (lambda c: st.multivariate_normal.logpdf(X, X[0], c), np.float64(2.0)),
    "normal, one variable": (lambda x: st.multivariate_normal.logpdf(x), np.array([0.2, 1.0])),
    "t": (
        lambda x, m, c, v: st.multivariate_t.logpdf(x, m, half(c), df=v),
        X,
        X[0],
        S,
        np.float64(3.5),
    ),
    "dirichlet": (
        lambda x, a: st.dirichlet.logpdf(x, a),
        np.array([0.2, 0.3]),
        np.array([1.5, 2.0, 2.5]),
    ),
    "wishart": (lambda x, s: st.wishart.logpdf(half(x), 3.5, half(s)), S + np.eye(2), S),
    "wishart, degrees": (lambda v: st.wishart.logpdf(S, v, S), np.float64(3.5)),
    "multinomial": (
        lambda p: st.multinomial.logpmf(np.array([1.0, 2.0, 3.0]), 6, p),
        np.array([0.2, 0.3, 0.5]),
    ),
    "gmean": (lambda a: st.gmean(a), X**2 + 1),
    "hmean": (lambda a: st.hmean(a, axis=1), X**2 + 1),
    "zscore": (lambda a: st.zscore(a, ddof=1), X),
    "sem": (lambda a: st.sem(a, axis=None), X),
    "skew": (lambda a: st.skew(a, bias=False), X),
    "kurtosis": (lambda a: st.kurtosis(a, axis=None, bias=False), X),
    "moment": (lambda a: st.moment(a, 3), X),
}


@pytest.mark.parametrize("name", SEVERAL)
@older_may_refuse
def test_several_variables_and_data(name):
    function, *args = SEVERAL[name]
    wanted = function(*args)
    found = fg.vjp(function, *args)[0]
    assert np.shape(found) == np.shape(wanted)
    np.testing.assert_array_equal(found, wanted)
    check_grads(function, tuple(args), order=2)
    np.testing.assert_allclose(fg.jit(function)(*args), wanted, rtol=1e-11, atol=1e-13)
    stacks = [np.stack([a, a]) for a in args]
    np.testing.assert_array_equal(fg.vmap(function)(*stacks)[1], wanted)


@pytest.mark.parametrize("method", ["average", "min", "max", "dense", "ordinal"])
def test_ranks_are_locally_constant(method):
    x = np.array([[3.0, 1.0, 3.0], [0.5, 2.0, -1.0]])
    for axis in (None, 0, 1):
        rank = lambda x, axis=axis: st.rankdata(x, method, axis=axis)
        expected = rank(x)
        for found in (fg.jit(rank)(x), fg.vjp(rank, x)[0]):
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)
        assert not fg.grad(lambda x, rank=rank: np.sum(rank(x) * 1.0))(x).any()
    np.testing.assert_array_equal(fg.vmap(lambda x: st.rankdata(x, method))(x)[1], rank(x)[1])


@pytest.mark.parametrize("kappa, y", [(20.0, 3.1), (20.0, 2.0), (400.0, 1.0), (1.5, 3.0)])
def test_vonmises_far_out_against_mpmath(kappa, y):
    density = lambda t: mpmath.exp(kappa * mpmath.cos(t))
    with mpmath.workdps(40):
        edges = [y, min(y + 0.05, mpmath.pi), mpmath.pi]
        rest = mpmath.quad(density, edges)
        by_y = float(density(y) / rest)
        whole = mpmath.quad(density, [0, 0.1, 1, mpmath.pi])
        mean = lambda a, c: mpmath.quad(lambda t: mpmath.cos(t) * density(t), a) / c
        by_k = float(mean(edges, rest) - mean([0, 0.1, 1, mpmath.pi], whole))
    found = fg.grad(st.vonmises.logcdf, (0, 1))(-y, kappa)
    assert found == pytest.approx((by_y, by_k), rel=1e-8)


def test_what_a_distribution_computes_from_its_own_methods():
    """SciPy's programs over methods that have rules: a likelihood, an interval, an expectation."""
    data = np.array([1.0, 2.0, 3.0])
    check_grads(lambda a: st.gamma.nnlf((a, 0.0, 1.0), data), (2.0,), order=1)
    check_grads(lambda a: np.sum(np.stack(st.gamma.interval(0.9, a))), (2.0,), order=1)
    square = fg.grad(lambda a: st.gamma.expect(lambda x: x * x, (a,)))(2.0)
    assert square == pytest.approx(5.0, rel=1e-10)
    assert fg.grad(lambda m: st.poisson.expect(lambda k: k * k, (m,)))(2.0) == pytest.approx(5.0)


@pytest.mark.parametrize(("name", "instead"), [("stats", r"gamma\.mean"), ("moment", r"\*\* *n")])
def test_methods_that_ask_for_numbers_say_what_to_call(name, instead):
    with pytest.raises(UnsupportedCallError, match=instead):
        fg.grad(lambda a: getattr(st.gamma, name)(*((3,) if name == "moment" else ()), a))(2.0)
    with pytest.raises(UnsupportedCallError, match="logpdf"):
        fg.grad(lambda a: st.gamma.fit(a * np.ones(3))[0])(2.0)


def spread(n, seed):
    root = np.random.default_rng(seed).normal(size=(n, n))
    return root @ root.T + n * np.eye(n)


MATRICES = {
    "invwishart": (spread(3, 0), np.float64(4.5), spread(3, 1)),
    "matrix_normal": (np.ones((2, 3)), np.zeros((2, 3)), spread(2, 2), spread(3, 3)),
}


@pytest.mark.parametrize("method", ["logpdf", "pdf"])
@pytest.mark.parametrize("name", MATRICES)
def test_densities_of_matrices(name, method):
    args = MATRICES[name]

    def program(*given):  # a matrix of covariances is symmetric
        whole = [(m + m.T) / 2 if m.ndim == 2 and m.shape[0] == m.shape[1] else m for m in given]
        return getattr(getattr(st, name), method)(*whole)

    f = getattr(getattr(st, name), method)
    np.testing.assert_array_equal(fg.vjp(program, *args)[0], f(*args))
    check_grads(program, args, order=1)
    np.testing.assert_allclose(fg.jit(program)(*args), f(*args), rtol=1e-12)


def test_a_dirichlet_multinomial_mass_and_frozen_matrix_distributions():
    x, alpha = np.array([2.0, 0.0, 3.0]), np.array([0.7, 1.2, 2.5])
    check_grads(lambda a: st.dirichlet_multinomial.logpmf(x, a, 5), (alpha,), order=2)
    assert fg.vjp(lambda a: st.dirichlet_multinomial(a, 5).pmf(x), alpha)[0] == (
        st.dirichlet_multinomial.pmf(x, alpha, 5)
    )
    by_scale = fg.grad(lambda s: st.matrix_normal(rowcov=s).logpdf(np.ones((1, 2))))(2.0)
    assert by_scale == pytest.approx(-0.5 * 2 / 2.0 + 0.5 * 2 / 4.0)
