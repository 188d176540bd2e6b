"""Losses that are one node: their kernels give what the functions give in NumPy."""

import itertools
import warnings

import numpy as np
import pytest
from amount import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import funcgrad as fg
import funcgrad.torch as torch
from funcgrad.kernels import explain, load, losses
from funcgrad.kernels.choice import entries
from funcgrad.torch.nn import functional
from funcgrad.torch.nn.functional import write_losses

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
# of which all operations are exactly rounded, so that a kernel has the bits of NumPy
EXACT = ("squared_error", "smooth_l1_loss", "huber_loss")
REDUCTIONS = ("mean", "sum", "none")
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-30, 700.0]


def test_file_is_current():
    hint = "run python -m funcgrad.torch.nn.functional.write_losses"
    assert write_losses.PATH.read_text() == write_losses.text(), hint


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


def differentiated(name, x, y, weights, reduction, kernels, g=None):
    """The loss and both gradients; `g` is the cotangent of each element."""
    a, b = torch.from_numpy(x).requires_grad_(), torch.from_numpy(y).requires_grad_()
    fg.config.kernels = "always" if kernels else False
    try:
        with np.errstate(all="ignore"):
            loss = LOSSES[name][0](functional, a, b, [torch.tensor(w) for w in weights], reduction)
            if g is not None:
                loss.backward(torch.tensor(g))
            else:
                (loss.sum() * 1.5).backward()
    finally:
        fg.config.kernels = True
    second = None if b.grad is None else b.grad.numpy()
    return loss.detach().numpy(), a.grad.numpy(), second


@pytest.fixture
def any_size(monkeypatch):
    monkeypatch.setattr(losses, "FEWEST", 1)
    monkeypatch.setattr("funcgrad.transforms.node.FEWEST", 1)
    monkeypatch.setattr(fg.config, "kernels", "always")
    monkeypatch.setattr(losses, "PIECE", 256)  # as if arrays were of many pieces


def agree(one, other, name):
    eps = np.finfo(other[0].dtype).eps
    assert one[0].dtype == other[0].dtype
    if name in EXACT:
        np.testing.assert_array_equal(one[0], other[0])
    for a, b in zip(one, other, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            # a sum or difference of terms, each as large as the largest result
            largest = np.max(np.abs(b), initial=0.0, where=np.isfinite(b))
            np.testing.assert_allclose(a, b, rtol=32 * eps, atol=8 * eps * largest)


def check(name, shape, dtype, reduction, seed=0, special=False):
    operands = drawn(name, shape, dtype, seed, special)
    one = differentiated(name, *operands, reduction, True)
    agree(one, differentiated(name, *operands, reduction, False), name)


def ran(name, ends, before=()):
    """The entries of the kernels of a loss that have been called since."""
    calls = dict(before)
    return [
        e for k, e in entries.items()
        if e.name in [f"{name}_{end}" for end in ends] and e.calls > calls.get(k, 0)
    ]  # fmt: skip


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", LOSSES)
def test_kernel_is_the_function(name, dtype, reduction, any_size):
    check(name, (300, 10), dtype, reduction)
    for end in ("elements" if reduction == "none" else "total", "backward"):
        assert ran(name, [end]), explain()


@pytest.mark.parametrize("reduction", ["sum", "none"])
@pytest.mark.parametrize("name", LOSSES)
def test_special_values(name, reduction, any_size):
    check(name, (4, 10), np.float64, reduction, special=True)


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
    shape=st.sampled_from([(0, 3), (1, 1), (7,), (50, 3), (9, 40), (4, 5, 6), (3, 1, 70)]),
    dtype=st.sampled_from([np.float64, np.float32]),
    reduction=st.sampled_from(REDUCTIONS),
    layouts=st.tuples(LAYOUTS, LAYOUTS),
    special=st.booleans(),
    seed=st.integers(0, 99),
)
@settings(
    max_examples=examples(150),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_layouts(any_size, name, shape, dtype, reduction, layouts, special, seed):
    x, y, weights = drawn(name, shape, dtype, seed, special)
    x, y = laid_out(x, layouts[0]), laid_out(y, layouts[1])
    g = None
    if reduction == "none":
        g = np.random.default_rng(seed).normal(size=shape).astype(dtype)
        g[(0,) * len(shape) if x.size else ...] = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = differentiated(name, x, y, weights, reduction, True, g)
        other = differentiated(name, x, y, weights, reduction, False, g)
    agree(one, other, name)


@given(st.integers(1, 3000), st.integers(0, 99))
@settings(max_examples=examples(50), deadline=None)
def test_sums_are_those_of_numpy(size, seed):
    from funcgrad.kernels.pairwise import pairwise_sum

    rng = np.random.default_rng(seed)
    x = rng.normal(size=size).astype(np.float32)
    assert pairwise_sum(x, 0, size) == np.add.reduce(x)
    starts = losses._starts(size, 256)
    totals = np.array([np.add.reduce(x[a:b]) for a, b in itertools.pairwise(starts)])
    assert losses._added(totals) == np.add.reduce(x)


@pytest.mark.parametrize("name", LOSSES)
def test_large_losses_run_functions_of_numba(name, monkeypatch):
    import numba

    monkeypatch.setattr(fg.config, "kernels", "always")
    before = {k: e.calls for k, e in entries.items()}
    check(name, (10**5, 5), np.float32, "mean")
    for end in ("total", "backward"):
        found = ran(name, [end], before)
        assert found, explain()
        assert isinstance(load.dispatcher(found[0].name), numba.core.dispatcher.Dispatcher)


def test_higher_derivatives_do_not_see_the_kernel(any_size):
    x, y = (torch.tensor(v) for v in drawn("huber_loss", (50,), np.float64, 0)[:2])
    x.requires_grad_()
    (g,) = torch.autograd.grad(functional.huber_loss(x, y, reduction="sum"), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    np.testing.assert_array_equal(h.numpy(), (np.abs((x - y).detach().numpy()) < 1).astype(float))
