"""Losses of elements, added up in native code: what the functions give in NumPy, and in PyTorch."""

import warnings

import numpy as np
import pytest
from amount import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import funcgrad as fg
import funcgrad.torch as torch
from funcgrad.torch import flat
from funcgrad.torch.nn import functional

# by name: the loss of (x, y, further operands, reduction), how many these are, and whether the
# first two are probabilities
LOSSES = {
    "squared_error": (lambda F, x, y, w, r: F.mse_loss(x, y, reduction=r), 0, False),
    "smooth_l1_loss": (
        lambda F, x, y, w, r: F.smooth_l1_loss(x, y, reduction=r, beta=0.7), 0, False,
    ),
    "huber_loss": (
        lambda F, x, y, w, r: F.huber_loss(x, y, reduction=r, delta=0.7), 0, False,
    ),
    "binary_cross_entropy": (
        lambda F, x, y, w, r: F.binary_cross_entropy(x, y, reduction=r), 0, True,
    ),
    "binary_cross_entropy_weight": (
        lambda F, x, y, w, r: F.binary_cross_entropy(x, y, w[0], reduction=r), 1, True,
    ),
    "binary_cross_entropy_with_logits": (
        lambda F, x, y, w, r: F.binary_cross_entropy_with_logits(x, y, reduction=r), 0, False,
    ),
    "binary_cross_entropy_with_logits_weight": (
        lambda F, x, y, w, r: F.binary_cross_entropy_with_logits(x, y, w[0], reduction=r),
        1, False,
    ),
    "binary_cross_entropy_with_logits_pos_weight": (
        lambda F, x, y, w, r: F.binary_cross_entropy_with_logits(
            x, y, pos_weight=w[0], reduction=r
        ),
        1, False,
    ),
    "binary_cross_entropy_with_logits_weight_pos_weight": (
        lambda F, x, y, w, r: F.binary_cross_entropy_with_logits(
            x, y, w[0], pos_weight=w[1], reduction=r
        ),
        2, False,
    ),
    "soft_margin_loss": (lambda F, x, y, w, r: F.soft_margin_loss(x, y, reduction=r), 0, False),
}  # fmt: skip
CONSTANT_TARGET = ("soft_margin_loss",)  # a target that requires grad is refused, as by PyTorch
REDUCTIONS = ("mean", "sum", "none")
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-30, 700.0]


def drawn(name, shape, dtype, seed, special=False):
    """The operands: two of the shape, and weights of the last axis."""
    rng = np.random.default_rng(seed)
    _, count, probabilities = LOSSES[name]
    x, y = rng.normal(size=(2, *shape))
    weights = [rng.uniform(0.5, 2, shape[-1:]).astype(dtype) for _ in range(count)]
    flat = x.reshape(-1)
    if probabilities:
        x, y = 1 / (1 + np.exp(-3 * x)), 1 / (1 + np.exp(-y))
        flat = x.reshape(-1)
        if special:
            flat[:4] = [0.0, 1.0, 1e-30, 1e-13][: flat.size]
    elif special:
        flat[: len(SPECIAL)] = rng.permutation(SPECIAL)[: flat.size]
    return x.astype(dtype), y.astype(dtype), weights


def differentiated(name, x, y, weights, reduction, native, g=None, t=torch):
    """The loss and both gradients; `g` is the cotangent of each element."""
    a, b = (t.from_numpy(v.copy("K")) for v in (x, y))
    a.requires_grad_()
    b.requires_grad_(name not in CONSTANT_TARGET)
    before, fg.config.kernels = fg.config.kernels, native
    try:
        ws = [t.tensor(w) for w in weights]
        loss = LOSSES[name][0](t.nn.functional, a, b, ws, reduction)
        if g is not None:
            loss.backward(t.from_numpy(g))
        else:
            (loss.sum() * 1.5).backward()
    finally:
        fg.config.kernels = before
    second = None if b.grad is None else b.grad.numpy()
    return loss.detach().numpy(), a.grad.numpy(), second


def agree(one, other):
    eps = np.finfo(other[0].dtype).eps
    assert one[0].dtype == other[0].dtype
    for a, b in zip(one, other, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            # a sum or difference of terms, each as large as the largest result
            largest = np.max(np.abs(b), initial=0.0, where=np.isfinite(b))
            np.testing.assert_allclose(a, b, rtol=32 * eps, atol=8 * eps * largest)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", LOSSES)
def test_native_code_is_the_function(name, dtype, reduction, monkeypatch):
    monkeypatch.setattr(flat, "_codes", {})
    operands = drawn(name, (300, 10), dtype, 0)
    one = differentiated(name, *operands, reduction, True)
    agree(one, differentiated(name, *operands, reduction, False))
    found = [form for (_, form), code in flat._codes.items() if code is not None]
    assert [f.total for f in found if f.wanted is None] == [reduction != "none"]
    assert any(f.wanted is not None for f in found)


@pytest.mark.parametrize("name", LOSSES)
def test_losses_are_those_of_pytorch(name):
    pytorch = pytest.importorskip("torch")
    operands = drawn(name, (flat.PIECE, 5), np.float32, 3)
    one = differentiated(name, *operands, "mean", True)
    other = differentiated(name, *operands, "mean", True, t=pytorch)
    for a, b in zip(one, other, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(a, b, rtol=3e-5, atol=1e-6 * np.abs(b).max())


@pytest.mark.parametrize("reduction", ["sum", "none"])
@pytest.mark.parametrize("name", LOSSES)
def test_special_values(name, reduction):
    operands = drawn(name, (60, 10), np.float64, 0, special=True)
    with np.errstate(all="ignore"):
        one = differentiated(name, *operands, reduction, True)
        agree(one, differentiated(name, *operands, reduction, False))


def laid_out(x, layout):
    """An array like `x` that lies otherwise in memory."""
    if layout == "fortran":
        return np.asfortranarray(x)
    if layout == "gaps":
        wide = np.zeros((*x.shape[:-1], 2 * x.shape[-1]), x.dtype)
        wide[..., ::2] = x
        return wide[..., ::2]
    if layout == "repeated" and x.size:
        return np.broadcast_to(x[:1], x.shape)
    return x


LAYOUTS = st.sampled_from(["whole", "fortran", "gaps", "repeated"])


@given(
    name=st.sampled_from(sorted(LOSSES)),
    shape=st.sampled_from([(0, 3), (1, 1), (700,), (200, 3), (9, 80), (40, 5, 6), (10, 1, 70)]),
    dtype=st.sampled_from([np.float64, np.float32]),
    reduction=st.sampled_from(REDUCTIONS),
    layouts=st.tuples(LAYOUTS, LAYOUTS),
    special=st.booleans(),
    seed=st.integers(0, 99),
)
@settings(max_examples=examples(100), deadline=None)
def test_layouts(name, shape, dtype, reduction, layouts, special, seed):
    x, y, weights = drawn(name, shape, dtype, seed, special)
    x, y = laid_out(x, layouts[0]), laid_out(y, layouts[1])
    g = None
    if reduction == "none":
        g = np.random.default_rng(seed).normal(size=shape).astype(dtype)
        g[(0,) * len(shape) if x.size else ...] = 0.0
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        one = differentiated(name, x, y, weights, reduction, True, g)
        other = differentiated(name, x, y, weights, reduction, False, g)
    agree(one, other)


def test_any_number_of_threads_has_the_same_bits(monkeypatch):
    operands = drawn("binary_cross_entropy_with_logits", (50_000, 5), np.float32, 1)
    found = []
    for threads in (1, 3):
        monkeypatch.setattr(fg.config, "threads", threads)
        found.append(differentiated("binary_cross_entropy_with_logits", *operands, "sum", True))
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)


def test_sums_of_many_small_elements_keep_single_precision():
    x = torch.full((1 << 22,), 0.1)
    loss = functional.mse_loss(x, torch.zeros_like(x), reduction="sum")
    expected = float(np.float32(0.1) * np.float32(0.1)) * (1 << 22)
    np.testing.assert_allclose(loss.item(), expected, rtol=1e-6)


def test_higher_derivatives_do_not_see_native_code():
    x, y = (torch.tensor(v) for v in drawn("huber_loss", (600,), np.float64, 0)[:2])
    x.requires_grad_()
    (g,) = torch.autograd.grad(functional.huber_loss(x, y, reduction="sum"), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    np.testing.assert_array_equal(h.numpy(), (np.abs((x - y).detach().numpy()) < 1).astype(float))


def test_weights_that_are_differentiated_or_repeated():
    rng = np.random.default_rng(0)
    x, y = (torch.tensor(v) for v in rng.normal(size=(2, 90, 10)))
    for shape in ((90, 10), (10,), (1,)):
        w = torch.tensor(rng.uniform(1, 2, shape)).requires_grad_()
        functional.binary_cross_entropy_with_logits(x, y, w, reduction="sum").backward()
        fine = functional.binary_cross_entropy_with_logits(x, y, reduction="none").numpy()
        expected = fine.reshape(-1, *shape).sum(0) if shape != (1,) else fine.sum().reshape(1)
        np.testing.assert_allclose(w.grad.numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("size", [3, 700, 20_000])
@pytest.mark.parametrize("name", ["mse_loss", "gelu", "silu", "elu", "leaky_relu", "mish"])
def test_values_are_the_same_bits_whether_recorded_or_not(name, size):
    x, y = (torch.tensor(v) for v in np.random.default_rng(size).normal(size=(2, size)))
    function = getattr(functional, name)
    operands = (x, y) if name == "mse_loss" else (x,)
    plain = function(*operands)
    with torch.no_grad():
        alone = function(*operands)
    recorded = function(x.requires_grad_(), *operands[1:]).detach()
    np.testing.assert_array_equal(plain.numpy(), recorded.numpy())
    np.testing.assert_array_equal(alone.numpy(), recorded.numpy())
    for _ in range(70):  # until a recipe is followed
        again = function(x, *operands[1:]).detach()
    np.testing.assert_array_equal(again.numpy(), recorded.numpy())
