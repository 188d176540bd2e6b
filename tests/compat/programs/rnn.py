"""A recurrent net that learns to repeat a text."""

import autograd.numpy as np
import autograd.numpy.random as npr
from autograd import grad
from autograd.misc.optimizers import adam
from autograd.scipy.special import logsumexp


def sigmoid(x):
    return 0.5 * (np.tanh(x) + 1.0)


def concat_and_multiply(weights, *args):
    cat_state = np.hstack(args + (np.ones((args[0].shape[0], 1)),))
    return np.dot(cat_state, weights)


def create_rnn_params(input_size, state_size, output_size, scale, rs):
    return {
        "init hiddens": rs.randn(1, state_size) * scale,
        "change": rs.randn(input_size + state_size + 1, state_size) * scale,
        "predict": rs.randn(state_size + 1, output_size) * scale,
    }


def rnn_predict(params, inputs):
    def update_rnn(input, hiddens):
        return np.tanh(concat_and_multiply(params["change"], input, hiddens))

    def hiddens_to_output_probs(hiddens):
        output = concat_and_multiply(params["predict"], hiddens)
        return output - logsumexp(output, axis=1, keepdims=True)

    num_sequences = inputs.shape[1]
    hiddens = np.repeat(params["init hiddens"], num_sequences, axis=0)
    output = [hiddens_to_output_probs(hiddens)]
    for input in inputs:
        hiddens = update_rnn(input, hiddens)
        output.append(hiddens_to_output_probs(hiddens))
    return output


def rnn_log_likelihood(params, inputs, targets):
    logprobs = rnn_predict(params, inputs)
    loglik = 0.0
    num_time_steps, num_examples, _ = inputs.shape
    for t in range(num_time_steps):
        loglik += np.sum(logprobs[t] * targets[t])
    return loglik / (num_time_steps * num_examples)


def one_hot(text):
    letters = sorted(set("abcd "))
    return np.array([[c == letter for letter in letters] for c in text], dtype=float)


def run():
    data = np.stack([one_hot("abcd abcd"), one_hot("dcba dcba")], axis=1)
    params = create_rnn_params(5, 6, 5, 0.1, npr.RandomState(1))

    def training_loss(params, iter):
        return -rnn_log_likelihood(params, data, data)

    trained = adam(grad(training_loss), params, step_size=0.1, num_iters=10)
    return trained, training_loss(trained, 0)
