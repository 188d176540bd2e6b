"""Programs by hand whose loops are found before they are differentiated or mapped.

Each is compared with itself run eagerly, in one of seven nests of transforms; the nests go in turn.
"""

import functools

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import lax
from funcgrad.graph.interpret import evaluate
from funcgrad.transforms.deferred import deferring

RNG = np.random.default_rng(1)
ROWS, WEIGHTS = RNG.normal(size=60), np.array([0.3, 0.5, -0.2])
TABLE = 0.5 * RNG.normal(size=(60, 3))
STEPS = 55


def repeated(step, c, count=STEPS):
    for i in range(count):
        c = step(c, i)
    return c


@fg.custom_jvp
def twice(v):
    return np.sin(v)


twice.defjvp(lambda given, moved: (twice(*given), 2.0 * np.cos(given[0]) * moved[0]))


def descent(w, x):
    def energy(q, i):
        return np.sum(np.cos(q * x[i]) * w)

    return np.sum(repeated(lambda c, i: c - 0.1 * fg.grad(energy)(c, i), w * 1.0))


def scanned(w, x):
    def inner(c, b):
        return np.sin(c * w[0] + b) * 0.5, None

    return repeated(lambda c, i: lax.scan(inner, c, x[:4])[0] + x[i] * w[1], w[2])


def within_scan(w, x):
    def step(c, a):
        return repeated(lambda d, i: np.sin(d * w[0] + a) + x[i] * 0.1, c, 52), c

    return lax.scan(step, w[1], x[:5])[0]


def written(w, x):
    y = fnp.zeros(60)
    for i in range(60):
        y[i] = np.sin(x[i] * w[0]) + (0.5 * y[i - 1] * w[1] if i else 0.0)
    return np.sum(y * y)


def listed(w, x):
    found = [w[0]]
    for i in reversed(range(STEPS)):
        found.append(np.sin(found[-1] * w[1]) + x[i])
    return np.sum(np.stack(found) ** 2) + found[7] * found[30]


def lags(w, x):
    a = b = c = w[0]
    for i in range(STEPS):
        a, b, c = np.sin(a * w[1] + b * w[2] + x[i]), a, b * 0.9
    return a + b * c


def matrices(w, x):
    a, v = np.outer(w, w) + 2.0 * np.eye(3), w
    for i in range(STEPS):
        v = np.linalg.solve(a, np.tanh(a @ v * x[i]))
    return np.sum(v)


def integers(w, x):
    k, c = 0, w[0]
    for _ in range(STEPS):
        k = (k * 5 + 3) % 7
        c = np.sin(c * w[1]) + TABLE[k, 1] * x[k]
    return c


def two_deep(w, x):
    c = w[0]
    for i in range(20):
        for j in range(50):
            c = np.sin(c * w[1]) * 0.9 + x[j] * 0.1
        c = c + x[i] * w[2]
    return c


def recursive(w, x):
    def step(c, i):
        return c if i == STEPS else step(np.sin(c * w[0]) + x[i] * w[1], i + 1)

    return step(w[2], 0)


def objects(w, x):
    state = {"a": w[1], "b": [w[0]]}
    for i in range(STEPS):
        state["b"][0] = np.sin(state["b"][0] * state["a"]) + x[i]
        state["a"] = state["a"] * 0.99 + 0.01 * state["b"][0]
    return state["a"] + state["b"][0]


def irregular(w, x):
    c = w[0]
    for i in range(STEPS):
        c = np.sin(c * w[1]) + x[i]
        if i in (7, 31):
            c = c * w[2] + np.exp(-c * c)
    return c


def unused(w, x):
    c = w[0]
    for i in range(STEPS):
        np.log(-1.0 - c * c)
        c = np.sin(c * w[1]) + x[i]
    return c


def table(w, x):
    found = {}
    for i in range(12):
        for j in range(12):
            found[i, j] = np.sin(x[i] * w[0] + x[j] * w[1])
            found[i, j] += 0.3 * found[i - 1, j] if i else 0.0
            found[i, j] += 0.2 * found[i, j - 1] if j else 0.0
    return found[11, 11]


def number(w, x):
    total = 0
    for i in range(STEPS):
        total = (total + i * w[0] * np.sin(x[i] * w[1])) * 0.9
    return total


def chosen(w, x):
    def step(c, i):
        root = np.sqrt(np.where(x[i] > 0, x[i], 1.0))
        return np.where(x[i] > 0, root * c, np.sin(c * w[0])) * 0.7 + w[1]

    return repeated(step, w[2])


def sorted_(w, x):
    return np.sum(repeated(lambda v, i: np.sort(np.sin(v * x[i] + w)), w) * WEIGHTS)


PROGRAMS = {
    "a branch": lambda w, x: repeated(
        lambda c, i: lax.cond(c > 0.1, lambda v: v * w[0] + x[i], lambda v: np.sin(v) - w[1], c),
        w[0],
    ),
    "a compiled function": lambda w, x: repeated(
        lambda c, i: fg.jit(lambda d, a: np.tanh(d * a) + d * 0.1)(c, x[i]) * w[1] + w[2], w[0]
    ),
    "a mapped function": lambda w, x: np.sum(
        repeated(lambda c, i: fg.vmap(lambda a, b: np.sin(a * b) + x[i])(c, w), w * 1.0)
    ),
    "computed again": lambda w, x: repeated(
        lambda c, i: fg.checkpoint(lambda d, a: np.sin(d * a) + w[2] * d)(c, x[i]) * 0.9, w[0]
    ),
    "a rule": lambda w, x: repeated(lambda c, i: twice(c * w[0]) * 0.4 + x[i] * w[1], w[2]),
    "complex numbers": lambda w, x: (
        np.abs(repeated(lambda c, i: c * (w[0] + 1j * w[1]) * 0.9 + x[i], w[2] + 0j)) ** 2
    ),
    "stopped": lambda w, x: repeated(
        lambda c, i: np.sin(c * w[0]) + fg.stop_gradient(c) * w[1] * x[i] * 0.5, w[2]
    ),
    "captured rows": lambda w, x: repeated(
        lambda c, i: np.sin(np.dot(TABLE[i], w) * c) + np.sum(np.where(TABLE[i] > 0, w, 0.0)), w[0]
    ),
    "windows": lambda w, x: repeated(
        lambda c, i: np.sin(c * w[0]) + np.sum(x[i : i + 4]) * 0.1, w[1]
    ),
    "reduced": lambda w, x: functools.reduce(
        lambda c, a: np.sin(c * w[0]) + a * w[1], list(x), w[2]
    ),
    "no derivative": lambda w, x: repeated(lambda c, i: c * 0.5 + 0.1, 1.0) + 0 * w[0],
    "an argument": lambda w, x: repeated(lambda c, i: c * 0.5 + x[i], 1.0) * 0 + w[0],
    "gradients": descent,
    "a scan": scanned,
    "within a scan": within_scan,
    "written rows": written,
    "a list": listed,
    "lags": lags,
    "matrices": matrices,
    "integers": integers,
    "loops in loops": two_deep,
    "recursion": recursive,
    "objects": objects,
    "irregular steps": irregular,
    "unused values": unused,
    "a table": table,
    "a Python number": number,
    "choices": chosen,
    "sorting": sorted_,
}


def nest(f, k):
    """The function in one of seven nests of transforms, and its arguments."""
    g = fg.grad(f)
    many = np.stack([ROWS, 0.5 * ROWS, -0.7 * ROWS])  # sums of odd functions do not cancel
    one, other = np.ones_like(WEIGHTS), 0.5 * np.ones_like(ROWS)
    return [
        (fg.value_and_grad(f, (0, 1)), (WEIGHTS, ROWS)),
        (lambda w, x: fg.jvp(f, (w, x), (one, other)), (WEIGHTS, ROWS)),
        (lambda w, x: fg.jvp(lambda v: g(v, x), (w,), (w,))[1], (WEIGHTS, ROWS)),
        (fg.vmap(g, (None, 0)), (WEIGHTS, many)),
        (fg.grad(lambda w, x: np.sum(fg.vmap(f, (None, 0))(w, x))), (WEIGHTS, many)),
        (fg.jacrev(lambda w, x: np.stack([f(w, x), f(2 * w, x)])), (WEIGHTS, ROWS)),
        (
            fg.grad(lambda w, x: (f(w, x), {"x": x, "twice": f(w, x) * 2}), has_aux=True),
            (WEIGHTS, ROWS),
        ),
    ][k % 7]


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize(("k", "name"), list(enumerate(PROGRAMS)), ids=PROGRAMS)
def test_programs(k, name):
    g, args = nest(PROGRAMS[name], k)
    deferring.on = True
    try:
        graph = fg.make_graph(g)(*args)
    finally:
        deferring.on = False
    for a, b in zip(evaluate(graph, *args), fg.tree.leaves(g(*args)), strict=True):
        assert np.asarray(a).dtype == np.asarray(b).dtype
        scale = np.max(np.abs(b), initial=1e-30)
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-9 * scale)
