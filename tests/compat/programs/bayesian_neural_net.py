"""The posterior of a small net with radial units, by variational inference on all its weights."""

from itertools import pairwise

import autograd.numpy as np
import autograd.numpy.random as npr
from autograd import grad
from autograd.misc.optimizers import adam


def make_nn_funs(layer_sizes, L2_reg, noise_variance, nonlinearity=np.tanh):
    shapes = list(pairwise(layer_sizes))
    num_weights = sum((m + 1) * n for m, n in shapes)

    def unpack_layers(weights):
        num_weight_sets = len(weights)
        for m, n in shapes:
            yield (
                weights[:, : m * n].reshape((num_weight_sets, m, n)),
                weights[:, m * n : m * n + n].reshape((num_weight_sets, 1, n)),
            )
            weights = weights[:, (m + 1) * n :]

    def predictions(weights, inputs):
        inputs = np.expand_dims(inputs, 0)
        for W, b in unpack_layers(weights):
            outputs = np.einsum("mnd,mdo->mno", inputs, W) + b
            inputs = nonlinearity(outputs)
        return outputs

    def logprob(weights, inputs, targets):
        log_prior = -L2_reg * np.sum(weights**2, axis=1)
        preds = predictions(weights, inputs)
        log_lik = -np.sum((preds - targets) ** 2, axis=1)[:, 0] / noise_variance
        return log_prior + log_lik

    return num_weights, predictions, logprob


def run():
    rs = npr.RandomState(0)
    rbf = lambda x: np.exp(-(x**2))
    num_weights, predictions, logprob = make_nn_funs([1, 5, 5, 1], 0.1, 0.01, rbf)
    inputs = np.linspace(-2, 2, 10)[:, None]
    targets = np.cos(2 * inputs) + 0.1 * rs.randn(10, 1)
    noise = rs.randn(4, num_weights)

    def objective(params, t):
        mean, log_std = params[:num_weights], params[num_weights:]
        samples = noise * np.exp(log_std) + mean
        return -np.sum(log_std) - np.mean(logprob(samples, inputs, targets))

    start = np.concatenate([rs.randn(num_weights), -5 * np.ones(num_weights)])
    found = adam(grad(objective), start, step_size=0.05, num_iters=5)
    return found, predictions(found[None, :num_weights], inputs)
