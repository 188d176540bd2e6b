"""Gradients of products of many elements: quotients where that loses nothing, else the others."""

import numpy as np
import pytest

import funcgrad.torch as torch

COUNT = 1 << 13


def factors(dtype, change=None):
    """Numbers near 1, whose product is normal, in two rows."""
    x = np.random.default_rng(0).uniform(0.99, 1.01, (2, COUNT)).astype(dtype)
    for place, number in (change or {}).items():
        x[place] = number
    return x


def others(x, axes):
    """The products of the others, of rows or of all, in extended precision."""
    line = x.astype(np.longdouble).reshape(2 if axes else 1, -1)
    ahead = np.cumprod(np.insert(line, 0, 1.0, 1)[:, :-1], 1)
    behind = np.cumprod(np.insert(line[:, ::-1], 0, 1.0, 1)[:, :-1], 1)[:, ::-1]
    return (ahead * behind).reshape(x.shape)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("dim", [None, 1])
@pytest.mark.parametrize(
    "change",
    [
        {},
        {(0, 5): 0.0},
        {(0, 5): 0.0, (0, 9): 0.0},
        {(0, 5): 1e-15, (0, 9): 1e-15, (0, 11): 1e15, (0, 12): 1e15},
        {(0, 5): -3.0, (1, 0): -0.5},
    ],
)
def test_gradients_are_the_products_of_the_others(dtype, dim, change):
    x = torch.tensor(factors(dtype, change)).requires_grad_()
    y = x.prod() if dim is None else x.prod(dim)
    y.sum().backward()
    expected = others(x.detach().numpy(), dim is not None)
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(x.grad.numpy(), expected.astype(dtype), 30 * np.sqrt(COUNT) * eps)


def test_what_underflows_has_the_gradient_of_the_others():
    x = torch.tensor(factors("float64", {(0, 0): 1e-200, (0, 1): 1e-200})).requires_grad_()
    x.prod().backward()
    assert 1e-201 < abs(x.grad[0, 0].item()) < 1e-199
    assert x.grad[1, 0].item() == 0.0


def test_what_vanishes_without_any_factor_has_no_gradient():
    for change in ({}, {(0, 0): 1e-300, (0, 1): 1e300}, {(0, 0): 0.0}, {(1, 9): -1.0}):
        x = torch.tensor(0.3 * factors("float64", change)).requires_grad_()
        x.prod().backward()
        expected = others(x.detach().numpy(), False).astype(np.float64)
        np.testing.assert_array_equal(x.grad.numpy(), expected)
        assert not x.grad.any()
