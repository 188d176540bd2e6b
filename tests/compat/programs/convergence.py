"""Optimizers that are stopped by their callback, on a logistic model."""

import autograd.numpy as np
import autograd.numpy.random as npr
from autograd import grad
from autograd.misc.optimizers import adam, rmsprop, sgd


def run():
    draw = npr.RandomState(1)
    inputs = draw.randn(40, 3)
    targets = draw.randint(0, 2, (40,))

    def loss(weights, iteration=None):
        chance = 0.5 * (np.tanh(np.dot(inputs, weights)) + 1)
        return -np.mean(np.log(chance * targets + (1 - chance) * (1 - targets)))

    found = []
    for optimizer, step in ((adam, 0.1), (sgd, 0.5), (rmsprop, 0.01)):
        norms = []

        def callback(weights, iteration, gradient, norms=norms):
            norms.append(np.sum(np.abs(gradient)))
            return norms[-1] < 1e-3

        weights = optimizer(
            grad(loss), np.zeros(3), step_size=step, num_iters=60, callback=callback
        )
        found += [weights, norms, loss(weights)]
    return found
