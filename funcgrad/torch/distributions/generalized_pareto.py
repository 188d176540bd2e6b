"""Generalized Pareto distributions."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import funcgrad.torch as torch
from funcgrad.torch.distributions import constraints
from funcgrad.torch.distributions.constraints import dependent_on_instance
from funcgrad.torch.distributions.distribution import Distribution
from funcgrad.torch.distributions.utils import broadcast_all, log_of, uniform_numbers

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """The distribution of what lies above a high threshold `loc`; exponential at 0."""

    arg_constraints: ClassVar[dict[str, Any]] = {
        "loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real,
    }  # fmt: skip
    has_rsample = True

    def __init__(
        self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None
    ) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.size(), validate_args=validate_args)

    @dependent_on_instance(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        end = self.loc - self.scale / self.concentration
        return constraints.interval(self.loc, torch.where(self.concentration < 0, end, math.inf))

    def _shape(self) -> tuple[Any, Any]:
        """Where the concentration is 0, and one that is not."""
        k = self.concentration
        zero = torch.isclose(k, torch.zeros_like(k))
        return zero, torch.where(zero, torch.ones_like(k), k)

    def _z(self, x: Any) -> Any:
        return (x - self.loc) / self.scale

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.icdf(uniform_numbers(self._extended_shape(sample_shape), self.loc))

    def log_prob(self, value: Any) -> Any:
        self._checked(value)
        z = self._z(value)
        zero, k = self._shape()
        y = 1 / k + torch.ones_like(z)
        other = torch.where(y == 0, y, y * torch.log1p(k * z))
        return -log_of(self.scale) - torch.where(zero, z, other)

    def log_survival_function(self, value: Any) -> Any:
        """The logarithm of 1 - cdf."""
        self._checked(value)
        z = self._z(value)
        zero, k = self._shape()
        return torch.where(zero, -z, -torch.log1p(k * z) / k)

    def log_cdf(self, value: Any) -> Any:
        """The logarithm of the distribution function."""
        return torch.log1p(-torch.exp(self.log_survival_function(value)))

    def cdf(self, value: Any) -> Any:
        return torch.exp(self.log_cdf(value))

    def icdf(self, value: Any) -> Any:
        zero, k = self._shape()
        log = torch.log1p(-value)
        other = self.loc + self.scale / k * torch.expm1(-k * log)
        return torch.where(zero, self.loc - self.scale * log, other)

    @property
    def mean(self) -> Any:
        valid = self.concentration < 1
        k = torch.where(valid, self.concentration, 0.5)
        return torch.where(valid, self.loc + self.scale / (1 - k), math.nan)

    @property
    def variance(self) -> Any:
        valid = self.concentration < 0.5
        k = torch.where(valid, self.concentration, 0.25)
        found = self.scale**2 / ((1 - k) ** 2 * (1 - 2 * k))
        return torch.where(valid, found, math.nan)

    @property
    def mode(self) -> Any:
        return self.loc

    def entropy(self) -> Any:
        return torch.broadcast_to(torch.log(self.scale) + self.concentration + 1, self._batch_shape)
