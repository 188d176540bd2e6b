"""What `linear_transpose` takes, within branches and loops too, and what it refuses by name."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.errors import NotDifferentiableError

X = np.array([1.0, 2.0, 3.0])
A = np.arange(9.0).reshape(3, 3)

NOT_LINEAR = {
    "a condition": (lambda t: np.where(t > 0, t, 2.0 * t), "greater"),
    "a condition of cond": (lambda t: fg.cond(t[0] > 0, lambda v: v, np.negative, t), "greater"),
    "a condition of a loop": (
        lambda t: fg.while_loop(lambda c: c[0] < 5.0, lambda c: c * 2.0, t), "loop|less"),
    "a sign": (lambda t: t * np.sign(t + 1.0), "add"),
    "a sign of its own": (lambda t: np.sign(t), "sign"),
    "a floor": (lambda t: np.floor(t), "floor"),
    "integers": (lambda t: t.astype(int).astype(float), "cast"),
    "a stopped gradient": (lambda t: fg.stop_gradient(t), "stop_gradient"),
    "a branch": (lambda t: fg.cond(X[0] > 0, np.sin, np.cos, t), "sin"),
    "a product": (lambda t: fg.jit(lambda v: v * v)(t), "multiply"),
    "a checkpoint": (lambda t: fg.checkpoint(np.sin)(t), "sin"),
    "steps of a loop": (lambda t: fg.scan(lambda c, r: (c * r, c), t[0], t)[1], "multiply"),
    "a loop that adds": (lambda t: fg.scan(lambda c, r: (c + r, c), t, X)[0], "add"),
}  # fmt: skip


@pytest.mark.parametrize("case", NOT_LINEAR)
def test_what_is_not_linear_is_named(case):
    f, name = NOT_LINEAR[case]
    for g in (
        lambda x: fg.linear_transpose(f, x)(x),
        fg.jit(lambda x: fg.linear_transpose(f, x)(x)),
    ):
        with pytest.raises(NotDifferentiableError, match=f"not linear: it applies .*({name})"):
            g(X)


def branches(x):
    return fg.cond(x[0] > 0.0, lambda v: A @ v * x, lambda v: np.sin(v), x)


def switched(x):
    return fg.switch(x[1].astype(int), [np.cos, np.sin, lambda v: v[::-1] ** 2], x)


def stepped(x):
    return fg.scan(lambda c, r: (c * r, c + r), x[0], x)[1]


def bounded(x):
    return fg.fori_loop(0, 4, lambda i, c: c * x + i, x)


def until(x):
    return fg.while_loop(lambda c: c[0] < 20.0, lambda c: c * c + 1.0, x)


def branches_within(x):
    return fg.scan(lambda c, r: (fg.cond(c > 1.5, np.sin, lambda v: v * r, c), c * r), x[0], x)[1]


DIFFERENTIABLE = (branches, switched, stepped, bounded, until, branches_within)


@pytest.mark.parametrize("f", DIFFERENTIABLE)
def test_the_transpose_of_a_derivative_is_its_pullback(f):
    def by_linearize(x, g):
        return fg.linear_transpose(fg.linearize(f, x)[1], x)(g)[0]

    def by_jvp(x, g):
        return fg.linear_transpose(lambda t: fg.jvp(f, (x,), (t,))[1], x)(g)[0]

    g = np.array([1.0, -2.0, 0.5])
    wanted = fg.vjp(f, X)[1](g)[0]
    for way in (by_linearize, by_jvp):
        np.testing.assert_allclose(way(X, g), wanted, rtol=1e-13)
        np.testing.assert_allclose(fg.jit(way)(X, g), wanted, rtol=1e-13)
        np.testing.assert_allclose(fg.vmap(fg.jit(way))(X[None], g[None])[0], wanted, rtol=1e-13)


def test_branches_that_are_linear():
    f = lambda x, t: fg.cond(x[0] > 0.0, lambda v: A @ v, lambda v: -v * x, t)
    back = fg.jit(lambda x, g: fg.linear_transpose(lambda t: f(x, t), X)(g)[0])
    np.testing.assert_allclose(back(X, X), A.T @ X, rtol=1e-14)
    np.testing.assert_allclose(back(-X, X), X * X, rtol=1e-14)


def test_a_loop_of_many_steps_is_transposed_as_a_loop():
    """Not step by step: the graph does not grow with the number of steps."""

    def back(n):
        f = fg.jit(lambda t: fg.scan(lambda c, _: (c * 0.5 + t, c), t, length=n)[0])
        return fg.make_graph(lambda g: fg.linear_transpose(f, X)(g))(X)

    assert len(back(10).equations) == len(back(1000).equations)


def test_what_nobody_reads_does_not_count():
    f = lambda t: (np.where(t > 0, 1.0, 2.0), 2.0 * t)[1]
    np.testing.assert_array_equal(fg.linear_transpose(f, X)(X)[0], 2.0 * X)


def written(t):
    y = fnp.zeros(3)
    y[0] = t[1]
    y[1:] += t[:2]
    return y


def added_up(t):
    total = 0.0
    for r in t:
        total = total + r
    return total


ZEROS = np.zeros(3)
WITH_ZEROS = {
    "the number": lambda t: t + 0.0,
    "in front": lambda t: 0 + t,
    "an array": lambda t: t - np.zeros((2, 3)),
    "sum": lambda t: sum([t[0], 2.0 * t[1]]),
    "a loop of Python": added_up,
    "made of others": lambda t: t + np.concatenate([np.zeros_like(t[:2]), 0.0 * X[:1]]),
    "negative": lambda t: t + (-0.0),
    "written into": written,
    "a product with zeros": lambda t: t + A @ ZEROS,
    "a carry": lambda t: fg.scan(lambda c, r: (c + r, c + 0.0), 0.0, t)[1],
    "a counted loop": lambda t: fg.fori_loop(0, 3, lambda i, c: c + t[i] * i, 0.0),
    "rows of a loop": lambda t: fg.scan(lambda c, r: (c, r[0] + r[1]), 0.0, (t, ZEROS))[1],
    "a compiled function": lambda t: fg.jit(lambda v, w: v + w)(t, ZEROS),
    "a branch": lambda t: fg.cond(X[0] > 0, lambda v: v + 0.0, np.negative, t),
    "a checkpoint": lambda t: fg.checkpoint(lambda v: v + ZEROS)(t),
    "examples": lambda t: fg.vmap(lambda r: r + 0.0)(t),
}


@pytest.mark.parametrize("case", WITH_ZEROS)
def test_zeros_may_be_added(case):
    f = WITH_ZEROS[case]
    jacobian = fg.jacobian(f)(X)
    g = np.arange(1.0, 1.0 + jacobian[..., 0].size).reshape(jacobian.shape[:-1])

    def transposed(x, g):
        return fg.linear_transpose(f, x)(g)[0]

    for way in (transposed, fg.jit(transposed)):
        np.testing.assert_allclose(way(X, g), np.tensordot(g, jacobian, g.ndim), rtol=1e-14)


NOT_OF_ZEROS = {
    "not all are zero": (lambda t: t + np.array([0.0, 0.0, 1.0]), "add"),
    "a product": (lambda t: t * 0.0 + 1.0, "add"),
    "a maximum": (lambda t: np.maximum(t, 0.0), "maximum"),
    "a length": (lambda t: np.hypot(t, 0.0), "hypot"),
    "the logarithm of one": (lambda t: t + np.exp(ZEROS), "add"),
    "a carry that grows": (
        lambda t: fg.scan(lambda c, r: ((c[0] + 1.0, c[1] + c[0] + r), r), (0.0, 0.0), t)[0][1],
        "add"),
}  # fmt: skip


@pytest.mark.parametrize("case", NOT_OF_ZEROS)
def test_what_only_looks_like_zeros_may_not(case):
    f, name = NOT_OF_ZEROS[case]
    with pytest.raises(NotDifferentiableError, match=f"not linear: it applies {name}"):
        fg.linear_transpose(f, X)
