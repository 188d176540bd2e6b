"""Images read at the places of grids, beside PyTorch: values, gradients and refusals."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import funcgrad.torch as ours

from .both import same, theirs

MODES = list(
    itertools.product(
        ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection"), (True, False)
    )
)
SHAPES = [((2, 3, 5, 6), (2, 4, 7, 2)), ((2, 2, 1, 6), (2, 3, 3, 2)),
          ((2, 2, 3, 4, 5), (2, 3, 2, 4, 3))]  # fmt: skip
EDGES = [-1, 1, 0, 0.5, -0.5, 1 / 3, 3, -3, 5]
CLOSE = {np.float64: 1e-10, np.float32: 2e-4}


def sampled(torch, x, grid, mode, padding, align):
    x, grid = torch.tensor(x, requires_grad=True), torch.tensor(grid, requires_grad=True)
    f = torch.nn.functional
    y = f.grid_sample(x, grid, mode, padding, align_corners=align)
    weights = torch.cos(torch.arange(y.numel(), dtype=y.dtype)).reshape(y.shape)
    found = torch.autograd.grad((y * y * weights).sum(), (x, grid))
    return [v.detach().numpy() for v in (y, *found)], type(y.grad_fn).__name__


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("settings", MODES, ids=str)
@pytest.mark.parametrize("dtype", list(CLOSE))
def test_grid_sample_has_pytorchs_values_and_gradients(dtype, settings, shapes):
    if theirs is None or (settings[0] == "bicubic" and len(shapes[0]) == 5):
        pytest.skip("PyTorch is not installed, or has none")
    rng = np.random.default_rng(0)
    x, grid = rng.normal(size=shapes[0]), rng.uniform(-2.5, 2.5, shapes[1])
    grid.flat[: len(EDGES)] = EDGES
    x, grid = x.astype(dtype), grid.astype(dtype)
    expected, name = sampled(theirs, x, grid, *settings)
    got, own = sampled(ours, x, grid, *settings)
    assert own == name
    for e, g in zip(expected, got, strict=True):
        assert e.dtype == g.dtype
        np.testing.assert_allclose(g, e, rtol=CLOSE[dtype], atol=CLOSE[dtype])


@pytest.mark.costly
@pytest.mark.parametrize("settings", [m for m in MODES if m[0] != "nearest"], ids=str)
def test_second_derivatives_of_grid_sample(settings):
    """PyTorch has none."""
    mode, padding, align = settings
    rng = np.random.default_rng(1)
    x = ours.tensor(rng.normal(size=(1, 1, 3, 4)), requires_grad=True)
    grid = ours.tensor(rng.uniform(-1.7, 1.7, (1, 2, 1, 2)), requires_grad=True)

    def f(x, grid):
        return ours.nn.functional.grid_sample(x, grid, mode, padding, align_corners=align)

    assert ours.autograd.gradgradcheck(f, (x, grid))


def test_half_precision_is_that_of_single_precision_rounded():
    rng = np.random.default_rng(2)
    x, grid = rng.normal(size=(1, 2, 4, 5)), rng.uniform(-1.5, 1.5, (1, 3, 4, 2))
    x, grid = ours.tensor(x).half(), ours.tensor(grid).half()
    for mode, padding, align in MODES:
        f = ours.nn.functional.grid_sample
        y = f(x, grid, mode, padding, align_corners=align)
        wide = f(x.float(), grid.float(), mode, padding, align_corners=align)
        assert ours.equal(y, wide.half())


def not_finite(torch, say):
    nan, inf = float("nan"), float("inf")
    grid = torch.tensor([[[[nan, 0.0], [inf, 0.0], [-inf, 0.1], [1e30, 0.0]]]])
    x = torch.arange(1.0, 17.0).reshape(1, 1, 4, 4)
    for mode, padding, align in MODES:
        y = torch.nn.functional.grid_sample(x, grid, mode, padding, align_corners=align)
        say(mode, padding, align, y)


@pytest.mark.parametrize("align", [True, False, None])
@pytest.mark.parametrize("size", [(2, 1, 3, 4), (2, 1, 1, 4), (2, 1, 2, 3, 4)])
@pytest.mark.filterwarnings("ignore")
def test_affine_grid_has_pytorchs_values_and_gradients(size, align):
    if theirs is None:
        pytest.skip("PyTorch is not installed")
    rank = len(size) - 2
    theta = np.random.default_rng(0).normal(size=(2, rank, rank + 1))
    for dtype, close in ((np.float64, 1e-12), (np.float32, 1e-5)):
        found = []
        for torch in (theirs, ours):
            t = torch.tensor(theta.astype(dtype), requires_grad=True)
            grid = torch.nn.functional.affine_grid(t, size, align)
            (g,) = torch.autograd.grad((grid * grid).sum(), t)
            found.append((grid.detach().numpy(), g.numpy(), type(grid.grad_fn).__name__))
        for e, g in zip(*(f[:2] for f in found), strict=True):
            assert e.dtype == g.dtype
            np.testing.assert_allclose(g, e, rtol=close, atol=close)
        assert found[0][2] == found[1][2]


def refusals(torch, say):
    f, x, g = torch.nn.functional, torch.ones(1, 2, 3, 4), torch.zeros(1, 5, 6, 2)
    theta = torch.ones(1, 2, 3)
    for call in (
        lambda: f.grid_sample(x, g, "sharp"), lambda: f.grid_sample(x, g, padding_mode="none"),
        lambda: f.grid_sample(x.long(), g.long()), lambda: f.grid_sample(x, g.double()),
        lambda: f.grid_sample(x, g[0]), lambda: f.grid_sample(x, g[..., :1]),
        lambda: f.grid_sample(x, torch.zeros(2, 5, 6, 2)), lambda: f.grid_sample(x[:, :, :0], g),
        lambda: f.grid_sample(x[None], torch.zeros(1, 1, 1, 1, 3), "bicubic"),
        lambda: f.grid_sample(x[0], g), lambda: f.grid_sample(x[:, :0], g).shape,
        lambda: f.grid_sample(x[:0], g[:0]).shape, lambda: f.affine_grid(theta, (2, 2, 3, 4)),
        lambda: f.affine_grid(theta, (1, 2, 3)), lambda: f.affine_grid(theta, (1, 2, 3, 4, 5)),
        lambda: f.affine_grid(theta.long(), (1, 2, 3, 4)),
        lambda: f.affine_grid(theta, (1, 2, 0, 4)),
    ):  # fmt: skip
        try:
            say(call())
        except (RuntimeError, ValueError, NotImplementedError) as error:
            say(type(error).__name__, error)


@pytest.mark.parametrize("program", [not_finite, refusals], ids=lambda p: p.__name__)
def test_program_says_the_same(program):
    same(program)


def test_a_spatial_transformer_under_vmap_and_compiled():
    rng = np.random.default_rng(0)
    x = ours.tensor(rng.normal(size=(2, 3, 5, 6)))
    theta = ours.tensor(rng.normal(size=(2, 2, 3)))

    def energy(theta, image):
        f = ours.nn.functional
        grid = f.affine_grid(theta[None], (1, 3, 4, 4), align_corners=False)
        return f.grid_sample(image[None], grid, align_corners=False).square().sum()

    slope = ours.func.grad(energy)
    each = ours.stack([slope(t, image) for t, image in zip(theta, x, strict=True)])
    ours.testing.assert_close(ours.func.vmap(slope)(theta, x), each)
    ours.testing.assert_close(ours.compile(energy)(theta[0], x[0]), energy(theta[0], x[0]))
