"""What distributions with the parameters `probs` and `logits` share: one is given, one follows."""

from __future__ import annotations

from typing import Any, ClassVar

from funcgrad.torch._tensor import Tensor
from funcgrad.torch.distributions.distribution import Distribution
from funcgrad.torch.distributions.utils import (
    ONE_OF_TWO,
    broadcast_all,
    lazy_property,
    logits_to_probs,
    probs_to_logits,
)
from funcgrad.torch.size import Size

__all__ = ["Odds", "Probabilities"]


def check_given(probs: Any, logits: Any) -> None:
    """One of the two parameters is given."""
    if (probs is None) == (logits is None):
        raise ValueError(ONE_OF_TWO)


class Probabilities(Distribution):
    """A base of distributions over some outcomes, along the last dimension."""

    _binary: ClassVar[bool] = False

    @lazy_property
    def logits(self) -> Any:
        return probs_to_logits(self.probs, self._binary)

    @lazy_property
    def probs(self) -> Any:
        return logits_to_probs(self.logits, self._binary)

    @property
    def _param(self) -> Tensor:
        found: Tensor = self.__dict__["probs" if "probs" in self.__dict__ else "logits"]
        return found

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter."""
        found: Size = self._param.size()
        return found


class Odds(Probabilities):
    """A base of distributions of one probability."""

    _binary = True

    def _take(self, probs: Any, logits: Any, *more: Any) -> tuple[Any, ...]:
        """Keep the parameter that is given; the others with it, broadcast to one shape."""
        check_given(probs, logits)
        *others, param = broadcast_all(*more, logits if probs is None else probs)
        setattr(self, "logits" if probs is None else "probs", param)
        return tuple(others)
