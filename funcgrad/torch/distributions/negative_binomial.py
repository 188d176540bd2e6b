"""Negative binomial distributions."""

from __future__ import annotations

from typing import Any, ClassVar

import funcgrad.torch as torch
from funcgrad.torch.distributions import constraints
from funcgrad.torch.distributions.gamma import Gamma
from funcgrad.torch.distributions.probabilities import Odds
from funcgrad.torch.nn.functional import logsigmoid

__all__ = ["NegativeBinomial"]


class NegativeBinomial(Odds):
    """How many trials of success probability `probs` succeed before `total_count` have failed."""

    arg_constraints: ClassVar[dict[str, Any]] = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0), "logits": constraints.real,
    }  # fmt: skip
    support = constraints.nonnegative_integer

    def __init__(
        self, total_count: Any, probs: Any = None, logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        (count,) = self._take(probs, logits, total_count)
        self.total_count = count.type_as(self._param)
        super().__init__(self._param.size(), validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.total_count * torch.exp(self.logits)

    @property
    def mode(self) -> Any:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Any:
        return self.mean / torch.sigmoid(-self.logits)

    def sample(self, sample_shape: Any = ()) -> Any:
        rates = Gamma(self.total_count, torch.exp(-self.logits), validate_args=False)
        with torch.no_grad():
            return torch.poisson(rates.sample(sample_shape))

    def log_prob(self, value: Any) -> Any:
        self._checked(value)
        n = self.total_count
        ways = torch.lgamma(n + value) - torch.lgamma(1.0 + value) - torch.lgamma(n)
        ways = ways.masked_fill(n + value == 0.0, 0.0)
        return n * logsigmoid(-self.logits) + value * logsigmoid(self.logits) + ways
