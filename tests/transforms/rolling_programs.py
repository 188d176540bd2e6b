"""NumPy programs with Python loops, which `jit` turns into loops of its own."""

import numpy as np

N = 80  # steps


def rows(x, w):
    s = np.zeros(2)
    for row in x:
        s = np.tanh(w @ s + row)
    return np.sum(s)


def stack(x, w):
    out, s = [], x[0]
    for i in range(N):
        s = s * 0.5 + np.sin(x[i])
        out.append(s)
    return np.sum(np.stack(out) ** 3 * w[0])


def array_of_numbers(x, w):
    out, s = [], x[0, 0]
    for i in range(N):
        s = s * 0.5 + np.sin(x[i, 0] * w[0, 0])
        out.append(s)
    return np.sum(np.array(out) ** 3)


def two_steps_back(x, w):
    a, b = x[0, 0], x[1, 0]
    for i in range(2, N):
        a, b = b, a * w[0, 0] + b * w[0, 1] + x[i, 0] - x[i - 2, 1]
    return a * b


def numbers_of_the_step(x, w):
    s = x[0]
    for i in range(N):
        s = s + np.sin(s * w[1] * (i * 0.01)) / (1 + i)
    return np.sum(s)


def last_row_first(x, w):
    s = x[0]
    for i in reversed(range(N)):
        s = np.cos(s) * x[i] + w[0]
    return np.sum(s)


def loop_in_a_loop(x, w):
    t = 0.0
    for j in range(50):
        s = x[j]
        for _ in range(50):
            s = np.sin(s) * w[0] + 0.1
        t = t + np.sum(s) * x[j, 0]
    return t


def loops_in_a_row(x, w):
    ys, s, t = [], x[0], 0.0
    for i in range(N):
        s = s * w[0] + np.sin(x[i])
        ys.append(s)
    for i in range(N):
        t = t + np.sum(ys[N - 1 - i] * x[i]) * 0.5
    for y in ys:
        t = t * 0.9 + y[0] * w[1, 1]
    return t


def columns(x, w):
    turned, s = x.T, w[0, 0]
    for i in range(N):
        s = s * 0.3 + np.sin(turned[0, i] * turned[1, i])
    return s


def branches_on_the_step(x, w):
    s = x[0]
    for i in range(6 * N):
        s = np.sin(s * w[0])
        if i % 6 == 0:
            s = s * 0.9 + x[i // 6]
    return np.sum(s)


def an_irregular_first_and_last_step(x, w):
    s = np.exp(x[0]) * w[0]
    for i in range(1, N):
        s = s * 0.7 + x[i] * x[i - 1]
        if i == N - 1:
            s = np.tanh(s)
    return np.sum(s * w[1])


def lorenz(x, w):
    def f(y):
        a, b, c = y[0], y[1], y[2]
        return np.array([w[0, 0] * (b - a), a * (w[0, 1] - c) - b, a * b - w[1, 0] * c])

    y, h = np.array([x[0, 0], x[0, 1], 1.0]), 0.01
    for _ in range(N):
        k1 = f(y)
        k2 = f(y + h / 2 * k1)
        y = y + h * k2
    return np.sum(y)


def where_in_the_step(x, w):
    s = x[0]
    for i in range(N):
        s = np.where(s > x[i], s * w[0], np.maximum(x[i], 0.1) ** 2)
    return np.sum(s)


PROGRAMS = [f for f in list(globals().values()) if getattr(f, "__module__", None) == __name__]


def arguments(seed=0):
    random = np.random.default_rng(seed)
    return random.normal(size=(N, 2)) * 0.5, random.normal(size=(2, 2)) * 0.5
