"""Continuous Bernoulli distributions."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import funcgrad.torch as torch
from funcgrad.torch.distributions import constraints
from funcgrad.torch.distributions.constraints import holds
from funcgrad.torch.distributions.exp_family import ExponentialFamily
from funcgrad.torch.distributions.probabilities import Odds
from funcgrad.torch.distributions.utils import (
    broadcast_all,
    clamp_probs,
    lazy_property,
    logits_to_probs,
    uniform_numbers,
)
from funcgrad.torch.nn.functional import binary_cross_entropy_with_logits

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(Odds, ExponentialFamily):
    """The distribution on [0, 1] with a density as p ** x · (1 - p) ** (1 - x).

    Between the two numbers of `lims`, around 1/2, where its formulas cancel, they are replaced by
    Taylor's (Loaiza-Ganem and Cunningham 2019).
    """

    arg_constraints: ClassVar[dict[str, Any]] = {
        "probs": constraints.unit_interval, "logits": constraints.real,
    }  # fmt: skip
    support = constraints.unit_interval
    has_rsample = True
    _kept = ("_lims",)

    def __init__(
        self, probs: Any = None, logits: Any = None, lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        self._take(probs, logits)
        if probs is not None:
            if validate_args is not None and not holds(constraints.unit_interval, self.probs):
                raise ValueError("The parameter probs has invalid values")
            self.probs = clamp_probs(self.probs)
        self._lims = lims
        super().__init__(self._param.size(), validate_args=validate_args)

    @lazy_property
    def probs(self) -> Any:
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _stable(self) -> Any:
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut_probs(self) -> Any:
        return torch.where(self._stable(), self.probs, self._lims[0] * torch.ones_like(self.probs))

    def _cont_bern_log_norm(self) -> Any:
        p = self._cut_probs()
        below = torch.where(p <= 0.5, p, torch.zeros_like(p))
        above = torch.where(p >= 0.5, p, torch.ones_like(p))
        twice = torch.where(p <= 0.5, torch.log1p(-2.0 * below), torch.log(2.0 * above - 1.0))
        exact = torch.log(torch.abs(torch.log1p(-p) - torch.log(p))) - twice
        x = torch.pow(self.probs - 0.5, 2)
        taylor = math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x
        return torch.where(self._stable(), exact, taylor)

    @property
    def mean(self) -> Any:
        p = self._cut_probs()
        exact = p / (2.0 * p - 1.0) + 1.0 / (torch.log1p(-p) - torch.log(p))
        x = self.probs - 0.5
        taylor = 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * torch.pow(x, 2)) * x
        return torch.where(self._stable(), exact, taylor)

    @property
    def variance(self) -> Any:
        p = self._cut_probs()
        exact = p * (p - 1.0) / torch.pow(1.0 - 2.0 * p, 2)
        exact = exact + 1.0 / torch.pow(torch.log1p(-p) - torch.log(p), 2)
        x = torch.pow(self.probs - 0.5, 2)
        taylor = 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x
        return torch.where(self._stable(), exact, taylor)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.icdf(uniform_numbers(self._extended_shape(sample_shape), self.probs))

    def log_prob(self, value: Any) -> Any:
        self._checked(value)
        logits, value = broadcast_all(self.logits, value)
        loss = binary_cross_entropy_with_logits(logits, value, reduction="none")
        return -loss + self._cont_bern_log_norm()

    def cdf(self, value: Any) -> Any:
        self._checked(value)
        p = self._cut_probs()
        powers = torch.pow(p, value) * torch.pow(1.0 - p, 1.0 - value)
        inside = torch.where(self._stable(), (powers + p - 1.0) / (2.0 * p - 1.0), value)
        above = torch.where(value >= 1.0, torch.ones_like(value), inside)
        return torch.where(value <= 0.0, torch.zeros_like(value), above)

    def icdf(self, value: Any) -> Any:
        p = self._cut_probs()
        above = torch.log1p(-p + value * (2.0 * p - 1.0)) - torch.log1p(-p)
        return torch.where(self._stable(), above / (torch.log(p) - torch.log1p(-p)), value)

    def entropy(self) -> Any:
        zero, one = torch.log1p(-self.probs), torch.log(self.probs)
        return self.mean * (zero - one) - self._cont_bern_log_norm() - zero

    @property
    def _natural_params(self) -> tuple[Any]:
        return (self.logits,)

    def _log_normalizer(self, x: Any) -> Any:
        stable = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        cut = torch.where(stable, x, (self._lims[0] - 0.5) * torch.ones_like(x))
        exact = torch.log(torch.abs(torch.expm1(cut))) - torch.log(torch.abs(cut))
        taylor = 0.5 * x + torch.pow(x, 2) / 24.0 - torch.pow(x, 4) / 2880.0
        return torch.where(stable, exact, taylor)
