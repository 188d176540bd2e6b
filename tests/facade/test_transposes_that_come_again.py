"""Transposes of linear operations that are several of the core: kept as graphs, for equal types."""

from __future__ import annotations

import numpy as np
import pytest

import funcgrad.torch as torch


def pulled(f, x, g):
    x = x.detach().requires_grad_()
    f(x).backward(g)
    return x.grad.numpy()


OPERATIONS = {
    "contiguous": lambda x: x.transpose(0, 1).contiguous(),
    "flip": lambda x: x.flip(0),
    "repeat": lambda x: x.repeat(2, 1),
    "stack": lambda x: torch.stack([x, 2 * x]),
    "take": lambda x: torch.take(x, torch.tensor([0, 0, 3])),
    "pad": lambda x: torch.nn.functional.pad(x, (1, 1), mode="circular"),
    "split": lambda x: x.split(2)[0],
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_call_gives_the_bits_of_the_first(name):
    f, x = OPERATIONS[name], torch.arange(12.0).reshape(4, 3)
    g = torch.randn(f(x).shape)
    first = pulled(f, x, g)
    for _ in range(4):
        np.testing.assert_array_equal(pulled(f, x, g), first)


def test_operands_of_another_shape_have_another_transpose():
    for length in (4, 4, 4, 5, 5, 4):
        x = torch.ones(length, 3)
        found = pulled(lambda x: x.split(2)[0], x, torch.ones(2, 3))
        assert found.shape == (length, 3) and found.sum() == 6


def test_positions_are_not_kept():
    x = torch.arange(6.0)
    for at in ([0, 1], [2, 2], [5, 0], [3, 4]):
        found = pulled(lambda x, at=at: torch.take(x, torch.tensor(at)), x, torch.ones(2))
        np.testing.assert_array_equal(found, np.bincount(at, minlength=6))
