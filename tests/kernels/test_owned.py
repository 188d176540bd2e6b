"""Cotangents of the pass itself are written over; those of the user and what is saved are not."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.torch as torch
from funcgrad.kernels.choice import entries

SIZE = 1 << 15
X = np.linspace(0.1, 1.0, SIZE)


def program(m, x):
    return m.exp(-x * x) * m.tanh(x) + m.sin(x) / (1 + x)


def written_over():
    return sum(e.calls for (_, types), e in entries.items() if "g" in types.split()[-1])


@pytest.mark.usefixtures("always")
def test_a_chain_writes_over_its_cotangents(monkeypatch):
    before = written_over()
    found = fg.grad(lambda x: np.sum(program(np, x)))(X)
    assert written_over() > before + 3
    monkeypatch.setattr(fg.config, "kernels", False)
    expected = fg.grad(lambda x: np.sum(program(np, x)))(X)
    np.testing.assert_allclose(found, expected, rtol=1e-15, atol=1e-15)


@pytest.mark.usefixtures("always")
def test_the_cotangent_of_the_user_is_left_alone():
    _, pull = fg.vjp(lambda x: program(np, x), X)
    g = np.cos(X)
    first = pull(g)
    np.testing.assert_array_equal(g, np.cos(X))
    np.testing.assert_array_equal(first, pull(g))


@pytest.mark.usefixtures("always")
def test_what_hooks_and_retain_grad_saw_stays():
    x = torch.tensor(X, requires_grad=True)
    inner = torch.sin(x)
    inner.retain_grad()
    seen = []
    y = torch.exp(inner)
    y.register_hook(seen.append)
    g = torch.tensor(np.cos(X))
    for _ in range(2):
        y.backward(g, retain_graph=True)
    np.testing.assert_array_equal(seen[0].numpy(), np.cos(X))
    np.testing.assert_array_equal(seen[1].numpy(), np.cos(X))
    np.testing.assert_allclose(inner.grad.numpy(), 2 * np.cos(X) * y.detach().numpy(), rtol=1e-14)
    np.testing.assert_allclose(x.grad.numpy(), inner.grad.numpy() * np.cos(X), rtol=1e-14)


@pytest.mark.usefixtures("always")
def test_a_cotangent_that_goes_several_ways_is_no_array_of_the_pass():
    """A sum hands one array to both operands, a reshape a view of it."""

    def f(x):
        y = np.exp(x)
        a, b = np.sin(y), np.cos(y)
        return np.sum((a + b).reshape(-1, 4) * 2.0)

    y = np.exp(X)
    expected = 2.0 * (np.cos(y) - np.sin(y)) * y
    np.testing.assert_allclose(fg.grad(f)(X), expected, rtol=1e-13, atol=1e-13)
    h = fg.grad(lambda x: np.sum(fg.grad(f)(x) * X))(X)
    second = 2.0 * ((np.cos(y) - np.sin(y)) * y - (np.sin(y) + np.cos(y)) * y * y) * X
    np.testing.assert_allclose(h, second, rtol=1e-13, atol=1e-12)
