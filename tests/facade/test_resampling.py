"""Images in other sizes, beside PyTorch: every mode, ways to say the size, gradients, refusals."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import funcgrad.torch as ours

from .both import same, theirs
from .test_pooling import outcome

MODES = {
    (2, 3, 7): ["nearest", "nearest-exact", "linear", "area"],
    (2, 2, 5, 6): ["nearest", "nearest-exact", "bilinear", "bicubic", "area", "lanczos"],
    (1, 2, 3, 4, 5): ["nearest", "nearest-exact", "trilinear", "area"],
}
SIZES = [{"size": n} for n in (1, 3, 6, 7, 14)]
SIZES += [
    {"scale_factor": s, "recompute_scale_factor": again}
    for s in (0.5, 1.0, 1.7, 2, 2.6)
    for again in (None, True, False)
]
CASES = [(shape, mode) for shape, modes in MODES.items() for mode in modes]
CLOSE = {np.float64: 1e-11, np.float32: 2e-5, np.float16: 2e-2}


def settings(mode, dtype):
    """What else may be said with a mode."""
    corners = [None] if mode in ("nearest", "nearest-exact", "area", "lanczos") else [None, True]
    smooth = [mode == "lanczos"]
    if mode in ("bilinear", "bicubic") and dtype != np.float16:
        smooth.append(True)
    return itertools.product(corners, smooth)


@pytest.mark.parametrize("dtype", list(CLOSE))
@pytest.mark.parametrize(("shape", "mode"), CASES)
def test_resampling_has_pytorchs_values_and_gradients(shape, mode, dtype):
    if theirs is None or (mode, dtype) in (("lanczos", np.float16), ("area", np.float16)):
        pytest.skip("PyTorch has none, or rounds the sums of its gradients otherwise")
    x = np.random.default_rng(len(shape)).normal(size=shape).astype(dtype)
    for how, (corners, smooth) in itertools.product(SIZES, settings(mode, dtype)):

        def function(torch, t, how=how, corners=corners, smooth=smooth):
            f = torch.nn.functional
            return f.interpolate(t, **how, mode=mode, align_corners=corners, antialias=smooth)

        expected, name = outcome(theirs, x, function)
        got, own = outcome(ours, x, function)
        assert own == name
        for e, g in zip(expected, got, strict=True):
            assert e.dtype == g.dtype
            np.testing.assert_allclose(g, e, rtol=CLOSE[dtype], atol=CLOSE[dtype])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
def test_the_nearest_element_is_pytorchs_for_every_size(mode, dtype):
    if theirs is None:
        pytest.skip("PyTorch is not installed")
    rng = np.random.default_rng(0)
    for n, count in [(2, 109), (10, 415), *rng.integers(1, 600, (100, 2))]:
        x = np.arange(n).astype(dtype)[None, None]
        for how in ({"size": int(count)}, {"scale_factor": float(1.0001 * count / n)}):
            e, g = (t.nn.functional.interpolate(t.tensor(x), **how, mode=mode).numpy()
                    for t in (theirs, ours))  # fmt: skip
            np.testing.assert_array_equal(g, e)


def test_what_is_not_finite_stays_among_the_elements_that_read_it():
    if theirs is None:
        pytest.skip("PyTorch is not installed")
    x = np.ones((1, 1, 9, 9))
    x[0, 0, 4, 4] = np.nan
    for size, mode in itertools.product((5, 17), ("bilinear", "bicubic")):
        for smooth in (False, True):
            e, g = (t.nn.functional.interpolate(t.tensor(x), size, mode=mode, antialias=smooth)
                    for t in (theirs, ours))  # fmt: skip
            np.testing.assert_allclose(g.numpy(), e.numpy())


def layers(torch, say):
    nn = torch.nn
    x = torch.arange(12.0).reshape(1, 1, 3, 4)
    for layer in (
        nn.Upsample(scale_factor=2), nn.Upsample((2, 5), mode="bilinear"), nn.Upsample(size=3),
        nn.Upsample(scale_factor=(2, 3), mode="bicubic", align_corners=True),
        nn.UpsamplingNearest2d(scale_factor=2), nn.UpsamplingBilinear2d((4, 5)),
        nn.Upsample(scale_factor=1.3, mode="bilinear", recompute_scale_factor=True),
    ):  # fmt: skip
        say(layer, layer.name, layer(x), list(layer.state_dict()))
    f = torch.nn.functional
    say(f.upsample(x, 2), f.upsample_nearest(x, 2), f.upsample_bilinear(x, (2, 2)))
    say(f.interpolate(x.to(torch.uint8), 5, mode="nearest-exact"))
    say(f.interpolate(x[:0], (5, 6)).shape, f.interpolate(x, torch.tensor(5)).shape)


def refusals(torch, say):
    f, x = torch.nn.functional.interpolate, torch.ones(1, 2, 3, 4)
    for call in (
        lambda: f(x, 5, mode="linear"), lambda: f(x, 5, mode="trilinear"), lambda: f(x),
        lambda: f(x[0], 5, mode="bilinear"), lambda: f(x[None], 5, mode="bicubic"),
        lambda: f(x, 5, mode="lanczos"), lambda: f(x, 5, mode="sharp"), lambda: f(x[0, 0], 5),
        lambda: f(x, 5, mode="lanczos", align_corners=True, antialias=True),
        lambda: f(x, 5, antialias=True), lambda: f(x, 5, 2.0), lambda: f(x, (5,)),
        lambda: f(x, scale_factor=(2, 2, 2)), lambda: f(x, 5, align_corners=True),
        lambda: f(x, 5, recompute_scale_factor=True), lambda: f(x, (5.0, 6)),
        lambda: f(x, (0, 6)), lambda: f(x, (-1, 6)), lambda: f(x, scale_factor=0.1),
        lambda: f(x[:, :0], 5), lambda: f(x[:, :, :0], 5), lambda: f(x[0, :, :, :0], 5),
        lambda: f(x[None, :, :, :, :0], 5, mode="trilinear"),
        lambda: f(x.half(), 5, mode="bilinear", antialias=True),
    ):  # fmt: skip
        try:
            say(call())
        except (RuntimeError, ValueError, TypeError, NotImplementedError) as error:
            say(type(error).__name__, error)


@pytest.mark.parametrize("program", [layers, refusals], ids=lambda program: program.__name__)
def test_program_says_the_same(program):
    same(program)


@pytest.mark.parametrize("mode", ["nearest", "bilinear"])
def test_integers_are_refused_where_they_would_be_rounded(mode):
    f = ours.nn.functional.interpolate
    with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
        f(ours.ones(1, 1, 2, 2).long(), 3, mode=mode)
    with pytest.raises(NotImplementedError, match="not implemented for 'Byte'"):
        f(ours.ones(1, 1, 2, 2).to(ours.uint8), 3, mode="bilinear")


def test_under_vmap_and_in_compiled_functions():
    x = ours.tensor(np.random.default_rng(0).normal(size=(2, 3, 5, 6)))

    def energy(image):
        f = ours.nn.functional.interpolate
        large = f(image[None], scale_factor=1.7, mode="bicubic")
        return large.square().sum() + f(image[None], 3, mode="bilinear", antialias=True).sum()

    each = ours.stack([ours.func.grad(energy)(image) for image in x])
    ours.testing.assert_close(ours.func.vmap(ours.func.grad(energy))(x), each)
    ours.testing.assert_close(ours.compile(energy)(x[0]), energy(x[0]))
