"""``funcgrad.scipy.special``: SciPy's special functions for plain and traced arrays.

Every name, signature and value is SciPy's; with nothing traced SciPy's own function is called.
SciPy's ufuncs called on traced values (``scipy.special.erf(x)``) come here too. Derivatives exist
in the arguments, and in orders, degrees and parameters where SciPy takes them between the whole
numbers. In what SciPy rounds there is none: a named error, never zero.

Examples
--------
>>> import numpy as np
>>> import scipy.special
>>> import funcgrad as fg
>>> def call(spot, strike, rate, volatility, years):  # Black and Scholes
...     spread = volatility * np.sqrt(years)
...     d = (np.log(spot / strike) + (rate + volatility**2 / 2) * years) / spread
...     discounted = strike * np.exp(-rate * years)
...     return spot * scipy.special.ndtr(d) - discounted * scipy.special.ndtr(d - spread)
>>> fg.grad(call)(100.0, 105.0, 0.02, 0.2, 1.0)  # delta
np.float64(0.48247180...)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from funcgrad.core.boundary import publish
from funcgrad.numpy.ufuncs import Ufunc
from funcgrad.scipy.reasons import why_not
from funcgrad.scipy.special import (  # noqa: F401 (they fill NAMES)
    bessel,
    elementary,
    elliptic,
    empirical,
    error,
    functions,
    gamma_functions,
    hypergeometric,
    incomplete,
    integrals,
    native,
    noncentral,
    periodic,
    polynomials,
    sampling,
)
from funcgrad.scipy.special.define import NAMES
from funcgrad.scipy.special.functions import (
    PROGRAMS,
    bernoulli,
    bessel_jn,
    comb,
    diric,
    factorial,
    lambertw,
    log_softmax,
    logsumexp,
    multigammaln,
    perm,
    polygamma,
    sinc,
    softmax,
    softplus,
    zeta,
)
from funcgrad.scipy.special.harmonics import (
    assoc_legendre_p,
    legendre_p,
    sph_harm_y,
    sph_legendre_p,
)
from funcgrad.scipy.special.spherical import (
    spherical_in,
    spherical_jn,
    spherical_kn,
    spherical_yn,
)

native.install()

_UFUNCS = {name: Ufunc(ufunc, note, "scipy.special") for name, (ufunc, note) in NAMES.items()}
_UFUNCS["digamma"] = _UFUNCS["psi"]
_UFUNCS |= {name: getattr(functions, name) for name in PROGRAMS}
globals().update(_UFUNCS)  # what the tables define; type checkers ask `__getattr__`

__all__ = [
    "assoc_legendre_p",
    "bernoulli",
    "bessel_jn",
    "comb",
    "diric",
    "factorial",
    "lambertw",
    "legendre_p",
    "log_softmax",
    "logsumexp",
    "multigammaln",
    "perm",
    "polygamma",
    "sinc",
    "softmax",
    "softplus",
    "sph_harm_y",
    "sph_legendre_p",
    "spherical_in",
    "spherical_jn",
    "spherical_kn",
    "spherical_yn",
    "zeta",
    *_UFUNCS,
]

# fmt: off
# isort: off
if TYPE_CHECKING:  # the names of the tables, and SciPy's own, which a checker does not see
    from scipy.special import (
        agm as agm, airy as airy, airye as airye, assoc_laguerre as assoc_laguerre, bdtr as bdtr,
        bdtrc as bdtrc, bdtri as bdtri, bdtrik as bdtrik, bdtrin as bdtrin, bei as bei,
        beip as beip, ber as ber, berp as berp, besselpoly as besselpoly, beta as beta,
        betainc as betainc, betaincc as betaincc, betainccinv as betainccinv,
        betaincinv as betaincinv, betaln as betaln, binom as binom, boxcox as boxcox,
        boxcox1p as boxcox1p, btdtria as btdtria, btdtrib as btdtrib, cbrt as cbrt, chdtr as chdtr,
        chdtrc as chdtrc, chdtri as chdtri, chdtriv as chdtriv, chndtr as chndtr,
        chndtridf as chndtridf, chndtrinc as chndtrinc, chndtrix as chndtrix, cosdg as cosdg,
        cosm1 as cosm1, cotdg as cotdg, dawsn as dawsn, digamma as digamma, ellipe as ellipe,
        ellipeinc as ellipeinc, ellipj as ellipj, ellipk as ellipk, ellipkinc as ellipkinc,
        ellipkm1 as ellipkm1, elliprc as elliprc, elliprd as elliprd, elliprf as elliprf,
        elliprg as elliprg, elliprj as elliprj, entr as entr, erf as erf, erfc as erfc,
        erfcinv as erfcinv, erfcx as erfcx, erfi as erfi, erfinv as erfinv,
        eval_chebyc as eval_chebyc, eval_chebys as eval_chebys, eval_chebyt as eval_chebyt,
        eval_chebyu as eval_chebyu, eval_gegenbauer as eval_gegenbauer,
        eval_genlaguerre as eval_genlaguerre, eval_hermite as eval_hermite,
        eval_hermitenorm as eval_hermitenorm, eval_jacobi as eval_jacobi,
        eval_laguerre as eval_laguerre, eval_legendre as eval_legendre,
        eval_sh_chebyt as eval_sh_chebyt, eval_sh_chebyu as eval_sh_chebyu,
        eval_sh_jacobi as eval_sh_jacobi, eval_sh_legendre as eval_sh_legendre, exp1 as exp1,
        exp10 as exp10, exp2 as exp2, expi as expi, expit as expit, expm1 as expm1, expn as expn,
        exprel as exprel, fdtr as fdtr, fdtrc as fdtrc, fdtri as fdtri, fdtridfd as fdtridfd,
        fresnel as fresnel, gamma as gamma, gammainc as gammainc, gammaincc as gammaincc,
        gammainccinv as gammainccinv, gammaincinv as gammaincinv, gammaln as gammaln,
        gammasgn as gammasgn, gdtr as gdtr, gdtrc as gdtrc, gdtria as gdtria, gdtrib as gdtrib,
        gdtrix as gdtrix, h1vp as h1vp, h2vp as h2vp, hankel1 as hankel1, hankel1e as hankel1e,
        hankel2 as hankel2, hankel2e as hankel2e, huber as huber, hyp0f1 as hyp0f1,
        hyp1f1 as hyp1f1, hyp2f1 as hyp2f1, hyperu as hyperu, i0 as i0, i0e as i0e, i1 as i1,
        i1e as i1e, inv_boxcox as inv_boxcox, inv_boxcox1p as inv_boxcox1p, it2i0k0 as it2i0k0,
        it2j0y0 as it2j0y0, it2struve0 as it2struve0, itairy as itairy, iti0k0 as iti0k0,
        itj0y0 as itj0y0, itmodstruve0 as itmodstruve0, itstruve0 as itstruve0, iv as iv,
        ive as ive, ivp as ivp, j0 as j0, j1 as j1, jv as jv, jve as jve, jvp as jvp, k0 as k0,
        k0e as k0e, k1 as k1, k1e as k1e, kei as kei, keip as keip, kelvin as kelvin, ker as ker,
        kerp as kerp, kl_div as kl_div, kn as kn, kolmogi as kolmogi, kolmogorov as kolmogorov,
        kv as kv, kve as kve, kvp as kvp, log1p as log1p, log_expit as log_expit,
        log_ndtr as log_ndtr, log_wright_bessel as log_wright_bessel, loggamma as loggamma,
        logit as logit, lpmv as lpmv, mathieu_a as mathieu_a, mathieu_b as mathieu_b,
        mathieu_cem as mathieu_cem, mathieu_modcem1 as mathieu_modcem1,
        mathieu_modcem2 as mathieu_modcem2, mathieu_modsem1 as mathieu_modsem1,
        mathieu_modsem2 as mathieu_modsem2, mathieu_sem as mathieu_sem, modfresnelm as modfresnelm,
        modfresnelp as modfresnelp, modstruve as modstruve, nbdtr as nbdtr, nbdtrc as nbdtrc,
        nbdtri as nbdtri, nbdtrik as nbdtrik, nbdtrin as nbdtrin, ncfdtr as ncfdtr,
        ncfdtri as ncfdtri, ncfdtridfd as ncfdtridfd, ncfdtridfn as ncfdtridfn,
        ncfdtrinc as ncfdtrinc, nctdtr as nctdtr, nctdtridf as nctdtridf, nctdtrinc as nctdtrinc,
        nctdtrit as nctdtrit, ndtr as ndtr, ndtri as ndtri, ndtri_exp as ndtri_exp,
        nrdtrimn as nrdtrimn, nrdtrisd as nrdtrisd, obl_ang1 as obl_ang1,
        obl_ang1_cv as obl_ang1_cv, obl_cv as obl_cv, obl_rad1 as obl_rad1,
        obl_rad1_cv as obl_rad1_cv, obl_rad2 as obl_rad2, obl_rad2_cv as obl_rad2_cv,
        owens_t as owens_t, pbdv as pbdv, pbvv as pbvv, pbwa as pbwa, pdtr as pdtr, pdtrc as pdtrc,
        pdtri as pdtri, pdtrik as pdtrik, poch as poch, powm1 as powm1, pro_ang1 as pro_ang1,
        pro_ang1_cv as pro_ang1_cv, pro_cv as pro_cv, pro_rad1 as pro_rad1,
        pro_rad1_cv as pro_rad1_cv, pro_rad2 as pro_rad2, pro_rad2_cv as pro_rad2_cv,
        pseudo_huber as pseudo_huber, psi as psi, radian as radian, rel_entr as rel_entr,
        rgamma as rgamma, round as round, shichi as shichi, sici as sici, sindg as sindg,
        smirnov as smirnov, smirnovi as smirnovi, spence as spence, stdtr as stdtr,
        stdtridf as stdtridf, stdtrit as stdtrit, struve as struve, tandg as tandg,
        tklmbda as tklmbda, voigt_profile as voigt_profile, wofz as wofz,
        wright_bessel as wright_bessel, wrightomega as wrightomega, xlog1py as xlog1py,
        xlogy as xlogy, y0 as y0, y1 as y1, yn as yn, yv as yv, yve as yve, yvp as yvp,
        zetac as zetac,
    )
# isort: on
# fmt: on

publish(__name__, reason=why_not(__name__))
