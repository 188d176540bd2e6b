"""Dropout of whole channels, and dropout that keeps mean and variance."""

from __future__ import annotations

import math
import warnings

import funcgrad.torch as torch
from funcgrad.errors import outside
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.operations.promotion import content
from funcgrad.torch.operations.requirements import requirements

__all__ = ["alpha_dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"]

ALPHA = 1.7580993408473766  # what SELU goes to: its scale times its alpha (Klambauer et al. 2017)

ONE_DIMENSION = (
    "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout "
    "behavior is desired - input is interpreted as shape (N, C, L), where C is the channel dim. "
    "This behavior will change in a future release to interpret the input as one without a batch "
    "dimension, i.e. shape (C, H, W). To maintain the 1D channel-wise dropout behavior, please "
    "switch to using dropout1d instead."
)


_check = requirements("p", """
    p >= 0.0 and p <= 1.0: ValueError: dropout probability has to be between 0 and 1, but got {p}
""")  # fmt: skip


def _kept(input: Tensor, p: float, by_channel: bool) -> Tensor:
    """1 for what stays, 0 for what does not; of one number for a channel if that is asked for."""
    shape = list(input.shape)
    if by_channel:
        if len(shape) < 2:
            raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
        shape[2:] = [1] * (len(shape) - 2)
    found: Tensor = torch.empty(shape, dtype=input.dtype).bernoulli_(1 - p)
    return found


def _scaled(input: Tensor, p: float, training: bool, inplace: bool, by_channel: bool) -> Tensor:
    content(input, "feature_dropout")
    if not training or p == 0 or input.numel() == 0:
        return input
    if p == 1:
        found: Tensor = input.mul_(0) if inplace else input * torch.zeros_like(input)
        return found
    noise = _kept(input, p, by_channel).div_(1 - p)
    out: Tensor = input.mul_(noise) if inplace else input * noise
    return out


def _moved(input: Tensor, p: float, training: bool, inplace: bool, by_channel: bool) -> Tensor:
    """What does not stay becomes the least value of SELU; then mean and variance are restored."""
    _check(p)
    if not training or p == 0 or input.numel() == 0:
        return input
    if p == 1:
        found: Tensor = input.mul_(0) if inplace else input * torch.zeros_like(input)
        return found
    scale = 1.0 / math.sqrt((ALPHA * ALPHA * p + 1) * (1 - p))
    noise = _kept(input, p, by_channel)
    shift = noise.add(-1).mul_(ALPHA * scale).add_(ALPHA * scale * p)
    noise.mul_(scale)
    out: Tensor = input.mul_(noise).add_(shift) if inplace else input * noise + shift
    return out


def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Dropout for networks of SELU, which keeps the mean and the variance."""
    return _moved(input, p, training, inplace, False)


def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """`alpha_dropout` of whole channels."""
    return _moved(input, p, training, inplace, True)


def dropout1d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Whole channels of (n, channels, length) or (channels, length) to zero."""
    _check(p)
    if input.dim() not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {input.dim()}D input. Note that "
            "dropout1d exists to provide channel-wise dropout on inputs with 1 spatial dimension, "
            "a channel dimension, and an optional batch dimension (i.e. 2D or 3D inputs)."
        )
    return _of_batch(input, 3, p, training, inplace)


def _of_batch(input: Tensor, rank: int, p: float, training: bool, inplace: bool) -> Tensor:
    if input.dim() == rank:
        return _scaled(input, p, training, inplace, True)
    whole = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
    found = _scaled(whole, p, training, inplace, True)
    out: Tensor = found.squeeze_(0) if inplace else found.squeeze(0)
    return out


def dropout2d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Whole channels of images (n, channels, height, width) to zero."""
    _check(p)
    _warn(2, input, (3, 4))
    if input.dim() == 3:
        warnings.warn(ONE_DIMENSION, stacklevel=outside())
    return _scaled(input, p, training, inplace, True)


def dropout3d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Whole channels of volumes (n, channels, depth, height, width) to zero."""
    _check(p)
    _warn(3, input, (4, 5))
    return _of_batch(input, 5, p, training, inplace)


def _warn(rank: int, input: Tensor, ranks: tuple[int, int]) -> None:
    if input.dim() not in ranks:
        name = f"dropout{rank}d"
        warnings.warn(
            f"{name}: Received a {input.dim()}-D input to {name}, which is deprecated and will "
            "result in an error in a future release. To retain the behavior and silence this "
            f"warning, please use dropout instead. Note that {name} exists to provide "
            f"channel-wise dropout on inputs with {rank} spatial dimensions, a channel dimension, "
            f"and an optional batch dimension (i.e. {ranks[0]}D or {ranks[1]}D inputs).",
            stacklevel=outside(),
        )
