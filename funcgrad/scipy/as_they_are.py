"""Functions of SciPy's whose own code computes with traced values, as `supports` says of them.

They are programs over functions that have a definition here: rank tests count, so they are locally
constant; the others are differentiable. Those that choose by values cannot be staged or mapped.
"""

from __future__ import annotations

__all__ = ["AS_THEY_ARE", "BY_VALUES", "CONSTANT"]

_DIFFERENTIABLE = (
    "bayes_mvs chi2_contingency cumfreq directional_stats epps_singleton_2samp ks_1samp kstest "
    "kurtosistest lmoment median_test mvsdist normaltest probplot quantile relfreq tukey_hsd"
)
_DIFFERENTIABLE_BY_VALUES = "anderson"
_RANKS = (
    "anderson_ksamp brunnermunzel chatterjeexi fligner friedmanchisquare kruskal mannwhitneyu mood "
    "ranksums spearmanrho tiecorrect"
)
_RANKS_BY_VALUES = (
    "ansari bws_test cramervonmises_2samp ecdf fisher_exact kendalltau ks_2samp logrank "
    "page_trend_test quantile_test somersd wilcoxon"
)


def _full(*lists: str) -> frozenset[str]:
    return frozenset(f"scipy.stats.{name}" for names in lists for name in names.split())


CONSTANT = _full(_RANKS, _RANKS_BY_VALUES)
BY_VALUES = _full(_DIFFERENTIABLE_BY_VALUES, _RANKS_BY_VALUES)
AS_THEY_ARE = {name: name for name in CONSTANT | _full(_DIFFERENTIABLE, _DIFFERENTIABLE_BY_VALUES)}
"""Full public names, under themselves."""
