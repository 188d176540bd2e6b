"""Orders of dimensions in memory, and storages as numbers, beside PyTorch."""

import numpy as np

import funcgrad.torch as ours

from .both import same


def formats(torch, say):
    x = torch.arange(24.0).reshape(1, 2, 3, 4)
    y, z = x[0], torch.arange(120.0).reshape(1, 2, 3, 4, 5)
    last, volumes = torch.channels_last, torch.channels_last_3d
    usual, kept = torch.contiguous_format, torch.preserve_format
    moved = x.contiguous(memory_format=last)
    for call in (
        lambda: (last, volumes, usual, kept), lambda: x.is_contiguous(memory_format=last),
        lambda: x.is_contiguous(memory_format=usual), lambda: x.is_contiguous(memory_format=kept),
        lambda: y.is_contiguous(memory_format=last), lambda: z.is_contiguous(memory_format=last),
        lambda: moved.stride(), lambda: moved.is_contiguous(memory_format=last),
        lambda: moved.is_contiguous(), lambda: z.contiguous(memory_format=volumes).stride(),
        lambda: y.contiguous(memory_format=last), lambda: x.contiguous(memory_format=volumes),
        lambda: x.contiguous(memory_format=kept) is x, lambda: x.contiguous(memory_format=1),
        lambda: x.clone(memory_format=last).stride(), lambda: x.clone(memory_format=kept).stride(),
        lambda: x.clone(memory_format=1), lambda: moved.clone().stride(),
        lambda: x.transpose(1, 2).clone(memory_format=usual).stride(),
        lambda: moved.contiguous().stride(), lambda: x.to(memory_format=last).stride(),
        lambda: x.to(torch.float64, memory_format=last).stride(),
        lambda: x.double(memory_format=last).stride(), lambda: x.to(memory_format=usual) is x,
        lambda: moved.to(memory_format=last) is moved, lambda: y.to(memory_format=last),
        lambda: torch.ones(1, 1, 3, 4).is_contiguous(memory_format=last),
        lambda: torch.ones(2, 1, 3, 4).contiguous(memory_format=last).stride(),
        lambda: torch.ones(0, 3, 1, 1).is_contiguous(memory_format=last),
        lambda: (moved + 1).stride(), lambda: torch.empty_like(x, memory_format=last).stride(),
        lambda: torch.zeros_like(moved).stride(),
        lambda: torch.zeros_like(moved, memory_format=usual).stride(),
        lambda: torch.full_like(x, 2.0, memory_format=last).stride(),
        lambda: torch.empty(1, 2, 3, 4, memory_format=last).stride(),
        lambda: torch.empty(2, 3, memory_format=last), lambda: moved, lambda: moved.sum(1),
    ):  # fmt: skip
        try:
            say(call())
        except (RuntimeError, TypeError) as error:
            say(type(error).__name__, error)


def test_formats():
    same(formats)


def gradients(torch, say):
    w = torch.arange(24.0).reshape(1, 2, 3, 4).requires_grad_()
    for change in (
        lambda x: x.contiguous(memory_format=torch.channels_last),
        lambda x: x.to(memory_format=torch.channels_last),
        lambda x: x.clone(memory_format=torch.channels_last),
    ):
        moved = change(w)
        say(moved.grad_fn.name())
        (moved * moved).sum().backward()
        say(w.grad)
    layer = torch.nn.Sequential(torch.nn.Conv2d(2, 2, 3), torch.nn.Linear(2, 2))
    layer.to(torch.float64, memory_format=torch.channels_last)
    say(layer[0].weight.stride(), layer[1].weight.stride(), layer[0].weight.dtype)


def test_gradients_and_layers():
    same(gradients)


def test_layers_give_the_same_for_both_orders():
    ours.manual_seed(0)
    layer, x = ours.nn.Conv2d(2, 3, 3), ours.randn(2, 2, 5, 5)
    expected = layer(x).detach().numpy()
    found = layer.to(memory_format=ours.channels_last)(x.to(memory_format=ours.channels_last))
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=1e-5, atol=1e-6)


def test_transforms_and_compiled_programs():
    x = ours.arange(24.0).reshape(1, 2, 3, 4)
    function = lambda x: x.contiguous(memory_format=ours.channels_last) * 2
    for found in (ours.compile(function)(x), ours.vmap(function)(x[None])[0]):
        assert ours.equal(found, 2 * x)


def storages(torch, say):
    x = torch.arange(6.0).reshape(2, 3)
    s = x[1].storage()
    say(len(s), s.size(), s.nbytes(), s.tolist(), s[3], s.dtype, s.device, s.element_size())
    say(s.data_ptr() == x.data_ptr(), type(s).__name__, s.untyped().size(), list(s)[:2], s.is_cuda)
    s[0] = 7
    say(x, s)
    for call in (lambda: s[100], lambda: s[0:2], lambda: s.fill_(2)):
        try:
            call()
        except (RuntimeError, IndexError) as error:
            say(error)
    say(x)


def test_storages_as_numbers():
    same(storages)
