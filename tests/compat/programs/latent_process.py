"""A latent variable model under a Gaussian process, fitted by SciPy's minimizer."""

import autograd.numpy as np
import autograd.numpy.random as npr
import autograd.scipy.stats.multivariate_normal as mvn
from autograd import value_and_grad
from autograd.misc import flatten
from scipy.optimize import minimize


def kernel(scales, xs, ys):
    off = (np.expand_dims(xs, 1) - np.expand_dims(ys, 0)) / np.exp(scales[1:])
    return np.exp(scales[0]) * np.exp(-0.5 * np.sum(off**2, axis=2))


def log_joint(parameters, data):
    latents, scales, noise = parameters["latents"], parameters["scales"], parameters["noise"]
    count = len(latents)
    cov = kernel(scales, latents, latents) + (np.exp(noise) + 1e-3) * np.eye(count)
    likelihood = sum(mvn.logpdf(column, np.zeros(count), cov) for column in data.T)
    return likelihood - 0.5 * np.sum(latents**2)


def run():
    draw = npr.RandomState(1)
    data = draw.randn(7, 3)
    first = {"latents": draw.randn(7, 2), "scales": np.array([0.1, 0.2, -0.1]), "noise": -1.0}
    flat, unflatten = flatten(first)
    objective = value_and_grad(lambda p: -log_joint(unflatten(p), data))
    fitted = minimize(objective, flat, jac=True, method="CG", options={"maxiter": 3})
    return objective(flat), fitted.x, fitted.fun
