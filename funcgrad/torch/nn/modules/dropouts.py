"""Dropout of whole channels, and dropout that keeps mean and variance, as layers."""

from __future__ import annotations

from funcgrad.torch._tensor import Tensor
from funcgrad.torch.nn import functional as F
from funcgrad.torch.nn.modules.normalization import Dropout

__all__ = ["AlphaDropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class Dropout1d(Dropout):
    """Whole channels of (n, channels, length) to zero while training."""

    def forward(self, input: Tensor) -> Tensor:
        """`input` with zeros, or as it is in evaluation."""
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(Dropout):
    """Whole channels of images to zero while training."""

    def forward(self, input: Tensor) -> Tensor:
        """`input` with zeros, or as it is in evaluation."""
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(Dropout):
    """Whole channels of volumes to zero while training."""

    def forward(self, input: Tensor) -> Tensor:
        """`input` with zeros, or as it is in evaluation."""
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(Dropout):
    """Dropout for networks of SELU, which keeps the mean and the variance."""

    def forward(self, input: Tensor) -> Tensor:
        """`input` with dropout, or as it is in evaluation."""
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(Dropout):
    """`AlphaDropout` of whole channels."""

    def forward(self, input: Tensor) -> Tensor:
        """`input` with dropout, or as it is in evaluation."""
        return F.feature_alpha_dropout(input, self.p, self.training)
