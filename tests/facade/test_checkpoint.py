"""`utils.checkpoint`, in both modes."""

import pytest

from .programs import agree, attempt, programs


def before_tip(error):
    return str(error).split("Tip:")[0]


def try_(say, f):
    attempt(say, f, before_tip)


def base(torch, say):
    C = torch.utils.checkpoint.checkpoint
    for re in (False, True):
        calls = []
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        w = torch.tensor([3.0, 4.0], requires_grad=True)

        def f(x, w, k=2.0):
            calls.append(torch.is_grad_enabled())
            return (x * w).exp().sin() * k

        y = C(f, x * 1, w, use_reentrant=re)
        say(y, len(calls))
        y.sum().backward()
        say(x.grad, w.grad, calls)
        x.grad = None
        y = C(f, x, w, use_reentrant=re)
        try_(say, lambda: torch.autograd.grad(y.sum(), x))
        try_(say, lambda: C(f, x, w, k=3.0, use_reentrant=re).sum().backward())
        with torch.no_grad():
            say(C(f, x, w, use_reentrant=re))
        y = C(f, x.detach(), w.detach(), use_reentrant=re)
        say(y.requires_grad)
        y = C(lambda x: (x * 2, x.exp(), "a"), x, use_reentrant=re)
        say(y)
        (y[0].sum() + y[1].sum()).backward()
        say(x.grad)
        y = C(lambda x: x.sin(), x, use_reentrant=re)
        y.sum().backward(retain_graph=True)
        y.sum().backward()
        say(x.grad)
        try_(say, lambda: y.sum().backward())
        say(type(y.grad_fn).__name__)


def closure(torch, say):
    C = torch.utils.checkpoint.checkpoint
    w = torch.tensor([3.0, 4.0], requires_grad=True)
    x = torch.tensor([1.0, 2.0])
    y = C(lambda x: (x * w).exp(), x, use_reentrant=False)
    y.sum().backward()
    say(w.grad)


def nested(torch, say):
    C = torch.utils.checkpoint.checkpoint
    calls = []
    x = torch.tensor([1.0, 2.0], requires_grad=True)

    def inner(x):
        calls.append("i")
        return x.exp().sin()

    def outer(x):
        calls.append("o")
        return C(inner, x.cos(), use_reentrant=False).tan()

    y = C(outer, x * 2, use_reentrant=False)
    y.sum().backward()
    say(x.grad, calls)


def early(torch, say):
    U = torch.utils.checkpoint
    for es in (True, False):
        log = []
        x = torch.tensor([1.0, 2.0], requires_grad=True)

        def f(x):
            y = x.exp()
            log.append("a")
            z = y.sin()
            log.append("b")
            return z + 1

        y = U.checkpoint(f, x, use_reentrant=False, early_stop=es)
        y.sum().backward()
        say(log, x.grad)
        log.clear()
        with U.set_checkpoint_early_stop(False):
            y = U.checkpoint(f, x, use_reentrant=False)
        y.sum().backward()
        say(log)


def rng(torch, say):
    C = torch.utils.checkpoint.checkpoint
    for re in (False, True):
        for p in (True, False):
            torch.manual_seed(0)
            x = torch.ones(4, requires_grad=True)
            seen = []

            def f(x):
                r = torch.rand(4)
                seen.append(r)
                return x * r * x

            C(f, x, use_reentrant=re, preserve_rng_state=p).sum().backward()
            say(bool((seen[0] == seen[1]).min()), len(seen))


def context(torch, say):
    C = torch.utils.checkpoint.checkpoint
    import contextlib

    @contextlib.contextmanager
    def c(n):
        say("enter", n)
        yield
        say("exit", n)

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = C(lambda x: x.exp(), x, use_reentrant=False, context_fn=lambda: (c(1), c(2)))
    y.sum().backward()
    say(x.grad)
    try_(say, lambda: C(lambda x: x.exp(), x, use_reentrant=True, context_fn=lambda: (c(1), c(2))))
    try_(say, lambda: C(lambda x: x.exp(), x, use_reentrant=False, determinism_check="foo"))
    try_(say, lambda: C(lambda x: x.exp(), x, use_reentrant=True, foo=1))
    try_(
        say,
        lambda: C(
            lambda x: x.exp(), x, use_reentrant=False, debug=True, context_fn=lambda: (c(1), c(2))
        ),
    )


def determinism(torch, say):
    C = torch.utils.checkpoint.checkpoint
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    n = [0]

    def more(x):
        n[0] += 1
        return x.exp().sin() if n[0] % 2 == 1 else x.exp().sin().cos().tan()

    def fewer(x):
        n[0] += 1
        return x.exp().sin() if n[0] % 2 == 0 else x.exp().sin().cos().tan()

    def shape(x):
        n[0] += 1
        return x.exp().sin() if n[0] % 2 == 1 else torch.cat([x, x]).exp().sin()

    for f in (more, fewer, shape):
        for es in (True, False):
            for dc in ("default", "none") if f is not shape else ("default",):
                n[0] = 0
                try_(
                    say,
                    lambda: (
                        C(f, x, use_reentrant=False, early_stop=es, determinism_check=dc)
                        .sum()
                        .backward()
                    ),
                )


def double(torch, say):
    C = torch.utils.checkpoint.checkpoint
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = C(lambda x: (x**3).sin(), x, use_reentrant=False)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    say(g.tolist())
    say(torch.autograd.grad(g.sum(), x))


def sequential(torch, say):
    S = torch.utils.checkpoint.checkpoint_sequential
    for re in (False, True):
        for seg in (1, 2, 3, 5):
            x = torch.tensor([1.0, 2.0], requires_grad=True)
            calls = []

            def function_class(i):
                def f(x):
                    calls.append(i)
                    return (x * 1.1).sin()

                return f

            y = S([function_class(i) for i in range(5)], seg, x, use_reentrant=re)
            y.sum().backward()
            say(y.tolist(), x.grad, calls)
    try_(say, lambda: S([torch.exp], 1, x, use_reentrant=False, foo=2))


def warn(torch, say):
    C = torch.utils.checkpoint.checkpoint
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    C(lambda x: x.exp(), x).sum().backward()
    say(x.grad)
    torch.utils.checkpoint.checkpoint_sequential([torch.exp, torch.sin], 2, x)
    say(C(lambda x: x.exp(), x.detach(), use_reentrant=True))


def raising(torch, say):
    C = torch.utils.checkpoint.checkpoint
    x = torch.tensor([1.0, 2.0], requires_grad=True)

    def f(x):
        x.exp()
        raise ValueError("x")

    for re in (False, True):
        try_(say, lambda: C(f, x, use_reentrant=re))


def function_in(torch, say):
    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            say("fwd")
            return x**2

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 2 * x

    C = torch.utils.checkpoint.checkpoint
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    C(lambda x: F.apply(x.exp()).sin(), x, use_reentrant=False).sum().backward()
    say(x.grad)


def inputs_arg(torch, say):
    C = torch.utils.checkpoint.checkpoint
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    C(lambda x: (x * w).exp(), x, use_reentrant=False).sum().backward(inputs=[w])
    say(x.grad, w.grad)
    try_(say, lambda: C(lambda x: (x * w).exp(), x, use_reentrant=True).sum().backward(inputs=[x]))


@pytest.mark.parametrize("program", programs(globals()), ids=lambda f: f.__name__)
def test_as_pytorch(program):
    agree(program, digits=3)
