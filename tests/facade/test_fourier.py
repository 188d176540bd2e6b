"""`torch.fft` beside PyTorch: values, nodes, gradients of both orders, options and refusals."""

from __future__ import annotations

import numpy as np
import pytest

import funcgrad.torch as ours

from .both import theirs

ONE = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
MANY = ["fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"]
OF_REAL = ("rfft", "ihfft")
OPTIONS = {
    **{name: [{}, {"n": 4}, {"n": 9}, {"dim": 0}, {"dim": -2, "norm": "ortho"}, {"norm": "forward"}]
       for name in ONE},
    **{name: [{}, {"norm": "ortho"}, {"s": (3, 6)}, {"s": (-1, 3), "norm": "forward"},
              {"dim": (0, 1)}, {"s": (4,), "dim": (1,)}] for name in MANY},
}  # fmt: skip


def shown(torch, name, options, dtype):
    """What one transform gives, its node, and what comes back of a gradient and of a second."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4, 3, 5))
    if dtype.startswith("complex"):
        x = x + 1j * rng.normal(size=x.shape)
    t = torch.tensor(x, dtype=getattr(torch, dtype)).requires_grad_()
    y = getattr(torch.fft, name)(t, **options)
    (g,) = torch.autograd.grad((y.abs() ** 2).sum() + y.real.sum(), t, create_graph=True)
    (h,) = torch.autograd.grad((g.abs() ** 2).sum(), t)
    found = [v.detach().resolve_conj().numpy() for v in (y, g, h)]
    return found, type(y.grad_fn).__name__


@pytest.mark.parametrize("dtype", ["float64", "complex128", "float32", "complex64"])
@pytest.mark.parametrize("name", [*ONE, *MANY])
def test_values_nodes_and_gradients(name, dtype):
    if theirs is None:
        pytest.skip("PyTorch is not installed")
    if dtype.startswith("complex") and name.startswith(OF_REAL):
        return
    tolerance = 1e-9 if dtype in ("float64", "complex128") else 2e-3
    for options in OPTIONS[name]:
        expected, node = shown(theirs, name, options, dtype)
        got, own = shown(ours, name, options, dtype)
        assert own == node
        for e, g in zip(expected, got, strict=True):
            assert e.dtype == g.dtype
            np.testing.assert_allclose(g, e, rtol=tolerance, atol=tolerance)


def told(torch, call):
    try:
        found = call(torch)
    except Exception as error:
        return type(error).__name__, str(error)
    return str(found.dtype), found.shape, np.round(found.resolve_conj().numpy(), 5).tolist()


CALLS = [
    lambda t: t.fft.fft(X(t), n=0), lambda t: t.fft.fft(X(t), n=-1),
    lambda t: t.fft.fft(X(t), dim=3),
    lambda t: t.fft.fft(X(t), norm="x"), lambda t: t.fft.rfft(X(t) + 0j),
    lambda t: t.fft.ihfft(X(t) + 0j), lambda t: t.fft.fft(t.ones(3, dtype=t.float16)),
    lambda t: t.fft.fftn(X(t), s=(2, 2), dim=(0,)), lambda t: t.fft.fftn(X(t), dim=(0, 0)),
    lambda t: t.fft.fft(t.tensor(1.0)), lambda t: t.fft.fftn(X(t), s=(1, 2, 3)),
    lambda t: t.fft.irfft(X(t), n=0), lambda t: t.fft.fft(t.ones(2, 0)),
    lambda t: t.fft.irfft(t.ones(2, 1)), lambda t: t.fft.fft("a"), lambda t: t.fft.fftn(X(t), 2.5),
    lambda t: t.fft.fft(t.arange(3)), lambda t: t.fft.fft(t.ones(3, dtype=t.bool)),
    lambda t: t.fft.fftshift(X(t)), lambda t: t.fft.fftshift(t.arange(5)),
    lambda t: t.fft.ifftshift(t.arange(5)), lambda t: t.fft.ifftshift(X(t), dim=0),
    lambda t: t.fft.fftfreq(5, 0.5), lambda t: t.fft.rfftfreq(4),
    lambda t: t.fft.fftfreq(4, dtype=t.float64), lambda t: t.fft.fft(X(t).t(), dim=0),
    lambda t: t.fft.fft(X(t), out=t.empty(2, 3, dtype=t.complex64)),
]  # fmt: skip


def X(torch):
    return torch.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize("call", range(len(CALLS)))
def test_options_and_refusals(call):
    if theirs is None:
        pytest.skip("PyTorch is not installed")
    assert told(ours, CALLS[call]) == told(theirs, CALLS[call])


def test_under_vmap_and_in_compiled_functions():
    x = ours.randn(3, 8, dtype=ours.float64)

    def power(v):
        return ours.fft.rfft(v).abs().square().sum()

    each = ours.stack([power(v) for v in x])
    ours.testing.assert_close(ours.func.vmap(power)(x), each)
    slopes = ours.func.vmap(ours.func.grad(power))(x)
    ours.testing.assert_close(slopes[1], ours.func.grad(power)(x[1]))
    ours.testing.assert_close(ours.compile(power)(x[0]), each[0])
