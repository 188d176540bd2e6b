"""Layers that take sizes from their first input, beside PyTorch."""

from __future__ import annotations

import copy

import pytest

from .both import same


def first_calls(torch, say):
    nn = torch.nn
    line, image, volume = torch.ones(2, 3, 5), torch.ones(2, 3, 5, 5), torch.ones(2, 3, 4, 4, 4)
    for make, x in (
        (lambda: nn.LazyLinear(4), line), (lambda: nn.LazyLinear(4, bias=False), line[0, 0]),
        (lambda: nn.LazyConv1d(4, 2), line),
        (lambda: nn.LazyConv2d(6, 3, padding=1, groups=3), image),
        (lambda: nn.LazyConv2d(4, 2, bias=False), image[0]), (lambda: nn.LazyConv3d(2, 2), volume),
        (lambda: nn.LazyConvTranspose1d(4, 2, 2), line),
        (lambda: nn.LazyConvTranspose2d(4, 2, output_padding=1, stride=2), image),
        (lambda: nn.LazyConvTranspose3d(4, 2), volume), (lambda: nn.LazyBatchNorm1d(), line),
        (lambda: nn.LazyBatchNorm2d(momentum=None), image), (lambda: nn.LazyBatchNorm3d(), volume),
        (lambda: nn.LazyBatchNorm2d(affine=False, track_running_stats=False), image),
        (lambda: nn.LazyInstanceNorm1d(), line), (lambda: nn.LazyInstanceNorm2d(), image),
        (lambda: nn.LazyInstanceNorm3d(), volume),
    ):  # fmt: skip
        torch.manual_seed(0)
        layer = make()
        say(layer, list(layer.parameters()), list(layer.buffers()), list(layer.state_dict()))
        say(layer.has_uninitialized_params(), len(list(layer._forward_pre_hooks)))
        y = layer(x)
        say(type(layer).__name__, layer, tuple(y.shape), round(y.detach().sum().item(), 2))
        say({n: (tuple(v.shape), v.dtype, v.requires_grad) for n, v in layer.state_dict().items()})
        say(len(layer._forward_pre_hooks), [p.requires_grad for p in layer.parameters()])


def trained(torch, say):
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.LazyLinear(4), torch.nn.Tanh(), torch.nn.LazyBatchNorm1d(), torch.nn.LazyLinear(1)
    ).double()
    say(net, net[0].weight.dtype, copy.deepcopy(net[0]).weight)
    optimizer = torch.optim.Adam(net.parameters(), 0.1)
    x = torch.arange(6.0).reshape(3, 2).double()
    for _ in range(3):
        optimizer.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        optimizer.step()
        say(round(loss.item(), 6))
    say(net)
    fresh = torch.nn.Sequential(
        torch.nn.LazyLinear(4), torch.nn.Tanh(), torch.nn.LazyBatchNorm1d(), torch.nn.LazyLinear(1)
    )
    say(fresh.load_state_dict(net.state_dict()), fresh, fresh[0].weight.dtype)
    fresh(x.float())
    say(fresh)
    say(torch.nn.LazyLinear(2).load_state_dict(torch.nn.LazyLinear(2).state_dict()))


def refusals(torch, say):
    nn = torch.nn
    layer = nn.LazyLinear(2)
    for call in (
        lambda: layer.weight.shape,
        lambda: nn.Linear(2, 2).load_state_dict(layer.state_dict()),
        lambda: nn.LazyConv2d(2, 2)(torch.ones(3, 3)),
        lambda: nn.LazyConv2d(4, 2, groups=2)(torch.ones(1, 3, 3, 3)),
        lambda: nn.utils.weight_norm(nn.LazyLinear(2)),
        lambda: nn.utils.spectral_norm(nn.LazyLinear(2)),
        lambda: nn.LazyBatchNorm2d()(torch.ones(2, 3)),
    ):
        try:
            say(call())
        except (RuntimeError, ValueError) as error:
            say(type(error).__name__, error)
    for use in (
        lambda: layer.weight + 1,
        lambda: layer.weight.sum(),
        lambda: torch.sin(layer.weight),
    ):
        try:
            use()
        except ValueError as error:
            say(str(error)[:43], str(error)[-60:])
    p = nn.UninitializedParameter(dtype=torch.float64)
    p.materialize((2, 3))
    say(type(p).__name__, p.shape, p.dtype, p.requires_grad, p.is_leaf)
    b = nn.UninitializedBuffer()
    say(b, b.dtype, b.requires_grad)
    b.materialize((2,))
    say(b.shape, nn.parameter.is_lazy(b), nn.parameter.is_lazy(nn.UninitializedBuffer()))


@pytest.mark.parametrize("program", [first_calls, trained, refusals], ids=lambda p: p.__name__)
def test_program_says_the_same(program):
    same(program)
