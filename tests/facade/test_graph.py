"""Nodes, edges, and hooks on what is saved."""

import pytest

from .programs import agree, programs


def meta(torch, say):
    x = torch.tensor([[1.0, 2.0]], requires_grad=True)
    y = x * 3
    n = y.grad_fn
    say(
        n.name(),
        n.metadata,
        n._sequence_nr() >= 0,
        n.next_functions[0][0].name(),
        n.next_functions[0][1],
        n.next_functions[1:],
    )
    m = n._input_metadata
    say(len(m), m[0].shape, m[0].dtype, m[0].device)
    acc = n.next_functions[0][0]
    say(acc.variable is x, acc.next_functions, acc.name(), type(acc).__name__, acc.metadata)
    say([(q.shape, q.dtype) for q in acc._input_metadata])
    n.metadata["a"] = 1
    say(y.grad_fn.metadata)
    say(
        isinstance(n, torch.autograd.graph.Node),
        isinstance(acc, torch.autograd.graph.Node),
        isinstance(3, torch.autograd.graph.Node),
    )
    a, b = (x * 2).unbind(1)
    say(
        a.grad_fn is b.grad_fn,
        a.output_nr,
        b.output_nr,
        len(a.grad_fn._input_metadata),
        a.grad_fn == b.grad_fn,
    )
    say(y.grad_fn is y.grad_fn, hash(y.grad_fn) == hash(y.grad_fn))
    say(hasattr(n, "foo"))
    n.foo


def saved_names(torch, say):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([3.0, 4.0])
    y = x * w
    say(y.grad_fn._saved_self, y.grad_fn._saved_other)
    z = y.exp()
    say(z.grad_fn._saved_result is z, z.grad_fn._saved_result)
    z = y.sin()
    say(z.grad_fn._saved_self)
    z = x.sin()
    say(z.grad_fn._saved_self is x)
    z = y.pow(2)
    say(z.grad_fn._saved_self, z.grad_fn._saved_exponent)
    z = x.pow(w)
    say(z.grad_fn._saved_self, z.grad_fn._saved_exponent)
    z.sum().backward()
    for nm in ("_saved_self", "_saved_result"):
        try:
            getattr(z.grad_fn, nm)
        except RuntimeError as e:
            say(e)
    try:
        z.grad_fn._raw_saved_self.register_hooks(lambda x: x, lambda x: x)
    except RuntimeError as e:
        say(e)


def raw_saved(torch, say):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([3.0, 4.0], requires_grad=True)
    y = x * w
    r = y.grad_fn._raw_saved_self
    say(type(r).__name__)

    def pack(t):
        say("pack", t, t is x)
        return t.detach() * 10

    def unpack(p):
        say("unpack", p)
        return p

    r.register_hooks(pack, unpack)
    try:
        r.register_hooks(pack, unpack)
    except RuntimeError as e:
        say(e)
    say(y.grad_fn._saved_self)
    y.sum().backward()
    say(x.grad, w.grad)
    y = x * w
    y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: 3)
    try:
        y.grad_fn._saved_self
    except Exception as e:
        say(type(e).__name__, e)
    y = x * w

    def bad(t):
        with torch.no_grad():
            t.mul_(2)
        return t

    try:
        y.grad_fn._raw_saved_self.register_hooks(bad, lambda t: 3)
    except Exception as e:
        say(type(e).__name__, e)
    y = w * 2
    try:
        y.grad_fn._raw_saved_self.register_hooks(bad, lambda t: 3)
    except Exception as e:
        say(type(e).__name__, e)


def default_hooks(torch, say):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([3.0, 4.0], requires_grad=True)

    def pack(t):
        say("pack", t, t.requires_grad, t.is_leaf)
        return t.detach()

    def unpack(p):
        say("unpack", p)
        return p

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = x * w
        z = y.exp()
        u = z * 2
        v = u.sin()
        s = v.sum()
    s.backward()
    say(x.grad)
    say(v.grad_fn._saved_self)


def hooks_that_compute(torch, say):
    x = torch.tensor([1.0, 2.0], requires_grad=True)

    def pack(t):
        say("recording", torch.is_grad_enabled())
        return t * 2

    def unpack(p):
        say("unpack", p, p.requires_grad, torch.is_grad_enabled())
        return p / 2

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = (x * x).exp()
    y.sum().backward()
    say(x.grad)
    y = x.pow(3)
    y.grad_fn._raw_saved_self.register_hooks(pack, unpack)
    say(torch.autograd.grad(y.sum(), x, create_graph=True))


def default_hooks_cg(torch, say):
    x = torch.tensor([1.0, 2.0], requires_grad=True)

    def pack(t):
        return t.detach().clone()

    def unpack(p):
        return p

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = (x * x * x).sum()
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        say(g)
    (h,) = torch.autograd.grad(g.sum(), x)
    say(h)

    def pack(t):
        say("p1")
        return t

    hooks = torch.autograd.graph.saved_tensors_hooks
    with hooks(pack, unpack), hooks(lambda x: say("inner") or x, unpack):
        x * x
    with hooks(pack, unpack):
        x * x


def disabled(torch, say):
    g = torch.autograd.graph
    with g.disable_saved_tensors_hooks("no hooks here"):
        try:
            with g.save_on_cpu():
                pass
        except RuntimeError as e:
            say(e)
        with g.disable_saved_tensors_hooks("inner"):
            try:
                with g.saved_tensors_hooks(lambda x: x, lambda x: x):
                    pass
            except RuntimeError as e:
                say(e)
        try:
            with g.saved_tensors_hooks(lambda x: x, lambda x: x):
                pass
        except RuntimeError as e:
            say(e)
    with (
        g.saved_tensors_hooks(lambda x: x, lambda x: x),
        g.disable_saved_tensors_hooks("no hooks here"),
    ):
        pass


def on_cpu(torch, say):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.autograd.graph.save_on_cpu():
        y = x * x
    y.sum().backward()
    say(x.grad)
    with torch.autograd.graph.save_on_cpu(pin_memory=False):
        y = (x * x).exp()
    y.sum().backward()
    say(x.grad)


def mutation(torch, say):
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        a = torch.ones(2, 3, requires_grad=True)
        b = a.clone()
        out = (b**2).sum()
        b.sin_()
        out.sum().backward()
        say(a.grad)
        a.grad = None
        b = a * 2
        o = b.exp()
        o.mul_(5)
        s = o.sum()
        s.backward()
        say(a.grad)
        b = a * 2
        o = b.exp()
    try:
        o.sum().backward()
    except AssertionError as e:
        say(e)
    allowed = torch.autograd.graph.allow_mutation_on_saved_tensors
    with allowed(), allowed():
        pass


def edges(torch, say):
    g = torch.autograd.graph
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    z = y.exp()
    e = g.get_gradient_edge(y)
    say(e.node.name(), e.output_nr, type(e).__name__)
    say(torch.autograd.grad(z.sum(), e, retain_graph=True))
    say(torch.autograd.grad(z.sum(), g.get_gradient_edge(x), retain_graph=True))
    say(torch.autograd.grad(z.sum(), (x, e), retain_graph=True))
    say(
        torch.autograd.grad(
            g.get_gradient_edge(z), x, grad_outputs=torch.ones(2), retain_graph=True
        )
    )
    a, b = y.unbind()
    e = g.get_gradient_edge(b)
    say(e.output_nr)
    say(torch.autograd.grad(a + b * 3, e, retain_graph=True))
    torch.autograd.backward(g.get_gradient_edge(z), torch.ones(2), retain_graph=True)
    say(x.grad)
    torch.autograd.backward(z.sum(), inputs=g.get_gradient_edge(x), retain_graph=True)
    say(x.grad)
    try:
        g.get_gradient_edge(torch.ones(2))
    except RuntimeError as er:
        say(er)
    try:
        torch.autograd.grad(g.get_gradient_edge(z), x, retain_graph=True)
    except RuntimeError as er:
        say(er)
    say(torch.autograd.grad(g.get_gradient_edge(z.sum()), x, retain_graph=True))


def increment(torch, say):
    g = torch.autograd.graph
    x = torch.ones(2)
    y = torch.zeros(3)
    g.increment_version(x)
    g.increment_version((x, y))
    say(x._version, y._version)
    with torch.inference_mode():
        z = torch.ones(2)
    g.increment_version(z)


@pytest.mark.parametrize("program", programs(globals()), ids=lambda f: f.__name__)
def test_as_pytorch(program):
    agree(program)
