"""Nodes called by hand, and refusals inside of transforms, as PyTorch has them."""

import pytest

from .both import ours, theirs, transcript


def calls(torch, say):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = (x * 2).exp()
    say(y.grad_fn(torch.ones(3)), y.grad_fn.requires_grad)
    say((x * x).grad_fn(torch.ones(3)))
    say(y.sum().grad_fn(torch.tensor(1.0)))
    with torch.no_grad():
        say(y.grad_fn(torch.ones(3)).requires_grad)
    say(x.view(-1).grad_fn.next_functions[0][0](torch.ones(3)), x.grad)
    z = torch.tensor([1 + 2j], requires_grad=True)
    say((z * 2j).grad_fn(torch.tensor([1 + 1j])))
    first, second = x.split([1, 2])
    say(first.grad_fn(torch.ones(1), torch.ones(2)))
    y.backward(torch.ones(3))
    try:
        y.grad_fn(torch.ones(3))
    except RuntimeError as error:
        say(error)


def inside_of_transforms(torch, say):
    a = torch.ones(2)
    for act in (
        lambda: torch.func.grad(lambda x: x.requires_grad_().sum())(a),
        lambda: torch.vmap(lambda x: x.requires_grad_())(a),
        lambda: torch.vmap(lambda x: None)(a),
        lambda: torch.vmap(lambda x: (x, None))(a),
        lambda: torch.vmap(lambda x: {"k": None})(a),
        lambda: torch.func.jvp(torch.sin, (a,), (torch.ones(3),)),
    ):
        try:
            say(act())
        except (RuntimeError, ValueError) as error:
            say(type(error).__name__, error)


def duals(torch, say):
    forward_ad = torch.autograd.forward_ad
    with forward_ad.dual_level():
        d = forward_ad.make_dual(torch.tensor([1.0, 2.0]), torch.ones(2))
        say(d, d.sum(), (d * 2).double().sum())


@pytest.mark.parametrize("program", [calls, inside_of_transforms, duals])
def test_as_pytorch(program):
    if theirs is None:
        pytest.skip("PyTorch is not installed")
    expected = [line for line in transcript(program, theirs) if "jit.script" not in line]
    assert transcript(program, ours) == expected
