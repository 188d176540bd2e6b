"""Functions with rules of their own inside the transforms of `torch.func`."""

import pytest

from .programs import agree, attempt, programs


def cube(torch):
    """A function with all rules stated."""

    class Cube(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x**3

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 3 * x**2

        @staticmethod
        def jvp(ctx, t):
            (x,) = ctx.saved_tensors
            return 3 * x**2 * t

    return Cube


def function(torch, say):
    F = torch.func
    Cube = cube(torch)
    x = torch.tensor([1.0, 2.0])
    s = lambda G: lambda x: G.apply(x).sum()
    say(F.grad(s(Cube))(x))
    say(F.grad(lambda x: F.grad(s(Cube))(x).sum())(x))
    say(F.vmap(Cube.apply)(torch.ones(3, 2) * 2))
    say(F.vmap(F.grad(s(Cube)))(torch.ones(3, 2) * 2))
    say(F.jvp(Cube.apply, (x,), (x,)))
    say(F.hessian(s(Cube))(x))
    say(F.jacrev(Cube.apply)(x))
    say(F.jacfwd(Cube.apply)(x))
    say(F.grad(lambda x: F.vmap(Cube.apply)(x).sum())(x))
    z = x.clone().requires_grad_()
    o = F.vmap(Cube.apply)(z)
    o.sum().backward()
    say(z.grad)


def function_vmap(torch, say):
    F = torch.func
    Cube = cube(torch)

    class Vm(Cube):
        generate_vmap_rule = False

        @staticmethod
        def vmap(info, in_dims, x):
            say("vmap", info.batch_size, info.randomness, in_dims, x.shape)
            return Vm.apply(x), in_dims[0]

    s = lambda G: lambda x: G.apply(x).sum()
    say(F.vmap(Vm.apply)(torch.ones(3, 2) * 2))
    say(F.vmap(F.grad(s(Vm)))(torch.ones(3, 2) * 2))


def function_refused(torch, say):
    F = torch.func
    Cube = cube(torch)

    class Old(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    class NoV(Cube):
        generate_vmap_rule = False

    class BothV(Cube):
        @staticmethod
        def vmap(info, in_dims, x):
            raise NotImplementedError

    x = torch.tensor([1.0, 2.0])
    s = lambda G: lambda x: G.apply(x).sum()
    for f in (
        lambda: F.grad(s(Old))(x),
        lambda: F.vmap(Old.apply)(x),
        lambda: F.vmap(NoV.apply)(x),
        lambda: F.vmap(BothV.apply)(x),
    ):
        attempt(say, f)

    class NoJ(Cube):
        jvp = torch.autograd.Function.jvp

    attempt(say, lambda: F.jvp(NoJ.apply, (x,), (x,)))


def function_of_two(torch, say):
    F = torch.func

    class Two(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x, y, n):
            return x * y * n, x + y, 7

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs[0], inputs[1])
            ctx.n = inputs[2]
            ctx.set_materialize_grads(False)

        @staticmethod
        def backward(ctx, a, b, c):
            x, y = ctx.saved_tensors
            say(ctx.needs_input_grad, a is None, b is None, c is None)
            ga = 0 if a is None else a * ctx.n
            gb = 0 if b is None else b
            return ga * y + gb, ga * x + gb, None

    x = torch.tensor([1.0, 2.0])
    say(F.grad(lambda x, y: Two.apply(x, y, 3)[0].sum(), argnums=(0, 1))(x, x * 2))


@pytest.mark.peers
@pytest.mark.parametrize("program", programs(globals()), ids=lambda f: f.__name__)
def test_program(program):
    agree(program)
