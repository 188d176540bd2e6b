"""Categorical draws made continuous."""

from __future__ import annotations

from typing import Any, ClassVar

import funcgrad.torch as torch
from funcgrad.torch.distributions import constraints
from funcgrad.torch.distributions.of_categorical import OfCategorical
from funcgrad.torch.distributions.relaxed import Relaxed
from funcgrad.torch.distributions.transforms import ExpTransform
from funcgrad.torch.distributions.utils import broadcast_all, clamp_probs, uniform_numbers

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(OfCategorical):
    """The logarithms of `RelaxedOneHotCategorical`."""

    arg_constraints: ClassVar[dict[str, Any]] = {
        "probs": constraints.simplex, "logits": constraints.real_vector,
    }  # fmt: skip
    support = constraints.real_vector
    has_rsample = True
    _kept = ("temperature",)

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        self.temperature = temperature
        self._take(probs, logits, validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        u = clamp_probs(uniform_numbers(self._extended_shape(sample_shape), self.logits))
        scores = (self.logits - (-u.log()).log()) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def log_prob(self, value: Any) -> Any:
        k = self._categorical._num_events
        self._checked(value)
        logits, value = broadcast_all(self.logits, value)
        scale = torch.full_like(self.temperature, float(k)).lgamma()
        scale = scale + self.temperature.log().mul(k - 1)
        score = logits - value.mul(self.temperature)
        return (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1) + scale


class RelaxedOneHotCategorical(Relaxed):
    """Probabilities, nearly one-hot for a low `temperature`, differentiable in the parameter.

    From Maddison et al. 2017 and Jang et al. 2017.
    """

    arg_constraints: ClassVar[dict[str, Any]] = {
        "probs": constraints.simplex, "logits": constraints.real_vector,
    }  # fmt: skip
    support = constraints.simplex

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)
