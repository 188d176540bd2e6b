"""Mixtures."""

from __future__ import annotations

from typing import Any, ClassVar

import funcgrad.torch as torch
from funcgrad.torch.distributions.categorical import Categorical
from funcgrad.torch.distributions.constraints import (
    MixtureSameFamilyConstraint,
    dependent_on_instance,
)
from funcgrad.torch.distributions.distribution import Distribution
from funcgrad.torch.size import Size

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A mixture: the last batch dimension of a distribution holds the components.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> d = torch.distributions
    >>> modes = d.Normal(torch.tensor([-1.0, 1.0]), 1.0)
    >>> m = d.MixtureSameFamily(d.Categorical(torch.ones(2)), modes)
    >>> m.mean, m.variance
    (tensor(0.), tensor(2.))
    """

    arg_constraints: ClassVar[dict[str, Any]] = {}
    has_rsample = False
    _kept = ("_num_component", "_event_ndims")

    def __init__(
        self, mixture_distribution: Categorical, component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(
                " The Mixture distribution needs to be an  instance of "
                "torch.distributions.Categorical"
            )
        if not isinstance(component_distribution, Distribution):
            raise ValueError(
                "The Component distribution needs to be an instance of "
                "torch.distributions.Distribution"
            )
        mixed, batch = mixture_distribution.batch_shape, component_distribution.batch_shape
        for one, other in zip(reversed(mixed), reversed(batch[:-1]), strict=False):
            if 1 not in (one, other) and one != other:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({mixed}) is not compatible with "
                    f"`component_distribution.batch_shape`({batch[:-1]})"
                )
        count = mixture_distribution.logits.shape[-1]
        if count != batch[-1]:
            raise ValueError(
                f"`mixture_distribution component` ({count}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({batch[-1]})"
            )
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        self._num_component = count
        event_shape = component_distribution.event_shape
        self._event_ndims = len(event_shape)
        super().__init__(batch[:-1], event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        batch_shape = Size(batch_shape)
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        components = Size((*batch_shape, self._num_component))
        new._component_distribution = self._component_distribution.expand(components)
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        new._num_component, new._event_ndims = self._num_component, self._event_ndims
        Distribution.__init__(new, batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @dependent_on_instance()
    def support(self) -> Any:
        return MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Categorical:
        """How likely each component is."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        """The components."""
        return self._component_distribution

    def _mean_of(self, moments: Any) -> Any:
        """The mean over the components."""
        probs = self._mixture_distribution.probs
        probs = probs.reshape(probs.shape + (1,) * self._event_ndims)
        return torch.sum(probs * moments, dim=-1 - self._event_ndims)

    @property
    def mean(self) -> Any:
        return self._mean_of(self._component_distribution.mean)

    @property
    def variance(self) -> Any:
        inner = self._component_distribution
        between = (inner.mean - self._pad(self.mean)).pow(2.0)
        return self._mean_of(inner.variance) + self._mean_of(between)

    def cdf(self, value: Any) -> Any:
        found = self._component_distribution.cdf(self._pad(value))
        return torch.sum(found * self._mixture_distribution.probs, dim=-1)

    def log_prob(self, value: Any) -> Any:
        self._checked(value)
        found = self._component_distribution.log_prob(self._pad(value))
        weights = torch.log_softmax(self._mixture_distribution.logits, dim=-1)
        return torch.logsumexp(found + weights, dim=-1)

    def sample(self, sample_shape: Any = ()) -> Any:
        with torch.no_grad():
            dim = len(sample_shape) + len(self.batch_shape)
            which = self._mixture_distribution.sample(sample_shape)
            found = self._component_distribution.sample(sample_shape)
            event = self.event_shape
            which = which.reshape(which.shape + (1,) * (len(event) + 1))
            if not self._mixture_distribution.batch_shape and self.batch_shape:
                which = which.reshape(
                    Size(sample_shape) + (1,) * (len(self.batch_shape) + len(event) + 1)
                )
            which = which.expand(found.shape[:dim] + (1,) + event)
            return torch.gather(found, dim, which).squeeze(dim)

    def _pad(self, x: Any) -> Any:
        return x.unsqueeze(-1 - self._event_ndims)

    def __repr__(self) -> str:
        return (
            f"MixtureSameFamily(\n  {self._mixture_distribution},\n  "
            f"{self._component_distribution})"
        )
