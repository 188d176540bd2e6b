"""Custom functions: contexts, outputs, marks, and what is refused."""

import pytest

from .programs import agree, attempt, programs


def function_class(torch, fwd, bwd=None, setup=None, name="Foo", **kw):
    ns = dict(forward=staticmethod(fwd))
    if bwd:
        ns["backward"] = staticmethod(bwd)
    if setup:
        ns["setup_context"] = staticmethod(setup)
    for k, v in kw.items():
        ns[k] = staticmethod(v) if callable(v) and not isinstance(v, bool) else v
    return type(name, (torch.autograd.Function,), ns)


def basic(torch, say):
    def fwd(ctx, x, n):
        say(type(ctx).__name__, torch.is_grad_enabled(), x.requires_grad, ctx.needs_input_grad)
        ctx.save_for_backward(x)
        ctx.n = n
        return x * n

    def bwd(ctx, g):
        (x,) = ctx.saved_tensors
        say("bwd", x, x.requires_grad, ctx.n, torch.is_grad_enabled(), ctx.needs_input_grad, g)
        return g * ctx.n, None

    F = function_class(torch, fwd, bwd)
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = F.apply(x, 3)
    say(
        y,
        y.grad_fn.name(),
        y.grad_fn.next_functions[0][0].name(),
        len(y.grad_fn.next_functions),
        y.grad_fn.saved_tensors,
        y.grad_fn.n,
        type(y.grad_fn).__name__,
    )
    y.sum().backward(retain_graph=True)
    say(x.grad)
    y.sum().backward(create_graph=True)
    say(x.grad)
    y = F.apply(x.detach(), 3)
    say(y.requires_grad)
    with torch.no_grad():
        say(F.apply(x, 3))
    y = F.apply(x, 3)
    y.sum().backward()
    y.sum().backward()


def setup_style(torch, say):
    def fwd(x, y=2):
        say("f", torch.is_grad_enabled())
        return x * y

    def setup(ctx, inputs, output):
        say("s", inputs, output, ctx.needs_input_grad, torch.is_grad_enabled())
        ctx.save_for_backward(inputs[0])
        ctx.y = inputs[1]

    def bwd(ctx, g):
        return g * ctx.y, None

    F = function_class(torch, fwd, bwd, setup)
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    F.apply(x).sum().backward()
    say(x.grad)
    F.apply(x, y=5).sum().backward()
    say(x.grad)
    attempt(say, lambda: F.apply(x, z=5))


def wrong_number(torch, say):
    for r in ((1,), (2,), (3,)):

        def bwd(ctx, g):
            return (g,) * r[0]

        F = function_class(torch, lambda ctx, x, y: x * y, bwd)
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        attempt(say, lambda: F.apply(x, x).sum().backward())
    F = function_class(torch, lambda ctx, x, y: x * y, lambda ctx, g: (g, g, None, None))
    attempt(say, lambda: F.apply(x, x).sum().backward())
    F = function_class(torch, lambda ctx, x, y: x * y, lambda ctx, g: (g, g, None, g))
    attempt(say, lambda: F.apply(x, x).sum().backward())
    F = function_class(torch, lambda ctx, x, y: x * y, lambda ctx, g: (g, g))
    attempt(say, lambda: F.apply(x, 3).sum().backward())
    F = function_class(torch, lambda ctx, x, y: x * y, lambda ctx, g: (g, 3))
    attempt(say, lambda: F.apply(x, x).sum().backward())
    F = function_class(torch, lambda ctx, x: x * 2, lambda ctx, g: [g])
    attempt(say, lambda: F.apply(x).sum().backward())
    F = function_class(torch, lambda ctx, x: x * 2, lambda ctx, g: 3)
    attempt(say, lambda: F.apply(x).sum().backward())
    F = function_class(torch, lambda ctx, x: x * 2, lambda ctx, g: torch.ones(3))
    attempt(say, lambda: F.apply(x).sum().backward())
    F = function_class(torch, lambda ctx, x: x * 2, lambda ctx, g: torch.ones(3, 2))
    x.grad = None
    attempt(say, lambda: F.apply(x).sum().backward())
    say(x.grad)
    F = function_class(torch, lambda ctx, x: x * 2, lambda ctx, g: g.double())
    x.grad = None
    attempt(say, lambda: F.apply(x).sum().backward())
    say(x.grad)
    F = function_class(torch, lambda ctx, x: x * 2, lambda ctx, g: g > 0)
    x.grad = None
    attempt(say, lambda: F.apply(x).sum().backward())
    say(x.grad)
    F = function_class(torch, lambda ctx, x: x * 2, lambda ctx, g: None)
    x.grad = None
    attempt(say, lambda: F.apply(x).sum().backward())
    say(x.grad)
    F = function_class(torch, lambda ctx, x: x * 2, lambda ctx, g: g * 1j)
    attempt(say, lambda: F.apply(x).sum().backward())
    F = function_class(torch, lambda ctx, x: x * 2)
    attempt(say, lambda: F.apply(x).sum().backward())
    F = function_class(torch, lambda ctx, x: 3)
    attempt(say, lambda: F.apply(x))
    F = function_class(
        torch, lambda ctx, x: (3, x * 2, None, "a", [x]), lambda ctx, *g: (say(g), g[1])[1]
    )
    attempt(say, lambda: F.apply(x))
    attempt(say, lambda: F.apply(x)[1].sum().backward())

    class G(torch.autograd.Function):
        pass

    attempt(say, lambda: G.apply(x))
    attempt(say, lambda: G()(x))


def several(torch, say):
    def fwd(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y, x + y

    def bwd(ctx, a, b):
        say(a, b, ctx.needs_input_grad)
        x, y = ctx.saved_tensors
        return a * y + b, a * x + b

    F = function_class(torch, fwd, bwd)
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = torch.tensor([3.0, 4.0])
    a, b = F.apply(x, y)
    say(a, b, a.output_nr, b.output_nr, a.grad_fn is b.grad_fn)
    a.sum().backward(retain_graph=True)
    say(x.grad)
    (a + b).sum().backward()
    say(x.grad)
    out = F.apply(y, y)
    say(out)


def non_diff(torch, say):
    def fwd(ctx, x):
        a = x * 2
        b = x > 0
        c = x * 3
        ctx.mark_non_differentiable(b, c)
        return a, b, c

    def bwd(ctx, a, b, c):
        say(a, b, c)
        return a * 2

    F = function_class(torch, fwd, bwd)
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    a, b, c = F.apply(x)
    say(a, b, c)
    a.sum().backward()
    say(x.grad)

    def fwd(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x * 3, x > 1

    def bwd(ctx, *g):
        say(g)
        return g[0]

    F = function_class(torch, fwd, bwd)
    a, b, c = F.apply(x)
    say(c)
    a.sum().backward()

    def fwd(ctx, x):
        return (x > 0), x.long()

    F = function_class(torch, fwd, bwd)
    say(F.apply(x))


def dirty(torch, say):
    def fwd(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    def bwd(ctx, g):
        say("bwd", g)
        return g * 2

    F = function_class(torch, fwd, bwd)
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    z = F.apply(y)
    say(z is y, y, y._version, y.grad_fn.next_functions[0][0].name())
    y.sum().backward()
    say(x.grad)
    attempt(say, lambda: F.apply(x))
    y = torch.tensor([1.0, 2.0])
    z = F.apply(y)
    say(z is y, z, z._version)
    y = x * 1
    v = y[:1]
    z = F.apply(v)
    say(z is v, v, y, v._version)
    attempt(say, lambda: (y.sum().backward(), x.grad))
    quiet = function_class(torch, fwd, lambda ctx, g: g * 2)
    y = x * 1
    w = y.exp()
    quiet.apply(w)
    attempt(say, lambda: w.sum().backward())

    def fwd(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x * 1

    F = function_class(torch, fwd, bwd)
    y = x * 1
    attempt(say, lambda: F.apply(y))

    def fwd(ctx, x):
        x.mul_(2)
        return x

    F = function_class(torch, fwd, bwd)
    y = x * 1
    z = F.apply(y)
    say(z is y, z, y, y._version, z._version)

    def fwd(ctx, x):
        ctx.save_for_backward(3)
        return x * 2

    F = function_class(torch, fwd, bwd)
    attempt(say, lambda: F.apply(y))

    def fwd(ctx, x):
        ctx.save_for_backward([x])
        return x * 2

    F = function_class(torch, fwd, bwd)
    attempt(say, lambda: F.apply(y))

    def fwd(ctx, x):
        ctx.save_for_backward(None, x)
        return x * 2

    F = function_class(torch, fwd, bwd)
    z = F.apply(y)
    say(z.grad_fn.saved_tensors)


def identity(torch, say):
    F = function_class(torch, lambda ctx, x: x, lambda ctx, g: g * 3)
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = F.apply(x)
    say(y is x, y, y._is_view(), y._base is x)
    y.sum().backward()
    say(x.grad)
    z = x * 1
    y = F.apply(z)
    say(y is z, y, y._is_view())
    attempt(say, lambda: y.mul_(2))
    F = function_class(torch, lambda ctx, x: x.view(2, 1), lambda ctx, g: g.view(2) * 3)
    z = x * 1
    y = F.apply(z)
    say(y, y._is_view(), y._base is z)
    attempt(say, lambda: y.mul_(2))
    F = function_class(torch, lambda ctx, x: (x[:1], x[1:]), lambda ctx, *g: torch.cat(g))
    z = x * 1
    y = F.apply(z)
    say(y, y[0]._is_view())
    attempt(say, lambda: y[0].mul_(2))
    F = function_class(torch, lambda ctx, x: (x, x), lambda ctx, a, b: a + b)
    z = x * 1
    y = F.apply(z)
    say(y, y[0] is y[1])
    w = x.detach().clone()
    F = function_class(torch, lambda ctx, x: x, lambda ctx, g: g * 3)
    y = F.apply(w)
    say(y is w, y._is_view())


def double(torch, say):
    def fwd(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    def bwd(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x**2

    F = function_class(torch, fwd, bwd)
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = F.apply(x).sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    say(g)
    (h,) = torch.autograd.grad(g.sum(), x, create_graph=True)
    say(h)
    (k,) = torch.autograd.grad(h.sum(), x)
    say(k)

    def fwd(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    def bwd(ctx, g):
        (y,) = ctx.saved_tensors
        say(y)
        return g * y

    F = function_class(torch, fwd, bwd)
    y = F.apply(x).sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    say(g)
    say(torch.autograd.grad(g.sum(), x))
    od = torch.autograd.function.once_differentiable
    F = function_class(torch, fwd, od(bwd))
    y = F.apply(x).sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    say(g)
    attempt(say, lambda: torch.autograd.grad(g.sum(), x))
    y = F.apply(x).sum()
    (g,) = torch.autograd.grad(y, x)
    say(g)


def freed(torch, say):
    def fwd(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    def bwd(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 2

    F = function_class(torch, fwd, bwd)
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = F.apply(x)
    z = y.sum()
    z.backward()
    attempt(say, lambda: z.backward())
    attempt(say, lambda: y.grad_fn.saved_tensors)
    y = F.apply(x)
    x.data.mul_(2)
    y.sum().backward()
    y = F.apply(x)
    with torch.no_grad():
        x.mul_(2)
    attempt(say, lambda: y.sum().backward())
    z = x * 2
    y = F.apply(z)
    z.mul_(3)
    attempt(say, lambda: y.sum().backward())
    attempt(say, lambda: y.grad_fn.saved_tensors)
    F = function_class(torch, lambda ctx, x: x * 2, lambda ctx, g: (say("run"), g * 2)[1])
    y = F.apply(x)
    y.sum().backward()
    y.sum().backward()


def hooks(torch, say):
    def fwd(ctx, x, w):
        ctx.save_for_backward(x)
        return x * 2

    def bwd(ctx, g):
        say("bwd", g)
        return g * 2, None

    F = function_class(torch, fwd, bwd)
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = F.apply(x, 3)
    y.register_hook(lambda g: say("t", g))
    y.grad_fn.register_hook(lambda a, b: say("n", a, b))
    y.grad_fn.register_prehook(lambda a: say("p", a))
    y.grad_fn.metadata["a"] = 2
    say(y.grad_fn.metadata)
    y.sum().backward()
    say(y.grad_fn.next_functions)
    say(
        isinstance(y.grad_fn, torch.autograd.graph.Node),
        isinstance(y.grad_fn, torch.autograd.function.FunctionCtx),
    )
    say(y.grad_fn._input_metadata[0].shape)

    def pack(t):
        say("pack", t)
        return t

    def unpack(p):
        say("unpack", p)
        return p

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = F.apply(x, 3)
        z = function_class(
            torch,
            lambda ctx, x: (ctx.save_for_backward(y2 := x.exp()), y2)[1],
            lambda ctx, g: g * ctx.saved_tensors[0],
        ).apply(x)
    z.sum().backward()
    say(len(y.grad_fn._raw_saved_tensors))


def input_ordering(torch, say):
    def fwd(ctx, x, w):
        say(ctx.needs_input_grad)
        return x * w

    def bwd(ctx, g):
        say("bwd", ctx.needs_input_grad)
        return g, g

    F = function_class(torch, fwd, bwd)
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    y = F.apply(x, w)
    say(torch.autograd.grad(y.sum(), x, retain_graph=True))
    y.sum().backward(inputs=[w])
    say(x.grad, w.grad)
    y = F.apply(x, w)
    (x.grad, w.grad)
    F.apply([x], w)


def kwargs_err(torch, say):
    F = function_class(torch, lambda ctx, x: x * 2, lambda ctx, g: g)
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    attempt(say, lambda: F.apply(x=x))
    attempt(say, lambda: F.apply())
    F = function_class(torch, lambda ctx: torch.ones(2))
    attempt(say, lambda: F.apply())


def saves_nonio(torch, say):
    def fwd(ctx, x):
        t = x.exp()
        ctx.save_for_backward(t)
        return t * 2

    def bwd(ctx, g):
        (t,) = ctx.saved_tensors
        say(t)
        return g * 2 * t

    F = function_class(torch, fwd, bwd)
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (g,) = torch.autograd.grad(F.apply(x).sum(), x, create_graph=True)
    say(g)


def undefined(torch, say):
    G = function_class(torch, lambda ctx, x: x * 2, lambda ctx, g: None)
    F = function_class(torch, lambda ctx, x: x * 2, lambda ctx, g: (say("F", g), g * 2)[1])
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = F.apply(x)
    y.register_hook(lambda g: say("hook", g))
    z = G.apply(y * 1)
    x.register_hook(lambda g: say("xhook", g))
    z.sum().backward()
    say(x.grad)


def vjp_alias(torch, say):
    class A(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def vjp(ctx, g):
            return g * 7

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    A.apply(x).sum().backward()
    say(x.grad)

    class B(A):
        @staticmethod
        def backward(ctx, g):
            return g * 5

    attempt(say, lambda: B.apply(x).sum().backward())


def attrs(torch, say):
    class A(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.x = x
            ctx.set_materialize_grads(True)
            say(ctx.saved_tensors if False else "-")
            return x * 2

        @staticmethod
        def backward(ctx, g):
            say(ctx.x)
            return g * 7, None

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = A.apply(x, {"a": 1})
    say(y.grad_fn.x is x)
    y.sum().backward()
    say(A.__name__, A.apply.__name__, A._backward_cls.__name__)
    say(repr(y.grad_fn).split(" ")[0].split(".")[-1])

    class In(torch.autograd.function.InplaceFunction):
        @staticmethod
        def forward(ctx, x, inplace=False):
            ctx.inplace = inplace
            if inplace:
                ctx.mark_dirty(x)
                out = x
            else:
                out = x.clone()
            return out.mul_(2)

        @staticmethod
        def backward(ctx, g):
            return g * 2, None

    say(In.apply(x))
    z = x * 1
    say(In.apply(z, True) is z, z)


@pytest.mark.parametrize("program", programs(globals()), ids=lambda f: f.__name__)
def test_as_pytorch(program):
    agree(program)
