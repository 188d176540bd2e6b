"""A variational autoencoder of binary pictures, with reparametrised samples."""

from itertools import pairwise

import autograd.numpy as np
import autograd.numpy.random as npr
import autograd.scipy.stats.norm as norm
from autograd import grad
from autograd.misc.optimizers import adam
from autograd.scipy.special import expit as sigmoid


def diag_gaussian_log_density(x, mu, log_std):
    return np.sum(norm.logpdf(x, mu, np.exp(log_std)), axis=-1)


def unpack_gaussian_params(params):
    D = np.shape(params)[-1] // 2
    return params[:, :D], params[:, D:]


def bernoulli_log_density(targets, unnormalized_logprobs):
    label_probabilities = -np.logaddexp(0, -unnormalized_logprobs * (targets * 2 - 1))
    return np.sum(label_probabilities, axis=-1)


def relu(x):
    return np.maximum(0, x)


def neural_net_predict(params, inputs):
    for W, b in params:
        outputs = np.dot(inputs, W) + b
        inputs = relu(outputs)
    return outputs


def init_net_params(scale, sizes, rs):
    return [(scale * rs.randn(m, n), scale * rs.randn(n)) for m, n in pairwise(sizes)]


def run():
    rs = npr.RandomState(0)
    images = (rs.rand(12, 9) > 0.5) * 1.0
    params = (init_net_params(0.3, [9, 6, 4], rs), init_net_params(0.3, [2, 6, 9], rs))
    noise = rs.randn(12, 2)

    def lower_bound(params):
        encoder, decoder = params
        q_means, q_log_stds = unpack_gaussian_params(neural_net_predict(encoder, images))
        latents = noise * np.exp(q_log_stds) + q_means
        q_latents = diag_gaussian_log_density(latents, q_means, q_log_stds)
        p_latents = diag_gaussian_log_density(latents, 0, 1)
        likelihood = bernoulli_log_density(images, neural_net_predict(decoder, latents))
        return np.mean(p_latents + likelihood - q_latents)

    trained = adam(grad(lambda p, i: -lower_bound(p)), params, step_size=0.02, num_iters=5)
    return lower_bound(params), trained, sigmoid(neural_net_predict(trained[1], noise))
