"""`linearize` runs its function once: what it prints, calls and writes happens once."""

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.errors import EffectError

X, T = np.array([0.9, 0.4]), np.array([1.0, -2.0])


def noted(note, x):
    fg.debug.callback(note, x)
    return x


PROGRAMS = {
    "checkpoint": lambda note: lambda x: fg.checkpoint(lambda v: np.sin(noted(note, v)))(x),
    "scan": lambda note: (
        lambda x: fg.scan(lambda c, r: (noted(note, np.sin(c)) * r, c + r), x, np.array([0.5, 1.1]))
    ),
    "while_loop": lambda note: (
        lambda x: fg.while_loop(lambda c: c[0] > 0.2, lambda c: 0.5 * noted(note, c), x)
    ),
    "cond": lambda note: lambda x: fg.cond(x[0] > 0.0, lambda v: np.sin(noted(note, v)), np.cos, x),
    "jit": lambda note: lambda x: fg.jit(lambda v: np.sin(noted(note, v)) * v)(x),
    "checkpoint within scan": lambda note: (
        lambda x: fg.scan(
            lambda c, r: (fg.checkpoint(lambda v: np.sin(noted(note, v)))(c) * r, None), x, X
        )
    ),
    "not differentiated": lambda note: (
        lambda x: (
            fg.checkpoint(lambda v: noted(note, v))(x + 1.0),
            2.0 * x,
        )[1]
    ),
}


def around(f, note):
    """The function between two effects of its own."""

    def run(x):
        fg.debug.callback(note, -x)
        y = f(x)
        fg.debug.callback(note, 10.0 * x)
        return y

    return run


@pytest.mark.parametrize("staged", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_effects_happen_once_and_in_order(name, staged):
    seen, expected = [], []

    def program(note):
        return around(PROGRAMS[name](note), note)

    value = program(expected.append)(X)
    mine = program(seen.append)

    def both(x):
        y, push = fg.linearize(mine, x)
        return y, push(T), push(T)

    found, moved, again = (fg.jit(both) if staged else both)(X)
    np.testing.assert_array_equal(np.asarray(seen), np.asarray(expected))
    given = fg.jvp(program(lambda _: None), (X,), (T,))[1]
    for got, right in ((found, value), (moved, given), (again, given)):
        for a, b in zip(fg.tree.leaves(got), fg.tree.leaves(right), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-13)


@pytest.mark.parametrize("staged", [False, True])
def test_writes_and_calls_happen_once(staged):
    calls = []

    def program(x):
        y = x * 1.0

        def f(v):
            calls.append(None)
            y[1] += 1.0
            return fg.checkpoint(np.sin)(v) * y

        z, push = fg.linearize(f, x)
        return z, push(T), y

    z, moved, y = (fg.jit(program) if staged else program)(X)
    assert len(calls) == 1
    np.testing.assert_array_equal(y, [X[0], X[1] + 1.0])
    np.testing.assert_allclose(z, np.sin(X) * y, rtol=1e-14)
    np.testing.assert_allclose(moved, np.cos(X) * y * T, rtol=1e-14)


def test_the_value_is_there_with_the_numbers_of_the_function():
    f = fg.checkpoint(lambda v: np.sqrt(v) * v)
    with np.errstate(all="raise"):
        y, push = fg.linearize(f, X)
        assert type(y) is np.ndarray
        y[0] = 7.0  # the caller's own
    np.testing.assert_array_equal(fg.linearize(f, X)[0], np.sqrt(X) * X)
    np.testing.assert_allclose(push(T), 1.5 * np.sqrt(X) * T, rtol=1e-14)


def test_nests_of_it():
    f = lambda x: fg.checkpoint(lambda v: np.sin(v) * v)(x)
    slope = lambda x: fg.linearize(f, x)[1](np.ones(2))
    second = np.diag(2.0 * np.cos(X) - X * np.sin(X))
    for g in (slope, fg.jit(slope)):
        np.testing.assert_allclose(fg.jacfwd(g)(X), second, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(fg.jacrev(g)(X), second, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(fg.linearize(g, X)[1](T), second @ T, rtol=1e-12)
        np.testing.assert_allclose(fg.vmap(g)(X[None])[0], g(X), rtol=1e-13)


def test_what_an_effect_returns_is_not_there_again():
    def f(x):
        return fg.checkpoint(lambda v: v * fg.io_callback(lambda: 2.0, np.zeros(())))(x)

    with pytest.raises(EffectError, match="would have to be computed again"):
        fg.linearize(f, X)
