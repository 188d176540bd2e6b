"""Functions whose loops are of every kind, with arguments, for the tests of the compiler."""

import numpy as np

import funcgrad as fg
import funcgrad.numpy as fnp

rng = np.random.default_rng(0)


def draw(*shape, dtype=np.float64):
    return rng.standard_normal(shape).astype(dtype)


def chain(x):
    return (np.tanh(x) * np.exp(-x * x) + np.log1p(x * x)).sum()


def cross_entropy(z, labels):
    z = z - z.max(1, keepdims=True)
    logs = z - np.log(np.exp(z).sum(1, keepdims=True))
    return -logs[np.arange(len(labels)), labels].mean()


def layer_norm(x, w, b):
    y = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * w + b
    return (0.5 * y * (1 + np.tanh(0.79788456 * (y + 0.044715 * y * y * y)))).sum()


def logsumexp(axis):
    def f(x):
        m = x.max(axis, keepdims=True)
        return (np.log(np.exp(x - m).sum(axis, keepdims=True)) + m).sum()

    return f


def pairs(x):
    d = x[:, None] - x[None]
    return (1 / np.sqrt((d * d).sum(-1) + 0.1)).sum()


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def elements(x):
    return x[0] * x[1] + np.sin(x[2])


def stencil(x):
    inner = x[1:-1, 1:-1]
    return (4 * inner - x[2:, 1:-1] - x[:-2, 1:-1] - x[1:-1, 2:] - x[1:-1, :-2]).var()


def strided(x):
    return (
        (x[::2] ** 2).sum()
        + (x[1::3] * x[-1]).sum()
        + (x[::-1] * np.arange(len(x))).sum()
        + (x[40:3:-3] ** 2).sum()
        + (x[30:3:-1] ** 3).sum()
    )


def parts(x):
    a = (x[1:-1, ::3, :2] ** 2).var() + (x[3, 5] ** 2).sum() + (x[2] ** 3).sum()
    return a + (x[:, 4] ** 2).sum() + (x[..., 2:3] ** 3).sum()


def written(x):
    x = fnp.array(x * 1.0)
    x[2:5] = 7.0 * x[:3]
    x[::2] *= 3
    x[[1, 7]] = x[0]
    return x


def joined(x):
    return np.concatenate([x * 2, x[:, :1], np.cos(x)], 1), np.concatenate([x * 2, x[:1]]).sum(1)


def taken(w, at):
    return (np.tanh(w[at]) ** 2).sum()


def broadcasts(x, y):
    return (np.exp(x)[:, None] * y + x[:, None]).sum(0) + (y * x[:, None]).max(1).sum()


NESTS = {
    "chain": (fg.value_and_grad(chain), (draw(3000),)),
    "chain of many chunks": (fg.value_and_grad(chain), (draw(70000),)),
    "chain in float32": (fg.value_and_grad(chain), (draw(10, dtype=np.float32),)),
    "chain of a scalar": (fg.value_and_grad(chain), (np.float64(0.3),)),
    "cross-entropy": (
        fg.value_and_grad(cross_entropy),
        (draw(30, 20), rng.integers(-20, 20, 30)),
    ),
    "layer norm": (fg.value_and_grad(layer_norm, (0, 1, 2)), (draw(40, 20), draw(20), draw(20))),
    "variance over columns": (fg.value_and_grad(lambda x: x.var(0).sum()), (draw(20, 30),)),
    "variance over rows": (fg.value_and_grad(lambda x: x.var(1).sum()), (draw(20, 30),)),
    "logsumexp over columns": (fg.value_and_grad(logsumexp(0)), (draw(20, 30),)),
    "logsumexp over long rows": (fg.value_and_grad(logsumexp(1)), (draw(9, 3000),)),
    "logsumexp over two axes": (fg.value_and_grad(logsumexp((0, 2))), (draw(5, 9, 7),)),
    "pairs": (fg.value_and_grad(pairs), (draw(12, 3),)),
    "many pairs": (fg.value_and_grad(pairs), (draw(90, 3),)),
    "pairs as columns": (
        fg.value_and_grad(lambda x: np.sqrt(((x[:, :, None] - x[:, None]) ** 2).sum(0) + 1).sum()),
        (draw(2, 60),),
    ),
    "short axes": (
        lambda x, y: ((x * y).sum(1), (x * y).max(-1).sum(0), (x * 2 - y).sum((0, 1)), x * y),
        (draw(700, 3), draw(3)),
    ),
    "short axes that stay": (
        fg.value_and_grad(
            lambda x: ((np.exp(x) / np.exp(x).sum(1, keepdims=True)) ** 2).sum(0).max()
        ),
        (draw(600, 4),),
    ),
    "sums of minus zero": (lambda x: (x * 0.0 - 0.0).sum(1) * 1.0, (-np.abs(draw(600, 3)),)),
    "slices": (fg.value_and_grad(rosenbrock), (draw(12),)),
    "many slices": (fg.value_and_grad(rosenbrock), (draw(70000),)),
    "elements": (fg.value_and_grad(elements), (draw(3),)),
    "stencil": (fg.value_and_grad(stencil), (draw(20, 33),)),
    "strided slices": (fg.value_and_grad(strided), (draw(50),)),
    "parts of several axes": (fg.value_and_grad(parts), (draw(6, 7, 3),)),
    "written parts": (fg.value_and_grad(lambda x: (written(x) ** 2).sum()), (draw(50),)),
    "joined": (joined, (draw(9, 40),)),
    "joined rows": (lambda x: np.concatenate([x * 2, x[:1], np.cos(x)], 0) * 2, (draw(50, 40),)),
    "stacked": (lambda x: (np.stack([np.sin(x), x], -1) * 2, np.stack([x, x * x])), (draw(50),)),
    "padded": (lambda x: fnp.pad(x, ((1, 2), (0, 3))) * 2, (draw(6, 7),)),
    "joined bools": (lambda x: np.concatenate([x > 0, x < 1]), (draw(60),)),
    "joined dtypes": (lambda x: np.concatenate([x.astype(np.float32), x]), (draw(60),)),
    "rows taken": (fg.grad(taken), (draw(9, 8), rng.integers(-9, 9, 70))),
    "elements taken": (fg.value_and_grad(taken), (draw(50), rng.integers(-50, 50, 300))),
    "one element taken": (fg.grad(taken), (draw(50), np.zeros(30, int))),
    "taken in float32": (fg.grad(taken), (draw(9, dtype=np.float32), rng.integers(0, 9, 301))),
    "taken from a large array": (fg.grad(taken), (draw(6000, 3), rng.integers(-9, 9, 4000))),
    "taken by two indices": (
        fg.grad(lambda w, i, j: (np.tanh(w[i[:, None], j]) ** 2).sum()),
        (draw(9, 7), rng.integers(-9, 9, 30), rng.integers(0, 7, 20)),
    ),
    "taken twice": (
        fg.value_and_grad(lambda w, i: (np.sin(w[i[:, 0]]) * w[i[:, 1]] ** 2).sum()),
        (draw(9, 3), rng.integers(0, 9, (400, 2))),
    ),
    "broadcasts": (broadcasts, (draw(12), draw(12, 30))),
    "several axes": (lambda x, y: (x * y[:, None]).sum((0, 2)), (draw(9, 10, 11), draw(9, 11))),
    "totals used again": (lambda x: (x - x.mean()) / x.std(), (draw(100),)),
    "outer product with itself": (lambda x: (x * x)[:, None] * (x * x), (draw(9),)),
    "with its transpose": (lambda x: np.exp(x * x.T + x * 2 + (x * 2).T), (draw(9, 9),)),
    "reversed": (lambda x: x[::-1] * np.exp(x)[::-2].sum() + x, (draw(17),)),
    "columns and total": (lambda x: ((x * x).sum(0), (x * x).sum()), (draw(50, 60),)),
    "rows and columns": (lambda x: ((x * x).sum(0), (x * x).sum(1)), (draw(50, 60),)),
    "extrema": (lambda x: (x.max(0), x.min(1), x.prod(1), x.max()), (draw(11, 13),)),
    "bools": (lambda x: (x > 0) & (x < 1) | (x * 2 > 3), (draw(40),)),
    "integers": (lambda n: (n * 3 + 1).sum() - n.sum(0), (rng.integers(-9, 9, (7, 5)),)),
    "mixed dtypes": (lambda x, y: x * y + x * 0.1, (draw(33, dtype=np.float32), draw(3, 33))),
    "small and many": (lambda x: np.exp(x - x.max(-1, keepdims=True)), (draw(2, 500, 3),)),
}
