"""Weibull distributions."""

from __future__ import annotations

from typing import Any, ClassVar

import funcgrad.torch as torch
from funcgrad.torch.distributions import constraints
from funcgrad.torch.distributions.exponential import Exponential
from funcgrad.torch.distributions.transformed_distribution import TransformedDistribution
from funcgrad.torch.distributions.transforms import AffineTransform, PowerTransform
from funcgrad.torch.distributions.utils import EULER, broadcast_all

__all__ = ["Weibull"]


class Weibull(TransformedDistribution):
    """The distribution of scale · x ** (1 / concentration), where x is exponential of rate 1."""

    arg_constraints: ClassVar[dict[str, Any]] = {
        "scale": constraints.positive, "concentration": constraints.positive,
    }  # fmt: skip
    support = constraints.positive

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        base = Exponential(torch.ones_like(self.scale), validate_args=validate_args)
        power = PowerTransform(exponent=self.concentration_reciprocal)
        moved = AffineTransform(loc=0, scale=self.scale)
        super().__init__(base, [power, moved], validate_args=validate_args)

    @property
    def concentration_reciprocal(self) -> Any:
        """1 / concentration."""
        return self.concentration.reciprocal()

    def _moment(self, n: int) -> Any:
        return torch.lgamma(1 + n * self.concentration_reciprocal)

    @property
    def mean(self) -> Any:
        return self.scale * torch.exp(self._moment(1))

    @property
    def mode(self) -> Any:
        k = self.concentration
        return self.scale * ((k - 1) / k) ** k.reciprocal()

    @property
    def variance(self) -> Any:
        return self.scale.pow(2) * (torch.exp(self._moment(2)) - torch.exp(2 * self._moment(1)))

    def entropy(self) -> Any:
        k = self.concentration_reciprocal
        return EULER * (1 - k) + torch.log(self.scale * k) + 1
