"""Functions with rules of their own: a stable logsumexp, and a solver that nothing sees through."""

import autograd.numpy as np
import scipy.linalg
from autograd import grad, hessian, jacobian
from autograd.extend import defjvp, defvjp, primitive
from autograd.test_util import check_grads


@primitive
def logsumexp(x):
    max_x = np.max(x)
    return max_x + np.log(np.sum(np.exp(x - max_x)))


def logsumexp_vjp(ans, x):
    x_shape = x.shape
    return lambda g: np.full(x_shape, g) * np.exp(x - np.full(x_shape, ans))


defvjp(logsumexp, logsumexp_vjp)


@primitive
def solve(a, b):
    assert type(a) is np.ndarray and type(b) is np.ndarray
    return scipy.linalg.solve(a, b)


defvjp(
    solve,
    lambda ans, a, b: lambda g: -np.outer(solve(a.T, g), ans),
    lambda ans, a, b: lambda g: solve(a.T, g),
)
defjvp(
    solve,
    lambda g, ans, a, b: -solve(a, np.dot(g, ans)),
    lambda g, ans, a, b: solve(a, g),
)


def run():
    f = lambda y: logsumexp(y**2)
    y = np.array([1.5, 6.7, 1e-10])
    check_grads(f, modes=["rev"])(y)
    a = np.array([[2.0, 0.3], [-0.5, 1.0]])
    b = np.array([1.0, -2.0])
    check_grads(solve, (0, 1), modes=["fwd", "rev"], order=2)(a, b)
    return (
        grad(f)(y),
        jacobian(solve)(a, b),
        jacobian(solve, 1)(a, b),
        hessian(lambda x: np.sum(solve(a, x) ** 3))(b),
    )
