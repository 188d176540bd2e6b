"""`LinearCrossEntropyLoss`: a last layer and the cross entropy of what it gives, as one module."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from funcgrad.torch._tensor import Tensor
from funcgrad.torch.nn import functional as F
from funcgrad.torch.nn.modules.linear import Linear
from funcgrad.torch.nn.modules.loss import WeightedLoss

__all__ = ["LinearCrossEntropyLoss", "LinearCrossEntropyOptions"]


@dataclasses.dataclass
class LinearCrossEntropyOptions:
    """How PyTorch saves memory by pieces of the batch; here the batch is computed as a whole."""

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: Any = None


class LinearCrossEntropyLoss(WeightedLoss):
    """A linear layer and the cross entropy of its logits; see `nn.functional.linear_cross_entropy`.

    Parameters
    ----------
    in_features, num_classes : int
    out_features : tuple of int, optional
        The places at which there is a loss.
    bias : bool, optional
    reduction, weight, ignore_index, label_smoothing, options
        As in the function.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> loss = torch.nn.LinearCrossEntropyLoss(2, 4)
    >>> loss.linear.weight.shape
    torch.Size([4, 2])
    >>> loss(torch.zeros(1, 2), torch.tensor([3])).detach()
    tensor(1.3863)
    """

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        super().__init__(weight, reduction=reduction)
        self.num_classes, self.out_features = num_classes, tuple(out_features)
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing
        self.options = options
        count = math.prod(self.out_features, start=num_classes)
        self.linear = Linear(in_features, count, bias=bias, device=device, dtype=dtype)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        shape = (self.num_classes, *self.out_features)
        bias = None if self.linear.bias is None else self.linear.bias.reshape(shape)
        return F.linear_cross_entropy(
            input, self.linear.weight.reshape(*shape, self.linear.in_features), target,
            linear_bias=bias, weight=self.weight, reduction=self.reduction,
            ignore_index=self.ignore_index, label_smoothing=self.label_smoothing,
            options=self.options,
        )  # fmt: skip

    def extra_repr(self) -> str:
        """The arguments."""
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, "
            f"out_features={self.out_features}, bias={self.linear.bias is not None}, "
            f"reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )
