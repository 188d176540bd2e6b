"""Hooks of every kind: their order, and what they may change."""

import pytest

from .programs import agree, attempt, programs


def log(say, name, ret=None):
    def hook(*a):
        say(name, *a)
        return ret(*a) if ret else None

    return hook


def capture_needed(torch, say):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    z = y * 3
    y.register_hook(log(say, "y", lambda g: g * 10))
    x.register_hook(log(say, "x", lambda g: g * 100))
    say(torch.autograd.grad(z.sum(), (x, y), retain_graph=True))
    say(torch.autograd.grad(z.sum(), (y,), retain_graph=True))
    say(torch.autograd.grad(z.sum(), (x,), retain_graph=True))
    y.grad_fn.register_prehook(log(say, "ypre", lambda gs: (gs[0] * 7,)))
    y.grad_fn.register_hook(log(say, "yhook"))
    say(torch.autograd.grad(z.sum(), (x, y), retain_graph=True))
    say(torch.autograd.grad(z.sum(), (y,), retain_graph=True))
    y.retain_grad()
    say(torch.autograd.grad(z.sum(), (x, y), retain_graph=True))
    say(torch.autograd.grad(z.sum(), (y,), retain_graph=True))
    say(y.grad)


def four_leaves(torch, say):
    xs = [torch.tensor([float(i)], requires_grad=True) for i in range(7)]
    for i, x in enumerate(xs):
        x.register_hook(log(say, i))
    torch.cat(xs).sum().backward()


def mid_leaves(torch, say):
    xs = [torch.tensor([float(i)], requires_grad=True) for i in range(6)]
    for i, x in enumerate(xs):
        x.register_hook(log(say, i))
        x.register_post_accumulate_grad_hook(log(say, f"post{i}"))
    a = xs[0] * xs[1]
    b = xs[2] * xs[3] * xs[0]
    c = xs[4] + xs[5]
    for n, t in zip("abc", (a, b, c)):
        t.register_hook(log(say, n))
        t.grad_fn.register_hook(log(say, n + "node"))
        t.grad_fn.register_prehook(log(say, n + "pre"))
    torch.cat([a, b, c, xs[5]]).sum().backward()


def order(torch, say):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    y.retain_grad()
    y.register_hook(log(say, "t1", lambda g: g * 2))
    say(y.retains_grad)
    y.register_hook(log(say, "t2"))
    y.grad_fn.register_prehook(log(say, "pre"))
    y.grad_fn.register_hook(log(say, "post", lambda gi, go: (gi[0] * 5, gi[1])))
    acc = torch.autograd.graph.get_gradient_edge(x).node
    acc.register_prehook(log(say, "accpre", lambda gs: (gs[0] + 1,)))
    acc.register_hook(log(say, "accpost"))
    x.register_hook(log(say, "xt"))
    x.register_post_accumulate_grad_hook(log(say, "xpost"))
    y.sum().backward()
    say(x.grad, y.grad)


def removing(torch, say):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    hs = []

    def h1(g):
        say("h1")
        hs[0].remove()
        hs[1].remove()

    def h2(g):
        say("h2")

    hs.append(y.register_hook(h1))
    hs.append(y.register_hook(h2))
    y.sum().backward(retain_graph=True)
    say("again")
    y.sum().backward()
    with y.register_hook(h2):
        pass


def adding(torch, say):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * x

    def h1(g):
        say("h1")
        y.register_hook(lambda g: say("late y"))
        x.register_hook(lambda g: say("late x"))
        y.grad_fn.register_hook(lambda a, b: say("late node"))
        y.grad_fn.register_prehook(lambda a: say("late pre"))

    y.register_hook(h1)
    y.sum().backward(retain_graph=True)
    say("again")
    y.sum().backward()


def inplace(torch, say):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    y.register_hook(log(say, "before"))
    y.mul_(3)
    y.register_hook(log(say, "after"))
    y.sum().backward()
    say(x.grad)


def inplace_view(torch, say):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    v = y[:1]
    y.register_hook(log(say, "y before"))
    v.register_hook(log(say, "v before"))
    v.mul_(3)
    v.register_hook(log(say, "v after"))
    y.register_hook(log(say, "y after"))
    (y.sum() + v.sum()).backward()
    say(x.grad)


def raising(torch, say):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2

    def h(g):
        raise ValueError("boom")

    y.register_hook(h)
    try:
        y.sum().backward()
    except ValueError as e:
        say("caught", e)
    say(x.grad)
    y.sum().backward()


def bad_returns(torch, say):
    for r in (1, torch.ones(3), torch.ones(2).double(), torch.ones(2, 1)):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = x * 2
        y.register_hook(lambda g: r)
        try:
            y.sum().backward()
            say(x.grad)
        except Exception as e:
            say(type(e).__name__, e)


def bad_node_returns(torch, say):
    for r in (
        1,
        (),
        (torch.ones(2),),
        (torch.ones(2), torch.ones(2), torch.ones(2)),
        torch.ones(2),
        (None, None),
        (torch.ones(3), None),
        (torch.ones(2).double(), None),
        (1, 2),
    ):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = x * 2
        y.grad_fn.register_hook(lambda gi, go: r)
        try:
            y.sum().backward()
            say(x.grad)
        except Exception as e:
            say(type(e).__name__, e)
    for r in (
        1,
        (),
        (torch.ones(2),),
        (torch.ones(2), torch.ones(2), torch.ones(2)),
        torch.ones(2),
        (None,),
        (torch.ones(3),),
        (torch.ones(2).double(),),
    ):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = x * 2
        y.grad_fn.register_prehook(lambda go: r)
        try:
            y.sum().backward()
            say(x.grad)
        except Exception as e:
            say(type(e).__name__, e)


def with_create_graph(torch, say):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    y.register_hook(log(say, "y", lambda g: g * x))
    y.grad_fn.register_hook(log(say, "n"))
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    say(g)
    say(torch.autograd.grad(g.sum(), x))


def with_inputs(torch, say):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([3.0, 2.0], requires_grad=True)
    y = x * 2
    z = y * w
    for n, t in (("x", x), ("w", w), ("y", y), ("z", z)):
        t.register_hook(log(say, n))
        if t.grad_fn:
            t.grad_fn.register_hook(log(say, n + "node"))
            t.grad_fn.register_prehook(log(say, n + "pre"))
    x.register_post_accumulate_grad_hook(log(say, "xpost"))
    w.register_post_accumulate_grad_hook(log(say, "wpost"))
    z.sum().backward(inputs=[w], retain_graph=True)
    say(x.grad, w.grad)
    z.sum().backward(inputs=[y], retain_graph=True)
    say(x.grad, w.grad)
    say(y.grad)
    z.sum().backward(inputs=[x, w], retain_graph=True)
    say(x.grad, w.grad)
    z.sum().backward(retain_graph=True)
    say(x.grad, w.grad)


def errors(torch, say):
    x = torch.tensor([1.0, 2.0])
    for f in (
        lambda: x.register_hook(print),
        lambda: x.retain_grad(),
        lambda: x.register_post_accumulate_grad_hook(print),
        lambda: (x.clone().requires_grad_() * 2).register_post_accumulate_grad_hook(print),
    ):
        try:
            f()
        except Exception as e:
            say(type(e).__name__, e)


def multi_outputs(torch, say):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    a, b, c = (x * 2).unbind()
    a.register_hook(log(say, "a"))
    b.register_hook(log(say, "b"))
    c.register_hook(log(say, "c"))
    a.grad_fn.register_prehook(log(say, "pre"))
    a.grad_fn.register_hook(log(say, "node"))
    a.retain_grad()
    c.retain_grad()
    (a + c * 2).backward()
    say(a.grad, c.grad, x.grad)


def multi_grad(torch, say):
    for mode in ("all", "any"):
        a = torch.rand(2, requires_grad=True) * 0
        b = torch.ones(2, requires_grad=True)
        c = torch.ones(2, requires_grad=True)
        d = torch.ones(2, requires_grad=True)
        if mode == "all":
            h = torch.autograd.graph.register_multi_grad_hook(
                (a, b, c, d), lambda gs: say([g is not None for g in gs], gs)
            )
        else:
            h = torch.autograd.graph.register_multi_grad_hook(
                (a, b, c, d), lambda g: say(g), mode="any"
            )
        (a * b).sum().backward(retain_graph=True)
        (a * b * c).sum().backward(inputs=(b, c))
        (c * d).sum().backward()
        h.remove()
        (c * d).sum().backward()
    torch.autograd.graph.register_multi_grad_hook((b,), print, mode="x")


def reentrant(torch, say):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2

    def h(g):
        z = torch.ones(1, requires_grad=True)
        with torch.enable_grad():
            (z * 3).sum().backward()
        say("inner", z.grad)

    y.register_hook(h)
    y.sum().backward()
    say(x.grad)


def queue_callbacks(torch, say):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: say(torch.is_grad_enabled()))
    y.sum().backward(retain_graph=True)
    y.sum().backward(create_graph=True)


def modify_inplace_hook(torch, say):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: g.mul_(5))
    z = y * 1
    z.sum().backward()
    say(x.grad)


def post_acc(torch, say):
    x = torch.tensor([1.0, 2.0], requires_grad=True)

    def h(p):
        say(p is x, p.grad)
        p.grad = None

    hh = x.register_post_accumulate_grad_hook(h)
    x.register_post_accumulate_grad_hook(lambda p: say("second", p.grad))
    (x * 2).sum().backward()
    say(x.grad)
    hh.remove()
    (x * 2).sum().backward()
    say(x.grad)
    hh.remove()
    x.register_post_accumulate_grad_hook(lambda p: 3)
    (x * 2).sum().backward()
    say(x.grad)


def callbacks(torch, say):
    engine = torch.autograd.Variable._execution_engine
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: engine.queue_callback(lambda: say("done", x.grad)))
    x.register_hook(lambda g: say("x"))
    y.sum().backward()
    try:
        engine.queue_callback(lambda: say("never"))
    except RuntimeError as e:
        say(str(e)[:60])


def frozen_and_thawed(torch, say):
    x = torch.ones(3, requires_grad=True)
    one = x.register_hook(lambda g: say("one", g))
    x.register_hook(lambda g: g * 2)
    x.register_post_accumulate_grad_hook(lambda p: say("post", p.grad))
    (x * 1).sum().backward()
    x.requires_grad_(False)
    say((x * 2).requires_grad, x.grad)
    x.requires_grad_()
    (x * 3).sum().backward()
    x.requires_grad = False
    one.remove()
    x.requires_grad = True
    x.register_hook(lambda g: say("late", g))
    (x * 4).sum().backward()
    say(x.grad)
    attempt(say, lambda: x.detach().register_hook(say))


@pytest.mark.parametrize("program", programs(globals()), ids=lambda f: f.__name__)
def test_as_pytorch(program):
    agree(program)
