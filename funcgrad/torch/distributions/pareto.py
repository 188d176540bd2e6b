"""Pareto distributions."""

from __future__ import annotations

from typing import Any, ClassVar

from funcgrad.torch.distributions import constraints
from funcgrad.torch.distributions.constraints import dependent_on_instance
from funcgrad.torch.distributions.exponential import Exponential
from funcgrad.torch.distributions.transformed_distribution import TransformedDistribution
from funcgrad.torch.distributions.transforms import AffineTransform, ExpTransform
from funcgrad.torch.distributions.utils import broadcast_all

__all__ = ["Pareto"]


class Pareto(TransformedDistribution):
    """The distribution above `scale` with a density as x ** -(alpha + 1)."""

    arg_constraints: ClassVar[dict[str, Any]] = {
        "alpha": constraints.positive, "scale": constraints.positive,
    }  # fmt: skip

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        base = Exponential(self.alpha, validate_args=validate_args)
        moved = AffineTransform(loc=0, scale=self.scale)
        super().__init__(base, [ExpTransform(), moved], validate_args=validate_args)

    @dependent_on_instance(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self) -> Any:
        a = self.alpha.clamp(min=1)  # infinite below
        return a * self.scale / (a - 1)

    @property
    def mode(self) -> Any:
        return self.scale

    @property
    def variance(self) -> Any:
        a = self.alpha.clamp(min=2)  # infinite below
        return self.scale.pow(2) * a / ((a - 1).pow(2) * (a - 2))

    def entropy(self) -> Any:
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())
