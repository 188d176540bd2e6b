"""``funcgrad.scipy.stats``: SciPy's distributions and statistics for plain and traced arrays.

The distributions are SciPy's own objects, whose methods take traced values.

Examples
--------
>>> import numpy as np
>>> import scipy.stats
>>> import funcgrad as fg
>>> data = np.array([1.0, 2.0, 4.0])
>>> def likelihood(mean, deviation):
...     return np.sum(scipy.stats.norm(mean, deviation).logpdf(data))
>>> fg.grad(likelihood)(2.0, 1.0)
np.float64(1.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import scipy.stats

from funcgrad.core.boundary import publish
from funcgrad.scipy.programs import KNOWN
from funcgrad.scipy.reasons import why_not
from funcgrad.scipy.stats import (  # noqa: F401 (SciPy's own classes and methods come to them)
    kernel_density,
    normal_orthant,
)
from funcgrad.scipy.stats.data import (
    hmean,
    linregress,
    mode,
    percentileofscore,
    rankdata,
    spearmanr,
)
from funcgrad.scipy.stats.distributions import ROWS
from funcgrad.scipy.stats.expectile import expectile
from funcgrad.scipy.stats.most_likely import boxcox_normmax, ppcc_max, yeojohnson_normmax
from funcgrad.scipy.stats.multivariate import RECORDS
from funcgrad.scipy.stats.priors import RECORDS as PRIORS
from funcgrad.scipy.stats.trials import TRIALS

_SEVERAL = [*sorted({name for name, _ in [*RECORDS, *PRIORS]}), "gaussian_kde"]
_SEVERAL += ["poisson_binom"] if TRIALS else []
_PROGRAMS = sorted(n.rpartition(".")[2] for n in KNOWN if n.startswith("scipy.stats."))
globals().update({n: getattr(scipy.stats, n) for n in (*ROWS, *_SEVERAL, *_PROGRAMS)})

__all__ = [
    "boxcox_normmax",
    "expectile",
    "hmean",
    "linregress",
    "mode",
    "percentileofscore",
    "ppcc_max",
    "rankdata",
    "spearmanr",
    "yeojohnson_normmax",
    *ROWS,
    *_SEVERAL,
    *_PROGRAMS,
]

# fmt: off
# isort: off
if TYPE_CHECKING:  # the names of the tables, and SciPy's own, which a checker does not see
    from scipy.stats import (
        alexandergovern as alexandergovern, alpha as alpha, anglit as anglit, arcsine as arcsine,
        argus as argus, bartlett as bartlett, bernoulli as bernoulli, beta as beta,
        betabinom as betabinom, betaprime as betaprime, binom as binom, boxcox as boxcox,
        boxcox_llf as boxcox_llf, bradford as bradford, burr as burr, burr12 as burr12,
        cauchy as cauchy, chi as chi, chi2 as chi2, chisquare as chisquare, circmean as circmean,
        circstd as circstd, circvar as circvar, combine_pvalues as combine_pvalues,
        cosine as cosine, crystalball as crystalball, describe as describe, dgamma as dgamma,
        differential_entropy as differential_entropy, dirichlet as dirichlet,
        dpareto_lognorm as dpareto_lognorm, dweibull as dweibull,
        energy_distance as energy_distance, entropy as entropy, erlang as erlang,
        expon as expon, exponnorm as exponnorm, exponpow as exponpow,
        exponweib as exponweib, f as f, f_oneway as f_oneway,
        false_discovery_control as false_discovery_control, fatiguelife as fatiguelife,
        fisk as fisk, foldcauchy as foldcauchy, foldnorm as foldnorm, gamma as gamma,
        gausshyper as gausshyper, gaussian_kde as gaussian_kde, genexpon as genexpon,
        genextreme as genextreme, gengamma as gengamma, genhalflogistic as genhalflogistic,
        genlogistic as genlogistic, gennorm as gennorm, genpareto as genpareto, geom as geom,
        gmean as gmean, gompertz as gompertz, gstd as gstd, gumbel_l as gumbel_l,
        gumbel_r as gumbel_r, gzscore as gzscore, halfcauchy as halfcauchy,
        gibrat as gibrat,
        halfgennorm as halfgennorm, halflogistic as halflogistic, halfnorm as halfnorm,
        hypergeom as hypergeom, hypsecant as hypsecant, invgamma as invgamma, invgauss as invgauss,
        invweibull as invweibull, iqr as iqr, jarque_bera as jarque_bera, jf_skew_t as jf_skew_t,
        johnsonsb as johnsonsb, johnsonsu as johnsonsu, kstat as kstat, kstatvar as kstatvar,
        kurtosis as kurtosis, laplace as laplace, laplace_asymmetric as laplace_asymmetric,
        kstwobign as kstwobign,
        levene as levene, levy as levy, levy_l as levy_l, loggamma as loggamma,
        logistic as logistic, loglaplace as loglaplace, lognorm as lognorm, logser as logser,
        loguniform as loguniform, lomax as lomax, maxwell as maxwell,
        median_abs_deviation as median_abs_deviation, mielke as mielke, moment as moment,
        moyal as moyal, multinomial as multinomial, multivariate_normal as multivariate_normal,
        multivariate_t as multivariate_t, nakagami as nakagami, nbinom as nbinom,
        ncf as ncf, nct as nct, ncx2 as ncx2, norm as norm,
        norminvgauss as norminvgauss, obrientransform as obrientransform, pareto as pareto,
        pearsonr as pearsonr, pmean as pmean, pointbiserialr as pointbiserialr, poisson as poisson,
        power_divergence as power_divergence, powerlaw as powerlaw, powerlognorm as powerlognorm,
        powernorm as powernorm, rayleigh as rayleigh, rdist as rdist,
        recipinvgauss as recipinvgauss, reciprocal as reciprocal,
        rel_breitwigner as rel_breitwigner, rice as rice, scoreatpercentile as scoreatpercentile,
        sem as sem, semicircular as semicircular, sigmaclip as sigmaclip, skew as skew,
        skewcauchy as skewcauchy, skewnorm as skewnorm, skewtest as skewtest, t as t,
        theilslopes as theilslopes, tmax as tmax, tmean as tmean, tmin as tmin,
        trapezoid as trapezoid, triang as triang, trim1 as trim1, trim_mean as trim_mean,
        trimboth as trimboth, truncexpon as truncexpon, truncnorm as truncnorm,
        truncweibull_min as truncweibull_min, tsem as tsem, tstd as tstd,
        ttest_1samp as ttest_1samp, ttest_ind as ttest_ind, ttest_rel as ttest_rel, tvar as tvar,
        uniform as uniform, variation as variation, vonmises as vonmises,
        vonmises_line as vonmises_line, wald as wald, wasserstein_distance as wasserstein_distance,
        weibull_max as weibull_max, weibull_min as weibull_min, wishart as wishart,
        wrapcauchy as wrapcauchy, yeojohnson as yeojohnson, yeojohnson_llf as yeojohnson_llf,
        zmap as zmap, zscore as zscore,
        dirichlet_multinomial as dirichlet_multinomial, invwishart as invwishart,
        matrix_normal as matrix_normal,
        betanbinom as betanbinom, boltzmann as boltzmann, dlaplace as dlaplace,
        genhyperbolic as genhyperbolic, geninvgauss as geninvgauss, irwinhall as irwinhall,
        kappa3 as kappa3, kappa4 as kappa4, ksone as ksone, kstwo as kstwo, landau as landau,
        levy_stable as levy_stable, nchypergeom_fisher as nchypergeom_fisher, pearson3 as pearson3,
        planck as planck, skellam as skellam, studentized_range as studentized_range,
        truncpareto as truncpareto, tukeylambda as tukeylambda, yulesimon as yulesimon,
        zipf as zipf, zipfian as zipfian,
        matrix_t as matrix_t, nchypergeom_wallenius as nchypergeom_wallenius,
        normal_inverse_gamma as normal_inverse_gamma, poisson_binom as poisson_binom,
        vonmises_fisher as vonmises_fisher,
    )
# isort: on
# fmt: on

publish(__name__, reason=why_not(__name__))
