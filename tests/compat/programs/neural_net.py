"""A multilayer perceptron that tells classes apart, trained by Adam on minibatches."""

from itertools import pairwise

import autograd.numpy as np
import autograd.numpy.random as npr
from autograd import grad
from autograd.misc.flatten import flatten
from autograd.misc.optimizers import adam
from autograd.scipy.special import logsumexp


def init_random_params(scale, sizes, rs):
    return [(scale * rs.randn(m, n), scale * rs.randn(n)) for m, n in pairwise(sizes)]


def predict(params, inputs):
    for W, b in params:
        outputs = np.dot(inputs, W) + b
        inputs = np.tanh(outputs)
    return outputs - logsumexp(outputs, axis=1, keepdims=True)


def l2_norm(params):
    flattened, _ = flatten(params)
    return np.dot(flattened, flattened)


def log_posterior(params, inputs, targets, penalty):
    return -penalty * l2_norm(params) + np.sum(predict(params, inputs) * targets)


def accuracy(params, inputs, targets):
    return np.mean(np.argmax(predict(params, inputs), axis=1) == np.argmax(targets, axis=1))


def run():
    rs = npr.RandomState(0)
    labels = rs.randint(3, size=60)
    inputs = rs.randn(60, 4) + 2.0 * np.eye(4)[labels]
    targets = np.eye(3)[labels]
    params = init_random_params(0.1, [4, 8, 3], rs)

    def objective(params, iteration):
        rows = slice(20 * (iteration % 3), 20 * (iteration % 3) + 20)
        return -log_posterior(params, inputs[rows], targets[rows], 1.0)

    shown = []

    def callback(params, iteration, gradient):
        if iteration % 3 == 0:
            shown.append(accuracy(params, inputs, targets))

    params = adam(grad(objective), params, step_size=0.05, num_iters=15, callback=callback)
    return params, shown, accuracy(params, inputs, targets)
