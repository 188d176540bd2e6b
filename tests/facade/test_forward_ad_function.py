"""Functions with rules of their own in forward mode."""

import pytest

from .programs import agree, attempt, programs


def function(torch, say):
    fw = torch.autograd.forward_ad

    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y, n):
            ctx.save_for_forward(x, y)
            ctx.n = n
            say("fwd", fw.unpack_dual(x * 1).tangent)
            return x * y * n

        @staticmethod
        def jvp(ctx, xt, yt, _):
            x, y = ctx.saved_tensors
            say("jvp", xt, yt, _, x, torch.is_grad_enabled())
            return ctx.n * (xt * y + (0 if yt is None else yt * x))

        @staticmethod
        def backward(ctx, g):
            return g, g, None

    x = torch.tensor([1.0, 2.0])
    y = torch.tensor([5.0, 6.0])
    v = torch.tensor([3.0, 4.0])
    with fw.dual_level():
        d = fw.make_dual(x, v)
        o = F.apply(d, y, 2)
        say(fw.unpack_dual(o))

        class G(F):
            @staticmethod
            def forward(ctx, x, y, n):
                ctx.set_materialize_grads(False)
                ctx.save_for_forward(x, y)
                ctx.n = n
                return x * y * n

        o = G.apply(d, y, 2)
        say(fw.unpack_dual(o))

        class H(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

        attempt(say, lambda: H.apply(d))
        say(H.apply(x))


def function_wrong(torch, say):
    fw = torch.autograd.forward_ad
    x = torch.tensor([1.0, 2.0])
    v = torch.tensor([3.0, 4.0])
    with fw.dual_level():
        d = fw.make_dual(x, v)

        class Several(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2, x * 3

            @staticmethod
            def jvp(ctx, t):
                return t * 2, t * 3

        class J(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2, x * 3

            @staticmethod
            def jvp(ctx, t):
                return t * 2

        attempt(say, lambda: J.apply(d))

        class K(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def jvp(ctx, t):
                return torch.ones(5)

        attempt(say, lambda: fw.unpack_dual(K.apply(d)))

        class L(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def jvp(ctx, t):
                return 3

        attempt(say, lambda: fw.unpack_dual(L.apply(d)))


def function_dirty(torch, say):
    fw = torch.autograd.forward_ad
    x = torch.tensor([1.0, 2.0])
    v = torch.tensor([3.0, 4.0])
    with fw.dual_level():
        d = fw.make_dual(x, v)

        class M(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.mark_dirty(x)
                return x.mul_(2)

            @staticmethod
            def jvp(ctx, t):
                return t.mul_(2)

        d2 = d * 1
        o = M.apply(d2)
        say(o is d2, fw.unpack_dual(o))

        class N(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.mark_dirty(x)
                return x.mul_(2)

            @staticmethod
            def jvp(ctx, t):
                return t * 2

        d2 = d * 1
        attempt(say, lambda: N.apply(d2))


def function_viewed(torch, say):
    fw = torch.autograd.forward_ad
    x = torch.tensor([1.0, 2.0])
    v = torch.tensor([3.0, 4.0])
    with fw.dual_level():
        d = fw.make_dual(x, v)

        class Same(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x

            @staticmethod
            def jvp(ctx, t):
                return t * 5

        attempt(say, lambda: fw.unpack_dual(Same.apply(d)))

        class P(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.view(2, 1)

            @staticmethod
            def jvp(ctx, t):
                return t.view(2, 1)

        attempt(say, lambda: fw.unpack_dual(P.apply(d)))

        class Q(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.view(2, 1)

            @staticmethod
            def jvp(ctx, t):
                return t.view(2, 1) * 3

        attempt(say, lambda: fw.unpack_dual(Q.apply(d)))

        class R(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x**2

            @staticmethod
            def jvp(ctx, t):
                say("s", ctx.saved_tensors)
                return t

        attempt(say, lambda: fw.unpack_dual(R.apply(d)))


@pytest.mark.peers
@pytest.mark.parametrize("program", programs(globals()), ids=lambda f: f.__name__)
def test_program(program):
    agree(program)
