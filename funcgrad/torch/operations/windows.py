"""Windows of signals: weights that fall off to both sides."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.ops.bessel import i0
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.dimensions import check_flag
from funcgrad.torch.operations.common import check_int
from funcgrad.torch.operations.data import finished, kind_given
from funcgrad.torch.operations.promotion import NUMBERS, wrong_type

__all__ = [
    "bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window",
]  # fmt: skip

Window = Callable[[np.ndarray[Any, Any], int], np.ndarray[Any, Any]]


def _window(
    name: str, window_length: int, periodic: bool, dtype: Any, requires_grad: bool, device: Any,
    weights: Window,
) -> Tensor:  # fmt: skip
    """`weights` at 0 … n - 1; a periodic window is one longer, without its last entry."""
    n = check_int(name, "window_length", 1, window_length)
    check_flag(name, "periodic", 2, periodic)
    given = kind_given(name, dtype) or dtypes.get_default_dtype()
    if n < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={n}")
    if given.is_complex:
        raise NotImplementedError(
            f"\"arange_cpu\" not implemented for '{dtypes.scalar_name(given)}'"
        )
    if not given.is_floating_point:
        raise RuntimeError(f"{name} expects floating point dtypes, got: {given}")
    if n < 2:
        return finished(np.ones(n, given.numpy), requires_grad, device)
    whole = n + 1 if periodic else n
    return finished(weights(np.arange(whole, dtype=given.numpy), whole)[:n], requires_grad, device)


def _raised(alpha: float, beta: float) -> Window:
    def weights(k: np.ndarray[Any, Any], n: int) -> np.ndarray[Any, Any]:
        return np.cos(k * (2 * math.pi / (n - 1))) * -beta + alpha

    return weights


def bartlett_window(
    window_length: int, periodic: bool = True, *, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The triangular window.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.bartlett_window(5, periodic=False)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """

    def weights(k: np.ndarray[Any, Any], n: int) -> np.ndarray[Any, Any]:
        slope = k * (2 / (n - 1))
        return np.where(k <= (n - 1) >> 1, slope, 2 - slope)

    return _window(
        "bartlett_window", window_length, periodic, dtype, requires_grad, device, weights
    )


def blackman_window(
    window_length: int, periodic: bool = True, *, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A sum of two cosines."""

    def weights(k: np.ndarray[Any, Any], n: int) -> np.ndarray[Any, Any]:
        angle = k * (math.pi / (n - 1))
        return np.cos(angle * 4) * 0.08 - np.cos(angle * 2) * 0.5 + 0.42

    return _window(
        "blackman_window", window_length, periodic, dtype, requires_grad, device, weights
    )


def hamming_window(
    window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, *,
    dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """``alpha - beta cos``."""
    weights = _raised(
        _coefficient("hamming_window", "alpha", 3, alpha),
        _coefficient("hamming_window", "beta", 4, beta),
    )
    return _window("hamming_window", window_length, periodic, dtype, requires_grad, device, weights)


def hann_window(
    window_length: int, periodic: bool = True, *, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The square of a sine."""
    return _window(
        "hann_window", window_length, periodic, dtype, requires_grad, device, _raised(0.5, 0.5)
    )


def kaiser_window(
    window_length: int, periodic: bool = True, beta: float = 12.0, *, dtype: Any = None,
    layout: Any = None, device: Any = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A Bessel function of a half circle; a larger `beta` makes it narrower."""
    strength = _coefficient("kaiser_window", "beta", 3, beta)

    def weights(k: np.ndarray[Any, Any], n: int) -> np.ndarray[Any, Any]:
        middle = (n - 1) / 2
        circle = np.sqrt(1 - ((k.astype(np.float64) - middle) / middle) ** 2)
        found = i0(strength * circle) / i0(np.float64(strength))
        return np.asarray(found, k.dtype)

    return _window("kaiser_window", window_length, periodic, dtype, requires_grad, device, weights)


def _coefficient(function: str, argument: str, position: int, x: Any) -> float:
    if not isinstance(x, NUMBERS) or isinstance(x, complex):
        wrong_type(function, argument, position, "float", x)
    found: Any = x
    return float(found)
