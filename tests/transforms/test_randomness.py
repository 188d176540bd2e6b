"""Random numbers under `vmap`: an error, unless it is said whose they are."""

import random

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.errors import RandomnessError

X = np.arange(4.0)
RNG = np.random.default_rng(0)
OLD = np.random.RandomState(0)
OWN = random.Random(0)
uniform = np.random.uniform


class Model:
    def __init__(self):
        self.rng = np.random.default_rng(1)

    def noisy(self, x):
        return x + self.rng.normal()

    __call__ = noisy


def helper():
    return np.random.standard_normal()


def closure():
    rng = np.random.Generator(np.random.MT19937(3))
    return lambda x: x * rng.random()


MODEL = Model()
DRAWS = {
    "rand": lambda x: x + np.random.rand(),
    "randn": lambda x: x + np.random.randn(),
    "in a function": lambda x: x + helper(),
    "imported": lambda x: x + uniform(),
    "a generator": lambda x: x + RNG.normal(),
    "RandomState": lambda x: x + OLD.normal(),
    "random": lambda x: x + random.random(),
    "Random": lambda x: x + OWN.gauss(0.0, 1.0),
    "of an object": MODEL.noisy,
    "an object": MODEL,
    "captured": closure(),
    "permutation": lambda x: x + np.random.permutation(3)[0],
    "after a gradient": lambda x: fg.grad(lambda x: np.sum(x * np.random.rand()))(x),
}


def seed():
    np.random.seed(5)
    random.seed(5)
    for source in (RNG, MODEL.rng):
        source.bit_generator.state = np.random.default_rng(7).bit_generator.state
    OLD.seed(5)
    OWN.seed(5)


@pytest.mark.parametrize("name", DRAWS)
def test_a_draw_is_an_error(name):
    for transform in (fg.vmap, lambda f: fg.jit(fg.vmap(f)), lambda f: fg.vmap(fg.vmap(f))):
        with pytest.raises(RandomnessError, match="random numbers were drawn") as info:
            transform(DRAWS[name])(X[:, None] if transform is not fg.vmap else X)
        assert __file__ in str(info.value)


def test_a_normal_number_that_was_kept_is_a_draw():
    np.random.seed(0)
    np.random.randn()  # the second of a pair is kept, and does not change the state of the source
    with pytest.raises(RandomnessError):
        fg.vmap(lambda x: x + np.random.randn())(X)
    np.random.seed(0)
    np.random.randn()
    with pytest.raises(RandomnessError):
        fg.vmap(lambda x: x + helper())(X)


@pytest.mark.parametrize("name", [n for n in DRAWS if n not in ("captured", "after a gradient")])
def test_numbers_of_their_own_are_those_of_the_loop(name):
    f = DRAWS[name]
    seed()
    want = np.stack([f(x) for x in X])
    seed()
    np.testing.assert_array_equal(fg.vmap(f, randomness="different")(X), want)
    assert len(set(want - X)) > 1


@pytest.mark.parametrize("name", DRAWS)
def test_numbers_that_all_share(name):
    found = fg.vmap(DRAWS[name], randomness="same")(np.ones(4))
    assert len(set(found)) == 1


def test_different_takes_trees_axes_and_transforms():
    def f(x, y):
        return {"a": x * y + np.random.rand(), "b": (3.0, y)}

    args = np.arange(6.0).reshape(2, 3), np.arange(3)
    np.random.seed(1)
    axes = {"a": -1, "b": (0, 0)}
    found = fg.vmap(f, in_axes=(-1, 0), out_axes=axes, randomness="different")(*args)
    np.random.seed(1)
    rows = [f(args[0][:, k], args[1][k]) for k in range(3)]
    np.testing.assert_array_equal(found["a"], np.stack([r["a"] for r in rows], -1))
    np.testing.assert_array_equal(found["b"][0], [3.0, 3.0, 3.0])
    assert found["b"][1].dtype == args[1].dtype

    noisy = fg.vmap(lambda x: np.sum(x) * np.random.rand(), randomness="different")
    np.random.seed(2)
    factors = np.random.rand(2)
    for gradient in (fg.grad(lambda x: np.sum(noisy(x))), fg.grad(lambda x: noisy(x).sum())):
        np.random.seed(2)
        np.testing.assert_array_equal(
            gradient(args[0]), np.broadcast_to(factors[:, None], args[0].shape)
        )
    with pytest.raises(ValueError, match="out_axes is None"):
        fg.vmap(f, in_axes=(1, 0), out_axes=None, randomness="different")(*args)


def test_an_example_is_the_functions_own():
    def f(x):
        x *= 2.0
        return x + np.random.rand()

    given = np.ones((2, 3))
    fg.vmap(f, randomness="different")(given)
    np.testing.assert_array_equal(given, np.ones((2, 3)))


def test_no_draw_is_no_error():
    fg.vmap(lambda x: x * np.random.default_rng(0).random())(X)  # its own, from a seed
    fg.jacobian(lambda x: x * np.random.rand())(X)
    numbers = np.random.rand(4)
    np.testing.assert_array_equal(fg.vmap(lambda x, e: x + e)(X, numbers), X + numbers)


def test_what_else_is_said_of_randomness():
    with pytest.raises(ValueError, match="randomness is one of error, same, different, not 'no'"):
        fg.vmap(np.sin, randomness="no")
