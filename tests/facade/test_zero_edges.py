"""Second derivatives of what is piecewise linear: zeros where PyTorch gives zeros, else unused."""

import pytest

import funcgrad.torch as ours

from .programs import agree, attempt, programs

BENT = {
    "relu": lambda t, x: t.relu(x),
    "relu6": lambda t, x: t.nn.functional.relu6(x),
    "leaky_relu": lambda t, x: t.nn.functional.leaky_relu(x, 0.25),
    "hardtanh": lambda t, x: t.nn.functional.hardtanh(x),
    "threshold": lambda t, x: t.nn.functional.threshold(x, 0.5, 2.0),
    "hardshrink": lambda t, x: t.nn.functional.hardshrink(x),
    "softshrink": lambda t, x: t.nn.functional.softshrink(x),
    "abs": lambda t, x: x.abs(),
    "copysign": lambda t, x: t.copysign(x, t.tensor([-1.0, 1.0, -1.0])),
    "copysign number": lambda t, x: t.copysign(x, -1.0),
    "fmod": lambda t, x: t.fmod(t.tensor([5.0, 7.0, 8.0]), x),
    "remainder": lambda t, x: t.remainder(t.tensor([5.0, 7.0, 8.0]), x),
    "l1_loss": lambda t, x: t.nn.functional.l1_loss(x, t.zeros(3), reduction="none"),
    "norm 1": lambda t, x: t.linalg.vector_norm(x, 1),
    "norm inf": lambda t, x: t.linalg.vector_norm(x, float("inf")),
    "pad": lambda t, x: t.nn.functional.pad(x[None], (1, 1), mode="reflect"),
}
UNUSED = {
    "clamp": lambda t, x: x.clamp(-1.0, 1.0),
    "max": lambda t, x: x.max(),
    "max of two": lambda t, x: t.maximum(x, t.zeros(3)),
    "floor": lambda t, x: x.floor(),
    "round": lambda t, x: x.round(),
    "sign": lambda t, x: x.sign(),
    "sum": lambda t, x: x.sum(),
    "where": lambda t, x: t.where(x > 0, x, 0.0),
}


def point(torch):
    return torch.tensor([1.5, -2.0, 0.75], requires_grad=True)


@pytest.mark.peers
@pytest.mark.parametrize("name", [*BENT, *UNUSED])
def test_grad_of_grad(name):
    function = (BENT | UNUSED)[name]

    def program(torch, say):
        x = point(torch)
        (g,) = torch.autograd.grad(function(torch, x).sum(), x, create_graph=True)
        say(g.tolist(), g.requires_grad)
        attempt(say, lambda: torch.autograd.grad(g.sum(), x, retain_graph=True)[0] * 1)
        if g.requires_grad:
            g.sum().backward()
            say(x.grad)

    agree(program)


@pytest.mark.parametrize("name", BENT)
def test_gradgradcheck(name):
    x = point(ours).detach().double().requires_grad_()
    assert ours.autograd.gradgradcheck(lambda x: BENT[name](ours, x).double(), x)


def weights_and_input(torch, say):
    """The way to the input goes through an edge of zeros, that to the weight does not."""
    x = point(torch)
    w = torch.tensor([[1.0, 2.0, 3.0]], requires_grad=True)
    y = torch.relu(torch.nn.functional.linear(torch.relu(x), w)).sum()
    gx, gw = torch.autograd.grad(y, (x, w), create_graph=True)
    say([g + 0 for g in torch.autograd.grad(gx.sum(), (x, w), retain_graph=True)])
    say([g + 0 for g in torch.autograd.grad(gw.sum(), (x, w), retain_graph=True)])
    (third,) = torch.autograd.grad((gx**2).sum(), w, create_graph=True)
    say(third.tolist(), torch.autograd.grad(third.sum(), (x, w))[0] + 0)


def constant_weights(torch, say):
    x = point(torch)
    w = torch.tensor([[1.0, 2.0, 3.0]])
    y = torch.nn.functional.leaky_relu(torch.nn.functional.linear(x, w)).sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    say(torch.autograd.grad(g.sum(), x)[0] + 0)


def prelu(torch, say):
    x, w = point(torch), torch.tensor([0.25], requires_grad=True)
    y = torch.nn.functional.prelu(x, w).sum()
    for g in torch.autograd.grad(y, (x, w), create_graph=True):
        say(torch.autograd.grad(g.sum(), (x, w), retain_graph=True, allow_unused=True))


def hessians(torch, say):
    F = torch.autograd.functional
    x = point(torch).detach()
    for strict in (False, True):
        attempt(say, lambda: F.hessian(lambda x: torch.relu(x).sum(), x, strict=strict))
        attempt(
            say, lambda: F.hessian(lambda x: x.abs().sum(), x, strict=strict, create_graph=True)
        )
        attempt(say, lambda: F.hvp(lambda x: x.abs().sum(), x, x, strict=strict)[1])
        attempt(say, lambda: F.hessian(lambda x: x.clamp(0, 1).sum(), x, strict=strict))
    say(F.hessian(lambda x: torch.relu(x).sum(), x, vectorize=True))


def hooks(torch, say):
    """Hooks on the way of the zeros see them."""
    x = point(torch)
    y = x * 2
    y.register_hook(lambda g: say("y", g + 0))
    x.register_hook(lambda g: say("x", g + 0))
    (g,) = torch.autograd.grad(torch.relu(y).sum(), y, create_graph=True)
    g.sum().backward()
    say(x.grad + 0)


def added_up(torch, say):
    """Zeros meet a gradient that there is."""
    x = point(torch)
    (g,) = torch.autograd.grad((torch.relu(x) * x).sum(), x, create_graph=True)
    (g * g).sum().backward()
    say(x.grad)


def in_place(torch, say):
    """What a gradient is made of may be changed: nothing of it is kept for the zeros."""
    x = point(torch)
    y = torch.relu(x * 1)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    with torch.no_grad():
        g.add_(1.0)
    say(torch.autograd.grad(g.sum(), x)[0] + 0)


@pytest.mark.peers
@pytest.mark.parametrize("program", programs(globals()), ids=lambda f: f.__name__)
def test_as_pytorch(program):
    agree(program)


def test_a_compiled_step():
    """The penalty of a gradient, compiled, is the same as run step by step."""

    def step(x, w):
        y = ours.relu(x @ w).sum()
        (g,) = ours.autograd.grad(y, x, create_graph=True)
        return ours.autograd.grad((g**2).sum(), (x, w))

    x, w = point(ours), ours.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], requires_grad=True)
    compiled = ours.compile(step)
    for _ in range(2):
        for a, b in zip(compiled(x, w), step(x, w), strict=True):
            assert a.tolist() == b.tolist()
