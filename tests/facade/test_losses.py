"""Losses against PyTorch's: where probabilities are sharp, and large ones, computed by kernels."""

import itertools

import numpy as np
import pytest

import funcgrad.torch as ours
from funcgrad.torch import flat

from .both import same

theirs = pytest.importorskip("torch")


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
    monkeypatch.setattr(flat, "SMALL", 1)
    monkeypatch.setattr("funcgrad.transforms.node.FEWEST", 1)
    monkeypatch.setattr("funcgrad.config.kernels", "always")


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


# ------------------------------------------------------------------------------------- margins

CLASSES = np.array([0, 3, 1, 2, 2])
LABELS = np.array([[3, 0, -1, 1], [-1, 0, 1, 2], [0, 1, 2, 3], [2, -1, -1, -1], [1, 1, 0, -1]])
MARGINS = {
    "multi_margin": lambda torch, x, w, **how: torch.nn.functional.multi_margin_loss(
        x, torch.tensor(CLASSES), **how
    ),
    "multi_margin squared": lambda torch, x, w, **how: torch.nn.functional.multi_margin_loss(
        x, torch.tensor(CLASSES), 2, 0.5, w, **how
    ),
    "multi_margin of one": lambda torch, x, w, **how: torch.nn.functional.multi_margin_loss(
        x[0], torch.tensor(2), **how
    ),
    "multilabel_margin": lambda torch, x, w, **how: torch.nn.functional.multilabel_margin_loss(
        x, torch.tensor(LABELS), **how
    ),
    "multilabel_margin of one": lambda torch, x, w, **how: (
        torch.nn.functional.multilabel_margin_loss(x[1], torch.tensor(LABELS[0]), **how)
    ),
    "multilabel_soft_margin": lambda torch, x, w, **how: (
        torch.nn.functional.multilabel_soft_margin_loss(x, (x.detach() > 0).to(x.dtype), w, **how)
    ),
}


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("name", MARGINS)
def test_margins(name, reduction):
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(5, 4)), rng.uniform(0.5, 2, 4)
    x[0, 1] = x[0, 0] - 1  # on the margin
    agree(lambda torch, x, w: MARGINS[name](torch, x, w, reduction=reduction), x, w, constants=(1,))


def test_modules_of_margins():
    x, weight = np.random.default_rng(0).normal(size=(5, 4)), np.array([1.0, 2.0, 0.5, 1.5])
    makers = {
        "multi": lambda torch: torch.nn.MultiMarginLoss(2, 0.5, torch.tensor(weight)),
        "labels": lambda torch: torch.nn.MultiLabelMarginLoss(reduction="sum"),
        "soft": lambda torch: torch.nn.MultiLabelSoftMarginLoss(torch.tensor(weight)),
    }
    targets = {"multi": CLASSES, "labels": LABELS, "soft": (x > 0).astype(float)}
    for name, make in makers.items():
        one, other = (
            make(torch)(torch.tensor(x), torch.tensor(targets[name])) for torch in (ours, theirs)
        )
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-14)
        assert repr(make(ours)) == repr(make(theirs))
        assert list(make(ours).state_dict()) == list(make(theirs).state_dict())


WRONG = {
    "class": lambda torch, F, x: F.multi_margin_loss(x, torch.tensor([0, 1, 7])),
    "size": lambda torch, F, x: F.multi_margin_loss(x, torch.tensor([0, 1])),
    "dtype of classes": lambda torch, F, x: F.multi_margin_loss(x, torch.tensor([0, 1, 2]).int()),
    "power": lambda torch, F, x: F.multi_margin_loss(x, torch.tensor([0, 1, 2]), p=3),
    "weight": lambda torch, F, x: F.multi_margin_loss(
        x, torch.tensor([0, 1, 2]), weight=torch.ones(3)
    ),
    "weights": lambda torch, F, x: F.multi_margin_loss(
        x, torch.tensor([0, 1, 2]), weight=torch.ones(4, 4)
    ),
    "dtype of weight": lambda torch, F, x: F.multi_margin_loss(
        x, torch.tensor([0, 1, 2]), weight=torch.ones(4).double()
    ),
    "whole": lambda torch, F, x: F.multi_margin_loss(x.long(), torch.tensor([0, 1, 2])),
    "half": lambda torch, F, x: F.multi_margin_loss(x.half(), torch.tensor([0, 1, 2])),
    "rank": lambda torch, F, x: F.multi_margin_loss(x[None], torch.tensor([0, 1, 2])),
    "labels": lambda torch, F, x: F.multilabel_margin_loss(x, torch.full((3, 4), 4)),
    "negative labels": lambda torch, F, x: F.multilabel_margin_loss(x, torch.full((3, 4), -2)),
    "shape of labels": lambda torch, F, x: F.multilabel_margin_loss(x, torch.zeros(2, 4).long()),
    "dtype of labels": lambda torch, F, x: F.multilabel_margin_loss(x, torch.zeros(3, 4).int()),
    "half labels": lambda torch, F, x: F.multilabel_margin_loss(x.half(), torch.zeros(3, 4).long()),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors_of_margins(name):
    texts = []
    for torch in (ours, theirs):
        with pytest.raises(Exception) as caught:
            WRONG[name](torch, torch.nn.functional, torch.ones(3, 4))
        texts.append((str(caught.value), [c.__name__ for c in type(caught.value).__mro__]))
    assert texts[0][0].startswith(texts[1][0])
    assert texts[1][1][0] in texts[0][1]


def test_targets_of_soft_margins_are_not_differentiated():
    def program(torch, say):
        x, y = torch.tensor([0.5, -2.0]), torch.tensor([1.0, -1.0], requires_grad=True)
        loss = torch.nn.functional.soft_margin_loss
        with torch.no_grad():
            say(loss(x, y))
        say(loss(x.requires_grad_(), y.detach()))
        say(loss(x, y))

    same(program)
