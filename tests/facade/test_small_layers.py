"""Padding, dropout of channels, shuffles, columns of windows and distances, beside PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

from .both import same, theirs


def padding(torch, say):
    nn = torch.nn
    x = torch.arange(24.0).reshape(1, 2, 3, 4).requires_grad_()
    for layer, y in (
        (nn.ZeroPad1d(1), x[0]), (nn.ZeroPad2d((1, 0, -1, 2)), x), (nn.ZeroPad3d(1), x),
        (nn.ConstantPad1d((1, 2), 3.5), x[0]), (nn.ConstantPad2d(1, -1), x),
        (nn.ConstantPad3d((1, 0, 0, 1, 1, 1), 2), x), (nn.ReflectionPad1d(2), x[0]),
        (nn.ReflectionPad2d((1, 2, 0, 1)), x), (nn.ReflectionPad3d(1), x),
        (nn.ReplicationPad1d((3, 1)), x[0]), (nn.ReplicationPad2d(1), x),
        (nn.ReplicationPad3d(1), x), (nn.CircularPad1d(2), x[0]), (nn.CircularPad2d(1), x),
        (nn.CircularPad3d((1, 0, 1, 0, 1, 1)), x),
    ):  # fmt: skip
        (g,) = torch.autograd.grad((layer(y) ** 2).sum(), x)
        say(layer, layer(y).detach(), g)
    for layer in (nn.CircularPad2d(1), nn.ReflectionPad2d(5)):
        try:
            layer(x[0, 0])
        except (ValueError, NotImplementedError) as error:
            say(type(error).__name__, error)


def dropouts(torch, say):
    nn, x = torch.nn, torch.ones(2, 3, 2, 2)
    for layer, y in (
        (nn.Dropout1d(0.4), x[0]), (nn.Dropout1d(0.4), x[0, 0]), (nn.Dropout2d(0.4), x),
        (nn.Dropout2d(0.4), x[0]), (nn.Dropout3d(0.4), x), (nn.Dropout3d(0.4), x[None]),
        (nn.AlphaDropout(0.4), x), (nn.FeatureAlphaDropout(0.4), x), (nn.Dropout2d(1.0), x),
        (nn.AlphaDropout(1.0), x), (nn.AlphaDropout(0.0), x),
    ):  # fmt: skip
        torch.manual_seed(0)
        z = y.clone().requires_grad_()
        out = layer(z)
        (g,) = torch.autograd.grad(out.sum(), z)
        say(layer, out.detach(), g, layer.eval()(y).shape)
        torch.manual_seed(0)
    f = torch.nn.functional
    for name in ("dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout"):
        torch.manual_seed(1)
        y = torch.ones(2, 3) if name == "dropout1d" else torch.ones(2, 3, 1, 2)
        say(getattr(f, name)(y, 0.5, training=True, inplace=True), y)
        try:
            getattr(f, name)(y, 1.5)
        except ValueError as error:
            say(error)
    f.dropout1d(x)


def shuffles(torch, say):
    nn = torch.nn
    x = torch.arange(48.0).reshape(1, 4, 3, 4).requires_grad_()
    for layer, y in (
        (nn.PixelShuffle(2), x), (nn.PixelShuffle(2), x[0]), (nn.ChannelShuffle(2), x),
        (nn.PixelUnshuffle(2), x[:, :, :2]), (nn.Softmax2d(), x),
        (nn.CosineSimilarity(), (x, x * x)),
        (nn.PairwiseDistance(), (x, x * 2)), (nn.PairwiseDistance(1, keepdim=True), (x, x * 2)),
    ):  # fmt: skip
        out = layer(*y) if isinstance(y, tuple) else layer(y)
        (g,) = torch.autograd.grad((out * out).sum(), x)
        say(layer, out.detach(), g)
    for layer, y in (
        (nn.PixelShuffle(3), x), (nn.PixelShuffle(0), x), (nn.PixelUnshuffle(2), x),
        (nn.ChannelShuffle(3), x), (nn.ChannelShuffle(0), x), (nn.PixelShuffle(2), x[0, 0]),
        (nn.Softmax2d(), x[0, 0]),
    ):  # fmt: skip
        try:
            layer(y)
        except (RuntimeError, ValueError) as error:
            say(type(error).__name__, error)


@pytest.mark.parametrize("program", [padding, dropouts, shuffles], ids=lambda p: p.__name__)
def test_program_says_the_same(program):
    same(program)


WINDOWS = [
    (2, 1, 0, 1), (3, 1, 1, 2), ((2, 3), 1, (1, 0), (2, 1)), (2, 2, 1, 1), ((1, 2), (1, 2), 0, 2),
]  # fmt: skip


@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_windows_as_columns_and_back(window):
    if theirs is None:
        pytest.skip("PyTorch is not installed")
    import funcgrad.torch as ours

    def found(torch):
        x = np.random.default_rng(0).normal(size=(2, 3, 5, 6))
        t = torch.tensor(x, requires_grad=True)
        f = torch.nn.functional
        columns = f.unfold(t, *window)
        back = f.fold(columns * columns, (5, 6), *window)
        (g,) = torch.autograd.grad((back * back).sum(), t, create_graph=True)
        (h,) = torch.autograd.grad((g * g).sum(), t)
        alone = f.unfold(t[0], *window)
        again = f.fold(alone, (5, 6), *window)
        return [v.detach().numpy() for v in (columns, back, g, h, alone, again)], type(
            columns.grad_fn
        ).__name__

    (expected, node), (got, own) = found(theirs), found(ours)
    assert own == node
    for e, g in zip(expected, got, strict=True):
        np.testing.assert_allclose(g, e, rtol=1e-10, atol=1e-10)


def refused_windows(torch, say):
    f, x = torch.nn.functional, torch.ones(1, 2, 3, 3)
    for call in (
        lambda: f.unfold(x, 5), lambda: f.fold(x[0], (3, 3), 2),
        lambda: f.fold(torch.ones(1, 8, 3), (3, 3), 2),
    ):  # fmt: skip
        try:
            call()
        except RuntimeError as error:
            say(error)


def test_refused_windows():
    same(refused_windows)
