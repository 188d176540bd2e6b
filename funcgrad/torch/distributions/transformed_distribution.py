"""Distributions of transformed draws."""

from __future__ import annotations

from typing import Any, ClassVar

import funcgrad.torch as torch
from funcgrad.torch.distributions import constraints
from funcgrad.torch.distributions.constraints import dependent_on_instance
from funcgrad.torch.distributions.distribution import Distribution, library_class
from funcgrad.torch.distributions.independent import Independent
from funcgrad.torch.distributions.transforms import ComposeTransform, Transform
from funcgrad.torch.distributions.utils import sum_rightmost
from funcgrad.torch.size import Size

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """What comes out when the draws of a distribution go through transforms.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> d = torch.distributions
    >>> logistic = d.TransformedDistribution(
    ...     d.Uniform(0.0, 1.0), [d.SigmoidTransform().inv, d.AffineTransform(0.0, 2.0)])
    >>> logistic.log_prob(torch.tensor(0.0))
    tensor(-2.0794)
    """

    arg_constraints: ClassVar[dict[str, Any]] = {}
    base_dist: Any

    def __init__(
        self, base_distribution: Distribution, transforms: Any, validate_args: bool | None = None
    ) -> None:
        if isinstance(transforms, Transform):
            self.transforms = [transforms]
        elif isinstance(transforms, list):
            if not all(isinstance(t, Transform) for t in transforms):
                raise ValueError("transforms must be a Transform or a list of Transforms")
            self.transforms = transforms
        else:
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        whole = ComposeTransform(self.transforms)
        before, after = whole.domain.event_dim, whole.codomain.event_dim
        shape = base_distribution.batch_shape + base_distribution.event_shape
        own = len(base_distribution.event_shape)
        if len(shape) < before:
            raise ValueError(
                f"base_distribution needs to have shape with size at least {before}, but got "
                f"{shape}."
            )
        forward = whole.forward_shape(shape)
        needed = whole.inverse_shape(forward)
        if shape != needed:
            base_distribution = base_distribution.expand(needed[: len(needed) - own])
        if before > own:
            base_distribution = Independent(base_distribution, before - own)
        self.base_dist = base_distribution
        cut = len(forward) - max(after, own + after - before)
        super().__init__(Size(forward[:cut]), Size(forward[cut:]), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        owner = library_class(type(self))
        new = self._get_checked_instance(owner, _instance)
        batch_shape = Size(batch_shape)
        shape, before = Size(batch_shape + self.event_shape), len(self._batch_shape)
        for t in reversed(self.transforms):
            shape = t.inverse_shape(shape)
        new.base_dist = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])
        new.transforms = self.transforms
        for name in self.arg_constraints:
            if name in self.__dict__:
                value = self.__dict__[name]
                setattr(new, name, value.expand(batch_shape + value.shape[before:]))
        Distribution.__init__(new, batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @dependent_on_instance(is_discrete=False)
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        more = len(self.event_shape) - support.event_dim
        return constraints.independent(support, more) if more > 0 else support

    @property
    def has_rsample(self) -> Any:  # type: ignore[override]
        return self.base_dist.has_rsample

    def sample(self, sample_shape: Any = ()) -> Any:
        with torch.no_grad():
            return self._moved(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self._moved(self.base_dist.rsample(sample_shape))

    def _moved(self, x: Any) -> Any:
        for t in self.transforms:
            x = t(x)
        return x

    def log_prob(self, value: Any) -> Any:
        self._checked(value)
        event_dim = len(self.event_shape)
        found: Any = 0.0
        y = value
        for t in reversed(self.transforms):
            x = t.inv(y)
            event_dim += t.domain.event_dim - t.codomain.event_dim
            term = t.log_abs_det_jacobian(x, y)
            found = found - sum_rightmost(term, event_dim - t.domain.event_dim)
            y = x
        inner = event_dim - len(self.base_dist.event_shape)
        return found + sum_rightmost(self.base_dist.log_prob(y), inner)

    def _monotonize_cdf(self, value: Any) -> Any:
        """1 - value where the transforms turn the order around."""
        sign: Any = 1
        for t in self.transforms:
            sign = sign * t.sign
        if isinstance(sign, int) and sign == 1:
            return value
        return sign * (value - 0.5) + 0.5

    def cdf(self, value: Any) -> Any:
        for t in self.transforms[::-1]:
            value = t.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._monotonize_cdf(self.base_dist.cdf(value))

    def icdf(self, value: Any) -> Any:
        return self._moved(self.base_dist.icdf(self._monotonize_cdf(value)))
