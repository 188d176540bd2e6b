"""Gamma distributions."""

from __future__ import annotations

from typing import Any, ClassVar

import funcgrad.torch as torch
from funcgrad.torch.distributions import constraints
from funcgrad.torch.distributions.exp_family import ExponentialFamily
from funcgrad.torch.distributions.utils import broadcast_all
from funcgrad.torch.operations.incomplete import standard_gamma

__all__ = ["Gamma"]


class Gamma(ExponentialFamily):
    """The distribution with a density as x ** (concentration - 1) · exp(-rate · x).

    Draws are differentiable in the concentration by implicit differentiation of the distribution
    function, to the second order, for which SciPy is needed.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> a = torch.tensor(3.0, requires_grad=True)
    >>> x = torch.distributions.Gamma(a, 1.0).rsample((1000,))
    >>> (x.mean().backward(), 0.8 < a.grad.item() < 1.2)
    (None, True)
    """

    arg_constraints: ClassVar[dict[str, Any]] = {
        "concentration": constraints.positive, "rate": constraints.positive,
    }  # fmt: skip
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.size(), validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.concentration / self.rate

    @property
    def mode(self) -> Any:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Any:
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        found = standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        tiny = torch.finfo(found.dtype).tiny
        # the derivative goes through what is raised to the least number
        return found + (found.detach().clamp(min=tiny) - found.detach())

    def log_prob(self, value: Any) -> Any:
        value = torch.as_tensor(value, dtype=self.rate.dtype)
        self._checked(value)
        a = self.concentration
        powers = torch.xlogy(a, self.rate) + torch.xlogy(a - 1, value)
        return powers - self.rate * value - torch.lgamma(a)

    def cdf(self, value: Any) -> Any:
        self._checked(value)
        return torch.special.gammainc(self.concentration, self.rate * value)

    def entropy(self) -> Any:
        a = self.concentration
        return a - torch.log(self.rate) + torch.lgamma(a) + (1.0 - a) * torch.digamma(a)

    @property
    def _natural_params(self) -> tuple[Any, Any]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x: Any, y: Any) -> Any:
        return torch.lgamma(x + 1) + (x + 1) * torch.log(-y.reciprocal())
