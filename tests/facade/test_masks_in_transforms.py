"""Masks of tensors under `jit`: as many elements as the arguments at hand have, on every call."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.torch as torch


def indexed(x):
    return (x[x > 0] ** 2).sum()


def of_rows(x):
    return (x[x.sum(1) > 0] * 3).sum()


def with_a_slice(x):
    return (x[:, x[0] > 0] ** 2).sum()


def selected(x):
    return x.masked_select(x > 0.5).exp().sum()


def written(x):
    y = x * 2
    y[y > 1] = 0.5
    return (y * y).sum()


def scattered(x):
    return x.masked_scatter(x > 0, x.flatten() * 2).sum()


def at_nonzero(x):
    i, j = torch.nonzero(x > 0, as_tuple=True)
    return (x[i, j] * i).sum()


def of_rows_of_nonzero(x):
    return (x[(x > 0).nonzero()[:, 0]] ** 2).sum()


INPUTS = (
    [[1.0, -2.0, 3.0], [0.25, 0.5, -1.0]],
    [[1.0, 2.0, 3.0], [-4.0, 5.0, 6.0]],
    [[-1.0, -2.0, -3.0], [-1.0, -1.0, -1.0]],
    [[1.0, -2.0, 3.0], [0.75, 0.5, -1.0]],
)
FUNCTIONS = (
    indexed,
    of_rows,
    with_a_slice,
    selected,
    written,
    scattered,
    at_nonzero,
    of_rows_of_nonzero,
)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_as_eager(function):
    compiled, slope = fg.jit(function), fg.jit(fg.grad(function))
    for rows in INPUTS:
        x = torch.tensor(rows, dtype=torch.float64)
        leaf = x.clone().requires_grad_()
        function(leaf).backward()
        assert np.asarray(compiled(x)) == pytest.approx(function(x).item())
        np.testing.assert_allclose(np.asarray(slope(x)), leaf.grad.numpy())


def test_vmap_names_the_way_out():
    with pytest.raises(RuntimeError, match="mask"):
        fg.vmap(indexed)(torch.ones(2, 2, 3))
