"""Maximum likelihood of a logistic model by gradient descent."""

import autograd.numpy as np
from autograd import grad
from autograd.test_util import check_grads


def sigmoid(x):
    return 0.5 * (np.tanh(x / 2.0) + 1)


inputs = np.array(
    [[0.52, 1.12, 0.77], [0.88, -1.08, 0.15], [0.52, 0.06, -1.30], [0.74, -2.49, 1.39]]
)
targets = np.array([True, True, False, True])


def training_loss(weights):
    predictions = sigmoid(np.dot(inputs, weights))
    likelihood = predictions * targets + (1 - predictions) * (1 - targets)
    return -np.sum(np.log(likelihood))


def run():
    weights = np.array([0.0, 0.0, 0.0])
    check_grads(training_loss, modes=["rev"])(weights)
    gradient = grad(training_loss)
    losses = [training_loss(weights)]
    for _ in range(40):
        weights -= gradient(weights) * 0.1
        losses.append(training_loss(weights))
    return weights, losses
