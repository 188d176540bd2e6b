"""Prepared calls of native code give the bits of the general way, whatever comes in later calls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad.torch as torch
from funcgrad.config import config

F = torch.nn.functional
ONE: dict[str, Any] = {
    "relu": torch.relu,
    "gelu": F.gelu,
    "silu": F.silu,
    "leaky_relu": lambda x: F.leaky_relu(x, 0.3),
    "elu": F.elu,
    "clamp": lambda x: x.clamp(-0.2, 0.8),
    "abs": torch.abs,
    "sigmoid": torch.sigmoid,
    "softplus": F.softplus,
}
TWO: dict[str, Any] = {
    "maximum": torch.maximum,
    "pow": lambda x, z: x.abs() ** z,
    "mse": F.mse_loss,
    "mse sum": lambda x, z: F.mse_loss(x, z, reduction="sum"),
    "smooth l1": F.smooth_l1_loss,
    "smooth l1 each": lambda x, z: F.smooth_l1_loss(x, z, reduction="none"),
}


def unaligned(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    memory = np.zeros(values.nbytes + 1, np.uint8)[1:].view(values.dtype)
    memory[...] = values
    assert not memory.flags.aligned
    return memory


def bits(f: Any, arrays: Any, g: Any = None) -> list[bytes]:
    xs = [torch.from_numpy(a).requires_grad_() for a in arrays]
    y = f(*xs)
    one = torch.ones_like(y).detach() if g is None else g(y)
    y.backward(one)
    grads = [np.ascontiguousarray(x.grad.numpy()).tobytes() for x in xs]
    return [y.detach().numpy().tobytes(), *grads]


@pytest.mark.parametrize("size", [3, 600, 20_000, 70_000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", [*ONE, *TWO])
def test_all_calls_have_the_same_bits(name: str, dtype: Any, size: int) -> None:
    count, f = (1, ONE[name]) if name in ONE else (2, TWO[name])
    source = np.random.default_rng(size)
    arrays = [source.normal(size=size).astype(dtype) for _ in range(count)]
    first = bits(f, arrays)
    for _ in range(75):
        bits(f, arrays)
    assert bits(f, arrays) == first
    assert bits(f, [unaligned(a) for a in arrays]) == first
    threads = config.threads
    try:
        config.threads = 1
        assert bits(f, arrays) == first
    finally:
        config.threads = threads


@pytest.mark.parametrize("name", ["relu", "gelu", "leaky_relu", "sigmoid"])
def test_cotangents_that_lie_otherwise(name: str) -> None:
    f, x = ONE[name], np.random.default_rng(0).normal(size=(20, 1000)).astype(np.float32)
    cotangents = [
        lambda y: torch.ones(1).expand(20, 1000),
        lambda y: torch.ones(1000, 20).t(),
        lambda y: torch.ones(20, 2000)[:, ::2],
        lambda y: torch.ones(20, 1000),
    ]
    first = bits(f, [x], cotangents[3])
    for _ in range(70):
        bits(f, [x], cotangents[3])
    for g in cotangents:
        assert bits(f, [x], g) == first


def test_numbers_of_later_calls_count() -> None:
    x = torch.linspace(-1.0, 1.0, 1000).requires_grad_()
    for k in range(90):
        slope = 0.01 * (k % 3)
        y = F.leaky_relu(x, slope)
        assert y[0].item() == np.float32(-1.0) * np.float32(slope)
        power = x.detach().abs() ** (1.5 + k % 2)
        assert abs(power[100].item() - abs(x[100].item()) ** (1.5 + k % 2)) < 1e-6
