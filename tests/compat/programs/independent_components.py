"""Independent components: an unmixing matrix by the likelihood of heavy tails."""

import autograd.numpy as np
import autograd.numpy.random as npr
import autograd.scipy.stats.t as t
from autograd import grad, hessian_vector_product


def log_likelihood(unmix, degrees, data):
    sources = np.einsum("ij,nj->ni", unmix, data)
    _, size = np.linalg.slogdet(unmix)
    return np.mean(np.sum(t.logpdf(sources, degrees, 0.0, 1.0), axis=1)) + size


def loss(unmix, degrees, data, penalty=0.01):
    return -log_likelihood(unmix, degrees, data) + penalty * np.linalg.norm(unmix) ** 2


def run():
    draw = npr.RandomState(2)
    data = np.dot(draw.standard_t(3, size=(40, 3)), draw.randn(3, 3))
    unmix = np.eye(3) + 0.1 * draw.randn(3, 3)
    for _ in range(10):
        unmix = unmix - 0.1 * grad(loss)(unmix, 4.0, data)
    several = grad(loss, (0, 1, 3))(unmix, 4.0, data, 0.1)
    curvature = hessian_vector_product(loss)(unmix, 4.0, data, np.ones((3, 3)))
    return unmix, several, curvature
