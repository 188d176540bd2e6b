"""What the continuous kin of discrete distributions have in common."""

from __future__ import annotations

from typing import Any

from funcgrad.torch.distributions.transformed_distribution import TransformedDistribution

__all__ = ["Relaxed"]


class Relaxed(TransformedDistribution):
    """A transform of a distribution of scores, whose parameters it shows."""

    has_rsample = True

    @property
    def temperature(self) -> Any:
        """How far draws are from the discrete values."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Any:
        """The log-odds, or the logarithms of the probabilities."""
        return self.base_dist.logits

    @property
    def probs(self) -> Any:
        """The probability, or probabilities."""
        return self.base_dist.probs
