"""``torch.special``: special functions under SciPy's names."""

from funcgrad.torch.absent import absent as _absent
from funcgrad.torch.operations import elementary as _elementary
from funcgrad.torch.operations import incomplete as _incomplete
from funcgrad.torch.operations import rounding as _rounding
from funcgrad.torch.operations import softmax as _softmax
from funcgrad.torch.operations import special_functions as _functions
from funcgrad.torch.operations.activations import expit
from funcgrad.torch.operations.functions_without_derivatives import (
    airy_ai,
    bessel_j0,
    bessel_j1,
    bessel_y0,
    bessel_y1,
    chebyshev_polynomial_t,
    chebyshev_polynomial_u,
    chebyshev_polynomial_v,
    chebyshev_polynomial_w,
    hermite_polynomial_h,
    hermite_polynomial_he,
    laguerre_polynomial_l,
    legendre_polynomial_p,
    modified_bessel_i0,
    modified_bessel_i1,
    modified_bessel_k0,
    modified_bessel_k1,
    scaled_modified_bessel_k0,
    scaled_modified_bessel_k1,
    shifted_chebyshev_polynomial_t,
    shifted_chebyshev_polynomial_u,
    shifted_chebyshev_polynomial_v,
    shifted_chebyshev_polynomial_w,
    spherical_bessel_j0,
)
from funcgrad.torch.operations.record import alias as _alias
from funcgrad.torch.operations.special_functions import (
    entr,
    erfcx,
    i0e,
    i1,
    i1e,
    log_ndtr,
    ndtr,
    ndtri,
    xlog1py,
    zeta,
)

__all__ = [
    "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "chebyshev_polynomial_t",
    "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w", "digamma",
    "entr", "erf", "erfc", "erfcx", "erfinv", "exp2", "expit", "expm1", "gammainc", "gammaincc",
    "gammaln", "hermite_polynomial_h", "hermite_polynomial_he", "i0", "i0e", "i1", "i1e",
    "laguerre_polynomial_l", "legendre_polynomial_p", "log1p", "log_ndtr", "log_softmax",
    "logit", "logsumexp", "modified_bessel_i0", "modified_bessel_i1", "modified_bessel_k0",
    "modified_bessel_k1", "multigammaln", "ndtr", "ndtri", "polygamma", "psi", "round",
    "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w", "sinc", "softmax", "spherical_bessel_j0", "xlog1py",
    "xlogy", "zeta",
]  # fmt: skip

softmax = _alias("special_softmax", _softmax.softmax, variants="")
log_softmax = _alias("special_log_softmax", _softmax.log_softmax,
                     "input, int dim, *, dtype dtype=None", variants="")  # fmt: skip
logsumexp = _alias("special_logsumexp", _softmax.logsumexp, variants="")
exp2 = _alias("special_exp2", _elementary.exp2, variants="")
expm1 = _alias("special_expm1", _elementary.expm1, variants="")
log1p = _alias("special_log1p", _elementary.log1p, variants="")
round = _alias("special_round", _rounding.round, "input, *, int decimals=0, out", variants="")
digamma = _alias("special_digamma", _functions.digamma, variants="")
psi = _alias("special_psi", _functions.digamma, variants="")
erf = _alias("special_erf", _functions.erf, variants="")
erfc = _alias("special_erfc", _functions.erfc, variants="")
erfinv = _alias("special_erfinv", _functions.erfinv, variants="")
gammainc = _alias("special_gammainc", _incomplete.igamma, variants="")
gammaincc = _alias("special_gammaincc", _incomplete.igammac, variants="")
gammaln = _alias("special_gammaln", _functions.lgamma, variants="")
i0 = _alias("special_i0", _functions.i0, variants="")
logit = _alias("special_logit", _functions.logit, variants="")
multigammaln = _alias("special_multigammaln", _functions.mvlgamma, variants="")
polygamma = _alias("special_polygamma", _functions.polygamma, variants="")
sinc = _alias("special_sinc", _functions.sinc, variants="")
xlogy = _alias("special_xlogy", _functions.xlogy, variants="")

_absent(__name__)
