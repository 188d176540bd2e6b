"""Donated arguments: the results are what they are without, in the memory of the arguments."""

import itertools

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.errors import TreeError

X = np.linspace(-1.0, 2.0, 12).reshape(3, 4)
Y = np.cos(np.arange(12.0)).reshape(3, 4)
LARGE = np.linspace(-1.0, 1.0, 300_000).reshape(300, 1000)


def twice(x, y):
    z = np.tanh(x) * y
    return z + x, z - y


PROGRAMS = {
    "an element each": lambda x, y: x - 0.5 * y,
    "two results": twice,
    "crossed": lambda x, y: (y + 1.0, x * 2.0),
    "reads it twice": lambda x, y: x * np.exp(x) + y,
    "reads other elements": lambda x, y: x[::-1] + y,
    "reads its neighbours": lambda x, y: np.concatenate([x[:1], x[1:] - x[:-1]]) + y,
    "softmax": lambda x, y: np.exp(x - np.max(x, 1, keepdims=True)) / np.sum(y * y),
    "normalised by rows": lambda x, y: (
        (x - np.mean(x, 1, keepdims=True)) / (1.0 + np.std(x, 1, keepdims=True))
    ),
    "normalised by columns": lambda x, y: (x - np.mean(x, 0)) * y,
    "a total of it": lambda x, y: (x * 2.0, np.sum(x * y)),
    "a total first": lambda x, y: x / np.sum(x),
    "itself and more": lambda x, y: (x, x + y),
    "transposed": lambda x, y: (x + y).T,
    "a product": lambda x, y: np.tanh(x @ (y.T @ y)),
    "a product of a product": lambda x, y: (x @ y.T) @ x,
    "broadcast": lambda x, y: x + y[0],
    "from elsewhere": lambda x, y: y + x[0, 0],
    "a gradient": fg.grad(lambda x, y: np.sum(np.sin(x) * y)),
    "a step": lambda x, y: x - 0.1 * fg.grad(lambda p: np.sum(np.tanh(p @ y.T) ** 2))(x),
    "positions": lambda x, y: x[np.array([2, 0, 1])] + y,
    "sorted": lambda x, y: np.sort(x, 1) + x,
    "cumulative": lambda x, y: np.cumsum(x, 1) * x,
}


def copies(*arrays):
    return [a.copy() for a in arrays]


@pytest.mark.parametrize("donated", [(0,), (1,), (0, 1)])
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_the_results_are_the_same(program, donated):
    plain, f = fg.jit(program), fg.jit(program, donate_argnums=donated)
    for x, y in [(X, Y), (Y, X), (LARGE, 0.5 * LARGE)]:
        if x is LARGE and program in (PROGRAMS["positions"], PROGRAMS["a product"]):
            continue
        want = fg.tree.leaves(plain(x, y))
        for _ in range(2):
            given = copies(x, y)
            found = fg.tree.leaves(f(*given))
            for a, b in zip(found, want, strict=True):
                np.testing.assert_array_equal(a, b)
            for k in {0, 1} - set(donated):
                np.testing.assert_array_equal(given[k], (x, y)[k])
            arrays = [a for a in found if isinstance(a, np.ndarray)]
            for a, b in itertools.combinations(arrays, 2):
                assert not np.shares_memory(a, b)


@pytest.mark.parametrize("name", ["an element each", "two results", "reads it twice", "broadcast"])
def test_memory_is_used_again(name):
    f = fg.jit(PROGRAMS[name], donate_argnums=0)
    for _ in range(3):
        x, y = copies(X, Y)
        assert any(a is x for a in fg.tree.leaves(f(x, y)))


def test_a_state_in_a_tree():
    def step(state, g):
        m = 0.9 * state["m"] + g
        return {"m": m, "w": [state["w"][0] - 0.1 * m]}

    f, plain = fg.jit(step, donate_argnames="state"), fg.jit(step)
    state = {"m": np.zeros(3), "w": [np.ones(3)]}
    want, held = fg.tree.map(np.copy, state), (state["m"], state["w"][0])
    for k in range(4):
        g = np.full(3, float(k))
        state, want = f(state, g), plain(want, g)
        np.testing.assert_array_equal(state["w"][0], want["w"][0])
        assert state["m"] is held[0] and state["w"][0] is held[1]


def read_only():
    x = X.copy()
    x.flags.writeable = False
    return x


@pytest.mark.parametrize(
    "make",
    [
        read_only,
        lambda: np.asfortranarray(X),
        lambda: np.repeat(X, 2, 1)[:, ::2],
        lambda: X.astype(">f8"),
        lambda: np.frombuffer(b"\0" + X.tobytes(), np.uint8)[1:].view(float).reshape(3, 4),
    ],
)
def test_arrays_that_cannot_be_written_into_stay_as_they_are(make):
    f = fg.jit(PROGRAMS["an element each"], donate_argnums=0)
    for _ in range(3):
        x = make()
        np.testing.assert_array_equal(f(x, Y), X - 0.5 * Y)
        np.testing.assert_array_equal(x, X)
        f(*copies(X, Y))


def test_arrays_that_others_see_as_well_stay_as_they_are():
    f = fg.jit(lambda x, y: (x + 1.0) * 2.0 + y, donate_argnums=0)
    for _ in range(3):
        f(*copies(X, Y))
        for x, y in [(a := X.copy(), a), (a := np.zeros((5, 4)), a), (a := np.zeros((5, 4)), a)]:
            x, y = (x, y) if x.shape == (3, 4) else (x[:3], y[2:])
            want = (x + 1.0) * 2.0 + y
            before = x.copy()
            np.testing.assert_array_equal(f(x, y), want)
            np.testing.assert_array_equal(x, before)


def test_a_captured_array_that_is_donated_as_well():
    w = X.copy()
    f = fg.jit(lambda x: x * 2.0 + w, donate_argnums=0)
    for _ in range(3):
        f(X.copy())
    want = w * 2.0 + w
    np.testing.assert_array_equal(f(w), want)
    np.testing.assert_array_equal(w, X)


def test_a_bad_index_still_names_itself():
    f = fg.jit(lambda x, i: x[i] + 1.0, donate_argnums=0)
    x = np.arange(3.0)
    f(x, np.array([0, 1, 2]))
    with pytest.raises(IndexError, match="7"):
        f(x, np.array([0, 1, 7]))
    np.testing.assert_array_equal(x, np.arange(3.0))


def test_transforms_and_the_interpreter_write_into_nothing(monkeypatch):
    f = fg.jit(lambda x, y: np.tanh(x) * y, donate_argnums=0)
    x = X.copy()
    for _ in range(2):
        fg.grad(lambda x: np.sum(f(x, Y)))(x)
        fg.vmap(f)(x, Y)
        fg.jvp(lambda x: f(x, Y), (x,), (Y,))
        fg.jit(lambda x: f(x, Y))(x)
        np.testing.assert_array_equal(x, X)
    monkeypatch.setattr(fg.config, "backend", "interpreter")
    f(x, Y)
    np.testing.assert_array_equal(x, X)


def test_static_and_donated_is_an_error():
    f = fg.jit(lambda x, n: x * n, static_argnums=1, donate_argnames="n")
    with pytest.raises(ValueError, match="cannot be static and donated"):
        f(X, 2)
    with pytest.raises(TreeError):
        fg.jit(lambda x: x, donate_argnums=0)("text")


def test_by_name_and_from_the_end():
    for choice in (dict(donate_argnames="y"), dict(donate_argnums=-1)):
        f = fg.jit(PROGRAMS["an element each"], **choice)
        for _ in range(2):
            x, y = copies(X, Y)
            assert f(x, y) is y
        if "donate_argnames" in choice:
            for _ in range(2):
                x, y = copies(X, Y)
                assert f(y=y, x=x) is y


def test_the_only_argument():
    f = fg.jit(lambda x: x * 2.0, donate_argnums=0)
    x = np.arange(1000.0)
    assert np.shares_memory(f(x), x)
    np.testing.assert_array_equal(x, 2.0 * np.arange(1000.0))
    x.flags.writeable = False
    np.testing.assert_array_equal(f(x), 2.0 * x)
