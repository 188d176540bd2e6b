"""The parameters of a differential equation, by the adjoint method."""

import autograd.numpy as np
import autograd.numpy.random as npr
from autograd import grad
from autograd.builtins import tuple
from autograd.misc.optimizers import adam
from autograd.scipy.integrate import odeint


def dynamics(y, t, params):
    for W, b in params[:-1]:
        y = np.tanh(np.dot(W, y) + b)
    W, b = params[-1]
    return np.dot(W, y) + b


def run():
    rs = npr.RandomState(0)
    params = [(0.3 * rs.randn(n, m), 0.1 * rs.randn(n)) for m, n in [(2, 4), (4, 2)]]
    times = np.linspace(0.0, 2.0, 5)
    start = np.array([2.0, 0.0])
    swing = lambda y, t: np.dot(np.array([[-0.1, 2.0], [-2.0, -0.1]]), y)
    data = odeint(swing, start, times)

    def loss(params, y0, times):
        found = odeint(dynamics, y0, times, tuple((params,)), rtol=1e-9, atol=1e-9)
        return np.mean((found - data) ** 2)

    gradients = grad(loss, (0, 1, 2))(params, start, times)
    trained = adam(lambda p, i: grad(loss)(p, start, times), params, step_size=0.05, num_iters=2)
    return [np.round(x, 6) for x in (loss(params, start, times), loss(trained, start, times))], [
        np.round(x, 5) for x in (gradients[0][0][0], gradients[0][1][1], gradients[1], gradients[2])
    ]
