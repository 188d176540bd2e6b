"""A curve through noisy points: a small net under a normal prior, trained by Adam."""

from itertools import pairwise

import autograd.numpy as np
import autograd.numpy.random as npr
import autograd.scipy.stats.norm as norm
from autograd import grad
from autograd.misc import flatten
from autograd.misc.optimizers import adam


def layers(scale, sizes, draw):
    return [(scale * draw.randn(m, n), scale * draw.randn(n)) for m, n in pairwise(sizes)]


def predict(params, inputs, nonlinearity=np.tanh):
    for weights, bias in params:
        outputs = np.dot(inputs, weights) + bias
        inputs = nonlinearity(outputs)
    return outputs


def log_prior(params, scale):
    flat, _ = flatten(params)
    return np.sum(norm.logpdf(flat, 0, scale))


def log_likelihood(params, inputs, targets, noise=0.1):
    return np.sum(norm.logpdf(predict(params, inputs), targets, noise))


def run():
    draw = npr.RandomState(0)
    seen = np.concatenate([np.linspace(0, 3, num=12), np.linspace(6, 8, num=12)])
    targets = (np.cos(seen) + 0.1 * draw.randn(24))[:, np.newaxis] / 2.0
    inputs = ((seen - 4.0) / 2.0)[:, np.newaxis]

    def objective(params, iteration):
        return -log_likelihood(params, inputs, targets) - log_prior(params, 10.0)

    losses = []

    def callback(params, iteration, gradient):
        losses.append(objective(params, iteration))

    start = layers(0.1, [1, 4, 4, 1], draw)
    found = adam(grad(objective), start, step_size=0.01, num_iters=25, callback=callback)
    return losses, predict(found, np.linspace(-2, 2, 5)[:, np.newaxis])
