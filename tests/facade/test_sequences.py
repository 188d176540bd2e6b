"""Bags of rows and the loss of unaligned sequences, beside PyTorch."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import funcgrad.torch as ours

from .both import same, theirs

CLOSE = {np.float64: 1e-9, np.float32: 1e-4}
LOGITS = np.random.default_rng(0).normal(size=(9, 3, 5))
LABELS = np.array([[1, 2, 2, 4], [3, 1, 0, 0], [2, 2, 2, 1]])


def close(expected, got, by):
    for e, g in zip(expected, got, strict=True):
        assert e.dtype == g.dtype
        finite = np.isfinite(e)
        np.testing.assert_array_equal(np.isfinite(g), finite)
        np.testing.assert_allclose(g[finite], e[finite], rtol=by, atol=by)


@pytest.mark.parametrize("dtype", list(CLOSE))
@pytest.mark.parametrize(
    ("lengths", "sizes"),
    [
        ((9, 5, 8), (4, 2, 3)),
        ((9, 0, 8), (4, 0, 0)),
        ((2, 5, 8), (4, 2, 3)),
        ((9, 0, 1), (4, 2, 1)),
    ],
)
def test_ctc_loss_has_pytorchs_values_and_gradients(lengths, sizes, dtype):
    if theirs is None:
        pytest.skip("PyTorch is not installed")
    for reduction, zero, blank in itertools.product(("none", "mean", "sum"), (0, 1), (0, 4)):
        labels = np.where(LABELS == 4, 0, LABELS) if blank == 4 else LABELS
        found = []
        for torch in (theirs, ours):
            x = torch.tensor(LOGITS.astype(dtype)).log_softmax(-1).detach().requires_grad_()
            loss = torch.nn.functional.ctc_loss(
                x, torch.tensor(labels), lengths, sizes, blank, reduction, bool(zero)
            )
            (g,) = torch.autograd.grad(loss.sum(), x)
            found.append((loss.detach().numpy(), g.numpy()))
        close(*found, CLOSE[dtype])


def test_second_derivatives_of_ctc_loss():
    """PyTorch has none."""
    x = ours.tensor(LOGITS[:5, :2, :4], requires_grad=True)

    def loss(x):
        f = ours.nn.functional
        return f.ctc_loss(x.log_softmax(-1), ours.tensor(LABELS[:2, :2]), (5, 4), (2, 2))

    assert ours.autograd.gradcheck(loss, (x,))
    assert ours.autograd.gradgradcheck(loss, (x,))


def ctc(torch, say):
    f, x = torch.nn.functional.ctc_loss, torch.zeros(6, 2, 4).log_softmax(-1)
    labels = torch.tensor([[1, 2, 2], [3, 1, 0]])
    for call in (
        lambda: f(x, labels, torch.tensor([6, 5]), torch.tensor([3, 2])),
        lambda: f(x, torch.tensor([1, 2, 2, 3, 1]), (6, 5), (3, 2)),
        lambda: f(x[:, 0], labels[0], torch.tensor(6), torch.tensor(3)),
        lambda: f(x[:, 0], labels[0], (6,), (3,), reduction="none"),
        lambda: f(x, labels, (7, 5), (3, 2)), lambda: f(x, labels, (6,), (3, 2)),
        lambda: f(x, labels, (6, 5), (3,)), lambda: f(x, labels, (6, 5), (4, 2)),
        lambda: f(x, labels, (6, 5), (3, 2), blank=4), lambda: f(x.half(), labels, (6, 5), (3, 2)),
        lambda: f(x, torch.tensor([1, 2, 2, 3]), (6, 5), (3, 2)),
        lambda: f(x, labels[:1], (6, 5), (3, 2)), lambda: f(x, labels, (6, -1), (3, 2)),
        lambda: f(x, labels, (6, 5), (3, -2)),
        lambda: f(x, labels, torch.tensor([6.0, 5.0]), torch.tensor([3, 2])),
        lambda: f(x, labels, (6, 5), (3, 2), reduction="most"),
    ):  # fmt: skip
        try:
            say(call())
        except (RuntimeError, ValueError, NotImplementedError) as error:
            say(type(error).__name__, error)
    layer = torch.nn.CTCLoss(reduction="sum", zero_infinity=True)
    say(layer, layer(x, labels, (2, 5), (3, 2)))


BAGS = [
    ([[1, 2, 2], [6, 1, 0]], None),
    ([3, 1, 1, 2, 6, 0], [0, 3, 3, 6]),
    ([2, 2, 2, 1], [0, 2, 4]),
]


@pytest.mark.parametrize("dtype", list(CLOSE))
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_embedding_bag_has_pytorchs_values_and_gradients(mode, dtype):
    if theirs is None:
        pytest.skip("PyTorch is not installed")
    w = np.random.default_rng(1).normal(size=(7, 3)).astype(dtype)
    for (rows, offsets), pad, last, weighted in itertools.product(
        BAGS, (None, 2), (False, True), (False, True)
    ):
        if (last and offsets is None) or (weighted and mode != "sum"):
            continue
        found = []
        for torch in (theirs, ours):
            t, at = torch.tensor(w, requires_grad=True), torch.tensor(rows)
            given = [t]
            if weighted:
                given.append(torch.linspace(1, 2, at.numel(), dtype=t.dtype).reshape(at.shape))
                given[1].requires_grad_()
            begin = None if offsets is None else torch.tensor(offsets)
            y = torch.nn.functional.embedding_bag(
                at, t, begin, mode=mode, padding_idx=pad, include_last_offset=last,
                per_sample_weights=given[1] if weighted else None,
            )  # fmt: skip
            found.append([v.detach().numpy() for v in
                          (y, *torch.autograd.grad((y * y).sum(), given))])  # fmt: skip
            assert type(y.grad_fn).__name__ == "EmbeddingBagBackward0"
        close(*found, CLOSE[dtype])


def test_gradients_by_frequency_are_those_of_embedding():
    """PyTorch divides by the frequency of another row."""
    at = ours.tensor([[1, 2, 2], [6, 1, 0]])
    f, w = ours.nn.functional, ours.randn(7, 3, requires_grad=True)
    y = f.embedding_bag(at, w, mode="sum", scale_grad_by_freq=True)
    z = f.embedding(at, w, scale_grad_by_freq=True).sum(1)
    ours.testing.assert_close(*(ours.autograd.grad(v.square().sum(), w)[0] for v in (y, z)))


def bags(torch, say):
    f, nn, w = torch.nn.functional.embedding_bag, torch.nn, torch.arange(12.0).reshape(4, 3)
    at, begin = torch.tensor([0, 1, 3]), torch.tensor([0, 2])
    torch.manual_seed(0)
    for layer in (
        nn.EmbeddingBag(4, 3), nn.EmbeddingBag(4, 3, max_norm=1.0, mode="sum", padding_idx=-1),
        nn.EmbeddingBag.from_pretrained(w, mode="max", scale_grad_by_freq=False),
    ):  # fmt: skip
        say(layer, layer.weight.requires_grad, layer(at, begin).detach(), layer.weight.detach())
    say(f(at, w, torch.tensor([0, 0, 3]), mode="max"), f(at[:0], w, torch.tensor([0, 0])))
    for call in (
        lambda: f(at, w), lambda: f(at, w[0], begin),
        lambda: f(at[None, None], w), lambda: f(at, w, begin, mode="least"),
        lambda: f(at, w, begin[None]), lambda: f(at, w, torch.tensor([1, 2])),
        lambda: f(at, w, torch.tensor([0, 4])), lambda: f(at, w, begin, per_sample_weights=w[0]),
        lambda: f(at, w, begin, per_sample_weights=w[0], mode="sum").shape,
        lambda: f(at, w, begin, per_sample_weights=w[0, :2], mode="sum"),
        lambda: f(at, w, begin, mode="max", scale_grad_by_freq=True),
        lambda: f(at, w, begin, mode="max", sparse=True),
    ):  # fmt: skip
        try:
            say(call())
        except (RuntimeError, ValueError, NotImplementedError) as error:
            say(type(error).__name__, str(error).split("\n")[0])


@pytest.mark.parametrize("program", [ctc, bags], ids=lambda program: program.__name__)
def test_program_says_the_same(program):
    same(program)
