"""Traced values that a program writes into after an inner transform has used them."""

import numpy as np
import pytest

import funcgrad as fg

X = np.array([1.0, 2.0, 3.0])
WITHIN = {
    "plain": lambda f: f,
    "checkpoint": fg.checkpoint,
    "jit": fg.jit,
    "grad": fg.grad,
    "grad of checkpoint": lambda f: fg.grad(fg.checkpoint(f)),
    "grad of jit": lambda f: fg.grad(fg.jit(f)),
    "vmap": lambda f: lambda w: fg.vmap(f)(np.stack([w, 2 * w])),
    "jvp": lambda f: lambda w: fg.jvp(f, (w,), (1.0,)),
}


@pytest.mark.parametrize("name", WITHIN)
def test_each_use_sees_what_was_there(name):
    def program(x):
        y = x * 1.0

        def f(w):
            before = np.sum(y * w)
            y[0] = 10.0
            return before + 100 * np.sum(y * w)

        return WITHIN[name](f)(x[1]), y

    for a, b in zip(fg.tree.leaves(fg.jit(program)(X)), fg.tree.leaves(program(X)), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_pullback_keeps_the_argument_that_it_had():
    def program(x):
        y = x * 1.0
        out, pull = fg.vjp(lambda y: np.sum(y**3), y)
        y[0] = 10.0
        return out, pull(1.0)[0]

    for g in (program, fg.jit(program)):
        np.testing.assert_array_equal(g(X)[1], [3.0, 12.0, 27.0])


def test_gradients_of_gradients():
    def program(x):
        y = x * 1.0

        def f(w):
            before = np.sum(y * w)
            y[0] = 10.0
            return before + 100 * np.sum(y * w)

        return np.sum(fg.grad(f)(x[1]) * x)

    def by_hand(x):
        return (np.sum(x) + 100 * (10.0 + x[1] + x[2])) * np.sum(x)

    for g in (fg.grad(program), fg.jit(fg.grad(program)), fg.grad(fg.jit(program))):
        np.testing.assert_allclose(g(X), fg.grad(by_hand)(X), rtol=1e-14)
