"""SciPy's statistics that compute with traced values by their own code: what `supports` says holds.

And the searches for powers, whose steps do not: the derivative is that of what they find.
"""

import numpy as np
import pytest
import scipy.stats as st
from scipy.optimize import brentq

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.scipy.as_they_are import AS_THEY_ARE, BY_VALUES, CONSTANT

RNG = np.random.default_rng(0)
X, Y, Z = RNG.normal(size=12) + 1, RNG.normal(size=12) + 1.5, RNG.normal(size=12) + 0.7

CALLS = {
    "anderson": lambda x: st.anderson(x).statistic,
    "anderson_ksamp": lambda x: st.anderson_ksamp([x, Y])[0],
    "ansari": lambda x: st.ansari(x, Y).statistic,
    "bayes_mvs": lambda x: [m.statistic for m in st.bayes_mvs(x)],
    "brunnermunzel": lambda x: st.brunnermunzel(x, Y).statistic,
    "bws_test": lambda x: st.bws_test(x, Y).statistic,
    "chatterjeexi": lambda x: st.chatterjeexi(x, Y).statistic,
    "chi2_contingency": lambda x: st.chi2_contingency(fnp.abs(x.reshape(4, 3)) + 0.5)[0],
    "cramervonmises_2samp": lambda x: st.cramervonmises_2samp(x, Y).statistic,
    "cumfreq": lambda x: st.cumfreq(x).lowerlimit,
    "directional_stats": lambda x: st.directional_stats(x.reshape(4, 3)).mean_direction,
    "ecdf": lambda x: st.ecdf(x).cdf.evaluate(0.5),
    "epps_singleton_2samp": lambda x: st.epps_singleton_2samp(x, Y).statistic,
    "fisher_exact": lambda x: st.fisher_exact(fnp.abs(5 * x[:4]).reshape(2, 2))[1],
    "fligner": lambda x: st.fligner(x, Y).statistic,
    "friedmanchisquare": lambda x: st.friedmanchisquare(x, Y, Z).statistic,
    "kendalltau": lambda x: st.kendalltau(x, Y).statistic,
    "kruskal": lambda x: st.kruskal(x, Y).statistic,
    "ks_1samp": lambda x: st.ks_1samp(x, st.norm.cdf).statistic,
    "ks_2samp": lambda x: st.ks_2samp(x, Y).statistic,
    "kstest": lambda x: st.kstest(x, "norm").statistic,
    "kurtosistest": lambda x: st.kurtosistest(x).statistic,
    "lmoment": lambda x: st.lmoment(x),
    "logrank": lambda x: st.logrank(x, Y).statistic,
    "mannwhitneyu": lambda x: st.mannwhitneyu(x, Y).statistic,
    "median_test": lambda x: st.median_test(x, Y)[2],
    "mood": lambda x: st.mood(x, Y).statistic,
    "mvsdist": lambda x: [d.mean() for d in st.mvsdist(x)[:2]],
    "normaltest": lambda x: st.normaltest(x).statistic,
    "page_trend_test": lambda x: st.page_trend_test(x.reshape(4, 3)).statistic,
    "probplot": lambda x: st.probplot(x)[1],
    "quantile": lambda x: st.quantile(x, 0.3),
    "quantile_test": lambda x: st.quantile_test(x, q=0.7).pvalue,
    "ranksums": lambda x: st.ranksums(x, Y).statistic,
    "relfreq": lambda x: st.relfreq(x).binsize,
    "somersd": lambda x: st.somersd(x, Y).statistic,
    "spearmanrho": lambda x: st.spearmanrho(x, Y).statistic,
    "tiecorrect": lambda x: st.tiecorrect(st.rankdata(x)),
    "tukey_hsd": lambda x: st.tukey_hsd(x, Y).statistic[0, 1],
    "wilcoxon": lambda x: st.wilcoxon(x, Y).statistic,
}


def test_every_name_has_a_call():
    assert {f"scipy.stats.{n}" for n in CALLS} == set(AS_THEY_ARE)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore")
def test_what_supports_says_of_them_holds(name):
    own = getattr(st, name, None)
    if own is None:
        pytest.skip("this release of SciPy lacks it")
    said, call = fg.supports(own), CALLS[name]
    full = f"scipy.stats.{name}"
    assert said and (said.kind == "locally constant") == (full in CONSTANT)
    assert ("jit" in said.transforms) == (full not in BY_VALUES)

    def whole(x):
        found = call(x)
        return sum(fnp.sum(v) for v in (found if isinstance(found, (list, tuple)) else [found]))

    slope, forward = fg.grad(lambda x: whole(x) * 1.0)(X), fg.jacfwd(lambda x: whole(x) * 1.0)(X)
    differences = [(whole(X + 1e-5 * e) - whole(X - 1e-5 * e)) / 2e-5 for e in np.eye(12)]
    np.testing.assert_allclose(slope, differences, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(forward, slope, rtol=1e-10, atol=1e-12)
    if full in CONSTANT:
        assert not np.any(slope)
    if full not in BY_VALUES:
        np.testing.assert_allclose(fg.jit(whole)(X), whole(X), rtol=1e-9)
        both = fg.vmap(whole)(np.stack([X, X + 0.01]))
        np.testing.assert_allclose(both, [whole(X), whole(X + 0.01)], rtol=1e-9)


@pytest.mark.parametrize(
    "call, likelihood, data",
    [
        (st.yeojohnson_normmax, st.yeojohnson_llf, X),
        (lambda x: st.boxcox_normmax(x, method="mle"), st.boxcox_llf, np.abs(X) + 0.1),
        (lambda x: st.boxcox(x)[1], st.boxcox_llf, np.abs(X) + 0.1),
    ],
)
def test_the_most_likely_power_has_the_derivative_of_the_optimum(call, likelihood, data):
    """The derivative of the search was that of its last parabola, one percent off."""

    def optimum(x):
        slope = fg.grad(lambda p: likelihood(p, x))
        near = float(call(x))
        return brentq(slope, near - 0.3, near + 0.3, xtol=1e-15, rtol=1e-14)

    value, slope = fg.value_and_grad(call)(data)
    assert value == call(data)
    h = 1e-4
    wanted = [
        (8 * (optimum(data + h * e) - optimum(data - h * e))
         - optimum(data + 2 * h * e) + optimum(data - 2 * h * e)) / (12 * h)
        for e in np.eye(12)
    ]  # fmt: skip
    np.testing.assert_allclose(slope, wanted, rtol=1e-7, atol=1e-9)


def test_the_power_by_the_probability_plot_is_no_matter_of_units():
    data = np.abs(X) + 0.1
    slope = fg.grad(st.boxcox_normmax)(data)
    assert abs(slope @ data) < 1e-10 * np.linalg.norm(slope)


def test_a_search_through_shapes_is_refused_by_name():
    with pytest.raises(fg.errors.UnsupportedCallError, match="ppcc_max searches"):
        fg.grad(st.ppcc_max)(X)
