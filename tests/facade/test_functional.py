"""`autograd.functional`: products with Jacobians and Hessians, and these as a whole."""

import pytest

from .programs import agree, attempt, programs

F = lambda torch: torch.autograd.functional


def shaped(x):
    if isinstance(x, (tuple, list)):
        return type(x)(shaped(i) for i in x)
    return x.tolist()


def jac(torch, say):
    f = F(torch).jacobian
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    er = lambda x: x.exp().sum(1)
    for kw in (
        {},
        dict(vectorize=True),
        dict(vectorize=True, strategy="forward-mode"),
        dict(create_graph=False),
    ):
        say(f(er, x, **kw))
    y = torch.tensor([0.5, 0.25])
    ad = lambda x, y: 2 * x.exp() + 3 * y
    mo = lambda x, y: (2 * x.exp() + 3 * y, (x * y).sum())
    for kw in ({}, dict(vectorize=True), dict(vectorize=True, strategy="forward-mode")):
        say(f(ad, (y, y * 2), **kw))
        say(f(mo, (y, y * 2), **kw))
        say(f(lambda x: (x, x * x), y, **kw))
        say(f(lambda x: (x * 2,), y, **kw))
        say(f(lambda x: x * 2, (y,), **kw))
        say(f(lambda x, y: x * 2, (y, y * 2), **kw))
        say(f(lambda x: x.sum(), y, **kw))
        say(f(lambda x: torch.ones(2), y, **kw))


def jac_graph(torch, say):
    f = F(torch).jacobian
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    for kw in ({}, dict(vectorize=True)):
        j = f(lambda x: x**3, x, create_graph=True, **kw)
        say(j.tolist(), j.requires_grad)
        say(torch.autograd.grad(j.sum(), x))
    say(f(lambda x: x**3, x).requires_grad)
    say(x.grad)


def jac_strict(torch, say):
    f = F(torch).jacobian
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = torch.tensor([1.0, 2.0])
    attempt(say, lambda: f(lambda x: torch.ones(2), x, strict=True))
    attempt(say, lambda: f(lambda x, y: x * 2, (x, y), strict=True))
    attempt(say, lambda: f(lambda x: x * 2, x, strict=True))
    attempt(say, lambda: f(lambda x: x * 2, x, strict=True, create_graph=True))
    attempt(say, lambda: f(lambda x: (x**3).sum(), x, strict=True, create_graph=True).tolist())
    attempt(say, lambda: f(lambda x: x * 2, x, strict=True, vectorize=True))
    attempt(
        say, lambda: f(lambda x: x * 2, x, strict=True, vectorize=True, strategy="forward-mode")
    )
    attempt(say, lambda: f(lambda x: x * 2, x, create_graph=True, strategy="forward-mode"))
    attempt(say, lambda: f(lambda x: x * 2, x, strategy="forward-mode"))
    attempt(say, lambda: f(lambda x: x * 2, x, strategy="foo"))
    attempt(say, lambda: f(lambda x: 3, y))
    attempt(say, lambda: f(lambda x: (x, 3), y))
    attempt(say, lambda: f(lambda x: x, [y]))
    attempt(say, lambda: f(lambda x: x, (y, 3)))
    attempt(say, lambda: f(lambda x: x, 3))


def hess(torch, say):
    f = F(torch).hessian
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    y = torch.tensor([0.5, 0.25])
    for kw in (
        {},
        dict(vectorize=True),
        dict(vectorize=True, outer_jacobian_strategy="forward-mode"),
    ):
        say(shaped(f(lambda x: (x**3).sum(), x, **kw)))
        say(shaped(f(lambda x, y: (2 * x.pow(2) + 3 * y.pow(3) * x).sum(), (y, y * 2), **kw)))
        say(shaped(f(lambda x: (x**3).sum().reshape(1, 1), (y,), **kw)))
        say(f(lambda x: (x * 3).sum(), y, **kw))
    attempt(say, lambda: f(lambda x: x * 2, y))
    attempt(say, lambda: f(lambda x: (x.sum(),), y))
    attempt(say, lambda: f(lambda x: (x * 3).sum(), y, strict=True))
    attempt(say, lambda: shaped(f(lambda x: (x**3).sum(), y, strict=True)))
    attempt(
        say,
        lambda: f(
            lambda x: (x**3).sum(), y.clone().requires_grad_(), strict=True, create_graph=True
        ).tolist(),
    )
    attempt(say, lambda: f(lambda x, z: (x**2).sum(), (y, y), strict=True))
    attempt(say, lambda: f(lambda x: (x**2).sum(), y, outer_jacobian_strategy="x"))
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    h = f(lambda x: (x**3).sum(), x, create_graph=True)
    say(h.tolist(), torch.autograd.grad(h.sum(), x))


def products(torch, say):
    P = F(torch)
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = torch.tensor([0.5, 0.25])
    v = torch.tensor([1.0, -1.0])
    er = lambda x: x.exp()
    ad = lambda x, y: (2 * x * y.exp()).sum()
    two = lambda x: (x * 2, (x**2).sum())
    say(P.vjp(er, x, v))
    say(P.jvp(er, x, v))
    say(P.vjp(two, y, (v, torch.tensor(2.0))))
    say(P.jvp(two, y, v))
    say(P.vjp(ad, (x, y), torch.tensor(3.0)))
    say(P.jvp(ad, (x, y), (v, v)))
    say(P.vhp(ad, (x, y), (v, v)))
    say(P.hvp(ad, (x, y), (v, v)))
    say(P.vhp(lambda x: (x**3).sum(), x, v))
    say(P.hvp(lambda x: (x**3).sum(), x, v))
    one = torch.tensor([2.0])
    say(
        P.vjp(lambda x: x**2, one),
        P.jvp(lambda x: x**2, one),
        P.vhp(lambda x: x**3, one),
        P.hvp(lambda x: x**3, one),
    )
    for fn in ("vjp", "jvp", "vhp", "hvp"):
        f = getattr(P, fn)
        sc = lambda x: (x**3).sum()
        g = sc if fn in ("vhp", "hvp") else er
        attempt(say, lambda: f(g, x))
        attempt(say, lambda: f(g, x, torch.ones(3)))
        attempt(say, lambda: f(g, x, (v, v)))
        attempt(say, lambda: f(g, x, 3))
        attempt(say, lambda: f(g, 3, v))
        attempt(say, lambda: f(lambda x: 3, x, v))
        attempt(
            say,
            lambda: f(
                lambda x, y: sc(x) + sc(y),
                (x, y),
                (torch.ones(()), torch.ones(())) if fn == "vjp" else (v, torch.ones(3)),
            ),
        )
        r = f(g, x, v, create_graph=True)
        say(r[0].requires_grad, r[1].requires_grad, torch.autograd.grad(r[1].sum(), x))
        r = f(g, x, v)
        say(r[0].requires_grad, r[1].requires_grad)
        for h in (
            lambda x: torch.ones(2) if fn in ("vjp", "jvp") else torch.ones(()),
            lambda x: x * 2 if fn in ("vjp", "jvp") else (x * 2).sum(),
            lambda x: x**3 if fn in ("vjp", "jvp") else (x**3).sum(),
            lambda x: y.requires_grad_() * 1 if fn in ("vjp", "jvp") else y.sum(),
        ):
            for cg in (False, True):
                attempt(say, lambda: shaped(f(h, x, v, strict=True, create_graph=cg)))
                attempt(say, lambda: shaped(f(h, x, v, strict=False, create_graph=cg)))
        if fn in ("vhp", "hvp"):
            attempt(say, lambda: f(er, x, v))
            attempt(say, lambda: f(lambda x: (x.sum(),), x, v))
    with torch.no_grad():
        say(P.vjp(er, x, v))
        say(P.jvp(er, x, v))
        say(P.vhp(lambda x: (x**3).sum(), x, v))


@pytest.mark.parametrize("program", programs(globals()), ids=lambda f: f.__name__)
def test_as_pytorch(program):
    agree(program, digits=4)
