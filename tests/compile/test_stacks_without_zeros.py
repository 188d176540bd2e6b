"""Rows of a stack that only a loop of as many steps reads are not zeroed before the first step."""

from __future__ import annotations

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.compile import workspace

MOST = 5000
X = np.linspace(0.2, 1.0, 3)


@pytest.fixture
def memory_of_nan(monkeypatch):
    """Memory of programs begins as NaN: what a kernel leaves out and another reads shows."""
    make = workspace.aligned

    def aligned(size):
        memory = make(size)
        memory[:] = 0xFF
        return memory

    monkeypatch.setattr(workspace, "aligned", aligned)


def growing(x, most=MOST):
    def step(c):
        return (c[0] * 1.2 + np.sin(c[0]) * x, c[1] + 1)

    return fg.while_loop(lambda c: c[0].sum() < 9.0, step, (x, 0), max_steps=most)[0]


def products(x, most=MOST):
    """Steps in two loops that hand on to each other."""
    n = (x.sum() * 4).astype(int)
    first = fg.fori_loop(0, n, lambda i, c: np.cos(c * x) + i, x)
    return first * fg.while_loop(lambda c: c.max() < 30, lambda c: c * (x + 1), x, max_steps=most)


def nested(x):
    def row(c, r):
        inner = fg.while_loop(lambda v: v.sum() < r, lambda v: v * (1 + x), c, max_steps=40)
        return inner / inner.sum(), inner[0]

    c, y = fg.scan(row, x, np.array([3.0, 0.1, 7.0]))
    return c * y.sum()


TRANSFORMS = {
    "grad": fg.value_and_grad,
    "hessian": fg.hessian,
    "twice in reverse": lambda f: fg.jacrev(fg.grad(f)),
    "examples": lambda f: lambda x: fg.vmap(fg.grad(f))(np.stack([x, 0.5 * x, 2 * x, 40 + x])),
    "one step for all": lambda f: lambda x: fg.jacrev(lambda k: fg.grad(f)(k * x))(1.0),
}


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
@pytest.mark.parametrize("f", [growing, products, nested])
@pytest.mark.usefixtures("memory_of_nan")
def test_rows_of_steps_that_are_not_run_are_not_read(f, transform):
    made = transform(lambda x: f(x).sum())
    wanted = made(X)
    compiled = fg.jit(made)
    for _ in range(2):
        for a, b in zip(fg.tree.leaves(compiled(X)), fg.tree.leaves(wanted), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.usefixtures("memory_of_nan")
@pytest.mark.parametrize("steps", [0, 1, 7])
def test_a_stack_that_others_read_has_zeros(steps):
    """The residuals of a compiled function that is differentiated are its results."""

    def f(x, n):
        return fg.while_loop(
            lambda c: c[1] < n, lambda c: (np.sin(c[0]) + x, c[1] + 1), (x, 0), max_steps=MOST
        )[0].sum()

    wanted = fg.grad(f)(X, steps)
    for g in (fg.jit(fg.grad(f)), fg.grad(fg.jit(f))):
        np.testing.assert_allclose(g(X, steps), wanted, rtol=1e-12)


def test_the_memory_of_steps_that_are_not_run_costs_nothing():
    text = fg.jit(fg.grad(lambda x: growing(x).sum())).show(X)
    loop = text[text.index("kernel k0") :]
    assert "= np.float64(0.0)" not in loop[: loop.index("kernel k1")]
