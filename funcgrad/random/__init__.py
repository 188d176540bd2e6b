"""Random numbers made of keys, under the names of ``jax.random``, whose numbers they are.

A key is a value: the same key gives the same numbers, eagerly, under `jit`, `vmap` and in
gradients, and nothing is changed by a draw. `split` makes new keys. In its place each function
takes a `numpy.random.Generator` (or `numpy.random` itself), of which it draws a key: under `vmap`
such a draw has to be said to be the "same" or "different" for the examples, and under `jit` it is
made at every call.

Draws are differentiable in their parameters, also those of the gamma, beta, Dirichlet, t, F and
chi-square distributions, whose numbers are others than JAX's, as are those of `poisson` and
`binomial`: they are quantiles, which SciPy computes.

Examples
--------
>>> import numpy as np
>>> import funcgrad as fg
>>> def loss(p, key):
...     z = p["mean"] + p["scale"] * fg.random.normal(key, (1000,))
...     return np.mean((z - 2.0) ** 2)
>>> fg.jit(fg.grad(loss))({"mean": 1.0, "scale": 0.1}, fg.random.key(0))["mean"]
np.float64(-2.0...)
"""

from funcgrad.core.boundary import publish
from funcgrad.random.continuous import (
    cauchy,
    double_sided_maxwell,
    exponential,
    gumbel,
    laplace,
    logistic,
    lognormal,
    maxwell,
    normal,
    pareto,
    rademacher,
    rayleigh,
    triangular,
    truncated_normal,
    uniform,
    wald,
    weibull_min,
)
from funcgrad.random.discrete import (
    bernoulli,
    binomial,
    categorical,
    choice,
    geometric,
    multinomial,
    permutation,
    poisson,
    randint,
)
from funcgrad.random.gammas import (
    ball,
    beta,
    chisquare,
    dirichlet,
    f,
    gamma,
    generalized_normal,
    loggamma,
    t,
)
from funcgrad.random.keys import (
    Key,
    PRNGKey,
    bits,
    clone,
    fold_in,
    key,
    key_data,
    key_dtype,
    key_impl,
    split,
    wrap_key_data,
)
from funcgrad.random.multivariate import multivariate_normal, orthogonal

__all__ = [
    "Key",
    "PRNGKey",
    "ball",
    "bernoulli",
    "beta",
    "binomial",
    "bits",
    "categorical",
    "cauchy",
    "chisquare",
    "choice",
    "clone",
    "dirichlet",
    "double_sided_maxwell",
    "exponential",
    "f",
    "fold_in",
    "gamma",
    "generalized_normal",
    "geometric",
    "gumbel",
    "key",
    "key_data",
    "key_dtype",
    "key_impl",
    "laplace",
    "loggamma",
    "logistic",
    "lognormal",
    "maxwell",
    "multinomial",
    "multivariate_normal",
    "normal",
    "orthogonal",
    "pareto",
    "permutation",
    "poisson",
    "rademacher",
    "randint",
    "rayleigh",
    "split",
    "t",
    "triangular",
    "truncated_normal",
    "uniform",
    "wald",
    "weibull_min",
    "wrap_key_data",
]

publish(__name__)
