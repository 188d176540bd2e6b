"""A generator against a discriminator: two players, gradients through both, and Adam for each."""

from itertools import pairwise

import autograd.numpy as np
import autograd.numpy.random as npr
from autograd import grad
from autograd.misc import flatten


def relu(x):
    return np.maximum(0, x)


def batch_normalized(a):
    return (a - np.mean(a, axis=0, keepdims=True)) / (np.std(a, axis=0, keepdims=True) + 1e-3)


def network(parameters, x, last):
    for w, b in parameters[:-1]:
        x = relu(batch_normalized(np.dot(x, w) + b))
    w, b = parameters[-1]
    return last(np.dot(x, w) + b)


def real_or_not(parameters, x):
    return network(parameters, x, lambda y: -np.logaddexp(0, -y))


def objective(made, judged, data, noise):
    fakes = network(made, noise, np.tanh)
    return np.mean(np.log1p(-np.exp(real_or_not(judged, fakes)) + 1e-9)) + np.mean(
        real_or_not(judged, data)
    )


def layers(draw, sizes):
    return [(0.5 * draw.randn(m, n), 0.1 * draw.randn(n)) for m, n in pairwise(sizes)]


def adam_minimax(slope_down, slope_up, down, up, steps):
    (x, back_x), (y, back_y) = flatten(down), flatten(up)
    state = [np.zeros(len(v)) for v in (x, x, y, y)]
    for i in range(steps):
        gx = flatten(slope_down(back_x(x), back_y(y), i))[0]
        gy = flatten(slope_up(back_x(x), back_y(y), i))[0]
        for k, g in ((0, gx), (2, gy)):
            state[k] = 0.5 * g + 0.5 * state[k]
            state[k + 1] = 0.1 * g**2 + 0.9 * state[k + 1]
        moves = [
            0.05 * (m / (1 - 0.5 ** (i + 1))) / (np.sqrt(v / (1 - 0.9 ** (i + 1))) + 1e-3)
            for m, v in (state[:2], state[2:])
        ]
        x, y = x - moves[0], y + moves[1]
    return x, y


def run():
    draw = npr.RandomState(3)
    data, noise = draw.randn(3, 12, 2) * 0.3 + 0.5, draw.rand(3, 12, 2)
    made, judged = layers(draw, [2, 6, 2]), layers(draw, [2, 6, 1])
    game = lambda p, q, i: objective(p, q, data[i % 3], noise[i % 3])
    return adam_minimax(grad(game), grad(game, 1), made, judged, 4)
