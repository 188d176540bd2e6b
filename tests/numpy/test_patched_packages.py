"""`patch_numpy`: functions of statsmodels and scikit-learn, as they are, have derivatives.

The values are those without a transform, bit for bit; both modes agree with differences.
"""

import numpy as np
import pytest

import funcgrad as fg

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(8, 3))
Y = RANDOM.normal(size=8)
W = np.array([0.3, -0.2, 0.5])
MOMENTS = np.array([0.2, 1.2, 0.5, 4.0])
MATRIX = np.array([[2.0, 0.3], [0.3, 1.5]])
SHARES = np.array([0.2, 0.5, 0.7])
MEANS = np.array([0.5, 1.5, 2.0])
COUNTS = np.array([1.0, 2.0, 3.0])


def model(name, **more):
    def make(api):
        observed = {"Logit": Y > 0, "Probit": Y > 0, "Poisson": np.abs(Y).round()}.get(name, Y)
        return getattr(api, name)(observed * 1.0, X, **more)

    return make


# module, what is taken from it, the function of its argument, the argument
FUNCTIONS = {
    "logit": ("statsmodels.api", lambda m: model("Logit")(m).loglike, W),
    "logit, score": ("statsmodels.api", lambda m: model("Logit")(m).score, W),
    "logit, each": ("statsmodels.api", lambda m: model("Logit")(m).loglikeobs, W),
    "probit": ("statsmodels.api", lambda m: model("Probit")(m).loglike, W),
    "poisson": ("statsmodels.api", lambda m: model("Poisson")(m).loglike, W),
    "poisson, predicted": ("statsmodels.api", lambda m: model("Poisson")(m).predict, W),
    "least squares": ("statsmodels.api", lambda m: model("OLS")(m).loglike, W),
    "generalised": ("statsmodels.api", lambda m: model("GLS")(m).loglike, W),
    "linear model": ("statsmodels.api", lambda m: model("GLM")(m).loglike, W),
    "huber": ("statsmodels.robust.norms", lambda m: m.HuberT(), 1.5 * Y),
    "tukey": ("statsmodels.robust.norms", lambda m: m.TukeyBiweight(), Y),
    "hampel": ("statsmodels.robust.norms", lambda m: m.Hampel(), Y),
    "andrew": ("statsmodels.robust.norms", lambda m: m.AndrewWave(), Y),
    "deviation": ("statsmodels.robust.scale", lambda m: m.mad, Y),
    "link": ("statsmodels.genmod.families.links", lambda m: m.Logit(), SHARES),
    "inverse link": ("statsmodels.genmod.families.links", lambda m: m.CLogLog().inverse, W),
    "deviance": (
        "statsmodels.genmod.families", lambda m: lambda v: m.Gamma().deviance(COUNTS, v), MEANS
    ),
    "correlations": ("statsmodels.stats.moment_helpers", lambda m: m.cov2corr, MATRIX),
    "moments": (
        "statsmodels.stats.moment_helpers", lambda m: lambda v: np.array(m.mnc2mc(v)), MOMENTS
    ),
    "durbin": ("statsmodels.stats.stattools", lambda m: m.durbin_watson, Y),
    "skewness": ("statsmodels.stats.stattools", lambda m: lambda v: m.robust_skewness(v)[0], Y),
    "partial": ("statsmodels.tsa.stattools", lambda m: lambda v: m.pacf_yw(v, nlags=2), Y),
    "trend": ("statsmodels.tsa.tsatools", lambda m: m.detrend, Y),
    "lags": ("statsmodels.tsa.tsatools", lambda m: lambda v: m.lagmat(v, 2), Y),
    "impulses": (
        "statsmodels.tsa.arima_process",
        lambda m: lambda v: m.arma2ma(np.array([1.0, -0.5]), np.array([1.0, 0.2]) * v, 5),
        np.array(1.3),
    ),
    "spread": ("statsmodels.stats.weightstats", lambda m: lambda v: m.DescrStatsW(v).cov, X),
    "t": ("statsmodels.stats.weightstats", lambda m: lambda v: m.ttest_ind(v, Y + 1)[0], Y),
    "polynomial": ("sklearn.metrics.pairwise", lambda m: m.polynomial_kernel, X),
    "sigmoid": ("sklearn.metrics.pairwise", lambda m: m.sigmoid_kernel, X),
    "distances": (
        "sklearn.metrics.pairwise", lambda m: lambda v: m.euclidean_distances(v, X + 1), X
    ),
    "cosines": ("sklearn.metrics.pairwise", lambda m: m.cosine_similarity, X),
    "matern": ("sklearn.gaussian_process.kernels", lambda m: m.Matern(1.2, nu=1.5), X),
    "periodic": ("sklearn.gaussian_process.kernels", lambda m: m.ExpSineSquared(), X),
    "length": (
        "sklearn.gaussian_process.kernels", lambda m: lambda v: m.RBF(v)(X), np.array(1.2)
    ),
    "softmax": ("sklearn.utils.extmath", lambda m: m.softmax, X),
    "scaled": ("sklearn.preprocessing", lambda m: m.scale, X),
    "normalised": ("sklearn.preprocessing", lambda m: m.normalize, X),
    "covariance": ("sklearn.covariance", lambda m: m.empirical_covariance, X),
    "shrunk": ("sklearn.covariance", lambda m: lambda v: m.ledoit_wolf(v)[0], X),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_another_package(name):
    module, take, x = FUNCTIONS[name]
    f = take(pytest.importorskip(module))
    value = np.asarray(f(x.copy()), float)
    weights = np.sin(1.0 + np.arange(value.size)).reshape(value.shape)
    along = np.cos(np.arange(x.size)).reshape(x.shape)
    with fg.patch_numpy():
        found, change = fg.jvp(f, (x.copy(),), (along,))
        gradient = fg.grad(lambda v: np.sum(f(v) * weights))(x.copy())
    np.testing.assert_array_equal(found, value)
    step = 1e-6 * along
    expected = (np.asarray(f(x + step), float) - np.asarray(f(x - step), float)) / 2e-6
    np.testing.assert_allclose(change, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(np.sum(gradient * along), np.sum(weights * change), rtol=1e-9)


def test_a_function_of_cython_is_named():
    """It has several dtypes to choose from, and says so of none."""
    kernel = pytest.importorskip("sklearn.metrics.pairwise").additive_chi2_kernel
    with fg.patch_numpy(), pytest.raises(fg.errors.UnsupportedCallError) as info:
        fg.grad(lambda v: np.sum(kernel(v)))(np.abs(X))
    assert "compiled code, which takes no traced values (No matching signature" in str(info.value)
