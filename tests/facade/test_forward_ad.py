"""Forward mode with dual tensors, alone and together with reverse mode."""

import pytest

from .programs import agree, attempt, programs


def basics(torch, say):
    fw = torch.autograd.forward_ad
    x = torch.tensor([1.0, 2.0])
    v = torch.tensor([3.0, 4.0])
    with fw.dual_level():
        d = fw.make_dual(x, v)
        say(d, d.is_leaf, d.requires_grad, d._is_view(), d._base is x)
        y = d * d + d.sin()
        p, t = fw.unpack_dual(y)
        say(p, t, type(fw.unpack_dual(y)).__name__)
        say(fw.unpack_dual(d).tangent is v, fw.unpack_dual(d).tangent)
        say(fw.unpack_dual(x))
        say(
            fw.unpack_dual(y.detach()).tangent,
            fw.unpack_dual(y.data).tangent,
            fw.unpack_dual(y.clone()).tangent,
        )
        with torch.no_grad():
            say(fw.unpack_dual(d * 2).tangent)
        say(fw.unpack_dual(p).tangent)
        say(y)
    say(fw.unpack_dual(y), fw.unpack_dual(d))
    attempt(say, lambda: fw.make_dual(x, v))
    with fw.dual_level():
        say(fw.unpack_dual(y).tangent)


def nested(torch, say):
    fw = torch.autograd.forward_ad
    with fw.dual_level(), fw.dual_level():
        pass


def levels(torch, say):
    fw = torch.autograd.forward_ad
    l = fw.enter_dual_level()
    say(l)
    attempt(say, lambda: fw.exit_dual_level(level=l + 1))
    d = fw.make_dual(torch.ones(2), torch.ones(2), level=l)
    say(fw.unpack_dual(d * 3, level=l).tangent)
    fw.exit_dual_level()
    attempt(say, lambda: fw.exit_dual_level())


def mismatch(torch, say):
    fw = torch.autograd.forward_ad
    with fw.dual_level():
        x = torch.ones(2)
        attempt(say, lambda: fw.make_dual(x, torch.ones(3)))
        attempt(say, lambda: fw.make_dual(x, torch.ones(2).double()))
        attempt(say, lambda: fw.make_dual(x.long(), torch.ones(2)))
        attempt(say, lambda: fw.make_dual(x, torch.ones(2).long()))
        attempt(say, lambda: fw.make_dual(x, torch.ones(2) * 1j))
        d = fw.make_dual(x, torch.ones(2))
        attempt(say, lambda: fw.make_dual(d, torch.ones(2)))
        attempt(say, lambda: fw.make_dual(x, d))


def both(torch, say):
    fw = torch.autograd.forward_ad
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    v = torch.tensor([3.0, 4.0])
    with fw.dual_level():
        d = fw.make_dual(x, v)
        say(d, d.grad_fn.name())
        y = (d**3).sum()
        p, t = fw.unpack_dual(y)
        say(p, t, p.grad_fn.name(), t.grad_fn is not None)
        say(torch.autograd.grad(t, x, retain_graph=True))
        (g,) = torch.autograd.grad(y, d, create_graph=True)
        pg, tg = fw.unpack_dual(g)
        say(pg.tolist(), tg.tolist(), tg.requires_grad)
        (g,) = torch.autograd.grad(y, d, retain_graph=True)
        pg, tg = fw.unpack_dual(g)
        say(pg, tg)
        (g,) = torch.autograd.grad(y, x, retain_graph=True)
        pg, tg = fw.unpack_dual(g)
        say(pg, tg)
        y.backward()
        say(fw.unpack_dual(x.grad).tangent)


def hvp(torch, say):
    fw = torch.autograd.forward_ad
    x = torch.tensor([1.0, 2.0, 0.5], requires_grad=True)
    v = torch.tensor([3.0, 4.0, -1.0])

    def f(x):
        return (x.exp() * x.sin()).sum() * x[0]

    with fw.dual_level():
        d = fw.make_dual(x, v)
        y = f(d)
        (g,) = torch.autograd.grad(y, d)
        say(fw.unpack_dual(g).tangent)
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    say(torch.autograd.grad((g * v).sum(), x))


def inplace(torch, say):
    fw = torch.autograd.forward_ad
    with fw.dual_level():
        x = torch.tensor([1.0, 2.0])
        v = torch.tensor([3.0, 4.0])
        d = fw.make_dual(x, v)
        d.mul_(2)
        say(d, fw.unpack_dual(d).tangent, v, x)
        y = d * 1
        y.mul_(d)
        say(fw.unpack_dual(y))
        y = torch.tensor([1.0, 2.0])
        y.mul_(d)
        say(fw.unpack_dual(y))
        y = d * 1
        y.zero_()
        say(fw.unpack_dual(y))
        y = d * 1
        y.fill_(3.0)
        say(fw.unpack_dual(y))
        y = d * 1
        y.copy_(torch.ones(2))
        say(fw.unpack_dual(y))
        y = torch.zeros(2)
        y.copy_(d)
        say(fw.unpack_dual(y))
        y = torch.zeros(2)
        y[0] = d[1]
        say(fw.unpack_dual(y))
        y = d * 1
        y[0] = 5.0
        say(fw.unpack_dual(y))
        z = d + 0
        z.mul_(2)
        say(fw.unpack_dual(d).tangent)


def views(torch, say):
    fw = torch.autograd.forward_ad
    with fw.dual_level():
        x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
        v = torch.tensor([[3.0, 4.0], [5.0, 6.0]])
        d = fw.make_dual(x, v) * 1
        w = d[0]
        say(fw.unpack_dual(w).tangent)
        w.mul_(10)
        say(fw.unpack_dual(d), fw.unpack_dual(w))
        d.mul_(2)
        say(fw.unpack_dual(w))
        say(
            fw.unpack_dual(d.t()).tangent,
            fw.unpack_dual(d.view(4)).tangent,
            fw.unpack_dual(d.reshape(-1)[1:3]).tangent,
        )
        y = torch.zeros(2, 2)
        u = y[0]
        u.copy_(d[1])
        say(fw.unpack_dual(y), fw.unpack_dual(u))
        a, b = d.unbind()
        say(fw.unpack_dual(b).tangent)
        d.t().mul_(3)
        say(fw.unpack_dual(d))


def inplace_requires_grad(torch, say):
    fw = torch.autograd.forward_ad
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    v = torch.tensor([3.0, 4.0], requires_grad=True)
    with fw.dual_level():
        d = fw.make_dual(x * 1, v)
        y = d * 1
        y.mul_(d)
        p, t = fw.unpack_dual(y)
        say(p, t)
        say(torch.autograd.grad(t.sum(), (x, v), retain_graph=True))
        w = y[0]
        w.exp_()
        p, t = fw.unpack_dual(y)
        say(p, t)
        say(torch.autograd.grad(t.sum(), (x, v), retain_graph=True))
        say(torch.autograd.grad(p.sum(), (x,), retain_graph=True))


def modes_(torch, say):
    fw = torch.autograd.forward_ad
    x = torch.tensor([1.0, 2.0])
    v = torch.tensor([3.0, 4.0])
    with fw.dual_level():
        d = fw.make_dual(x, v)
        with fw._set_fwd_grad_enabled(False):
            say(fw.unpack_dual(d * 2).tangent, fw.unpack_dual(d).tangent)
        with torch.inference_mode():
            say(fw.unpack_dual(d * 2).tangent)
        say(
            fw.unpack_dual(d > 1).tangent,
            fw.unpack_dual(d.long()).tangent,
            fw.unpack_dual(d.double()).tangent,
        )
        say(
            fw.unpack_dual(torch.cat([d, x])).tangent,
            fw.unpack_dual(torch.stack([x, d])).tangent,
            fw.unpack_dual(torch.where(x > 1, d, x)).tangent,
        )
        say(
            fw.unpack_dual(d.sum()).tangent,
            fw.unpack_dual(d.mean()).tangent,
            fw.unpack_dual(d @ x).tangent,
            fw.unpack_dual(d @ d).tangent,
        )

    @fw.dual_level()
    def f():
        return fw.unpack_dual(fw.make_dual(x, v) * 2).tangent

    say(f())


def complex_(torch, say):
    fw = torch.autograd.forward_ad
    x = torch.tensor([1.0 + 2j, 2.0])
    v = torch.tensor([3.0, 4.0j])
    with fw.dual_level():
        d = fw.make_dual(x, v)
        say(fw.unpack_dual(d * d).tangent, fw.unpack_dual(d.abs()).tangent)
        say(fw.unpack_dual(d.exp()).tangent)
        r = fw.make_dual(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 0.0]))
        say(fw.unpack_dual(d * r).tangent)


@pytest.mark.parametrize("program", programs(globals()), ids=lambda f: f.__name__)
def test_as_pytorch(program):
    agree(program, digits=3)
