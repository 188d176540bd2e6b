"""The kernels of convolutions give what NumPy gives, for every window, and say so when they ran."""

import numpy as np
import pytest
from amount import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import funcgrad as fg
import funcgrad.torch as torch
from funcgrad.kernels import convolution as kernels
from funcgrad.kernels.sources import phases
from funcgrad.ops.convolution import (
    CONVOLUTION_FILTER,
    CONVOLUTION_INPUT,
    CONVOLUTION_RESULT,
    Window,
    convolution,
)

ran = []


@pytest.fixture(autouse=True)
def any_size(monkeypatch):
    """All sizes, and a note of what ran."""
    run = kernels._run

    def noted(plan, arrays):
        ran.append(plan)
        run(plan, arrays)

    monkeypatch.setattr(kernels, "LEAST", 1)
    monkeypatch.setattr(kernels, "_run", noted)


def calls():
    return len(ran)


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
    met = any(phase.taps for phase in phases(window)[0])  # a stride may step over all images
    assert calls() >= before + 2 + met


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("count", [1, 2])  # filters of a channel
def test_filters_of_few_channels_take_no_panel(count, stride, dtype, monkeypatch):
    window = Window((9, 37), (3, 5), (stride, stride), ((1, 1), (2, 1)), (1, 2))
    rng = np.random.default_rng(0)
    shapes = (3, 5, 9, 37), (5 * count, 1, 3, 5), (3, 5 * count, *window.places)
    x, w, y = (rng.normal(size=shape).astype(dtype) for shape in shapes)
    check(CONVOLUTION_RESULT, x, w, window, 5)
    check(CONVOLUTION_INPUT, y, w, window, 5)
    check(CONVOLUTION_FILTER, x, y, window, 5)
    for name in ("GRAIN", "SHARED"):
        monkeypatch.setattr(kernels, name, 1)
    found = []
    for threads in (1, 3):
        monkeypatch.setattr(fg.config, "threads", threads)
        found.append([kernels.results(x, w, window, 5), kernels.filters(x, y, window, 5)])
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one, two)


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
    monkeypatch.setattr(kernels, "SHARED", 1)
    for name in ("GRAIN", "FILL_GRAIN", "FILL_SHARED"):
        monkeypatch.setattr(kernels, name, 1)
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


@pytest.mark.parametrize("layer", ["Conv2d", "ConvTranspose2d"])
def test_a_layer_runs_native_code_both_ways_with_the_same_bits_at_every_call(layer):
    layer = getattr(torch.nn, layer)(4, 8, 3, padding=1)
    x = torch.randn(4, 4, 16, 16).requires_grad_()
    found = []
    for _ in range(3):
        x.grad = None
        before = calls()
        y = layer(x)
        y.square().sum().backward()
        assert calls() == before + 3
        found.append((y.detach().numpy(), x.grad.numpy()))
    with torch.no_grad():
        found.append((layer(x).numpy(), found[0][1]))
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("images, filters", [(1, 1), (1, 64), (3, 30), (70, 7)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_panels_that_end_within_images_and_terms_that_fill_several(images, filters, dtype):
    """More terms than a panel has, and places that are no multiple of it."""
    window = Window((5, 7), (2, 3), (1, 1), ((0, 1), (1, 0)), (1, 1))
    channels = 60
    rng = np.random.default_rng(0)
    x = rng.normal(size=(images, channels, 5, 7)).astype(dtype)
    w = rng.normal(size=(filters, channels, 2, 3)).astype(dtype)
    y = rng.normal(size=(images, filters, *window.places)).astype(dtype)
    check(CONVOLUTION_RESULT, x, w, window, 1)
    check(CONVOLUTION_INPUT, y, w, window, 1)
    check(CONVOLUTION_FILTER, x, y, window, 1)


def test_without_kernels_numpy_gives_the_same_but_for_rounding(monkeypatch):
    layer = torch.nn.Conv2d(4, 8, 3, padding=1, dtype=torch.float64)
    x = torch.randn(4, 4, 16, 16, dtype=torch.float64)
    found = layer(x).detach().numpy()
    monkeypatch.setattr(fg.config, "kernels", False)
    before = calls()
    np.testing.assert_allclose(layer(x).detach().numpy(), found, rtol=1e-12, atol=1e-12)
    assert calls() == before
