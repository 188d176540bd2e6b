"""Windows of signals: weights that fall off to both sides."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.ops.bessel import i0
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.operations.creation import creation
from funcgrad.torch.operations.record import Function

__all__ = [
    "bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window",
]  # fmt: skip

Weights = np.ndarray[Any, Any]


def _window(
    name: str, doc: str, weights: Callable[..., Weights], **numbers: float
) -> Function[Tensor]:
    """`weights` of 0 … n - 1 and n; a periodic window is one longer, without its last entry.

    They have `numbers`, and their values where none are given.
    """
    given = ["int window_length", "bool periodic", *(f"float {number}" for number in numbers)]
    overloads = [", ".join(given[:k]) for k in range(1, len(given) + 1)]

    def function(n: int, periodic: bool | None, *more: Any) -> Any:
        *given, asked = more
        kind = asked or dtypes.get_default_dtype()
        if n < 0:
            raise RuntimeError(f"{name} requires non-negative window_length, got window_length={n}")
        if kind.is_complex:
            raise NotImplementedError(
                f"\"arange_cpu\" not implemented for '{dtypes.scalar_name(kind)}'"
            )
        if not kind.is_floating_point:
            raise RuntimeError(f"{name} expects floating point dtypes, got: {kind}")
        if n < 2:
            return np.ones(n, kind.numpy)
        whole = n if periodic is False else n + 1
        used = [usual if x is None else x for x, usual in zip(given, numbers.values(), strict=True)]
        return weights(np.arange(whole, dtype=kind.numpy), whole, *used)[:n]

    return creation(name, *overloads, doc=doc)(function)


def _raised(k: Weights, n: int, alpha: float, beta: float) -> Weights:
    return np.cos(k * (2 * math.pi / (n - 1))) * -beta + alpha


def _triangle(k: Weights, n: int) -> Weights:
    slope = k * (2 / (n - 1))
    return np.where(k <= (n - 1) >> 1, slope, 2 - slope)


def _two_cosines(k: Weights, n: int) -> Weights:
    angle = k * (math.pi / (n - 1))
    return np.cos(angle * 4) * 0.08 - np.cos(angle * 2) * 0.5 + 0.42


def _bessel(k: Weights, n: int, beta: float) -> Weights:
    middle = (n - 1) / 2
    circle = np.sqrt(1 - ((k.astype(np.float64) - middle) / middle) ** 2)
    return np.asarray(i0(float(beta) * circle) / i0(np.float64(beta)), k.dtype)


bartlett_window = _window("bartlett_window", """The triangular window.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.bartlett_window(5, periodic=False)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """, _triangle)  # fmt: skip
blackman_window = _window("blackman_window", "A sum of two cosines.", _two_cosines)
hamming_window = _window("hamming_window", "``alpha - beta cos``.", _raised, alpha=0.54, beta=0.46)
hann_window = _window("hann_window", "The square of a sine.", lambda k, n: _raised(k, n, 0.5, 0.5))
kaiser_window = _window(
    "kaiser_window", "A Bessel function of a half circle; a larger `beta` makes it narrower.",
    _bessel, beta=12.0,
)  # fmt: skip
