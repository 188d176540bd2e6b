"""The backward pass follows the order in which a tape has recorded, and a tape forgets."""

import threading

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.core.forms import UFUNCS, UNARY
from funcgrad.transforms.recorders import PATIENCE
from funcgrad.transforms.tape import FORGOTTEN_AFTER, PER_NODE

X = np.array([0.5, -0.7, 0.9])
LARGE = 1 << 15


def longest(x, step, count):
    """The most nodes that the tape of `x` has had while `step` was applied without use."""
    most = 0
    for _ in range(count):
        step(x)
        most = max(most, len(x.owner.nodes))
    return most


@pytest.mark.parametrize(
    "step",
    [lambda x: np.sin(x) * x, lambda x: np.sum(x * 2.0) * x, lambda x: np.split(x[:2], 2)],
    ids=["elementwise", "sums", "several outputs"],
)
def test_what_a_program_drops_is_forgotten(step):
    found = []

    def f(x):
        y = np.sin(x)
        found.append(longest(x, step, 2000))
        return np.sum(y * x)

    np.testing.assert_array_equal(fg.grad(f)(X), fg.grad(lambda x: np.sum(np.sin(x) * x))(X))
    assert found[0] <= 2 * FORGOTTEN_AFTER


def test_large_results_are_forgotten_sooner():
    found = []

    def f(x):
        found.append(longest(x, lambda x: x * x, 400))
        return np.sum(x)

    fg.grad(f)(np.ones(LARGE))
    assert found[0] <= FORGOTTEN_AFTER // (LARGE // PER_NODE) + 1


def test_what_is_kept_is_not_forgotten():
    def f(x):
        kept = []
        for k in range(3 * FORGOTTEN_AFTER):
            kept.append(np.sin(x * k))
            np.cos(x * k)  # which nobody reads
        return np.sum(kept[0] * kept[-1]) + np.sum(sum(kept[::2]))

    value, gradient = fg.value_and_grad(f)(X)
    again, pull = fg.vjp(f, X)  # which searches for its nodes
    assert value == again
    np.testing.assert_array_equal(gradient, pull(np.float64(1.0))[0])


def test_a_tape_that_has_ended_has_no_nodes():
    seen = []

    def f(x):
        seen.append(x)
        return np.sum(np.sin(x) * x)

    fg.grad(f)(X)
    fg.vjp(f, X)
    assert [x.owner.nodes for x in seen] == [[], []]


def test_two_threads_record_on_one_tape():
    def f(x):
        parts = [None, None]

        def work(k):
            y = x
            for _ in range(3 * FORGOTTEN_AFTER):
                y = np.sin(y) + x * k
            parts[k] = y

        threads = [threading.Thread(target=work, args=(k,)) for k in range(2)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        return np.sum(parts[0] * parts[1])

    def alone(x):
        parts = [x, x]
        for k in range(2):
            for _ in range(3 * FORGOTTEN_AFTER):
                parts[k] = np.sin(parts[k]) + x * k
        return np.sum(parts[0] * parts[1])

    expected = fg.grad(alone)(X)
    for _ in range(5):
        np.testing.assert_allclose(fg.grad(f)(X), expected, 1e-12)


def test_nodes_of_an_outer_gradient_are_in_its_order():
    inner = fg.grad(lambda x, w: np.sum(np.sin(x * w) * x))
    outer = fg.grad(lambda w: np.sum(inner(X, w) ** 3))
    tangent = np.array([0.3, 0.1, -0.2])
    step = 1e-6
    loss = lambda w: np.sum(inner(X, w) ** 3)
    difference = (loss(X + step * tangent) - loss(X - step * tangent)) / (2 * step)
    np.testing.assert_allclose(outer(X) @ tangent, difference, 1e-7)


def test_a_rule_that_is_stated_again_is_taken(monkeypatch):
    special = pytest.importorskip("scipy.special")
    for table in (UFUNCS, UNARY):
        monkeypatch.setitem(table, special.kolmogi, None)
        del table[special.kolmogi]
    f = lambda x: special.kolmogi(x)
    for partial in (2.0, 3.0):
        fg.extend.elementwise(special.kolmogi, partial, name=f"test_restated_{partial}")
        found = [fg.grad(f)(0.5) for _ in range(PATIENCE + 2)]  # until it is written out
        assert found == [partial] * len(found)


@pytest.mark.parametrize("name", ["sin", "negative", "absolute", "sign", "square"])
@pytest.mark.parametrize("x", [0.5, np.float64(-0.5), X])
def test_a_ufunc_has_the_type_of_numpy(name, x):
    f = getattr(np, name)
    for _ in range(PATIENCE + 2):
        value = fg.value_and_grad(lambda x: np.sum(x * (kept := f(x))) * 0.0 + np.sum(kept))(x)[0]
        seen = []
        fg.grad(lambda x: seen.append(fg.value(f(x))) or np.sum(x))(x)
    assert type(seen[0]) is type(f(x)) and np.array_equal(seen[0], f(x))
    assert value == np.sum(x * f(x)) * 0.0 + np.sum(f(x))
