"""Absolute values of draws that lie around 0."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import funcgrad.torch as torch
from funcgrad.torch.distributions import constraints
from funcgrad.torch.distributions.transformed_distribution import TransformedDistribution
from funcgrad.torch.distributions.transforms import AbsTransform

__all__ = ["Folded"]


class Folded(TransformedDistribution):
    """The distribution of |x|, where x is of a distribution that is symmetric about 0."""

    arg_constraints: ClassVar[dict[str, Any]] = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    symmetric: ClassVar[Any]  # the distribution of x, given its location and scale

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        base = self.symmetric(0, scale, validate_args=False)
        super().__init__(base, AbsTransform(), validate_args=validate_args)

    @property
    def scale(self) -> Any:
        """The scale of the distribution whose draws lose their sign."""
        return self.base_dist.scale

    @property
    def mode(self) -> Any:
        return torch.zeros_like(self.scale)

    def log_prob(self, value: Any) -> Any:
        self._checked(value)
        value = torch.as_tensor(value, dtype=self.scale.dtype)
        found = self.base_dist.log_prob(value) + math.log(2)
        return torch.where(value >= 0, found, -math.inf)

    def cdf(self, value: Any) -> Any:
        self._checked(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Any) -> Any:
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Any:
        return self.base_dist.entropy() - math.log(2)
