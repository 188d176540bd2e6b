"""Two Gaussian processes in a row: the joint density of outputs and of what lies between."""

import autograd.numpy as np
import autograd.numpy.random as npr
import autograd.scipy.stats.multivariate_normal as mvn
import autograd.scipy.stats.norm as norm
from autograd import grad
from autograd.misc.optimizers import adam


def covariance(params, x, xp):
    diffs = (x[:, None] - xp[None, :]) / np.exp(params["length"])
    return np.exp(params["scale"]) * np.exp(-0.5 * diffs**2)


def log_density(params, x, y):
    def layer(layer, x, y):
        cov = covariance(layer, x, x) + np.exp(layer["noise"]) * np.eye(len(x))
        return mvn.logpdf(y, np.zeros(len(x)), cov)

    prior = sum(
        norm.logpdf(layer[name], 0.0, 1.0) for layer in params["layers"] for name in sorted(layer)
    )
    inner, outer = params["layers"]
    return prior + layer(inner, x, params["hidden"]) + layer(outer, params["hidden"], y)


def run():
    rs = npr.RandomState(3)
    x = np.linspace(-2, 2, 9)
    y = np.where(x > 0, 1.0, -1.0) + 0.05 * rs.randn(9)
    params = {
        "layers": [{"length": 0.1, "scale": 0.0, "noise": -2.0} for _ in range(2)],
        "hidden": x + 0.1 * rs.randn(9),
    }
    objective = lambda params, i: -log_density(params, x, y)
    trained = adam(grad(objective), params, step_size=0.02, num_iters=6)
    return grad(objective)(params, 0), trained
