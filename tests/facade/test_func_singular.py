"""Transforms of `torch.func` where an element that was not taken is singular: PyTorch's values."""

import numpy as np
import pytest

import funcgrad.torch as facade

reference = pytest.importorskip("torch")


def taken(t, x):
    return t.where(x > 0, t.sqrt(x), t.zeros_like(x))


def indexed(t, x):
    return t.sqrt(x)[1:]


def larger(t, x):
    return t.maximum(t.sqrt(x), t.ones(2))


def clamped(t, x):
    return t.clamp(t.sqrt(x), min=0.5)


def filled(t, x):
    return t.sqrt(x).masked_fill(x <= 0, 0.0)


PROGRAMS = [taken, indexed, larger, clamped, filled]


def ones(t, y):
    return t.ones(y.shape)


REVERSE = {
    "grad": lambda t, f: lambda x: t.func.grad(lambda x: f(x).sum())(x),
    "grad_and_value": lambda t, f: lambda x: t.func.grad_and_value(lambda x: f(x).sum())(x)[0],
    "vjp": lambda t, f: lambda x: t.func.vjp(f, x)[1](ones(t, f(x)))[0],
    "jacrev": lambda t, f: t.func.jacrev(f),
    "vmap of grad": lambda t, f: (
        lambda x: t.func.vmap(t.func.grad(lambda x: f(x).sum()))(t.stack([x, x + 1.0]))
    ),
    "functional.vjp": lambda t, f: lambda x: t.autograd.functional.vjp(f, x, ones(t, f(x)))[1],
    "functional.jacobian": lambda t, f: lambda x: t.autograd.functional.jacobian(f, x),
}
SECOND = {
    "hessian": lambda t, f: t.func.hessian(lambda x: f(x).sum()),
    "grad of grad": lambda t, f: t.func.grad(lambda x: t.func.grad(lambda x: f(x).sum())(x).sum()),
    "functional.hessian": lambda t, f: (
        lambda x: t.autograd.functional.hessian(lambda x: f(x).sum(), x)
    ),
}
FORWARD = {
    "jvp": lambda t, f: lambda x: t.func.jvp(f, (x,), (t.ones(2),))[1],
    "jacfwd": lambda t, f: t.func.jacfwd(f),
    "linearize": lambda t, f: lambda x: t.func.linearize(f, x)[1](t.ones(2)),
}


def both(way, program):
    found = []
    for t in (reference, facade):
        y = way(t, lambda x, t=t: program(t, x))(t.tensor([0.0, 4.0]))
        found.append(np.asarray(y.detach().numpy()))
    return found


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("way", REVERSE)
def test_reverse_mode_multiplies_zero_by_infinity(way, program):
    want, got = both(REVERSE[way], program)
    assert np.isnan(want).any()
    np.testing.assert_allclose(got, want, 1e-6)


@pytest.mark.parametrize("way", SECOND)
def test_second_order_multiplies_zero_by_infinity(way):
    want, got = both(SECOND[way], taken)
    assert np.isnan(want).any()
    np.testing.assert_allclose(got, want, 1e-6)


@pytest.mark.parametrize("program", [taken, indexed, filled], ids=lambda f: f.__name__)
@pytest.mark.parametrize("way", FORWARD)
def test_forward_mode_of_what_was_not_taken(way, program):
    want, got = both(FORWARD[way], program)
    np.testing.assert_allclose(got, want, 1e-6)
