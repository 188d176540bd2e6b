"""Models as users write them, with a Python loop over the data: of parameters and a series."""

import numpy as np

import funcgrad.numpy as fnp

N = 90


def smoothing(p, x):
    level, out = x[0], []
    for v in x[1:]:
        level = p[0] * v + (1 - p[0]) * level
        out.append(level)
    return np.sum((np.stack(out) - x[1:]) ** 2)


def arma(p, x):
    n, e = len(x), fnp.zeros(len(x))
    e[0] = x[0]
    for t in range(1, n):
        e[t] = x[t] - p[0] * x[t - 1] - p[1] * e[t - 1]
    return n / 2 * np.log(np.sum(e**2) / n)


def garch(p, x):
    h = fnp.zeros(len(x))
    h[0] = p[2] ** 2
    for t in range(1, len(x)):
        h[t] = p[0] ** 2 + 0.1 * p[1] ** 2 * x[t - 1] ** 2 + 0.8 * h[t - 1]
    return 0.5 * np.sum(np.log(h) + x**2 / h)


def euler_maruyama(p, x):
    s, dt, path = 1.0, 0.01, []
    for i in range(len(x)):
        s = s + p[0] * (p[1] - s) * dt + 0.2 * np.sqrt(dt) * x[i] * np.sqrt(np.abs(s) + 0.1)
        path.append(s)
    return np.mean(np.stack(path)) + s


def kalman(p, x):
    a, h = np.array([[1.0, 0.1], [0.0, 1.0]]), np.array([[1.0, 0.0]])
    q, r = np.eye(2) * p[0] ** 2, p[1] ** 2 + 0.1
    m, c, total = np.zeros(2), np.eye(2), 0.0
    for y in x:
        m, c = a @ m, a @ c @ a.T + q
        v, s = y - (h @ m)[0], (h @ c @ h.T)[0, 0] + r
        k = (c @ h.T)[:, 0] / s
        m, c = m + k * v, c - np.outer(k, h @ c)
        total = total + 0.5 * (np.log(2 * np.pi * s) + v * v / s)
    return total


def hidden_markov(p, x):
    moves, means = np.log(np.array([[0.9, 0.1], [0.2, 0.8]])), p[:2]
    la = np.log(np.array([0.5, 0.5])) - 0.5 * (x[0] - means) ** 2
    for t in range(1, len(x)):
        z = la[:, None] + moves
        m = np.max(z, axis=0)
        la = m + np.log(np.sum(np.exp(z - m), axis=0)) - 0.5 * (x[t] - means) ** 2
    return np.logaddexp(la[0], la[1])


def recurrent(p, x):
    w = np.reshape(np.concatenate([p, p * 0.5, -p, p * 0.1]), (4, 4))
    h, hs = np.zeros(4), []
    for t in range(len(x)):
        h = np.tanh(w @ h + p * x[t])
        hs.append(h)
    return np.sum(np.stack(hs)[:, 0])


def leapfrog(p, x):
    q, v = p[:2], p[2:]
    for _ in range(len(x)):
        v = v - 0.005 * np.sin(q)
        q = q + 0.01 * v
        v = v - 0.005 * np.sin(q)
    return np.sum(q * q) + np.sum(v * v)


def bisection(p, x):
    low, high = p[3] - 10.0, p[2] + 10.0
    for _ in range(len(x)):
        middle = 0.5 * (low + high)
        below = middle**3 + p[0] ** 2 * middle - p[1] < 0
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return 0.5 * (low + high) + np.sum(x) * p[3]


def drawdown(p, x):
    price, peak, worst = 1.0, 1.0, 0.0
    for r in x:
        price = price * np.exp(0.01 * p[0] * r)
        peak = np.maximum(peak, price)
        worst = np.maximum(worst, 1 - price / peak)
    return worst


def horner(p, x):
    y = 0.0
    for c in x[::-1]:
        y = y * np.tanh(p[0]) + c
    return y * p[1]


def continued_fraction(p, x):
    y = p[0]
    for k in range(len(x), 0, -1):
        y = k + p[1] ** 2 / (1.0 + y)
    return y


def metropolis(p, x):
    s, total, u = p[0], 0.0, np.abs(np.sin(np.arange(len(x)) * 1.7))
    for i in range(len(x)):
        proposed = s + 0.5 * x[i]
        ratio = np.exp(0.5 * (s**2 - proposed**2) * p[1] ** 2)
        s = np.where(u[i] < ratio, proposed, s)
        total = total + s * s
    return total / len(x)


def viterbi(p, x):
    moves = np.log(np.array([[0.9, 0.1], [0.2, 0.8]]))
    s = -0.5 * (x[0] - p[:2]) ** 2
    for t in range(1, len(x)):
        s = np.max(s[:, None] + moves, axis=0) - 0.5 * (x[t] - p[:2]) ** 2
    return np.max(s)


def autoregression(p, x):
    y = fnp.zeros(len(x))
    y[:4] = x[:4]
    for i in range(4, len(x)):
        y[i] = 0.2 * np.dot(p, y[i - 4 : i]) + x[i]
    return np.sum(y**2)


def logistic(p, x):
    rows, total = np.reshape(np.concatenate([x, x, -x, 0.5 * x]), (-1, 4)), 0.0
    for _ in range(2):
        for i in range(len(rows)):
            total = 0.9 * total + np.logaddexp(0.0, -(rows[i] @ p) * (1 if i % 2 else -1))
    return total


MODELS = [f for f in list(globals().values()) if getattr(f, "__module__", None) == __name__]
