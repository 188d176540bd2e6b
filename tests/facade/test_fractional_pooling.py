"""Pooling into windows that begin at random places, beside PyTorch with the same seed."""

from __future__ import annotations

import numpy as np
import pytest

import funcgrad.torch as ours

from .both import same, same_derivatives

IMAGES = [
    (2, {"output_size": 3}), ((2, 3), {"output_size": (3, 2)}), (2, {"output_ratio": (0.5, 0.4)}),
    (1, {"output_size": (7, 6)}), (2, {"output_size": (6, 5)}), (2, {"output_size": 1}),
    (2, {"output_size": (0, 2)}), (3, {"output_size": (5, 4)}),
]  # fmt: skip
VOLUMES = [
    (2, {"output_size": 3}), ((2, 3, 1), {"output_size": (3, 2, 2)}), (2, {"output_ratio": 0.5}),
    (2, {"output_ratio": (0.5, 0.4, 0.4)}), (1, {"output_size": (4, 5, 6)}),
]  # fmt: skip
CASES = [(2, (2, 3, 7, 6), *case) for case in IMAGES] + [(3, (2, 2, 5, 6, 7), *c) for c in VOLUMES]


def drawn(torch, shape, dtype="float64"):
    return torch.tensor(np.random.default_rng(0).standard_normal(shape).astype(dtype))


def pool(torch, rank):
    return getattr(torch.nn.functional, f"fractional_max_pool{rank}d")


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize(("rank", "shape", "kernel", "sizes"), CASES)
def test_elements_and_positions_are_those_of_pytorch(rank, shape, kernel, sizes, dtype):
    def program(torch, say):
        torch.manual_seed(0)
        for x in (drawn(torch, shape, dtype), drawn(torch, shape, dtype)[0]):
            found, at = pool(torch, rank)(x, kernel, return_indices=True, **sizes)
            say(found.shape, found.dtype, found.tolist(), at.dtype, at.tolist())
            with_indices = getattr(torch.nn.functional, f"fractional_max_pool{rank}d_with_indices")
            say(with_indices(x, kernel, **sizes)[1].tolist())
        say(torch.rand(1).item())

    same(program)


@pytest.mark.parametrize(("rank", "shape", "kernel", "sizes"), CASES)
def test_gradients_of_both_orders(rank, shape, kernel, sizes):
    def function(torch, x):
        torch.manual_seed(0)
        return pool(torch, rank)(x, kernel, **sizes)

    same_derivatives(function, np.random.default_rng(1).standard_normal(shape))


def test_the_largest_is_the_first_of_equals_and_the_last_nan():
    def program(torch, say):
        x = torch.tensor([[[1.0, np.nan, 3], [4, 5, 6], [5, -np.inf, 6]]])
        for y, kernel, size in (
            (x, 3, 1), (x, 2, 2), (x * np.nan, 2, 2), (x[:, 2:, 1:2], 1, 1), (x * 0, 2, 2),
            (torch.zeros(1, 3, 3), 2, 2),
        ):  # fmt: skip
            say(*pool(torch, 2)(y, kernel, output_size=size, return_indices=True))

    same(program)


def test_the_nodes_are_pytorchs():
    def program(torch, say):
        for rank in (2, 3):
            x = torch.ones(1, *(4,) * rank, requires_grad=True)
            y = pool(torch, rank)(x, 2, output_size=2)
            say(type(y.grad_fn).__name__, len(y.grad_fn.next_functions))

    same(program)


SIZES = [
    (9, 1), (2, 7), ((2, 3, 4), 2), (2, (3, 4)), (2, (1, 2, 3)), (2, -1), (2.5, 3), (2, (1,)),
    ((2,), 3), (2, 6), (2, (6, 5)), (2, (4, 6, 3)), (2, (4, 3, 7)), (2, None),
]  # fmt: skip
SHAPES = [(7, 6), (0, 3, 7, 6), (2, 0, 7, 6), (1, 2, 3, 7, 6), (2, 3, 0, 6), (1, 1, 2, 5, 5, 5)]


def attempt(say, call):
    try:
        result = call()
        say(result.shape if hasattr(result, "shape") else result)
    except Exception as error:
        say(type(error).__name__, error)


def test_sizes_and_shapes_that_do_not_fit_are_refused_in_pytorchs_words():
    def program(torch, say):
        for kernel, size in SIZES:
            attempt(say, lambda k=kernel, s=size: pool(torch, 2)(torch.ones(2, 3, 7, 6), k, s))
            attempt(say, lambda k=kernel, s=size: pool(torch, 3)(torch.ones(2, 2, 5, 6, 7), k, s))
        for shape in SHAPES:
            for rank in (2, 3):
                attempt(say, lambda r=rank, s=shape: pool(torch, r)(torch.ones(s), 2, 2))
        for ratio in (0.5, (0.5, 0.4, 0.2)):
            attempt(say, lambda r=ratio: pool(torch, 2)(torch.ones(1, 7, 6), 2, output_ratio=r))

    same(program)


def test_samples_and_dtypes_that_do_not_fit_are_refused_in_pytorchs_words():
    def program(torch, say):
        x = torch.ones(2, 3, 7, 6)
        for shape in ((2, 3), (2, 3, 3), (2, 4, 2), (1, 3, 2), (3, 3, 2)):
            samples = torch.full(shape, 0.5)
            attempt(say, lambda s=samples: pool(torch, 2)(x, 2, 3, _random_samples=s))
        attempt(say, lambda: pool(torch, 2)(x, 2, 3, _random_samples=1))
        for dtype in (torch.int64, torch.bool, torch.complex64, torch.float64):
            attempt(say, lambda d=dtype: pool(torch, 2)(x.to(d), 2, 3))
            samples = torch.ones(2, 3, 2)
            attempt(say, lambda d=dtype, s=samples: pool(torch, 2)(x.to(d), 2, 3, None, False, s))
            same_kind = torch.zeros(2, 3, 2, dtype=dtype)
            attempt(say, lambda d=dtype, s=same_kind: pool(torch, 2)(x.to(d), 2, 3, None, False, s))

    same(program)


def test_the_layers_are_pytorchs():
    def program(torch, say):
        nn = torch.nn
        for make in (
            lambda: nn.FractionalMaxPool2d(3, output_size=(2, 3)),
            lambda: nn.FractionalMaxPool3d(3, output_ratio=0.5).state_dict(),
            lambda: nn.FractionalMaxPool2d(
                3, 2, _random_samples=torch.full((1, 2, 2), 0.5)
            ).state_dict(),
            lambda: nn.FractionalMaxPool3d(0, 1), lambda: nn.FractionalMaxPool3d((0, 1, 1), 1),
            lambda: nn.FractionalMaxPool2d(2, 1, 0.5), lambda: nn.FractionalMaxPool2d(2),
            lambda: nn.FractionalMaxPool2d(2, output_ratio=1.5), lambda: nn.FractionalMaxPool3d(2),
        ):  # fmt: skip
            attempt(say, make)
        torch.manual_seed(3)
        for layer, shape in (
            (nn.FractionalMaxPool2d(2, 3, return_indices=True), (1, 6, 6)),
            (nn.FractionalMaxPool3d(2, output_ratio=0.5, return_indices=True), (1, 6, 6, 6)),
        ):
            found, at = layer(drawn(torch, shape))
            say(found.tolist(), at.tolist(), layer.kernel_size, layer.output_size,
                layer.output_ratio)  # fmt: skip

    same(program)


def test_what_was_picked_goes_back_by_max_unpool():
    x = drawn(ours, (1, 2, 6, 6))
    found, at = ours.nn.FractionalMaxPool2d(2, 3, return_indices=True)(x)
    back = ours.nn.functional.max_unpool2d(found, at, 2, output_size=(6, 6))
    assert ours.equal(back[back != 0], x[back != 0])


def test_under_vmap_and_compile():
    samples = ours.full((1, 2, 2), 0.25)
    f = lambda x: pool(ours, 2)(x, 2, 3, _random_samples=samples)
    x = drawn(ours, (4, 2, 6, 6), "float32")
    assert ours.equal(ours.func.vmap(f)(x), ours.stack([f(one) for one in x]))
    compiled = ours.compile(lambda x: f(x) * 2)
    for one in x:
        assert ours.equal(compiled(one), f(one) * 2)
    slopes = ours.func.vmap(ours.func.grad(lambda x: f(x).sum()))(x)
    assert slopes.sum(dim=(1, 2, 3)).tolist() == [18.0] * 4
