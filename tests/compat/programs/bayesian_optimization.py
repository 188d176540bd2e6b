"""Bayesian optimization: the next point is where the expected improvement is largest."""

import autograd.numpy as np
from autograd import grad, value_and_grad
from autograd.scipy.stats import norm


def covariance(x, y):
    return np.exp(-0.5 * ((x[:, None] - y[None, :]) / 0.4) ** 2)


def predict(at, x, y):
    known = covariance(x, x) + 1e-4 * np.eye(len(x))
    cross = covariance(at, x)
    mean = np.dot(cross, np.linalg.solve(known, y))
    inner = np.sum(cross.T * np.linalg.solve(known, cross.T), axis=0)
    return mean, np.sqrt(1.0 + 1e-6 - inner)


def improvement(at, x, y):
    mean, deviation = predict(np.array([at]), x, y)
    z = (mean - np.max(y)) / deviation
    return np.sum(deviation * (z * norm.cdf(z) + norm.pdf(z)))


def probability(at, x, y):
    mean, deviation = predict(np.array([at]), x, y)
    return np.sum(norm.logcdf((mean - np.max(y)) / deviation))


def run():
    f = lambda x: np.sin(3 * x) + 0.3 * x
    x = np.array([-1.0, 0.1, 1.3])
    found = []
    for _ in range(3):
        y, at = f(x), 0.4
        for _ in range(15):
            gain, slope = value_and_grad(improvement)(at, x, y)
            at = at + 0.2 * slope
        found += [gain, at, grad(probability)(at, x, y)]
        x = np.append(x, at)
    return found
