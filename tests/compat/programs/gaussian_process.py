"""Hyperparameters of Gaussian process regression by the marginal likelihood, with SciPy's BFGS."""

import autograd.numpy as np
import autograd.numpy.random as npr
import autograd.scipy.stats.multivariate_normal as mvn
from autograd import value_and_grad
from scipy.optimize import minimize


def rbf_covariance(kernel_params, x, xp):
    output_scale = np.exp(kernel_params[0])
    lengthscales = np.exp(kernel_params[1:])
    diffs = np.expand_dims(x / lengthscales, 1) - np.expand_dims(xp / lengthscales, 0)
    return output_scale * np.exp(-0.5 * np.sum(diffs**2, axis=2))


def unpack(params):
    return params[0], np.exp(params[1]), params[2:]


def predict(params, x, y, xstar):
    mean, noise, kernel = unpack(params)
    cov_ff = rbf_covariance(kernel, xstar, xstar)
    cov_yf = rbf_covariance(kernel, x, xstar)
    cov_yy = rbf_covariance(kernel, x, x) + noise * np.eye(len(y))
    pred_mean = mean + np.dot(np.linalg.solve(cov_yy, cov_yf).T, y - mean)
    return pred_mean, cov_ff - np.dot(np.linalg.solve(cov_yy, cov_yf).T, cov_yf)


def log_marginal_likelihood(params, x, y):
    mean, noise, kernel = unpack(params)
    cov_yy = rbf_covariance(kernel, x, x) + noise * np.eye(len(y))
    return mvn.logpdf(y, mean * np.ones(len(y)), cov_yy)


def run():
    rs = npr.RandomState(0)
    x = np.sort(rs.rand(12, 1) * 6, axis=0)
    y = np.cos(x[:, 0]) + 0.1 * rs.randn(12)

    def objective(params):
        return -log_marginal_likelihood(params, x, y)

    start = 0.1 * rs.randn(4)
    first = value_and_grad(objective)(start)
    found = minimize(
        value_and_grad(objective), start, jac=True, method="BFGS", options={"maxiter": 6}
    )
    return first, found.x, predict(found.x, x, y, np.linspace(0, 6, 5)[:, None])
