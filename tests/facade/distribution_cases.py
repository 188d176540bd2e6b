"""Distributions with parameters and values in their support, for tests beside PyTorch."""

import numpy as np

import funcgrad.torch as ours

try:
    import torch as theirs
except ImportError:
    theirs = None

LOC, SCALE = [[-1.5], [0.0], [2.5]], [0.3, 2.0]  # broadcast to (3, 2)
POSITIVE = [[0.4], [1.0], [3.5]]
PROBS = [0.1, 0.5, 0.85]
ROWS = [[0.2, 0.3, 0.5], [0.6, 0.1, 0.3]]
LOGITS = [[-1.0, 0.5, 2.0], [0.3, 0.0, -2.0]]
REAL = [[-2.0, 0.1], [0.7, 3.0], [1.3, -0.4]]
ABOVE = [[0.2, 0.1], [0.7, 3.0], [1.3, 4.0]]
UNIT = [[0.2, 0.1], [0.7, 0.35], [0.5, 0.9]]
FACTOR = [[1.2, 0.0], [-0.4, 0.7]]
COVARIANCE = [[[2.0, 0.5], [0.5, 1.0]], [[1.0, -0.2], [-0.2, 0.5]]]

# name: (class, parameters, numbers that are no tensors, a value in the support)
CASES = {
    "normal": ("Normal", {"loc": LOC, "scale": SCALE}, {}, REAL),
    "log normal": ("LogNormal", {"loc": LOC, "scale": SCALE}, {}, ABOVE),
    "half normal": ("HalfNormal", {"scale": POSITIVE}, {}, ABOVE),
    "half cauchy": ("HalfCauchy", {"scale": POSITIVE}, {}, ABOVE),
    "uniform": ("Uniform", {"low": [-1.0, 0.0], "high": [2.0, 3.5]}, {}, UNIT),
    "cauchy": ("Cauchy", {"loc": LOC, "scale": SCALE}, {}, REAL),
    "laplace": ("Laplace", {"loc": LOC, "scale": SCALE}, {}, REAL),
    "exponential": ("Exponential", {"rate": POSITIVE}, {}, ABOVE),
    "gumbel": ("Gumbel", {"loc": LOC, "scale": SCALE}, {}, REAL),
    "weibull": ("Weibull", {"scale": POSITIVE, "concentration": [0.8, 2.0]}, {}, ABOVE),
    "pareto": ("Pareto", {"scale": [[0.05], [0.5], [1.0]], "alpha": [0.8, 3.0]}, {}, ABOVE),
    "kumaraswamy": (
        "Kumaraswamy", {"concentration1": POSITIVE, "concentration0": [0.8, 2.0]}, {}, UNIT),
    "logistic normal": ("LogisticNormal", {"loc": LOC, "scale": SCALE}, {}, ROWS[0]),
    "generalized pareto": (
        "GeneralizedPareto",
        {"loc": [-3.0], "scale": SCALE, "concentration": [[0.2], [0.0], [0.7]]}, {}, ABOVE),
    "bernoulli": ("Bernoulli", {"probs": PROBS}, {}, [0.0, 1.0, 1.0]),
    "bernoulli of logits": ("Bernoulli", {"logits": LOGITS}, {}, [0.0, 1.0, 1.0]),
    "geometric": ("Geometric", {"probs": PROBS}, {}, [0.0, 3.0, 1.0]),
    "geometric of logits": ("Geometric", {"logits": LOGITS}, {}, [0.0, 3.0, 1.0]),
    "binomial": ("Binomial", {"probs": PROBS}, {"total_count": 5}, [0.0, 3.0, 5.0]),
    "binomial of logits": ("Binomial", {"logits": LOGITS}, {"total_count": 9}, [0.0, 3.0, 5.0]),
    "negative binomial": (
        "NegativeBinomial", {"probs": PROBS}, {"total_count": 4}, [0.0, 3.0, 9.0]),
    "categorical": ("Categorical", {"probs": ROWS}, {}, [2.0, 1.0]),
    "categorical of logits": ("Categorical", {"logits": LOGITS}, {}, [2.0, 1.0]),
    "one hot": ("OneHotCategorical", {"probs": ROWS}, {}, [0.0, 1.0, 0.0]),
    "straight through": (
        "OneHotCategoricalStraightThrough", {"logits": LOGITS}, {}, [0.0, 1.0, 0.0]),
    "multinomial": ("Multinomial", {"probs": ROWS}, {"total_count": 4}, [1.0, 1.0, 2.0]),
    "poisson": ("Poisson", {"rate": [0.3, 4.0, 25.0]}, {}, [0.0, 3.0, 20.0]),
    "gamma": ("Gamma", {"concentration": POSITIVE, "rate": SCALE}, {}, ABOVE),
    "chi2": ("Chi2", {"df": POSITIVE}, {}, ABOVE),
    "inverse gamma": ("InverseGamma", {"concentration": POSITIVE, "rate": SCALE}, {}, ABOVE),
    "beta": ("Beta", {"concentration1": POSITIVE, "concentration0": SCALE}, {}, UNIT),
    "dirichlet": ("Dirichlet", {"concentration": [[0.4, 1.0, 2.5], [3.0, 0.7, 1.5]]}, {}, ROWS),
    "student": ("StudentT", {"df": [[0.8], [1.5], [7.0]], "loc": LOC, "scale": SCALE}, {}, REAL),
    "fisher": ("FisherSnedecor", {"df1": [[1.0], [3.0], [7.0]], "df2": [2.0, 9.0]}, {}, ABOVE),
    "continuous bernoulli": ("ContinuousBernoulli", {"probs": PROBS}, {}, [0.2, 0.6, 1.0]),
    "continuous bernoulli of logits": (
        "ContinuousBernoulli", {"logits": LOGITS}, {}, [0.2, 0.6, 1.0]),
    "relaxed bernoulli": (
        "RelaxedBernoulli", {"temperature": 0.7, "probs": PROBS}, {}, [0.2, 0.6, 0.9]),
    "relaxed one hot": (
        "RelaxedOneHotCategorical", {"temperature": 0.7, "logits": LOGITS}, {}, ROWS[0]),
    "von mises": ("VonMises", {"loc": LOC, "concentration": [0.3, 8.0]}, {}, REAL),
    "multivariate normal": (
        "MultivariateNormal", {"loc": [0.5, -1.0], "covariance_matrix": COVARIANCE}, {}, REAL[0]),
    "multivariate normal of a factor": (
        "MultivariateNormal", {"loc": REAL, "scale_tril": FACTOR}, {}, REAL),
    "multivariate normal of a precision": (
        "MultivariateNormal", {"loc": REAL[0], "precision_matrix": COVARIANCE}, {}, REAL[:2]),
    "low rank": (
        "LowRankMultivariateNormal",
        {"loc": REAL[0], "cov_factor": [[0.5], [-0.8]], "cov_diag": [0.4, 1.2]}, {}, REAL),
    "lkj": ("LKJCholesky", {"concentration": [0.7, 2.0]}, {"dim": 2}, [[1.0, 0.0], [0.6, 0.8]]),
    "wishart": (
        "Wishart", {"df": [3.5, 5.0], "covariance_matrix": COVARIANCE}, {}, COVARIANCE[0]),
}  # fmt: skip
CONTINUOUS = [n for n, c in CASES.items() if c[3] in (REAL, ABOVE, UNIT)]


def tensors(m, parameters, dtype="float64", grad=False):
    """The parameters as tensors of a library."""
    kind = getattr(m, dtype)
    return {n: m.tensor(v, dtype=kind, requires_grad=grad) for n, v in parameters.items()}


def made(m, name, dtype="float64", grad=False):
    """The distribution of a case, its parameters, and the value."""
    kind, parameters, more, value = CASES[name]
    given = tensors(m, parameters, dtype, grad)
    return (
        getattr(m.distributions, kind)(**given, **more),
        given,
        m.tensor(value, dtype=getattr(m, dtype)),
    )


def numbers(x):
    """A tensor of either library as an array."""
    return np.asarray(x.detach().numpy())


def close(got, expected, tolerance=1e-10):
    """Both are tensors of the same shape, dtype and numbers, to rounding."""
    assert tuple(got.shape) == tuple(expected.shape)
    assert str(got.dtype).removeprefix("funcgrad.") == str(expected.dtype)
    np.testing.assert_allclose(numbers(got), numbers(expected), tolerance, tolerance)


__all__ = ["CASES", "CONTINUOUS", "close", "made", "numbers", "ours", "tensors", "theirs"]
