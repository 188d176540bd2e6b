"""`gradcheck` and `gradgradcheck`: right rules pass, wrong ones are named."""

import warnings

import pytest

from .programs import agree, attempt, programs


def key_phrase(error):
    text = str(error)
    long = any(word in text for word in ("fast mode", "batched", "reentrant"))
    return text.split("\n")[0][:150] if long else text


def try_(say, f):
    attempt(say, f, key_phrase)


def function_class(torch, fwd, bwd, jvp=None):
    ns = dict(forward=staticmethod(fwd), backward=staticmethod(bwd))
    if jvp:
        ns["jvp"] = staticmethod(jvp)
    return type("F", (torch.autograd.Function,), ns)


def good(torch, say):
    G = torch.autograd.gradcheck
    GG = torch.autograd.gradgradcheck
    x = torch.tensor([0.5, -1.0, 2.0], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([1.5, 1.0, 0.2], dtype=torch.float64, requires_grad=True)
    fs = [
        (lambda x: x.sin() * x, (x,)),
        (lambda x, y: (x * y.exp(), (x + y).sum()), (x, y)),
        (lambda x: x.reshape(3, 1) @ x.reshape(1, 3), (x,)),
        (lambda x: x[1:].prod() if hasattr(x, "prod") else x[1:].sum(), (x,)),
        (lambda x, k: x * k, (x, 3.0)),
    ]
    for f, i in fs:
        for kw in (
            {},
            dict(check_forward_ad=True),
            dict(fast_mode=True),
            dict(fast_mode=True, check_forward_ad=True),
            dict(check_batched_grad=True),
            dict(check_forward_ad=True, check_batched_forward_grad=True),
            dict(check_backward_ad=False, check_forward_ad=True),
            dict(check_grad_dtypes=True, masked=True, nondet_tol=1e-9, check_undefined_grad=False),
        ):
            try:
                say(G(f, i, **kw))
            except Exception as e:
                say(kw, type(e).__name__, str(e)[:100])
    for f, i in fs[:4]:
        for kw in (
            {},
            dict(check_fwd_over_rev=True),
            dict(fast_mode=True),
            dict(check_batched_grad=True),
            dict(gen_non_contig_grad_outputs=True),
            dict(check_fwd_over_rev=True, check_rev_over_rev=False, check_undefined_grad=False),
        ):
            try:
                say(GG(f, i, **kw))
            except Exception as e:
                say(kw, type(e).__name__, str(e)[:100])


def complex_(torch, say):
    G = torch.autograd.gradcheck
    GG = torch.autograd.gradgradcheck
    z = torch.tensor([0.5 + 1j, -1.0 + 0.2j], dtype=torch.complex128, requires_grad=True)
    x = torch.tensor([0.5, -1.0], dtype=torch.float64, requires_grad=True)
    for f, i in (
        (lambda z: z * z, (z,)),
        (lambda z: z.abs(), (z,)),
        (lambda z, x: z.conj() * x, (z, x)),
        (lambda x: x * (1 + 2j), (x,)),
        (lambda z: (z.real * z.imag, z.exp()), (z,)),
    ):
        for kw in (
            {},
            dict(check_forward_ad=True),
            dict(fast_mode=True),
            dict(fast_mode=True, check_forward_ad=True),
        ):
            try:
                say(G(f, i, **kw))
            except Exception as e:
                say(kw, type(e).__name__, str(e)[:300])
        try:
            say(GG(f, i))
        except Exception as e:
            say(type(e).__name__, str(e)[:300])


def wrong(torch, say):
    G = torch.autograd.gradcheck
    x = torch.tensor([0.5, -1.0], dtype=torch.float64, requires_grad=True)
    F = function_class(torch, lambda ctx, x: x * 2, lambda ctx, g: g * 3, lambda ctx, t: t * 5)
    try_(say, lambda: G(F.apply, x))
    try_(say, lambda: G(F.apply, x, raise_exception=False))
    try_(say, lambda: G(F.apply, x, check_backward_ad=False, check_forward_ad=True))
    try_(say, lambda: G(F.apply, x, fast_mode=True, raise_exception=False))
    n = [0]

    def b(ctx, g):
        n[0] += 1
        return g * 2 + 1e-7 * n[0]

    F = function_class(torch, lambda ctx, x: x * 2, b)
    try_(say, lambda: G(F.apply, x))
    try_(say, lambda: G(F.apply, x, nondet_tol=1e-3))
    F = function_class(
        torch, lambda ctx, x: x * 2, lambda ctx, g: torch.ones(2, dtype=torch.float64) * 2
    )
    try_(say, lambda: G(F.apply, x))
    F = function_class(torch, lambda ctx, x: x * 2, lambda ctx, g: g * 2 + 1e-9)
    try_(say, lambda: G(F.apply, x))
    try_(say, lambda: G(F.apply, x, masked=True))
    try_(say, lambda: G(F.apply, x, masked=True, check_undefined_grad=False))
    F = function_class(torch, lambda ctx, x: x * 2, lambda ctx, g: (g * 2)[:1])
    try_(say, lambda: G(F.apply, x))

    class Und(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, a, b):
            return a * 2 + b * 3

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try_(say, lambda: G(Und.apply, x))
        try_(say, lambda: G(Und.apply, x, check_undefined_grad=False))
    z = torch.tensor([0.5 + 1j], dtype=torch.complex128, requires_grad=True)
    F = function_class(torch, lambda ctx, x: x * x, lambda ctx, g: g)
    try_(say, lambda: G(F.apply, z))


def bad_args(torch, say):
    G = torch.autograd.gradcheck
    GG = torch.autograd.gradgradcheck
    x = torch.tensor([0.5, -1.0], dtype=torch.float64, requires_grad=True)
    try_(say, lambda: G(lambda x: x, x.detach()))
    try_(say, lambda: G(lambda x: x, x, check_backward_ad=False))
    try_(
        say,
        lambda: G(
            lambda x: x, x, check_backward_ad=False, check_forward_ad=True, check_batched_grad=True
        ),
    )
    try_(say, lambda: G(lambda x: x, x, check_batched_forward_grad=True))
    try_(say, lambda: G(lambda x: x * 2, x.detach().float().requires_grad_(), atol=1e-1, eps=1e-2))
    try_(say, lambda: G(lambda x: x * 2, x.detach()[:1].expand(3).requires_grad_()))
    try_(say, lambda: G(lambda x: x.detach() * 2, x))
    try_(say, lambda: G(lambda x: x.detach() * 0, x))
    try_(say, lambda: GG(lambda x: x, x, check_rev_over_rev=False))
    try_(say, lambda: GG(lambda x: x, x, check_fwd_over_rev=True, check_rev_over_rev=False))
    try_(
        say,
        lambda: GG(
            lambda x: x,
            x,
            check_fwd_over_rev=True,
            check_rev_over_rev=False,
            check_undefined_grad=False,
            check_batched_grad=True,
        ),
    )

    def f(x):
        return torch.cat([x, x]) if x[0].item() > 0.5 else x

    try_(say, lambda: G(f, x))
    try_(say, lambda: GG(lambda x: x**3, x, torch.ones(2, dtype=torch.float64, requires_grad=True)))
    say(x)


@pytest.mark.parametrize("program", programs(globals()), ids=lambda f: f.__name__)
def test_as_pytorch(program):
    agree(program, digits=4)
