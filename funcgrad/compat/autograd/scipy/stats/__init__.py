"""``scipy.stats`` for plain and traced arrays; as in autograd, distributions are modules."""

from funcgrad.compat.autograd.names import names_of
from funcgrad.compat.autograd.scipy.stats import (
    beta,
    chi2,
    dirichlet,
    gamma,
    multivariate_normal,
    norm,
    poisson,
    t,
)

__all__ = ["beta", "chi2", "dirichlet", "gamma", "multivariate_normal", "norm", "poisson", "t"]

__getattr__ = names_of("funcgrad.scipy.stats", "scipy.stats")
