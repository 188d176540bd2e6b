"""The kernels of convolutions give what NumPy gives, for every window, and say so when they ran."""

import numpy as np
import pytest
from amount import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import funcgrad as fg
import funcgrad.torch as torch
from funcgrad.kernels import convolution as kernels
from funcgrad.kernels.choice import entries
from funcgrad.ops.convolution import (
    CONVOLUTION_FILTER,
    CONVOLUTION_INPUT,
    CONVOLUTION_RESULT,
    Window,
    convolution,
)


@pytest.fixture(autouse=True)
def any_size(monkeypatch, always):
    monkeypatch.setattr(kernels, "LEAST", 1)


def calls():
    return sum(e.calls for (name, _), e in entries.items() if name.startswith("convolution"))


def check(prim, a, b, window, groups):
    rule = prim.impl.args[0]
    with np.errstate(all="ignore"):
        expected = rule(a, b, window=window, groups=groups)
        found = prim.impl(a, b, window=window, groups=groups)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    finite = expected[np.isfinite(expected)]
    tolerance = 256 * np.finfo(a.dtype).eps
    size = np.max(np.abs(finite), initial=0.0)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * size)


windows = st.integers(1, 3).flatmap(
    lambda rank: st.tuples(
        *(
            st.tuples(st.integers(1, 9), st.integers(1, 3), st.integers(1, 3), st.integers(0, 2),
                      st.integers(0, 2), st.integers(1, 3))
            for _ in range(rank)
        )
    )
)  # fmt: skip


@settings(max_examples=examples(120), deadline=None)
@given(
    windows,
    st.tuples(*(st.integers(1, 6) for _ in range(4))),
    st.sampled_from([np.float64, np.float32]),
    st.sampled_from(["plain", "strided", "broadcast", "read-only"]),
)
def test_every_window(axes, extents, dtype, layout):
    size, kernel, stride, low, high, dilation = zip(*axes, strict=True)
    window = Window(size, kernel, stride, tuple(zip(low, high, strict=True)), dilation)
    if 0 in window.places:
        return
    images, groups, channels, filters = extents
    rng = np.random.default_rng(0)

    def made(shape):
        x = rng.normal(size=(*shape[:-1], 2 * shape[-1])).astype(dtype)[..., ::2]
        if layout == "broadcast":
            return np.broadcast_to(x[..., :1], shape)
        x = x if layout == "strided" else np.ascontiguousarray(x)
        x.flags.writeable = layout != "read-only"
        return x

    x = made((images, groups * channels, *size))
    w = made((groups * filters, channels, *kernel))
    y = made((images, groups * filters, *window.places))
    before = calls()
    check(CONVOLUTION_RESULT, x, w, window, groups)
    check(CONVOLUTION_INPUT, y, w, window, groups)
    check(CONVOLUTION_FILTER, x, y, window, groups)
    assert calls() >= before + 3


@pytest.mark.parametrize("special", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("place", [0, 7, 35])
def test_what_is_not_finite_stays_where_it_counts(special, place):
    window = Window((6, 6), (3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1))
    rng = np.random.default_rng(0)
    x, w, y = (rng.normal(size=s) for s in ((1, 1, 6, 6), (2, 1, 3, 3), (1, 2, 6, 6)))
    for prim, operands in ((CONVOLUTION_RESULT, (x, w)), (CONVOLUTION_INPUT, (y, w)),
                           (CONVOLUTION_FILTER, (x, y))):  # fmt: skip
        for k in range(2):
            changed = [a.copy() for a in operands]
            changed[k].reshape(-1)[place % changed[k].size] = special
            check(prim, *changed, window, 1)


def test_empty_operands_and_other_dtypes_stay_with_numpy():
    window = Window((4, 4), (2, 2), (1, 1), ((0, 0), (0, 0)), (1, 1))
    before = calls()
    for images, dtype in ((0, float), (1, complex), (1, int), (1, np.float16)):
        x, w = np.ones((images, 1, 4, 4), dtype), np.ones((1, 1, 2, 2), dtype)
        assert CONVOLUTION_RESULT.impl(x, w, window=window, groups=1).dtype == dtype
    cut = window._replace(padding=((0, -1), (0, 0)))
    assert (
        CONVOLUTION_RESULT.impl(np.ones((1, 1, 4, 4)), w.astype(float), window=cut, groups=1).size
        == 6
    )
    assert calls() == before


def test_the_number_of_threads_changes_no_bit(monkeypatch):
    window = Window((20, 20), (3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1))
    monkeypatch.setattr("funcgrad.kernels.threads.PARALLEL", 1)
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(8, 5, 20, 20)), rng.normal(size=(9, 5, 3, 3))
    f = lambda x, w: np.sum(np.sin(convolution(x, w, window)))
    found = []
    for threads in (1, 2, 5):
        monkeypatch.setattr(fg.config, "threads", threads)
        found.append((*fg.grad(f, (0, 1))(x, w), convolution(x, w, window)))
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, two)


def test_gradients_take_the_kernels_by_default():
    layer = torch.nn.Conv2d(4, 8, 3, padding=1, dtype=torch.float64)
    x = torch.randn(4, 4, 16, 16, dtype=torch.float64).requires_grad_()
    before = calls()
    layer(x).pow(2).sum().backward()
    assert calls() == before + 2
    assert "convolution_correlate (d): native code" in fg.kernels.explain()


@pytest.mark.parametrize("layer", ["Conv2d", "ConvTranspose2d"])
def test_values_are_the_same_bits_with_and_without_kernels(layer, monkeypatch):
    layer = getattr(torch.nn, layer)(4, 8, 3, padding=1)
    x = torch.randn(4, 4, 16, 16).requires_grad_()
    before = calls()
    y = layer(x)
    y.sum().backward()
    assert calls() == before + 2
    with torch.no_grad():
        plain = layer(x)
    monkeypatch.setattr(fg.config, "kernels", False)
    for other in (plain, layer(x)):
        np.testing.assert_array_equal(y.detach().numpy(), other.detach().numpy())
