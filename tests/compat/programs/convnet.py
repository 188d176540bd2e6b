"""Convolutions, pooling and a linear layer, with parameters as one vector."""

import autograd.numpy as np
import autograd.numpy.random as npr
import autograd.scipy.signal
from autograd import grad
from autograd.scipy.special import logsumexp

convolve = autograd.scipy.signal.convolve


class WeightsParser:
    """Names for parts of a vector of parameters."""

    def __init__(self):
        self.idxs_and_shapes = {}
        self.N = 0

    def add_weights(self, name, shape):
        start = self.N
        self.N += np.prod(shape)
        self.idxs_and_shapes[name] = (slice(start, self.N), shape)

    def get(self, vect, name):
        idxs, shape = self.idxs_and_shapes[name]
        return np.reshape(vect[idxs], shape)


def max_pool(inputs, pool):
    new_shape = inputs.shape[:2]
    for i in [0, 1]:
        new_shape += (inputs.shape[i + 2] // pool, pool)
    return np.max(np.max(inputs.reshape(new_shape), axis=3), axis=4)


def run():
    rs = npr.RandomState(0)
    parser = WeightsParser()
    parser.add_weights("filters", (1, 3, 3, 3))
    parser.add_weights("filter biases", (1, 3, 1, 1))
    parser.add_weights("dense", (27, 4))
    parser.add_weights("dense biases", (4,))
    images = rs.randn(5, 1, 8, 8)
    targets = np.eye(4)[rs.randint(4, size=5)]
    weights = 0.1 * rs.randn(parser.N)

    def loss(weights):
        outputs = convolve(
            images,
            parser.get(weights, "filters"),
            axes=([2, 3], [2, 3]),
            dot_axes=([1], [0]),
            mode="valid",
        )
        outputs = max_pool(np.tanh(outputs + parser.get(weights, "filter biases")), 2)
        outputs = outputs.reshape((5, -1))
        outputs = np.dot(outputs, parser.get(weights, "dense")) + parser.get(
            weights, "dense biases"
        )
        log_probs = outputs - logsumexp(outputs, axis=1, keepdims=True)
        return -np.sum(log_probs * targets)

    for _ in range(3):
        weights = weights - 0.01 * grad(loss)(weights)
    return loss(weights), grad(loss)(weights)
