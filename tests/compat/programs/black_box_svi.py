"""Stochastic variational inference of a density that is known up to a factor."""

import autograd.numpy as np
import autograd.numpy.random as npr
import autograd.scipy.stats.multivariate_normal as mvn
import autograd.scipy.stats.norm as norm
from autograd import grad
from autograd.misc.optimizers import adam


def black_box_variational_inference(logprob, D, num_samples):
    def unpack_params(params):
        return params[:D], params[D:]

    def gaussian_entropy(log_std):
        return 0.5 * D * (1.0 + np.log(2 * np.pi)) + np.sum(log_std)

    rs = npr.RandomState(0)

    def variational_objective(params, t):
        mean, log_std = unpack_params(params)
        samples = rs.randn(num_samples, D) * np.exp(log_std) + mean
        lower_bound = gaussian_entropy(log_std) + np.mean(logprob(samples, t))
        return -lower_bound

    return variational_objective, grad(variational_objective), unpack_params


def run():
    def log_density(x, t):
        mu, log_sigma = x[:, 0], x[:, 1]
        sigma_density = norm.logpdf(log_sigma, 0, 1.35)
        mu_density = norm.logpdf(mu, 0, np.exp(log_sigma))
        return sigma_density + mu_density

    _, gradient, unpack = black_box_variational_inference(log_density, 2, 40)
    start = np.concatenate([-np.ones(2), -5 * np.ones(2)])
    params = adam(gradient, start, step_size=0.1, num_iters=10)
    mean, log_std = unpack(params)
    return params, mvn.logpdf(np.zeros(2), mean, np.diag(np.exp(2 * log_std)))
