"""Multinomial distributions."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import funcgrad.torch as torch
from funcgrad.torch.distributions import constraints
from funcgrad.torch.distributions.binomial import Binomial
from funcgrad.torch.distributions.constraints import dependent_on_instance
from funcgrad.torch.distributions.of_categorical import OfCategorical
from funcgrad.torch.distributions.utils import broadcast_all
from funcgrad.torch.size import Size

__all__ = ["Multinomial"]


class Multinomial(OfCategorical):
    """How often each outcome comes in `total_count` draws."""

    arg_constraints: ClassVar[dict[str, Any]] = {
        "probs": constraints.simplex, "logits": constraints.real_vector,
    }  # fmt: skip
    _kept = ("total_count",)

    def __init__(
        self, total_count: int = 1, probs: Any = None, logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._take(probs, logits, validate_args)

    @dependent_on_instance(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Any:
        return self.probs * self.total_count

    @property
    def variance(self) -> Any:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        sample_shape = Size(sample_shape)
        places = self._categorical.sample(Size((self.total_count, *sample_shape)))
        places = places.movedim(0, -1)
        counts = torch.zeros(self._extended_shape(sample_shape), dtype=torch.long)
        counts = counts.scatter_add(-1, places, torch.ones_like(places))
        return counts.type_as(self.probs)

    def entropy(self) -> Any:
        n = torch.tensor(self.total_count)
        rows = Binomial(self.total_count, self.probs, validate_args=False)
        counts = rows.enumerate_support(expand=False)[1:]
        repeated = (torch.exp(rows.log_prob(counts)) * torch.lgamma(counts + 1)).sum([0, -1])
        return n * self._categorical.entropy() - torch.lgamma(n + 1) + repeated

    def log_prob(self, value: Any) -> Any:
        self._checked(value)
        logits, value = broadcast_all(self.logits, value)
        ways = torch.lgamma(value.sum(-1) + 1) - torch.lgamma(value + 1).sum(-1)
        logits = torch.where((value == 0) & (logits == -math.inf), 0.0, logits)
        return ways + (logits * value).sum(-1)
