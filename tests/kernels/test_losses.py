"""Losses that are one node: their kernels give what the functions give in NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import funcgrad as fg
import funcgrad.torch as torch
from funcgrad.kernels import explain, losses
from funcgrad.kernels.choice import Entry, entries
from funcgrad.torch.nn import functional
from funcgrad.torch.nn.functional import write_losses

# by name: the loss of (x, y, reduction), and whether its operands are probabilities
LOSSES = {
    "smooth_l1_loss": (
        lambda x, y, r: functional.smooth_l1_loss(x, y, reduction=r, beta=0.7), False,
    ),
    "huber_loss": (
        lambda x, y, r: functional.huber_loss(x, y, reduction=r, delta=0.7), False,
    ),
    "binary_cross_entropy": (
        lambda x, y, r: functional.binary_cross_entropy(x, y, reduction=r), True,
    ),
    "binary_cross_entropy_with_logits": (
        lambda x, y, r: functional.binary_cross_entropy_with_logits(x, y, reduction=r), False,
    ),
    "soft_margin_loss": (
        lambda x, y, r: functional.soft_margin_loss(x, y, reduction=r), False,
    ),
}  # fmt: skip
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-30, 700.0]


def test_file_is_current():
    hint = "run python -m funcgrad.torch.nn.functional.write_losses"
    assert write_losses.PATH.read_text() == write_losses.text(), hint


def drawn(name, size, dtype, seed, special=False):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(2, size))
    if LOSSES[name][1]:
        x, y = 1 / (1 + np.exp(-3 * x)), 1 / (1 + np.exp(-y))
        if special:
            x[: min(size, 2)] = [0.0, 1.0][:size]
    elif special:
        x[: len(SPECIAL)] = rng.permutation(SPECIAL)[:size]
    return x.astype(dtype), y.astype(dtype)


def differentiated(name, x, y, reduction, kernels):
    """The loss and both gradients."""
    a, b = torch.tensor(x).requires_grad_(), torch.tensor(y).requires_grad_()
    fg.config.kernels = kernels
    try:
        with np.errstate(all="ignore"):
            loss = LOSSES[name][0](a, b, reduction)
            (loss * 1.5).backward()
    finally:
        fg.config.kernels = True
    second = None if b.grad is None else b.grad.numpy()
    return loss.detach().numpy(), a.grad.numpy(), second


@pytest.fixture
def any_size(monkeypatch):
    monkeypatch.setattr(losses, "FEWEST", 1)
    monkeypatch.setattr("funcgrad.transforms.node.FEWEST", 1)
    monkeypatch.setattr(Entry, "_paid", lambda self: True)
    monkeypatch.setattr(losses, "PIECE", 256)  # as if arrays were of many pieces


def check(name, size, dtype, reduction, seed=0, special=False):
    x, y = drawn(name, size, dtype, seed, special)
    one = differentiated(name, x, y, reduction, True)
    other = differentiated(name, x, y, reduction, False)
    eps = np.finfo(dtype).eps
    np.testing.assert_array_equal(one[0], other[0])
    for a, b in zip(one[1:], other[1:], strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            # a difference of two terms, each as large as the largest result
            largest = np.max(np.abs(b), initial=0.0, where=np.isfinite(b))
            np.testing.assert_allclose(a, b, rtol=32 * eps, atol=8 * eps * largest)


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", LOSSES)
def test_kernel_is_the_function(name, dtype, reduction, any_size):
    check(name, 3000, dtype, reduction)
    for kind in ("value", "backward") if f"torch.{name}" in losses.EXACT else ("backward",):
        assert any(e.calls for e in entries.values() if e.name == f"{name}_{kind}"), explain()


@pytest.mark.parametrize("name", LOSSES)
def test_special_values(name, any_size):
    check(name, 40, np.float64, "sum", special=True)


@given(st.integers(1, 2000), st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_sums_are_those_of_numpy(size, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=size).astype(np.float32)
    piece, losses.PIECE = losses.PIECE, 128
    try:
        totals = [np.add.reduce(x[b : b + n]) for b, n in losses._leaves(0, size)]
        assert losses._added(iter(totals), size) == np.add.reduce(x)
    finally:
        losses.PIECE = piece


@pytest.mark.parametrize("name", LOSSES)
def test_backward_of_a_large_loss_runs_functions_of_numba(name, monkeypatch):
    import numba

    monkeypatch.setattr(Entry, "_paid", lambda self: True)  # as if NumPy had done it for a second
    before = {k: e.calls for k, e in entries.items()}
    check(name, 10**6, np.float32, "mean")
    for kind in ("value", "backward") if f"torch.{name}" in losses.EXACT else ("backward",):
        ran = [
            e for k, e in entries.items()
            if e.name == f"{name}_{kind}" and e.calls > before.get(k, 0)
        ]  # fmt: skip
        assert ran, explain()
        assert isinstance(ran[0].function, numba.core.dispatcher.Dispatcher)


def test_higher_derivatives_do_not_see_the_kernel(any_size):
    x, y = (torch.tensor(v) for v in drawn("huber_loss", 50, np.float64, 0))
    x.requires_grad_()
    (g,) = torch.autograd.grad(functional.huber_loss(x, y, reduction="sum"), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    np.testing.assert_array_equal(h.numpy(), (np.abs((x - y).detach().numpy()) < 1).astype(float))
