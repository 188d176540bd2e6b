"""Hooks of modules, forward and backward."""

import pytest

from .both import same
from .nets import short, two_layers
from .programs import programs, refused


def forward_hooks(torch, say):
    net = torch.nn.Identity()
    a = net.register_forward_pre_hook(lambda m, args: say("pre a", args))
    net.register_forward_pre_hook(lambda m, args: args[0] + 1)
    net.register_forward_pre_hook(lambda m, args: say("pre first", args), prepend=True)
    net.register_forward_hook(lambda m, args, out: say("post", args, out))
    net.register_forward_hook(lambda m, args, out: out * 2)
    net.register_forward_hook(lambda m, args, out: say("first", out), prepend=True)
    say(net(torch.ones(1)))
    a.remove()
    say(net(torch.ones(1)))

    class Scaled(torch.nn.Module):
        def forward(self, x, scale=1):
            return x * scale

    m = Scaled()
    m.register_forward_pre_hook(lambda m, a, k: (a, {"scale": 3}), with_kwargs=True)
    m.register_forward_hook(lambda m, a, k, out: say(a, k, out), with_kwargs=True)
    say(m(torch.ones(1), scale=2))
    bad = Scaled()
    bad.register_forward_pre_hook(lambda m, a, k: 5, with_kwargs=True)
    refused(say, "bad", lambda: bad(torch.ones(1)))


def hooks_called_always(torch, say):
    class Fails(torch.nn.Module):
        def forward(self, x):
            raise ValueError("no")

    m = Fails()
    m.register_forward_hook(lambda m, a, out: say("always", out), always_call=True)
    m.register_forward_hook(lambda m, a, out: say("only after success"))
    refused(say, "call", lambda: m(1))


def hooks_of_all_modules(torch, say):
    from importlib import import_module

    rooms = import_module(f"{torch.__name__}.nn.modules.module")
    handles = [
        rooms.register_module_forward_pre_hook(lambda m, a: say("pre", type(m).__name__)),
        rooms.register_module_forward_hook(lambda m, a, o: say("post", type(m).__name__)),
        rooms.register_module_full_backward_hook(lambda m, i, o: say("back", type(m).__name__)),
        rooms.register_module_parameter_registration_hook(lambda m, n, p: say("parameter", n)),
        rooms.register_module_buffer_registration_hook(lambda m, n, b: say("buffer", n)),
        rooms.register_module_module_registration_hook(lambda m, n, c: say("module", n)),
    ]
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    net.register_buffer("b", torch.ones(1))
    net[0].register_forward_hook(lambda m, a, o: say("own"))
    net(torch.ones(1, 2, requires_grad=True)).sum().backward()
    for h in handles:
        h.remove()
    say(net(torch.ones(1, 2)).shape)


def backward_hooks(torch, say):
    net = two_layers(torch)
    for k in (0, 2):
        net[k].register_full_backward_hook(
            lambda m, gi, go, k=k: say(k, [short(g) for g in gi], [short(g) for g in go])
        )
        net[k].register_full_backward_pre_hook(lambda m, go, k=k: say("pre", k, short(go[0])))
    x = torch.tensor([[0.5, -1.0, 2.0]], requires_grad=True)
    y = net(x)
    say(y.grad_fn.name(), short(y))
    y.sum().backward()
    say(short(x.grad), short(net[0].weight.grad))


def backward_hooks_replace(torch, say):
    net = two_layers(torch)
    net[2].register_full_backward_hook(lambda m, gi, go: (gi[0] * 0 + 1,))
    handle = net[2].register_full_backward_pre_hook(lambda m, go: (go[0] * 10,))
    x = torch.ones(1, 3, requires_grad=True)
    net(x).sum().backward()
    say(short(x.grad), short(net[2].bias.grad))
    handle.remove()
    net.zero_grad()
    net(x).sum().backward()
    say(short(net[2].bias.grad))
    net[2].register_full_backward_hook(lambda m, gi, go: gi + gi)
    refused(say, "count", lambda: net(x).sum().backward())


def backward_hooks_without_inputs(torch, say):
    net = two_layers(torch)
    net[0].register_full_backward_hook(lambda m, gi, go: say(gi, [short(g) for g in go]))
    net(torch.ones(1, 3)).sum().backward()
    with torch.no_grad():
        say(net(torch.ones(1, 3)).requires_grad)


def backward_hooks_of_several(torch, say):
    class Two(torch.nn.Module):
        def forward(self, x, n, y, flag=True):
            return x * y, "text", x + n

    m = Two()
    m.register_full_backward_hook(
        lambda m, gi, go: say([short(g) for g in gi], [short(g) for g in go])
    )
    x = torch.tensor([2.0], requires_grad=True)
    y = torch.tensor([3.0], requires_grad=True)
    a, text, b = m(x, 5, y)
    say(text, a.grad_fn.name(), b.output_nr)
    (a * 2 + b).sum().backward()
    say(x.grad, y.grad)
    a, _, b = m(x, 5, y)
    a.sum().backward()


def backward_hooks_and_in_place(torch, say):
    m = torch.nn.ReLU(inplace=True)
    m.register_full_backward_hook(lambda m, gi, go: None)
    x = torch.ones(2, requires_grad=True)
    refused(say, "input", lambda: m(x * 1))
    n = torch.nn.ReLU()
    n.register_full_backward_hook(lambda m, gi, go: None)
    refused(say, "output", lambda: n(x * 1).add_(1))


def old_backward_hooks(torch, say):
    net = two_layers(torch)
    net[2].register_backward_hook(lambda m, gi, go: say(len(gi), short(go[0])))
    net(torch.ones(1, 3)).sum().backward()
    refused(say, "both", lambda: net[2].register_full_backward_hook(lambda m, gi, go: None))
    net[0].register_full_backward_hook(lambda m, gi, go: None)
    refused(say, "other", lambda: net[0].register_backward_hook(lambda m, gi, go: None))


@pytest.mark.peers
@pytest.mark.parametrize("program", programs(globals()), ids=lambda f: f.__name__)
def test_program(program):
    same(program)
