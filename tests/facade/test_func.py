"""`torch.func`: the transforms of functions of tensors."""

import pytest

from .programs import agree, attempt, programs


def values_under_vmap(torch, say):
    x = torch.tensor([1.0, 2.0])
    for asked in (
        lambda x: x.item(),
        lambda x: float(x),
        lambda x: x if x > 0 else -x,
        lambda x: x.tolist(),
        lambda x: x.numpy(),
        lambda x: torch.ones(3).nonzero() + (x * torch.ones(3)).nonzero(),
    ):
        try:
            torch.func.vmap(asked)(x)
        except RuntimeError as error:  # the words that people search for; ours go on
            say("RuntimeError", str(error)[:60])


def grads(torch, say):
    F = torch.func
    x = torch.tensor([1.0, 2.0])
    y = torch.tensor([3.0, 4.0])
    say(F.grad(lambda x: (x**3).sum())(x))
    say(F.grad(lambda x, y: (x * y).sum(), argnums=1)(x, y))
    say(F.grad(lambda x, y: (x * y).sum(), argnums=(0, 1))(x, y))
    say(F.grad(lambda x, y: (x * y).sum(), argnums=-1)(x, y))
    say(F.grad(lambda x: ((x**3).sum(), x * 2), has_aux=True)(x))
    say(F.grad_and_value(lambda x: (x**3).sum())(x))
    say(F.grad_and_value(lambda x: ((x**3).sum(), {"a": x}), has_aux=True)(x))
    say(F.grad(lambda d: (d["a"] * d["b"][0]).sum())({"a": x, "b": [y]}))
    say(F.grad(F.grad(lambda x: x**3))(torch.tensor(2.0)))
    say(F.grad(F.grad(F.grad(lambda x: x**4)))(torch.tensor(2.0)))
    say(F.grad(lambda x: y.sum())(x))
    say(F.grad(lambda x, *, s: (x * s).sum())(x, s=3.0))
    w = torch.tensor([1.0, 1.0], requires_grad=True)
    g = F.grad(lambda x: (x**2 * w).sum())(x)
    say(g.tolist(), g.requires_grad, torch.autograd.grad(g.sum(), w))
    g = F.grad(lambda x: (x**2).sum())(w)
    say(g.tolist(), g.requires_grad, torch.autograd.grad(g.sum(), w))
    with torch.no_grad():
        say(F.grad(lambda x: (x**2 * w).sum())(x))

    def f(x):
        with torch.no_grad():
            c = x**2
        return (x - c).sum()

    say(F.grad(f)(x))

    def f(x):
        with torch.no_grad():
            c = x**2
        return x * c

    say(F.grad(F.grad(f))(torch.tensor(3.0)))
    with torch.no_grad():
        say(F.grad(F.grad(f))(torch.tensor(3.0)))
    say(F.grad(lambda x: (x.detach() * x).sum())(x))


def grad_errors(torch, say):
    F = torch.func
    x = torch.tensor([1.0, 2.0])
    for f in (
        lambda: F.grad(lambda x: x * 2)(x),
        lambda: F.grad(lambda x: 3)(x),
        lambda: F.grad(lambda x: (x.sum(),))(x),
        lambda: F.grad(lambda x: x.sum(), has_aux=True)(x),
        lambda: F.grad(lambda x: x.sum(), argnums=2)(x),
        lambda: F.grad(lambda x: x.sum(), argnums="a")(x),
        lambda: F.grad(lambda x: x.sum(), argnums=())(x),
        lambda: F.grad(lambda x: x.sum(), argnums=(0, 0))(x),
        lambda: F.grad(lambda x: x.sum(), argnums=(0, "a"))(x),
        lambda: F.grad(lambda x: x.sum())(torch.tensor([1, 2])),
        lambda: F.grad(lambda x: x.sum())(3.0),
    ):
        attempt(say, f)


def inplace(torch, say):
    F = torch.func
    x = torch.tensor([1.0, 2.0])

    def f(x):
        y = x * 1
        y.mul_(x)
        y[0] = y[1] * 3
        y += 1
        return y.sum()

    say(F.grad(f)(x), x)

    def f(x):
        z = torch.zeros(2)
        z[1] = x[0]
        return (z * z).sum()

    say(F.vmap(F.grad(lambda x: (x * 1).mul_(2).sum()))(torch.ones(3, 2)))


def vmaps(torch, say):
    F = torch.func
    x = torch.arange(6.0).reshape(2, 3) + 1
    y = torch.tensor([1.0, 2.0, 3.0])
    say(F.vmap(lambda a: a * 2)(x))
    say(F.vmap(lambda a: a.sum(), in_dims=1)(x))
    say(F.vmap(lambda a, b: (a * b).sum(), in_dims=(0, None))(x, y))
    say(F.vmap(lambda a: a * 2, out_dims=1)(x))
    say(F.vmap(lambda a: (a, a.sum()), out_dims=(1, 0))(x))
    say(F.vmap(lambda a: {"u": a, "v": a.sum()}, out_dims={"u": 1, "v": 0})(x))
    say(F.vmap(lambda a: torch.ones(2))(x))
    say(F.vmap(lambda a: (a, 3), out_dims=(0, None))(x))
    say(F.vmap(lambda d: d["a"] * d["b"], in_dims=({"a": 0, "b": None},))({"a": x, "b": y}))
    say(F.vmap(lambda a, s: a * 2 if s == "x" else a, in_dims=(0, None))(x, "x"))
    say(F.vmap(lambda a, k=1.0: a * k)(x, k=torch.tensor(4.0)))
    say(
        F.vmap(F.vmap(lambda a, b: a * b, in_dims=(0, None)), in_dims=(None, 0))(x, y)
        if False
        else F.vmap(F.vmap(lambda a: a * 2))(x)
    )
    say(F.vmap(F.grad(lambda a: (a**3).sum()))(x))
    say(F.grad(lambda a: F.vmap(lambda b: b**2)(a).sum())(x))
    say(F.vmap(lambda a: a * 2, in_dims=-1, out_dims=-1)(x))
    for c in (1, 2, 3, 5):
        say(F.vmap(lambda a: (a * 2, a.sum()), in_dims=1, out_dims=(1, 0), chunk_size=c)(x))
    z = x.clone().requires_grad_()
    r = F.vmap(lambda a: a**2)(z)
    say(r.tolist(), r.requires_grad)
    r.sum().backward()
    say(z.grad)
    say(
        F.vmap(lambda a: a[0] + a[1:])(x),
        F.vmap(lambda a: torch.stack([a, a]))(x),
        F.vmap(lambda a: a.t() if a.ndim == 2 else a.reshape(3, 1))(x),
    )
    say(F.vmap(lambda a: torch.where(a > 2, a, -a))(x))
    say(F.vmap(lambda a, b: a @ b)(torch.ones(4, 2, 3), torch.ones(4, 3)))


def vmap_errors(torch, say):
    F = torch.func
    x = torch.arange(6.0).reshape(2, 3)
    y = torch.ones(4)

    def f(a):
        return a

    def g(a, b):
        return a

    for h in (
        lambda: F.vmap(f)(),
        lambda: F.vmap(f, in_dims="a")(x),
        lambda: F.vmap(f, in_dims=2)(x),
        lambda: F.vmap(g)(x, y),
        lambda: F.vmap(g, in_dims=(None, None))(x, y),
        lambda: F.vmap(f)(3.0),
        lambda: F.vmap(f, in_dims=(1.5,))(x),
        lambda: F.vmap(f, out_dims="a")(x),
        lambda: F.vmap(lambda a: 3)(x),
        lambda: F.vmap(f, out_dims=None)(x),
        lambda: F.vmap(f, randomness="z")(x),
        lambda: F.vmap(f, chunk_size=0)(x),
        lambda: F.vmap(f, out_dims=5)(x),
    ):
        attempt(say, h)
    attempt(say, lambda: F.vmap(lambda a: a.item())(x)) if False else None


def vjps(torch, say):
    F = torch.func
    x = torch.tensor([1.0, 2.0])
    y = torch.tensor([3.0, 4.0])
    o, p = F.vjp(lambda x: x**2, x)
    say(o, p(torch.ones(2)), p(torch.ones(2) * 2))
    o, p = F.vjp(lambda x, y: (x * y, {"s": x.sum()}), x, y)
    say(o, p((torch.ones(2), {"s": torch.tensor(1.0)})))
    say(F.vjp(lambda x: (x * 2, "a" and x), x, has_aux=True)[2])
    say(F.vmap(p)((torch.ones(3, 2), {"s": torch.ones(3)})))
    for f in (
        lambda: F.vjp(lambda x: x > 1, x),
        lambda: F.vjp(lambda x: 3, x),
        lambda: F.vjp(lambda x: x, 3),
        lambda: p(torch.ones(2)),
        lambda: F.vjp(lambda x: (), x),
        lambda: F.vjp(lambda x: x, x, has_aux=True),
    ):
        attempt(say, f)


def jvps(torch, say):
    F = torch.func
    x = torch.tensor([1.0, 2.0])
    y = torch.tensor([3.0, 4.0])
    say(F.jvp(lambda x: x**2, (x,), (y,)))
    say(F.jvp(lambda x, y: (x * y, x), (x, y), (y, x)))
    say(F.jvp(lambda x: (x * 2, x), (x,), (y,), has_aux=True))
    say(F.jvp(lambda d: d["a"] * 2, ({"a": x},), ({"a": y},)))
    say(F.jvp(lambda x: y, (x,), (y,)))
    for f in (
        lambda: F.jvp(lambda x: y, (x,), (y,), strict=True),
        lambda: F.jvp(lambda x: x, x, y),
        lambda: F.jvp(lambda x: 3, (x,), (y,)),
        lambda: F.jvp(lambda x: x, (x,), (3,)),
        lambda: F.jvp(lambda x: x, (), ()),
        lambda: F.jvp(lambda x: x, (x,), (y,), has_aux=True),
    ):
        attempt(say, f)
    say(F.jvp(F.grad(lambda x: (x**3).sum()), (x,), (y,)))
    say(F.grad(lambda x: F.jvp(lambda x: (x**3).sum(), (x,), (y,))[1])(x))
    say(F.jvp(lambda x: F.jvp(lambda z: z**3, (x,), (y,))[1], (x,), (y,)))


def jacs(torch, say):
    F = torch.func
    x = torch.tensor([1.0, 2.0])
    y = torch.tensor([[3.0, 4.0, 5.0]])
    for J in (F.jacrev, F.jacfwd):
        say(J(lambda x: x**2)(x))
        say(J(lambda x, y: x.sum() * y, argnums=(0, 1))(x, y))
        say(J(lambda x, y: {"a": x * 2, "b": (x.sum() * y,)}, argnums=1)(x, y))
        say(J(lambda x: (x**2, x), has_aux=True)(x))
        say(J(lambda x: x.sum())(x))
        say(J(lambda d: d["a"] * 2)({"a": x}))
        say(J(J(lambda x: x**3))(x))
        attempt(say, lambda: J(lambda x: x)(x * 1j))
        attempt(say, lambda: J(lambda x: x * 1j)(x))
        say(F.vmap(J(lambda x: x**2))(torch.ones(2, 2) * 3))
        attempt(say, lambda: J(lambda x: x, argnums=3)(x))
        attempt(say, lambda: J(lambda x: 3)(x))
    for c in (1, 2, 5):
        say(F.jacrev(lambda x, y: (x**2, x.sum() * y), argnums=(0, 1), chunk_size=c)(x, y))
    attempt(say, lambda: F.jacrev(lambda x: x, chunk_size=0))
    say(F.hessian(lambda x: (x**3).sum() * x[0])(x))
    say(F.hessian(lambda x, y: (x.sum() ** 2 * y).sum(), argnums=(0, 1))(x, y))


def lin(torch, say):
    F = torch.func
    x = torch.tensor([1.0, 2.0])
    y = torch.tensor([3.0, 4.0])
    o, f = F.linearize(lambda x: x**3, x)
    say(o, f(y), f(x))
    o, f = F.linearize(lambda x, d: (x * d["a"], x), x, {"a": y})
    say(o, f(y, {"a": x}))
    o, f = F.linearize(lambda x: x**3, x)
    attempt(say, lambda: f(torch.ones(3)))
    attempt(say, lambda: f(torch.ones(2).double()))


def complex_(torch, say):
    F = torch.func
    z = torch.tensor([1.0 + 2j, 0.5 - 1j])
    f = lambda z: (z * z.conj()).real.sum() if hasattr(z, "real") else z.abs().sum()
    f = lambda z: (z.abs() ** 2).sum()
    say(F.grad(f)(z))
    o, p = F.vjp(lambda z: z * z * (2 + 1j), z)
    say(o, p(torch.ones(2) * (1 + 1j)))
    say(F.jvp(lambda z: z**2, (z,), (z * 1j,)))
    attempt(say, lambda: F.grad(lambda z: z.sum())(z))


def randomness(torch, say):
    F = torch.func
    x = torch.zeros(3, 2)
    attempt(say, lambda: F.vmap(lambda a: a + torch.rand(2))(x))
    r = F.vmap(lambda a: a + torch.rand(2), randomness="same")(x)
    say(bool((r[0] == r[1]).all()), r.shape)
    r = F.vmap(lambda a: a + torch.randn(2), randomness="different")(x)
    say(bool((r[0] == r[1]).any()), r.shape)
    r = F.vmap(lambda a: torch.rand(2), randomness="different")(x)
    say(r.shape)
    r = F.vmap(
        lambda a: F.vmap(lambda b: b + torch.rand(()), randomness="different")(a),
        randomness="different",
    )(x)
    say(r.shape, len({v for row in r.tolist() for v in row}))


def grads_in_vmap(torch, say):
    x = torch.randn(3) if False else torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x**2
    say(torch.func.vmap(lambda v: torch.autograd.grad(y, x, v, retain_graph=True))(torch.eye(3)))
    say(torch.autograd.grad(y, x, torch.eye(3), is_grads_batched=True, retain_graph=True))
    attempt(say, lambda: torch.func.grad(lambda x: (x * 2).sum().backward())(x))


def views_inplace(torch, say):
    F = torch.func
    x = torch.tensor([1.0, 2.0, 3.0, 4.0])

    def f(x):
        y = x * 1
        v = y[1:3]
        v.mul_(x[:2])
        w = y.reshape(2, 2)
        w[0].add_(x[2:])
        v += 1
        return (y * y).sum()

    say(F.grad(f)(x))
    say(F.vmap(F.grad(f))(torch.stack([x, x * 2])))
    say(F.jvp(f, (x,), (x,)))
    say(F.hessian(f)(x))

    def g(x):
        y = torch.zeros(3)
        y[0] = x[0] * 2
        y[1:].copy_(x[:2])
        a, b = y[:2].split(1)
        return (y * y).sum() + a.sum()

    say(F.grad(g)(x))

    def h(x):
        y = x * 1
        v = y.t() if y.ndim == 2 else y
        r = y.reshape(-1)
        v[0].zero_()
        r[3:].mul_(5)
        return v, r, y

    say(F.vmap(h)(torch.arange(8.0).reshape(2, 2, 2)))
    say(F.vmap(lambda a: h(a * 1))(torch.arange(8.0).reshape(2, 2, 2)))


def modules(torch, say):
    F = torch.func
    nn = torch.nn
    torch.manual_seed(0)
    m = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    x = torch.linspace(-1, 1, 6).reshape(2, 3)
    p = {k: v.detach() * 2 for k, v in m.named_parameters()}
    say(F.functional_call(m, p, x))
    say(F.functional_call(m, (p, {}), (x,)))
    say(F.functional_call(m, {"0.bias": p["0.bias"]}, x))
    before = m(x)
    say(before)
    g = F.grad(lambda p: (F.functional_call(m, p, x) ** 2).sum())(p)
    say({k: v for k, v in g.items()})
    say(
        F.vmap(F.grad(lambda p, x: F.functional_call(m, p, x).sum()), in_dims=(None, 0))(p, x)[
            "0.weight"
        ].shape
    )
    for f in (
        lambda: F.functional_call(m, {"foo": x}, x),
        lambda: F.functional_call(m, {"0.bias": p["0.bias"]}, x, strict=True),
        lambda: F.functional_call(m, ({"0.bias": x}, {"0.bias": x}), x),
        lambda: F.functional_call(m, 3, x),
        lambda: F.functional_call(m, [3], x),
        lambda: F.functional_call(m, {"foo": x, **p}, x, strict=True),
    ):
        attempt(say, f)
    ms = [nn.Linear(3, 2) for _ in range(4)]
    ps, bs = F.stack_module_state(ms)
    say({k: (v.shape, v.requires_grad, v.is_leaf) for k, v in ps.items()}, bs)
    say(
        F.vmap(lambda p, b, x: F.functional_call(ms[0], (p, b), (x,)), in_dims=(0, 0, None))(
            ps, bs, x
        )
    )
    for f in (
        lambda: F.stack_module_state([]),
        lambda: F.stack_module_state([ms[0], nn.ReLU()]),
        lambda: F.stack_module_state([ms[0], nn.Linear(3, 2).eval()]),
    ):
        attempt(say, f)

    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Parameter(torch.ones(2))
            self.b = self.a
            self.register_buffer("c", torch.ones(2))

        def forward(self, x, k=1.0):
            return x * self.a + self.b * k + self.c

    t = Tied()
    y = torch.ones(2)
    say(F.functional_call(t, {"a": y * 3}, y))
    say(F.functional_call(t, {"a": y * 3}, y, tie_weights=False))
    say(F.functional_call(t, {"a": y * 3, "c": y * 0}, (y,), {"k": 5.0}))
    attempt(say, lambda: F.functional_call(t, {"a": y * 3, "b": y * 4}, y))
    say(F.functional_call(t, {"a": y * 3, "b": y * 4}, y, tie_weights=False))
    say(t.a, t.b is t.a)


@pytest.mark.parametrize("program", programs(globals()), ids=lambda f: f.__name__)
def test_as_pytorch(program):
    agree(program, digits=4)


def test_tangents_of_parameters_are_tensors():
    def program(torch, say):
        p, q = torch.nn.Parameter(torch.tensor([1.0, 2.0])), torch.ones(2)
        params, along = {"p": p}, {"p": q}
        say(torch.func.jvp(lambda d: d["p"] ** 2, (params,), (along,))[1].tolist())
        say(torch.func.jvp(lambda x: x**2, (q,), (p,))[1].tolist())
        say(torch.func.linearize(lambda x: x**2, p)[1](q).tolist())
        say(torch.func.vjp(lambda x: x**2, q)[1](p)[0].tolist())

    agree(program)
