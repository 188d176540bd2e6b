"""Losses against PyTorch's: where probabilities are sharp, and large ones, computed by kernels."""

import itertools

import numpy as np
import pytest
import torch as theirs

import funcgrad.torch as ours
from funcgrad.kernels import losses
from funcgrad.kernels.choice import Entry


def both(function, *arrays, constants=()):
    """Value and gradients of ``function(torch, *tensors)`` in both libraries."""
    found = []
    for torch in (ours, theirs):
        xs = [torch.tensor(x) for x in arrays]
        for k, x in enumerate(xs):
            if k not in constants:
                x.requires_grad_()
        loss = function(torch, *xs)
        loss.sum().backward()
        grads = [x.grad.numpy() for k, x in enumerate(xs) if k not in constants]
        found.append((type(loss.grad_fn).__name__, [loss.detach().numpy(), *grads]))
    return found


def agree(function, *arrays, constants=(), eps=None):
    (name, one), (other_name, other) = both(function, *arrays, constants=constants)
    assert name == other_name
    eps = np.finfo(arrays[0].dtype).eps if eps is None else eps
    for a, b in zip(one, other, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        largest = np.max(np.abs(b), initial=0.0, where=np.isfinite(b))
        np.testing.assert_allclose(a, b, rtol=64 * eps, atol=16 * eps * largest)


def test_cross_entropy_of_sharp_probabilities():
    p = [0.0, 1e-40, 1e-30, 1e-13, 1.1e-12, 1e-3, 0.5, 0.999, 1.0]
    x, y = map(np.array, zip(*itertools.product(p, [0.0, 0.3, 1.0]), strict=True))
    with np.errstate(all="ignore"):
        agree(
            lambda torch, x, y: torch.nn.functional.binary_cross_entropy(x, y, reduction="none"),
            x, y,
        )  # fmt: skip


@pytest.fixture
def kernels(monkeypatch):
    monkeypatch.setattr(losses, "FEWEST", 1)
    monkeypatch.setattr("funcgrad.transforms.node.FEWEST", 1)
    monkeypatch.setattr(Entry, "_paid", lambda self: True)


ELEMENTWISE = {
    "mse_loss": lambda F, x, y, p, q, w, **how: F.mse_loss(x, y, **how),
    "smooth_l1_loss": lambda F, x, y, p, q, w, **how: F.smooth_l1_loss(x, y, beta=0.5, **how),
    "huber_loss": lambda F, x, y, p, q, w, **how: F.huber_loss(x, y, delta=0.5, **how),
    "binary_cross_entropy": lambda F, x, y, p, q, w, **how: F.binary_cross_entropy(p, q, w, **how),
    "with_logits": lambda F, x, y, p, q, w, **how: F.binary_cross_entropy_with_logits(
        x, q, w, pos_weight=w, **how
    ),
    "soft_margin_loss": lambda F, x, y, p, q, w, **how: F.soft_margin_loss(
        x, y.detach().sign(), **how
    ),
}


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_kernels_of_elements(name, dtype, reduction, kernels):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 300, 7)).astype(dtype)
    p, q = rng.uniform(0.01, 0.99, (2, 300, 7)).astype(dtype)
    w = rng.uniform(0.5, 2, 7).astype(dtype)

    def loss(torch, x, y, p, q, w):
        rest = 0 * (x + y + p + q).sum()  # so that all have a gradient
        found = ELEMENTWISE[name](torch.nn.functional, x, y, p, q, w, reduction=reduction)
        assert found.grad_fn is not None
        return found + rest

    agree(loss, x, y, p, q, w, constants=(4,))
