"""A long short-term memory, its gradient by name, and a step of RMSprop."""

import autograd.numpy as np
import autograd.numpy.random as npr
from autograd import value_and_grad
from autograd.misc.optimizers import rmsprop
from autograd.scipy.special import logsumexp


def sigmoid(x):
    return 0.5 * (np.tanh(x) + 1.0)


def concat_and_multiply(weights, *args):
    cat_state = np.hstack(args + (np.ones((args[0].shape[0], 1)),))
    return np.dot(cat_state, weights)


def init_lstm_params(input_size, state_size, output_size, scale, rs):
    def rp(*shape):
        return rs.randn(*shape) * scale

    gates = input_size + state_size + 1
    return {
        "init cells": rp(1, state_size),
        "init hiddens": rp(1, state_size),
        "change": rp(gates, state_size),
        "forget": rp(gates, state_size),
        "ingate": rp(gates, state_size),
        "outgate": rp(gates, state_size),
        "predict": rp(state_size + 1, output_size),
    }


def lstm_predict(params, inputs):
    def update_lstm(input, hiddens, cells):
        change = np.tanh(concat_and_multiply(params["change"], input, hiddens))
        forget = sigmoid(concat_and_multiply(params["forget"], input, hiddens))
        ingate = sigmoid(concat_and_multiply(params["ingate"], input, hiddens))
        outgate = sigmoid(concat_and_multiply(params["outgate"], input, hiddens))
        cells = cells * forget + ingate * change
        return outgate * np.tanh(cells), cells

    def output_probs(hiddens):
        output = concat_and_multiply(params["predict"], hiddens)
        return output - logsumexp(output, axis=1, keepdims=True)

    hiddens = np.repeat(params["init hiddens"], inputs.shape[1], axis=0)
    cells = np.repeat(params["init cells"], inputs.shape[1], axis=0)
    output = [output_probs(hiddens)]
    for input in inputs:
        hiddens, cells = update_lstm(input, hiddens, cells)
        output.append(output_probs(hiddens))
    return output


def run():
    rs = npr.RandomState(2)
    data = np.eye(4)[rs.randint(4, size=(6, 3))]
    params = init_lstm_params(4, 5, 4, 0.2, rs)

    def loss(params, iter):
        logprobs = lstm_predict(params, data)
        return -sum(np.sum(p * d) for p, d in zip(logprobs, data)) / data.shape[0]

    both = value_and_grad(loss)(params, 0)
    trained = rmsprop(lambda p, i: value_and_grad(loss)(p, i)[1], params, num_iters=4)
    return both, trained
