"""What jit says about its tracings, and that lengths share a kernel."""

import types

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.compile.cache import statistics

SCALE = 2.0


def last(f):
    return f.report().splitlines()[-1]


def test_every_reason_is_named(monkeypatch):
    w, m = np.ones(3), types.SimpleNamespace(b=1.0)

    def f(x, n=1, *, p=None):
        return np.sum(x * SCALE * w[0] + m.b) * n

    g = fg.jit(f, static_argnames="n")
    assert g.report() == "not traced yet"
    x = np.ones(3)
    g(x)
    assert last(g) == "1. the first call"
    g(x + 1.0)
    assert last(g) == "1. the first call"
    g(np.ones(4))
    assert last(g) == "2. argument 0: float64[3] became float64[4]"
    g(np.ones(4, "f4"))
    assert last(g) == "3. argument 0: float64[3] became float32[4]"
    g(x, 2)
    assert last(g) == "4. static values: none became 1: 2"
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    g(x)
    assert last(g) == "5. captured SCALE: 2.0 became 3.0"
    w[:] = 2.0
    g(x)
    assert last(g) == "6. captured w: other elements"
    m.b = 2.0
    g(x)
    assert last(g) == "7. captured m.b: 1.0 became 2.0"
    g(x, p={"a": x})
    assert last(g).startswith("8. another structure of arguments: ((*,), {}) became")
    g(x, p={"a": x[:2]})
    assert last(g) == "9. p['a']: float64[3] became float64[2]"


def test_what_is_not_kept_is_said():
    made = []

    def outer(s):
        made.append(fg.jit(lambda x: x * s))
        return made[-1](3.0)

    assert fg.grad(outer)(2.0) == 3.0
    assert "captures a value that is being traced, so nothing is kept" in made[0].report()


@pytest.mark.parametrize(
    "f",
    [
        np.mean,
        np.var,
        lambda x: np.exp(x - np.max(x)) / np.sum(np.exp(x - np.max(x))),
        fg.value_and_grad(lambda x: np.mean(np.tanh(x) ** 2)),
        lambda x: np.mean(np.outer(x, x) + x, 0),
    ],
    ids=["mean", "var", "softmax", "gradient", "rows"],
)
def test_twenty_lengths_are_one_kernel(f):
    g = fg.jit(f)
    lengths = [1100 + 47 * k for k in range(20)]  # within 1024 and 2048, where loops gain a level
    g(np.ones(lengths[0]))
    built, disk = statistics.built, statistics.disk
    for n in lengths[1:]:
        x = np.random.default_rng(n).standard_normal(n)
        for a, b in zip(fg.tree.leaves(g(x)), fg.tree.leaves(f(x)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-14)
    assert (statistics.built, statistics.disk) == (built, disk)
    assert len(g.report().splitlines()) == 20
