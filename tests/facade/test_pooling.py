"""Pooling beside PyTorch: values, positions, gradients of both orders, and refusals."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import funcgrad.torch as ours

from .both import same, theirs

SHAPES = {1: (2, 3, 11), 2: (2, 3, 7, 9), 3: (2, 2, 5, 6, 7)}
NUMBERS = [  # kernel, stride, padding, dilation, ceil_mode
    (2, None, 0, 1, False), (3, 2, 1, 1, False), (3, 2, 1, 1, True), (2, 1, 1, 2, False),
    (2, 3, 0, 1, True), (3, 1, 0, 2, True), (1, 1, 0, 1, False),
]  # fmt: skip


def images(rank, dtype=np.float64, kind="random"):
    rng = np.random.default_rng(rank)
    shape = SHAPES[rank]
    if kind == "equal":
        return rng.integers(0, 3, shape).astype(dtype)
    x = rng.normal(size=shape).astype(dtype)
    if kind == "nan":
        x[rng.random(shape) < 0.2] = np.nan
        x[rng.random(shape) < 0.2] = -np.inf
    return x


def outcome(torch, x, function):
    """Values, other results, gradients, and a gradient of them, of a function of one tensor."""
    t = torch.tensor(x, requires_grad=True)
    found = function(torch, t)
    y, others = (found[0], found[1:]) if isinstance(found, tuple) else (found, ())
    weights = torch.cos(torch.arange(y.numel(), dtype=y.dtype)).reshape(y.shape)
    (g,) = torch.autograd.grad((y * y * weights).sum(), t, create_graph=True)
    (h,) = torch.autograd.grad((g * torch.sin(t.detach())).sum(), t)
    return [v.detach().numpy() for v in (y, *others, g, h)], type(y.grad_fn).__name__


def check(x, function):
    if theirs is None:
        pytest.skip("PyTorch is not installed")
    expected, name = outcome(theirs, x, function)
    got, own = outcome(ours, x, function)
    for e, g in zip(expected, got, strict=True):
        assert e.dtype == g.dtype
        np.testing.assert_allclose(g, e, rtol=3e-6 if x.dtype == np.float32 else 1e-12, atol=1e-6)
    assert own == name


@pytest.mark.parametrize("kind", ["random", "equal"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("numbers", NUMBERS)
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_max_pool(rank, numbers, dtype, kind):
    def function(torch, x):
        pool = getattr(torch.nn.functional, f"max_pool{rank}d")
        return pool(x, *numbers, return_indices=True)

    check(images(rank, dtype, kind), function)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_max_pool_of_infinities_and_nan(rank):
    for numbers in NUMBERS:

        def program(torch, say, numbers=numbers):
            pool = getattr(torch.nn.functional, f"max_pool{rank}d")
            y, at = pool(torch.tensor(images(rank, kind="nan")), *numbers, return_indices=True)
            say(y.tolist(), at.tolist())

        same(program)


@pytest.mark.parametrize("include", [True, False])
@pytest.mark.parametrize("numbers", NUMBERS)
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_avg_pool(rank, numbers, include):
    kernel, stride, padding, dilation, ceil = numbers
    if dilation > 1:
        return

    def function(torch, x):
        pool = getattr(torch.nn.functional, f"avg_pool{rank}d")
        return pool(x, kernel, stride, padding, ceil, include)

    check(images(rank), function)
    check(images(rank, np.float32), function)


@pytest.mark.parametrize("rank", [2, 3])
def test_avg_pool_with_a_divisor_and_unequal_windows(rank):
    for kernel, stride, padding, divisor in [(2, 2, 1, 3), ((3, 2, 1)[:rank], None, 0, -2)]:

        def function(torch, x, a=(kernel, stride, padding), d=divisor):
            return getattr(torch.nn.functional, f"avg_pool{rank}d")(x, *a, divisor_override=d)

        check(images(rank), function)


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("p", [1.0, 2.0, 3.0, float("inf")])
def test_lp_pool(rank, p):
    def function(torch, x):
        return getattr(torch.nn.functional, f"lp_pool{rank}d")(x * x + 0.5, p, 2)

    if theirs is None:
        pytest.skip("PyTorch is not installed")
    expected, _ = outcome(theirs, images(rank), function)
    got, _ = outcome(ours, images(rank), function)
    for e, g in zip(expected, got, strict=True):
        np.testing.assert_allclose(g, e, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_unpooling(rank):
    def function(torch, x):
        f = torch.nn.functional
        y, at = getattr(f, f"max_pool{rank}d")(x, 2, 2, return_indices=True)
        return getattr(f, f"max_unpool{rank}d")(y, at, 2, 2, output_size=x.shape)

    if theirs is None:
        pytest.skip("PyTorch is not installed")
    expected, _ = outcome(theirs, images(rank), function)
    got, _ = outcome(ours, images(rank), function)
    for e, g in zip(expected, got, strict=True):
        np.testing.assert_allclose(g, e, rtol=1e-12, atol=1e-12)


ADAPTIVE = {
    1: [1, 4, 11, 13],
    2: [1, (3, 4), (None, 2), 7, (5, 12)],
    3: [1, (2, 3, 4), (None, 2, 7)],
}


@pytest.mark.parametrize("kind", ["avg", "max"])
@pytest.mark.parametrize(("rank", "size"), [(r, s) for r in ADAPTIVE for s in ADAPTIVE[r]])
def test_adaptive_pools(rank, size, kind):
    def function(torch, x):
        pool = getattr(torch.nn.functional, f"adaptive_{kind}_pool{rank}d")
        return pool(x, size) if kind == "avg" else pool(x, size, return_indices=True)

    check(images(rank), function)
    check(images(rank)[0], function)


@pytest.mark.parametrize("size", [(3, 5), (7, 3), (2, 9), 1, (None, 4)])
@pytest.mark.parametrize("kind", [np.inf, np.nan])
def test_what_is_not_finite_stays_in_its_windows(kind, size):
    if theirs is None:
        pytest.skip("PyTorch is not installed")
    x = images(2)
    x[0, 1, 2, 3] = kind
    pools = [t.nn.functional.adaptive_avg_pool2d(t.tensor(x), size) for t in (theirs, ours)]
    np.testing.assert_allclose(pools[1].numpy(), pools[0].numpy(), rtol=1e-12)


def half_precision(torch, say):
    f, x = torch.nn.functional, torch.full((1, 1, 4, 4), 40000.0, dtype=torch.float16)
    for y in (f.avg_pool2d(x, 2), f.adaptive_avg_pool2d(x, 3), f.adaptive_avg_pool2d(x, (2, 4))):
        say(y.dtype, y.tolist())


def test_means_of_half_precision_do_not_overflow():
    same(half_precision)


def without_elements(torch, say):
    f = torch.nn.functional
    for shape in ((2, 3, 0, 8), (2, 0, 7, 8), (0, 3, 7, 8)):
        for name in ("adaptive_avg_pool2d", "adaptive_max_pool2d"):
            try:
                say(name, shape, tuple(getattr(f, name)(torch.ones(shape), (3, 5)).shape))
            except RuntimeError as error:
                say(name, shape, error)


def of_another_rank(torch, say):
    for kind in ("avg", "max"):
        for rank in (1, 2, 3):
            pool = getattr(torch.nn.functional, f"adaptive_{kind}_pool{rank}d")
            for size in (2, [2] * rank, [None] * rank):
                for n in range(rank + 1):
                    if rank == 1 and (kind == "avg" or size == [None]) and size != 2:
                        continue
                    try:
                        say(pool(torch.ones((4,) * n), size).shape)
                    except (RuntimeError, ValueError) as error:
                        say(kind, rank, size, n, type(error).__name__, error)


def test_adaptive_pools_of_another_rank():
    same(of_another_rank)


def test_adaptive_pools_of_nothing():
    same(without_elements)


def refusals(torch, say):
    f = torch.nn.functional
    x = torch.arange(32.0).reshape(1, 2, 4, 4)
    for call in (
        lambda: f.max_pool2d(x, 5), lambda: f.max_pool2d(x, 2, padding=2),
        lambda: f.max_pool2d(x, 2, stride=0), lambda: f.max_pool2d(x, (2, 2, 2)),
        lambda: f.max_pool2d(x[0, 0], 2), lambda: f.max_pool2d(x, 2, dilation=0),
        lambda: f.max_pool2d(x, -1), lambda: f.max_pool2d(x, 2, padding=-1),
        lambda: f.max_pool2d(torch.ones(2, 0, 4, 4), 2), lambda: f.max_pool2d(x.bool(), 2),
        lambda: f.avg_pool2d(x, 5), lambda: f.avg_pool2d(x, 2, padding=2),
        lambda: f.avg_pool2d(x, 2, divisor_override=0), lambda: f.avg_pool2d(x.long(), 2),
        lambda: f.max_unpool2d(x, torch.zeros(1, 2, 4, 4).long(), 2, output_size=(3, 3, 3)),
        lambda: f.max_unpool2d(x, torch.zeros(1, 2, 4, 4).long(), 2, output_size=(30, 30)),
    ):  # fmt: skip
        try:
            call()
        except (RuntimeError, NotImplementedError, ValueError) as error:
            say(type(error).__name__, error)
    say(f.max_pool2d(torch.ones(0, 2, 4, 4), 2).shape, f.max_pool2d(x.int(), 2))


def modules(torch, say):
    nn = torch.nn
    x = torch.arange(64.0).reshape(1, 1, 8, 8)
    for module in (
        nn.MaxPool2d(2), nn.MaxPool2d(3, 2, 1, return_indices=True), nn.AvgPool2d(2, 1, 1),
        nn.AvgPool2d(3, count_include_pad=False, padding=1, divisor_override=2), nn.LPPool2d(2, 2),
        nn.AdaptiveAvgPool2d((2, None)), nn.AdaptiveMaxPool2d(3, return_indices=True),
    ):  # fmt: skip
        say(module, module(x))
    for module in (nn.MaxPool1d(2), nn.AvgPool1d(3, 2), nn.AdaptiveAvgPool1d(3),
                   nn.AdaptiveMaxPool1d(2), nn.LPPool1d(1, 2)):  # fmt: skip
        say(module, module(x[0]))
    for module in (nn.MaxPool3d(2), nn.AvgPool3d(2), nn.AdaptiveAvgPool3d(2),
                   nn.AdaptiveMaxPool3d((1, 2, 3)), nn.LPPool3d(2, 2)):  # fmt: skip
        say(module, module(x.reshape(1, 1, 4, 4, 4)))
    y, at = nn.MaxPool2d(2, return_indices=True)(x)
    say(nn.MaxUnpool2d(2), nn.MaxUnpool2d(2)(y, at), nn.MaxUnpool2d(2)(y, at, output_size=(9, 9)))


def borders(torch, say):
    """Borders are at most half of the windows, whose dilation does not count."""
    f = torch.nn.functional
    for rank, k, p, d, shown in itertools.product((1, 2, 3), (1, 2, 3), (1, 2, 3), (1, 3), (0, 1)):
        try:
            x = torch.arange(9.0**rank).reshape(1, 1, *(9,) * rank)
            y = getattr(f, f"max_pool{rank}d")(x, k, 2, p, d, return_indices=bool(shown))
            say(y[0].shape if shown else y.sum())
        except RuntimeError as error:
            say(rank, k, p, d, shown, error)
    for k, p in (((2, 4), (1, 3)), ((4, 2), (3, 1))):
        try:
            f.max_pool2d(torch.ones(1, 1, 9, 9), k, 1, p, 3)
        except RuntimeError as error:
            say(error)


def windows_of_the_border_alone(torch, say):
    """They have no element: dilation steps over images that are small."""
    f = torch.nn.functional
    for shape, *numbers in (
        ((2, 8, 1), (4, 2), (4, 2), (2, 1), (2, 2)), ((2, 1, 3), (2, 3), 1, 1, (2, 1)),
        ((1, 2, 2), 2, 1, 1, 3),
    ):  # fmt: skip
        x = torch.arange(1.0, 1 + math.prod(shape)).reshape(1, *shape)
        for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
            say(f.max_pool2d(x.to(dtype), *numbers), f.max_pool2d(-x.to(dtype), *numbers, True))
            say(f.max_pool2d(x.to(dtype), *numbers, return_indices=True)[0])
        say(f.max_pool3d(x[:, :, None], (1, 2, 2), 1, (0, 1, 1), (1, 2, 2)))
    say(f.max_pool1d(torch.ones(1, 1, 1), 2, 1, 1, 2))


def test_windows_of_the_border_alone_move_nothing():
    x = ours.arange(1.0, 5.0).reshape(1, 1, 2, 2).requires_grad_()
    y = ours.nn.functional.max_pool2d(x, 2, 1, 1, 3)
    assert y.tolist() == [[[[-math.inf]]]]
    y.sum().backward()
    assert x.grad.tolist() == [[[[0.0, 0.0], [0.0, 0.0]]]]
    assert type(y.grad_fn).__name__ == "MaxPool2DWithIndicesBackward0"


@pytest.mark.parametrize(
    "program",
    [refusals, modules, borders, windows_of_the_border_alone],
    ids=lambda program: program.__name__,
)
def test_program_says_the_same(program):
    same(program)


def test_under_vmap_and_in_compiled_functions():
    x = ours.tensor(images(2))
    f = ours.nn.functional

    def pooled(image):
        return f.max_pool2d(image, 3, 2, 1).sum() + f.avg_pool2d(image, 2).square().sum()

    each = ours.stack([pooled(image) for image in x])
    ours.testing.assert_close(ours.func.vmap(pooled)(x), each)
    slopes = ours.func.vmap(ours.func.grad(pooled))(x)
    ours.testing.assert_close(slopes, ours.stack([ours.func.grad(pooled)(i) for i in x]))
    ours.testing.assert_close(ours.compile(pooled)(x[0]), each[0])
    for strided in (x.transpose(2, 3), x[:, :, ::2]):
        ours.testing.assert_close(f.max_pool2d(strided, 2), f.max_pool2d(strided.contiguous(), 2))
