"""Backward passes: arguments, accumulation, freeing, orders, threads."""

import pytest

import funcgrad.torch as ours

from .programs import agree, attempt, programs


def accumulate(torch, say):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x * 2).sum().backward()
    g = x.grad
    (x * 3).sum().backward()
    say(x.grad is g, g, g._version)
    x.grad = None
    (x * 2).sum().backward(create_graph=True)
    say(x.grad, x.grad.requires_grad)
    x.grad.zero_() if False else None
    y = torch.tensor([1.0, 2.0], requires_grad=True)
    y.grad = torch.ones(2)
    (y * y).sum().backward()
    say(y.grad)


def freeing(torch, say):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x * x).sum()
    y.backward()
    attempt(say, lambda: y.backward())
    y = (x + 2).sum()
    y.backward()
    y.backward()
    say(x.grad)
    y = x * x
    z = y.sum()
    w = y.exp().sum()
    z.backward()
    attempt(say, lambda: w.backward())
    say(x.grad)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    attempt(say, lambda: y.backward())
    y = x.exp()
    y.sum().backward()
    attempt(say, lambda: torch.autograd.grad(y.sum(), x))
    y = x.exp()
    z = y * 2
    torch.autograd.grad(z.sum(), y)
    say(torch.autograd.grad(y.sum(), x))


def args(torch, say):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([3.0, 4.0], requires_grad=True)
    n = torch.ones(2)
    y = x * w
    attempt(say, lambda: y.backward())
    attempt(say, lambda: n.sum().backward())
    attempt(say, lambda: y.backward(torch.ones(3)))
    attempt(say, lambda: y.backward(torch.ones(2, 1)))
    attempt(say, lambda: y.backward(3.0))
    attempt(say, lambda: y.backward(torch.ones(2) * 1j))
    attempt(say, lambda: torch.autograd.backward([y, y], [torch.ones(2)]))
    attempt(say, lambda: torch.autograd.backward([y, n], [torch.ones(2)] * 2))
    attempt(say, lambda: torch.autograd.grad(y, x))
    attempt(say, lambda: torch.autograd.grad(y.sum(), n))
    attempt(say, lambda: torch.autograd.grad(y.sum(), ()))
    attempt(say, lambda: torch.autograd.grad((x * 2).sum(), w))
    attempt(say, lambda: torch.autograd.grad((x * 2).sum(), w, allow_unused=True))
    attempt(say, lambda: torch.autograd.grad((x * 2).sum(), (w, x), materialize_grads=True))
    attempt(
        say,
        lambda: torch.autograd.grad((x * 2).sum(), w, allow_unused=False, materialize_grads=True),
    )
    attempt(say, lambda: y.sum().backward(inputs=[]))
    attempt(say, lambda: y.sum().backward(inputs=[n]))
    attempt(say, lambda: y.sum().backward(inputs=x, retain_graph=True))
    say(x.grad, w.grad)
    attempt(
        say, lambda: torch.autograd.grad([y, x * 2], [x, w], [torch.ones(2), torch.ones(2) * 3])
    )
    attempt(
        say,
        lambda: torch.autograd.grad(
            [(x * w).sum(), (x * 2).sum()], [x, w], [torch.tensor(2.0), None]
        ),
    )
    attempt(say, lambda: torch.autograd.grad(x.sum(), x))
    attempt(say, lambda: torch.autograd.grad(x, x, torch.ones(2)))
    y = x * w
    y.retain_grad()
    y.backward(torch.tensor([1.0, 10.0]))
    say(y.grad, x.grad)
    y = x * w
    attempt(say, lambda: torch.autograd.grad(y.sum(), [y, x]))
    attempt(say, lambda: torch.autograd.grad(3, x))
    attempt(say, lambda: torch.autograd.backward(3))
    attempt(say, lambda: torch.autograd.grad(y.sum(), 3))
    attempt(say, lambda: (x * 1j).sum().backward())


def order3(torch, say):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x**4).sum()
    (a,) = torch.autograd.grad(y, x, create_graph=True)
    (b,) = torch.autograd.grad(a.sum(), x, create_graph=True)
    (c,) = torch.autograd.grad(b.sum(), x, create_graph=True)
    (d,) = torch.autograd.grad(c.sum(), x)
    say(a.tolist(), b.tolist(), c.tolist(), d.tolist())


def batched(torch, say):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([3.0, 4.0], requires_grad=True)
    y = x * x * w
    G = torch.autograd.grad
    say(G(y, x, torch.eye(2), is_grads_batched=True, retain_graph=True))
    say(G(y, (x, w), torch.eye(2), is_grads_batched=True, retain_graph=True))
    say(
        G(
            (y, x * 3),
            (x, w),
            (torch.eye(2), torch.ones(2, 2)),
            is_grads_batched=True,
            retain_graph=True,
        )
    )
    z = torch.tensor([3.0, 4.0], requires_grad=True)
    say(G(y, (x, z), torch.eye(2), is_grads_batched=True, retain_graph=True, allow_unused=True))
    attempt(say, lambda: G(y, (x, z), torch.eye(2), is_grads_batched=True, retain_graph=True))
    attempt(say, lambda: G(y, x, torch.ones(2), is_grads_batched=True, retain_graph=True))
    (g,) = G(y, x, torch.eye(2), is_grads_batched=True, create_graph=True)
    say(g.tolist(), g.requires_grad)
    say(G(g.sum(), x))
    y.register_hook(lambda g: g * 10)
    say(G(y, x, torch.eye(2), is_grads_batched=True))


def none_paths(torch, say):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = torch.ones(2)
    z = torch.where(x > 1, x, y)
    z.sum().backward()
    say(x.grad)
    a = x * y
    say(a.grad_fn.next_functions[1])
    b = a.detach() * x
    b.sum().backward()
    say(x.grad)
    with torch.no_grad():
        c = x * 2
    (c * x).sum().backward()
    say(x.grad)


def shared(torch, say):
    x = torch.tensor(2.0, requires_grad=True)
    y = x
    for _ in range(30):
        y = y + y
    y.backward()
    say(x.grad)


def deep(torch, say):
    x = torch.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(20000):
        y = y + 1
    y.backward()
    say(x.grad)
    del y
    y = x
    for _ in range(5000):
        y = y * 1.0001
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    say(float(g.detach()) > 1)


def threads(torch, say):
    import threading

    x = torch.zeros(3, requires_grad=True)

    def run():
        for _ in range(100):
            (x * 2).sum().backward()

    ts = [threading.Thread(target=run) for _ in range(4)]
    [t.start() for t in ts]
    [t.join() for t in ts]
    say(x.grad)
    out = []

    def mode():
        out.append(torch.is_grad_enabled())

    with torch.no_grad():
        t = threading.Thread(target=mode)
        t.start()
        t.join()
    say(out)
    y = x * 2
    y.register_hook(lambda g: out.append(g.tolist()))
    t = threading.Thread(target=lambda: y.sum().backward())
    t.start()
    t.join()
    say(out)


def backward_in_forward_mode(torch, say):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.no_grad():
        attempt(say, lambda: (x * 2).sum().backward())
        y = x.detach().requires_grad_()
        with torch.enable_grad():
            z = (y * y).sum()
        z.backward()
        say(y.grad)
    with torch.inference_mode():
        attempt(say, lambda: (x * 2).sum().backward())


@pytest.mark.parametrize("program", programs(globals()), ids=lambda f: f.__name__)
def test_as_pytorch(program):
    agree(program)


def test_a_convolution_is_asked_for_one_gradient_only(monkeypatch):
    from funcgrad.torch.nn.functional import convolution

    asked = []
    pull = convolution.Convolved.pull

    def noting(self, cts, wanted, count, quick=False):
        asked.append(tuple(wanted))
        return pull(self, cts, wanted, count, quick)

    monkeypatch.setattr(convolution.Convolved, "pull", noting)
    x, w, b = (ours.randn(*s, requires_grad=True) for s in ((2, 3, 8, 8), (4, 3, 3, 3), (4,)))
    loss = ours.nn.functional.conv2d(x, w, b).square().sum()
    whole = ours.autograd.grad(loss, (x, w, b), retain_graph=True)
    for k, z in enumerate((x, w, b)):
        (found,) = ours.autograd.grad(loss, z, retain_graph=True)
        assert ours.equal(found, whole[k])
    loss.backward(inputs=[w])
    assert ours.equal(w.grad, whole[1]) and x.grad is None and b.grad is None
    assert asked == [(0, 1, 2), (0,), (1,), (2,), (1,)]
