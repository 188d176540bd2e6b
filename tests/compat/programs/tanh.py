"""Derivatives of tanh, to the sixth order."""

import autograd.numpy as np
from autograd import elementwise_grad as egrad


def tanh(x):
    y = np.exp(-2.0 * x)
    return (1.0 - y) / (1.0 + y)


def run():
    x = np.linspace(-3, 3, 20)
    found, f = [], tanh
    for _ in range(6):
        f = egrad(f)
        found.append(f(x))
    return found
