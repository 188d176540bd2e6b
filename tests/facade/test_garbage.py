"""Nothing is left for the cycle collector: graphs are freed by reference counting."""

import gc
import warnings

import pytest

import funcgrad as fg
import funcgrad.torch as torch
from funcgrad.torch.utils.checkpoint import checkpoint

pytestmark = pytest.mark.early

forward_ad = torch.autograd.forward_ad
JITTED = fg.jit(lambda t: (t * t).sum())


class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y, sign = x.exp(), x > 0
        ctx.mark_non_differentiable(sign)
        ctx.save_for_backward(x, y)
        ctx.save_for_forward(x, y)
        return y, sign

    @staticmethod
    def backward(ctx, g, _):
        _, y = ctx.saved_tensors
        return g * y

    @staticmethod
    def jvp(ctx, t):
        _, y = ctx.saved_tensors
        return t * y, None


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x.mul_(2))
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 2


def plain(x):
    (x.exp() * x).sum().backward()


def custom_function(x):
    Exp.apply(x)[0].sum().backward()


def custom_function_without_backward(x):
    Exp.apply(x)


def function_in_place(x):
    Doubled.apply(x * 1)


def hooks(x):
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 2)
    y.grad_fn.register_hook(lambda a, b: None)
    y.sum().backward()


def hooks_without_backward(x):
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 2)
    y.grad_fn.register_prehook(lambda g: None)


def recorded_backward(x):
    (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    torch.autograd.grad(g.sum(), x)


def recorded_backward_dropped(x):
    torch.autograd.grad((x**3).sum(), x, create_graph=True)


def saved_hooks(x):
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach(), lambda t: t):
        (x * x).exp().sum().backward()


def saved_hooks_without_backward(x):
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach(), lambda t: t):
        (x * x).exp().sum()


def mutation(x):
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        y = x * x
        z = y.exp()
        y.mul_(2)
        z.sum().backward()


def dual(x):
    with forward_ad.dual_level():
        forward_ad.unpack_dual((forward_ad.make_dual(x, torch.ones(2)) * 3).exp())


def dual_through_function(x):
    with forward_ad.dual_level():
        Exp.apply(forward_ad.make_dual(x, torch.ones(2)))


def recomputed(x):
    checkpoint(lambda x: (x * x).exp().sin(), x, use_reentrant=False).sum().backward()


def recomputed_reentrant(x):
    checkpoint(lambda x: (x * x).exp().sin(), x, use_reentrant=True).sum().backward()


def anomaly(x):
    with torch.autograd.set_detect_anomaly(True):
        (x.exp() * x).sum().backward()


def functional(x):
    torch.autograd.functional.jacobian(lambda x: x**2, x, vectorize=True)
    torch.func.hessian(lambda x: (x**3).sum())(x.detach())


def jitted(x):
    JITTED(x).backward()


PROGRAMS = [f for f in list(globals().values()) if getattr(f, "__module__", None) == __name__
            and hasattr(f, "__code__")]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_no_garbage(program):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(3):
            program(x)
        gc.collect()
        gc.disable()
        try:
            for _ in range(10):
                program(x)
            assert gc.collect() == 0
        finally:
            gc.enable()
