"""About ten small programs that the tests of compositions run under every transform.

Each is a smooth function of one vector of length 3 and returns an array or a tree of arrays.
"""

import numpy as np

import funcgrad.numpy as fnp

A = np.array([[1.0, 0.3, -0.2], [0.1, 0.8, 0.4], [-0.3, 0.2, 1.1]])
X = np.array([0.3, -0.6, 0.9])


def elementwise(x):
    return np.sin(x) * np.exp(-x * x) + x / (1.0 + x**2)


def reduction(x):
    return fnp.sum(fnp.tanh(x)) * fnp.mean(x**2) - fnp.var(x)


def product(x):
    return A @ np.tanh(A @ x)


def quadratic(x):
    return x @ A @ x + np.sum(x) ** 3


def loop_with_indexing(x):
    s = 0.0
    for i in range(3):
        s = s + x[i] * x[i - 1] * np.sin(x[i])
    return s


def several_outputs(x):
    return {"a": np.cos(x[0]) * x, "b": (x[1] ** 2, x[::-1] * x[2])}


def item_assignment(x):
    b = fnp.zeros(4)
    v = b[1:3]
    b[0] = x[0]
    b[1:] = x * x
    v += 2.0 * x[:2]
    return np.sum(b * b) + v[0]


def selection(x):
    return fnp.where(x > 0.2, x**2, np.sin(x)) + fnp.maximum(x, 0.1)


def join_and_shape(x):
    m = fnp.concatenate([x, 2.0 * x**2]).reshape(2, 3)
    return (m.T @ m)[:, 1:] * x[:, None]


def solve(x):
    m = A + fnp.outer(x, x)
    return fnp.linalg.solve(m, x)


def gather_and_sort(x):
    return fnp.sort(x)[np.array([0, 2, 2])] * fnp.cumsum(x)


PROGRAMS = [
    elementwise,
    reduction,
    product,
    quadratic,
    loop_with_indexing,
    several_outputs,
    item_assignment,
    selection,
    join_and_shape,
    solve,
    gather_and_sort,
]
