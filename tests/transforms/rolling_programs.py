"""NumPy programs with Python loops, which `jit` turns into loops of its own."""

import numpy as np

import funcgrad as fg
import funcgrad.numpy as fnp

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


def places_anywhere(x, w):
    s = x[0]
    for i in range(N):
        s = 0.9 * np.sin(s) * w[i % 2] + x[(i * i + 3 * i) % 17] * x[i]
    return np.sum(s)


def the_diagonal(x, w):
    whole, s = x @ x.T, w[0, 0]
    for i in range(N):
        s = 0.5 * np.sin(s) + whole[i, i] * whole[(3 * i + 1) % N, i]
    return s


def windows(x, w):
    s = w[0]
    for i in range(3, N):
        s = np.tanh(s + 0.3 * np.sum(x[i - 3 : i], axis=0) * x[i : i - 3 : -1][1])
    return np.sum(s)


def windows_of_columns(x, w):
    turned, s = x.T, w[0]
    for i in range(3, N):
        s = np.tanh(s + 0.3 * turned[:, i - 3 : i] @ x[i - 3 : i, 0])
    return np.sum(s)


def written_elements(x, w):
    y = fnp.zeros(N)
    y[0] = x[0, 0]
    for i in range(1, N):
        y[i] = w[0, 0] * y[i - 1] + x[i, 1]
    return np.sum(y**3)


def written_rows(x, w):
    y = fnp.empty((N, 2))
    y[0] = x[0]
    for i in range(1, N):
        y[i] = np.tanh(w @ y[i - 1]) + x[i]
    return np.sum(y * x)


def written_columns(x, w):
    y = fnp.zeros((N, 2))
    y[0] = w[0]
    for i in range(1, N):
        y[i, 0] = y[i - 1, 0] + 0.1 * y[i - 1, 1]
        y[i, 1] = y[i - 1, 1] - 0.1 * np.sin(y[i - 1, 0]) * x[i, 0]
    return np.sum(y[:, 0] ** 2)


def a_copy_that_is_written(x, w):
    y = x.copy() if hasattr(x, "owner") else fnp.array(x)
    for i in range(2, N):
        y[i] += w[0] * y[i - 1]
        y[i] -= 0.1 * y[i - 2]
    return np.sum(y * y)


def windows_of_what_is_written(x, w):
    y = fnp.zeros(N)
    y[:3] = x[:3, 0]
    for i in range(3, N):
        y[i] = 0.3 * np.dot(y[i - 3 : i], x[i - 3 : i, 1]) + w[0, 0] * x[i, 0]
    return np.sum(y**2)


def there_and_back(x, w):
    c, d, y = fnp.zeros(N), fnp.zeros(N), fnp.zeros(N)
    b = 2.0 + w[0, 0] ** 2
    c[0], d[0] = -1 / b, x[0, 0] / b
    for i in range(1, N):
        pivot = b + c[i - 1]
        c[i], d[i] = -1 / pivot, (x[i, 0] + d[i - 1]) / pivot
    y[N - 1] = d[N - 1]
    for i in range(N - 2, -1, -1):
        y[i] = d[i] - c[i] * y[i + 1]
    return np.sum(y * y)


def rows_of_a_table(x, w):
    table = fnp.zeros((52, 52))
    table[0, :] = np.arange(52) * w[0, 0]
    for i in range(52):
        table[i, 0] = 0.5 * i * w[0, 0]
    for i in range(1, 52):
        for j in range(1, 52):
            table[i, j] = 0.4 * np.sin(table[i - 1, j] + table[i, j - 1]) + x[i, 0] * x[j, 1]
    return table[51, 51] + table[51, 3]


def values_of_another_loop(x, w):
    ys, s, t = [], x[0], w[0]
    for i in range(N):
        s = np.sin(s) * w[1] + x[i]
        ys.append(s)
    for i in range(N):
        t = np.tanh(t * ys[(i * 7) % N] + ys[N - 1 - i])
    return np.sum(t)


def trees_of_carries(x, w):
    state = {"a": w[0], "b": (w[1], x[0])}
    for i in range(N):
        a, (b, c) = state["a"], state["b"]
        state = {"a": 0.5 * a + 0.1 * b * x[i], "b": (np.sin(c), a * 0.2 + c * 0.3)}
    return np.sum(state["a"] + state["b"][0])


def integers_of_the_step(x, w):
    s = w[0]
    for k in range(N, 0, -1):
        s = k + w[1, 1] ** 2 / (2.0 + s * s) * (1 if k % 2 else -1)
    return np.sum(s)


def close(found, wanted):
    for a, b in zip(fg.tree.leaves(found), fg.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12 * (1 + np.max(np.abs(b))))


PROGRAMS = [f for f in list(globals().values()) if getattr(f, "__module__", None) == __name__]
PROGRAMS.remove(close)
# of which the loops of the value are found, and some of the gradient
PARTLY = (rows_of_a_table, values_of_another_loop)


def arguments(seed=0):
    random = np.random.default_rng(seed)
    return random.normal(size=(N, 2)) * 0.5, random.normal(size=(2, 2)) * 0.5
