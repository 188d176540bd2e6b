"""Random numbers drawn by a compiled function: every call draws its own, as it does eagerly."""

import random

import numpy as np
import pytest

import funcgrad as fg

GENERATOR = np.random.default_rng(0)


class Model:
    def __init__(self):
        self.source = np.random.RandomState(1)

    def noise(self, x):
        return x + self.source.normal(size=3)


def from_closure():
    own = np.random.default_rng(3)
    return lambda x: x * own.random(3)


SOURCES = {
    "a generator": lambda x: x + GENERATOR.standard_normal(3),
    "a closure": from_closure(),
    "NumPy's global state": lambda x: x + np.random.randn(3),
    "Python's global state": lambda x: x * random.random(),
    "an object's": Model().noise,
}


@pytest.mark.parametrize("name", SOURCES)
def test_every_call_draws_its_own(name):
    f, x = fg.jit(SOURCES[name]), np.ones(3)
    with pytest.warns(RuntimeWarning, match="random numbers were drawn while the function was"):
        first = f(x)
    with pytest.warns(RuntimeWarning, match="test_draws.py"):
        assert not np.array_equal(f(x), first)


def test_the_numbers_are_those_of_the_eager_function():
    drawn = np.random.default_rng(5)
    with pytest.warns(RuntimeWarning):
        got = fg.jit(fg.grad(lambda x: np.sum(x * x * drawn.random(3))))(np.ones(3))
    np.testing.assert_array_equal(got, 2.0 * np.random.default_rng(5).random(3))


def test_numbers_drawn_outside_are_no_draws(recwarn):
    f = fg.jit(lambda x, noise: x + noise)
    for _ in range(2):
        f(np.ones(3), GENERATOR.standard_normal(3))
    assert not recwarn.list
    assert f.report().count("\n") == 0


def test_the_second_normal_number_of_a_pair_is_a_draw():
    state = np.random.get_state()
    try:
        np.random.seed(0)
        np.random.normal()  # which keeps another one
        with pytest.warns(RuntimeWarning, match="random numbers were drawn"):
            fg.jit(lambda x: x + np.random.normal())(1.0)
    finally:
        np.random.set_state(state)
