"""Absolute values of normal draws."""

from __future__ import annotations

import math
from typing import Any

from funcgrad.torch.distributions.folded import Folded
from funcgrad.torch.distributions.normal import Normal

__all__ = ["HalfNormal"]


class HalfNormal(Folded):
    """The distribution of |x|, where x is of `Normal(0, scale)`."""

    symmetric = Normal

    @property
    def mean(self) -> Any:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Any:
        return self.scale.pow(2) * (1 - 2 / math.pi)
