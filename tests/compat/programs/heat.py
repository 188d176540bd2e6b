"""Heat in a rod: gradients by the material, Jacobians, tangents, and a graph traced once."""

import autograd.numpy as np
from autograd import elementwise_grad, grad, jacobian, make_jvp
from autograd.misc import const_graph


def heat(u, conductivity, steps):
    for _ in range(steps):
        flux = conductivity * (np.roll(u, -1) - u)
        u = u + 0.1 * (flux - np.roll(flux, 1))
    return u


def run():
    x = np.linspace(0, 1, 8, endpoint=False)
    start = np.exp(-20 * (x - 0.5) ** 2)
    conductivity = 1.0 + 0.5 * np.sin(2 * np.pi * x)
    loss = lambda k: np.sum((heat(start, k, 20) - np.mean(start)) ** 2)
    moved = make_jvp(heat)(start, conductivity, 20)(np.ones(8))
    squared = const_graph(lambda u: heat(u, conductivity, 3) ** 2)
    return (
        grad(loss)(conductivity),
        jacobian(heat)(start, conductivity, 5),
        moved,
        elementwise_grad(lambda u: squared(u))(start),
    )
