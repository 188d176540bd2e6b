"""Natural gradient of variational inference: the metric is a Hessian of a divergence."""

import autograd.numpy as np
import autograd.numpy.random as npr
import autograd.scipy.stats.norm as norm
from autograd import grad, hessian, jacobian
from autograd.misc.optimizers import sgd


def divergence(p, q):
    """Kullback and Leibler's, of Gaussians with independent parts."""
    (mean_p, log_p), (mean_q, log_q) = (np.split(x, 2) for x in (p, q))
    ratio = np.exp(2 * (log_p - log_q))
    return np.sum(log_q - log_p + 0.5 * (ratio + (mean_p - mean_q) ** 2 / np.exp(2 * log_q)) - 0.5)


def run():
    rs = npr.RandomState(1)
    noise = rs.randn(20, 2)

    def objective(params, t=0):
        mean, log_std = np.split(params, 2)
        x = mean + np.exp(log_std) * noise
        banana = norm.logpdf(x[:, 0], 0.0, 1.3) + norm.logpdf(x[:, 1], x[:, 0] ** 2 / 4, 0.7)
        return -np.mean(banana) - np.sum(log_std)

    def natural(params, t):
        metric = hessian(lambda q: divergence(params, q))(params)
        return np.linalg.solve(metric, grad(objective)(params))

    start = np.array([1.0, 1.0, -1.0, -1.0])
    found = sgd(natural, start, num_iters=8, step_size=0.1, mass=0.5)
    return found, jacobian(grad(lambda q: divergence(start, q)))(start)
