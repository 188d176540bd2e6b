"""What jit says about its tracings, and that lengths share a kernel."""

import types

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.compile.execute import executable
from funcgrad.compile.loops import show

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


def normalised(x, axis=-1):
    away = x - np.mean(x, axis, keepdims=True)
    return away / np.sqrt(np.var(x, axis, keepdims=True) + 1e-5)


def softmax(x, axis=-1):
    powers = np.exp(x - np.max(x, axis, keepdims=True))
    return powers / np.sum(powers, axis, keepdims=True)


def logsumexp(x, axis=-1):
    most = np.max(x, axis, keepdims=True)
    return np.log(np.sum(np.exp(x - most), axis)) + np.squeeze(most, axis)


LENGTHS = [
    *(3, 4, 5, 8, 16, 17, 100, 1000, 1024, 1025),
    *(2048, 2049, 5000, 8192, 8193, 16385, 32769, 70000, 300001, 10**6),
]
FUNCTIONS = {
    "mean": np.mean,
    "var": np.var,
    "softmax": softmax,
    "logsumexp": logsumexp,
    "norm": lambda x, axis=-1: np.sqrt(np.sum(x * x, axis)),
    "layer norm": normalised,
}


def one_kernel_for(f, arrays):
    """`f` is right for each array, and what is compiled for one is what is for all."""
    g = fg.jit(f)
    for x in arrays:
        for a, b in zip(fg.tree.leaves(g(x)), fg.tree.leaves(f(x)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
    assert len(g.report().splitlines()) == len(arrays)
    kernels = [executable(fg.make_graph(f)(x)).kernels for x in arrays]
    assert len({"\n".join(map(show, each)) for each in kernels}) == 1


def samples(*shapes):
    return [np.random.default_rng(k).standard_normal(s) for k, s in enumerate(shapes)]


@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)
def test_twenty_lengths_are_one_kernel(f):
    one_kernel_for(f, samples(2, *LENGTHS))


@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)
def test_the_gradients_for_twenty_lengths_are_one_kernel(f):
    one_kernel_for(fg.value_and_grad(lambda x: np.sum(f(x) ** 2)), samples(*LENGTHS))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)
def test_matrices_with_columns_or_rows_of_any_length_are_one_kernel(f, axis):
    lengths = [n for n in LENGTHS if 8 <= n <= 8192]  # fewer fill no lanes, more no scratch
    one_kernel_for(lambda x: f(x, axis), samples(*((n, 64) for n in lengths)))
    one_kernel_for(lambda x: f(x, axis), samples(*((64, n) for n in lengths)))


def test_rows_that_are_made_of_outer_products_are_one_kernel():
    lengths = [1100 + 47 * k for k in range(20)]
    one_kernel_for(lambda x: np.mean(np.outer(x, x) + x, 0), samples(*lengths))
