"""``torch.special``: special functions under SciPy's names."""

from funcgrad.torch.absent import absent
from funcgrad.torch.operations.activations import expit
from funcgrad.torch.operations.elementary import exp2, expm1, log1p
from funcgrad.torch.operations.rounding import round
from funcgrad.torch.operations.softmax import log_softmax, logsumexp, softmax
from funcgrad.torch.operations.special_functions import (
    digamma,
    entr,
    erf,
    erfc,
    erfcx,
    erfinv,
    i0,
    i0e,
    i1,
    i1e,
    log_ndtr,
    logit,
    ndtr,
    ndtri,
    polygamma,
    sinc,
    xlog1py,
    xlogy,
    zeta,
)
from funcgrad.torch.operations.special_functions import digamma as psi
from funcgrad.torch.operations.special_functions import lgamma as gammaln
from funcgrad.torch.operations.special_functions import mvlgamma as multigammaln

__all__ = [
    "digamma", "entr", "erf", "erfc", "erfcx", "erfinv", "exp2", "expit", "expm1", "gammaln", "i0",
    "i0e", "i1", "i1e", "log1p", "log_ndtr", "log_softmax", "logit", "logsumexp", "multigammaln",
    "ndtr", "ndtri", "polygamma", "psi", "round", "sinc", "softmax", "xlog1py", "xlogy", "zeta",
]  # fmt: skip

__getattr__ = absent(__name__)
