"""Variances and deviations beside PyTorch's: of every shape, layout and size of numbers."""

import itertools

import numpy as np
import pytest

import funcgrad
import funcgrad.torch as ft
from funcgrad.torch.moments_of_lines import variance

SHAPES = [(600,), (9000,), (3, 400), (20, 30, 40), (3, 5000, 4), (2, 9000), (65, 130, 2), (1, 700),
          (10, 11, 12, 13), (4097, 2), (8193, 1, 3), (200_000,)]  # fmt: skip


def layouts(x):
    yield x
    yield np.asfortranarray(x)
    yield x[::-1]
    yield np.broadcast_to(x[:1], x.shape)
    yield x.astype(x.dtype.newbyteorder("S"))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
def test_native_variances_are_those_of_extended_precision(shape, dtype):
    drawn = np.random.default_rng(0).normal(3, 2, shape).astype(dtype)
    for x in layouts(drawn):
        for count in range(1, len(shape) + 1):
            for axes in itertools.combinations(range(len(shape)), count):
                for keepdims in (False, True):
                    with np.errstate(invalid="ignore"):
                        got = variance(x, axes, 0, keepdims)
                    want = np.var(x.astype(np.longdouble), axes, keepdims=keepdims)
                    np.testing.assert_allclose(got, want.astype(float), 1e-12, 1e-24)


@pytest.mark.parametrize("name", ["std", "var", "std_mean", "var_mean"])
@pytest.mark.parametrize("size", [1e30, 1e-30, 1e18, 1e-25, 1.0])
@pytest.mark.parametrize("shape", [(7,), (20_000,), (70, 300)])
def test_squares_neither_overflow_nor_vanish(name, size, shape):
    torch = pytest.importorskip("torch")
    data = (np.random.default_rng(1).normal(1, 2, shape) * size).astype(np.float32)
    for dim in (None, 0, -1):
        found = []
        for t in (torch, ft):
            x = t.tensor(data, requires_grad=True)
            made = getattr(t, name)(x, dim=dim)
            y = made[0] if isinstance(made, tuple) else made
            (g,) = t.autograd.grad(y.sum(), x)
            found.append((y.detach().numpy(), g.numpy()))
        for want, got in zip(*found, strict=True):
            assert got.dtype == want.dtype
            np.testing.assert_allclose(got, want, 1e-4, 1e-6 * np.abs(want).max())


def test_every_call_has_the_same_bits_and_those_of_one_thread(monkeypatch):
    data = ft.tensor(np.random.default_rng(2).normal(size=(300, 400)).astype(np.float32))
    first = [data.std(), data.var(0), data.std(1)]
    for _ in range(70):  # a recipe serves from the 64th on
        again = [data.std(), data.var(0), data.std(1)]
    monkeypatch.setattr(funcgrad.config, "threads", 1)
    alone = [data.std(), data.var(0), data.std(1)]
    for x, y, z in zip(first, again, alone, strict=True):
        assert ft.equal(x, y) and ft.equal(x, z)


def test_compiled_deviations_do_not_overflow_either():
    x = ft.tensor([1e30, 2e30, -3e30])
    assert abs(float(ft.compile(lambda x: x.std())(x)) / float(x.std()) - 1) < 1e-6


def test_incomplete_gamma_functions_of_half_precision_stay_half():
    for dtype in (ft.float16, ft.bfloat16):
        x = ft.tensor([0.5, 2.0], dtype=dtype)
        assert ft.special.gammainc(x, x).dtype is dtype
    with pytest.raises(NotImplementedError, match=r"zeta_cpu.*not implemented for 'Half'"):
        ft.special.zeta(ft.ones(2, dtype=ft.float16) * 2, 1.0)


@pytest.mark.filterwarnings("error::RuntimeWarning", "ignore::UserWarning")
@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
@pytest.mark.parametrize("name", ["std", "var", "std_mean", "var_mean"])
def test_nothing_has_no_deviation_and_no_warning_of_numpy(name, shape):
    x = ft.zeros(shape, requires_grad=True)
    made = getattr(ft, name)(x)
    y = made[0] if isinstance(made, tuple) else made
    y.backward()
    assert y.isnan().item() and x.grad.shape == shape
