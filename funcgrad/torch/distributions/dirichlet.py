"""Dirichlet distributions."""

from __future__ import annotations

from typing import Any, ClassVar

import funcgrad.torch as torch
from funcgrad.torch.distributions import constraints
from funcgrad.torch.distributions.exp_family import ExponentialFamily
from funcgrad.torch.nn.functional import one_hot
from funcgrad.torch.operations.incomplete import standard_dirichlet

__all__ = ["Dirichlet"]


class Dirichlet(ExponentialFamily):
    """Probabilities: vectors of gamma draws with the shapes `concentration`, divided by their sum.

    Draws are differentiable by implicit differentiation of the distribution functions of their
    elements, which are beta functions; SciPy is needed.
    """

    arg_constraints: ClassVar[dict[str, Any]] = {
        "concentration": constraints.independent(constraints.positive, 1)
    }
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Any, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        shape = concentration.shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Any:
        a = self.concentration
        above = (a - 1).clamp(min=0.0)
        corner = one_hot(torch.zeros_like(a[..., 0], dtype=torch.long), a.shape[-1]).to(a)
        flat = (a < 1).all(dim=-1, keepdim=True)
        return torch.where(flat, corner, above / above.sum(-1, True))

    @property
    def variance(self) -> Any:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Any = ()) -> Any:
        return standard_dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        self._checked(value)
        a = self.concentration
        powers = torch.xlogy(a - 1.0, value).sum(-1)
        return powers + torch.lgamma(a.sum(-1)) - torch.lgamma(a).sum(-1)

    def entropy(self) -> Any:
        a = self.concentration
        k, total = a.size(-1), a.sum(-1)
        found = torch.lgamma(a).sum(-1) - torch.lgamma(total) - (k - total) * torch.digamma(total)
        return found - ((a - 1.0) * torch.digamma(a)).sum(-1)

    @property
    def _natural_params(self) -> tuple[Any]:
        return (self.concentration,)

    def _log_normalizer(self, x: Any) -> Any:
        return x.lgamma().sum(-1) - torch.lgamma(x.sum(-1))
