"""Batch norm and instance norm, with their running statistics."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

from funcgrad.errors import outside
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.nn import functional as F
from funcgrad.torch.nn import init
from funcgrad.torch.nn.modules.module import Module
from funcgrad.torch.nn.parameter import Parameter
from funcgrad.torch.operations.creation import empty, ones, tensor, zeros

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
]


class ChannelNorm(Module):
    """What both have: weight, bias, and running mean and variance of each channel."""

    _version = 2
    ranks: ClassVar[tuple[int, ...]] = ()  # of the inputs that it takes

    def __init__(
        self,
        num_features: int,
        eps: float,
        momentum: float | None,
        affine: bool,
        track_running_stats: bool,
        device: Any,
        dtype: Any,
        bias: bool,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        made: dict[str, Any] = {"dtype": dtype, "device": device}
        for name, present in (("weight", affine), ("bias", affine and bias)):
            parameter = Parameter(empty(num_features, **made)) if present else None
            self.register_parameter(name, parameter)
        tracked = track_running_stats
        self.register_buffer("running_mean", zeros(num_features, **made) if tracked else None)
        self.register_buffer("running_var", ones(num_features, **made) if tracked else None)
        count = tensor(0, dtype=dtypes.int64, device=device) if tracked else None
        self.register_buffer("num_batches_tracked", count)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """The running means to 0, the variances to 1."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """The weight to 1, the bias to 0, and the running statistics as at first."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in self.ranks:
            wanted = " or ".join(f"{n}D" for n in self.ranks)
            raise ValueError(f"expected {wanted} input (got {input.dim()}D input)")

    def extra_repr(self) -> str:
        """The settings."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"affine={self.affine}, bias={self.bias is not None}, "
            f"track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: dict[str, Any], *rest: Any
    ) -> None:
        version = local_metadata.get("version")
        if (version is None or version < 2) and self.track_running_stats:
            # states of that age do not count the batches
            state_dict.setdefault(f"{prefix}num_batches_tracked", self.num_batches_tracked)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


# --------------------------------------------------------------------------------- batch norm


class BatchNorm(ChannelNorm):
    """What the batch norms of all ranks do."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias
        )

    def forward(self, input: Tensor) -> Tensor:
        """`input`, normalised."""
        self._check_input_dim(input)
        factor: Any = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the mean over all batches
                factor = self.num_batches_tracked.double().reciprocal()
        by_input = self.training or (self.running_mean is None and self.running_var is None)
        used = not self.training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if used else None,
            self.running_var if used else None,
            self.weight,
            self.bias,
            by_input,
            factor,
            self.eps,
        )


class BatchNorm1d(BatchNorm):
    """Channels of (samples, channels) or (samples, channels, length) normalised over all samples.

    Parameters
    ----------
    num_features : int
        How many channels.
    eps : float, optional
        Added to the variance.
    momentum : float or None, optional
        What a batch counts in the running statistics; None is the mean over all batches.
    affine, bias : bool, optional
        Whether there is a weight (at first 1), and a bias (at first 0).
    track_running_stats : bool, optional
        Whether there are running statistics, by which evaluation normalises.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> layer = torch.nn.BatchNorm1d(1)
    >>> layer(torch.tensor([[1.0], [3.0]])).flatten()
    tensor([-1.0000,  1.0000], grad_fn=<ViewBackward0>)
    >>> layer.running_mean, layer.running_var
    (tensor([0.2000]), tensor([1.1000]))
    """

    ranks = (2, 3)


class BatchNorm2d(BatchNorm):
    """`BatchNorm1d` of (samples, channels, height, width)."""

    ranks = (4,)


class BatchNorm3d(BatchNorm):
    """`BatchNorm1d` of (samples, channels, depth, height, width)."""

    ranks = (5,)


# ------------------------------------------------------------------------------ instance norm


class InstanceNorm(ChannelNorm):
    """What the instance norms of all ranks do."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias
        )

    def forward(self, input: Tensor) -> Tensor:
        """`input`, normalised."""
        self._check_input_dim(input)
        single = self.ranks[0]
        axis = input.dim() - single
        if input.size(axis) != self.num_features:
            self._refuse(axis, input.size(axis))
        if input.dim() == single:
            found: Tensor = self._normalised(input.unsqueeze(0)).squeeze(0)
            return found
        return self._normalised(input)

    def _refuse(self, axis: int, found: int) -> None:
        if self.affine:
            raise ValueError(
                f"expected input's size at dim={axis} to match num_features ({self.num_features}), "
                f"but got: {found}."
            )
        warnings.warn(
            f"input's size at dim={axis} does not match num_features. You can silence this warning "
            "by not passing in num_features, which is not used because affine=False",
            stacklevel=outside(),
        )

    def _normalised(self, input: Tensor) -> Tensor:
        return F.instance_norm(
            input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )


class InstanceNorm1d(InstanceNorm):
    """Channels of (channels, length), with samples in front or not, normalised one by one.

    Parameters
    ----------
    num_features, eps, momentum, affine, bias, track_running_stats
        As those of `BatchNorm1d`; by default there are no parameters and no running statistics.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.nn.InstanceNorm1d(1)(torch.tensor([[[1.0, 3.0]], [[2.0, 6.0]]])).flatten()
    tensor([-1.0000,  1.0000, -1.0000,  1.0000])
    """

    ranks = (2, 3)


class InstanceNorm2d(InstanceNorm):
    """`InstanceNorm1d` of (channels, height, width)."""

    ranks = (3, 4)


class InstanceNorm3d(InstanceNorm):
    """`InstanceNorm1d` of (channels, depth, height, width)."""

    ranks = (4, 5)
