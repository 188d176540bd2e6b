"""Bernoulli draws made continuous."""

from __future__ import annotations

from typing import Any, ClassVar

from funcgrad.torch.distributions import constraints
from funcgrad.torch.distributions.probabilities import Odds
from funcgrad.torch.distributions.relaxed import Relaxed
from funcgrad.torch.distributions.transforms import SigmoidTransform
from funcgrad.torch.distributions.utils import broadcast_all, clamp_probs, uniform_numbers

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(Odds):
    """The log-odds of `RelaxedBernoulli`."""

    arg_constraints: ClassVar[dict[str, Any]] = {
        "probs": constraints.unit_interval, "logits": constraints.real,
    }  # fmt: skip
    support = constraints.real
    _kept = ("temperature",)

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        self.temperature = temperature
        self._take(probs, logits)
        super().__init__(self._param.size(), validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        u = clamp_probs(uniform_numbers(shape, probs))
        odds = u.log() - (-u).log1p() + probs.log() - (-probs).log1p()
        return odds / self.temperature

    def log_prob(self, value: Any) -> Any:
        self._checked(value)
        logits, value = broadcast_all(self.logits, value)
        diff = logits - value.mul(self.temperature)
        return self.temperature.log() + diff - 2 * diff.exp().log1p()


class RelaxedBernoulli(Relaxed):
    """Numbers of [0, 1], near 0 or 1 for a low `temperature`, differentiable in the parameter.

    From Maddison et al. 2017 and Jang et al. 2017.
    """

    arg_constraints: ClassVar[dict[str, Any]] = {
        "probs": constraints.unit_interval, "logits": constraints.real,
    }  # fmt: skip
    support = constraints.unit_interval

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)
