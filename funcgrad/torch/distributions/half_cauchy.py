"""Absolute values of Cauchy draws."""

from __future__ import annotations

import math
from typing import Any

from funcgrad.torch.distributions.cauchy import Cauchy
from funcgrad.torch.distributions.folded import Folded

__all__ = ["HalfCauchy"]


class HalfCauchy(Folded):
    """The distribution of |x|, where x is of `Cauchy(0, scale)`."""

    symmetric = Cauchy

    @property
    def mean(self) -> Any:
        return self._full(math.inf, self.scale)

    @property
    def variance(self) -> Any:
        return self.base_dist.variance
