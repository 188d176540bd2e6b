"""``torch.signal.windows``: weights that fall off to both sides, symmetric or periodic.

A periodic window (``sym=False``) is the symmetric one of one element more, without its last.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.device import strided
from funcgrad.torch.operations.creation import ones
from funcgrad.torch.operations.data import finished
from funcgrad.torch.operations.ranges import linspace

__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine",
    "general_hamming", "hamming", "hann", "kaiser", "nuttall",
]  # fmt: skip

Weights = Callable[[int, Any], Tensor]


def _made(
    name: str, M: int, weights: Weights, dtype: Any, layout: Any, device: Any, requires_grad: bool
) -> Tensor:
    """``weights(M, dtype)``, but an empty tensor for no elements."""
    kind = dtypes.get_default_dtype() if dtype is None else dtype
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if layout not in (None, strided):
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    if kind not in (dtypes.float32, dtypes.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {kind}")
    found = weights(M, kind).detach().numpy() if M else np.empty(0, kind.numpy)
    return finished(found, requires_grad, device)


def _places(start: float, step: float, M: int, kind: Any) -> Tensor:
    return linspace(start, start + (M - 1) * step, M, dtype=kind)


def _one(kind: Any) -> Tensor:
    made: Tensor = ones(1, dtype=kind)
    return made


def exponential(
    M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, dtype: Any = None,
    layout: Any = None, device: Any = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """``exp(-|k - center| / tau)``."""

    def weights(M: int, kind: Any) -> Tensor:
        middle = (M if not sym and M > 1 else M - 1) / 2.0 if center is None else center
        found: Tensor = (-_places(-middle / tau, 1 / tau, M, kind).abs()).exp()
        return found

    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    return _made("exponential", M, weights, dtype, layout, device, requires_grad)


def cosine(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Half a period of a sine.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.signal.windows.cosine(3)
    tensor([0.5000, 1.0000, 0.5000])
    """

    def weights(M: int, kind: Any) -> Tensor:
        step = math.pi / (M + 1 if not sym and M > 1 else M)
        return _places(0.5 * step, step, M, kind).sin()

    return _made("cosine", M, weights, dtype, layout, device, requires_grad)


def gaussian(
    M: int, *, std: float = 1.0, sym: bool = True, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The normal density, 1 in the middle."""

    def weights(M: int, kind: Any) -> Tensor:
        start, step = -(M if not sym and M > 1 else M - 1) / 2.0, 1 / (std * math.sqrt(2))
        found: Tensor = (-(_places(start * step, step, M, kind) ** 2)).exp()
        return found

    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    return _made("gaussian", M, weights, dtype, layout, device, requires_grad)


def kaiser(
    M: int, *, beta: float = 12.0, sym: bool = True, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A Bessel function of a half circle; a larger `beta` makes it narrower."""

    def weights(M: int, kind: Any) -> Tensor:
        if M == 1:
            return _one(kind)
        width = ones((), dtype=kind) * beta
        step = 2.0 * beta / (M - 1 if sym else M)
        k = linspace(-beta, min(beta, -beta + (M - 1) * step), M, dtype=kind)
        found: Tensor = (width * width - k**2).clamp(min=0).sqrt().i0() / width.i0()
        return found

    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    return _made("kaiser", M, weights, dtype, layout, device, requires_grad)


def bartlett(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The triangular window."""

    def weights(M: int, kind: Any) -> Tensor:
        if M == 1:
            return _one(kind)
        return 1 - _places(-1, 2 / (M - 1 if sym else M), M, kind).abs()

    return _made("bartlett", M, weights, dtype, layout, device, requires_grad)


def general_cosine(
    M: int, *, a: Iterable[float], sym: bool = True, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The sum of ``a[i] cos(i k)``, with alternating signs."""

    def weights(M: int, kind: Any) -> Tensor:
        if M == 1:
            return _one(kind)
        if not isinstance(a, Iterable):
            raise TypeError("Coefficients must be a list/tuple")
        coefficients = list(a)
        if not coefficients:
            raise ValueError("Coefficients cannot be empty")
        angles = _places(0, 2 * math.pi / (M - 1 if sym else M), M, kind)
        parts = [(angles * i).cos() * ((-1) ** i * w) for i, w in enumerate(coefficients)]
        found: Tensor = sum(parts[1:], parts[0])
        return found

    return _made("general_cosine", M, weights, dtype, layout, device, requires_grad)


def general_hamming(M: int, *, alpha: float = 0.54, **options: Any) -> Tensor:
    """``alpha - (1 - alpha) cos``."""
    return general_cosine(M, a=[alpha, 1.0 - alpha], **options)


def hamming(M: int, **options: Any) -> Tensor:
    """``0.54 - 0.46 cos``."""
    return general_hamming(M, **options)


def hann(M: int, **options: Any) -> Tensor:
    """The square of a sine."""
    return general_hamming(M, alpha=0.5, **options)


def blackman(M: int, **options: Any) -> Tensor:
    """A sum of two cosines."""
    return general_cosine(M, a=[0.42, 0.5, 0.08], **options)


def nuttall(M: int, **options: Any) -> Tensor:
    """A sum of three cosines with small side lobes."""
    return general_cosine(M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], **options)
